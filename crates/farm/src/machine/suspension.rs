//! Totals that contradict what is known, and what becomes of their jobs.
//!
//! ```text
//!   all is counted, nothing is disputed, nothing waits for an audit
//!     the total contradicts nothing ──► Finish ──durable──► done
//!     it contradicts a fact         ──► Suspend ──durable──► suspended ──an audit──► runs again
//! ```

use super::{Farm, existing};
use crate::job::Job;
use crate::{Effect, JobId, JobState};

impl Job {
    /// Whether it is suspended, or on the way to be.
    pub(super) fn is_being_suspended(&self) -> bool {
        self.is_suspending || self.state == JobState::Suspended
    }

    /// Whether it can end: everything is counted, and nothing waits for another count.
    pub(super) fn is_complete(&self) -> bool {
        self.is_covered() && self.disputes.is_empty() && self.audits.are_over()
    }
}

impl Farm {
    pub(super) fn suspension_written(&mut self, id: JobId, reason: String) {
        let job = existing(&mut self.jobs, id);
        job.is_suspending = false;
        if job.state == JobState::Cancelled || !job.is_complete() {
            return; // cancelled or reopened while the record was on its way
        }
        job.suspended = Some(reason);
        (job.state, job.durable_state) = (JobState::Suspended, JobState::Suspended);
        self.requeue(id);
        self.effects.push(Effect::AtRest(id));
    }

    /// Looks again at a job that an earlier process ended or suspended: what is known may have changed since.
    pub(super) fn look_again(&mut self, id: JobId) {
        let job = existing(&mut self.jobs, id);
        let is_contradicted = job.known.contradiction(job.total).is_some();
        match job.state {
            JobState::Done if is_contradicted => self.reopen(id),
            JobState::Suspended if !is_contradicted => self.reopen(id),
            _ => {}
        }
    }
}
