//! Counts splits of a board on a graphics processor: the method `halves`, from a split's columns to
//! its sum.
//!
//! This crate knows the kernels' text, devices and their memory, and the two drivers, which it
//! loads at run time: a program with it runs where there is no device as well. It deliberately
//! knows nothing of plans, ranges, leases and threads.
//!
//! ```text
//!   host                                        device
//!   splits and their shares        --->         list half-boards
//!   codes, by samples of the lists <---  --->   sort half-boards by the codes, join the lists
//!   sums                           <---
//! ```
//!
//! A [`Counter`] has a queue of its own. Two of them, on two threads, keep a device busy: while one
//! waits for the device, the other chooses codes.
//!
//! What it counts is the same number as `queens-count` counts for each task, to the last unit: each
//! join is counted in 64 bits, and no counter of 32 bits in a kernel can wrap (see `kernels.c`).

mod batch;
mod by_size;
mod counter;
mod device;
#[allow(unsafe_code)]
mod driver;
mod job;
mod self_test;

pub use counter::{Counter, Error};
pub use device::{Device, DeviceChoice, Driver, MissingDevice, UnknownDevice};
pub use driver::DeviceError;
pub use self_test::SelfTestError;

/// The kernels' text, for OpenCL C 1.2 and for CUDA.
const TEXT: &str = include_str!("kernels.c");

/// `cargo xtask ptx` compiles the kernels for all devices that CUDA's drivers since version 525 know.
const PTX: &str = include_str!("kernels.ptx");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cuda_loads_was_made_from_this_text() {
        let hash = blake3::hash(TEXT.as_bytes()).to_hex();
        let first = PTX.lines().next().expect("it has a line");
        assert_eq!(first, format!("// kernels.c {hash}"), "run `cargo xtask ptx`");
    }

    #[test]
    fn what_cuda_loads_has_every_kernel() {
        for kernel in driver::Kernel::ALL {
            assert!(PTX.contains(&format!(".entry {}(", kernel.name())), "{kernel:?}");
        }
    }
}
