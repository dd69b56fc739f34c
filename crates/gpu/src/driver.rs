//! The interface of a driver: memory, a kernel and a queue. Both drivers are loaded at run time.
//!
//! A queue executes its commands one after the other. All calls but [`read`](Commands::read) return
//! without waiting for them.

pub(crate) mod cuda;
pub(crate) mod opencl;

use thiserror::Error;

use crate::device::{Device, DeviceChoice, Driver, MissingDevice};
use crate::launch::SplitWords;

/// The call that fails if a device has too little memory left.
pub(crate) const ALLOCATING: &str = "allocating memory";

/// A call to a driver that failed. No count results from it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{device}: {call} failed: {reason}")]
pub struct DeviceError {
    /// The device, as it is listed.
    pub device: String,
    /// The call.
    pub call: &'static str,
    /// The reason, according to the driver.
    pub reason: String,
}

/// The name of the kernel in the text.
pub(crate) const KERNEL: &str = "count_split";

/// Memory of a device that a queue has allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffer(pub(crate) usize);

/// An argument of the kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Argument<'a> {
    Buffer(Buffer),
    /// The task, which is copied.
    Split(&'a SplitWords),
}

/// The queue of a device's commands, with the kernel and the memory that it uses.
pub(crate) trait Commands: Send {
    /// Allocates memory with unspecified contents. It is freed with the queue.
    fn allocate(&mut self, bytes: usize) -> Result<Buffer, DeviceError>;

    /// Writes to the start of a buffer.
    fn write(&mut self, to: Buffer, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Fills the start of a buffer with zeros.
    fn clear(&mut self, buffer: Buffer, bytes: usize) -> Result<(), DeviceError>;

    /// Starts `groups` groups of the kernel, each with `shared` bytes for its cells. The arguments
    /// must match the kernel's parameters.
    fn launch(
        &mut self,
        groups: u32,
        shared: u32,
        arguments: &[Argument<'_>],
    ) -> Result<(), DeviceError>;

    /// Waits for all commands, and reads from the start of a buffer.
    fn read(&mut self, from: Buffer, bytes: &mut [u8]) -> Result<(), DeviceError>;
}

impl Device {
    /// All devices of this machine: those of CUDA, and those of OpenCL that CUDA does not have. The
    /// list is empty if no driver is installed, or if the program is linked statically and cannot
    /// load any.
    ///
    /// Loading drivers takes some tenths of a second.
    #[must_use]
    pub fn all() -> Vec<Device> {
        let mut devices = Device::of(Driver::Cuda);
        let by_cuda: Vec<String> = devices.iter().map(|device| device.name.clone()).collect();
        let others = Device::of(Driver::OpenCl).into_iter();
        devices.extend(others.filter(|device| !by_cuda.contains(&device.name)));
        devices
    }

    /// The devices of one driver.
    #[must_use]
    pub fn of(driver: Driver) -> Vec<Device> {
        if cfg!(target_feature = "crt-static") {
            return Vec::new();
        }
        match driver {
            Driver::Cuda => cuda::devices(),
            Driver::OpenCl => opencl::devices(),
        }
    }

    /// Opens a queue of this device.
    pub(crate) fn open(&self) -> Result<Box<dyn Commands>, DeviceError> {
        match self.driver {
            Driver::Cuda => cuda::open(self),
            Driver::OpenCl => opencl::open(self),
        }
    }
}

impl DeviceChoice {
    /// The chosen devices. Without a number, the processor itself is included only if its driver
    /// was chosen and has no other device.
    ///
    /// # Errors
    ///
    /// [`MissingDevice`] if there is none.
    pub fn find(self) -> Result<Vec<Device>, MissingDevice> {
        #[cfg(unix)]
        let _handlers = crate::signals::KeptHandlers::keep();
        self.among(self.driver.map_or_else(Device::all, Device::of))
    }
}
