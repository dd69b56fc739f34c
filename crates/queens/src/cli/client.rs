//! The connection of a command to a coordinator.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use farm::{JobId, JobView, Plan};
use tonic::{Code, Status};
use wire::v1;
use wire::v1::jobs_service_client::JobsServiceClient;

use crate::failure::Failure;
use service::{Endpoint, TokenChannel};

/// Where the coordinator is.
#[derive(Debug, Args)]
#[command(next_help_heading = "Coordinator")]
pub(super) struct CoordinatorArgs {
    /// The coordinator's address
    #[arg(
        long,
        value_name = "URL",
        default_value = "http://127.0.0.1:7410",
        env = "QUEENS_COORDINATOR"
    )]
    coordinator: String,
    /// The file with the coordinator's token, if it wants one
    #[arg(long, value_name = "FILE", env = "QUEENS_TOKEN_FILE")]
    token_file: Option<PathBuf>,
}

impl CoordinatorArgs {
    pub(super) fn endpoint(&self) -> Endpoint {
        Endpoint::new(&self.coordinator, self.token_file.clone())
    }
}

/// Bytes of the largest answer that is read: a list of some hundred thousand jobs.
const LIST_BYTES: usize = 64 << 20;

/// A connection to the coordinator's job service.
pub(super) struct Client {
    endpoint: Endpoint,
    pub(super) jobs: JobsServiceClient<TokenChannel>,
}

impl Client {
    pub(super) async fn connect(args: &CoordinatorArgs) -> Result<Client, Failure> {
        let endpoint = args.endpoint();
        let jobs =
            JobsServiceClient::new(endpoint.connect().await?).max_decoding_message_size(LIST_BYTES);
        Ok(Client { endpoint, jobs })
    }

    /// Calls `see` with the job at every change until the job is over or held, over any number of lost
    /// connections.
    /// A coordinator that restarts with another ledger may have another plan under the same number; then
    /// this fails with [`Failure::NoSuchJob`].
    pub(super) async fn watch(
        &mut self,
        job: JobId,
        mut plan: Option<Plan>,
        mut see: impl FnMut(&JobView) -> Result<(), Failure>,
    ) -> Result<JobView, Failure> {
        const PAUSE: Duration = Duration::from_secs(1);
        loop {
            let mut stream = match self.jobs.watch(v1::WatchRequest { job: job.0 }).await {
                Ok(stream) => stream.into_inner(),
                Err(status) if plan.is_some() && is_passing(&status) => {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
                Err(status) => return Err(self.failure(status)),
            };
            loop {
                match stream.message().await {
                    Ok(Some(answer)) => {
                        let view = self.view(answer.job)?;
                        if *plan.get_or_insert(view.plan) != view.plan {
                            return Err(Failure::NoSuchJob(format!(
                                "job {job} is now {}: the coordinator has another ledger; submit \
                                 yours again",
                                view.plan
                            )));
                        }
                        see(&view)?;
                        if view.state.is_at_rest() {
                            return Ok(view);
                        }
                    }
                    Ok(None) => break,
                    Err(status) if is_passing(&status) => break,
                    Err(status) => return Err(self.failure(status)),
                }
            }
            tracing::warn!("the coordinator is gone; waiting for it to come back");
            tokio::time::sleep(PAUSE).await;
        }
    }

    pub(super) fn job(&self, answer: Result<Option<v1::Job>, Status>) -> Result<JobView, Failure> {
        self.view(answer.map_err(|status| self.failure(status))?)
    }

    pub(super) fn view(&self, job: Option<v1::Job>) -> Result<JobView, Failure> {
        let job = job.ok_or(wire::WireError::Missing("job")).and_then(JobView::try_from);
        job.map_err(|error| Failure::Incompatible(error.to_string()))
    }

    pub(super) fn failure(&self, status: Status) -> Failure {
        let (url, reason) = (self.endpoint.url().to_string(), status.message().to_string());
        match status.code() {
            Code::Unauthenticated => Failure::Token { url },
            Code::NotFound | Code::FailedPrecondition => Failure::NoSuchJob(reason),
            Code::InvalidArgument => Failure::Refused(reason),
            Code::Unimplemented => Failure::Incompatible(format!(
                "the coordinator at {url} is of another version than this program"
            )),
            _ if is_passing(&status) => Failure::Unreachable { url, reason },
            _ => Failure::Coordinator { url, reason },
        }
    }
}

/// Whether a later attempt may succeed: the connection broke, or the coordinator is being restarted.
fn is_passing(status: &Status) -> bool {
    matches!(status.code(), Code::Unavailable | Code::Cancelled | Code::Unknown)
}
