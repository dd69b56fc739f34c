//! Every failure that is expected, each with one sentence that says what to do next, and one exit code.

mod causes;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use board::CutError;
use executor::TooLittleMemory;
use farm::{Held, JobId, JobState, Refusal, Suspect};

use crate::output;
use crate::visible::visible;

/// Why a command ended without its result.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The placement does not exist.
    #[error("{0}")]
    NoPlacement(String),
    /// The options cannot be used so.
    #[error("{0}")]
    Usage(String),
    /// The board, or the cut of it, cannot be counted.
    #[error(transparent)]
    Plan(#[from] CutError),
    /// The memory is too small for even one counting thread.
    #[error("{0}: allow more with --memory, or count by another method, such as --method ring")]
    Memory(#[from] TooLittleMemory),
    /// The memory is too small for the distinct states of a row.
    #[error("{0}: allow more with --memory, or count by another method")]
    States(#[from] literature::states::StatesError),
    /// The job does not exist, or is over.
    #[error(transparent)]
    Job(#[from] Refusal),
    /// The coordinator refused a plan; the text is its explanation.
    #[error("{0}")]
    Refused(String),
    /// The coordinator knows no such job, or it is over; the text is its explanation.
    #[error("{0}")]
    NoSuchJob(String),
    /// No coordinator answers.
    #[error(
        "no coordinator answers at {url} ({reason}); start one with `queens coordinator`, or name \
         another with --coordinator or, if it serves TLS, --join-file"
    )]
    Unreachable {
        /// The address of the coordinator.
        url: String,
        /// The reason that the attempt gave.
        reason: String,
    },
    /// There was no coordinator for so long that the worker does not wait any more.
    #[error(
        "there was no coordinator for as long as --give-up-after says ({reason}); what this worker has not \
         reported is counted again by others"
    )]
    GaveUp {
        /// Why the last attempt failed.
        reason: String,
    },
    /// The coordinator refuses the token.
    #[error(
        "the coordinator at {url} refuses this token: {reason}; give one that is valid with --token-file FILE, or \
         a join string with --join-file FILE"
    )]
    Token {
        /// The address of the coordinator.
        url: String,
        /// The coordinator's explanation.
        reason: String,
    },
    /// The credential does not allow this; the text is the coordinator's explanation.
    #[error("{0}")]
    Forbidden(String),
    /// A file with a secret cannot be used.
    #[error("cannot use the secret in {}: {reason}", path.display())]
    SecretFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// Whoever answers is not the coordinator.
    #[error("whoever answers at {url} does not prove to be the coordinator: {reason}")]
    Impostor {
        /// The address of the coordinator.
        url: String,
        /// What is wrong with its certificate.
        reason: String,
    },
    /// Another process holds the ledger.
    #[error(
        "the ledger {} is held by another process; stop that one, or use another file with \
         --ledger", path.display()
    )]
    LedgerHeld {
        /// The file.
        path: PathBuf,
    },
    /// Another program reads the ledger, or has locked it.
    #[error(
        "the ledger {} was read or locked by another program for a minute; end that one (a copy or an export that is \
         being made, or `sqlite3`), then start again: everything accepted so far is safe", path.display()
    )]
    LedgerBusy {
        /// The file.
        path: PathBuf,
    },
    /// The ledger holds another job.
    #[error(
        "the ledger {} holds {holds}, not {wanted}; use another file with --ledger, or ask for \
         what it holds", path.display()
    )]
    LedgerOfAnotherPlan {
        /// The file.
        path: PathBuf,
        /// What it holds.
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
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file does not begin like a ledger.
    #[error(
        "{} does not begin like a ledger: it is none, or its beginning is damaged; nothing was changed in it: restore \
         a copy, or name another file with --ledger", path.display()
    )]
    NoLedger {
        /// The file.
        path: PathBuf,
    },
    /// The ledger cannot be opened.
    #[error(
        "cannot open the ledger {} ({reason}); give the name of a file that can be read and \
         written, or made, with --ledger", path.display()
    )]
    LedgerOpen {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        reason: String,
    },
    /// Another version of the program wrote the ledger.
    #[error(
        "the ledger {} cannot be used by this version ({reason}); use the version that made it, or \
         another file with --ledger", path.display()
    )]
    LedgerVersion {
        /// The file.
        path: PathBuf,
        /// How the versions differ.
        reason: String,
    },
    /// The ledger cannot be read or written.
    #[error(
        "cannot write the ledger {} ({reason}); everything accepted so far is safe: make room or \
         mend the disk, then start again with the same command", path.display()
    )]
    LedgerWrite {
        /// The file.
        path: PathBuf,
        /// The error of the disk.
        reason: String,
    },
    /// The ledger's name does not mean the file any more that was opened.
    #[error(
        "the ledger {}: {reason} while it was in use; put it or its latest copy in its place, then start again: workers \
         keep what was not acknowledged", path.display()
    )]
    LedgerGone {
        /// The name.
        path: PathBuf,
        /// What has become of the file.
        reason: String,
    },
    /// The address to listen on cannot be bound.
    #[error(
        "cannot listen on {address}: {reason}; stop the process that does, or choose another address with --listen"
    )]
    Listen {
        /// The address.
        address: String,
        /// Why not.
        reason: String,
    },
    /// Two versions of the program cannot work together.
    #[error("{0}")]
    Incompatible(String),
    /// The job ended without a total.
    #[error("job {0} ended as {1}, without a total; `queens submit` counts it anew")]
    NoTotal(JobId, JobState),
    /// The job is held.
    #[error(
        "job {job} is held and has no total: {}{}; `queens audit {job}` has the worst counted again by other \
         workers, and `queens cancel {job}` gives the job up",
        held.reason, suspects(held)
    )]
    JobHeld {
        /// The job.
        job: JobId,
        /// What its total contradicts.
        held: Held,
    },
    /// What was counted here, or what a ledger holds, contradicts what is known.
    #[error(
        "{what}: {}{}; {}", held.reason, suspects(held), way_out(ledger.as_deref())
    )]
    TotalHeld {
        /// What was counted.
        what: String,
        /// What its total contradicts.
        held: Held,
        /// The ledger that has the counts, if there is one.
        ledger: Option<PathBuf>,
    },
    /// A count of this worker was proven wrong.
    #[error("the coordinator at {url} does not trust this worker any more: {reason}")]
    Distrusted {
        /// The address of the coordinator.
        url: String,
        /// The coordinator's explanation.
        reason: String,
    },
    /// Ranges of the ledger wait for a count by another machine or owner.
    #[error(
        "{open} ranges of the ledger {} wait for another machine to count them again; serve it with \
         `queens coordinator --ledger` and two or more workers until its job is done", path.display()
    )]
    LedgerUnsettled {
        /// The file.
        path: PathBuf,
        /// Number of these ranges.
        open: u64,
    },
    /// Two ledgers have different counts of the same tasks.
    #[error(
        "the ledger {} conflicts with the others: {reason}; one of the machines miscounts: count that \
         part again elsewhere, and leave the wrong ledger out", path.display()
    )]
    Conflict {
        /// The ledger that differs from those before it.
        path: PathBuf,
        /// Where and how they differ.
        reason: String,
    },
    /// The bundle contradicts itself, or its counts differ from those of this machine.
    #[error("the bundle {} does not hold: {reason}", path.display())]
    Bundle {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// This machine counted one range twice, with different results.
    #[error(
        "this machine counted the same range twice, with different results; do not trust it with \
         counting before its memory and cooling are checked"
    )]
    Miscounted,
    /// Two algorithms found different totals of one board.
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
    /// Exact figures of the literature came out otherwise.
    #[error(
        "not reproduced here: {}; this machine miscounts, or this program has a fault: run `queens reproduce` on \
         another machine, and report this",
        figures.join(", ")
    )]
    NotReproduced {
        /// The names of the figures.
        figures: Vec<String>,
    },
    /// The total contradicts the symmetry of the problem.
    #[error("{0}; count again on another machine, and report this")]
    Census(#[from] count::AnswerError),
    /// The counting loop failed its self-test.
    #[error(transparent)]
    SelfTest(#[from] count::SelfTestError),
    /// A graphics processor failed its self-test.
    #[error(transparent)]
    DeviceSelfTest(#[from] executor::DeviceSelfTestError),
    /// This machine lacks a graphics processor that was asked for.
    #[error("{0}; `queens bench --list` shows what can count here")]
    NoDevice(#[from] executor::MissingDevice),
    /// A graphics processor failed that was asked for.
    #[error(
        "{0}; what it was counting was not counted: run the same command again, or with another --backend"
    )]
    Device(#[from] executor::DeviceError),
    /// The coordinator answered with an unexpected error.
    #[error("the coordinator at {url} failed: {reason}")]
    Coordinator {
        /// The address of the coordinator.
        url: String,
        /// The coordinator's explanation.
        reason: String,
    },
    /// A placement was neither found nor proven not to exist.
    #[error(
        "undecided: {seconds} s did not suffice to find a completion or to prove that there is none; \
         give it more with --limit-seconds, or another --seed"
    )]
    Undecided {
        /// The time limit of the search.
        seconds: u64,
    },
    /// The result cannot be written.
    #[error("cannot write to {what}: {reason}")]
    Output {
        /// The file, or standard output.
        what: String,
        /// Why it cannot be written.
        reason: String,
    },
    /// The count was asked to stop, and a ledger keeps the work. The text says how far it came.
    #[error("{0}; the same command goes on from there")]
    Stopped(String),
    /// Ledgers that were joined do not have all tasks. The text says what is missing and how to count it.
    #[error("{0}")]
    Incomplete(String),
    /// The user interrupted the command.
    #[error("{0}")]
    Interrupted(String),
    /// Whoever read standard output has gone away, so that the rest is for nobody.
    #[error("nobody reads standard output any more")]
    Unread,
    /// This program has a fault.
    #[error("internal fault: {0:#}; nothing that was accepted is lost, please report this")]
    Internal(#[from] anyhow::Error),
}

impl Failure {
    /// Says it on standard error, in one line; but who has read enough need not be told so.
    pub fn tell(&self) {
        if matches!(self, Failure::Unread) {
            return;
        }
        output::tell(format_args!("queens: {}\n", visible(&self.to_string())));
    }

    /// The exit code, as docs/EXIT-CODES.md says. Code 2 is also the one of wrong options.
    pub fn code(&self) -> u8 {
        match self {
            Failure::NoPlacement(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Plan(_) | Failure::Memory(_) | Failure::States(_) | Failure::Refused(_) => 3,
            Failure::Job(_) | Failure::NoSuchJob(_) => 4,
            Failure::Unreachable { .. } | Failure::GaveUp { .. } => 5,
            Failure::Token { .. }
            | Failure::Forbidden(_)
            | Failure::SecretFile { .. }
            | Failure::Impostor { .. } => 6,
            Failure::LedgerHeld { .. } | Failure::LedgerBusy { .. } => 7,
            Failure::LedgerOfAnotherPlan { .. } => 8,
            Failure::LedgerCorrupt { .. } | Failure::NoLedger { .. } => 9,
            Failure::LedgerOpen { .. }
            | Failure::LedgerWrite { .. }
            | Failure::LedgerGone { .. }
            | Failure::Output { .. } => 10,
            Failure::Listen { .. } => 11,
            Failure::Incompatible(_) | Failure::LedgerVersion { .. } => 12,
            Failure::NoTotal(..) | Failure::LedgerUnsettled { .. } | Failure::Incomplete(_) => 13,
            Failure::Miscounted
            | Failure::Distrusted { .. }
            | Failure::Conflict { .. }
            | Failure::Disagreement { .. }
            | Failure::NotReproduced { .. }
            | Failure::Census(_)
            | Failure::SelfTest(_)
            | Failure::DeviceSelfTest(executor::DeviceSelfTestError::Miscount(_)) => 14,
            Failure::Undecided { .. } => 15,
            Failure::Bundle { .. } => 16,
            Failure::JobHeld { .. } | Failure::TotalHeld { .. } => 17,
            Failure::NoDevice(_) | Failure::Device(_) | Failure::DeviceSelfTest(_) => 18,
            Failure::Coordinator { .. } | Failure::Internal(_) => 70,
            // EX_TEMPFAIL of sysexits.h: schedulers can be told to start such a task again.
            Failure::Stopped(_) => 75,
            Failure::Interrupted(_) => 130,
            // What a shell says of a program that SIGPIPE has ended.
            Failure::Unread => 141,
        }
    }
}

/// The ranges that look worst, the worst first. Names are the workers' own, so they are escaped.
pub(crate) fn worst(held: &Held) -> String {
    let one = |Suspect { range, count, worker, maker }: &Suspect| {
        let who = format!("{worker}, {maker}");
        format!("{range} counts {count} by {}", who.escape_debug())
    };
    held.worst.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn suspects(held: &Held) -> String {
    if held.worst.is_empty() {
        String::new()
    } else {
        format!("; the ranges that look worst: {}", worst(held))
    }
}

/// What to do about a total that contradicts what is known.
fn way_out(ledger: Option<&Path>) -> String {
    match ledger {
        Some(ledger) => format!(
            "serve the ledger with `queens coordinator --ledger {}` and two other workers, and let `queens \
             audit` have them counted again",
            ledger.display()
        ),
        None => "count it again on another machine, and report this".into(),
    }
}

impl From<Failure> for ExitCode {
    fn from(failure: Failure) -> ExitCode {
        ExitCode::from(failure.code())
    }
}
