//! Benchmarks of the farm and of every counting loop, for people who change them.
//!
//! ```text
//! cargo run --release -p bench -- methods      every method and counting loop on one core, in turns
//! cargo run --release -p bench -- farm         throughput of a coordinator, and overhead of the farm on a laptop
//! cargo run --release -p bench -- threads      speed-up by further threads
//! cargo run --release -p bench -- speedup      speed-up by further worker processes, by the rows that tasks have placed
//! cargo run --release -p bench -- ledger       what a ledger takes on disk, and how soon it is served again
//! cargo run --release -p bench -- connections  very many workers at once, over TLS
//! cargo run --release -p bench -- page         what viewers of the live page cost the farm
//! cargo run --release -p bench -- eta          how right the time left is that a count is said to take
//! cargo run --release -p bench -- restarts     what is counted again when the coordinator is killed
//! cargo run --release -p bench -- bundle       what a bundle of ten million rows takes to write and to check
//! ```
#![forbid(unsafe_code)]

mod args;
mod bare;
mod bundle;
mod connections;
mod coordinator;
mod crowd;
mod eta;
mod farm;
mod fleet;
mod idle_worker;
mod ledgers;
mod local_farm;
mod methods;
mod overhead;
mod page;
mod plot;
mod process;
mod restarts;
mod sample;
mod speedup;
mod threads;

use std::fmt::Display;
use std::io::Write;

use anyhow::Result;
use clap::{Parser, Subcommand};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Measures the farm and every counting loop.
#[derive(Debug, Parser)]
#[command(name = "bench", version)]
struct Cli {
    #[command(subcommand)]
    command: BenchCommand,
}

/// The measurements.
#[derive(Debug, Subcommand)]
enum BenchCommand {
    /// The farm itself: tasks and durable results a second under workers that count nothing, the
    /// coordinator's memory, and what `queens count` costs over the bare counting loop
    Farm(farm::FarmBenchArgs),
    /// Very many workers at once, over TLS: how soon their reports are acknowledged, and the coordinator's memory
    Connections(connections::ConnectionsArgs),
    /// What viewers of the live page cost the farm: durable results a second without and with them, in turns
    Page(page::PageBenchArgs),
    /// What a ledger takes on disk, and how soon a coordinator serves again with it
    Ledger(ledgers::LedgerBenchArgs),
    /// Every method and counting loop on one core, side by side
    Methods(methods::MethodsBenchArgs),
    /// What a bundle of many rows takes to write and to check: time, memory, bytes
    Bundle(bundle::BundleArgs),
    /// How right the time left is that a count is said to take, alone and with workers that come and go
    Eta(eta::EtaArgs),
    /// What is counted again when the coordinator is killed at intervals
    Restarts(restarts::RestartsArgs),
    /// A board by one thread and by several, side by side
    Threads(threads::ThreadsBenchArgs),
    /// A farm of one worker process and of several, by the number of rows that tasks have placed: speed-up,
    /// efficiency and the largest task's share
    Speedup(speedup::SpeedupBenchArgs),
    /// One line of `methods`, in a process of its own
    #[command(hide = true)]
    Sample(methods::SampleArgs),
    /// Some of the workers of `connections`, in a process of their own
    #[command(hide = true)]
    Crowd(connections::CrowdArgs),
    /// The viewers of `page`, in a process of their own
    #[command(hide = true)]
    Look(page::LookArgs),
    /// A worker of `speedup`, in a process of its own
    #[command(hide = true)]
    SpeedupWorker(speedup::SpeedupWorkerArgs),
    /// The coordinator of `farm` and `speedup`, in a process of its own
    #[command(hide = true)]
    Coordinator(coordinator::CoordinatorArgs),
}

#[tokio::main]
async fn main() -> Result<()> {
    // Each connection is an open file. If the limit cannot be raised, further connections wait.
    let most = getrlimit(Resource::Nofile).maximum;
    let _ = setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most });
    match Cli::parse().command {
        BenchCommand::Farm(args) => farm::run(args).await,
        BenchCommand::Connections(args) => connections::run(args).await,
        BenchCommand::Crowd(args) => connections::serve(args).await,
        BenchCommand::Page(args) => page::run(args).await,
        BenchCommand::Look(args) => page::look(args).await,
        BenchCommand::Eta(args) => eta::run(args).await,
        BenchCommand::Bundle(args) => bundle::run(&args),
        BenchCommand::Ledger(args) => ledgers::run(&args),
        BenchCommand::Methods(args) => methods::run(args),
        BenchCommand::Restarts(args) => restarts::run(args).await,
        BenchCommand::Threads(args) => threads::run(&args),
        BenchCommand::Speedup(args) => speedup::run(args).await,
        BenchCommand::SpeedupWorker(args) => speedup::serve(args).await,
        BenchCommand::Sample(args) => methods::serve(&args),
        BenchCommand::Coordinator(args) => coordinator::run(args).await,
    }
}

/// Prints a line without buffering, so that each result appears at once.
fn print(line: impl Display) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
