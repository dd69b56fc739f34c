//! `queens bench`: figures that anyone can measure again.

mod bare;
mod farm;
mod hostile;
pub(crate) mod hostile_worker;
mod idle_worker;
mod methods;
mod overhead;
mod process;
mod sample;
mod threads;

use clap::Subcommand;

use crate::cli::CutArgs;
use crate::failure::Failure;

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// The farm itself: tasks and durable results a second under workers that count nothing, the
    /// coordinator's memory, and what `queens count` costs over the bare counting loop
    Farm(farm::FarmBenchArgs),
    /// What workers who flood the coordinator cost those who work: durable results a second
    /// without and with them, side by side in one process
    Hostile(hostile::HostileBenchArgs),
    /// Every method and counting loop on one core, side by side
    Methods(methods::MethodsBenchArgs),
    /// A board by one thread and by several, side by side
    Threads(threads::ThreadsBenchArgs),
    /// One line of `methods`, in a process of its own
    #[command(hide = true)]
    Sample(methods::SampleArgs),
}

impl BenchCommand {
    /// How it is to cut a problem, where it does.
    pub(crate) fn cut(&mut self) -> Option<&mut CutArgs> {
        match self {
            BenchCommand::Threads(args) => Some(&mut args.cut),
            _ => None,
        }
    }

    pub(crate) async fn run(self) -> Result<(), Failure> {
        match self {
            BenchCommand::Farm(args) => farm::run(args).await,
            BenchCommand::Hostile(args) => hostile::run(args).await,
            BenchCommand::Methods(args) => methods::run(args),
            BenchCommand::Threads(args) => threads::run(&args),
            BenchCommand::Sample(args) => methods::serve(&args),
        }
    }
}
