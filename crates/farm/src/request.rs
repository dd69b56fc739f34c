//! What clients ask of the farm. A request is carried as it is from the wire to the core, which
//! answers it once.

use crate::{AuditPolicy, JobId, JobSpec, JobState, JobView, Known, Party, WorkerView};

/// What a client asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Add all of these jobs or, if one of them cannot be, none. The answer is the jobs, in this
    /// order.
    Submit(Vec<Submission>),
    /// Change a job. The answer is the job.
    Change(JobId, Change),
    /// Remove a job that is over. The answer is the job as it was.
    Remove(JobId),
    /// Trust a party from now on, or distrust it and end its sessions. If a party is trusted again,
    /// the answer names the parties that have machines in common with it and are still distrusted.
    Trust {
        /// Who.
        party: Party,
        /// Whether it is trusted from now on.
        trusted: bool,
        /// Why, for people.
        reason: String,
    },
    /// Lease nothing more to the connected workers of this name. The answer is these workers.
    Drain {
        /// The name.
        worker: String,
        /// Whose workers are meant; `None` for those of all owners.
        owner: Option<String>,
    },
}

/// A job to be added. If its owner already has a job with the same key, the request means that job.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// The job. No other one of the request has its owner and its key.
    pub spec: JobSpec,
    /// What is to be counted twice, if anything is.
    pub audit: Option<AuditPolicy>,
    /// What is known of its counts before they are counted.
    pub known: Box<Known>,
}

/// A change of a job that a client may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// End it without a total.
    Cancel,
    /// Let it rest.
    Pause,
    /// Let it go on, and its failed tasks be tried again.
    Resume,
    /// Serve it earlier or later than others: jobs of higher priority are served first.
    Priority(i32),
    /// Count accepted ranges again, those to come included.
    Audit {
        /// Which ranges. A policy that chooses nothing leaves the scope of the job as it is.
        policy: AuditPolicy,
        /// Whether its scope holds even if that of the job was wider.
        narrows: bool,
    },
}

impl Change {
    /// The changes that a word alone says, each with its word.
    const WORDS: [(&str, Change); 3] =
        [("cancel", Change::Cancel), ("pause", Change::Pause), ("resume", Change::Resume)];

    /// The change that this word says, if it is one.
    pub fn named(word: &str) -> Option<Change> {
        Change::WORDS.into_iter().find(|(of, _)| *of == word).map(|(_, change)| change)
    }

    /// Where the job stands once it is changed; `None` if it stands where it did.
    pub fn state(self) -> Option<JobState> {
        match self {
            Change::Cancel => Some(JobState::Cancelled),
            Change::Pause => Some(JobState::Paused),
            Change::Resume => Some(JobState::Running),
            Change::Priority(_) | Change::Audit { .. } => None,
        }
    }
}

/// What a client is answered, once it is durable.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The job that was asked for.
    Job(Box<JobView>),
    /// The jobs that were submitted.
    Jobs(Vec<JobView>),
    /// Parties that are distrusted.
    Distrusted(Vec<Party>),
    /// The workers that are leased nothing more.
    Drained(Vec<WorkerView>),
}

impl Answer {
    /// The job, if it is about one alone.
    pub fn job(self) -> Option<JobView> {
        match self {
            Answer::Job(job) => Some(*job),
            Answer::Jobs(mut jobs) if jobs.len() == 1 => jobs.pop(),
            Answer::Jobs(_) | Answer::Distrusted(_) | Answer::Drained(_) => None,
        }
    }
}
