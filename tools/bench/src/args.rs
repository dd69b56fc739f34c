//! Arguments that several benchmarks share: the method and the backend.

use std::num::NonZero;

use anyhow::{Context, Result};
use board::{Method, MethodChoice, Problem};
use bytesize::ByteSize;
use clap::Args;
use count::Backend;
use executor::allowed_memory;

/// How the board is cut into tasks.
#[derive(Debug, Args)]
pub(crate) struct CutArgs {
    /// The method: rows, ring or halves [default: what suits N]
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// The rows that a task of `rows` has placed, or the width of `ring` [default: what suits N]
    #[arg(long, value_name = "NUMBER", requires = "method")]
    parameter: Option<u32>,
}

impl CutArgs {
    /// The method for a board.
    pub(crate) fn method(&self, problem: Problem) -> Result<Method> {
        let choice = match (self.method.as_deref(), self.parameter) {
            (None, _) => MethodChoice::suggested(problem),
            (Some("rows"), rows) => MethodChoice::Rows { rows },
            (Some("ring"), width) => MethodChoice::Ring { width },
            (Some(name), parameter) => {
                let method = Method::from_name(name, parameter);
                method.with_context(|| format!("there is no method {name} with this parameter"))?;
                MethodChoice::Halves
            }
        };
        Ok(choice.for_problem(problem))
    }
}

/// The backend to count with.
#[derive(Debug, Args)]
pub(crate) struct CountingArgs {
    /// Counting threads [default: one for each processor that this process may use]
    #[arg(long, value_name = "T")]
    threads: Option<NonZero<usize>>,
    /// Counting loop [default: the fastest that this processor has]
    #[arg(long, value_name = "NAME", value_parser = available_backend)]
    backend: Option<Backend>,
    /// The most memory that counting may take, as in 500MiB or 2GiB [default: half of what this
    /// process may use]
    #[arg(long, value_name = "SIZE")]
    memory: Option<ByteSize>,
}

impl CountingArgs {
    pub(crate) fn threads(&self) -> NonZero<usize> {
        let all = || std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
        self.threads.unwrap_or_else(all)
    }

    pub(crate) fn backend(&self) -> Backend {
        self.backend.unwrap_or_else(Backend::detect)
    }

    /// Bytes of memory that counting may take.
    pub(crate) fn memory(&self) -> u64 {
        bytes(self.memory)
    }
}

/// The memory that was asked for, or the default budget, in bytes.
pub(crate) fn bytes(memory: Option<ByteSize>) -> u64 {
    memory.map_or_else(|| allowed_memory() / 2, |memory| memory.as_u64())
}

/// Reads the name of a backend that this processor has.
pub(crate) fn available_backend(name: &str) -> Result<Backend> {
    Ok(name.parse::<Backend>()?.require()?)
}
