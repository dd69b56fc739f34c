//! The connection of a command to a coordinator.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use farm::{JobId, JobState, JobView, Plan};
use serde::Serialize;
use serde::de::DeserializeOwned;
use service::api::{Code, Jobs, MOST_LISTED, ProblemDetails};
use service::{ApiError, Endpoint, JoinString, Method, ServiceError, Token, TokenError};
use tokio::time::Instant;

use super::arguments::CONNECTION;
use crate::failure::Failure;
use crate::stderr;

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

/// How long a command waits for a coordinator that may be being started, and one that then waits
/// for a job.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);
pub(super) const LONG_PATIENCE: Duration = Duration::from_secs(30);
/// After this time of waiting it says so.
const SILENCE: Duration = Duration::from_millis(500);
/// The time between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// The most bytes of all pages of a list together.
const MOST_LISTED_BYTES: usize = 256 << 20;

/// What a request without a body has in its place.
pub(super) const NO_BODY: Option<&()> = None;

/// A connection to a coordinator whose failures are those of a command.
pub(super) struct Client(service::Client);

impl Client {
    /// Connects. A coordinator that is just being started gets some seconds.
    pub(super) async fn connect(args: &CoordinatorArgs) -> Result<Client, Failure> {
        Client::connect_within(args, PATIENCE).await
    }

    /// Connects to a coordinator that serves within a time, if it may be one that is being started:
    /// it reads its ledger, or it is on this machine and does not answer. Says that it waits.
    pub(super) async fn connect_within(
        args: &CoordinatorArgs,
        patience: Duration,
    ) -> Result<Client, Failure> {
        let endpoint = args.endpoint()?;
        let url = endpoint.url();
        let (begun, mut is_said) = (Instant::now(), false);
        loop {
            let failure = match service::Client::connect(endpoint.clone()).await {
                Ok(mut client) => match client.is_serving().await {
                    Ok(true) => return Ok(Client(client)),
                    Ok(false) => Client::not_yet(url, "it reads its ledger"),
                    // It was connected: what is there takes no HTTP, or was just ended.
                    Err(error) => {
                        let reason = format!("what is there does not speak plain HTTP: {error}");
                        let reason = endpoint.why_silent(reason).await;
                        return Err(Failure::unreachable(url, &reason));
                    }
                },
                Err(error @ ServiceError::Unreachable { .. }) if endpoint.may_be_starting() => {
                    error.into()
                }
                Err(error) => return Err(error.into()),
            };
            if begun.elapsed() >= patience {
                return Err(failure);
            }
            // A script that does not wait for a job reads one line: why it fails.
            let is_heard = patience > PATIENCE || std::io::stderr().is_terminal();
            if !is_said && is_heard && begun.elapsed() >= SILENCE {
                is_said = true;
                stderr::print(format_args!("waiting for the coordinator at {url}\n"));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The coordinator is there and does not serve.
    fn not_yet(url: &str, reason: &str) -> Failure {
        Failure::Unreachable(format!("the coordinator at {url} does not serve now: {reason}"))
    }

    /// The URL of the coordinator, or the file that names it.
    pub(super) fn url(&self) -> &str {
        self.0.endpoint.url()
    }

    /// Reads what is at this path of the API.
    pub(super) async fn get<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, Failure> {
        self.ask(Method::GET, path, NO_BODY).await
    }

    /// One job.
    pub(super) async fn job(&mut self, job: u64) -> Result<JobView, Failure> {
        self.get(&format!("/jobs/{job}")).await
    }

    /// Sends a request, with a body if it has one, and reads the answer.
    pub(super) async fn ask<T: DeserializeOwned>(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<T, Failure> {
        let answer = self.0.ask(method, path, body).await;
        answer.map_err(|error| self.failure(error))
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
            match self.follow(number, plan, &mut see).await {
                Ok(Some(end)) => return Ok(end),
                Ok(None) => {}
                Err(Fault::Api(error)) if error.is_passing() => {}
                Err(Fault::Api(error)) => return Err(self.failure(error)),
                Err(Fault::Seen(failure)) => return Err(failure),
            }
            tracing::warn!("the coordinator is gone; waiting for it to come back");
            self.connect_again().await?;
        }
    }

    /// Follows a job over one connection. Returns it if it is over or suspended; `None` if the
    /// coordinator has ended the stream before.
    async fn follow(
        &mut self,
        number: JobId,
        plan: Plan,
        see: &mut impl FnMut(&JobView) -> Result<(), Failure>,
    ) -> Result<Option<JobView>, Fault> {
        let mut events = self.0.follow(&format!("/jobs/{number}/events")).await?;
        while let Some(view) = events.next().await? {
            let found = view.spec.plan;
            if plan != found {
                return Err(Fault::Seen(Failure::NoSuchJob(format!(
                    "job {number} is now {found}: the coordinator has another ledger; submit yours again"
                ))));
            }
            see(&view).map_err(Fault::Seen)?;
            if view.state.is_at_rest() {
                return Ok(Some(view));
            }
        }
        Ok(None)
    }

    /// The first `most` jobs, and whether there are more: jobs that have not ended, the oldest
    /// first, or jobs that have `ended`, the newest first. The answers that list them have at most
    /// [`MOST_LISTED_BYTES`], about two hundred thousand jobs.
    pub(super) async fn list(
        &mut self,
        ended: bool,
        most: usize,
    ) -> Result<(Vec<JobView>, bool), Failure> {
        let is_wanted = |state: &JobState| state.is_over() == ended;
        let states = JobState::ALL.into_iter().filter(is_wanted).map(JobState::name);
        let states = states.collect::<Vec<_>>().join(",");
        let mut listed: Vec<JobView> = Vec::new();
        let (mut after, mut left) = (None, MOST_LISTED_BYTES);
        loop {
            let limit = most.saturating_sub(listed.len()).clamp(1, MOST_LISTED);
            let from = after.map(|after| format!("&after={after}")).unwrap_or_default();
            let page = format!("/jobs?state={states}&newest={ended}&limit={limit}{from}");
            let page = self.0.part(&page, &mut left).await;
            let Jobs { jobs, next } = page.map_err(|error| self.failure(error))?;
            listed.extend(jobs);
            if listed.len() >= most {
                let are_more = listed.len() > most || next.is_some();
                listed.truncate(most);
                return Ok((listed, are_more));
            }
            let Some(next) = next else { return Ok((listed, false)) };
            // A faulty coordinator could make this loop endless.
            let advances = |after| if ended { next < after } else { next > after };
            if !after.is_none_or(advances) {
                let reason = format!("the page after job {next} follows itself");
                return Err(self.failure(ApiError::Incompatible(reason)));
            }
            after = Some(next);
        }
    }

    /// Takes a file, and passes its pieces to `write`.
    pub(super) async fn receive(
        &mut self,
        path: &str,
        mut write: impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let file = self.0.download(path).await;
        let mut file = file.map_err(|error| self.failure(error))?;
        loop {
            match file.next().await {
                Ok(Some(piece)) => write(&piece)?,
                Ok(None) => return Ok(()),
                Err(ApiError::Broken(reason)) => {
                    return Err(Failure::Incompatible(format!(
                        "what the coordinator sends is cut ({reason}); ask for it again"
                    )));
                }
                Err(error) => return Err(self.failure(error)),
            }
        }
    }

    /// Waits a little and tries to connect.
    pub(super) async fn connect_again(&mut self) -> Result<(), Failure> {
        tokio::time::sleep(Duration::from_secs(1)).await;
        match self.0.connect_again().await {
            Ok(()) | Err(ServiceError::Unreachable { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The join string with another secret for the same coordinator. `None` if this client uses no
    /// join string.
    pub(super) fn join_string(&self, secret: &str) -> Result<Option<JoinString>, Failure> {
        let unusable = |error: TokenError| {
            Failure::Incompatible(format!("the coordinator made no usable secret: {error}"))
        };
        let Some(own) = self.0.endpoint.join_string()? else { return Ok(None) };
        Ok(Some(JoinString { token: Token::new(secret).map_err(unusable)?, ..own }))
    }

    /// The failure of a command whose request has no answer.
    fn failure(&self, error: ApiError) -> Failure {
        let url = self.url();
        match &error {
            ApiError::Broken(reason) => Failure::unreachable(url, reason),
            ApiError::Incompatible(reason) => Failure::Incompatible(format!(
                "the coordinator at {url} is of another version than this program ({reason})"
            )),
            ApiError::Refused(ProblemDetails { status, code, detail, .. }) => {
                let reason = detail.clone();
                match status {
                    401 => ServiceError::Token { url: url.into(), reason }.into(),
                    403 => Failure::Secret(reason),
                    409 if code == Code::NameTaken.name() => Failure::Plan(reason),
                    404 | 409 => Failure::NoSuchJob(reason),
                    503 => Client::not_yet(url, &reason),
                    400..500 => Failure::Plan(reason),
                    _ => Failure::Internal(format!("the coordinator at {url} failed: {reason}")),
                }
            }
        }
    }
}

/// Why a job is not followed any more.
enum Fault {
    Api(ApiError),
    /// What saw the job has failed.
    Seen(Failure),
}

impl From<ApiError> for Fault {
    fn from(error: ApiError) -> Fault {
        Fault::Api(error)
    }
}
