//! Counts a small board on a device, before the device is trusted.

use board::{Method, PlanIndex, Problem};
use count::{Backend, Kernel};
use thiserror::Error;

use crate::counter::Counter;
use crate::device::Device;
use crate::driver::DeviceError;

/// The size of the board of the self-test. It is large enough to use every kernel.
const SMALL_BOARD: u32 = 10;

const MEMORY_OF_SELF_TEST: u64 = 64 << 20;

/// The reason why a device must not be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SelfTestError {
    /// It does not count.
    #[error(transparent)]
    Failed(#[from] crate::Error),
    /// It miscounts.
    #[error(
        "{0} miscounts boards of size {SMALL_BOARD}: use another device, or a processor's backend, and report this"
    )]
    Miscount(String),
}

impl From<DeviceError> for SelfTestError {
    fn from(error: DeviceError) -> SelfTestError {
        SelfTestError::Failed(error.into())
    }
}

impl Device {
    /// Counts a small board on the device, with every kernel.
    ///
    /// # Errors
    ///
    /// [`SelfTestError`] if the device fails, or if its count differs from the reference.
    pub fn self_test(&self) -> Result<(), SelfTestError> {
        #[cfg(unix)]
        let _handlers = crate::signals::KeptHandlers::keep();
        let (problem, method) = (Problem::Total { n: SMALL_BOARD }, Method::Halves);
        let index = PlanIndex::new(problem, method).expect("the method cuts this board");
        let tasks = index.tasks(0..index.len()).expect("it is the whole plan");
        let (mut found, mut expected) = (Vec::new(), Vec::new());
        let mut counter = Counter::new(self, SMALL_BOARD, MEMORY_OF_SELF_TEST)?;
        counter.count_each(&tasks, |count| found.push(count))?;
        let kernel = Kernel::new(Backend::Reference, SMALL_BOARD, method);
        let mut kernel = kernel.expect("every processor has the reference");
        kernel.count_each(&tasks, |count| expected.push(count)).map_err(crate::Error::from)?;
        if found == expected { Ok(()) } else { Err(SelfTestError::Miscount(self.to_string())) }
    }
}
