//! A worker that counts wrong.

use std::time::Duration;

use farm::{
    Agent, AgentConfig, CheckedCount, CoordinatorMessage, Hello, KernelName, Lease, Millis, Range,
    Report, TaskCounts,
};
use service::Endpoint;
use service::worker::{Connect, Link, LinkEnd};
use tokio::runtime::Runtime;
use tokio_stream::StreamExt;

use super::process::wait_until;

/// A worker that is leased tasks like any other, and reports arbitrary counts.
pub(crate) struct Liar {
    session: tokio::task::JoinHandle<LinkEnd>,
    runtime: Runtime,
}

impl Liar {
    /// Starts a worker that reports `count` for each task of a lease, on a machine with this name.
    pub(crate) fn start(
        endpoint: Endpoint,
        name: &str,
        count: impl FnMut(&Lease, u64) -> u64 + Send + 'static,
    ) -> Liar {
        let runtime = Runtime::new().expect("threads can be started");
        let session = runtime.spawn(lie(endpoint, name.into(), count));
        Liar { session, runtime }
    }

    /// Waits for its end.
    pub(crate) fn end(self) -> LinkEnd {
        wait_until("the session to end", || self.session.is_finished());
        self.runtime.block_on(self.session).expect("it does not panic")
    }
}

async fn lie(
    mut endpoint: Endpoint,
    name: String,
    mut count: impl FnMut(&Lease, u64) -> u64,
) -> LinkEnd {
    let mut agent = Agent::new(AgentConfig {
        hello: Hello {
            worker: name.clone(),
            machine: name,
            build: executor::BUILD.into(),
            backend: "portable".into(),
            instance: rand::random(),
            threads: 1,
            credit: 1 << 16,
            holding: Vec::new(),
            methods: Vec::new(),
        },
        report_ms: 0,
        resend_ms: 60_000,
    });
    let Link { mut orders, messages } = match endpoint.open(agent.connected()).await {
        Ok(link) => link,
        Err(end) => return end,
    };
    loop {
        let order = tokio::time::timeout(Duration::from_millis(100), orders.next()).await;
        match order {
            Ok(Some(Ok(CoordinatorMessage::Lease(lease)))) => {
                agent.leased(lease);
                let tasks = lease.range.start()..lease.range.end();
                tasks.for_each(|task| {
                    agent.finished(Millis(0), part(lease, task, count(&lease, task)))
                });
            }
            Ok(Some(Ok(CoordinatorMessage::Ack(ack)))) => agent.acked(&ack),
            Ok(Some(Ok(CoordinatorMessage::Revoke(lease)))) => agent.revoked(lease),
            Ok(Some(Ok(
                CoordinatorMessage::Welcome { .. }
                | CoordinatorMessage::Pace(_)
                | CoordinatorMessage::Tasks(_),
            )))
            | Err(_) => {}
            Ok(Some(Err(end))) => return end,
            Ok(None) => return LinkEnd::Lost("the session is over".into()),
        }
        for message in agent.poll(Millis(1)) {
            let _ = messages.send(message).await;
        }
    }
}

/// The report of one task of a lease, with a count that fits its residue and its digest.
fn part(lease: Lease, task: u64, count: u64) -> Report {
    let range = Range::new(task, task + 1).expect("it has a task");
    let checked_count =
        CheckedCount::EMPTY.with(lease.fingerprint, task, count).expect("it is one count");
    let kernel = KernelName::ALL[0];
    let task_counts = TaskCounts::new(&[count]);
    Report::new(&lease, range, checked_count, task_counts, kernel, 10)
}
