//! Measures what viewers of the live page cost the farm.
//!
//! The coordinator and the workers are in this process, the viewers in one of their own, because they would be
//! elsewhere in reality. Each round measures once without and once with them. Throughput on a machine that has
//! other work to do says little; the results of a second of this process's own processor time say more.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use board::MethodChoice;
use clap::Args;
use farm::{JobSpec, Origin, Problem, Request, Slice};
use service::Token;
use service::coordinator::{HubHandle, Plans};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::bare::median;
use crate::idle_worker::Booked;
use crate::local_farm::{Entrance, LocalFarm};
use crate::print;
use crate::process::{self, Beside};

/// The job that the workers pretend to count.
const PLAN: (u32, u32) = (30, 6);
/// Tasks that a worker holds, and in each of its results.
const CREDIT: u64 = 16_384;
const TASKS_PER_RESULT: u64 = 40;
/// How long each half of a round runs before it is measured.
const SETTLE: Duration = Duration::from_millis(500);
/// What viewers look at in turn.
const PATHS: [&str; 3] = ["/live", "/jobs/1/live", "/workers/live"];

#[derive(Debug, Args)]
pub(crate) struct PageBenchArgs {
    /// Number of browsers that look on
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1000))]
    viewers: u32,
    /// Number of workers; they report as fast as they can and do not count
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    workers: u32,
    /// Number of jobs that the coordinator has
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    jobs: u32,
    /// Rounds; each measures once without and once with the viewers
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// How long each half of a round is measured, seconds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// The folder of the temporary ledger, on the disk that is measured
    #[arg(long, default_value = ".", value_name = "FOLDER")]
    folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct LookArgs {
    #[arg(long)]
    coordinator: String,
    #[arg(long)]
    token_file: PathBuf,
    #[arg(long)]
    viewers: u32,
}

/// The viewers, in a process of their own. They look on until it is killed.
pub(crate) async fn look(args: LookArgs) -> Result<()> {
    let token = Token::read(&args.token_file)?;
    let mut viewers = JoinSet::new();
    for path in PATHS.into_iter().cycle().take(args.viewers as usize) {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {}\r\n\r\n",
            token.bearer()
        );
        viewers.spawn(view(args.coordinator.clone(), request));
    }
    while let Some(ended) = viewers.join_next().await {
        ended??;
    }
    Ok(())
}

async fn view(coordinator: String, request: String) -> Result<()> {
    let mut stream = TcpStream::connect(coordinator).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut buffer = vec![0; 64 << 10];
    while stream.read(&mut buffer).await? > 0 {}
    Ok(())
}

pub(crate) async fn run(args: PageBenchArgs) -> Result<()> {
    let mut farm = LocalFarm::start(&args.folder).await?;
    submit(&farm.entrance.hub, args.jobs).await?;
    let booked = farm.employ(args.workers, CREDIT, TASKS_PER_RESULT);
    farm.during(async |entrance| measure(&args, entrance, &booked).await).await
}

async fn submit(hub: &HubHandle, jobs: u32) -> Result<()> {
    let (n, rows) = PLAN;
    let choice = MethodChoice::Rows { rows: Some(rows) };
    let plan = Plans::default().make(Problem::Total { n }, choice)?;
    let spec = JobSpec { origin: Origin::default(), plan, slice: Slice::ALL, priority: 0 };
    let ask = Request::Submit { spec, audit: None, known: known::of(&plan, Slice::ALL) };
    for _ in 0..jobs {
        hub.ask("bench", ask.clone()).await??;
    }
    Ok(())
}

async fn measure(args: &PageBenchArgs, entrance: &Entrance, booked: &Booked) -> Result<()> {
    let Entrance { address, tokens, .. } = entrance;
    let time = Duration::from_secs(args.seconds);
    let token_file = tokens.viewers.to_str().context("the folder's name is no text")?;
    let viewers = args.viewers.to_string();
    measured(booked, time).await?;
    let (mut ratios, mut costs) = (Vec::new(), Vec::new());
    print("round  durable results/s alone  with viewers   ratio  by processor time")?;
    for round in 1..=args.rounds {
        let alone = measured(booked, time).await?;
        let words = ["look", "--coordinator", address, "--token-file", token_file];
        let looking = Beside::start(&[&words[..], &["--viewers", &viewers]].concat())?;
        let beside = measured(booked, time).await?;
        drop(looking);
        ratios.push(beside.results_per_second / alone.results_per_second);
        costs.push(beside.results_per_processor_second / alone.results_per_processor_second);
        print(format!(
            "{round:>5}  {:>23.0}  {:>12.0}  {:>6.3}  {:>17.3}",
            alone.results_per_second,
            beside.results_per_second,
            ratios[ratios.len() - 1],
            costs[costs.len() - 1],
        ))?;
    }
    print(format!(
        "\n{viewers} viewers beside {} workers and {} jobs: {:.1}% of the throughput in the median round, {:.1}% by \
         processor time",
        args.workers,
        args.jobs,
        100.0 * median(&ratios),
        100.0 * median(&costs),
    ))
}

/// What workers got in a while.
struct Measured {
    results_per_second: f64,
    /// In a second of processor time of this process, in which the coordinator and the workers run.
    results_per_processor_second: f64,
}

/// Measures for `time`, after the farm has settled.
async fn measured(booked: &Booked, time: Duration) -> Result<Measured> {
    let now = || {
        let results = booked.ranges.load(Ordering::Relaxed) as f64;
        let own = process::processor_seconds(std::process::id());
        (results, own)
    };
    tokio::time::sleep(SETTLE).await;
    let (before, begun) = (now(), Instant::now());
    tokio::time::sleep(time).await;
    let (after, seconds) = (now(), begun.elapsed().as_secs_f64());
    let results = after.0 - before.0;
    Ok(Measured {
        results_per_second: results / seconds,
        results_per_processor_second: results / (after.1 - before.1),
    })
}
