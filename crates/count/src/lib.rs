//! How a task is counted: the kernels, and which of them this processor runs.
//!
//! A kernel is a function from tasks to a number, and that is all this crate knows. It deliberately
//! knows nothing of plans, ranges, leases or threads (`farm` and `queens` do): the caller makes one
//! [`Kernel`] per thread and hands it blocks of tasks. It does no I/O.
//!
//! ```text
//!   Backend::detect()  --new-->  Kernel  --count(tasks)-->  sum of weight x completions, or an error
//! ```
//!
//! Two methods search. They say what is left below a task (`ground`): the rows below a prefix, or the
//! inner rows between the queens of a `ring`. Each backend searches any ground, in a file of its own:
//!
//! ```text
//!   reference    the recursion                    portable     level buffers, scalar
//!   levels       level buffers in vectors, of which  avx2  and  avx512  are the instructions
//! ```
//!
//! The third, `halves`, lists and joins, and has the same backends in a folder of its own. All of them
//! count alike: the tests hold each against [`Backend::Reference`], which reads like the definition.
//!
//! What one [`Variant`] has counted another one can check: the tasks' mirror images by another backend,
//! or for `halves` a join in other instructions or a search (`split_search`).
//!
//! # Unsafe code
//!
//! It is denied but in the files of instruction sets, and there it is of two kinds. A vector is
//! loaded from or stored to a slice of its length. And an entry into code for an instruction set is
//! called by a method of a type that exists only where the processor has these instructions: its
//! constructor returns `None` elsewhere.

#![deny(unsafe_code)]

mod answer;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx512;
mod backend;
mod counting;
mod engine;
mod first_rows;
mod ground;
mod halves;
mod kernel;
#[cfg(target_arch = "x86_64")]
mod levels;
mod portable;
mod reference;
mod ring;
pub mod rotations;
mod self_test;
mod split_search;
mod task;
mod variant;

pub use answer::{Answer, AnswerError, Answering};
pub use backend::{Backend, MissingBackend, UnknownBackend};
pub use board;
pub use counting::{
    Counting, CountingError, Progress, completions, fundamental, superqueens, toroidal, total,
};
pub use kernel::{CountError, Kernel, KernelError, MemoryNeed, memory_needed};
pub use self_test::{SelfTestError, self_test};
pub use variant::{UnknownVariant, Variant};
