//! Counts ranges of a plan on this machine.
//!
//! This crate knows threads, memory and kernels: it feeds tasks to one kernel per thread ([`Executor`]),
//! names what counted them ([`NamedKernel`], [`provenance()`]), estimates a plan from a sample ([`Effort`]), reads
//! what this process may use ([`allowed_memory`]), divides a memory budget ([`fit`]) and keeps threads on the memory
//! nodes of their tables ([`Node`]). It deliberately knows nothing about sessions, ledgers, the network or the command
//! line.
#![forbid(unsafe_code)]

mod allowed;
mod cgroup;
mod estimate;
mod executor;
mod kernel;
mod memory;
mod nodes;
mod provenance;
mod queue;
mod sample;

pub use allowed::{allowed_memory, allowed_processors, memory_kills};
pub use cgroup::MemoryKills;
pub use estimate::{Effort, Estimate, Estimated, Measured, Source, student};
pub use executor::{Accepted, Executor, Step, Stepper};
pub use kernel::NamedKernel;
pub use memory::{Fit, TooLittleMemory, fit, thread_memory};
pub use nodes::Node;
pub use provenance::{Program, provenance};
pub use sample::{Counted, Sample};

/// The version of this program. The evidence of a count has more: [`provenance()`].
pub const BUILD: &str = env!("CARGO_PKG_VERSION");
