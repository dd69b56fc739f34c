//! `queens bench`: figures that anyone can measure again.

mod farm;
mod kernels;

use clap::Subcommand;

use crate::failure::Failure;

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// The farm without counting: tasks and durable results a second, memory, and overhead
    Farm(farm::FarmBenchArgs),
    /// The counting loops on one core, side by side
    Kernels(kernels::KernelsBenchArgs),
}

impl BenchCommand {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        match self {
            BenchCommand::Farm(args) => farm::run(args).await,
            BenchCommand::Kernels(args) => kernels::run(args),
        }
    }
}
