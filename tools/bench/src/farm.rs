//! Measures the farm itself: one coordinator with a durable ledger, and workers that do not count.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::Args;
use service::api::Submit;

use super::idle_worker::{Booked, idle};
use super::process::Coordinator;
use anyhow::Result;

use crate::print;

/// The plan that is counted: 57,963,320 tasks.
const PLAN: (u32, u32) = (25, 6);
/// Plans of growing length, for the coordinator's memory: from 10^4 to more than 10^8 tasks.
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
    /// Measure each row over TLS too, after plain text
    #[arg(long)]
    tls: bool,
    /// How long each row is measured, seconds
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// The folder of the temporary ledgers, on the disk that is measured
    #[arg(long, default_value = ".", value_name = "FOLDER")]
    folder: PathBuf,
}

pub(crate) async fn run(args: FarmBenchArgs) -> Result<()> {
    print("connections  over          tasks/s  durable results/s  coordinator MiB")?;
    for &connections in &args.connections {
        let plain = measure(&args, PLAN, connections, false).await?;
        print_row(connections, "plain text", &plain)?;
        if args.tls {
            print_row(connections, "TLS", &measure(&args, PLAN, connections, true).await?)?;
        }
    }
    print("\ntasks in the plan  coordinator MiB, 10 connections")?;
    for plan in GROWING {
        let measured = measure(&args, plan, 10, false).await?;
        print(format!("{:>17}  {:>15}", measured.plan_tasks, mib(measured.memory_mib)))?;
    }
    Ok(())
}

struct Measured {
    plan_tasks: u64,
    tasks_per_second: f64,
    results_per_second: f64,
    memory_mib: Option<f64>,
}

fn print_row(connections: u64, over: &str, measured: &Measured) -> Result<()> {
    print(format!(
        "{connections:>11}  {over:<10}  {:>9.0}  {:>17.0}  {:>15}",
        measured.tasks_per_second,
        measured.results_per_second,
        mib(measured.memory_mib)
    ))
}

async fn measure(
    args: &FarmBenchArgs,
    (n, rows): (u32, u32),
    connections: u64,
    tls: bool,
) -> Result<Measured> {
    let coordinator = Coordinator::start(&args.folder, tls).await?;
    let submit = Submit { n, method: Some("rows".into()), rows: Some(rows), ..Submit::default() };
    let plan_tasks = coordinator.submit(&submit).await?.spec.plan.tasks;
    let booked = Arc::new(Booked::default());
    let credit = (65_536 / connections).max(256);
    let mut workers: Vec<_> = (0..connections)
        .map(|_| {
            let endpoint = coordinator.endpoint.clone();
            tokio::spawn(idle(endpoint, credit, args.tasks_per_result, booked.clone()))
        })
        .collect();

    // All connections are made first. Then the farm has a second to reach full speed.
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
        tasks_per_second: (after[0] - before[0]) as f64 / seconds,
        results_per_second: (after[1] - before[1]) as f64 / seconds,
        memory_mib,
    })
}

/// The numbers of tasks and of ranges that were acknowledged so far.
fn read(booked: &Booked) -> [u64; 2] {
    [&booked.tasks, &booked.ranges].map(|booked| booked.load(Ordering::Relaxed))
}

fn mib(memory: Option<f64>) -> String {
    memory.map_or_else(|| "unknown".into(), |mib| format!("{mib:.1}"))
}
