//! Everything that is expected to go wrong: one sentence with the way out, and one exit code each.

use std::path::PathBuf;
use std::process::ExitCode;

use board::CutError;
use executor::TooLittleMemory;
use farm::{JobId, JobState, Refusal};
use ledger::{FaultKind, JoinError, LedgerError};
use service::ServiceError;
use service::local::LocalError;

/// Why a command ends without its result.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A placement that does not exist.
    #[error("{0}")]
    NoPlacement(String),
    /// Words that cannot be granted as they stand.
    #[error("{0}")]
    Usage(String),
    /// A board or a cut of it that cannot be counted.
    #[error(transparent)]
    Plan(#[from] CutError),
    /// A board that this machine, or what it may use of it, is too small for.
    #[error("{0}: allow more with --memory, or count by another method, such as --method ring")]
    Memory(#[from] TooLittleMemory),
    /// The same, of the distinct states of a row.
    #[error("{0}: allow more with --memory, or count by another method")]
    States(#[from] solve::states::StatesError),
    /// A job that is not there, or over.
    #[error(transparent)]
    Job(#[from] Refusal),
    /// The coordinator's words for the same as [`Failure::Plan`].
    #[error("{0}")]
    Refused(String),
    /// The coordinator's words for the same as [`Failure::Job`].
    #[error("{0}")]
    NoSuchJob(String),
    /// Nobody answers.
    #[error(
        "no coordinator answers at {url} ({reason}); start one with `queens coordinator`, or name \
         another with --coordinator"
    )]
    Unreachable {
        /// Where it was looked for.
        url: String,
        /// What the attempt came back with.
        reason: String,
    },
    /// The coordinator does not know us.
    #[error(
        "the coordinator at {url} refuses this token; give the file that it was started with, \
         --token-file FILE"
    )]
    Token {
        /// Who refused.
        url: String,
    },
    /// The token file cannot be used.
    #[error("cannot use the token file {}: {reason}", path.display())]
    TokenFile {
        /// Which file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// Two processes, one ledger.
    #[error(
        "the ledger {} is held by another process; stop that one, or use another file with \
         --ledger", path.display()
    )]
    LedgerHeld {
        /// Which file.
        path: PathBuf,
    },
    /// The ledger counts something else.
    #[error(
        "the ledger {} holds {holds}, not {wanted}; use another file with --ledger, or ask for \
         what it holds", path.display()
    )]
    LedgerOfAnotherPlan {
        /// Which file.
        path: PathBuf,
        /// What it is about.
        holds: String,
        /// What was asked for.
        wanted: String,
    },
    /// The ledger cannot be trusted.
    #[error(
        "the ledger {} is damaged ({reason}); nothing was changed in it: restore a copy, or start \
         again with another file with --ledger", path.display()
    )]
    LedgerCorrupt {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The ledger cannot be opened.
    #[error(
        "cannot open the ledger {} ({reason}); give the name of a file that can be read and \
         written, or made, with --ledger", path.display()
    )]
    LedgerOpen {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The ledger is of another version.
    #[error(
        "the ledger {} cannot be used by this version ({reason}); use the version that made it, or \
         another file with --ledger", path.display()
    )]
    LedgerVersion {
        /// Which file.
        path: PathBuf,
        /// What differs.
        reason: String,
    },
    /// The ledger cannot be read or written.
    #[error(
        "cannot write the ledger {} ({reason}); everything accepted so far is safe: make room or \
         mend the disk, then start again with the same command", path.display()
    )]
    LedgerWrite {
        /// Which file.
        path: PathBuf,
        /// What the disk said.
        reason: String,
    },
    /// Nobody can listen there.
    #[error("cannot listen on {address}: {reason}; stop who does, or choose another with --listen")]
    Listen {
        /// Where.
        address: String,
        /// Why not.
        reason: String,
    },
    /// Two versions that must not work together.
    #[error("{0}")]
    Incompatible(String),
    /// The job that was waited for has no total.
    #[error("job {0} ended as {1}, without a total; `queens submit` counts it anew")]
    NoTotal(JobId, JobState),
    /// This worker was proven wrong.
    #[error("the coordinator at {url} believes this worker no more: {reason}")]
    Distrusted {
        /// Who.
        url: String,
        /// Its words.
        reason: String,
    },
    /// A ledger of which ranges wait for other workers.
    #[error(
        "{open} ranges of the ledger {} wait for another worker to count them again; serve it with \
         `queens coordinator --ledger` and two or more workers until its job is done", path.display()
    )]
    LedgerUnsettled {
        /// Which file.
        path: PathBuf,
        /// How many.
        open: u64,
    },
    /// Two ledgers, two counts.
    #[error(
        "the ledger {} conflicts with the others: {reason}; one of the machines miscounts: count that \
         part again elsewhere, and leave the wrong ledger out", path.display()
    )]
    Conflict {
        /// The ledger that differs from those before it.
        path: PathBuf,
        /// Where, and how.
        reason: String,
    },
    /// A bundle that does not hang together, or whose counts are not ours.
    #[error("the bundle {} does not hold: {reason}", path.display())]
    Bundle {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// One machine, two counts of one range.
    #[error(
        "this machine counted the same range twice, with different results; do not trust it with \
         counting before its memory and cooling are checked"
    )]
    Miscounted,
    /// One board, two totals.
    #[error(
        "N = {n}: {} counts {}, and {} {}: this machine miscounts, or this program has a fault; do \
         not trust it with counting before its memory and cooling are checked, and report this",
        counts[0].0, counts[0].1, counts[1].0, counts[1].1
    )]
    Disagreement {
        /// The board's size.
        n: u32,
        /// Two algorithms, each with its total.
        counts: [(String, u128); 2],
    },
    /// A total that no census has.
    #[error("{0}; count again on another machine, and report this")]
    Census(#[from] count::AnswerError),
    /// One counting loop, wrong from the start.
    #[error(transparent)]
    SelfTest(#[from] count::SelfTestError),
    /// The coordinator answered with something that this program does not expect.
    #[error("the coordinator at {url} failed: {reason}")]
    Coordinator {
        /// Which.
        url: String,
        /// Its words.
        reason: String,
    },
    /// A placement that was neither found nor proven not to exist.
    #[error(
        "undecided: {seconds} s did not suffice to find a completion or to prove that there is none; \
         give it more with --limit-seconds, or another --seed"
    )]
    Undecided {
        /// The time that it was given.
        seconds: u64,
    },
    /// A result that cannot be written where it should go.
    #[error("cannot write to {what}: {reason}")]
    Output {
        /// Where to.
        what: String,
        /// Why not.
        reason: String,
    },
    /// The user pressed Ctrl-C.
    #[error("{0}")]
    Interrupted(String),
    /// A fault of this program.
    #[error("internal fault: {0:#}; nothing that was accepted is lost, please report this")]
    Internal(#[from] anyhow::Error),
}

impl Failure {
    /// The documented exit code; the README lists them. 2 is shared with clap.
    pub fn code(&self) -> u8 {
        match self {
            Failure::NoPlacement(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Plan(_) | Failure::Memory(_) | Failure::States(_) | Failure::Refused(_) => 3,
            Failure::Job(_) | Failure::NoSuchJob(_) => 4,
            Failure::Unreachable { .. } => 5,
            Failure::Token { .. } | Failure::TokenFile { .. } => 6,
            Failure::LedgerHeld { .. } => 7,
            Failure::LedgerOfAnotherPlan { .. } => 8,
            Failure::LedgerCorrupt { .. } => 9,
            Failure::LedgerOpen { .. } | Failure::LedgerWrite { .. } | Failure::Output { .. } => 10,
            Failure::Listen { .. } => 11,
            Failure::Incompatible(_) | Failure::LedgerVersion { .. } => 12,
            Failure::NoTotal(..) | Failure::LedgerUnsettled { .. } => 13,
            Failure::Miscounted
            | Failure::Distrusted { .. }
            | Failure::Conflict { .. }
            | Failure::Disagreement { .. }
            | Failure::Census(_)
            | Failure::SelfTest(_) => 14,
            Failure::Undecided { .. } => 15,
            Failure::Bundle { .. } => 16,
            Failure::Coordinator { .. } | Failure::Internal(_) => 70,
            Failure::Interrupted(_) => 130,
        }
    }
}

impl From<LedgerError> for Failure {
    fn from(LedgerError { path, fault }: LedgerError) -> Failure {
        let reason = fault.to_string();
        match fault.kind() {
            FaultKind::Held => Failure::LedgerHeld { path },
            FaultKind::Damaged => Failure::LedgerCorrupt { path, reason },
            FaultKind::Version => Failure::LedgerVersion { path, reason },
            FaultKind::Open => Failure::LedgerOpen { path, reason },
            FaultKind::Write => Failure::LedgerWrite { path, reason },
        }
    }
}

impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Failure {
        match error {
            ServiceError::Ledger(error) => error.into(),
            ServiceError::Plan(error) => Failure::Plan(error),
            ServiceError::Url { .. } => Failure::Usage(error.to_string()),
            ServiceError::Unreachable { url, reason } => Failure::Unreachable { url, reason },
            ServiceError::Token { url } => Failure::Token { url },
            ServiceError::TokenFile { path, reason } => Failure::TokenFile { path, reason },
            ServiceError::Listen { address, reason } => Failure::Listen { address, reason },
            ServiceError::Incompatible(text) => Failure::Incompatible(text),
            ServiceError::Distrusted { url, reason } => Failure::Distrusted { url, reason },
            ServiceError::Stopping(gone) => Failure::Internal(gone.into()),
            ServiceError::Internal(error) => Failure::Internal(error),
        }
    }
}

impl From<LocalError> for Failure {
    fn from(error: LocalError) -> Failure {
        match error {
            LocalError::Service(error) => error.into(),
            LocalError::Memory(error) => Failure::Memory(error),
            LocalError::Refused(refusal) => Failure::Job(refusal),
            LocalError::AnotherPlan { path, holds, wanted } => {
                Failure::LedgerOfAnotherPlan { path, holds, wanted }
            }
            LocalError::Unsettled { path, open } => Failure::LedgerUnsettled { path, open },
            LocalError::Miscounted => Failure::Miscounted,
            LocalError::Interrupted { percent, ledger } => Failure::Interrupted(match ledger {
                Some(path) => format!(
                    "interrupted at {percent:.1}%, which {} keeps; the same command goes on from there",
                    path.display()
                ),
                None => format!(
                    "interrupted at {percent:.1}%, and nothing is kept; --ledger FILE keeps the work"
                ),
            }),
        }
    }
}

impl From<JoinError> for Failure {
    fn from(error: JoinError) -> Failure {
        match error {
            JoinError::Nothing => Failure::Usage("name the ledgers to join".into()),
            JoinError::Ledger(error) => error.into(),
            JoinError::AnotherPlan { path, holds, wanted } => {
                Failure::LedgerOfAnotherPlan { path, holds, wanted }
            }
            JoinError::Unsettled { path, open } => Failure::LedgerUnsettled { path, open },
            JoinError::Conflict { path, reason } => Failure::Conflict { path, reason },
        }
    }
}

impl From<Failure> for ExitCode {
    fn from(failure: Failure) -> ExitCode {
        ExitCode::from(failure.code())
    }
}
