//! The commands that talk to a coordinator about jobs.

use board::MethodChoice;
use clap::Args;
use farm::{AuditPolicy, JobId, JobState, JobView, Plan};
use wire::v1;

use super::args::CutArgs;
use super::client::{Client, CoordinatorArgs};
use super::problem::ProblemArgs;
use super::show;
use super::signal::asked_to_stop;
use crate::answer::{self, Answering};
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;

#[derive(Debug, Args)]
pub(super) struct SubmitArgs {
    /// Board size, 0 to 32; with given queens to 64
    n: u32,
    #[command(flatten)]
    problem: ProblemArgs,
    #[command(flatten)]
    pub(super) cut: CutArgs,
    /// Jobs of higher priority are served first: from -100 to 100, or anything for an admin
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, env = "QUEENS_PRIORITY")]
    priority: i32,
    /// Have this share of the ranges counted a second time, by another machine and another kernel: 0.02
    /// is two percent
    #[arg(long, value_name = "SHARE", env = "QUEENS_AUDIT", value_parser = share)]
    audit: Option<u32>,
    /// Have every range counted a second time
    #[arg(long, conflicts_with = "audit", env = "QUEENS_CERTIFIED")]
    certified: bool,
    /// Between whom a second opinion lies: machines, against broken hardware, or owners of credentials, against
    /// those who lie
    #[arg(long, value_enum, default_value_t, env = "QUEENS_ACROSS")]
    across: AcrossArg,
    /// A name for the job, 1 to 128 visible characters. If you have a job of this name already, its number is printed
    /// and nothing is added, so that a script can be started again [default: every submission is a new job]
    #[arg(long, value_name = "NAME", env = "QUEENS_KEY")]
    key: Option<String>,
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
    /// The share of the ranges to count again: 0.02 is two percent. Of a job that is held, the ranges that
    /// look worst are counted again too
    #[arg(long, value_name = "SHARE", default_value = "0.02", env = "QUEENS_AUDIT",
          value_parser = share)]
    fraction: u32,
    /// Count every range again
    #[arg(long, conflicts_with = "fraction")]
    all: bool,
    /// Between whom a second opinion lies: machines, against broken hardware, or owners of credentials, against
    /// those who lie
    #[arg(long, value_enum, default_value_t, env = "QUEENS_ACROSS")]
    across: AcrossArg,
    /// With `rows`, ranges of `halves` are counted by searching below their tasks, which takes a
    /// hundred times as long [default: by another counting loop]
    #[arg(long, value_enum)]
    method: Option<AuditMethod>,
    /// Decides which ranges are chosen; a seed that was published beforehand shows that they were not picked
    /// by hand, but lets whoever knows it tell which ranges nobody will look at [default: drawn by the
    /// coordinator, and secret until the job is over]
    #[arg(long, value_parser = clap::value_parser!(u64).range(..1 << 63))]
    seed: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum AcrossArg {
    /// Between machines
    #[default]
    Machines,
    /// Between owners
    Owners,
}

impl AcrossArg {
    fn wire(self) -> i32 {
        let across = match self {
            AcrossArg::Machines => v1::Across::Machines,
            AcrossArg::Owners => v1::Across::Owners,
        };
        across.into()
    }
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum AuditMethod {
    /// By searching row by row
    Rows,
}

/// Reads a share between 0 and 1, and returns it in millionths.
fn share(text: &str) -> anyhow::Result<u32> {
    let share: f64 = text.parse()?;
    anyhow::ensure!((0.0..=1.0).contains(&share), "a share is between 0 and 1, like 0.02");
    Ok((share * f64::from(AuditPolicy::ALL)).round() as u32)
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
        key: args.key,
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
        let across = self.across.wire();
        share_ppm.map(|share_ppm| v1::AuditPolicy {
            share_ppm,
            across,
            ..v1::AuditPolicy::default()
        })
    }
}

pub(super) async fn audit(args: AuditArgs) -> Result<(), Failure> {
    let mut client = Client::connect(&args.coordinator).await?;
    let policy = v1::AuditPolicy {
        share_ppm: if args.all { AuditPolicy::ALL } else { args.fraction },
        seed: args.seed,
        by_search: args.method.is_some(),
        across: args.across.wire(),
    };
    let request = v1::AuditRequest { job: args.job, policy: Some(policy) };
    let answer = client.jobs.audit(request).await;
    let job = client.job(answer.map(|answer| answer.into_inner().job))?;
    if args.json {
        return output::print(show::json(&job));
    }
    let seed = job.audit.map(|audit| show::seed(&audit)).unwrap_or_default();
    output::print(match job.audits_wanted {
        0 => format!("job {}: no accepted range waits for an audit ({seed})", job.id),
        wanted => format!(
            "job {}: {wanted} accepted ranges are counted again by other machines or owners ({seed}); \
             `queens watch {}` waits for them",
            job.id, job.id
        ),
    })
}

pub(super) async fn jobs(args: JobsArgs) -> Result<(), Failure> {
    let mut client = Client::connect(&args.coordinator).await?;
    let jobs = client.list().await?;
    match args.json {
        true => jobs.iter().try_for_each(|job| output::print(show::json_among(job, &jobs))),
        false => output::print(show::table(&jobs)),
    }
}

pub(super) async fn status(args: JobArgs) -> Result<(), Failure> {
    let mut client = Client::connect(&args.coordinator).await?;
    let answer = client.jobs.get(v1::GetRequest { job: args.job }).await;
    let job = client.job(answer.map(|answer| answer.into_inner().job))?;
    let others = if show::may_wait_for_others(&job) { client.list().await? } else { Vec::new() };
    match args.json {
        true => output::print(show::json_among(&job, &others)),
        false => output::print(show::details(&job, &others)),
    }
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

fn changed(job: &JobView, json: bool) -> Result<(), Failure> {
    match json {
        true => output::print(show::json(job)),
        false => output::print(format!("job {} is {}", job.id, job.state)),
    }
}

/// Follows a job to its end, over any number of lost connections, and prints its total. With `json` it
/// prints one object at the end, and with `each` also one at every change. `plan` is what the job
/// counts, if that is known already.
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
        return Err(match end.held {
            Some(held) => Failure::JobHeld { job, held },
            None => Failure::NoTotal(job, end.state),
        });
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
        // The last view was printed already, and there is no census to add to it.
        true if each && answer::fields(&answer).is_empty() => Ok(()),
        true => output::print(show::json_with(&end, &answer)),
        false => output::print(answer.count()),
    }
}
