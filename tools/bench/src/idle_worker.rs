//! A worker that speaks the real protocol but does not count.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use farm::{
    Agent, AgentConfig, CheckedCount, CoordinatorMessage, Hello, KernelName, Lease, Millis, Range,
    Report, TaskCounts, TasksBlock, Verdict, WorkerMessage,
};
use tokio::sync::mpsc;
use tokio_stream::StreamExt;

use anyhow::Result;
use executor::BUILD;
use service::Endpoint;
use service::worker::{Connect, Link, LinkEnd};

/// Acknowledged counts of all idle workers of a run.
#[derive(Debug, Default)]
pub(crate) struct Booked {
    /// Number of workers whose session has begun.
    pub(crate) welcomes: AtomicU64,
    pub(crate) ranges: AtomicU64,
    pub(crate) tasks: AtomicU64,
}

/// Pause between two attempts to connect.
const RETRY: Duration = Duration::from_millis(500);
/// The time of one thread that it reports for each task, in microseconds. It decides the size of
/// leases.
const PRETENDED_US: u64 = 100;

/// Answers every `tasks_per_result` tasks with the count 0 until the session ends.
pub(crate) async fn idle(
    mut endpoint: Endpoint,
    credit: u64,
    tasks_per_result: u64,
    booked: Arc<Booked>,
) -> Result<()> {
    let instance: u64 = rand::random();
    let mut agent = Agent::new(AgentConfig {
        hello: Hello {
            worker: format!("idle-{instance:016x}"),
            machine: format!("idle-{instance:016x}"),
            build: BUILD.into(),
            backend: "portable".into(),
            instance,
            threads: 1,
            credit,
            holding: Vec::new(),
            methods: Vec::new(),
        },
        report_ms: 0,
        resend_ms: 3_600_000,
    });
    let mut link = begin(&mut endpoint, &mut agent).await?;
    booked.welcomes.fetch_add(1, Ordering::Relaxed);
    let started = Instant::now();
    let mut leases: Vec<Lease> = Vec::new();
    while let Some(order) = link.orders.next().await {
        let now = Millis(started.elapsed().as_millis() as u64);
        match order.map_err(failure)? {
            CoordinatorMessage::Lease(lease) => {
                agent.leased(lease);
                leases.push(lease);
            }
            CoordinatorMessage::Tasks(block) => {
                let at = leases.iter().position(|lease| lease.id == block.lease);
                let Some(lease) = at.map(|at| leases[at]) else { continue };
                if block.start + block.tasks.len() as u64 == lease.range.end() {
                    leases.retain(|known| known.id != lease.id);
                }
                for part in pieces(lease, &block, tasks_per_result) {
                    // Results are sent one by one, because the agent would join neighbours to one
                    // range.
                    agent.finished(now, part);
                    say(&mut agent, now, &link.messages).await;
                }
            }
            CoordinatorMessage::Ack(ack) => {
                agent.acked(&ack);
                if ack.verdict == Verdict::Accepted {
                    booked.ranges.fetch_add(1, Ordering::Relaxed);
                    booked.tasks.fetch_add(ack.range.len(), Ordering::Relaxed);
                }
            }
            CoordinatorMessage::Revoke(lease) => agent.revoked(lease),
            CoordinatorMessage::Welcome { .. } | CoordinatorMessage::Pace(_) => {}
        }
        say(&mut agent, now, &link.messages).await;
    }
    Ok(())
}

/// Opens a session. If many workers connect at once, the first attempts may be refused or time out.
async fn begin(endpoint: &mut Endpoint, agent: &mut Agent) -> Result<Link> {
    const TRIES: u32 = 100;
    let mut reason = String::new();
    for _ in 0..TRIES {
        let lost = match endpoint.open(agent.connected()).await {
            Ok(mut link) => match link.orders.next().await {
                Some(Ok(_)) => return Ok(link),
                Some(Err(end)) => end,
                None => LinkEnd::Lost("the connection broke".into()),
            },
            Err(end) => end,
        };
        agent.disconnected();
        match lost {
            LinkEnd::Lost(why) | LinkEnd::Disowned(why) => reason = why,
            refused => return Err(failure(refused)),
        }
        tokio::time::sleep(RETRY).await;
    }
    Err(failure(LinkEnd::Lost(reason)))
}

async fn say(agent: &mut Agent, now: Millis, messages: &mpsc::Sender<WorkerMessage>) {
    for message in agent.poll(now) {
        // A closed session also ends the stream of messages, which is handled there.
        let _ = messages.send(message).await;
    }
}

fn pieces(lease: Lease, block: &TasksBlock, size: u64) -> impl Iterator<Item = Report> {
    let (start, end) = (block.start, block.start + block.tasks.len() as u64);
    (start..end).step_by(size as usize).map(move |first| {
        let range = Range::new(first, end.min(first + size)).expect("it has a task");
        let busy_us = range.len() * PRETENDED_US;
        let (checked_count, task_counts) = (CheckedCount::EMPTY, TaskCounts::default());
        Report::new(&lease, range, checked_count, task_counts, KernelName::ALL[0], busy_us)
    })
}

fn failure(end: LinkEnd) -> anyhow::Error {
    match end {
        LinkEnd::Refused(error) | LinkEnd::Unrecognised(error) => error.into(),
        LinkEnd::Lost(reason) | LinkEnd::Disowned(reason) => {
            anyhow::anyhow!("the session ended: {reason}")
        }
    }
}
