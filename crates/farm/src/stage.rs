//! The stage of a job: what the farm does with it, and how much of that the ledger has.
//!
//! ```text
//!   Live ──all is counted──► Finishing ─┬─durable──► Finished ──no settlement is under way──► Done
//!                                       └─durable, and it contradicts what is known──► Suspended
//!   Finished, Done, Suspended ──rows are taken back or are to be counted again──► Live
//!   Live, Suspended, Finishing with a contradiction ──a client──► Cancelling ─durable─► Cancelled
//! ```
//!
//! Clients see only the state that the ledger has ([`Stage::state`]). The farm acts on what they
//! asked for at once.

use crate::{JobId, JobState, Refusal};

/// What is done with a job.
#[derive(Clone, Debug)]
pub(crate) enum Stage {
    /// It is counted, unless it is paused.
    Live(Live),
    /// All of it is counted. The record that says so is on its way into the ledger.
    Finishing {
        /// The stage before, which clients still see.
        live: Live,
        /// Why it is going to be suspended; `None` if it is going to be done.
        contradiction: Option<String>,
    },
    /// The ledger has the record that the job is done, but a settlement or a decision about trust
    /// is under way that may take rows back.
    Finished(Live),
    /// The job's total contradicts what is known, for this reason. The job has to be audited or
    /// cancelled.
    Suspended(String),
    /// It has a total. Ranges of it may be counted again.
    Done,
    /// A client has cancelled the job. Clients see its earlier state until the cancellation is
    /// durable.
    Cancelling(Seen),
    /// It ended without a total.
    Cancelled,
}

/// A job that is neither over nor suspended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Live {
    /// Whether a range of the job was ever leased.
    begun: bool,
    /// Whether the job is paused, so that nothing of it is leased.
    paused: bool,
    /// Whether the job is paused in the ledger, which is what clients see.
    seen_paused: bool,
}

/// What clients see of a job while its end is on its way into the ledger.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    /// It runs.
    Running,
    /// It is paused.
    Paused,
    /// It is suspended for this reason.
    Suspended(String),
}

impl Live {
    /// A job that runs. `begun`: a range of it was leased.
    pub(crate) fn running(begun: bool) -> Live {
        Live { begun, paused: false, seen_paused: false }
    }

    fn seen(self) -> Seen {
        if self.seen_paused { Seen::Paused } else { Seen::Running }
    }
}

impl Seen {
    fn state(&self) -> JobState {
        match self {
            Seen::Running => JobState::Running,
            Seen::Paused => JobState::Paused,
            Seen::Suspended(_) => JobState::Suspended,
        }
    }
}

impl Stage {
    /// The stage of a job that the ledger has in this state. `begun`: a range of it was leased.
    pub(crate) fn restored(state: JobState, reason: Option<String>, begun: bool) -> Stage {
        match state {
            JobState::Running => Stage::Live(Live::running(begun)),
            JobState::Paused => Stage::Live(Live { begun, paused: true, seen_paused: true }),
            JobState::Suspended => Stage::Suspended(reason.unwrap_or_default()),
            JobState::Done => Stage::Done,
            JobState::Cancelled => Stage::Cancelled,
        }
    }

    /// What clients see: the state that is durable.
    pub(crate) fn state(&self) -> JobState {
        match self {
            Stage::Live(live) | Stage::Finishing { live, .. } | Stage::Finished(live) => {
                live.seen().state()
            }
            Stage::Suspended(_) => JobState::Suspended,
            Stage::Done => JobState::Done,
            Stage::Cancelling(seen) => seen.state(),
            Stage::Cancelled => JobState::Cancelled,
        }
    }

    /// Why clients see it suspended, if they do.
    pub(crate) fn suspended(&self) -> Option<&str> {
        match self {
            Stage::Suspended(reason) | Stage::Cancelling(Seen::Suspended(reason)) => Some(reason),
            _ => None,
        }
    }

    /// How the job has ended, or will have ended once the record is in the ledger.
    pub(crate) fn end(&self) -> Option<JobState> {
        match self {
            Stage::Live(_) | Stage::Suspended(_) => None,
            Stage::Finishing { contradiction: Some(_), .. } => None,
            Stage::Finishing { contradiction: None, .. } => Some(JobState::Done),
            Stage::Finished(_) | Stage::Done => Some(JobState::Done),
            Stage::Cancelling(_) | Stage::Cancelled => Some(JobState::Cancelled),
        }
    }

    /// Whether it is neither over, nor suspended, nor paused.
    pub(crate) fn is_running(&self) -> bool {
        match self {
            Stage::Live(live) | Stage::Finishing { live, .. } | Stage::Finished(live) => {
                !live.paused
            }
            _ => false,
        }
    }

    /// Whether a client has cancelled it, so that reports about it are of no use any more.
    pub(crate) fn is_cancelled(&self) -> bool {
        matches!(self, Stage::Cancelling(_) | Stage::Cancelled)
    }

    /// Whether the job is suspended, or will be once the record is in the ledger.
    pub(crate) fn is_being_suspended(&self) -> bool {
        matches!(self, Stage::Finishing { contradiction: Some(_), .. } | Stage::Suspended(_))
    }

    /// Whether a range of it was leased and it is neither over, nor suspended, nor paused.
    pub(crate) fn is_begun(&self) -> bool {
        matches!(self, Stage::Live(Live { begun: true, paused: false, .. }))
    }

    /// A range of it is leased. Returns whether it is the first one.
    pub(crate) fn begin(&mut self) -> bool {
        match self {
            Stage::Live(live) => !std::mem::replace(&mut live.begun, true),
            _ => false,
        }
    }

    /// A client pauses the job or lets it go on. That holds at once.
    pub(crate) fn set_paused(&mut self, id: JobId, paused: bool) -> Result<(), Refusal> {
        match (self.end(), self) {
            (Some(end), _) => Err(Refusal::Over(id, end)),
            (None, Stage::Live(live)) => {
                live.paused = paused;
                Ok(())
            }
            (None, _) => Err(Refusal::Suspended(id)),
        }
    }

    /// A client cancels the job, perhaps again. That holds at once.
    pub(crate) fn cancel(&mut self, id: JobId) -> Result<(), Refusal> {
        let seen = match self {
            Stage::Live(live) | Stage::Finishing { live, contradiction: Some(_) } => live.seen(),
            Stage::Suspended(reason) => Seen::Suspended(std::mem::take(reason)),
            Stage::Finishing { contradiction: None, .. } | Stage::Finished(_) | Stage::Done => {
                return Err(Refusal::Over(id, JobState::Done));
            }
            Stage::Cancelling(_) | Stage::Cancelled => return Ok(()),
        };
        *self = Stage::Cancelling(seen);
        Ok(())
    }

    /// Notes that the ledger has the job as paused, or as running again. A client may have asked
    /// for something else by now. Panics if the ledger has already answered with the end of the
    /// job, because it answers in order.
    pub(crate) fn note_paused(&mut self, paused: bool) {
        match self {
            Stage::Live(live) | Stage::Finishing { live, .. } => live.seen_paused = paused,
            Stage::Cancelling(seen) => {
                *seen = if paused { Seen::Paused } else { Seen::Running };
            }
            stage => panic!("the ledger was not asked to pause a job that is {stage:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: JobId = JobId(1);

    #[test]
    fn what_clients_ask_for_holds_at_once_and_is_seen_once_it_is_durable() {
        let mut stage = Stage::Live(Live::running(false));
        stage.set_paused(JOB, true).expect("it runs");
        assert_eq!((stage.is_running(), stage.state()), (false, JobState::Running));
        stage.set_paused(JOB, false).expect("it is paused");
        stage.note_paused(true);
        assert_eq!((stage.is_running(), stage.state()), (true, JobState::Paused));
        stage.cancel(JOB).expect("it runs");
        stage.note_paused(false);
        assert_eq!((stage.is_cancelled(), stage.state()), (true, JobState::Running));
        let is_over = Err(Refusal::Over(JOB, JobState::Cancelled));
        assert_eq!((stage.cancel(JOB), stage.set_paused(JOB, true)), (Ok(()), is_over));
    }

    #[test]
    fn a_suspended_job_shows_its_reason_until_its_cancellation_is_durable() {
        let mut stage = Stage::restored(JobState::Suspended, Some("odd".into()), true);
        assert_eq!(stage.set_paused(JOB, true), Err(Refusal::Suspended(JOB)));
        stage.cancel(JOB).expect("it is suspended");
        assert_eq!((stage.state(), stage.suspended()), (JobState::Suspended, Some("odd")));
        assert_eq!(stage.end(), Some(JobState::Cancelled));
    }

    #[test]
    fn a_job_that_is_about_to_be_done_is_over_and_one_about_to_be_suspended_is_not() {
        let live = Live::running(true);
        let mut stage = Stage::Finishing { live, contradiction: None };
        let is_done = Err(Refusal::Over(JOB, JobState::Done));
        assert_eq!((stage.cancel(JOB), stage.set_paused(JOB, true)), (is_done, is_done));
        let mut stage = Stage::Finishing { live, contradiction: Some("odd".into()) };
        assert_eq!((stage.end(), stage.suspended()), (None, None));
        assert_eq!(stage.set_paused(JOB, true), Err(Refusal::Suspended(JOB)));
        assert_eq!((stage.cancel(JOB), stage.state()), (Ok(()), JobState::Running));
    }
}
