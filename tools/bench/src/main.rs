//! Benchmarks of the farm and of every counting loop, for people who change them.
//!
//! ```text
//! cargo run --release -p bench -- methods      every method and counting loop on one core, in turns
//! cargo run --release -p bench -- farm         throughput of a coordinator, and overhead of the farm on a laptop
//! cargo run --release -p bench -- connections  very many workers at once, over TLS
//! cargo run --release -p bench -- bundle       what a bundle of ten million rows takes to write and to check
//! ```
#![forbid(unsafe_code)]

mod args;
mod bare;
mod bundle;
mod connections;
mod coordinator;
mod crowd;
mod farm;
mod idle_worker;
mod methods;
mod overhead;
mod process;
mod sample;

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
    /// Every method and counting loop on one core, side by side
    Methods(methods::MethodsBenchArgs),
    /// What a bundle of many rows takes to write and to check: time, memory, bytes
    Bundle(bundle::BundleArgs),
    /// One line of `methods`, in a process of its own
    #[command(hide = true)]
    Sample(methods::SampleArgs),
    /// Some of the workers of `connections`, in a process of their own
    #[command(hide = true)]
    Crowd(connections::CrowdArgs),
    /// The coordinator of `farm` and `connections`, in a process of its own
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
        BenchCommand::Bundle(args) => bundle::run(&args),
        BenchCommand::Methods(args) => methods::run(args),
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
