//! Grants or refuses the requests of clients, which come over gRPC and from the forms of the page.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use board::MethodChoice;
use farm::{
    Answer, Change, JobId, JobSpec, JobState, JobView, Known, Origin, Party, Problem, Refusal,
    Shard, Submission, WorkerView,
};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use ledger::{Credential, Role};
use tonic::{Request, Response, Status};
use wire::v1::ask_request::Request as Asked;
use wire::v1::client_service_server::ClientService;
use wire::{WireError, v1};

use super::credentials::{allowed, identity};
use super::downloads::{Answers, Downloads, answers};
use super::{Credentials, FarmHandle, Identity, Plans, Right};

/// The most jobs in one answer, and how many there are if the client does not say.
const MOST_LISTED: usize = 256;
/// How often the state of a watched job is read.
const WATCH_INTERVAL: Duration = Duration::from_millis(250);

#[derive(Clone)]
pub(super) struct JobApi {
    pub(super) farm: FarmHandle,
    pub(super) plans: Arc<Plans>,
    pub(super) credentials: Credentials,
    pub(super) downloads: Downloads,
}

impl JobApi {
    /// Has the farm carry out a request, if the identity may make it. Returns the answer once it is
    /// durable.
    pub(super) async fn ask(&self, identity: &Identity, asked: Asked) -> Result<Answer, Status> {
        let seed = rand::random::<u64>() >> 1;
        let ask = match asked {
            Asked::Submit(submissions) => self.submissions(identity, submissions, seed).await?,
            Asked::Change(change) => change.with(seed, self.credentials.across())?,
            Asked::Remove(job) => farm::Request::Remove(JobId(job)),
            Asked::Trust(trust) => farm::Request::try_from(trust)?,
        };
        self.require(identity, &ask).await?;
        let reported = ask.clone();
        let answer = self.farm.ask(&identity.owner, ask).await?.map_err(refused)?;
        log(&reported, &answer, &identity.owner);
        Ok(answer)
    }

    /// The job of this number, if there is one.
    pub(super) async fn view(&self, job: JobId) -> Result<JobView, Status> {
        self.farm.job(job).await?.ok_or_else(|| refused(Refusal::NoSuchJob(job)))
    }

    /// The jobs of a request to submit.
    async fn submissions(
        &self,
        identity: &Identity,
        v1::Submissions { jobs }: v1::Submissions,
        seed: u64,
    ) -> Result<farm::Request, Status> {
        const MOST: usize = 100;
        let names: Vec<_> = jobs.iter().filter_map(|job| job.key.as_ref()).collect();
        let are_apart = BTreeSet::from_iter(&names).len() == names.len();
        if jobs.is_empty() || jobs.len() > MOST || !are_apart {
            let reason = format!("submit 1 to {MOST} jobs together, no two of one name");
            return Err(Status::invalid_argument(reason));
        }
        // Three plans are made at a time, because each may take many seconds of one thread. One of
        // the four turns is left to others.
        let submissions = jobs.into_iter().map(|job| self.submission(identity, job, seed));
        Ok(farm::Request::Submit(stream::iter(submissions).buffered(3).try_collect().await?))
    }

    /// A submitted job. Its plan is made only if the identity may submit.
    async fn submission(
        &self,
        identity: &Identity,
        submit: v1::Submit,
        seed: u64,
    ) -> Result<Submission, Status> {
        identity.require(Right::Change)?;
        let v1::Submit { problem, method, priority, audit, key } = submit;
        identity.require_priority(priority)?;
        let problem = Problem::try_from(problem.ok_or(WireError::Missing("problem"))?)?;
        let method = MethodChoice::try_from(method.ok_or(WireError::Missing("method"))?)?;
        let origin = Origin { owner: identity.owner.clone(), key: wire::key(key)? };
        let usual = self.credentials.across();
        let audit = audit.map(|policy| policy.with(seed, usual)).transpose()?;
        let plan = self.plans.submitted(problem, method).await?;
        let spec = JobSpec { origin, plan, shard: Shard::ALL, priority };
        Ok(Submission { spec, audit, known: Known::of(&plan, Shard::ALL).into() })
    }

    /// Refuses a request that the identity does not allow.
    async fn require(&self, identity: &Identity, ask: &farm::Request) -> Result<(), Status> {
        match ask {
            farm::Request::Submit(_) => Ok(()),
            &farm::Request::Change(job, change) => {
                if let Change::Priority(priority) = change {
                    identity.require_priority(priority)?;
                }
                self.require_own(identity, job).await
            }
            farm::Request::Remove(job) => self.require_own(identity, *job).await,
            farm::Request::Trust { .. } => identity.require(Right::Decide),
        }
    }

    async fn require_own(&self, identity: &Identity, job: JobId) -> Result<(), Status> {
        identity.require(Right::Change)?;
        // The owner of a job never changes.
        identity.require_own(&self.view(job).await?)
    }
}

/// The answer to a call.
type Reply<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl ClientService for JobApi {
    async fn ask(&self, request: Request<v1::AskRequest>) -> Reply<v1::AskResponse> {
        let identity = identity(&request);
        let asked = request.into_inner().request.ok_or(WireError::Missing("request"))?;
        Ok(Response::new(JobApi::ask(self, &identity, asked).await?.into()))
    }

    async fn list(&self, request: Request<v1::ListRequest>) -> Reply<v1::ListResponse> {
        let (_, v1::ListRequest { page_size, after, ended }) = allowed(request, Right::See)?;
        let most = match page_size {
            0 => MOST_LISTED,
            wanted => MOST_LISTED.min(usize::try_from(wanted).unwrap_or(usize::MAX)),
        };
        let before = JobId(if after == 0 { u64::MAX } else { after });
        let after = (Bound::Excluded(JobId(after)), Bound::Unbounded);
        // One job more than is listed shows whether more jobs follow.
        let seen = self.farm.look(move |farm| -> Vec<JobView> {
            if ended {
                farm.jobs(..before, JobState::is_over).rev().take(most + 1).collect()
            } else {
                farm.jobs(after, |state| !state.is_over()).take(most + 1).collect()
            }
        });
        let mut jobs = seen.await?;
        let more = jobs.len() > most;
        jobs.truncate(most);
        let jobs = jobs.into_iter().map(Into::into).collect();
        Ok(Response::new(v1::ListResponse { jobs, more }))
    }

    async fn get(&self, request: Request<v1::JobRequest>) -> Reply<v1::Job> {
        let (_, v1::JobRequest { job }) = allowed(request, Right::See)?;
        Ok(Response::new(self.view(JobId(job)).await?.into()))
    }

    type WatchStream = Answers<v1::Job>;

    async fn watch(&self, request: Request<v1::JobRequest>) -> Reply<Self::WatchStream> {
        let (identity, v1::JobRequest { job }) = allowed(request, Right::See)?;
        let mut job = self.view(JobId(job)).await?;
        let jobs = self.clone();
        Ok(answers(identity, self.credentials.clone(), |client| async move {
            loop {
                client.send_patiently(job.clone().into()).await?;
                if job.state.is_over() {
                    return Ok(());
                }
                let last = job.clone();
                while job == last {
                    tokio::time::sleep(WATCH_INTERVAL).await;
                    job = jobs.view(last.id).await?;
                }
            }
        }))
    }

    type ExportStream = Answers<v1::Piece>;

    async fn export(&self, request: Request<v1::JobRequest>) -> Reply<Self::ExportStream> {
        let (identity, v1::JobRequest { job }) = allowed(request, Right::See)?;
        let downloads = self.downloads.clone();
        let make = |client| downloads.bundle(JobId(job), client);
        Ok(answers(identity, self.credentials.clone(), make))
    }

    async fn create_token(
        &self,
        request: Request<v1::CreateTokenRequest>,
    ) -> Reply<v1::CreateTokenResponse> {
        let (identity, request) = allowed(request, Right::Decide)?;
        let role = Role::named(&request.role).ok_or(WireError::Missing("role"))?;
        let owner = wire::name("owner", request.owner)?;
        if owner.contains('/') {
            return Err(Status::invalid_argument(
                "the name of an owner has no slash, which stands between owner and machine",
            ));
        }
        let lifetime = request.lifetime_s.map(Duration::from_secs);
        let created = self.credentials.create(&self.farm, &owner, role, lifetime).await?;
        let (token, credential) = created;
        let (id, by) = (credential.id, identity.owner);
        tracing::info!(id, owner, role = role.name(), by, "token created");
        let secret = token.secret().to_string();
        Ok(Response::new(v1::CreateTokenResponse { token: Some(reported(credential)), secret }))
    }

    async fn list_tokens(
        &self,
        request: Request<v1::ListTokensRequest>,
    ) -> Reply<v1::ListTokensResponse> {
        allowed(request, Right::Decide)?;
        let tokens = self.credentials.list().into_iter().map(reported).collect();
        Ok(Response::new(v1::ListTokensResponse { tokens }))
    }

    async fn revoke_token(&self, request: Request<v1::RevokeTokenRequest>) -> Reply<v1::Token> {
        let (identity, v1::RevokeTokenRequest { id }) = allowed(request, Right::Decide)?;
        let revoked = self.credentials.revoke(&self.farm, id).await;
        let revoked = revoked.map_err(|error| Status::unavailable(error.to_string()))?;
        let none =
            || Status::not_found(format!("there is no token {id}; `queens token list` lists them"));
        let credential = revoked.ok_or_else(none)?;
        tracing::info!(id, owner = credential.owner, by = identity.owner, "token revoked");
        Ok(Response::new(reported(credential)))
    }

    async fn list_workers(
        &self,
        request: Request<v1::ListWorkersRequest>,
    ) -> Reply<v1::ListWorkersResponse> {
        allowed(request, Right::See)?;
        let seen = self.farm.look(|farm| {
            let workers: Vec<WorkerView> = farm.worker_views().collect();
            let distrusted: Vec<Party> = farm.distrusted().cloned().collect();
            (workers, distrusted, farm.leasable_threads())
        });
        let (workers, distrusted, leasable_threads) = seen.await?;
        let worker = |view: WorkerView| v1::Worker {
            owner: view.provenance.principal.owner,
            machine: view.provenance.principal.machine,
            name: view.provenance.worker,
            build: view.provenance.build,
            threads: view.threads,
            tasks: view.tasks,
            backend: view.backend,
            tasks_per_second: view.rate.tasks_per_second,
            placements_per_second: view.rate.placements_per_second,
        };
        Ok(Response::new(v1::ListWorkersResponse {
            workers: workers.into_iter().map(worker).collect(),
            distrusted: distrusted.into_iter().map(Into::into).collect(),
            leasable_threads,
        }))
    }

    type BackupStream = Answers<v1::Piece>;

    async fn backup(&self, request: Request<v1::BackupRequest>) -> Reply<Self::BackupStream> {
        let (identity, _) = allowed(request, Right::Decide)?;
        tracing::info!(by = identity.owner, "a copy of the ledger is being made");
        let downloads = self.downloads.clone();
        Ok(answers(identity, self.credentials.clone(), |client| downloads.copy(client)))
    }
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
        (farm::Request::Trust { party, trusted, reason }, _) => {
            tracing::warn!(%party, by, trusted, reason, "trust changed by hand");
        }
        _ => {}
    }
}

fn refused(refusal: Refusal) -> Status {
    let text = refusal.to_string();
    match refusal {
        Refusal::NoSuchJob(_) => Status::not_found(text),
        Refusal::TooManyJobs(..) | Refusal::TooManyOfOwner(..) => Status::resource_exhausted(text),
        Refusal::KeyTaken(_) => Status::already_exists(text),
        _ => Status::failed_precondition(text),
    }
}

fn reported(credential: Credential) -> v1::Token {
    v1::Token {
        id: credential.id,
        owner: credential.owner,
        role: credential.role.name().into(),
        created_at_ms: credential.created_at_ms,
        expires_at_ms: credential.expires_at_ms,
        revoked_at_ms: credential.revoked_at_ms,
    }
}
