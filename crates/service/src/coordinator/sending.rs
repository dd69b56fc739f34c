//! Answers that a thread of its own makes ready, and that a client then takes as slowly as it likes.

use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tonic::Status;

/// How long the network may take to accept an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Who takes the answers.
pub(super) struct Taker<T>(mpsc::Sender<Result<T, Status>>);

/// A stream of answers.
pub(super) type Taken<T> = mpsc::Receiver<Result<T, Status>>;

/// Why the answers end too early.
#[derive(Debug)]
pub(super) enum Stop {
    /// Nobody takes them any more, or too slowly.
    Gone,
    Because(Status),
}

impl<T: Send + 'static> Taker<T> {
    /// Calls `make` on a thread of its own. What that holds, such as its turn, is given back before the stream ends.
    pub(super) fn begin(
        make: impl FnOnce(&Taker<T>) -> Result<(), Stop> + Send + 'static,
    ) -> Taken<T> {
        let (sender, answers) = mpsc::channel(1);
        tokio::task::spawn_blocking(move || {
            let taker = Taker(sender);
            if let Err(Stop::Because(status)) = make(&taker) {
                let _ = taker.tell(Err(status));
            }
        });
        answers
    }

    /// Waits until the next answer has room.
    ///
    /// # Errors
    ///
    /// [`Stop::Gone`].
    pub(super) fn send(&self, answer: T) -> Result<(), Stop> {
        self.tell(Ok(answer))
    }

    /// Whether nobody takes the answers any more.
    pub(super) fn is_gone(&self) -> bool {
        self.0.is_closed()
    }

    /// Waits for something on this thread.
    ///
    /// # Errors
    ///
    /// [`Stop::Gone`], if the taker goes first.
    pub(super) fn wait<W>(&self, something: impl Future<Output = W>) -> Result<W, Stop> {
        Handle::current().block_on(async {
            tokio::select! {
                there = something => Ok(there),
                () = self.0.closed() => Err(Stop::Gone),
            }
        })
    }

    fn tell(&self, answer: Result<T, Status>) -> Result<(), Stop> {
        let sent = self.0.send_timeout(answer, PATIENCE);
        Handle::current().block_on(sent).map_err(|_| Stop::Gone)
    }
}
