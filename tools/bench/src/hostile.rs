//! Measures what floods cost honest workers.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Context;
use board::MethodChoice;
use clap::Args;
use farm::{Config, LoanKey, Plan, Problem, Slice};
use tokio::task::JoinSet;

use super::bare::median_ratio;
use super::idle_worker::{Booked, idle};
use anyhow::Result;
use service::Endpoint;
use service::coordinator::{ClientRequest, Hub, HubHandle, Limits, Listener, Plans, serve};
use testkit::hostile_worker::{Attack, Harm, Target, attack};

use crate::coordinator::open_to_all;
use crate::print;
use ledger::CheckedLedger;

/// The job that the workers pretend to count: far more than an hour's work.
const PLAN: (u32, u32) = (30, 6);
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
    /// Number of hostile workers for each kind of attack
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    hostile: u32,
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

pub(crate) async fn run(args: HostileBenchArgs) -> Result<()> {
    let folder = args.folder.join(format!("queens-bench-{:08x}", rand::random::<u32>()));
    std::fs::create_dir(&folder).with_context(|| format!("cannot make {folder:?}"))?;
    let measured = measure(&args, folder.join("ledger.db")).await;
    let _ = std::fs::remove_dir_all(&folder);
    measured
}

async fn measure(args: &HostileBenchArgs, ledger: PathBuf) -> Result<()> {
    let ledger = CheckedLedger::open(&ledger).and_then(CheckedLedger::begin);
    let ledger = ledger.map_err(|fault| fault.at(Some(&args.folder)))?;
    let (hub, handle) = Hub::new(Config::default(), LoanKey::new(rand::random()), ledger);
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = Listener::bind(any, Limits { visits: VISITS, ..Limits::default() }).await?;
    let address = listener.address()?;
    let endpoint = Endpoint::new(&address.to_string(), None);
    let mut others: JoinSet<Result<()>> = JoinSet::new();
    others.spawn(async { Ok(hub.run().await?) });
    let forever = std::future::pending();
    let server = serve(listener.connections(), open_to_all(), handle.clone(), forever);
    others.spawn(async { Ok(server.await?) });
    let plan = submit(&handle).await?;

    let booked = Arc::new(Booked::default());
    for _ in 0..args.honest {
        others.spawn(idle(endpoint.clone(), CREDIT, TASKS_PER_RESULT, booked.clone()));
    }
    let rounds = measure_rounds(args, &endpoint, plan, &booked);
    tokio::select! {
        measured = rounds => measured,
        // The coordinator and the honest workers never end by themselves.
        Some(ended) = others.join_next() => {
            ended??;
            Err(anyhow::anyhow!("an honest session ended early"))
        }
    }
}

async fn submit(hub: &HubHandle) -> Result<Plan> {
    let (n, rows) = PLAN;
    let choice = MethodChoice::Rows { rows: Some(rows) };
    let plan = Plans::default().make(Problem::Total { n }, choice)?;
    let wish = ClientRequest::Submit { plan, slice: Slice::ALL, priority: 0, audit: None };
    hub.request(wish).await??;
    Ok(plan)
}

async fn measure_rounds(
    args: &HostileBenchArgs,
    endpoint: &Endpoint,
    plan: Plan,
    booked: &Booked,
) -> Result<()> {
    let harm = Arc::new(Harm::default());
    // Honest workers do not count: every result is 0.
    let target = Target { plan, first_count: 0 };
    let time = Duration::from_secs(args.seconds);
    results_per_second(booked, time).await;
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    print("round  durable results/s alone  beside hostile workers   ratio")?;
    for round in 1..=args.rounds {
        alone.push(results_per_second(booked, time).await);
        let mut hostile = JoinSet::new();
        for _ in 0..args.hostile {
            for way in Attack::ALL {
                hostile.spawn(attack(way, endpoint.clone(), target, harm.clone()));
            }
        }
        beside.push(results_per_second(booked, time).await);
        hostile.shutdown().await;
        let (alone, beside) = (alone[alone.len() - 1], beside[beside.len() - 1]);
        print(format!("{round:>5}  {alone:>23.0}  {beside:>22.0}  {:.3}", beside / alone))?;
    }
    print(format!(
        "\n{} honest workers, {} hostile ones in {} ways; they sent {} messages and were dismissed {} \
         times\nhonest throughput beside them: {:.1}% in all, {:.1}% in the median round",
        args.honest,
        args.hostile as usize * Attack::ALL.len(),
        Attack::ALL.len(),
        harm.messages.load(Ordering::Relaxed),
        harm.dismissals.load(Ordering::Relaxed),
        100.0 * beside.iter().sum::<f64>() / alone.iter().sum::<f64>(),
        100.0 * median_ratio(&beside, &alone),
    ))
}

async fn results_per_second(booked: &Booked, time: Duration) -> f64 {
    tokio::time::sleep(SETTLE).await;
    let (before, begun) = (booked.ranges.load(Ordering::Relaxed), Instant::now());
    tokio::time::sleep(time).await;
    let after = booked.ranges.load(Ordering::Relaxed);
    (after - before) as f64 / begun.elapsed().as_secs_f64()
}
