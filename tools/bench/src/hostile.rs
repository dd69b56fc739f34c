//! Measures what one credential costs honest workers that floods the coordinator over several connections.
//!
//! The coordinator and the honest workers are in this process, the hostile workers in one of their own, whose
//! processor time is read from the system: elsewhere it would not be taken from the honest ones.
//!
//! On a machine with other work to do, throughput says little. What coordinator and honest workers take of the
//! processors for a result says more: the results of a second of their own processor time are compared as well.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use board::MethodChoice;
use clap::Args;
use farm::{Config, Origin, Plan, Problem, Slice};
use tokio::task::JoinSet;

use super::bare::median;
use super::idle_worker::Booked;
use service::coordinator::{ClientRequest, HubHandle, Limits, Plans};
use service::{Endpoint, Proofs};
use testkit::hostile_worker::{Attack, Harm, Target, attack};

use crate::local_farm::{Entrance, LocalFarm};
use crate::print;
use crate::process::{self, Beside};
use ledger::Role;

/// The jobs that the workers pretend to count. One is over in half a minute if nobody counts, so that there are more
/// of them than anybody measures.
const PLAN: (u32, u32) = (30, 6);
const JOBS: u32 = 200;
/// Tasks that an honest worker holds.
const CREDIT: u64 = 16_384;
/// Tasks in each result of an honest worker.
const TASKS_PER_RESULT: u64 = 40;
/// How long each half of a round runs before it is measured.
const SETTLE: Duration = Duration::from_millis(500);
/// Connections that an address may make at once. It is fewer than by default, so that the rounds show the
/// effect of an attack after its first seconds.
const VISITS: u32 = 64;

#[derive(Debug, Args)]
pub(crate) struct HostileBenchArgs {
    /// Number of honest workers; they report as fast as they can and do not count
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    honest: u32,
    /// Number of connections of the credential that floods; they attack in all ways in turn
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1000))]
    connections: u32,
    /// Rounds; each measures once without and once with the hostile workers
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
pub(crate) struct AttackArgs {
    #[arg(long)]
    coordinator: String,
    #[arg(long)]
    token_file: PathBuf,
    #[arg(long)]
    connections: u32,
    /// How long it attacks
    #[arg(long)]
    milliseconds: u64,
}

/// The hostile workers, in a process of their own. It prints how many messages they sent, and how often they were
/// dismissed.
pub(crate) async fn flood(args: AttackArgs) -> Result<()> {
    let harm = Arc::new(Harm::default());
    // Honest workers do not count: every result is 0.
    let target = Target { plan: plan()?, first_count: 0 };
    let endpoint = Endpoint::new(&args.coordinator, Proofs::of_token(args.token_file));
    let mut hostile = JoinSet::new();
    for way in Attack::ALL.into_iter().cycle().take(args.connections as usize) {
        hostile.spawn(attack(way, endpoint.clone(), target, harm.clone()));
    }
    tokio::time::sleep(Duration::from_millis(args.milliseconds)).await;
    hostile.shutdown().await;
    let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
    print(format!("{} {}", of(&harm.messages), of(&harm.dismissals)))
}

pub(crate) async fn run(args: HostileBenchArgs) -> Result<()> {
    let limits = Limits { visits: VISITS, ..Limits::default() };
    let mut farm = LocalFarm::start(&args.folder, Config::default(), limits, Role::Worker).await?;
    submit(&farm.entrance.hub).await?;
    let booked = farm.employ(args.honest, CREDIT, TASKS_PER_RESULT);
    farm.during(async |entrance| measure(&args, entrance, &booked).await).await
}

fn plan() -> Result<Plan> {
    let (n, rows) = PLAN;
    let choice = MethodChoice::Rows { rows: Some(rows) };
    Ok(Plans::default().make(Problem::Total { n }, choice)?)
}

async fn submit(hub: &HubHandle) -> Result<()> {
    let (plan, origin, slice) = (plan()?, Origin::default(), Slice::ALL);
    let wish = ClientRequest::Submit { origin, plan, slice, priority: 0, audit: None };
    for _ in 0..JOBS {
        hub.request("bench", wish.clone()).await??;
    }
    Ok(())
}

async fn measure(args: &HostileBenchArgs, entrance: &Entrance, booked: &Booked) -> Result<()> {
    let Entrance { address, sides, .. } = entrance;
    let time = Duration::from_secs(args.seconds);
    let token_file = sides.hostile.to_str().context("the folder's name is no text")?;
    let connections = args.connections.to_string();
    let milliseconds = (time + 2 * SETTLE).as_millis().to_string();
    measured(booked, time, None).await?;
    let (mut ratios, mut apart, mut costs) = (Vec::new(), Vec::new(), Vec::new());
    let (mut messages, mut dismissals) = (0, 0);
    print(
        "round  durable results/s alone  beside the flood   ratio   apart  by processor time  its processors",
    )?;
    for round in 1..=args.rounds {
        let alone = measured(booked, time, None).await?;
        let words = ["attack", "--coordinator", address, "--token-file", token_file];
        let more = ["--connections", &connections, "--milliseconds", &milliseconds];
        let hostile = Beside::start(&[&words[..], &more].concat())?;
        let beside = measured(booked, time, Some(&hostile)).await?;
        let said = hostile.said().await?;
        let numbers: Vec<u64> = said.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        let [sent, dismissed] = numbers[..] else { bail!("the flood ended early: {said}") };
        (messages, dismissals) = (messages + sent, dismissals + dismissed);
        let [with, without] = [beside.results_per_second, alone.results_per_second];
        let without_its_time = process::apart(with, beside.hostile_processors, 1.0)?;
        ratios.push(with / without);
        apart.push(without_its_time / without);
        costs.push(beside.results_per_processor_second / alone.results_per_processor_second);
        print(format!(
            "{round:>5}  {without:>23.0}  {with:>16.0}  {:>6.3}  {:>6.3}  {:>17.3}  {:>14.2}",
            with / without,
            without_its_time / without,
            costs[costs.len() - 1],
            beside.hostile_processors
        ))?;
    }
    print(format!(
        "\n{} honest workers beside one credential with {connections} connections; these sent {messages} messages \
         and were dismissed {dismissals} times\nhonest throughput beside them: {:.1}% in the median round, {:.1}% \
         if they ran elsewhere, {:.1}% by processor time",
        args.honest,
        100.0 * median(&ratios),
        100.0 * median(&apart),
        100.0 * median(&costs),
    ))
}

/// What honest workers got in a while.
pub(crate) struct Measured {
    pub(crate) results_per_second: f64,
    /// In a second of processor time of this process, in which the coordinator and the honest workers run.
    pub(crate) results_per_processor_second: f64,
    /// How many processors the process beside it took.
    hostile_processors: f64,
}

/// Measures for `time`, after the farm has settled.
pub(crate) async fn measured(
    booked: &Booked,
    time: Duration,
    hostile: Option<&Beside>,
) -> Result<Measured> {
    let now = || {
        let results = booked.ranges.load(Ordering::Relaxed) as f64;
        let own = process::processor_seconds(std::process::id());
        (results, own, hostile.map_or(0.0, Beside::processor_seconds))
    };
    tokio::time::sleep(SETTLE).await;
    let (before, begun) = (now(), Instant::now());
    tokio::time::sleep(time).await;
    let (after, seconds) = (now(), begun.elapsed().as_secs_f64());
    let results = after.0 - before.0;
    Ok(Measured {
        results_per_second: results / seconds,
        results_per_processor_second: results / (after.1 - before.1),
        hostile_processors: (after.2 - before.2) / seconds,
    })
}
