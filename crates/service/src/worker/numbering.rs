//! A worker that numbers tasks itself: loans are passed on with the tasks of their plan, whatever the coordinator sends.
//!
//! So what it signs is what the plan's tasks count, even if a coordinator lies about them.

use std::sync::Arc;

use farm::WorkerOrder;
use tokio::sync::mpsc;
use tokio_stream::{Stream, StreamExt};

use super::LinkEnd;
use crate::coordinator::Plans;
use crate::lent::Lent;

/// Passes orders on to `out`, and behind each loan its tasks; those that a coordinator sends are dropped. Whatever else comes
/// overtakes tasks. Ends with the orders, or when nobody takes them any more.
pub(super) async fn number(
    mut orders: impl Stream<Item = Result<WorkerOrder, LinkEnd>> + Unpin,
    plans: Arc<Plans>,
    out: mpsc::Sender<Result<WorkerOrder, LinkEnd>>,
) {
    let mut lent = Lent::default();
    loop {
        let order = tokio::select! {
            biased;
            () = out.closed() => return,
            order = orders.next() => match order {
                Some(Ok(WorkerOrder::Tasks(_))) => continue,
                Some(order) => order,
                None => return,
            },
            () = std::future::ready(()), if !lent.is_empty() => {
                let block = lent.next_block().expect("some are to come");
                Ok(WorkerOrder::Tasks(block))
            }
        };
        match &order {
            Ok(WorkerOrder::Loan(loan)) => match plans.cut(loan.plan).await {
                Ok(cut) => lent.push(*loan, cut),
                Err(failure) => {
                    let _ = out.send(Err(LinkEnd::Refused(failure))).await;
                    return;
                }
            },
            Ok(WorkerOrder::Revoke(lease)) => lent.revoke(*lease),
            _ => {}
        }
        if out.send(order).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use board::{MethodChoice, Problem, Tasks};
    use farm::{JobId, LeaseId, Loan, LoanKind, LoanProof, Range, TasksBlock};
    use tokio_stream::wrappers::ReceiverStream;

    use super::*;

    const BLOCK: u64 = wire::MAX_TASKS_PER_MESSAGE as u64;
    /// Blocks of a loan.
    const BLOCKS: u64 = 8;

    fn loan(plans: &Plans, lease: u64) -> Loan {
        let plan = plans.make(Problem::Total { n: 16 }, MethodChoice::Rows { rows: Some(5) });
        let (plan, range) =
            (plan.expect("there is one"), Range::new(0, BLOCKS * BLOCK).expect("not empty"));
        Loan {
            lease: LeaseId(lease),
            job: JobId(1),
            plan,
            fingerprint: plan.fingerprint(),
            range,
            proof: LoanProof { range, kind: LoanKind::Count, seal: [7; 16] },
            recount: None,
        }
    }

    fn welcome(without_tasks: bool) -> WorkerOrder {
        WorkerOrder::Welcome { ledger: None, without_tasks }
    }

    /// What comes out of these orders, a word each.
    async fn passed_on(orders: Vec<WorkerOrder>) -> Vec<String> {
        let (says, told) = mpsc::channel(16);
        let (out, mut passed) = mpsc::channel(1);
        for order in orders {
            says.send(Ok(order)).await.expect("there is room");
        }
        drop(says);
        let numbering = number(ReceiverStream::new(told), Arc::default(), out);
        let numbering = tokio::spawn(numbering);
        let mut words = Vec::new();
        while let Some(order) = passed.recv().await {
            words.push(match order.expect("nothing is refused") {
                WorkerOrder::Loan(loan) => format!("loan {}", loan.lease),
                WorkerOrder::Tasks(block) => format!("tasks {} from {}", block.lease, block.start),
                WorkerOrder::Revoke(lease) => format!("revoke {lease}"),
                other => {
                    format!("{other:?}").chars().take_while(char::is_ascii_alphabetic).collect()
                }
            });
        }
        numbering.await.expect("it ends");
        words
    }

    #[tokio::test]
    async fn what_comes_overtakes_tasks_and_they_end_with_the_session() {
        let plans = Plans::default();
        let [one, two] = [1, 2].map(|lease| WorkerOrder::Loan(loan(&plans, lease)));
        let revoke = WorkerOrder::Revoke(LeaseId(1));

        let told = passed_on(vec![welcome(true), one, two, revoke]).await;

        let all = ["Welcome", "loan 1", "loan 2", "revoke 1"];
        assert_eq!(told[..4], all, "whatever comes overtakes tasks");
        assert_eq!(told.len(), 4, "with the session ends what was to come: {told:?}");
    }

    #[tokio::test]
    async fn tasks_are_those_of_the_plan_whatever_the_coordinator_sends() {
        let plans = Plans::default();
        let loan = loan(&plans, 1);
        let cut = plans.cut(loan.plan).await.expect("it can be cut");
        let tasks_from = |first| {
            let mut tasks = Tasks::with_capacity(BLOCK as usize);
            cut.fill(first..first + BLOCK, &mut tasks).expect("the plan has them");
            TasksBlock { lease: loan.lease, start: 0, tasks }
        };
        let (of_plan, others) = (tasks_from(0), tasks_from(1));
        assert_ne!(of_plan, others);
        let (says, told) = mpsc::channel(16);
        let (out, mut passed) = mpsc::channel(16);
        tokio::spawn(number(ReceiverStream::new(told), Arc::default(), out));
        for order in [welcome(false), WorkerOrder::Loan(loan), WorkerOrder::Tasks(others)] {
            says.send(Ok(order)).await.expect("there is room");
        }

        let block = loop {
            match passed.recv().await.expect("it goes on").expect("nothing is refused") {
                WorkerOrder::Tasks(block) => break block,
                _ => continue,
            }
        };

        assert_eq!(block, of_plan);
    }

    #[tokio::test]
    async fn tasks_of_loans_come_in_order_and_none_of_a_revoked_one() {
        let plans = Plans::default();
        let (says, told) = mpsc::channel(16);
        let (out, mut passed) = mpsc::channel(1);
        tokio::spawn(number(ReceiverStream::new(told), Arc::default(), out));
        let loans = [1, 2].map(|lease| WorkerOrder::Loan(loan(&plans, lease)));
        for order in [welcome(true)].into_iter().chain(loans) {
            says.send(Ok(order)).await.expect("there is room");
        }
        let mut next = async || loop {
            if let WorkerOrder::Tasks(block) = passed.recv().await?.expect("nothing is refused") {
                return Some((block.lease.0, block.start, block.tasks.len() as u64));
            }
        };
        for at in 0..3 {
            assert_eq!(next().await, Some((1, at * BLOCK, BLOCK)));
        }

        says.send(Ok(WorkerOrder::Revoke(LeaseId(1)))).await.expect("it listens");

        let mut late = 0;
        while let Some((1, ..)) = next().await {
            late += 1;
        }
        assert!(late <= 3, "{late} of the {BLOCKS} were on their way");
        for at in 1..BLOCKS {
            assert_eq!(next().await, Some((2, at * BLOCK, BLOCK)), "the other one comes whole");
        }
    }
}
