//! What the farm wants done.

use crate::{
    Answer, Asker, CoordinatorMessage, JobId, JobState, LedgerCommand, Principal, Provenance,
    Range, Report, RequestId, SessionId,
};

/// Something to do. Effects are carried out in the order in which the farm returns them.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Send a worker a message.
    Tell(SessionId, CoordinatorMessage),
    /// End a session.
    Dismiss(SessionId, Dismissal),
    /// Hand a command to the ledger. Its answer comes back as an [`crate::Event::Ledger`], together
    /// with the asker and the command.
    Ledger(Asker, LedgerCommand),
    /// Answer a client: what was asked for, or why not.
    Reply(RequestId, Result<Answer, Refusal>),
    /// A late count contradicts an accepted one. It decides nothing. If the job runs, the range is
    /// counted again; if the job is over, somebody may order an audit.
    Contradicted(Report, Provenance),
    /// A worker process was lost while it counted.
    Lost {
        /// Whose it was.
        principal: Principal,
        /// How many processes its machine has lost that have not come back.
        processes: usize,
    },
    /// A range is not leased any more, because it was lost three times with the worker that had it,
    /// and two owners lost it or only one could count it. The rest of its job goes on.
    RangeFailed {
        /// The job that the range belongs to.
        job: JobId,
        /// The range.
        range: Range,
    },
    /// A job is done, cancelled or suspended: its clients need not wait any longer.
    AtRest(JobId),
}

crate::named! {
    /// Why a session is ended.
    pub enum Dismissal {
        /// A newer session of the worker replaced it.
        Replaced = "replaced",
        /// The worker's machine or owner is distrusted: proven wrong, or by the operator's
        /// decision.
        Distrusted = "distrusted",
        /// The worker reported or held something that this farm has not leased to its owner.
        Unproven = "unproven",
    }
}

/// Why a client's request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No such job.
    #[error("there is no job {0}; `queens jobs` lists them")]
    NoSuchJob(JobId),
    /// The job is over.
    #[error("job {0} is {1}, and that is final; submit it again if you want it counted again")]
    Over(JobId, JobState),
    /// There are too many jobs already: this is the bound.
    #[error(
        "the coordinator's limit of jobs that have not ended is {0}: cancel some, or submit it again when others \
         have ended"
    )]
    TooManyJobs(usize),
    /// The owner has too many jobs already: this is the bound.
    #[error(
        "an owner's limit of jobs that have not ended is {0}: cancel some, or submit it again when others have \
         ended"
    )]
    TooManyOfOwner(usize),
    /// The owner has another job of the same name.
    #[error(
        "this name is that of job {0}, which counts something else or promises a weaker audit: give another name, \
         or the options of that job, which `queens jobs {0}` shows"
    )]
    KeyTaken(JobId),
    /// Only a job that is over is removed.
    #[error(
        "job {0} is {1}, and only jobs that are done or cancelled are removed: cancel it first, or wait for its end"
    )]
    NotOver(JobId, JobState),
    /// The job proved that somebody counts wrong.
    #[error(
        "job {0} proved a machine or an owner wrong, and its counts are the evidence of that: it is not removed"
    )]
    Proof(JobId),
    /// Something of the job, or of everybody's trust, is on its way into the ledger.
    #[error(
        "job {0} has just been changed, and the ledger is not done with that: ask again in a second"
    )]
    Unsettled(JobId),
    /// The job is suspended.
    #[error(
        "job {0} is suspended, because its total contradicts what is known; `queens audit {0} --all` has it \
         counted again, and `queens cancel {0}` gives the job up"
    )]
    Suspended(JobId),
}
