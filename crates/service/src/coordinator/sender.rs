//! Turns the event loop's orders into a stream of messages: enumerates the tasks of leases, at the pace at which
//! the worker reads them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use board::{PlanIndex, Tasks};
use farm::{Ack, CoordinatorMessage, Lease, LeaseId, TasksBlock, Verdict};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;
use wire::MAX_TASKS_PER_MESSAGE;

use super::Plans;
use super::handle::Order;
use super::session_fault::SessionFault;

/// How long the network may take to accept a message. After that the session ends, because the worker does
/// not read.
const PATIENCE: Duration = Duration::from_secs(60);

/// Sends orders and tasks until either end of the session closes. Orders overtake tasks, so that
/// acknowledgements and revocations never wait for a long lease.
///
/// # Errors
///
/// [`SessionFault`], if the worker is dismissed, if it has reported a range that its plan does not have,
/// or if a plan cannot be cut.
pub(super) async fn send_messages(
    mut orders: mpsc::Receiver<Order>,
    out: mpsc::Sender<CoordinatorMessage>,
    plans: Arc<Plans>,
) -> Result<(), SessionFault> {
    let mut leased = Leased::default();
    loop {
        let order = match orders.try_recv() {
            Ok(order) => order,
            Err(TryRecvError::Empty) => match leased.next_block() {
                Some(block) => {
                    if out.send_timeout(CoordinatorMessage::Tasks(block), PATIENCE).await.is_err() {
                        return Ok(());
                    }
                    continue;
                }
                None => match orders.recv().await {
                    Some(order) => order,
                    None => return Ok(()),
                },
            },
            Err(TryRecvError::Disconnected) => return Ok(()),
        };
        let order = order?;
        match order {
            // To number its tasks may take a while after a restart, and meanwhile the worker is to know that it has work.
            CoordinatorMessage::Lease(lease) => {
                if out.send_timeout(order, PATIENCE).await.is_err() {
                    return Ok(());
                }
                leased.push(lease, plans.index(lease.plan).await?);
                continue;
            }
            CoordinatorMessage::Revoke(lease) => leased.revoke(lease),
            CoordinatorMessage::Ack(Ack { range, verdict: Verdict::Invalid, .. }) => {
                return Err(SessionFault::Range(range));
            }
            _ => {}
        }
        if out.send_timeout(order, PATIENCE).await.is_err() {
            return Ok(());
        }
    }
}

/// Leases whose tasks are still to come, in the order in which they were leased.
#[derive(Debug, Default)]
struct Leased(VecDeque<Coming>);

/// A lease whose tasks from the ordinal `next` on are still to come.
#[derive(Debug)]
struct Coming {
    lease: Lease,
    next: u64,
    index: Arc<PlanIndex>,
}

impl Leased {
    /// All tasks of `lease`, whose plan is cut so, are to come.
    fn push(&mut self, lease: Lease, index: Arc<PlanIndex>) {
        self.0.push_back(Coming { lease, next: lease.range.start(), index });
    }

    /// No more tasks of this lease are to come.
    fn revoke(&mut self, lease: LeaseId) {
        self.0.retain(|coming| coming.lease.id != lease);
    }

    /// The next tasks: as many as one message has, or the rest of a lease. `None` if no tasks are to come.
    fn next_block(&mut self) -> Option<TasksBlock> {
        let Coming { lease: Lease { id: lease, range, .. }, next, index } = self.0.front_mut()?;
        let (lease, start) = (*lease, *next);
        let end = range.end().min(start + MAX_TASKS_PER_MESSAGE as u64);
        let mut tasks = Tasks::with_capacity((end - start) as usize);
        index.fill(start..end, &mut tasks).expect("a lease is a range of its plan");
        *next = end;
        if end == range.end() {
            self.0.pop_front();
        }
        Some(TasksBlock { lease, start, tasks })
    }
}

#[cfg(test)]
mod tests {
    use board::{MethodChoice, Problem};
    use farm::{JobId, LeaseKind, LeaseToken, Range};

    use super::*;

    const BLOCK: u64 = wire::MAX_TASKS_PER_MESSAGE as u64;

    /// A lease of a whole plan, which takes many blocks of tasks.
    fn long_lease(plans: &Plans, lease: u64) -> Lease {
        let plan = plans
            .make(Problem::Total { n: 16 }, MethodChoice::Rows { rows: Some(5) })
            .expect("such a plan exists");
        let range = Range::new(0, plan.tasks).expect("it has tasks");
        assert!(plan.tasks > 4 * BLOCK);
        let fingerprint = plan.fingerprint();
        let token = LeaseToken { range, kind: LeaseKind::Count, mac: [7; 16] };
        Lease { id: LeaseId(lease), job: JobId(1), plan, fingerprint, range, token, recount: None }
    }

    /// The next message as text. Blocks of tasks are named by their first ordinal.
    async fn next(out: &mut mpsc::Receiver<CoordinatorMessage>) -> String {
        match out.recv().await.expect("the sender runs") {
            CoordinatorMessage::Lease(lease) => format!("lease {}", lease.id),
            CoordinatorMessage::Tasks(block) => {
                format!("tasks {} from {}", block.lease, block.start)
            }
            CoordinatorMessage::Ack(Ack { verdict, .. }) => format!("ack {verdict:?}"),
            CoordinatorMessage::Revoke(lease) => format!("revoke {lease}"),
            CoordinatorMessage::Welcome { .. } => "welcome".into(),
            CoordinatorMessage::Pace(_) => "pace".into(),
        }
    }

    #[tokio::test]
    async fn orders_overtake_tasks_and_a_revocation_ends_them() {
        let plans = Arc::new(Plans::default());
        let (first, second) = (long_lease(&plans, 1), long_lease(&plans, 2));
        let (orders, from_loop) = mpsc::channel(8);
        let (to_worker, mut out) = mpsc::channel(1);
        tokio::spawn(async move { send_messages(from_loop, to_worker, plans).await });

        orders.send(Ok(CoordinatorMessage::Lease(first))).await.expect("the sender runs");
        assert_eq!(next(&mut out).await, "lease 1");
        assert_eq!(next(&mut out).await, "tasks 1 from 0");

        let verdict = Verdict::Accepted;
        let Lease { job, fingerprint, range, .. } = first;
        orders
            .send(Ok(CoordinatorMessage::Ack(Ack { job, fingerprint, range, verdict })))
            .await
            .expect("it runs");
        orders.send(Ok(CoordinatorMessage::Revoke(LeaseId(1)))).await.expect("the sender runs");
        orders.send(Ok(CoordinatorMessage::Lease(second))).await.expect("the sender runs");
        drop(orders);

        // Two blocks were already on their way: one in the channel, one about to be sent.
        let mut reported = Vec::new();
        while reported.last().is_none_or(|last| last != "lease 2") {
            reported.push(next(&mut out).await);
        }
        let late = reported.iter().filter(|message| message.starts_with("tasks 1")).count();
        assert!(late <= 2, "{reported:?}");
        assert_eq!(reported[late..], ["ack Accepted", "revoke 1", "lease 2"]);
        assert!(out.recv().await.is_none(), "the sender ends with its orders");
    }
}
