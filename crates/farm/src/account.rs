//! What the jobs of an owner have taken, and when it is their turn.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::json::hours;
use crate::{KernelName, Millis};

/// Thread time that counts took, as their workers said and as far as the farm believes it: see
/// `Session::believed_us`. The time of a graphics processor is that of the thread that feeds it.
///
/// The hours of a job include all counts that its ledger keeps: accepted counts, second counts, and
/// counts that are only evidence because they contradict others or are distrusted. These took time
/// as well. Therefore a sum never becomes smaller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Hours {
    /// Of processors, microseconds. JSON has hours.
    #[serde(rename = "processor_hours", with = "hours")]
    #[schema(value_type = f64)]
    pub processor_us: u64,
    /// Of graphics processors, microseconds. JSON has hours.
    #[serde(rename = "gpu_hours", with = "hours")]
    #[schema(value_type = f64)]
    pub gpu_us: u64,
}

impl Hours {
    /// Microseconds in an hour.
    pub const US: u64 = 3_600_000_000;

    /// Those of one count, which this kernel made.
    pub fn of(kernel: KernelName, busy_us: u64) -> Hours {
        match kernel.is_of_device() {
            true => Hours { processor_us: 0, gpu_us: busy_us },
            false => Hours { processor_us: busy_us, gpu_us: 0 },
        }
    }

    /// Hours of processors.
    pub fn processor(self) -> f64 {
        self.processor_us as f64 / Hours::US as f64
    }

    /// Hours of graphics processors.
    pub fn gpu(self) -> f64 {
        self.gpu_us as f64 / Hours::US as f64
    }

    /// Both together, microseconds.
    pub fn sum_us(self) -> u64 {
        self.processor_us.saturating_add(self.gpu_us)
    }
}

impl AddAssign for Hours {
    fn add_assign(&mut self, other: Hours) {
        self.processor_us = self.processor_us.saturating_add(other.processor_us);
        self.gpu_us = self.gpu_us.saturating_add(other.gpu_us);
    }
}

/// What people see of an owner of jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerView {
    /// The name.
    pub owner: String,
    /// What its jobs have taken, removed ones included.
    pub hours: Hours,
    /// Thread time that was expected of what is leased of its jobs and not reported, microseconds.
    pub leased_us: u64,
    /// How many jobs it has that have not ended.
    pub live_jobs: usize,
}

impl OwnerView {
    /// The share of this owner's jobs in all leased thread time, from 0 to 1. `None` while nothing
    /// is leased.
    pub fn share_of(&self, all: &[OwnerView]) -> Option<f64> {
        let sum: f64 = all.iter().map(|owner| owner.leased_us as f64).sum();
        (sum > 0.0).then(|| self.leased_us as f64 / sum)
    }
}

/// What the farm keeps of an owner of jobs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    pub(crate) hours: Hours,
    /// Thread time that was expected of what is leased of its jobs.
    pub(crate) leased_ns: u128,
    recent: Recent,
}

impl Account {
    /// An owner's turn among those of jobs of one priority: the lowest is served first. It is the
    /// thread time that is leased of its jobs or was counted lately, nanoseconds.
    pub(crate) fn turn(&self, now: Millis) -> u128 {
        self.leased_ns + u128::from(self.recent.us(now)) * 1_000
    }

    /// A count has become durable.
    pub(crate) fn spend(&mut self, now: Millis, hours: Hours) {
        self.hours += hours;
        self.recent.add(now, hours.sum_us());
    }

    pub(crate) fn leased_us(&self) -> u64 {
        u64::try_from(self.leased_ns / 1_000).unwrap_or(u64::MAX)
    }
}

/// A sum over the last minutes. It is the sum of the present slot of time, and the part of the
/// previous slot's sum that lies in a window that ends now.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    slot: u64,
    us: u64,
    us_before: u64,
}

impl Recent {
    /// The length of a slot and of the window. An owner that comes back, or a new one, is served
    /// before the others for half of it at most.
    const SLOT_MS: u64 = 600_000;

    fn at(self, now: Millis) -> Recent {
        let slot = now.0 / Recent::SLOT_MS;
        match slot - self.slot {
            0 => self,
            1 => Recent { slot, us: 0, us_before: self.us },
            _ => Recent { slot, us: 0, us_before: 0 },
        }
    }

    fn add(&mut self, now: Millis, us: u64) {
        *self = self.at(now);
        self.us = self.us.saturating_add(us);
    }

    fn us(self, now: Millis) -> u64 {
        let Recent { us, us_before, .. } = self.at(now);
        let left = u128::from(Recent::SLOT_MS - now.0 % Recent::SLOT_MS);
        let before = u128::from(us_before) * left / u128::from(Recent::SLOT_MS);
        us.saturating_add(u64::try_from(before).expect("it is at most `us_before`"))
    }
}
