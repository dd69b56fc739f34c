//! The commands that talk to a coordinator about jobs.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{IsTerminal, stdout};
use std::ops::RangeInclusive;
use std::pin::pin;
use std::time::Duration;

use clap::{Args, Subcommand};
use farm::{AuditPolicy, AuditScope, JobId, JobSpec, JobState, JobView};
use serde_json::json;
use service::Method;
use service::api::{AuditWish, Patch, Submit, Workers};
use service::wire::{LIVENESS, READINESS};
use tokio::time::timeout;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use super::audits::{self, AuditArgs};
use super::client::{Client, ClientArgs, LONG_PATIENCE, NO_BODY, PATIENCE};
use super::follow::follow;
use super::options::{MethodArgs, name, scope, share, sizes};
use super::problem::ProblemArgs;
use super::show;
use super::top;
use crate::failure::Failure;
use crate::progress::ProgressArgs;
use crate::{output, stderr};

/// For how long a command waits before it says what for.
pub(super) const SILENCE: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(super) struct SubmitArgs {
    /// Board size, 0 to 32, or sizes as in 18..22
    ///
    /// With given queens to 64. A drawn board says its own.
    #[arg(value_parser = sizes, required_unless_present = "board")]
    n: Option<RangeInclusive<u32>>,
    #[command(flatten)]
    problem: ProblemArgs,
    #[command(flatten)]
    method_args: MethodArgs,
    /// Jobs of higher priority are served first
    ///
    /// It is from -10 to 10, or anything for an admin.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    priority: i32,
    /// Count this share of the ranges twice, as in 2%
    ///
    /// The second count is by another machine and another kernel.
    #[arg(long, value_name = "SHARE", value_parser = share, group = "twice")]
    audit: Option<u32>,
    /// Count every range twice
    #[arg(long, conflicts_with = "audit", group = "twice")]
    certified: bool,
    /// Who counts twice: another machine, or owner
    ///
    /// A second count by another machine protects against broken hardware, one by another owner
    /// also against lies [default: owner, as soon as two owners have a worker's credential].
    #[arg(long, value_name = "ACROSS", value_parser = scope(), requires = "twice")]
    across: Option<AuditScope>,
    /// Names the job, so that a script adds it only once
    ///
    /// It has 1 to 128 visible characters. If you have a job of this name already, its number is
    /// printed and nothing is added, so that a script can be started again. Of several sizes, each
    /// job's name ends with its own, as in NAME-18 [default: every submission is a new job].
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<String>,
    /// Follow the job to its end and print its total
    ///
    /// Of several jobs, each one's number and total are printed.
    #[arg(long)]
    wait: bool,
    /// Run a command at the end of each job; the rest of the line is its arguments
    ///
    /// It is run without a shell, by this command, which waits for it. QUEENS_JOB_ID,
    /// QUEENS_JOB_STATE and QUEENS_JOB_TOTAL tell it of the job; the total is empty if there is
    /// none. What it prints goes to standard error. If it fails, one line says so, and the exit
    /// code stays that of the job.
    #[arg(hide_short_help = true, long, value_names = ["CMD", "ARG"], num_args = 1..,
          allow_hyphen_values = true, requires = "wait")]
    on_end: Option<Vec<OsString>>,
    /// Submit only when this many workers are connected
    #[arg(hide_short_help = true, long, value_name = "K",
          value_parser = clap::value_parser!(u32).range(1..))]
    wait_for_workers: Option<u32>,
    #[command(flatten)]
    progress: ProgressArgs,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct JobsArgs {
    #[command(subcommand)]
    command: Option<JobsCommand>,
    /// Numbers of jobs to show in detail [default: a list]
    #[arg(value_name = "JOB", conflicts_with_all = ["all", "limit"])]
    jobs: Vec<u64>,
    /// List all jobs
    #[arg(long)]
    all: bool,
    /// List at most K of the jobs that have ended, the newest
    #[arg(short = 'n', long, value_name = "K", default_value_t = 10, conflicts_with = "all")]
    limit: usize,
    /// Only ask whether the coordinator serves
    ///
    /// It needs no token. The exit code is 0 or 5. `liveness` is whether the process lives,
    /// `readiness` whether it answers all requests: it has read its ledger, and is not stopping.
    #[arg(long, value_name = "WHAT", num_args = 0..=1, default_missing_value = READINESS,
          value_parser = [LIVENESS, READINESS], conflicts_with_all = ["jobs", "all", "limit"])]
    health: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Subcommand)]
enum JobsCommand {
    /// Remove jobs that are over, with all of their counts and evidence
    Rm(JobArgs),
}

/// The commands that change jobs.
#[derive(Debug, Subcommand)]
pub(super) enum ChangeCommand {
    /// Serve jobs earlier or later than others
    Priority(PriorityArgs),
    /// Pause jobs
    Pause(JobArgs),
    /// Resume paused jobs, and try failed tasks again
    Resume(JobArgs),
    /// End jobs without a total
    Cancel(JobArgs),
    /// Have accepted ranges counted again, by others
    Audit(AuditArgs),
}

#[derive(Debug, Args)]
pub(super) struct JobArgs {
    /// Numbers of jobs
    #[arg(value_name = "JOB", required = true, allow_negative_numbers = true)]
    jobs: Vec<u64>,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
pub(super) struct PriorityArgs {
    #[command(flatten)]
    of: JobArgs,
    /// Jobs of higher priority are served first: from -10 to 10, or anything for an admin
    #[arg(value_name = "P", required = true, allow_negative_numbers = true)]
    priority: i32,
}

#[derive(Debug, Args)]
pub(super) struct WatchArgs {
    /// Numbers of jobs [default: the whole farm, on a terminal]
    ///
    /// On a terminal, q ends it, and the jobs go on. With --json, an object is printed at every
    /// change.
    #[arg(value_name = "JOB", required_if_eq("json", "true"))]
    jobs: Vec<u64>,
    #[command(flatten)]
    progress: ProgressArgs,
    #[command(flatten)]
    client: ClientArgs,
}

pub(super) async fn submit(args: SubmitArgs) -> Result<(), Failure> {
    // All requests are checked before the coordinator is asked.
    let sizes = args.problem.given.sizes(args.n.as_ref())?;
    let are_many = sizes.start() < sizes.end();
    let requests = sizes.map(|n| args.request(n, are_many)).collect::<Result<Vec<_>, _>>()?;
    let patience = if args.wait { LONG_PATIENCE } else { PATIENCE };
    let mut client = Client::connect_within(&args.client.coordinator, patience).await?;
    if let Some(wanted) = args.wait_for_workers {
        wait_for_workers(&mut client, wanted as usize, args.progress.quiet).await?;
    }
    let answer: Result<Vec<JobView>, _> = {
        let mut answer = pin!(client.ask(Method::POST, "/jobs", Some(&requests)));
        match timeout(SILENCE, &mut answer).await {
            Ok(answer) => answer,
            Err(_) => {
                if !args.progress.quiet {
                    let what = "the coordinator numbers the tasks, which may take some seconds";
                    stderr::print(format_args!("{what}\n"));
                }
                answer.await
            }
        }
    };
    let answer = answer.map_err(|failure| match failure {
        Failure::Plan(reason) if are_many => {
            Failure::Plan(format!("{reason}; no other size was submitted"))
        }
        failure => failure,
    })?;
    let mut jobs = Vec::new();
    for job in answer {
        if args.wait {
            let plan = job.spec.plan;
            stderr::print(format_args!("job {}: {plan}, {} tasks\n", job.id, plan.tasks));
        } else if args.client.json {
            output::mention(output::json(&job))?;
        } else {
            output::mention(job.id)?;
        }
        jobs.push((job.id, job.spec.plan));
    }
    if !args.wait {
        if stdout().is_terminal() && !args.client.json && !args.progress.quiet {
            let ids: Vec<String> = jobs.iter().map(|(job, _)| job.to_string()).collect();
            stderr::print(format_args!(
                "`queens watch {}` follows it to its total\n",
                ids.join(" ")
            ));
        }
        return Ok(());
    }
    let on_end = args.on_end.as_deref();
    follow(&mut client, jobs, args.client.json, false, on_end, args.progress).await
}

/// Waits until so many workers are connected that take work, and says for how many it waits.
async fn wait_for_workers(
    client: &mut Client,
    wanted: usize,
    is_quiet: bool,
) -> Result<(), Failure> {
    const PAUSE: Duration = Duration::from_millis(500);
    let mut said = None;
    loop {
        match client.get::<Workers>("/workers").await {
            Ok(Workers { workers, .. }) => {
                let there = workers.iter().filter(|worker| !worker.draining).count();
                if there >= wanted {
                    return Ok(());
                }
                if !is_quiet && said.replace(there) != Some(there) {
                    stderr::print(format_args!(
                        "waiting for workers: {there} of {wanted} connected; `queens worker` starts one\n"
                    ));
                }
            }
            Err(Failure::Unreachable(_)) if said.is_some() => client.connect_again().await?,
            Err(failure) => return Err(failure),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

impl SubmitArgs {
    /// The request for the board of size `n`, which may be one of many.
    fn request(&self, n: u32, are_many: bool) -> Result<Submit, Failure> {
        let problem = self.problem.problem(n)?;
        let choice = self.method_args.choice()?;
        let own = |name: &String| if are_many { format!("{name}-{n}") } else { name.clone() };
        let chosen = self.audit.filter(|&share_ppm| share_ppm > 0);
        let share_ppm = if self.certified { Some(AuditPolicy::ALL) } else { chosen };
        let wish = |share_ppm| AuditWish { across: self.across, ..AuditWish::of_ppm(share_ppm) };
        Ok(Submit {
            n,
            problem: Some(problem.name().into()),
            given: problem.given().map(ToString::to_string),
            method: choice.map(|choice| choice.name().into()),
            rows: choice.and_then(|choice| choice.parameter()?.1),
            priority: self.priority,
            audit: share_ppm.map(wish),
            name: self.name.as_ref().map(own),
        })
    }
}

pub(super) async fn jobs(mut args: JobsArgs) -> Result<(), Failure> {
    if let Some(service) = args.health.take() {
        return health(args, service).await;
    }
    match args.command.take() {
        None if args.jobs.is_empty() => list(args).await,
        None => show(args).await,
        Some(JobsCommand::Rm(args)) => {
            each(
                args,
                async |client, job| {
                    client.ask(Method::DELETE, &format!("/jobs/{job}"), NO_BODY).await
                },
                removed,
            )
            .await
        }
    }
}

/// Asks gRPC's health service of the coordinator.
async fn health(args: JobsArgs, service: String) -> Result<(), Failure> {
    let endpoint = args.client.coordinator.endpoint()?;
    let mut client = HealthClient::new(endpoint.channel().await?);
    let unreachable = |reason: &str| Failure::unreachable(endpoint.url(), reason);
    let answer = match client.check(HealthCheckRequest { service }).await {
        Ok(answer) => answer.into_inner(),
        Err(status) => {
            return Err(unreachable(&endpoint.why_silent(status.message().into()).await));
        }
    };
    match answer.status() {
        ServingStatus::Serving if args.client.json => output::print(json!({"status": "serving"})),
        ServingStatus::Serving => output::print("serving"),
        other => {
            let status = other.as_str_name();
            Err(unreachable(&format!("it is {status}: it reads its ledger, or is stopping")))
        }
    }
}

async fn list(args: JobsArgs) -> Result<(), Failure> {
    let mut client = Client::connect(&args.client.coordinator).await?;
    let (live, _) = client.list(false, usize::MAX).await?;
    let most = if args.all { usize::MAX } else { args.limit };
    let (ended, are_more) = client.list(true, most).await?;
    // A job that ended between the two answers is in both.
    let listed: BTreeMap<JobId, JobView> =
        live.into_iter().chain(ended).map(|job| (job.id, job)).collect();
    let listed: Vec<JobView> = listed.into_values().collect();
    if args.client.json {
        return listed.iter().try_for_each(|job| output::print(output::json(job)));
    }
    let (ended, going): (Vec<_>, Vec<_>) = listed.iter().partition(|job| job.state.is_over());
    if !going.is_empty() || ended.is_empty() && !are_more {
        let nothing = "there is no job; `queens submit N` adds one";
        show::table(&going, &show::ONLY_OF_ENDED).print(&show::SPARED, nothing)?;
    }
    if !ended.is_empty() {
        if ended.len() < listed.len() {
            output::print("")?;
        }
        show::table(&ended, &show::ONLY_OF_LIVE).print(&show::SPARED, "")?;
    }
    show::remarks(&listed).into_iter().try_for_each(output::advise)?;
    if are_more { output::advise("more have ended: `queens jobs --all`") } else { Ok(()) }
}

/// Calls `act` for each of several jobs, also after a failure. The last failure is returned, and
/// earlier ones are printed on standard error.
pub(super) async fn for_each<T>(
    jobs: Vec<T>,
    mut act: impl AsyncFnMut(T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut last: Option<Failure> = None;
    for job in jobs {
        let failure = match act(job).await {
            Ok(()) => continue,
            Err(failure @ (Failure::Interrupted(_) | Failure::Unread)) => return Err(failure),
            Err(failure) => failure,
        };
        if let Some(before) = last.replace(failure) {
            before.report();
        }
    }
    last.map_or(Ok(()), Err)
}

async fn show(args: JobsArgs) -> Result<(), Failure> {
    let mut client = Client::connect(&args.client.coordinator).await?;
    let first = args.jobs.first().copied();
    for_each(args.jobs, async |id| {
        let job = client.job(id).await?;
        if args.client.json {
            return output::print(output::json(&job));
        }
        let between = if Some(id) == first { "" } else { "\n" };
        output::advise(format_args!("{between}{}", show::details(&job)))
    })
    .await
}

pub(super) async fn watch(args: WatchArgs) -> Result<(), Failure> {
    if args.jobs.is_empty() {
        return top::run(&args.client.coordinator).await;
    }
    let mut client = Client::connect_within(&args.client.coordinator, LONG_PATIENCE).await?;
    // A job that does not exist is refused before another is followed.
    let mut jobs = Vec::new();
    for job in args.jobs {
        let job = client.job(job).await?;
        jobs.push((job.id, job.spec.plan));
    }
    follow(&mut client, jobs, args.client.json, true, None, args.progress).await
}

/// Sends a request about each of several jobs, and prints a line about each answer.
async fn each(
    args: JobArgs,
    mut ask: impl AsyncFnMut(&mut Client, u64) -> Result<JobView, Failure>,
    line: fn(&JobView) -> String,
) -> Result<(), Failure> {
    let mut client = Client::connect(&args.client.coordinator).await?;
    for_each(args.jobs, async |job| {
        let job = ask(&mut client, job).await?;
        let json = args.client.json;
        output::mention(if json { output::json(&job).to_string() } else { line(&job) })
    })
    .await
}

impl ChangeCommand {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let (args, word) = match self {
            ChangeCommand::Audit(args) => return audits::audit(args).await,
            ChangeCommand::Priority(PriorityArgs { of, priority }) => {
                let patch = Patch { priority: Some(priority), ..Patch::default() };
                let ask = async |client: &mut Client, job| {
                    client.ask(Method::PATCH, &format!("/jobs/{job}"), Some(&patch)).await
                };
                let line =
                    |job: &JobView| format!("job {} has priority {}", job.id, job.spec.priority);
                return each(of, ask, line).await;
            }
            ChangeCommand::Cancel(args) => return cancel(args).await,
            ChangeCommand::Pause(args) => (args, "pause"),
            ChangeCommand::Resume(args) => (args, "resume"),
        };
        let ask = async |client: &mut Client, job| {
            client.ask(Method::POST, &format!("/jobs/{job}/{word}"), NO_BODY).await
        };
        each(args, ask, |job| format!("job {} is {}", job.id, job.state)).await
    }
}

/// Cancels jobs. One that was cancelled before stays so, and the line says it.
async fn cancel(args: JobArgs) -> Result<(), Failure> {
    let mut client = Client::connect(&args.client.coordinator).await?;
    for_each(args.jobs, async |id| {
        // A credential that may not see the job is refused by the cancellation.
        let before = client.job(id).await.map(|job| job.state).ok();
        let job: JobView = client.ask(Method::POST, &format!("/jobs/{id}/cancel"), NO_BODY).await?;
        output::mention(match (args.client.json, before) {
            (true, _) => output::json(&job).to_string(),
            (false, Some(JobState::Cancelled)) => format!("job {id} was cancelled before"),
            (false, _) => format!("job {id} is {}", job.state),
        })
    })
    .await
}

fn removed(job: &JobView) -> String {
    let JobView { id, spec: JobSpec { plan, .. }, state, total, .. } = job;
    let total = total.map_or(String::new(), |total| format!(", total {total}"));
    format!("job {id} is removed: {plan}, {state}{total}")
}
