//! The handle by which sessions and clients reach the event loop.

use std::path::Path;
use std::sync::Arc;

use farm::{
    Answer, CoordinatorMessage, Dismissal, Event, Farm, Hello, JobId, JobView, Pace, Refusal,
    Request, SessionId,
};
use ledger::{CredentialChange, LedgerRequest};
use tokio::sync::{mpsc, oneshot, watch};

use super::metrics::Meters;
use crate::error::CoordinatorGone;

/// A handle to the event loop, for sessions and clients.
#[derive(Clone, Debug)]
pub struct FarmHandle {
    pub(super) inputs: mpsc::Sender<Input>,
    /// It is the event loop that keeps the ledger open.
    pub(super) ledger: mpsc::WeakSender<LedgerRequest>,
    /// Counters of the service.
    pub(super) meters: Meters,
    /// The ledger's file, if there is one.
    pub(super) ledger_path: Option<Arc<Path>>,
    /// How often workers are to report, now and when it changes.
    pub(super) paces: watch::Receiver<Pace>,
    /// Whether requests are answered.
    pub(super) open: watch::Sender<bool>,
}

impl FarmHandle {
    /// A worker of `owner` has said hello; if its credential is trusted, it settles disputes alone. Its session ends when the
    /// orders do.
    pub async fn join(
        &self,
        owner: String,
        is_trusted: bool,
        hello: Hello,
    ) -> Result<(SessionId, mpsc::Receiver<Order>), CoordinatorGone> {
        let (reply, joined) = oneshot::channel();
        self.tell(Input::Join { owner, is_trusted, hello, reply }).await?;
        joined.await.map_err(|_| CoordinatorGone)
    }

    /// Something happened in a session.
    pub async fn session(&self, event: Event) -> Result<(), CoordinatorGone> {
        self.tell(Input::Session(event)).await
    }

    /// Has the farm carry out the request of a client of the owner `by`. Returns its answer or the refusal, once that is
    /// durable.
    pub async fn ask(
        &self,
        by: &str,
        ask: Request,
    ) -> Result<Result<Answer, Refusal>, CoordinatorGone> {
        let (reply, answer) = oneshot::channel();
        self.tell(Input::Ask { by: by.into(), ask, reply }).await?;
        answer.await.map_err(|_| CoordinatorGone)
    }

    /// Reads the farm between two events. The farm waits meanwhile.
    pub async fn look<T: Send + 'static>(
        &self,
        see: impl FnOnce(&mut Farm) -> T + Send + 'static,
    ) -> Result<T, CoordinatorGone> {
        let (reply, seen) = oneshot::channel();
        let look = move |farm: &mut Farm| drop(reply.send(see(farm)));
        self.tell(Input::Look(Box::new(look))).await?;
        seen.await.map_err(|_| CoordinatorGone)
    }

    /// One job.
    pub async fn job(&self, job: JobId) -> Result<Option<JobView>, CoordinatorGone> {
        self.look(move |farm| farm.job(job)).await
    }

    /// A job that exists, as it is once it is over or suspended.
    pub async fn end(&self, job: JobId) -> Result<JobView, CoordinatorGone> {
        let (reply, end) = oneshot::channel();
        self.tell(Input::End(job, reply)).await?;
        end.await.map_err(|_| CoordinatorGone)
    }

    /// How many inputs wait for the event loop, and how many requests for the ledger.
    pub(super) fn queues(&self) -> Result<[usize; 2], CoordinatorGone> {
        let event_queue = self.inputs.max_capacity() - self.inputs.capacity();
        let ledger = self.ledger.upgrade().ok_or(CoordinatorGone)?;
        Ok([event_queue, ledger.max_capacity() - ledger.capacity()])
    }

    /// Writes a change of the credentials. Returns when it is durable.
    pub(super) async fn change_credential(
        &self,
        change: CredentialChange,
    ) -> Result<(), CoordinatorGone> {
        let (reply, written) = oneshot::channel();
        let ledger = self.ledger.upgrade().ok_or(CoordinatorGone)?;
        let sent = ledger.send(LedgerRequest::Credential(change, reply)).await;
        sent.map_err(|_| CoordinatorGone)?;
        drop(ledger);
        written.await.map_err(|_| CoordinatorGone)
    }

    /// Requests are answered from now on.
    pub(super) fn open(&self) {
        self.open.send_replace(true);
    }

    /// Completes when requests are answered.
    pub async fn opened(&self) {
        let mut open = self.open.subscribe();
        let _ = open.wait_for(|is_open| *is_open).await;
    }

    /// Ends the event loop once what it has taken in is in the ledger.
    pub async fn stop(&self) {
        let _ = self.tell(Input::Stop).await;
    }

    async fn tell(&self, input: Input) -> Result<(), CoordinatorGone> {
        self.inputs.send(input).await.map_err(|_| CoordinatorGone)
    }
}

/// An input of the event loop.
pub(super) enum Input {
    /// A worker begins a session.
    Join {
        owner: String,
        is_trusted: bool,
        hello: Hello,
        reply: oneshot::Sender<(SessionId, mpsc::Receiver<Order>)>,
    },
    /// Something happened in a session.
    Session(Event),
    /// A client asks for something.
    Ask { by: String, ask: Request, reply: oneshot::Sender<Result<Answer, Refusal>> },
    /// A read of the farm.
    Look(Box<dyn FnOnce(&mut Farm) + Send>),
    /// A client waits for the end of a job.
    End(JobId, oneshot::Sender<JobView>),
    /// The event loop is to end.
    Stop,
}

/// A message of the event loop to a session: an order for its worker, or why the session ends.
pub(super) type Order = Result<CoordinatorMessage, Dismissal>;
