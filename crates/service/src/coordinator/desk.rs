//! What clients may ask of jobs, and who may ask for what. The gRPC service and the page both ask
//! here.

use std::sync::Arc;

use board::MethodChoice;
use farm::{AuditPolicy, JobId, JobState, JobView, Origin, Problem, Refusal, Slice};
use tonic::Status;

use super::plans::NoPlan;
use super::{ClientRequest, HubHandle, Identity, Plans, Right};

/// Where the requests of clients are granted or refused.
#[derive(Clone)]
pub(super) struct Desk {
    hub: HubHandle,
    plans: Arc<Plans>,
}

/// A job that somebody wants.
pub(super) struct Submission {
    pub(super) problem: Problem,
    pub(super) method: MethodChoice,
    pub(super) priority: i32,
    /// The owner's name for it, which no other job of the owner has.
    pub(super) key: Option<String>,
    pub(super) audit: Option<AuditPolicy>,
}

impl Desk {
    pub(super) fn new(hub: HubHandle, plans: Arc<Plans>) -> Desk {
        Desk { hub, plans }
    }

    /// Submits a job for somebody who may.
    ///
    /// # Errors
    ///
    /// A status that says why not.
    pub(super) async fn submit(
        &self,
        identity: Identity,
        wanted: Submission,
    ) -> Result<JobView, Status> {
        let Submission { problem, method, priority, key, audit } = wanted;
        identity.require(Right::Change)?;
        identity.require_priority(priority)?;
        let plan = self.plans.submitted(problem, method).await?;
        let (slice, origin) = (Slice::ALL, Origin { owner: identity.owner.clone(), key });
        let wish = ClientRequest::Submit { origin, plan, slice, priority, audit };
        let job = self.grant(&identity, wish).await?;
        tracing::info!(job = %job.id, owner = job.origin.owner, %plan, tasks = plan.tasks, "job submitted");
        Ok(job)
    }

    /// Changes a job for somebody who may.
    ///
    /// # Errors
    ///
    /// A status that says why not.
    pub(super) async fn change(
        &self,
        identity: &Identity,
        (job, wish): (JobId, ClientRequest),
    ) -> Result<JobView, Status> {
        self.changeable(identity, job).await?;
        self.grant(identity, wish).await
    }

    /// A job that somebody may change.
    async fn changeable(&self, identity: &Identity, job: JobId) -> Result<JobView, Status> {
        identity.require(Right::Change)?;
        let view = self.view(job).await?;
        // The owner of a job never changes.
        identity.require_own(&view)?;
        Ok(view)
    }

    /// Removes a job that is over, for somebody who may. Returns the job as it was.
    ///
    /// # Errors
    ///
    /// A status that says why not.
    pub(super) async fn remove(&self, identity: &Identity, job: JobId) -> Result<JobView, Status> {
        let view = self.changeable(identity, job).await?;
        self.hub.remove(job).await?.map_err(refused)?;
        let JobView { plan, state, total, .. } = &view;
        let total = (*state == JobState::Done).then(|| tracing::field::display(total));
        tracing::warn!(%job, %plan, %state, total, by = identity.owner, "job removed");
        Ok(view)
    }

    /// One job.
    ///
    /// # Errors
    ///
    /// A status that says that there is none of this number.
    pub(super) async fn view(&self, job: JobId) -> Result<JobView, Status> {
        self.hub.job(job).await?.ok_or_else(|| refused(Refusal::NoSuchJob(job)))
    }

    /// Has a job served earlier or later, for somebody who may give it such a priority.
    ///
    /// # Errors
    ///
    /// A status that says why not.
    pub(super) async fn set_priority(
        &self,
        identity: &Identity,
        job: JobId,
        priority: i32,
    ) -> Result<JobView, Status> {
        identity.require_priority(priority)?;
        let wish = ClientRequest::SetPriority(job, priority);
        let job = self.change(identity, (job, wish)).await?;
        tracing::info!(job = %job.id, priority, by = identity.owner, "priority changed");
        Ok(job)
    }

    async fn grant(&self, identity: &Identity, wish: ClientRequest) -> Result<JobView, Status> {
        self.hub.request(&identity.owner, wish).await?.map_err(refused)
    }
}

fn refused(refusal: Refusal) -> Status {
    let text = refusal.to_string();
    match refusal {
        Refusal::NoSuchJob(_) => Status::not_found(text),
        Refusal::Over(..)
        | Refusal::NotOver(..)
        | Refusal::Proof(_)
        | Refusal::Unsettled(_)
        | Refusal::Held(_) => Status::failed_precondition(text),
        Refusal::TooManyJobs { .. } | Refusal::TooManyOfOwner { .. } => {
            Status::resource_exhausted(text)
        }
        Refusal::KeyTaken(_) => Status::already_exists(text),
    }
}

impl From<NoPlan> for Status {
    fn from(failure: NoPlan) -> Status {
        let text = failure.to_string();
        match failure {
            NoPlan::Cut(_) => Status::invalid_argument(text),
            NoPlan::TooLong { .. } => Status::resource_exhausted(text),
            NoPlan::Internal(_) => Status::internal(text),
        }
    }
}
