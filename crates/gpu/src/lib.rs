//! Counts splits of a board on a graphics processor: the method `colours`, from a split's rows to
//! its sum.
//!
//! This crate knows the kernel's text, devices and their memory, and two drivers. The drivers are
//! loaded at run time, so a program with this crate also runs on machines without a device. It
//! deliberately knows nothing of plans, ranges, leases and threads.
//!
//! ```text
//!   host                                        device
//!   the rows of both colours       --->         for each set of odd columns of black queens
//!                                                 count   the one colour, in a row of cells
//!                                                 share   the cells
//!   the sum                        <---           sum     the other colour, over the cells
//! ```
//!
//! Each [`Counter`] has a queue of its own. Two counters on two threads keep a device busy: the
//! last groups of one task run beside the first ones of another.
//!
//! The counts are exactly those of `queens-count` for each task: no number of the kernel can
//! overflow (see `kernels.c`).

mod counter;
mod device;
#[allow(unsafe_code)]
mod driver;
mod launch;
mod self_test;
#[cfg(unix)]
#[allow(unsafe_code)]
mod signals;

pub use counter::{Counter, Error};
pub use device::{Device, DeviceChoice, Driver, MissingDevice, UnknownDevice};
pub use driver::DeviceError;
pub use self_test::SelfTestError;

/// The kernel's text, for OpenCL C 1.2 and for CUDA.
const TEXT: &str = include_str!("kernels.c");

/// The kernel in NVIDIA's intermediate language, compiled by `cargo xtask ptx`. CUDA drivers since
/// version 525 accept it.
const PTX: &str = include_str!("kernels.ptx");

#[cfg(test)]
mod tests;
