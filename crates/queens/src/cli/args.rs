//! Options that several commands share: how a problem is cut, and the resources of a count.

use std::num::NonZero;

use board::MethodChoice;
use bytesize::ByteSize;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, ValueEnum};
use count::Backend;
use executor::usual_memory;

use super::local_methods::LocalMethod;
use crate::failure::Failure;

/// How a problem is cut into tasks.
#[derive(Debug, Args)]
pub(super) struct CutArgs {
    /// How the problem is cut and counted [default: what suits N]
    #[arg(long, value_enum, env = "QUEENS_METHOD")]
    method: Option<MethodName>,
    /// With `rows`: how many rows a task has placed [default: what suits N]
    #[arg(long, value_name = "M", env = "QUEENS_ROWS")]
    rows: Option<u32>,
    /// With `ring`: how many rows and columns on each side a task has filled, 1 or 2 [default: 1, and
    /// 2 from N = 23 on; it makes a thousand times as many tasks]
    #[arg(long, value_name = "W", env = "QUEENS_WIDTH")]
    width: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MethodName {
    /// Place the first M rows, search the rest; mirror images are removed
    Rows,
    /// Fill the outer rows and columns, search the rest; all eight symmetries are removed
    Ring,
    /// List upper and lower half-boards and join them, without visiting solutions; N from 4 on
    Halves,
    /// Keep each distinct state of a row once; `queens count` only, one thread, much memory
    States,
    /// Look for dead and forced lines before each queen; `queens count` only, one thread
    Forced,
    /// Search for one placement of each orbit, for --problem fundamental; `queens count` only, one thread
    Unique,
}

impl CutArgs {
    /// The method, if it is one that makes no tasks.
    pub(super) fn local(&self) -> Result<Option<LocalMethod>, Failure> {
        let method = match self.method {
            Some(MethodName::States) => LocalMethod::States,
            Some(MethodName::Forced) => LocalMethod::Forced,
            Some(MethodName::Unique) => LocalMethod::Unique,
            None | Some(MethodName::Rows | MethodName::Ring | MethodName::Halves) => {
                return Ok(None);
            }
        };
        if self.rows.is_some() || self.width.is_some() {
            return Err(method.refuses("neither rows nor width", "--rows and --width"));
        }
        Ok(Some(method))
    }

    /// What is said on the command line decides: a variable of the environment that does not fit it
    /// is passed over. Among variables, QUEENS_METHOD decides.
    pub(super) fn prefer_words(&mut self, matches: &ArgMatches) {
        let said = |id| matches.value_source(id) == Some(ValueSource::CommandLine);
        let (method, rows, width) = (said("method"), said("rows"), said("width"));
        if !method && (rows || width) {
            self.method = None;
        }
        if !rows && (self.method.is_some_and(|name| name != MethodName::Rows) || width) {
            self.rows = None;
        }
        if !width && (self.method.is_some_and(|name| name != MethodName::Ring) || rows) {
            self.width = None;
        }
    }

    /// What was asked for, if anything was.
    pub(super) fn choice(&self) -> Result<Option<MethodChoice>, Failure> {
        match *self {
            CutArgs { method: None, rows: None, width: None } => Ok(None),
            CutArgs { method: None | Some(MethodName::Rows), rows, width: None } => {
                Ok(Some(MethodChoice::Rows { rows }))
            }
            CutArgs { method: None | Some(MethodName::Ring), rows: None, width } => {
                Ok(Some(MethodChoice::Ring { width }))
            }
            CutArgs { method: Some(MethodName::Halves), rows: None, width: None } => {
                Ok(Some(MethodChoice::Halves))
            }
            CutArgs { method: Some(MethodName::States), .. } => {
                Err(LocalMethod::States.not_on_a_farm())
            }
            CutArgs { method: Some(MethodName::Forced), .. } => {
                Err(LocalMethod::Forced.not_on_a_farm())
            }
            CutArgs { method: Some(MethodName::Unique), .. } => {
                Err(LocalMethod::Unique.not_on_a_farm())
            }
            CutArgs { method: Some(MethodName::Halves), .. } => Err(Failure::Usage(
                "--method halves has neither rows nor width: leave out --rows and --width".into(),
            )),
            CutArgs { method: Some(MethodName::Rows), .. } => {
                Err(Failure::Usage("--method rows has no width: leave out --width".into()))
            }
            CutArgs { method: Some(MethodName::Ring), .. } => {
                Err(Failure::Usage("--method ring places no rows: leave out --rows".into()))
            }
            CutArgs { method: None, .. } => Err(Failure::Usage(
                "--rows (QUEENS_ROWS) is of the method rows and --width (QUEENS_WIDTH) of ring: give one".into(),
            )),
        }
    }
}

/// With what to count.
#[derive(Debug, Args)]
pub(super) struct CountingArgs {
    /// Counting threads [default: one for each processor that this process may use]
    #[arg(long, value_name = "T", env = "QUEENS_THREADS")]
    threads: Option<NonZero<usize>>,
    /// Counting loop: reference, portable, avx2 or avx512 [default: the fastest that this processor
    /// has, the last that `queens bench --list` shows]
    #[arg(long, value_name = "NAME", env = "QUEENS_BACKEND", value_parser = available_backend)]
    backend: Option<Backend>,
    /// The most memory that counting may take, all threads and jobs together, as in 500MiB or 2GiB
    /// [default: half of what the machine or the container has]
    #[arg(long, value_name = "SIZE", env = "QUEENS_MEMORY")]
    memory: Option<ByteSize>,
}

impl CountingArgs {
    pub(super) fn threads(&self) -> NonZero<usize> {
        const MOST: NonZero<usize> = NonZero::new(4096).unwrap();
        let all = || std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
        self.threads.unwrap_or_else(all).min(MOST)
    }

    pub(super) fn backend(&self) -> Backend {
        self.backend.unwrap_or_else(Backend::detect)
    }

    /// The same, once it has counted a small board right.
    pub(super) fn tested_backend(&self) -> Result<Backend, Failure> {
        let backend = self.backend();
        count::self_test(backend)?;
        Ok(backend)
    }

    /// Bytes.
    pub(super) fn memory(&self) -> u64 {
        self.memory.map_or_else(usual_memory, |memory| memory.as_u64())
    }
}

/// Reads the name of a backend that this processor has.
pub(super) fn available_backend(name: &str) -> anyhow::Result<Backend> {
    Ok(name.parse::<Backend>()?.require()?)
}
