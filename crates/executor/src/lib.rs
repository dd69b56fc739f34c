//! Counts ranges of a plan on this machine.
//!
//! This crate knows threads and kernels. It feeds tasks to one kernel per thread ([`Executor`]), on
//! the processor or on [`Devices`]. It names what counted them ([`NamedKernel`], [`provenance()`]),
//! estimates a plan from a sample ([`Effort`]), and reads how many processors this process may use
//! ([`allowed_processors`]). Its threads are started by [`count::pool`]. It deliberately knows
//! nothing about sessions, ledgers, the network or the command line.
#![cfg_attr(unix, forbid(unsafe_code))]

mod allowed;
mod device_sample;
mod devices;
mod estimate;
mod executor;
mod kernel;
mod provenance;
mod queue;
mod stopwatch;

pub use allowed::allowed_processors;
pub use device_sample::DeviceSample;
pub use devices::{Devices, LEAST_WORTHWHILE};
pub use estimate::{Effort, Estimate, Estimated};
pub use executor::Executor;
pub use gpu::{
    Device, DeviceChoice, DeviceError, Error as CountingError, MissingDevice,
    SelfTestError as DeviceSelfTestError,
};
pub use kernel::NamedKernel;
pub use provenance::{Program, clock_mhz, host_name, provenance};
pub use stopwatch::Stopwatch;

/// The version of this program. The evidence of a count has more: [`provenance()`].
pub const BUILD: &str = env!("CARGO_PKG_VERSION");
