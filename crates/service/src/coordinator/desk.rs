//! What clients may ask of jobs, and who may ask for what. The gRPC service and the page both ask here. Both have
//! paid for the request as such; here it is paid what it asks for.

use std::sync::Arc;

use board::MethodChoice;
use farm::{AuditPolicy, JobId, JobView, Origin, Problem, Refusal, Slice};
use tonic::Status;

use super::budget::{Budget, Cost};
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
        budget: &Budget,
        wanted: Submission,
    ) -> Result<JobView, Status> {
        let Submission { problem, method, priority, key, audit } = wanted;
        identity.require(Right::Change)?;
        identity.require_priority(priority)?;
        let plan = self.plans.submitted(problem, method, budget).await?;
        budget.spend(Cost::Change);
        let (slice, origin) = (Slice::ALL, Origin { owner: identity.owner, key });
        let wish = ClientRequest::Submit { origin, plan, slice, priority, audit };
        let job = self.grant(wish).await?;
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
        budget: &Budget,
        (job, cost, wish): (JobId, Cost, ClientRequest),
    ) -> Result<JobView, Status> {
        identity.require(Right::Change)?;
        // The owner of a job never changes.
        identity.require_own(&self.view(job).await?)?;
        budget.spend(cost);
        self.grant(wish).await
    }

    /// One job.
    ///
    /// # Errors
    ///
    /// A status that says that there is none of this number.
    pub(super) async fn view(&self, job: JobId) -> Result<JobView, Status> {
        let refusal = || Status::not_found(Refusal::NoSuchJob(job).to_string());
        self.hub.job(job).await?.ok_or_else(refusal)
    }

    /// Has a job served earlier or later, for somebody who may give it such a priority.
    ///
    /// # Errors
    ///
    /// A status that says why not.
    pub(super) async fn set_priority(
        &self,
        identity: &Identity,
        budget: &Budget,
        job: JobId,
        priority: i32,
    ) -> Result<JobView, Status> {
        identity.require_priority(priority)?;
        let wish = ClientRequest::SetPriority(job, priority);
        let job = self.change(identity, budget, (job, Cost::Change, wish)).await?;
        tracing::info!(job = %job.id, priority, by = identity.owner, "priority changed");
        Ok(job)
    }

    async fn grant(&self, wish: ClientRequest) -> Result<JobView, Status> {
        let refused = |refusal: Refusal| {
            let text = refusal.to_string();
            match refusal {
                Refusal::NoSuchJob(_) => Status::not_found(text),
                Refusal::Over(..) | Refusal::Held(_) => Status::failed_precondition(text),
                Refusal::TooManyJobs { .. } | Refusal::TooManyOfOwner { .. } => {
                    Status::resource_exhausted(text)
                }
                Refusal::KeyTaken(_) => Status::already_exists(text),
            }
        };
        self.hub.request(wish).await?.map_err(refused)
    }
}

impl From<NoPlan> for Status {
    fn from(failure: NoPlan) -> Status {
        let text = failure.to_string();
        match failure {
            NoPlan::Cut(_) => Status::invalid_argument(text),
            NoPlan::TooLong { .. } | NoPlan::Resting { .. } => Status::resource_exhausted(text),
            NoPlan::Internal(_) => Status::internal(text),
        }
    }
}
