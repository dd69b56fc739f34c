//! From orders to a stream: enumerates the tasks of what is lent, at the pace of the worker.

use std::collections::VecDeque;
use std::sync::Arc;

use board::Tasks;
use farm::{Fingerprint, JobId, LeaseId, Loan, Range, Verdict};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;
use wire::{MAX_TASKS_PER_MESSAGE, TasksBlock, WorkerOrder};

use super::Plans;
use crate::failure::Failure;

/// What the hub tells a session.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// Send the tasks of a range.
    Loan(Loan),
    /// Send a revocation, and no more tasks of that lease.
    Revoke(LeaseId),
    /// Send an acknowledgement.
    Ack { job: JobId, fingerprint: Fingerprint, range: Range, verdict: Verdict },
}

/// A loan of which the tasks from `next` on are still to be sent.
struct Sending {
    loan: Loan,
    next: u64,
}

/// Runs until either end of the session closes. Orders overtake tasks, so that acknowledgements
/// and revocations never wait for a long loan.
pub(crate) async fn pump(
    mut orders: mpsc::Receiver<Order>,
    out: mpsc::Sender<WorkerOrder>,
    plans: Arc<Plans>,
) -> Result<(), Failure> {
    let mut loans: VecDeque<Sending> = VecDeque::new();
    loop {
        let order = match (orders.try_recv(), loans.front_mut()) {
            (Ok(order), _) => order,
            (Err(TryRecvError::Empty), Some(sending)) => {
                let block = next_block(sending, &plans).await?;
                if sending.next == sending.loan.range.end() {
                    loans.pop_front();
                }
                if out.send(WorkerOrder::Tasks(block)).await.is_err() {
                    return Ok(());
                }
                continue;
            }
            (Err(TryRecvError::Empty), None) => match orders.recv().await {
                Some(order) => order,
                None => return Ok(()),
            },
            (Err(TryRecvError::Disconnected), _) => return Ok(()),
        };
        let message = match order {
            Order::Loan(loan) => {
                loans.push_back(Sending { loan, next: loan.range.start() });
                WorkerOrder::Loan(loan)
            }
            Order::Revoke(lease) => {
                loans.retain(|sending| sending.loan.lease != lease);
                WorkerOrder::Revoke(lease)
            }
            Order::Ack { job, fingerprint, range, verdict } => {
                WorkerOrder::Ack { job, fingerprint, range, verdict }
            }
        };
        if out.send(message).await.is_err() {
            return Ok(());
        }
    }
}

async fn next_block(sending: &mut Sending, plans: &Arc<Plans>) -> Result<TasksBlock, Failure> {
    let Loan { lease, plan, range, .. } = sending.loan;
    let enumeration = plans.enumeration(plan).await?;
    let start = sending.next;
    let end = range.end().min(start + MAX_TASKS_PER_MESSAGE as u64);
    let mut tasks = Tasks::with_capacity((end - start) as usize);
    enumeration.fill(start..end, &mut tasks);
    sending.next = end;
    Ok(TasksBlock { lease, start, tasks })
}
