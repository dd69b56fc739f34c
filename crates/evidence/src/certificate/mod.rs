//! Certificates: the subtotals of all tasks of a board, of which anybody can have some counted again.
//!
//! docs/CERTIFICATES.md says what that proves and specifies the file. A certificate has no author and no time, so there
//! is one right certificate of a board, and whoever counts right writes the same bytes.
//!
//! ```text
//!   write     counts all subtotals of a part of the tasks, and goes on where it was stopped
//!   join      makes one certificate of the parts
//!   read      checks that the numbers go together, and finds the name
//!   open      draws a class of each task by a value that was not known before the name, and counts it again
//! ```

mod form;
mod join;
mod open;
mod read;
mod threads;
mod write;

use std::io;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use blake3::Hash;
use board::{Cut, CutError, Method, Prefix, Problem, Tasks};
use count::{Backend, CountError, KernelError};
use executor::{Fit, TooLittleMemory, fit_needs};
use farm::{Plan, Slice};

pub use join::join;
pub use open::{Opened, Opening, open};
pub use read::read;
pub use write::write;

/// The tasks that a certificate is about: a part of those of a board by `halves`.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The board and its tasks.
    pub plan: Plan,
    /// The part of the tasks.
    pub slice: Slice,
    cut: Arc<Cut>,
}

/// A certificate whose numbers go together.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// What it is about.
    pub scope: Scope,
    /// The sum of all subtotals.
    pub total: u128,
    /// Its name: the Merkle root over all lines but the last.
    pub name: Hash,
}

/// The resources of counting.
#[derive(Clone, Copy, Debug)]
pub struct CertificateEffort {
    /// Number of counting threads.
    pub threads: NonZero<usize>,
    /// What counts.
    pub backend: Backend,
    /// Bytes of memory that all threads together may take.
    pub memory: u64,
}

/// How far the work is, for whoever looks on, and a flag that ends it.
#[derive(Debug, Default)]
pub struct Course {
    done: AtomicU64,
    of: AtomicU64,
    is_stopped: AtomicBool,
}

/// Why there is no certificate, or none that holds.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The file contradicts itself or what is known, or its counts differ from those of this machine.
    #[error("the certificate {} does not hold: {reason}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file has only the first tasks so far.
    #[error("the certificate {} has {done} of {tasks} tasks", path.display())]
    Unfinished {
        /// The file.
        path: PathBuf,
        /// The number of tasks that it has.
        done: u64,
        /// The number of tasks that it is about.
        tasks: u64,
    },
    /// The file is about something else.
    #[error("{} is about {holds}, not {wanted}", path.display())]
    Another {
        /// The file.
        path: PathBuf,
        /// What it is about.
        holds: String,
        /// What was wanted.
        wanted: String,
    },
    /// Two files are about the same part.
    #[error("{} and {} are both about part {slice}", paths[0].display(), paths[1].display())]
    Twice {
        /// The files.
        paths: [PathBuf; 2],
        /// The part.
        slice: Slice,
    },
    /// Parts are missing.
    #[error("{}", are_missing(*first, *others))]
    Missing {
        /// The first of them.
        first: Slice,
        /// The number of all others.
        others: usize,
    },
    /// Another process writes the file.
    #[error("another process writes {}", .0.display())]
    Busy(PathBuf),
    /// The total contradicts what is known.
    #[error("{0}")]
    Held(String),
    /// It was asked to stop.
    #[error("stopped after {done} of {tasks} tasks")]
    Stopped {
        /// The number of tasks that were counted, those of earlier runs included.
        done: u64,
        /// The number of all tasks.
        tasks: u64,
    },
    /// The file cannot be read.
    #[error("cannot read the certificate {} ({error})", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write the certificate {} ({error})", path.display())]
    Unwritten {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The board cannot be cut by `halves`.
    #[error(transparent)]
    Cut(#[from] CutError),
    /// The memory is too small for even one thread.
    #[error(transparent)]
    Memory(#[from] TooLittleMemory),
    /// This processor cannot count so.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A task cannot be counted.
    #[error(transparent)]
    Count(#[from] CountError),
}

fn are_missing(first: Slice, others: usize) -> String {
    match others {
        0 => format!("part {first} is missing"),
        1 => format!("part {first} and another one are missing"),
        _ => format!("part {first} and {others} others are missing"),
    }
}

impl Scope {
    /// A part of the tasks of the board of size `n`.
    ///
    /// # Errors
    ///
    /// [`CutError`], if `halves` does not cut such a board.
    pub fn new(n: u32, slice: Slice) -> Result<Scope, CutError> {
        let (problem, method) = (Problem::Total { n }, Method::Halves);
        let cut = Cut::new(problem, method)?;
        let plan = Plan { problem, method, tasks: cut.len() };
        Ok(Scope { plan, slice, cut: Arc::new(cut) })
    }

    /// The number of its tasks.
    #[must_use]
    pub fn tasks(&self) -> u64 {
        self.slice.ordinals(self.plan.tasks).len()
    }

    /// The board size.
    fn n(&self) -> u32 {
        self.plan.problem.n()
    }

    /// The ordinals of its tasks, in ascending order.
    fn ordinals(&self) -> impl Iterator<Item = u64> + Send + use<> {
        let ranges: Vec<_> = self.slice.ordinals(self.plan.tasks).iter().collect();
        ranges.into_iter().flat_map(|range| range.start()..range.end())
    }

    /// The task with this ordinal, and its weight.
    fn task(&self, ordinal: u64) -> (Prefix, u8) {
        let mut task = Tasks::new();
        self.cut.fill(ordinal..ordinal + 1, &mut task).expect("it is a task of the plan");
        task.get(0)
    }

    /// What it is, for people.
    fn name(&self) -> String {
        match self.slice.is_all() {
            true => self.plan.to_string(),
            false => format!("part {} of {}", self.slice, self.plan),
        }
    }
}

impl CertificateEffort {
    /// As many threads as the memory allows.
    fn fit(self, plan: Plan) -> Result<Fit, TooLittleMemory> {
        let need = count::class_memory_needed(plan.problem.n());
        fit_needs(plan, need, self.threads, self.memory)
    }
}

impl Course {
    /// Asks to stop after the tasks that are being counted.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// How many tasks are done, and of how many; 0 of 0 until that is known.
    #[must_use]
    pub fn so_far(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.of.load(Ordering::Relaxed))
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    fn begin(&self, done: u64, of: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.of.store(of, Ordering::Relaxed);
    }

    fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}
