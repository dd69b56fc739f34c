//! `queens bench`: figures that anyone can measure again.

mod farm;

use clap::Subcommand;

use crate::failure::Failure;

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// The farm without counting: tasks and durable results a second, memory, and overhead
    Farm(farm::FarmBenchArgs),
}

impl BenchCommand {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        match self {
            BenchCommand::Farm(args) => farm::run(args).await,
        }
    }
}
