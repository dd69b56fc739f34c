//! What sessions and clients hold of the hub: what they say to it, and what it answers.

use std::path::Path;
use std::sync::Arc;

use executor::thread_memory;
use farm::{
    AuditPolicy, Event, Hello, JobId, JobView, Known, Origin, Pace, Party, Plan, PlanMap, Progress,
    Refusal, RequestId, SessionId, Slice, WorkerView,
};
use ledger::CredentialChange;
use tokio::sync::{mpsc, oneshot, watch};

use super::metrics::{Figures, Meters};
use super::pump::Order;
use crate::error::HubGone;

/// A handle to the hub, for sessions and clients.
#[derive(Clone, Debug)]
pub struct HubHandle {
    pub(super) inputs: mpsc::Sender<Input>,
    pub(super) meters: Meters,
    pub(super) ledger_path: Option<Arc<Path>>,
    pub(super) paces: watch::Receiver<Pace>,
    /// Whether requests are answered.
    pub(super) open: watch::Sender<bool>,
}

impl HubHandle {
    /// A worker of `owner` has said hello. Its session ends when the orders do.
    pub async fn join(
        &self,
        owner: String,
        hello: Hello,
    ) -> Result<(SessionId, mpsc::Receiver<Order>), HubGone> {
        self.ask(|reply| Input::Join(owner, hello, reply)).await
    }

    /// Believes a party no more, or again, and says why. Returns when that is durable.
    pub async fn change_trust(
        &self,
        party: Party,
        trusted: bool,
        reason: String,
    ) -> Result<(), HubGone> {
        self.ask(|reply| Input::Trust { party, trusted, reason, reply }).await
    }

    /// All connected workers, and all parties that are not believed.
    pub async fn workers(&self) -> Result<(Vec<WorkerView>, Vec<Party>), HubGone> {
        self.ask(Input::Workers).await
    }

    /// What the farm is like now, for `/metrics`.
    pub(super) async fn figures(&self) -> Result<Figures, HubGone> {
        self.ask(Input::Figures).await
    }

    /// What is measured while the farm runs.
    pub(super) fn meters(&self) -> &Meters {
        &self.meters
    }

    /// The ledger's file, if there is one.
    pub(super) fn ledger_path(&self) -> Option<&Path> {
        self.ledger_path.as_deref()
    }

    /// How often workers are to report, now and when it changes.
    pub(super) fn paces(&self) -> watch::Receiver<Pace> {
        self.paces.clone()
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

    /// Writes a change of the credentials. Returns when it is durable.
    pub(super) async fn change_credential(&self, change: CredentialChange) -> Result<(), HubGone> {
        self.ask(|reply| Input::Credential(change, reply)).await
    }

    /// Something happened in a session.
    pub async fn session(&self, event: Event) -> Result<(), HubGone> {
        self.inputs.send(Input::Session(event)).await.map_err(|_| HubGone)
    }

    /// Grants the request of a client of the owner `by`, or says why not, once the answer is durable.
    pub async fn request(
        &self,
        by: &str,
        wish: ClientRequest,
    ) -> Result<Result<JobView, Refusal>, HubGone> {
        self.ask(|reply| Input::Request { by: by.into(), wish, reply }).await
    }

    /// Removes a job that is over, or says why not, once that is durable.
    pub async fn remove(&self, job: JobId) -> Result<Result<(), Refusal>, HubGone> {
        self.ask(|reply| Input::Remove(job, reply)).await
    }

    /// One job.
    pub async fn job(&self, job: JobId) -> Result<Option<JobView>, HubGone> {
        self.ask(|reply| Input::View(job, reply)).await
    }

    /// A job that exists, as it is once it is over or held.
    pub async fn end(&self, job: JobId) -> Result<JobView, HubGone> {
        self.ask(|reply| Input::End(job, reply)).await
    }

    /// The first `most` jobs of a list.
    pub(super) async fn jobs(&self, listed: Listed, most: usize) -> Result<Vec<JobView>, HubGone> {
        self.ask(|reply| Input::Views(listed, most, reply)).await
    }

    /// What people see of the farm now.
    pub(super) async fn farm_now(&self) -> Result<farm::Survey, HubGone> {
        self.ask(Input::FarmNow).await
    }

    /// One job, and what has become of each part of its plan.
    pub(super) async fn sight(&self, job: JobId) -> Result<Option<(JobView, PlanMap)>, HubGone> {
        self.ask(|reply| Input::Sight(job, reply)).await
    }

    /// What was done for each job since this was last asked. One asks for all.
    pub(super) async fn take_progress(&self) -> Result<Vec<Progress>, HubGone> {
        self.ask(Input::Progress).await
    }

    /// Ends the hub once what it has taken in is in the ledger.
    pub async fn stop(&self) {
        let _ = self.inputs.send(Input::Stop).await;
    }

    async fn ask<T>(&self, input: impl FnOnce(oneshot::Sender<T>) -> Input) -> Result<T, HubGone> {
        let (reply, answer) = oneshot::channel();
        self.inputs.send(input(reply)).await.map_err(|_| HubGone)?;
        answer.await.map_err(|_| HubGone)
    }
}

/// What the hub takes in.
pub(super) enum Input {
    Join(String, Hello, oneshot::Sender<(SessionId, mpsc::Receiver<Order>)>),
    Session(Event),
    Request { by: String, wish: ClientRequest, reply: oneshot::Sender<Result<JobView, Refusal>> },
    Remove(JobId, oneshot::Sender<Result<(), Refusal>>),
    View(JobId, oneshot::Sender<Option<JobView>>),
    Views(Listed, usize, oneshot::Sender<Vec<JobView>>),
    End(JobId, oneshot::Sender<JobView>),
    Trust { party: Party, trusted: bool, reason: String, reply: oneshot::Sender<()> },
    Workers(oneshot::Sender<(Vec<WorkerView>, Vec<Party>)>),
    Figures(oneshot::Sender<Figures>),
    Credential(CredentialChange, oneshot::Sender<()>),
    FarmNow(oneshot::Sender<farm::Survey>),
    Sight(JobId, oneshot::Sender<Option<(JobView, PlanMap)>>),
    Progress(oneshot::Sender<Vec<Progress>>),
    Stop,
}

/// Which jobs a list has, in which order, and where it begins.
#[derive(Clone, Copy, Debug)]
pub(super) enum Listed {
    /// All after this one, the oldest first.
    After(JobId),
    /// Those of them that are neither done nor cancelled.
    LiveAfter(JobId),
    /// All before this one, the newest first.
    Before(JobId),
    /// Those of them that are done or cancelled.
    EndedBefore(JobId),
}

/// What a client may ask for.
#[derive(Clone, Debug)]
pub enum ClientRequest {
    /// Count this, unless its owner has a job of this key already.
    Submit {
        /// Who wants it.
        origin: Origin,
        /// What to count.
        plan: Plan,
        /// The part that is wanted of it.
        slice: Slice,
        /// Jobs of higher priority are served first.
        priority: i32,
        /// What is to be counted twice, if anything is.
        audit: Option<AuditPolicy>,
    },
    /// Count accepted ranges again.
    Audit(JobId, AuditPolicy),
    /// End a job without a total.
    Cancel(JobId),
    /// Let a job rest.
    Pause(JobId),
    /// Let a resting job go on.
    Resume(JobId),
    /// Serve a job earlier or later than others.
    SetPriority(JobId, i32),
}

impl ClientRequest {
    /// The event that the farm is told of.
    pub(super) fn event(self, request: RequestId, by: String) -> Event {
        match self {
            ClientRequest::Submit { origin, plan, slice, priority, audit } => {
                let (thread_memory, known) = (thread_memory(&plan), Known::of(&plan, slice));
                Event::Submitted {
                    request,
                    origin,
                    plan,
                    slice,
                    priority,
                    audit,
                    thread_memory,
                    known,
                }
            }
            ClientRequest::Audit(job, policy) => Event::AuditAsked { request, by, job, policy },
            ClientRequest::Cancel(job) => Event::Cancelled { request, by, job },
            ClientRequest::Pause(job) => Event::Paused { request, by, job },
            ClientRequest::Resume(job) => Event::Resumed { request, by, job },
            ClientRequest::SetPriority(job, priority) => {
                Event::Prioritised { request, by, job, priority }
            }
        }
    }
}
