//! Workers that wait instead of counting, and measure how long their reports wait for
//! acknowledgements.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use farm::{
    Agent, AgentConfig, CheckedCount, CoordinatorMessage, Hello, KernelName, Lease, Millis, Range,
    Report, TaskCounts, WorkerMessage,
};
use service::Endpoint;
use service::worker::Link;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_stream::StreamExt;

use crate::idle_worker::{begin, failure};

/// The number of connections that are made at a time.
const AT_A_TIME: usize = 64;
/// The number of tasks that a worker agrees to hold.
const CREDIT: u64 = 4_096;

/// The options of the workers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    /// Report as often as the coordinator says, instead of every second.
    pub(crate) is_paced: bool,
}

/// Workers and their sessions.
pub(crate) struct Crowd {
    workers: JoinSet<Result<()>>,
    waits: Arc<Mutex<Vec<u64>>>,
}

impl Crowd {
    /// Connects `workers` workers whose tasks take about `task` each. Completes when all have
    /// sessions.
    pub(crate) async fn connect(
        endpoint: Endpoint,
        workers: u32,
        task: Duration,
        habits: Habits,
    ) -> Result<Crowd> {
        let (waits, permits) = (Arc::default(), Arc::new(Semaphore::new(AT_A_TIME)));
        let mut coming = JoinSet::new();
        for _ in 0..workers {
            let (mut endpoint, permits) = (endpoint.clone(), permits.clone());
            coming.spawn(async move {
                let _permit = permits.acquire().await?;
                let mut agent = Agent::new(config());
                let link = begin(&mut endpoint, &mut agent).await?;
                anyhow::Ok((agent, link))
            });
        }
        let mut crowd = Crowd { workers: JoinSet::new(), waits };
        while let Some(come) = coming.join_next().await {
            let (agent, link) = come??;
            let worker = Worker::new(agent, task, habits, crowd.waits.clone());
            crowd.workers.spawn(worker.work(link));
        }
        Ok(crowd)
    }

    /// Lets them work for `time`.
    ///
    /// # Errors
    ///
    /// A session ended.
    pub(crate) async fn work_for(&mut self, time: Duration) -> Result<()> {
        tokio::select! {
            () = tokio::time::sleep(time) => Ok(()),
            Some(ended) = self.workers.join_next() => {
                ended??;
                Err(anyhow!("a worker's session ended early"))
            }
        }
    }

    /// The times that reports waited for their acknowledgements since the last call, in
    /// microseconds.
    pub(crate) fn take_waits(&self) -> Vec<u64> {
        std::mem::take(&mut *self.waits.lock().expect("nobody panics while it is held"))
    }
}

fn config() -> AgentConfig {
    let instance: u64 = rand::random();
    AgentConfig {
        hello: Hello {
            worker: format!("crowd-{instance:016x}"),
            machine: format!("crowd-{instance:016x}"),
            build: executor::BUILD.into(),
            backend: "portable".into(),
            instance,
            threads: 1,
            memory: 0,
            credit: CREDIT,
            holding: Vec::new(),
        },
        report_ms: 1_000,
        resend_ms: 3_600_000,
    }
}

struct Worker {
    agent: Agent,
    task: Duration,
    habits: Habits,
    started: Instant,
    leases: Vec<Lease>,
    todo: VecDeque<(Lease, u64)>,
    sent: HashMap<Range, Instant>,
    waits: Arc<Mutex<Vec<u64>>>,
}

impl Worker {
    fn new(agent: Agent, task: Duration, habits: Habits, waits: Arc<Mutex<Vec<u64>>>) -> Worker {
        let (leases, todo, sent) = (Vec::new(), VecDeque::new(), HashMap::new());
        Worker { agent, task, habits, started: Instant::now(), leases, todo, sent, waits }
    }

    async fn work(mut self, mut link: Link) -> Result<()> {
        let mut done_at = None;
        loop {
            for message in self.agent.poll(self.now()) {
                if let WorkerMessage::Report(report) = &message {
                    self.sent.insert(report.range, Instant::now());
                }
                // A closed session also ends the stream of messages, which is handled there.
                let _ = link.messages.send(message).await;
            }
            if done_at.is_none() && !self.todo.is_empty() {
                done_at = Some(Instant::now() + self.task.mul_f64(0.5 + rand::random::<f64>()));
            }
            let due = self.agent.next_wakeup();
            let due = due.map(|at| self.started + Duration::from_millis(at.0));
            tokio::select! {
                order = link.orders.next() => match order {
                    Some(order) => self.obey(order.map_err(failure)?),
                    None => return Ok(()),
                },
                () = until(done_at) => {
                    done_at = None;
                    self.finish();
                }
                () = until(due) => {}
            }
        }
    }

    fn obey(&mut self, order: CoordinatorMessage) {
        match order {
            CoordinatorMessage::Lease(lease) => {
                self.agent.leased(lease);
                self.leases.push(lease);
            }
            CoordinatorMessage::Tasks(block) => {
                let at = self.leases.iter().position(|lease| lease.id == block.lease);
                let Some(at) = at else { return };
                let (lease, end) = (self.leases[at], block.start + block.tasks.len() as u64);
                self.todo.extend((block.start..end).map(|ordinal| (lease, ordinal)));
                if end == lease.range.end() {
                    self.leases.swap_remove(at);
                }
            }
            CoordinatorMessage::Ack(ack) => {
                self.agent.acked(&ack);
                if let Some(sent) = self.sent.remove(&ack.range) {
                    let wait = sent.elapsed().as_micros() as u64;
                    self.waits.lock().expect("nobody panics while it is held").push(wait);
                }
            }
            CoordinatorMessage::Revoke(lease) => {
                self.agent.revoked(lease);
                self.todo.retain(|(held, _)| held.id != lease);
            }
            CoordinatorMessage::Pace(pace) if self.habits.is_paced => self.agent.paced(pace),
            CoordinatorMessage::Pace(_) | CoordinatorMessage::Welcome { .. } => {}
        }
    }

    fn finish(&mut self) {
        let Some((lease, ordinal)) = self.todo.pop_front() else { return };
        let range = Range::new(ordinal, ordinal + 1).expect("it has a task");
        let busy_us = self.task.as_micros() as u64;
        let (checked_count, task_counts, kernel) =
            (CheckedCount::EMPTY, TaskCounts::default(), KernelName::ALL[0]);
        self.agent.finished(
            self.now(),
            Report::new(&lease, range, checked_count, task_counts, kernel, busy_us),
        );
    }

    fn now(&self) -> Millis {
        Millis(self.started.elapsed().as_millis() as u64)
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
