//! Counts small boards on a device, before the device is trusted.

use board::{Method, PlanIndex, Problem, Task};
use count::{Backend, Kernel};
use thiserror::Error;

use crate::counter::Counter;
use crate::device::Device;
use crate::driver::DeviceError;

/// The sizes of the boards of the self-test, and how many of their tasks are counted: all of a
/// small board, and some of a board whose pipelines have all lengths.
const BOARDS: [(u32, u64); 2] = [(10, u64::MAX), (16, 12)];

/// The reason why a device must not be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SelfTestError {
    /// The device fails, so that there is no count.
    #[error(transparent)]
    Failed(#[from] crate::Error),
    /// The device counts something else than the reference.
    #[error(
        "{device} miscounts boards of size {n}: use another device, or a processor's backend, and report this"
    )]
    Miscount {
        /// The device, as it is listed.
        device: String,
        /// The size of the board.
        n: u32,
    },
}

impl From<DeviceError> for SelfTestError {
    fn from(error: DeviceError) -> SelfTestError {
        SelfTestError::Failed(error.into())
    }
}

impl Device {
    /// Counts a small board on the device, and some tasks of a larger one.
    ///
    /// # Errors
    ///
    /// [`SelfTestError`] if the device fails, or if its count differs from the reference.
    pub fn self_test(&self) -> Result<(), SelfTestError> {
        #[cfg(unix)]
        let _handlers = crate::signals::KeptHandlers::keep();
        let method = Method::Colours;
        for (n, most) in BOARDS {
            let index = PlanIndex::new(Problem::Total { n }, method);
            let index = index.expect("the method cuts this board");
            let apart = index.len().div_ceil(most) as usize;
            let all = index.tasks(0..index.len()).expect("it is the whole plan");
            let tasks: Vec<Task> = all.into_iter().step_by(apart).collect();
            let (mut found, mut expected) = (Vec::new(), Vec::new());
            Counter::new(self, n)?.count_each(&tasks, |count| found.push(count))?;
            let kernel = Kernel::new(Backend::Reference, n, method);
            let mut kernel = kernel.expect("every processor has the reference");
            kernel.count_each(&tasks, |count| expected.push(count)).map_err(crate::Error::from)?;
            if found != expected {
                return Err(SelfTestError::Miscount { device: self.to_string(), n });
            }
        }
        Ok(())
    }
}
