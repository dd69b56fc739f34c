//! What sessions and clients hold of the hub: what they say to it, and what it answers.

use std::path::Path;
use std::sync::Arc;

use farm::{
    Answer, Event, Hello, JobId, JobView, Pace, Party, PlanMap, Progress, Refusal, Request,
    SessionId, WorkerView,
};
use ledger::CredentialChange;
use tokio::sync::{mpsc, oneshot, watch};

use super::metrics::{Figures, Meters};
use super::pump::Order;
use crate::error::HubGone;
use crate::tls::ServerTls;

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
        self.question(|reply| Input::Join(owner, hello, reply)).await
    }

    /// All connected workers, and all parties that are not believed.
    pub async fn workers(&self) -> Result<(Vec<WorkerView>, Vec<Party>), HubGone> {
        self.question(Input::Workers).await
    }

    /// What the farm is like now, for `/metrics`.
    pub(super) async fn figures(&self) -> Result<Figures, HubGone> {
        self.question(Input::Figures).await
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

    /// Has the end of the certificate that `tls` shows told as a metric.
    pub fn show_certificate(&self, tls: ServerTls) {
        self.meters.show_certificate(tls);
    }

    /// Writes a change of the credentials. Returns when it is durable.
    pub(super) async fn change_credential(&self, change: CredentialChange) -> Result<(), HubGone> {
        self.question(|reply| Input::Credential(change, reply)).await
    }

    /// Something happened in a session.
    pub async fn session(&self, event: Event) -> Result<(), HubGone> {
        self.inputs.send(Input::Session(event)).await.map_err(|_| HubGone)
    }

    /// Has the farm do what a client of the owner `by` asks for, or says why not, once the answer is durable.
    pub async fn ask(&self, by: &str, ask: Request) -> Result<Result<Answer, Refusal>, HubGone> {
        self.question(|reply| Input::Ask { by: by.into(), ask, reply }).await
    }

    /// One job.
    pub async fn job(&self, job: JobId) -> Result<Option<JobView>, HubGone> {
        self.question(|reply| Input::View(job, reply)).await
    }

    /// A job that exists, as it is once it is over or held.
    pub async fn end(&self, job: JobId) -> Result<JobView, HubGone> {
        self.question(|reply| Input::End(job, reply)).await
    }

    /// The first `most` jobs of a list.
    pub(super) async fn jobs(&self, listed: Listed, most: usize) -> Result<Vec<JobView>, HubGone> {
        self.question(|reply| Input::Views(listed, most, reply)).await
    }

    /// What people see of the farm now.
    pub(super) async fn farm_now(&self) -> Result<farm::Survey, HubGone> {
        self.question(Input::FarmNow).await
    }

    /// One job, and what has become of each part of its plan.
    pub(super) async fn sight(&self, job: JobId) -> Result<Option<(JobView, PlanMap)>, HubGone> {
        self.question(|reply| Input::Sight(job, reply)).await
    }

    /// What was done for each job since this was last asked. One asks for all.
    pub(super) async fn take_progress(&self) -> Result<Vec<Progress>, HubGone> {
        self.question(Input::Progress).await
    }

    /// Ends the hub once what it has taken in is in the ledger.
    pub async fn stop(&self) {
        let _ = self.inputs.send(Input::Stop).await;
    }

    async fn question<T>(
        &self,
        input: impl FnOnce(oneshot::Sender<T>) -> Input,
    ) -> Result<T, HubGone> {
        let (reply, answer) = oneshot::channel();
        self.inputs.send(input(reply)).await.map_err(|_| HubGone)?;
        answer.await.map_err(|_| HubGone)
    }
}

/// What the hub takes in.
pub(super) enum Input {
    Join(String, Hello, oneshot::Sender<(SessionId, mpsc::Receiver<Order>)>),
    Session(Event),
    Ask { by: String, ask: Request, reply: oneshot::Sender<Result<Answer, Refusal>> },
    View(JobId, oneshot::Sender<Option<JobView>>),
    Views(Listed, usize, oneshot::Sender<Vec<JobView>>),
    End(JobId, oneshot::Sender<JobView>),
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
