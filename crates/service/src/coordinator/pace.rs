//! Sends each worker how often to report, whenever that changes.

use std::time::Duration;

use farm::{CoordinatorMessage, Pace};
use tokio::sync::{mpsc, watch};

/// How long a session gathers changes before it sends them, because a farm has many workers.
const GATHER: Duration = Duration::from_secs(3);

/// Sends a worker the latest pace, and again some time after it has changed. It never ends, but sends nothing more once the
/// receiver is gone.
pub(super) async fn send_pace(
    mut paces: watch::Receiver<Pace>,
    out: mpsc::Sender<CoordinatorMessage>,
) {
    loop {
        let latest = *paces.borrow_and_update();
        if out.send(CoordinatorMessage::Pace(latest)).await.is_err()
            || paces.changed().await.is_err()
        {
            break;
        }
        tokio::time::sleep(GATHER).await;
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
        let (sender, paces) = watch::channel(Pace::of(1));
        let (out, mut reported) = mpsc::channel(1);
        tokio::spawn(send_pace(paces, out));
        assert_eq!(reported.recv().await, Some(CoordinatorMessage::Pace(Pace::of(1))));
        for workers in 1..=5 {
            sender.send_replace(Pace::of(1_000 * workers));
            tokio::task::yield_now().await;
        }
        assert_eq!(reported.recv().await, Some(CoordinatorMessage::Pace(Pace::of(5_000))));
        drop(sender);
        assert_eq!(reported.recv().await, None);
    }
}
