//! The service of those who run a farm: who may do what, and who is believed.

use std::time::Duration;

use farm::{Party, WorkerView};
use ledger::{Credential, Role};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};
use wire::v1;
use wire::v1::admin_service_server::AdminService;

use super::copies::Copies;
use super::credentials::identity;
use super::sending::while_admitted;
use super::{Credentials, HubHandle, Right};

/// See the module.
#[derive(Clone)]
pub(super) struct Admin {
    pub(super) hub: HubHandle,
    pub(super) credentials: Credentials,
    pub(super) copies: Copies,
}

/// The longest reason, bytes.
const MAX_REASON: usize = 1_024;

#[tonic::async_trait]
impl AdminService for Admin {
    async fn create_token(
        &self,
        request: Request<v1::CreateTokenRequest>,
    ) -> Result<Response<v1::CreateTokenResponse>, Status> {
        let identity = identity(&request);
        identity.require(Right::Decide)?;
        let request = request.into_inner();
        let role = role(request.role())?;
        let owner = wire::name("owner", request.owner).map_err(invalid)?;
        if owner.contains('/') {
            return Err(Status::invalid_argument(
                "the name of an owner has no slash, which stands between owner and machine",
            ));
        }
        let lifetime = request.lifetime_s.map(Duration::from_secs);
        let created = self.credentials.create(&self.hub, &owner, role, lifetime).await?;
        let (token, credential) = created;
        let (id, by) = (credential.id, identity.owner);
        tracing::info!(id, owner, role = role.name(), by, "token created");
        let secret = token.secret().to_string();
        Ok(Response::new(v1::CreateTokenResponse { token: Some(told(credential)), secret }))
    }

    async fn list_tokens(
        &self,
        request: Request<v1::ListTokensRequest>,
    ) -> Result<Response<v1::ListTokensResponse>, Status> {
        identity(&request).require(Right::Decide)?;
        let tokens = self.credentials.list().into_iter().map(told).collect();
        Ok(Response::new(v1::ListTokensResponse { tokens }))
    }

    async fn revoke_token(
        &self,
        request: Request<v1::RevokeTokenRequest>,
    ) -> Result<Response<v1::RevokeTokenResponse>, Status> {
        let identity = identity(&request);
        identity.require(Right::Decide)?;
        let id = request.into_inner().id;
        let revoked = self.credentials.revoke(&self.hub, id).await;
        let revoked = revoked.map_err(|error| Status::unavailable(error.to_string()))?;
        let none =
            || Status::not_found(format!("there is no token {id}; `queens token list` lists them"));
        let credential = revoked.ok_or_else(none)?;
        tracing::info!(id, owner = credential.owner, by = identity.owner, "token revoked");
        Ok(Response::new(v1::RevokeTokenResponse { token: Some(told(credential)) }))
    }

    async fn list_workers(
        &self,
        request: Request<v1::ListWorkersRequest>,
    ) -> Result<Response<v1::ListWorkersResponse>, Status> {
        identity(&request).require(Right::See)?;
        let (workers, distrusted) = self.hub.workers().await?;
        let worker = |view: WorkerView| v1::Worker {
            owner: view.author.maker.owner,
            machine: view.author.maker.machine,
            name: view.author.worker,
            build: view.author.build,
            threads: view.threads,
            memory: view.memory,
            memory_kills: view.memory_kills,
            tasks: view.tasks,
        };
        Ok(Response::new(v1::ListWorkersResponse {
            workers: workers.into_iter().map(worker).collect(),
            distrusted: distrusted.into_iter().map(Into::into).collect(),
        }))
    }

    async fn change_trust(
        &self,
        request: Request<v1::ChangeTrustRequest>,
    ) -> Result<Response<v1::ChangeTrustResponse>, Status> {
        let identity = identity(&request);
        identity.require(Right::Decide)?;
        let v1::ChangeTrustRequest { party, trusted, reason } = request.into_inner();
        let missing = || invalid(wire::WireError::Missing("party"));
        let party = Party::try_from(party.ok_or_else(missing)?).map_err(invalid)?;
        let is_plain = reason.len() <= MAX_REASON && !reason.chars().any(char::is_control);
        if !is_plain {
            return Err(Status::invalid_argument(format!(
                "a reason is one line of at most {MAX_REASON} bytes"
            )));
        }
        tracing::warn!(%party, trusted, reason, by = identity.owner, "trust changed by hand");
        self.hub.change_trust(party.clone(), trusted, reason).await?;
        let (_, mut still_distrusted) = self.hub.workers().await?;
        still_distrusted.retain(|other| trusted && other.overlaps(&party));
        let still_distrusted = still_distrusted.into_iter().map(Into::into).collect();
        Ok(Response::new(v1::ChangeTrustResponse { still_distrusted }))
    }

    type BackupStream = ReceiverStream<Result<v1::BackupResponse, Status>>;

    async fn backup(
        &self,
        request: Request<v1::BackupRequest>,
    ) -> Result<Response<Self::BackupStream>, Status> {
        let identity = identity(&request);
        identity.require(Right::Decide)?;
        let pieces = self.copies.begin()?;
        tracing::info!(by = identity.owner, "a copy of the ledger is being made");
        let credentials = self.credentials.clone();
        Ok(Response::new(while_admitted(pieces, identity, credentials)))
    }
}

fn invalid(error: wire::WireError) -> Status {
    Status::invalid_argument(error.to_string())
}

fn role(role: v1::Role) -> Result<Role, Status> {
    match role {
        v1::Role::Unspecified => Err(invalid(wire::WireError::Missing("role"))),
        v1::Role::Admin => Ok(Role::Admin),
        v1::Role::Submitter => Ok(Role::Submitter),
        v1::Role::Viewer => Ok(Role::Viewer),
        v1::Role::Worker => Ok(Role::Worker),
    }
}

fn told(credential: Credential) -> v1::Token {
    let role = match credential.role {
        Role::Admin => v1::Role::Admin,
        Role::Submitter => v1::Role::Submitter,
        Role::Viewer => v1::Role::Viewer,
        Role::Worker => v1::Role::Worker,
    };
    v1::Token {
        id: credential.id,
        owner: credential.owner,
        role: role.into(),
        created_at_ms: credential.created_at_ms,
        expires_at_ms: credential.expires_at_ms,
        revoked_at_ms: credential.revoked_at_ms,
    }
}
