//! Answers that a thread of its own makes ready, and that a client then takes as slowly as it likes.

use std::pin::Pin;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::credentials::Credentials;
use super::identity::Identity;

/// A stream of answers.
pub(super) type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// How long the network may take to accept an answer. Tests on a busy machine take longer.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 3_600 } else { 60 });

/// Passes answers on until the client goes or its credential ends, also while the next one is being
/// made.
pub(super) fn while_admitted<T: Send + 'static>(
    mut answers: Taken<T>,
    identity: Identity,
    credentials: Credentials,
) -> ReceiverStream<Result<T, Status>> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            let answer = tokio::select! {
                () = sender.closed() => return,
                status = credentials.ended(&identity) => Some(Err(status)),
                answer = answers.recv() => answer,
            };
            let Some(answer) = answer else { return };
            let is_over = answer.is_err();
            if sender.send(answer).await.is_err() || is_over {
                return;
            }
        }
    });
    ReceiverStream::new(receiver)
}

/// The sender's end of a stream of answers.
pub(super) struct Taker<T>(mpsc::Sender<Result<T, Status>>);

/// A stream of answers.
pub(super) type Taken<T> = mpsc::Receiver<Result<T, Status>>;

/// Why the answers end too early.
#[derive(Debug)]
pub(super) enum Stop {
    /// Nobody takes them any more, or one took too long.
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

#[cfg(test)]
mod tests {
    use ledger::{Credential, Role};
    use tokio_stream::StreamExt;
    use tonic::Code;

    use super::*;

    /// The maker's end of answers, and what a client with this credential gets of them. Only number 1 is valid.
    fn begin(credential: u8) -> (mpsc::Sender<Result<u32, Status>>, Sent) {
        let (owner, role) = (String::from("ann"), Role::Viewer);
        let valid = Credential {
            id: 1,
            owner: owner.clone(),
            role,
            hash: [1; 32],
            created_at_ms: 0,
            expires_at_ms: None,
            revoked_at_ms: None,
        };
        let credentials = Credentials::new(None, vec![valid]);
        let identity = Identity { owner, role, credential: Some([credential; 32].into()) };
        let (sender, answers) = mpsc::channel(1);
        (sender, while_admitted(answers, identity, credentials))
    }

    type Sent = ReceiverStream<Result<u32, Status>>;

    #[tokio::test(start_paused = true)]
    async fn nobody_makes_answers_for_a_client_that_has_gone() {
        let (sender, mut sent) = begin(1);
        sender.send(Ok(7)).await.expect("somebody waits for it");
        assert_eq!(sent.next().await.expect("there is one").expect("it is no error"), 7);
        drop(sent);
        tokio::time::timeout(PATIENCE, sender.closed()).await.expect("it is told in time");
    }

    #[tokio::test(start_paused = true)]
    async fn answers_end_with_the_credential_while_the_next_one_is_being_made() {
        let (sender, mut sent) = begin(2);
        let end = tokio::time::timeout(PATIENCE, sent.next()).await.expect("it ends in time");
        let end = end.expect("it says why").expect_err("it may see no more");
        assert_eq!(end.code(), Code::Unauthenticated, "{end}");
        tokio::time::timeout(PATIENCE, sender.closed()).await.expect("it is told in time");
    }
}
