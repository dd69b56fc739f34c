//! Every failure that is expected: a sentence that says what to do next, and an exit code.

mod causes;

use std::fmt::{self, Display, Formatter};
use std::path::Path;

use crate::stderr::{self, visible};

/// The reason why a command ended without its result, as a sentence. Each variant has an exit code of its own.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The placement does not exist.
    NoPlacement(String),
    /// The options are wrong or do not fit together.
    Usage(String),
    /// The board, or the cut of it, cannot be counted.
    Plan(String),
    /// The job does not exist, or is over.
    NoSuchJob(String),
    /// No coordinator answers.
    Unreachable(String),
    /// A secret is refused, is unusable or does not allow this, or the peer is not the coordinator.
    Secret(String),
    /// Another process holds the ledger.
    LedgerLocked(String),
    /// The ledger holds another job.
    AnotherPlan(String),
    /// The ledger cannot be trusted, or is none.
    LedgerDamaged(String),
    /// The ledger cannot be opened or written, or the result cannot be written.
    Unwritten(String),
    /// The address to listen on cannot be bound.
    Listen(String),
    /// Two versions of the program cannot work together.
    Incompatible(String),
    /// There is no total: tasks are missing, or ranges wait for a second count.
    Incomplete(String),
    /// A machine miscounts, or this program has a fault.
    Miscounted(String),
    /// A placement was neither found nor proven not to exist.
    Undecided(String),
    /// The bundle contradicts itself, or its counts differ from those of this machine.
    Bundle(String),
    /// The total contradicts what is known.
    Suspended(String),
    /// A graphics processor is missing, or fails.
    Device(String),
    /// A batch system is missing or refuses its command, or its jobs fail.
    BatchSystem(String),
    /// This program or the coordinator has a fault.
    Internal(String),
    /// The count was asked to stop, and a ledger keeps the work. The text says how far it came.
    Stopped(String),
    /// The user interrupted the command.
    Interrupted(String),
    /// Nobody reads standard output any more.
    Unread,
}

impl Failure {
    /// No coordinator answers at `url`.
    pub(crate) fn unreachable(url: &str, reason: &str) -> Failure {
        Failure::Unreachable(format!(
            "no coordinator answers at {url} ({reason}); start one with `queens coordinator`, or name another with \
             --coordinator or, if it serves TLS, --join-file"
        ))
    }

    /// The system refuses a thread.
    pub(crate) fn no_thread() -> Failure {
        let text = "the system refuses a thread: allow more processes (`ulimit -u`, `pids.max` of a container, TasksMax= of \
                    systemd), or count with fewer --threads";
        Failure::Plan(text.into())
    }

    /// The system refuses an open file.
    pub(crate) fn no_file() -> Failure {
        Failure::Plan("the system refuses an open file: allow more (`ulimit -n`)".into())
    }

    /// The result cannot be written to `what`.
    pub(crate) fn output(what: impl Display, reason: impl Display) -> Failure {
        Failure::Unwritten(format!("cannot write to {what}: {reason}"))
    }

    /// The bundle contradicts itself, or its counts are wrong.
    pub(crate) fn bundle(path: &Path, reason: impl Display) -> Failure {
        Failure::Bundle(format!("the bundle {} does not hold: {reason}", path.display()))
    }

    /// A total that was counted here, or that a ledger has, contradicts a known fact.
    pub(crate) fn total_suspended(
        what: impl Display,
        reason: &str,
        ledger: Option<&Path>,
    ) -> Failure {
        let way_out = match ledger {
            Some(ledger) => format!(
                "serve the ledger with `queens coordinator --ledger {}` and two other workers, and let `queens audit --all` \
                 have all of it counted again",
                ledger.display()
            ),
            None => "count it again on another machine, and report this".into(),
        };
        Failure::Suspended(format!("{what}: {reason}; {way_out}"))
    }

    /// Prints it on standard error, in one line. Nothing is printed if nobody reads standard output any more.
    pub(crate) fn report(&self) {
        if !matches!(self, Failure::Unread) {
            stderr::print(format_args!("queens: {}\n", visible(&self.to_string())));
        }
    }

    /// The exit code, as docs/EXIT-CODES.md says. Code 2 is also the one of wrong options.
    pub(crate) fn code(&self) -> u8 {
        self.parts().0
    }

    /// Ends the process.
    pub(crate) fn exit(&self) -> ! {
        self.report();
        std::process::exit(self.code().into());
    }

    fn parts(&self) -> (u8, &str) {
        match self {
            Failure::NoPlacement(text) => (1, text),
            Failure::Usage(text) => (2, text),
            Failure::Plan(text) => (3, text),
            Failure::NoSuchJob(text) => (4, text),
            Failure::Unreachable(text) => (5, text),
            Failure::Secret(text) => (6, text),
            Failure::LedgerLocked(text) => (7, text),
            Failure::AnotherPlan(text) => (8, text),
            Failure::LedgerDamaged(text) => (9, text),
            Failure::Unwritten(text) => (10, text),
            Failure::Listen(text) => (11, text),
            Failure::Incompatible(text) => (12, text),
            Failure::Incomplete(text) => (13, text),
            Failure::Miscounted(text) => (14, text),
            Failure::Undecided(text) => (15, text),
            Failure::Bundle(text) => (16, text),
            Failure::Suspended(text) => (17, text),
            Failure::Device(text) => (18, text),
            Failure::BatchSystem(text) => (19, text),
            Failure::Internal(text) => (70, text),
            // EX_TEMPFAIL of sysexits.h. Schedulers can be set to start such a task again.
            Failure::Stopped(text) => (75, text),
            Failure::Interrupted(text) => (130, text),
            // A shell reports this code for a program that SIGPIPE has ended.
            Failure::Unread => (141, "nobody reads standard output any more"),
        }
    }
}

/// Fails with [`Failure::Usage`].
pub(crate) fn usage<T>(reason: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Usage(reason.into()))
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.parts().1)
    }
}
