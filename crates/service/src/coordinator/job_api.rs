//! Grants or refuses the requests of clients, which come from the gRPC service and from the forms of the page.

use std::collections::BTreeSet;
use std::sync::Arc;

use board::MethodChoice;
use farm::{
    Answer, Change, JobId, JobSpec, JobView, Known, Origin, OwnerView, Plan, Problem, Refusal,
    Request, Share, Slice, Submission,
};
use tonic::Status;
use wire::v1::ask_request::Request as Asked;
use wire::{AuditDefaults, WireError, v1};

use super::plans::NoPlan;
use super::{Credentials, FarmHandle, Identity, Plans, Right};

/// Grants or refuses requests of clients.
#[derive(Clone)]
pub(super) struct JobApi {
    farm: FarmHandle,
    plans: Arc<Plans>,
    credentials: Credentials,
}

impl JobApi {
    pub(super) fn new(farm: FarmHandle, plans: Arc<Plans>, credentials: Credentials) -> JobApi {
        JobApi { farm, plans, credentials }
    }

    /// Has the farm carry out a request, if the identity allows it.
    ///
    /// # Errors
    ///
    /// A status that says why not.
    pub(super) async fn ask(&self, identity: &Identity, asked: Asked) -> Result<Answer, Status> {
        let seed = rand::random::<u64>() >> 1;
        let defaults = AuditDefaults { seed, usual: self.credentials.across() };
        let ask = match asked {
            Asked::Submit(submissions) => self.submissions(identity, submissions, defaults).await?,
            Asked::Change(change) => change.with(defaults)?,
            Asked::Remove(job) => Request::Remove(JobId(job)),
            Asked::Trust(trust) => Request::try_from(trust)?,
            Asked::Grant(grant) => Request::try_from(grant)?,
        };
        self.require(identity, &ask).await?;
        let reported = ask.clone();
        let answer = self.farm.ask(&identity.owner, ask).await?.map_err(refused)?;
        log(&reported, &answer, &identity.owner);
        Ok(answer)
    }

    /// One job.
    ///
    /// # Errors
    ///
    /// A status that says that there is none of this number.
    pub(super) async fn view(&self, job: JobId) -> Result<JobView, Status> {
        self.farm.job(job).await?.ok_or_else(|| refused(Refusal::NoSuchJob(job)))
    }

    /// The jobs of a request to submit.
    async fn submissions(
        &self,
        identity: &Identity,
        v1::Submissions { jobs }: v1::Submissions,
        defaults: AuditDefaults,
    ) -> Result<Request, Status> {
        const MOST: usize = 100;
        let names: Vec<_> = jobs.iter().filter_map(|job| job.key.as_ref()).collect();
        let are_apart = BTreeSet::from_iter(&names).len() == names.len();
        if jobs.is_empty() || jobs.len() > MOST || !are_apart {
            let reason = format!("submit 1 to {MOST} jobs together, no two of one name");
            return Err(Status::invalid_argument(reason));
        }
        let mut submissions = Vec::new();
        for job in jobs {
            submissions.push(self.submission(identity, job, defaults).await?);
        }
        Ok(Request::Submit(submissions))
    }

    /// A submitted job. Its plan is made only if the identity may submit.
    async fn submission(
        &self,
        identity: &Identity,
        submit: v1::Submit,
        defaults: AuditDefaults,
    ) -> Result<Submission, Status> {
        identity.require(Right::Change)?;
        let v1::Submit { problem, method, priority, audit, key } = submit;
        identity.require_priority(priority)?;
        let problem = Problem::try_from(problem.ok_or(WireError::Missing("problem"))?)?;
        let method = MethodChoice::try_from(method.ok_or(WireError::Missing("method"))?)?;
        let origin = Origin { owner: identity.owner.clone(), key: wire::key(key)? };
        let audit = audit.map(|policy| policy.with(defaults)).transpose()?;
        let plan = self.plans.submitted(problem, method).await?;
        let spec = JobSpec { origin, plan, slice: Slice::ALL, priority };
        Ok(Submission { spec, audit, known: known(&plan, Slice::ALL).into() })
    }

    /// Refuses a request that the identity does not allow.
    async fn require(&self, identity: &Identity, ask: &Request) -> Result<(), Status> {
        match ask {
            Request::Submit(_) => Ok(()),
            &Request::Change(job, change) => {
                if let Change::Priority(priority) = change {
                    identity.require_priority(priority)?;
                }
                self.require_own(identity, job).await
            }
            Request::Remove(job) => self.require_own(identity, *job).await,
            Request::Trust { .. } => identity.require(Right::Decide),
            Request::Grant { owner, .. } => {
                identity.require(Right::Decide)?;
                self.require_known(owner).await
            }
        }
    }

    /// Refuses a name that no owner of jobs or credentials has, because a slip of the keyboard would go unnoticed.
    async fn require_known(&self, owner: &str) -> Result<(), Status> {
        if self.credentials.know(owner) {
            return Ok(());
        }
        let owners = self.farm.look(|farm| farm.owners()).await?;
        if owners.iter().any(|known| known.owner == owner) {
            return Ok(());
        }
        Err(Status::not_found(format!(
            "no job and no credential is {owner:?}'s; `queens owners` and `queens token list` name those that there are"
        )))
    }

    async fn require_own(&self, identity: &Identity, job: JobId) -> Result<(), Status> {
        identity.require(Right::Change)?;
        // The owner of a job never changes.
        identity.require_own(&self.view(job).await?)
    }
}

/// Facts about the counts of a slice of a plan, and the memory that they take, which are known before it is counted.
pub(crate) fn known(plan: &Plan, slice: Slice) -> Known {
    Known { thread_memory: executor::thread_memory(plan), ..known::of(plan, slice) }
}

/// Logs what was done, and for which owner.
fn log(ask: &Request, answer: &Answer, by: &str) {
    match (ask, answer) {
        (Request::Submit(_), Answer::Jobs(jobs)) => {
            for JobView { id, spec: JobSpec { plan, .. }, .. } in jobs {
                tracing::info!(job = %id, by, %plan, tasks = plan.tasks, "job submitted");
            }
        }
        (Request::Change(job, Change::Audit(policy)), _) => {
            tracing::info!(%job, by, share_ppm = policy.share_ppm, "audit ordered");
        }
        (Request::Change(job, change), _) => tracing::info!(%job, by, ?change, "job changed"),
        (Request::Remove(_), Answer::Job(job)) => {
            let JobView { id, spec: JobSpec { plan, .. }, state, total, .. } = &**job;
            let total = total.map(tracing::field::display);
            tracing::warn!(job = %id, by, %plan, %state, total, "job removed");
        }
        (Request::Grant { .. }, Answer::Owner(OwnerView { owner, share, .. })) => {
            let Share { weight, limit_us } = share;
            tracing::warn!(
                owner,
                by,
                weight,
                limit_us,
                "what the jobs of an owner may take was changed"
            );
        }
        (Request::Trust { party, trusted, reason }, _) => {
            tracing::warn!(%party, by, trusted, reason, "trust changed by hand");
        }
        _ => {}
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
        | Refusal::Suspended(_) => Status::failed_precondition(text),
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
            NoPlan::Plan(_) => Status::invalid_argument(text),
            NoPlan::TooLong { .. } => Status::resource_exhausted(text),
            NoPlan::Internal(_) => Status::internal(text),
        }
    }
}
