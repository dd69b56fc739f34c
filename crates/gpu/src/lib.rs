//! Counts splits of a board on a graphics processor: the method `halves`, from a split's columns to
//! its sum.
//!
//! This crate knows the kernels' text, devices and their memory, and two drivers. The drivers are
//! loaded at run time, so a program with this crate also runs on machines without a device. It
//! deliberately knows nothing of plans, ranges, leases and threads.
//!
//! ```text
//!   host                                        device
//!   splits and their shares        --->         list half-boards
//!   codes, by samples of the lists <---  --->   sort half-boards by the codes, join the lists
//!   sums                           <---
//! ```
//!
//! Each [`Counter`] has a queue of its own. Two counters on two threads keep a device busy: while
//! one waits for the device, the other chooses codes.
//!
//! The counts are exactly those of `queens-count` for each task. Each join is counted in 64 bits,
//! and no 32-bit counter of a kernel can overflow (see `kernels.c`).

mod batch;
mod by_size;
mod counter;
mod device;
#[allow(unsafe_code)]
mod driver;
mod job;
mod self_test;
#[cfg(unix)]
#[allow(unsafe_code)]
mod signals;

pub use counter::{Counter, Error};
pub use device::{Device, DeviceChoice, Driver, MissingDevice, UnknownDevice};
pub use driver::DeviceError;
pub use self_test::SelfTestError;

/// The kernels' text, for OpenCL C 1.2 and for CUDA.
const TEXT: &str = include_str!("kernels.c");

/// The kernels in NVIDIA's intermediate language, compiled by `cargo xtask ptx`. CUDA drivers since
/// version 525 accept them.
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
