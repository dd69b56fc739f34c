//! Reports: what was counted of a lease.

use crate::{
    CheckedCount, Fingerprint, JobId, KernelName, Lease, LeaseId, LeaseToken, Range, TaskCounts,
};

/// A partial count: what a thread has counted of a lease, or several neighbouring parts of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The job it belongs to.
    pub job: JobId,
    /// The plan it was counted under.
    pub fingerprint: Fingerprint,
    /// The leasing it answers.
    pub lease: LeaseId,
    /// The token that proves the lease.
    pub token: LeaseToken,
    /// What was counted.
    pub range: Range,
    /// What its tasks count.
    pub checked_count: CheckedCount,
    /// What each of them counts, if that is reported; see [`Report::adds_up`].
    pub task_counts: TaskCounts,
    /// What counted them.
    pub kernel: KernelName,
    /// Thread time spent on it, microseconds.
    pub busy_us: u64,
}

impl Report {
    /// The report that this kernel counted so much in a part of a lease.
    pub fn new(
        lease: &Lease,
        range: Range,
        checked_count: CheckedCount,
        task_counts: TaskCounts,
        kernel: KernelName,
        busy_us: u64,
    ) -> Report {
        let Lease { id, job, fingerprint, token, .. } = *lease;
        Report {
            job,
            fingerprint,
            lease: id,
            token,
            range,
            checked_count,
            task_counts,
            kernel,
            busy_us,
        }
    }

    /// Whether its counts of single tasks, if it has any, add up to its sum.
    #[must_use]
    pub fn adds_up(&self) -> bool {
        self.task_counts.add_up_to(self.fingerprint, self.range, self.checked_count)
    }

    /// Joins this part of a lease with the next one, if they touch, one kernel counted them and
    /// their counts fit. A recount is reported as a whole: if it has too many tasks to report each,
    /// only their sum is reported.
    #[must_use]
    pub fn join(&self, next: &Report) -> Option<Report> {
        if self.range.end() != next.range.start() || self.kernel != next.kernel {
            return None;
        }
        let omitted = self.token.is_recount().then(TaskCounts::default);
        Some(Report {
            range: Range::new(self.range.start(), next.range.end())?,
            checked_count: self.checked_count.join(next.checked_count)?,
            task_counts: self.task_counts.join(&next.task_counts).or(omitted)?,
            busy_us: self.busy_us.saturating_add(next.busy_us),
            ..*self
        })
    }
}
