//! The connection of a command to a coordinator.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use farm::{JobId, JobView, Plan};
use futures_util::{Stream, StreamExt as _};
use tonic::{Code, Response, Status, Streaming};
use wire::v1::ask_request::Request as Asked;
use wire::v1::client_service_client::ClientServiceClient;
use wire::{WireError, v1};

use super::arguments::CONNECTION;
use crate::failure::Failure;
use service::{Endpoint, JoinString, ServiceError, Token, TokenChannel};

/// The address of the coordinator, and the secrets for both sides.
#[derive(Debug, Args)]
#[command(next_help_heading = CONNECTION)]
pub(super) struct CoordinatorArgs {
    /// The address of a coordinator that serves plain text, as in HOST, HOST:PORT or
    /// http://HOST:PORT; HOST alone has the port 7410
    #[arg(
        long,
        value_name = "URL",
        default_value = "http://127.0.0.1:7410",
        env = "QUEENS_COORDINATOR"
    )]
    coordinator: String,
    /// The file with the secret of a credential, or with the coordinator's own token, if one is
    /// wanted
    #[arg(long, value_name = "FILE", env = "QUEENS_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    /// The coordinator's join string, instead of all other options of how to reach it; other users
    /// of this machine can read it in the list of processes
    #[arg(long, value_name = "STRING", env = "QUEENS_JOIN", hide_env_values = true,
          conflicts_with_all = ["coordinator", "token_file", "join_file"])]
    join: Option<String>,
    /// The file with the coordinator's join string. It is read again for every connection, and a
    /// worker waits for it
    #[arg(long, value_name = "FILE", env = "QUEENS_JOIN_FILE",
          conflicts_with_all = ["coordinator", "token_file"])]
    join_file: Option<PathBuf>,
}

impl CoordinatorArgs {
    /// Where the coordinator is. The join string is parsed here and not by clap, because errors of
    /// clap would print it.
    pub(super) fn endpoint(&self) -> Result<Endpoint, Failure> {
        if let Some(join) = &self.join {
            let unusable = |error| Failure::Usage(format!("cannot use the join string: {error}"));
            return Ok(Endpoint::join(join.parse::<JoinString>().map_err(unusable)?));
        }
        Ok(match &self.join_file {
            Some(file) => Endpoint::join_file(file.clone()),
            None => Endpoint::new(&self.coordinator, self.token_file.clone()),
        })
    }

    /// The environment variables by which a worker on another machine finds this coordinator; those
    /// without a value are to be removed. The join string in `join_file` has precedence.
    pub(super) fn for_workers(
        &self,
        join_file: Option<&Path>,
    ) -> io::Result<Vec<(&'static str, Option<OsString>)>> {
        let whole = |path: &Path| std::path::absolute(path).map(PathBuf::into_os_string);
        let join_file = join_file.or(self.join_file.as_deref()).map(whole).transpose()?;
        let join = self.join.as_deref().filter(|_| join_file.is_none()).map(OsString::from);
        let is_plain = join_file.is_none() && join.is_none();
        let token_file = self.token_file.as_deref().filter(|_| is_plain).map(whole).transpose()?;
        Ok(vec![
            ("QUEENS_COORDINATOR", is_plain.then(|| self.coordinator.clone().into())),
            ("QUEENS_TOKEN_FILE", token_file),
            ("QUEENS_JOIN", join),
            ("QUEENS_JOIN_FILE", join_file),
        ])
    }
}

/// The options of the commands that print what a coordinator answers.
#[derive(Debug, Args)]
pub(super) struct ClientArgs {
    /// Print JSON, one object a line
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) coordinator: CoordinatorArgs,
}

pub(super) struct Client {
    pub(super) endpoint: Endpoint,
    pub(super) service: ClientServiceClient<TokenChannel>,
}

impl Client {
    pub(super) async fn connect(args: &CoordinatorArgs) -> Result<Client, Failure> {
        let endpoint = args.endpoint()?;
        let service = ClientServiceClient::new(endpoint.connect().await?);
        Ok(Client { endpoint, service })
    }

    /// Sends a request and returns the farm's answer.
    pub(super) async fn ask(&mut self, request: Asked) -> Result<v1::AskResponse, Failure> {
        let answer = self.service.ask(v1::AskRequest { request: Some(request) }).await;
        self.given(answer)
    }

    /// Sends a request that is answered with a job.
    pub(super) async fn ask_for_job(&mut self, request: Asked) -> Result<JobView, Failure> {
        let job = self.ask(request).await?.jobs.pop();
        Ok(job.ok_or(WireError::Missing("job"))?.try_into()?)
    }

    /// The coordinator's answer, or the failure that its status means.
    pub(super) fn given<T>(&self, answer: Result<Response<T>, Status>) -> Result<T, Failure> {
        answer.map(Response::into_inner).map_err(|status| self.failure(status))
    }

    /// Calls `see` with the job at every change until the job is over or suspended, over any number
    /// of lost connections. A coordinator that restarts with another ledger may have another plan
    /// under the same number; then this fails with [`Failure::NoSuchJob`].
    pub(super) async fn watch(
        &mut self,
        number: JobId,
        plan: Plan,
        mut see: impl FnMut(&JobView) -> Result<(), Failure>,
    ) -> Result<JobView, Failure> {
        loop {
            let mut stream = match self.service.watch(v1::JobRequest { job: number.0 }).await {
                Ok(stream) => stream.into_inner(),
                Err(status) if self.is_passing(&status) => {
                    self.connect_again().await?;
                    continue;
                }
                Err(status) => return Err(self.failure(status)),
            };
            loop {
                match stream.message().await {
                    Ok(Some(job)) => {
                        let view = JobView::try_from(job)?;
                        let found = view.spec.plan;
                        if plan != found {
                            return Err(Failure::NoSuchJob(format!(
                                "job {number} is now {found}: the coordinator has another ledger; submit \
                                 yours again"
                            )));
                        }
                        see(&view)?;
                        if view.state.is_at_rest() {
                            return Ok(view);
                        }
                    }
                    Ok(None) => break,
                    Err(status) if self.is_passing(&status) => break,
                    Err(status) => return Err(self.failure(status)),
                }
            }
            tracing::warn!("the coordinator is gone; waiting for it to come back");
            self.connect_again().await?;
        }
    }

    /// The first `most` jobs, and whether there are more: jobs that have not ended, the oldest
    /// first, or jobs that have `ended`, the newest first.
    pub(super) async fn list(
        &mut self,
        ended: bool,
        most: usize,
    ) -> Result<(Vec<JobView>, bool), Failure> {
        let page_size = u32::try_from(most.saturating_add(1)).unwrap_or(u32::MAX);
        let mut request = v1::ListRequest { page_size, after: 0, ended };
        let mut listed = Vec::new();
        loop {
            let page = self.service.list(request).await;
            let v1::ListResponse { jobs, more } = self.given(page)?;
            let last = jobs.last().map(|job| job.id);
            for job in jobs {
                if listed.len() == most {
                    return Ok((listed, true));
                }
                listed.push(job.try_into()?);
            }
            match last {
                // The next page must begin after another job. Otherwise a faulty coordinator could
                // make this loop endless.
                Some(last) if more && last != request.after => request.after = last,
                _ => return Ok((listed, false)),
            }
        }
    }

    /// Takes a file that comes in pieces, and passes each to `write`.
    pub(super) async fn receive(
        &self,
        pieces: Result<Response<Streaming<v1::Piece>>, Status>,
        write: impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let pieces = self.given(pieces)?;
        join(pieces.map(|piece| piece.map_err(|status| self.failure(status))), write).await
    }

    /// Waits a little and tries to connect. Files are read again, because they may have been
    /// replaced.
    pub(super) async fn connect_again(&mut self) -> Result<(), Failure> {
        tokio::time::sleep(Duration::from_secs(1)).await;
        match self.endpoint.connect().await {
            Ok(channel) => self.service = ClientServiceClient::new(channel),
            Err(ServiceError::Unreachable { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// The join string with another secret for the same coordinator. `None` if this client uses no
    /// join string.
    pub(super) fn join_string(&self, secret: &str) -> Result<Option<JoinString>, Failure> {
        let unusable = || Failure::Incompatible("the coordinator made no usable secret".into());
        let Some(own) = self.endpoint.join_string()? else { return Ok(None) };
        Ok(Some(JoinString { token: Token::new(secret).ok_or_else(unusable)?, ..own }))
    }

    pub(super) fn failure(&self, status: Status) -> Failure {
        let (url, reason) = (self.endpoint.url(), status.message());
        match status.code() {
            Code::Unauthenticated => {
                ServiceError::Token { url: url.into(), reason: reason.into() }.into()
            }
            Code::PermissionDenied => Failure::Secret(reason.into()),
            Code::NotFound | Code::FailedPrecondition => Failure::NoSuchJob(reason.into()),
            Code::InvalidArgument | Code::ResourceExhausted | Code::AlreadyExists => {
                Failure::Plan(reason.into())
            }
            Code::Unimplemented => Failure::Incompatible(format!(
                "the coordinator at {url} is of another version than this program"
            )),
            _ if self.is_passing(&status) => Failure::unreachable(url, reason),
            _ => Failure::Internal(format!("the coordinator at {url} failed: {reason}")),
        }
    }

    /// Whether a later attempt may succeed, because the connection broke or the coordinator is
    /// being restarted. A status with a source was made on this side, by a broken connection.
    fn is_passing(&self, status: &Status) -> bool {
        matches!(status.code(), Code::Unavailable | Code::Cancelled | Code::Unknown)
            || std::error::Error::source(status).is_some()
    }
}

/// Passes the data of a file's pieces to `write`, and compares the hash that comes with the last
/// one.
async fn join(
    mut pieces: impl Stream<Item = Result<v1::Piece, Failure>> + Unpin,
    mut write: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let failed = |what| {
        Failure::Incompatible(format!(
            "what the coordinator sent {what} on its way; ask for it again"
        ))
    };
    let mut hasher = blake3::Hasher::new();
    while let Some(piece) = pieces.next().await {
        let v1::Piece { data, hash } = piece?;
        hasher.update(&data);
        write(&data)?;
        if !hash.is_empty() {
            let is_whole = hash == hasher.finalize().as_bytes();
            return is_whole.then_some(()).ok_or_else(|| failed("was altered"));
        }
    }
    Err(failed("lost its end"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream;

    #[tokio::test]
    async fn a_file_is_taken_whole_and_unaltered() {
        let piece = |data: &[u8], hash: &[u8]| v1::Piece { data: data.into(), hash: hash.into() };
        let hash = blake3::hash(b"all of it");
        let whole = [piece(b"all ", &[]), piece(b"of it", hash.as_bytes())];
        let received = async |pieces: &[v1::Piece]| {
            let mut file = Vec::new();
            let joined = join(stream::iter(pieces.iter().cloned().map(Ok)), |data| {
                file.extend_from_slice(data);
                Ok(())
            });
            joined.await.map(|()| file)
        };
        assert_eq!(received(&whole).await.expect("it is whole"), b"all of it");
        let altered = [whole[0].clone(), piece(b"of us", hash.as_bytes())];
        let swapped = [piece(b"of it", &[]), piece(b"all ", hash.as_bytes())];
        for pieces in [&whole[..1], &whole[1..], &altered, &swapped, &[]] {
            received(pieces).await.expect_err("it is another file");
        }
    }
}
