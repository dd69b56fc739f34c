//! Grants or refuses what clients ask for, over HTTP and from the forms of the page.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use std::collections::BTreeSet;
use std::sync::Arc;

use farm::{
    Answer, Change, JobId, JobSpec, JobView, Known, Origin, Party, Refusal, Shard, Submission,
    WorkerView, is_name, rule_of_names,
};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use ledger::Role;

use super::downloads::Downloads;
use super::refused::Refused;
use super::{Credentials, FarmHandle, Identity, Plans, Right};
use crate::api::{Code, Patch, Submit, Trust};

#[derive(Clone)]
pub(super) struct JobApi {
    pub(super) farm: FarmHandle,
    pub(super) plans: Arc<Plans>,
    pub(super) credentials: Credentials,
    pub(super) downloads: Downloads,
}

impl JobApi {
    /// The job of this number, if there is one.
    pub(super) async fn view(&self, job: JobId) -> Result<JobView, Refused> {
        Ok(self.farm.job(job).await?.ok_or(Refusal::NoSuchJob(job))?)
    }

    /// Adds all of these jobs or, if one of them is refused, none. They are answered in this order,
    /// once they are durable.
    pub(super) async fn submit(
        &self,
        identity: &Identity,
        jobs: Vec<Submit>,
    ) -> Result<Vec<JobView>, Refused> {
        const MOST: usize = 100;
        identity.require(Right::Change)?;
        let names: Vec<_> = jobs.iter().filter_map(|job| job.name.as_ref()).collect();
        let are_apart = BTreeSet::from_iter(&names).len() == names.len();
        if jobs.is_empty() || jobs.len() > MOST || !are_apart {
            return Err(Refused::invalid(format!(
                "submit 1 to {MOST} jobs together, no two of one name"
            )));
        }
        // Three plans are made at a time, because each may take many seconds of one thread. One of
        // the four turns is left to others.
        let submissions = jobs.into_iter().map(|job| self.submission(identity, job));
        let submissions = stream::iter(submissions).buffered(3).try_collect().await?;
        match self.ask(identity, farm::Request::Submit(submissions)).await? {
            Answer::Jobs(jobs) => Ok(jobs),
            answer => unreachable!("a submission is answered with jobs, not with {answer:?}"),
        }
    }

    async fn submission(&self, identity: &Identity, job: Submit) -> Result<Submission, Refused> {
        identity.require_priority(job.priority)?;
        let (problem, method) = job.problem().map_err(Refused::invalid)?;
        let key = job.key().map_err(Refused::invalid)?;
        let audit = job.audit.map(|wish| wish.with(seed(), self.credentials.across()));
        let audit = audit.transpose().map_err(Refused::invalid)?;
        let plan = self.plans.submitted(problem, method).await?;
        let origin = Origin { owner: identity.owner.clone(), key };
        let spec = JobSpec { origin, plan, shard: Shard::ALL, priority: job.priority };
        let audit = audit.filter(|policy| !policy.is_none());
        Ok(Submission { spec, audit, known: Known::of(&plan, Shard::ALL).into() })
    }

    /// Changes the priority of a job, or orders an audit of it.
    pub(super) async fn patch(
        &self,
        identity: &Identity,
        job: JobId,
        patch: Patch,
    ) -> Result<JobView, Refused> {
        let change = patch.change(seed(), self.credentials.across());
        self.change(identity, job, change.map_err(Refused::invalid)?).await
    }

    /// Changes a job.
    pub(super) async fn change(
        &self,
        identity: &Identity,
        job: JobId,
        change: Change,
    ) -> Result<JobView, Refused> {
        if let Change::Priority(priority) = change {
            identity.require_priority(priority)?;
        }
        self.require_own(identity, job).await?;
        self.ask_for_job(identity, farm::Request::Change(job, change)).await
    }

    /// Removes a job that is over, with all of its counts and evidence.
    pub(super) async fn remove(&self, identity: &Identity, job: JobId) -> Result<JobView, Refused> {
        self.require_own(identity, job).await?;
        self.ask_for_job(identity, farm::Request::Remove(job)).await
    }

    /// Distrusts a party, or trusts it again. Returns the parties that are still distrusted and
    /// have machines in common with it.
    pub(super) async fn trust(
        &self,
        identity: &Identity,
        Trust { owner, machine, trusted, reason }: Trust,
    ) -> Result<Vec<Party>, Refused> {
        identity.require(Right::Decide)?;
        if !is_name(&owner) || !machine.as_deref().is_none_or(is_name) {
            return Err(Refused::invalid(rule_of_names()));
        }
        let reason = farm::reason(&reason).map_err(Refused::invalid)?;
        let request = farm::Request::Trust { party: Party { owner, machine }, trusted, reason };
        match self.ask(identity, request).await? {
            Answer::Distrusted(parties) => Ok(parties),
            answer => unreachable!("a decision about trust is not answered with {answer:?}"),
        }
    }

    /// Leases nothing more to the connected workers of this name, which the identity's owner has
    /// or, for an admin, which anybody has. Returns them.
    pub(super) async fn drain(
        &self,
        identity: &Identity,
        worker: String,
    ) -> Result<Vec<WorkerView>, Refused> {
        identity.require(Right::Change)?;
        let owner = (identity.role != Role::Admin).then(|| identity.owner.clone());
        let request = farm::Request::Drain { worker: worker.clone(), owner };
        match self.ask(identity, request).await? {
            Answer::Drained(workers) if workers.is_empty() => {}
            Answer::Drained(workers) => return Ok(workers),
            answer => unreachable!("a drain is answered with workers, not with {answer:?}"),
        }
        let named = worker.clone();
        let of_others = self
            .farm
            .look(move |farm| farm.worker_views().any(|view| view.provenance.worker == named));
        Err(match of_others.await? {
            true => Refused::new(
                Code::Forbidden,
                format!(
                    "the worker {worker} is not {:?}'s: only its owner and an admin may drain it",
                    identity.owner
                ),
            ),
            false => Refused::new(
                Code::NoSuchWorker,
                format!("no worker {worker} is connected; `queens workers` lists them"),
            ),
        })
    }

    async fn ask_for_job(
        &self,
        identity: &Identity,
        request: farm::Request,
    ) -> Result<JobView, Refused> {
        match self.ask(identity, request).await? {
            Answer::Job(job) => Ok(*job),
            answer => unreachable!("a change is answered with its job, not with {answer:?}"),
        }
    }

    /// Has the farm carry out a request that the identity may make. Returns the answer once it is
    /// durable.
    async fn ask(&self, identity: &Identity, ask: farm::Request) -> Result<Answer, Refused> {
        let reported = ask.clone();
        let answer = self.farm.ask(&identity.owner, ask).await??;
        log(&reported, &answer, &identity.owner);
        Ok(answer)
    }

    /// Refuses a change of somebody else's job.
    async fn require_own(&self, identity: &Identity, job: JobId) -> Result<(), Refused> {
        identity.require(Right::Change)?;
        // The owner of a job never changes.
        identity.require_own(&self.view(job).await?)
    }
}

/// A seed for a draw of audits, less than 2^63, because ledgers store signed integers.
fn seed() -> u64 {
    rand::random::<u64>() >> 1
}

/// Logs what was done, and for which owner.
fn log(ask: &farm::Request, answer: &Answer, by: &str) {
    match (ask, answer) {
        (farm::Request::Submit(_), Answer::Jobs(jobs)) => {
            for JobView { id, spec: JobSpec { plan, .. }, .. } in jobs {
                tracing::info!(job = %id, by, %plan, tasks = plan.tasks, "job submitted");
            }
        }
        (farm::Request::Change(job, Change::Audit { policy, .. }), _) => {
            tracing::info!(%job, by, share_ppm = policy.share_ppm, "audit ordered");
        }
        (farm::Request::Change(job, change), _) => tracing::info!(%job, by, ?change, "job changed"),
        (farm::Request::Remove(_), Answer::Job(job)) => {
            let JobView { id, spec: JobSpec { plan, .. }, state, total, .. } = &**job;
            let total = total.map(tracing::field::display);
            tracing::warn!(job = %id, by, %plan, %state, total, "job removed");
        }
        (farm::Request::Drain { worker, .. }, Answer::Drained(workers)) => {
            tracing::info!(worker, by, connected = workers.len(), "worker drained");
        }
        (farm::Request::Trust { party, trusted, reason }, _) => {
            tracing::warn!(%party, by, trusted, reason, "trust changed by hand");
        }
        _ => {}
    }
}
