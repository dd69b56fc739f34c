//! Measures what clients that ask for much cost honest workers and an honest client.
//!
//! The coordinator and everybody honest are in this process, the hostile client in one of its own. Each round
//! measures once without and once with it. What the coordinator does for the hostile client is what is to be
//! seen; what the hostile client itself takes of the processors would be elsewhere in reality. Therefore its
//! processor time is read from the system and taken from the time that the honest half is compared by.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use board::MethodChoice;
use clap::Args;
use farm::{Config, JobId, Origin, Plan, Problem, Slice};
use ledger::Role;
use service::coordinator::{ClientRequest, HubHandle, Limits, Plans};
use service::{Endpoint, Proofs};
use testkit::hostile_client::{Demand, demand};
use wire::v1;
use wire::v1::jobs_service_client::JobsServiceClient;

use crate::bare::median_ratio;
use crate::coordinator::HOSTILE;
use crate::idle_worker::Booked;
use crate::local_farm::{Entrance, LocalFarm};
use crate::print;
use crate::process::{self, Beside};

/// The job that the workers pretend to count.
const PLAN: (u32, u32) = (30, 6);
/// Tasks that an honest worker holds, and in each of its results.
const CREDIT: u64 = 16_384;
const TASKS_PER_RESULT: u64 = 40;
/// How long each half of a round runs before it is measured.
const SETTLE: Duration = Duration::from_millis(500);
/// The pause between two honest submissions, so that the honest client has points for each.
const PAUSE: Duration = Duration::from_millis(500);

#[derive(Debug, Args)]
pub(crate) struct ClientsBenchArgs {
    /// What the hostile client asks for [default: everything, one after the other]
    #[arg(long, value_name = "DEMAND", value_parser = demands())]
    only: Option<String>,
    /// Number of connections of the hostile client, with 64 requests at a time on each
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    connections: u32,
    /// Number of jobs that the coordinator has
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    jobs: u32,
    /// Number of honest workers; they report as fast as they can and do not count
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    honest: u32,
    /// Rounds for each demand
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// How long each half of a round is measured, seconds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// The folder of the temporary ledger, on the disk that is measured
    #[arg(long, default_value = ".", value_name = "FOLDER")]
    folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct DemandArgs {
    #[arg(value_parser = demands())]
    demand: String,
    #[arg(long)]
    coordinator: String,
    #[arg(long)]
    token_file: PathBuf,
    #[arg(long)]
    connections: u32,
    #[arg(long)]
    job: u64,
}

fn demands() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(Demand::ALL.map(|(name, _)| name))
}

/// The hostile client, in a process of its own.
pub(crate) async fn flood(args: DemandArgs) -> Result<()> {
    let named = Demand::ALL.into_iter().find(|(name, _)| *name == args.demand);
    let (_, what) = named.context("there is no such demand")?;
    let endpoint = Endpoint::new(&args.coordinator, Proofs::of_token(args.token_file));
    demand(what, endpoint, args.connections, args.job).await;
    Ok(())
}

pub(crate) async fn run(args: ClientsBenchArgs) -> Result<()> {
    let (max_jobs, max_jobs_per_owner) = (usize::MAX, usize::MAX);
    let config = Config { max_jobs, max_jobs_per_owner, ..Config::default() };
    let mut farm =
        LocalFarm::start(&args.folder, config, Limits::default(), Role::Submitter).await?;
    let own = submit_all(&farm.entrance.hub, args.jobs).await?;
    let booked = farm.employ(args.honest, CREDIT, TASKS_PER_RESULT);
    farm.during(async |entrance| measure(&args, entrance, own, &booked).await).await
}

/// Submits the job that is worked on and then small ones. Returns the last one.
async fn submit_all(hub: &HubHandle, jobs: u32) -> Result<JobId> {
    let plans = Plans::default();
    let plan =
        |(n, rows)| plans.make(Problem::Total { n }, MethodChoice::Rows { rows: Some(rows) });
    let submit = async |plan: Plan, priority| {
        // The jobs are those of the hostile client, so that it may change them.
        let (origin, slice) = (Origin::of(HOSTILE), Slice::ALL);
        let wish = ClientRequest::Submit { origin, plan, slice, priority, audit: None };
        anyhow::Ok(hub.request(HOSTILE, wish).await??.id)
    };
    let mut last = submit(plan(PLAN)?, 0).await?;
    let small = plan((12, 3))?;
    for _ in 1..jobs {
        last = submit(small, -1).await?;
    }
    Ok(last)
}

/// What honest workers and an honest client got.
struct Half {
    results_per_second: f64,
    /// The median and the greatest time until a submission was answered.
    submit: (Duration, Duration),
    /// Processor time of the hostile client, in seconds of one processor.
    hostile_seconds: f64,
    seconds: f64,
}

async fn measure(
    args: &ClientsBenchArgs,
    entrance: &Entrance,
    own: JobId,
    booked: &Booked,
) -> Result<()> {
    let Entrance { address, sides, endpoint, .. } = entrance;
    let token_file = sides.hostile.to_str().context("the folder's name is no text")?;
    let (connections, job) = (args.connections.to_string(), own.to_string());
    half(args, endpoint, booked, None).await?;
    print(
        "             results/s  beside it   ratio  apart   submit median, longest     beside it          \
         its processors",
    )?;
    let chosen = |(name, _): &(&str, Demand)| args.only.as_deref().is_none_or(|only| only == *name);
    for (name, _) in Demand::ALL.into_iter().filter(chosen) {
        let (mut alone, mut beside, mut apart) = (Vec::new(), Vec::new(), Vec::new());
        let (mut submit, mut submit_beside) = (Vec::new(), Vec::new());
        let mut used = 0.0;
        for _ in 0..args.rounds {
            let first = half(args, endpoint, booked, None).await?;
            let words = ["demand", name, "--coordinator", address, "--token-file", token_file];
            let more = ["--connections", &connections, "--job", &job];
            let hostile = Beside::start(&[&words[..], &more].concat())?;
            let second = half(args, endpoint, booked, Some(&hostile)).await?;
            drop(hostile);
            let (used_by_it, seconds) = (second.hostile_seconds, second.seconds);
            alone.push(first.results_per_second);
            beside.push(second.results_per_second);
            apart.push(process::apart(second.results_per_second, used_by_it, seconds)?);
            submit.push(first.submit);
            submit_beside.push(second.submit);
            used += used_by_it / seconds;
        }
        let rounds = f64::from(args.rounds);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / rounds;
        print(format!(
            "{name:<12} {:>9.0}  {:>9.0}  {:.3}  {:.3}  {:>22}  {:>22}  {:>8.2}",
            mean(&alone),
            mean(&beside),
            median_ratio(&beside, &alone),
            median_ratio(&apart, &alone),
            times(&submit),
            times(&submit_beside),
            used / rounds
        ))?;
    }
    Ok(())
}

/// The median of the medians, and the greatest of all.
fn times(submits: &[(Duration, Duration)]) -> String {
    let mut medians: Vec<Duration> = submits.iter().map(|&(median, _)| median).collect();
    medians.sort();
    let longest = submits.iter().map(|&(_, longest)| longest).max().unwrap_or_default();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    format!("{:.0} ms, {:.0} ms", ms(medians[medians.len() / 2]), ms(longest))
}

async fn half(
    args: &ClientsBenchArgs,
    endpoint: &Endpoint,
    booked: &Booked,
    hostile: Option<&Beside>,
) -> Result<Half> {
    let processor = || hostile.map_or(0.0, Beside::processor_seconds);
    tokio::time::sleep(SETTLE).await;
    let (before, used, begun) =
        (booked.ranges.load(Ordering::Relaxed), processor(), Instant::now());
    let mut submits = Vec::new();
    while begun.elapsed() < Duration::from_secs(args.seconds) {
        submits.push(submit_honestly(endpoint).await?);
        tokio::time::sleep(PAUSE).await;
    }
    submits.sort();
    let seconds = begun.elapsed().as_secs_f64();
    let results = booked.ranges.load(Ordering::Relaxed) - before;
    Ok(Half {
        results_per_second: results as f64 / seconds,
        submit: (submits[submits.len() / 2], submits[submits.len() - 1]),
        hostile_seconds: processor() - used,
        seconds,
    })
}

/// Connects, submits a job and waits for the answer, as a command does. Returns how long that took. The job
/// is cancelled.
async fn submit_honestly(endpoint: &Endpoint) -> Result<Duration> {
    let begun = Instant::now();
    let mut client = JobsServiceClient::new(endpoint.connect().await?);
    let rows = v1::submit_request::Method::Rows(v1::RowsRequest { rows: Some(3) });
    let problem = Some(Problem::Total { n: 13 }.into());
    let submission =
        v1::SubmitRequest { problem, method: Some(rows), priority: -1, ..Default::default() };
    let submitted = client.submit(submission).await?.into_inner();
    let took = begun.elapsed();
    let job = submitted.job.context("there is no job in the answer")?.id;
    client.cancel(v1::CancelRequest { job }).await?;
    Ok(took)
}
