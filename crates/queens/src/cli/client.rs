//! The commands that talk to a coordinator about jobs.

use std::path::PathBuf;
use std::time::Duration;

use board::MethodChoice;
use clap::Args;
use farm::{AuditPolicy, JobId, JobState, JobView, Plan};
use tonic::{Code, Status};
use wire::v1;
use wire::v1::jobs_service_client::JobsServiceClient;

use super::count::CutArgs;
use super::problem::ProblemArgs;
use super::show;
use super::signal::asked_to_stop;
use crate::answer::{self, Answering};
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;
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

#[derive(Debug, Args)]
pub(super) struct SubmitArgs {
    /// Board size, 0 to 32; with given queens to 64
    n: u32,
    #[command(flatten)]
    problem: ProblemArgs,
    #[command(flatten)]
    pub(super) cut: CutArgs,
    /// Jobs of higher priority are served first
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, env = "QUEENS_PRIORITY")]
    priority: i32,
    /// Have this share of the ranges counted a second time, by another worker and another kernel: 0.02
    /// is two percent
    #[arg(long, value_name = "SHARE", env = "QUEENS_AUDIT", value_parser = share)]
    audit: Option<u32>,
    /// Have every range counted a second time
    #[arg(long, conflicts_with = "audit", env = "QUEENS_CERTIFIED")]
    certified: bool,
    /// Follow the job to its end and print its total instead of its number
    #[arg(long)]
    wait: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

#[derive(Debug, Args)]
pub(super) struct JobsArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

#[derive(Debug, Args)]
pub(super) struct JobArgs {
    /// The job's number
    job: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

#[derive(Debug, Args)]
pub(super) struct AuditArgs {
    /// The job's number
    job: u64,
    /// The share of the ranges
    #[arg(long, value_name = "SHARE", default_value = "0.02", env = "QUEENS_AUDIT",
          value_parser = share)]
    fraction: u32,
    /// Every range
    #[arg(long, conflicts_with = "fraction")]
    all: bool,
    /// With `rows`, ranges of `halves` are counted by searching below their tasks, which takes a
    /// hundred times as long [default: by another counting loop]
    #[arg(long, value_enum)]
    method: Option<AuditMethod>,
    /// Decides which ranges; whoever knows it can tell that they were not picked by hand
    /// [default: drawn by the coordinator]
    #[arg(long, value_parser = clap::value_parser!(u64).range(..1 << 63))]
    seed: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum AuditMethod {
    /// By searching row by row
    Rows,
}

/// Reads a share as parts of a million.
fn share(text: &str) -> anyhow::Result<u32> {
    let share: f64 = text.parse()?;
    anyhow::ensure!((0.0..=1.0).contains(&share), "a share is between 0 and 1, like 0.02");
    Ok((share * f64::from(AuditPolicy::ALL)).round() as u32)
}

#[derive(Debug, Args)]
pub(super) struct HealthArgs {
    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

pub(super) async fn submit(args: SubmitArgs) -> Result<(), Failure> {
    let problem = args.problem.problem(args.n)?;
    let choice = args.cut.choice()?.unwrap_or(MethodChoice::suggested(problem));
    let mut client = Client::connect(&args.coordinator).await?;
    let request = v1::SubmitRequest {
        problem: Some(problem.into()),
        method: Some(choice.into()),
        priority: args.priority,
        audit: args.audit_policy(),
    };
    let answer = client.jobs.submit(request).await;
    let job = client.job(answer.map(|answer| answer.into_inner().job))?;
    match (args.wait, args.json) {
        (true, json) => {
            eprintln!("job {}", job.id);
            follow(&mut client, job.id, Some(job.plan), json, false).await
        }
        (false, true) => output::print(show::json(&job)),
        (false, false) => output::print(job.id),
    }
}

impl SubmitArgs {
    fn audit_policy(&self) -> Option<v1::AuditPolicy> {
        let share_ppm = if self.certified { Some(AuditPolicy::ALL) } else { self.audit };
        share_ppm.map(|share_ppm| v1::AuditPolicy { share_ppm, ..v1::AuditPolicy::default() })
    }
}

pub(super) async fn audit(args: AuditArgs) -> Result<(), Failure> {
    let mut client = Client::connect(&args.coordinator).await?;
    let policy = v1::AuditPolicy {
        share_ppm: if args.all { AuditPolicy::ALL } else { args.fraction },
        seed: args.seed,
        by_search: args.method.is_some(),
    };
    let request = v1::AuditRequest { job: args.job, policy: Some(policy) };
    let answer = client.jobs.audit(request).await;
    let job = client.job(answer.map(|answer| answer.into_inner().job))?;
    if args.json {
        return output::print(show::json(&job));
    }
    let seed = job.audit.map_or(0, |policy| policy.seed);
    output::print(match job.audits_wanted {
        0 => format!("job {}: nothing that is accepted waits for an audit (seed {seed})", job.id),
        wanted => format!(
            "job {}: {wanted} accepted ranges are counted again by other workers (seed {seed}); \
             `queens watch {}` waits for them",
            job.id, job.id
        ),
    })
}

pub(super) async fn jobs(args: JobsArgs) -> Result<(), Failure> {
    let mut client = Client::connect(&args.coordinator).await?;
    let answer = client.jobs.list(v1::ListRequest {}).await;
    let jobs = answer.map_err(|status| client.failure(status))?.into_inner().jobs;
    let jobs: Vec<JobView> =
        jobs.into_iter().map(|job| client.view(Some(job))).collect::<Result<_, _>>()?;
    match args.json {
        true => jobs.iter().try_for_each(|job| output::print(show::json(job))),
        false => output::print(show::table(&jobs)),
    }
}

pub(super) async fn status(args: JobArgs) -> Result<(), Failure> {
    let mut client = Client::connect(&args.coordinator).await?;
    let answer = client.jobs.get(v1::GetRequest { job: args.job }).await;
    let job = client.job(answer.map(|answer| answer.into_inner().job))?;
    output::print(if args.json { show::json(&job) } else { show::details(&job) })
}

pub(super) async fn watch(args: JobArgs) -> Result<(), Failure> {
    let mut client = Client::connect(&args.coordinator).await?;
    follow(&mut client, JobId(args.job), None, args.json, true).await
}

pub(super) async fn cancel(args: JobArgs) -> Result<(), Failure> {
    let mut client = Client::connect(&args.coordinator).await?;
    let answer = client.jobs.cancel(v1::CancelRequest { job: args.job }).await;
    let job = client.job(answer.map(|answer| answer.into_inner().job))?;
    changed(&job, args.json)
}

pub(super) async fn pause(args: JobArgs) -> Result<(), Failure> {
    let mut client = Client::connect(&args.coordinator).await?;
    let answer = client.jobs.pause(v1::PauseRequest { job: args.job }).await;
    let job = client.job(answer.map(|answer| answer.into_inner().job))?;
    changed(&job, args.json)
}

pub(super) async fn resume(args: JobArgs) -> Result<(), Failure> {
    let mut client = Client::connect(&args.coordinator).await?;
    let answer = client.jobs.resume(v1::ResumeRequest { job: args.job }).await;
    let job = client.job(answer.map(|answer| answer.into_inner().job))?;
    changed(&job, args.json)
}

pub(super) async fn health(args: HealthArgs) -> Result<(), Failure> {
    use tonic_health::pb::health_check_response::ServingStatus;
    use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

    let endpoint = args.coordinator.endpoint();
    let mut client = HealthClient::new(endpoint.channel().await?);
    let request = HealthCheckRequest { service: String::new() };
    let unreachable =
        |reason: String| Failure::Unreachable { url: endpoint.url().to_string(), reason };
    let answer = client.check(request).await.map_err(|s| unreachable(s.message().into()))?;
    match answer.into_inner().status() {
        ServingStatus::Serving => output::print("serving"),
        other => Err(unreachable(format!("it is {}", other.as_str_name()))),
    }
}

fn changed(job: &JobView, json: bool) -> Result<(), Failure> {
    match json {
        true => output::print(show::json(job)),
        false => output::print(format!("job {} is {}", job.id, job.state)),
    }
}

/// Follows a job to its end, over any number of lost connections, and prints its total. With
/// `json`, one object at the end, or also at every change if `each`.
///
/// `plan`: what the job counts, if that is known already.
async fn follow(
    client: &mut Client,
    job: JobId,
    plan: Option<Plan>,
    json: bool,
    each: bool,
) -> Result<(), Failure> {
    let mut progress = Progress::new(!json, true);
    let see = |job: &JobView| {
        progress.show(job);
        if json && each { output::print(show::json(job)) } else { Ok(()) }
    };
    let end = tokio::select! {
        end = client.watch(job, plan, see) => end?,
        () = asked_to_stop() => {
            return Err(Failure::Interrupted(format!(
                "job {job} goes on; `queens watch {job}` shows it again"
            )));
        }
    };
    progress.finish();
    if end.state != JobState::Done {
        if json && !each {
            output::print(show::json(&end))?;
        }
        return Err(Failure::NoTotal(job, end.state));
    }
    let answer = tokio::select! {
        answer = Answering::begin(end.plan.problem).of(end.total) => answer?,
        () = asked_to_stop() => {
            return Err(Failure::Interrupted(format!(
                "job {job} is done; `queens watch {job}` searches again for the placements that \
                 rotations leave as they are"
            )));
        }
    };
    match json {
        // The last view was printed; what it lacks is the census.
        true if each && answer::fields(&answer).is_empty() => Ok(()),
        true => output::print(show::json_with(&end, &answer)),
        false => output::print(answer.count()),
    }
}

/// The largest answer that is read: a list of some hundred thousand jobs.
const LIST_BYTES: usize = 64 << 20;

/// A connected client.
struct Client {
    endpoint: Endpoint,
    jobs: JobsServiceClient<TokenChannel>,
}

impl Client {
    async fn connect(args: &CoordinatorArgs) -> Result<Client, Failure> {
        let endpoint = args.endpoint();
        let jobs =
            JobsServiceClient::new(endpoint.connect().await?).max_decoding_message_size(LIST_BYTES);
        Ok(Client { endpoint, jobs })
    }

    /// Shows the job to `see` at every change until it is over. A coordinator that comes back with
    /// another ledger may call another plan by the same number: that is not our job.
    async fn watch(
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
                        if view.state.is_over() {
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

    fn job(&self, answer: Result<Option<v1::Job>, Status>) -> Result<JobView, Failure> {
        self.view(answer.map_err(|status| self.failure(status))?)
    }

    fn view(&self, job: Option<v1::Job>) -> Result<JobView, Failure> {
        let job = job.ok_or(wire::WireError::Missing("job")).and_then(JobView::try_from);
        job.map_err(|error| Failure::Incompatible(error.to_string()))
    }

    fn failure(&self, status: Status) -> Failure {
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

/// Whether the same question may be answered later: the connection broke, or the coordinator is
/// being restarted.
fn is_passing(status: &Status) -> bool {
    matches!(status.code(), Code::Unavailable | Code::Cancelled | Code::Unknown)
}
