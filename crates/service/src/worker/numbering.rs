//! A worker that numbers tasks itself: what the coordinator lends without tasks is passed on with them.

use std::sync::Arc;

use farm::WorkerOrder;
use tokio::sync::mpsc;
use tokio_stream::{Stream, StreamExt};

use super::LinkEnd;
use crate::coordinator::Plans;
use crate::lent::Lent;

/// Passes orders on to `out`, and behind each loan that comes without tasks its tasks. Whatever else comes overtakes
/// them. Ends with the orders, or when nobody takes them any more.
pub(super) async fn number(
    mut orders: impl Stream<Item = Result<WorkerOrder, LinkEnd>> + Unpin,
    plans: Arc<Plans>,
    out: mpsc::Sender<Result<WorkerOrder, LinkEnd>>,
) {
    let (mut lent, mut is_asked) = (Lent::default(), false);
    loop {
        let order = tokio::select! {
            biased;
            () = out.closed() => return,
            order = orders.next() => match order {
                Some(order) => order,
                None => return,
            },
            () = std::future::ready(()), if !lent.is_empty() => {
                let block = lent.next_block().expect("some are to come");
                Ok(WorkerOrder::Tasks(block))
            }
        };
        match &order {
            Ok(WorkerOrder::Welcome { without_tasks, .. }) => is_asked = *without_tasks,
            Ok(WorkerOrder::Loan(loan)) if is_asked => match plans.cut(loan.plan).await {
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
    use board::{MethodChoice, Problem};
    use farm::{JobId, LeaseId, Loan, LoanKind, LoanProof, Range};
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
    async fn loans_get_their_tasks_only_if_the_coordinator_leaves_them_to_the_worker() {
        let plans = Plans::default();
        let welcome = |without_tasks| WorkerOrder::Welcome { ledger: None, without_tasks };
        let [one, two] = [1, 2].map(|lease| WorkerOrder::Loan(loan(&plans, lease)));
        let revoke = WorkerOrder::Revoke(LeaseId(1));

        let told = passed_on(vec![welcome(false), one.clone()]).await;
        assert_eq!(told, ["Welcome", "loan 1"]);

        let told = passed_on(vec![welcome(true), one, two, revoke]).await;
        let all = ["Welcome", "loan 1", "loan 2", "revoke 1"];
        assert_eq!(told[..4], all, "whatever comes overtakes tasks");
        assert_eq!(told.len(), 4, "with the session ends what was to come: {told:?}");
    }

    #[tokio::test]
    async fn tasks_of_loans_come_in_order_and_none_of_a_revoked_one() {
        let plans = Plans::default();
        let (says, told) = mpsc::channel(16);
        let (out, mut passed) = mpsc::channel(1);
        tokio::spawn(number(ReceiverStream::new(told), Arc::default(), out));
        let welcome = WorkerOrder::Welcome { ledger: None, without_tasks: true };
        let loans = [1, 2].map(|lease| WorkerOrder::Loan(loan(&plans, lease)));
        for order in [welcome].into_iter().chain(loans) {
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
