//! Benchmarks of the farm, for its developers. `queens bench` measures the counting loops.
//!
//! ```text
//! cargo build --release
//! cargo run --release -p bench -- farm    throughput of `queens coordinator`, and its memory
//! cargo run --release -p bench -- api     requests of clients, streams of events, the live page
//! ```
#![forbid(unsafe_code)]

mod api;
mod farm;
mod idle_worker;
mod process;

use std::fmt::Display;
use std::io::Write;

use anyhow::Result;
use clap::{Parser, Subcommand};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Measures the farm.
#[derive(Debug, Parser)]
#[command(name = "bench", version)]
struct Cli {
    #[command(subcommand)]
    command: BenchCommand,
}

/// The measurements.
#[derive(Debug, Subcommand)]
enum BenchCommand {
    /// Tasks and durable results a second under workers that count nothing, and the coordinator's
    /// memory
    Farm(farm::FarmBenchArgs),
    /// Requests a second, memory of streams of events, a small job from the command to its total,
    /// and what readers of the page are sent
    Api(api::ApiBenchArgs),
}

#[tokio::main]
async fn main() -> Result<()> {
    // Each connection is an open file. If the limit cannot be raised, further connections wait.
    let most = getrlimit(Resource::Nofile).maximum;
    let _ = setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most });
    match Cli::parse().command {
        BenchCommand::Farm(args) => farm::run(args).await,
        BenchCommand::Api(args) => api::run(args).await,
    }
}

/// Prints a line without buffering, so that each result appears immediately.
fn print(line: impl Display) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
