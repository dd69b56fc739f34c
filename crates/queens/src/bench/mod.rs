//! `queens bench`: figures that anyone can measure again.

mod bare;
mod farm;
mod idle_worker;
mod kernels;
mod overhead;
mod process;
mod sample;
mod threads;

use clap::Subcommand;

use crate::failure::Failure;

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// The farm itself: tasks and durable results a second under workers that count nothing, the
    /// coordinator's memory, and what `queens count` costs over the bare counting loop
    Farm(farm::FarmBenchArgs),
    /// The counting loops and methods on one core, side by side
    Kernels(kernels::KernelsBenchArgs),
    /// A whole board by one thread and by several, side by side
    Threads(threads::ThreadsBenchArgs),
}

impl BenchCommand {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        match self {
            BenchCommand::Farm(args) => farm::run(args).await,
            BenchCommand::Kernels(args) => kernels::run(args),
            BenchCommand::Threads(args) => threads::run(&args),
        }
    }
}
