//! What each worker is told when it changes: a mark of the ledger, and how often to report.

use std::time::Duration;

use farm::WorkerOrder;
use tokio::sync::{mpsc, watch};

/// How long a session gathers changes before it tells its worker of them: a farm has many workers.
const GATHER: Duration = Duration::from_secs(3);

/// Sends a worker the latest of the `news`, and again some time after they have changed. It never ends; nothing is sent if
/// the worker does not want to know, or when nobody listens any more.
pub(super) async fn tell<T: Clone>(
    news: Option<watch::Receiver<T>>,
    order: impl Fn(T) -> WorkerOrder,
    out: mpsc::Sender<WorkerOrder>,
) {
    if let Some(mut news) = news {
        loop {
            let latest = news.borrow_and_update().clone();
            if out.send(order(latest)).await.is_err() || news.changed().await.is_err() {
                break;
            }
            tokio::time::sleep(GATHER).await;
        }
    }
    // The last sender has to go, or the session would not end.
    drop(out);
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn changes_are_gathered_before_a_worker_is_told() {
        let (sender, marks) = watch::channel(vec![0]);
        let (out, mut told) = mpsc::channel(1);
        tokio::spawn(tell(Some(marks), WorkerOrder::Mark, out));
        assert_eq!(told.recv().await, Some(WorkerOrder::Mark(vec![0])));
        for change in 1..=5 {
            sender.send_replace(vec![change]);
            tokio::task::yield_now().await;
        }
        assert_eq!(told.recv().await, Some(WorkerOrder::Mark(vec![5])));
        drop(sender);
        assert_eq!(told.recv().await, None);
    }
}
