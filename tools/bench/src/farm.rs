//! Measures the farm itself: one coordinator with a durable ledger, and workers that do not count.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::Args;
use farm::Problem;
use wire::v1;
use wire::v1::jobs_service_client::JobsServiceClient;

use super::idle_worker::{Booked, idle};
use super::overhead::{self, OverheadArgs};
use super::process::Coordinator;
use anyhow::Result;

use crate::print;

/// The plan that is handed out: 57,963,320 tasks.
const PLAN: (u32, u32) = (25, 6);
/// Plans of growing length, for the coordinator's memory: 10^4 to 10^8 tasks and more.
const GROWING: [(u32, u32); 3] = [(16, 4), (25, 5), (30, 6)];

#[derive(Debug, Args)]
pub(crate) struct FarmBenchArgs {
    /// Numbers of worker connections, one row of the table for each
    #[arg(long, value_delimiter = ',', default_value = "1,100,1000",
          value_parser = clap::value_parser!(u64).range(1..=20_000))]
    connections: Vec<u64>,
    /// Tasks in a result
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u64).range(1..=4096))]
    tasks_per_result: u64,
    /// Measure each row over TLS too, in turns with plain text
    #[arg(long)]
    tls: bool,
    /// How often each row is measured; the median is shown
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    turns: u32,
    /// How long each row is measured, seconds
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// The folder of the temporary ledgers, on the disk that is measured
    #[arg(long, default_value = ".", value_name = "FOLDER")]
    folder: PathBuf,
    #[command(flatten)]
    overhead: OverheadArgs,
}

pub(crate) async fn run(args: FarmBenchArgs) -> Result<()> {
    print("connections  over        tasks/s  durable results/s  coordinator MiB")?;
    for &connections in &args.connections {
        let over: &[bool] = if args.tls { &[false, true] } else { &[false] };
        let mut measured = vec![Vec::new(); over.len()];
        for _ in 0..args.turns {
            for (&tls, measured) in over.iter().zip(&mut measured) {
                measured.push(measure(&args, PLAN, connections, tls).await?);
            }
        }
        let medians: Vec<Measured> = measured.iter().map(|turns| Measured::median(turns)).collect();
        for (&tls, median) in over.iter().zip(&medians) {
            print(format!(
                "{connections:>11}  {:<10}  {:>7.0}  {:>17.0}  {:>15}",
                if tls { "TLS" } else { "plain text" },
                median.tasks_per_second,
                median.results_per_second,
                mib(median.memory_mib)
            ))?;
        }
        if let [plain, tls] = &medians[..] {
            print(format!(
                "{:>23}  {:>6.0}%  {:>16.0}%  {:>15}",
                "TLS to plain",
                100.0 * tls.tasks_per_second / plain.tasks_per_second,
                100.0 * tls.results_per_second / plain.results_per_second,
                mib(tls.memory_mib.zip(plain.memory_mib).map(|(tls, plain)| tls - plain))
            ))?;
        }
    }
    print("\ntasks in the plan  coordinator MiB, 10 connections")?;
    for plan in GROWING {
        let measured = measure(&args, plan, 10, false).await?;
        print(format!("{:>17}  {:>15}", measured.plan_tasks, mib(measured.memory_mib)))?;
    }
    print("")?;
    overhead::run(&args.overhead).await
}

#[derive(Clone)]
struct Measured {
    plan_tasks: u64,
    tasks_per_second: f64,
    results_per_second: f64,
    memory_mib: Option<f64>,
}

impl Measured {
    /// The median of each figure. There must be at least one turn.
    fn median(turns: &[Measured]) -> Measured {
        let median = |figure: fn(&Measured) -> f64| {
            let mut figures: Vec<f64> = turns.iter().map(figure).collect();
            figures.sort_by(f64::total_cmp);
            figures[figures.len() / 2]
        };
        let memory_mib = median(|turn| turn.memory_mib.unwrap_or(f64::NAN));
        Measured {
            plan_tasks: turns[0].plan_tasks,
            tasks_per_second: median(|turn| turn.tasks_per_second),
            results_per_second: median(|turn| turn.results_per_second),
            memory_mib: (!memory_mib.is_nan()).then_some(memory_mib),
        }
    }
}

async fn measure(
    args: &FarmBenchArgs,
    (n, rows): (u32, u32),
    connections: u64,
    tls: bool,
) -> Result<Measured> {
    let coordinator = Coordinator::start(&args.folder, tls).await?;
    let plan_tasks = submit(&coordinator, n, rows).await?;
    let booked = Arc::new(Booked::default());
    let credit = (65_536 / connections).max(256);
    let mut workers: Vec<_> = (0..connections)
        .map(|_| {
            let endpoint = coordinator.endpoint.clone();
            tokio::spawn(idle(endpoint, credit, args.tasks_per_result, booked.clone()))
        })
        .collect();

    // All connections are made first; then the farm has a second to reach full speed.
    while booked.welcomes.load(Ordering::Relaxed) < connections {
        if let Some(ended) = workers.iter().position(|worker| worker.is_finished()) {
            workers.swap_remove(ended).await??;
            return Err(anyhow::anyhow!("a worker's session ended early"));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;

    let before = read(&booked);
    let begun = Instant::now();
    tokio::time::sleep(Duration::from_secs(args.seconds)).await;
    let after = read(&booked);
    let seconds = begun.elapsed().as_secs_f64();
    let memory_mib = coordinator.memory_mib();
    workers.iter().for_each(tokio::task::JoinHandle::abort);
    Ok(Measured {
        plan_tasks,
        tasks_per_second: (after.0 - before.0) as f64 / seconds,
        results_per_second: (after.1 - before.1) as f64 / seconds,
        memory_mib,
    })
}

/// Numbers of tasks and ranges that were acknowledged so far.
fn read(booked: &Booked) -> (u64, u64) {
    (booked.tasks.load(Ordering::Relaxed), booked.ranges.load(Ordering::Relaxed))
}

async fn submit(coordinator: &Coordinator, n: u32, rows: u32) -> Result<u64> {
    let mut jobs = JobsServiceClient::new(coordinator.endpoint.connect().await?);
    let request = v1::SubmitRequest {
        problem: Some(Problem::Total { n }.into()),
        method: Some(v1::submit_request::Method::Rows(v1::RowsRequest { rows: Some(rows) })),
        priority: 0,
        audit: None,
    };
    let answer = jobs.submit(request).await?;
    let plan = answer.into_inner().job.and_then(|job| job.plan);
    Ok(plan.ok_or_else(|| anyhow::anyhow!("the coordinator made no plan"))?.tasks)
}

fn mib(memory: Option<f64>) -> String {
    memory.map_or_else(|| "unknown".into(), |mib| format!("{mib:.1}"))
}
