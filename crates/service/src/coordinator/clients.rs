//! The service of clients. It only translates between messages, the job API and the event loop.

use std::ops::Bound;
use std::time::Duration;

use farm::{JobId, JobState, JobView, Party, WorkerView};
use ledger::{Credential, Role};
use tonic::{Request, Response, Status};
use wire::v1::client_service_server::ClientService;
use wire::{WireError, v1};

use super::credentials::identity;
use super::downloads::{Answers, Downloads, answers};
use super::job_api::JobApi;
use super::{Credentials, FarmHandle, Right};

/// The most jobs in one answer, and how many there are if the client does not say.
const MOST_LISTED: usize = 256;
/// How often the state of a watched job is read.
const WATCH_INTERVAL: Duration = Duration::from_millis(250);

/// What the service needs.
#[derive(Clone)]
pub(super) struct Clients {
    pub(super) farm: FarmHandle,
    pub(super) jobs: JobApi,
    pub(super) credentials: Credentials,
    pub(super) downloads: Downloads,
}

#[tonic::async_trait]
impl ClientService for Clients {
    async fn ask(
        &self,
        request: Request<v1::AskRequest>,
    ) -> Result<Response<v1::AskResponse>, Status> {
        let identity = identity(&request);
        let asked = request.into_inner().request.ok_or(WireError::Missing("request"))?;
        Ok(Response::new(self.jobs.ask(&identity, asked).await?.into()))
    }

    async fn list(
        &self,
        request: Request<v1::ListRequest>,
    ) -> Result<Response<v1::ListResponse>, Status> {
        identity(&request).require(Right::See)?;
        let v1::ListRequest { page_size, after, live_only, newest_first } = request.into_inner();
        let most = match page_size {
            0 => MOST_LISTED,
            wanted => MOST_LISTED.min(usize::try_from(wanted).unwrap_or(usize::MAX)),
        };
        if live_only && newest_first {
            return Err(Status::invalid_argument(
                "a list of the newest jobs is one of all, and not of those that have not ended",
            ));
        }
        let before = JobId(if after == 0 { u64::MAX } else { after });
        let after = (Bound::Excluded(JobId(after)), Bound::Unbounded);
        // One more than is listed shows whether there are more.
        let seen = self.farm.look(move |farm| -> Vec<JobView> {
            if newest_first {
                farm.jobs(..before, |_| true).rev().take(most + 1).collect()
            } else {
                let is_wanted = |state: JobState| !live_only || !state.is_over();
                farm.jobs(after, is_wanted).take(most + 1).collect()
            }
        });
        let mut jobs = seen.await?;
        let more = jobs.len() > most;
        jobs.truncate(most);
        let jobs = jobs.into_iter().map(Into::into).collect();
        Ok(Response::new(v1::ListResponse { jobs, more }))
    }

    async fn get(&self, request: Request<v1::JobRequest>) -> Result<Response<v1::Job>, Status> {
        identity(&request).require(Right::See)?;
        let job = self.jobs.view(JobId(request.into_inner().job)).await?;
        Ok(Response::new(job.into()))
    }

    type WatchStream = Answers<v1::Job>;

    async fn watch(
        &self,
        request: Request<v1::JobRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let identity = identity(&request);
        identity.require(Right::See)?;
        let mut job = self.jobs.view(JobId(request.into_inner().job)).await?;
        let jobs = self.jobs.clone();
        Ok(answers(identity, self.credentials.clone(), |client| async move {
            loop {
                client.send(job.clone().into()).await?;
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

    type ExportStream = Answers<v1::ExportResponse>;

    async fn export(
        &self,
        request: Request<v1::JobRequest>,
    ) -> Result<Response<Self::ExportStream>, Status> {
        let identity = identity(&request);
        identity.require(Right::See)?;
        let job = JobId(request.into_inner().job);
        let downloads = self.downloads.clone();
        Ok(answers(identity, self.credentials.clone(), |client| downloads.bundle(job, client)))
    }

    async fn create_token(
        &self,
        request: Request<v1::CreateTokenRequest>,
    ) -> Result<Response<v1::CreateTokenResponse>, Status> {
        let identity = identity(&request);
        identity.require(Right::Decide)?;
        let request = request.into_inner();
        let role = ROLES.iter().find(|(_, role)| *role == request.role());
        let &(role, _) = role.ok_or(WireError::Missing("role"))?;
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
    ) -> Result<Response<v1::ListTokensResponse>, Status> {
        identity(&request).require(Right::Decide)?;
        let tokens = self.credentials.list().into_iter().map(reported).collect();
        Ok(Response::new(v1::ListTokensResponse { tokens }))
    }

    async fn revoke_token(
        &self,
        request: Request<v1::RevokeTokenRequest>,
    ) -> Result<Response<v1::Token>, Status> {
        let identity = identity(&request);
        identity.require(Right::Decide)?;
        let id = request.into_inner().id;
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
    ) -> Result<Response<v1::ListWorkersResponse>, Status> {
        identity(&request).require(Right::See)?;
        let seen = self.farm.look(|farm| {
            let distrusted: Vec<Party> = farm.distrusted().cloned().collect();
            (farm.worker_views().collect::<Vec<_>>(), distrusted, farm.leasable_threads())
        });
        let (workers, distrusted, leasable_threads) = seen.await?;
        let worker = |view: WorkerView| v1::Worker {
            owner: view.provenance.principal.owner,
            machine: view.provenance.principal.machine,
            name: view.provenance.worker,
            build: view.provenance.build,
            threads: view.threads,
            memory: view.memory,
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

    async fn list_owners(
        &self,
        request: Request<v1::ListOwnersRequest>,
    ) -> Result<Response<v1::ListOwnersResponse>, Status> {
        identity(&request).require(Right::See)?;
        let owners = self.farm.look(|farm| farm.owners()).await?;
        let owners = owners.into_iter().map(Into::into).collect();
        Ok(Response::new(v1::ListOwnersResponse { owners }))
    }

    type BackupStream = Answers<v1::BackupResponse>;

    async fn backup(
        &self,
        request: Request<v1::BackupRequest>,
    ) -> Result<Response<Self::BackupStream>, Status> {
        let identity = identity(&request);
        identity.require(Right::Decide)?;
        tracing::info!(by = identity.owner, "a copy of the ledger is being made");
        let downloads = self.downloads.clone();
        Ok(answers(identity, self.credentials.clone(), |client| downloads.copy(client)))
    }
}

/// The roles and their messages.
const ROLES: [(Role, v1::Role); 5] = [
    (Role::Admin, v1::Role::Admin),
    (Role::Submitter, v1::Role::Submitter),
    (Role::Viewer, v1::Role::Viewer),
    (Role::Worker, v1::Role::Worker),
    (Role::TrustedWorker, v1::Role::TrustedWorker),
];

fn reported(credential: Credential) -> v1::Token {
    let role = ROLES.iter().find(|(role, _)| *role == credential.role);
    let (_, role) = role.expect("it has all of them");
    v1::Token {
        id: credential.id,
        owner: credential.owner,
        role: (*role).into(),
        created_at_ms: credential.created_at_ms,
        expires_at_ms: credential.expires_at_ms,
        revoked_at_ms: credential.revoked_at_ms,
    }
}
