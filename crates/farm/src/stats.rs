//! What the farm has done since it began, as numbers for those who watch it.
//!
//! No decision depends on these numbers. They are not durable: a coordinator that is started again
//! begins at zero.

use crate::{Report, Verdict};

/// Counts of what has happened since the farm began. They only grow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    reports: [u64; Verdict::ALL.len()],
    /// Tasks whose counts became durable. Those that were taken back later are included.
    pub tasks_accepted: u64,
    /// What they count, before symmetry.
    pub placements_accepted: f64,
    /// Thread time that the accepted counts took, microseconds, as far as the farm believes
    /// their workers.
    pub busy_us: u64,
    /// Leases that were taken back because their time was over.
    pub leases_expired: u64,
    /// Sessions that ended although their workers had not said that they would leave.
    pub workers_lost: u64,
    /// Parties of which a count was proven wrong.
    pub proven_wrong: u64,
}

impl Stats {
    /// The reports that were answered in this way.
    pub fn reports(&self, verdict: Verdict) -> u64 {
        self.reports[verdict as usize]
    }

    pub(crate) fn answered(&mut self, verdict: Verdict) {
        self.reports[verdict as usize] += 1;
    }

    pub(crate) fn accepted(&mut self, report: &Report) {
        self.tasks_accepted += report.range.len();
        self.placements_accepted += report.checked_count.count as f64;
        self.busy_us = self.busy_us.saturating_add(report.busy_us);
    }
}
