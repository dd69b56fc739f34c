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
//! Each backend has a file of its own, all of them count alike, and the tests hold each against
//! [`Backend::Reference`], which reads like the definition.

#![deny(unsafe_code)]

mod backend;
mod kernel;
mod portable;
mod reference;

pub use backend::{Backend, UnknownBackend};
pub use kernel::{CountError, Kernel};
