//! Workers in this process that count, each with one thread.

use std::num::NonZero;

use anyhow::Result;
use executor::Devices;
use farm::{AgentConfig, Hello, Report};
use service::worker::{GrpcConnector, LeaveRules, start_executor, work};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::args::CountingArgs;
use crate::process::Coordinator;

/// A worker with one thread.
pub(crate) struct Worker {
    stop: watch::Sender<bool>,
    running: JoinHandle<Result<(), service::ServiceError>>,
}

impl Worker {
    /// Starts worker number `place` of `all`, which shares the memory with the others. `see` is shown all that it counts.
    pub(crate) fn start(
        place: usize,
        all: usize,
        coordinator: &Coordinator,
        counting: &CountingArgs,
        see: impl Fn(&Report) + Send + 'static,
    ) -> Worker {
        let (backend, memory) = (counting.backend(), counting.memory() / all as u64);
        let (executor, mut counted) =
            start_executor(NonZero::<usize>::MIN, backend, Devices::default(), memory);
        let config = AgentConfig {
            hello: Hello {
                worker: format!("worker-{place}"),
                machine: format!("machine-{place}"),
                build: executor::BUILD.into(),
                backend: backend.to_string(),
                instance: rand::random(),
                threads: 1,
                memory,
                memory_kills: 0,
                credit: 1 << 16,
                holding: Vec::new(),
            },
            report_ms: 1_000,
            resend_ms: 60_000,
        };
        let (sender, parts) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(part) = counted.recv().await {
                part.as_ref().into_iter().for_each(&see);
                if sender.send(part).is_err() {
                    return;
                }
            }
        });
        let endpoint = coordinator.endpoint.clone();
        let mut connector = GrpcConnector { endpoint };
        let (stop, stopping) = watch::channel(false);
        let running = tokio::spawn(async move {
            let rules = LeaveRules::default();
            work(config, rules, executor, parts, &mut connector, stopping).await
        });
        Worker { stop, running }
    }

    /// Asks it to leave.
    pub(crate) fn ask_to_leave(&self) {
        self.stop.send_replace(true);
    }

    /// Asks it to leave, and waits until it has.
    pub(crate) async fn leave(self) -> Result<()> {
        self.ask_to_leave();
        Ok(self.running.await??)
    }
}
