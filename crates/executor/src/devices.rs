//! The devices that count for this process, and which threads feed them.
//!
//! Each device has two threads, so that the device works for one of them while the other adds up,
//! and the last groups of one task run beside the first ones of another. Tasks that a device can
//! count are left to these threads, until their devices have failed. All threads count the other
//! tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use board::TaskKind;
use farm::{KernelName, Lease, Plan, Recount};
use gpu::{Counter, Device, DeviceError};

use crate::kernel::device_name;

/// The threads that feed a device.
pub(crate) const THREADS: usize = 2;

/// The smallest board that is worth starting a device for. One core counts a smaller one in a few
/// seconds.
pub const LEAST_WORTHWHILE: u32 = 20;

/// The devices that count.
#[derive(Clone, Debug, Default)]
pub struct Devices {
    devices: Vec<Arc<UsedDevice>>,
    /// Whether the user asked for these devices. They then count boards of every size, and counting
    /// ends if one of them fails.
    pub(crate) are_required: bool,
}

/// A device, and what became of it.
#[derive(Debug)]
pub(crate) struct UsedDevice {
    device: Device,
    is_lost: AtomicBool,
    /// Whether a message has said that a board is too large for the device.
    has_told: AtomicBool,
}

/// A thread's place at a device.
#[derive(Clone, Debug)]
pub(crate) struct Feeder {
    pub(crate) used: Arc<UsedDevice>,
    /// The threads that feed the device, this one included.
    pub(crate) threads: u32,
}

impl Devices {
    /// These devices. If they are required, they count boards of every size, and a failure of one
    /// ends counting.
    pub fn new(devices: Vec<Device>, are_required: bool) -> Devices {
        let used = |device| {
            let (is_lost, has_told) = (AtomicBool::new(false), AtomicBool::new(false));
            Arc::new(UsedDevice { device, is_lost, has_told })
        };
        Devices { devices: devices.into_iter().map(used).collect(), are_required }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }

    /// The devices.
    pub fn iter(&self) -> impl Iterator<Item = &Device> {
        self.devices.iter().map(|used| &used.device)
    }

    /// The devices that have a thread, if there are `threads` threads.
    pub(crate) fn within(mut self, threads: usize) -> Devices {
        self.devices.truncate(threads);
        self
    }

    /// The place at a device of the thread with the number `thread`, if there are `threads`
    /// threads. `None` if this thread feeds no device.
    pub(crate) fn feeder(&self, thread: usize, threads: usize) -> Option<Feeder> {
        let devices = self.devices.len();
        let index = thread.checked_rem(devices)?;
        let used = (thread < THREADS * devices).then(|| self.devices[index].clone())?;
        let threads = if index + devices < threads { THREADS as u32 } else { 1 };
        Some(Feeder { used, threads })
    }

    /// Whether one of the devices counts tasks of this plan.
    pub fn count(&self, plan: Plan) -> bool {
        self.devices.iter().any(|used| self.count_by(used, plan))
    }

    /// Whether this device counts tasks of this plan.
    pub(crate) fn count_by(&self, used: &UsedDevice, plan: Plan) -> bool {
        self.should_count(used, plan) && used.device.boards().contains(&plan.problem.n())
    }

    /// Whether this device counts tasks of this plan, unless the board is too large for it.
    fn should_count(&self, used: &UsedDevice, Plan { problem, method, .. }: Plan) -> bool {
        !used.is_lost()
            && problem.given().is_none()
            && TaskKind::of(problem, method) == Some(TaskKind::Colours)
            && (self.are_required || problem.n() >= LEAST_WORTHWHILE)
    }

    /// Says once that the processor counts a plan because its boards are too large for this device.
    pub(crate) fn tell_if_too_large(&self, used: &UsedDevice, plan: Plan) {
        let n = plan.problem.n();
        if self.should_count(used, plan)
            && let Some(lack) = used.device.lacks(n)
            && !used.has_told.swap(true, Ordering::Relaxed)
        {
            tracing::warn!("the processor counts boards of size {n}: {lack}");
        }
    }

    /// Whether a device should count what is leased: it can, and it has not counted the same tasks
    /// before. If several kernels counted them, a device may have been among these, so no device
    /// counts them again.
    pub(crate) fn take(&self, lease: &Lease) -> bool {
        let is_another = lease.recount.is_none_or(|Recount { unlike, by_reference }| {
            unlike != device_name() && unlike != KernelName::default() && !by_reference
        });
        is_another && self.count(lease.plan)
    }
}

impl UsedDevice {
    /// A counter for tasks of `plan`.
    pub(crate) fn counter(&self, plan: Plan) -> Result<Counter, DeviceError> {
        Counter::new(&self.device, plan.problem.n())
    }

    /// Whether the device has failed.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// Notes that the device has failed: no thread uses it any more.
    pub(crate) fn lose(&self) {
        self.is_lost.store(true, Ordering::Relaxed);
    }
}
