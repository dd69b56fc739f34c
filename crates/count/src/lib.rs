//! Counts placements of N queens exactly, on all cores of a machine.
//!
//! ```
//! assert_eq!(queens_count::count(12)?, 14_200);
//! # Ok::<(), queens_count::CountingError>(())
//! ```
//!
//! Most programs should begin with the crate `queens`, which has the best of this crate and of
//! `queens-solve`. This crate also has what a farm needs, and changes with the program `queens`.
//!
//! [`count()`] counts a whole problem. [`Counting`] does the same with a chosen backend and
//! number of threads; it reports progress, and a flag stops it. Programs that share the work
//! among machines use [`Kernel`], which counts any range of the tasks that a [`board::PlanIndex`]
//! makes, and start their threads by [`pool`].
//!
//! ```text
//!   Backend::detect()  ---->  Kernel  --count(tasks)-->  sum of weight x completions, or an error
//! ```
//!
//! This crate knows how tasks are counted. It deliberately knows nothing of leases and of other
//! machines, and does no I/O.
//!
//! # How it counts
//!
//! The methods `rows` and `prefixes` search the rows below a task. Each backend searches them:
//!
//! ```text
//!   reference    the recursion
//!   portable     level buffers, in plain Rust
//!   levels       level buffers in vectors, with the instructions of  avx2  or  avx512
//! ```
//!
//! The method `colours` counts the placements of the queens on black and on white squares apart,
//! and multiplies. It has the same backends, and also `neon`. Tests compare every backend with
//! [`Backend::Reference`], which reads like the definition.
//!
//! A count can be checked by another [`Variant`], which counts the mirror images of the same tasks
//! on another backend.
//!
//! # Unsafe code
//!
//! Unsafe code is allowed only in the files of the instruction sets, for two purposes: to load a
//! vector from a slice of its length or store it to one, and to enter code for an instruction set.
//! The latter is a method of a type that exists only if the processor has the instructions, because
//! its constructor returns `None` otherwise.

#![deny(unsafe_code)]
#![warn(missing_debug_implementations)]

mod answer;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx512;
mod backend;
mod colours;
mod counting;
mod engine;
mod first_rows;
mod kernel;
#[cfg(target_arch = "x86_64")]
mod levels;
#[cfg(target_arch = "aarch64")]
mod neon;
pub mod pool;
mod portable;
mod reference;
mod remaining;
pub mod rotations;
mod self_test;
mod stop;
mod task;
mod variant;

pub use answer::{Answer, AnswerError, Answering};
pub use backend::{Backend, MissingBackend, UnknownBackend};
pub use board;
pub use counting::{Counted, Counting, CountingError, Progress, count};
pub use kernel::{CountError, Kernel, KernelError};
pub use self_test::{SelfTestError, self_test};
pub use stop::Stop;
pub use variant::Variant;
