//! Every failure that is expected: a sentence that says what to do next, and an exit code.

mod causes;
mod resources;

use std::fmt::{self, Display, Formatter};
use std::path::Path;

use crate::stderr;
use crate::terminal::Style;

/// Defines [`Failure`] from a list that has the meaning, the name and the exit code of each
/// variant. cli/exit-codes.md explains the codes to users.
macro_rules! failures {
    ($($(#[$what:meta])* $name:ident = $code:literal,)*) => {
        /// The reason why a command ended without its result, as a sentence for people. Each
        /// variant has an exit code of its own.
        #[derive(Debug)]
        pub(crate) enum Failure {
            $($(#[$what])* $name(String),)*
            /// Nobody reads standard output any more.
            Unread,
        }

        impl Failure {
            fn parts(&self) -> (u8, &str) {
                match self {
                    $(Failure::$name(text) => ($code, text),)*
                    // Shells report this code for a program that SIGPIPE has ended.
                    Failure::Unread => (141, "nobody reads standard output any more"),
                }
            }
        }
    };
}

failures! {
    /// The placement does not exist.
    NoPlacement = 1,
    /// The options are wrong or do not fit together.
    Usage = 2,
    /// The board is too large or cannot be counted in this way, or the coordinator cannot take the
    /// job.
    Plan = 3,
    /// The job does not exist, or its state refuses the request.
    NoSuchJob = 4,
    /// No coordinator answers.
    Unreachable = 5,
    /// A secret is refused, is unusable, is lost or does not allow this, or the peer is not the
    /// coordinator.
    Secret = 6,
    /// Another process has locked the ledger.
    LedgerLocked = 7,
    /// The ledger holds a job of another plan.
    AnotherPlan = 8,
    /// The ledger is damaged, or the file is no ledger.
    LedgerDamaged = 9,
    /// The ledger cannot be opened or written, or the result cannot be written.
    Unwritten = 10,
    /// The address to listen on cannot be bound.
    Listen = 11,
    /// Two versions of the program cannot work together, the other end breaks the protocol, or the
    /// format of a file is unknown.
    Incompatible = 12,
    /// There is no total: the job ended without one, tasks are missing, or ranges wait for a second
    /// count.
    Incomplete = 13,
    /// A machine miscounts, or a figure of the literature is not reproduced.
    Miscounted = 14,
    /// A placement was neither found nor proven not to exist.
    Undecided = 15,
    /// The bundle contradicts itself, or its counts differ from those of this machine.
    Bundle = 16,
    /// The total contradicts what is known.
    Suspended = 17,
    /// A graphics processor is missing, or fails.
    Device = 18,
    /// A batch system is missing or refuses its command, or its jobs fail.
    BatchSystem = 19,
    /// Another coordinator has begun to serve the ledger.
    LedgerTaken = 20,
    /// This program or the coordinator has a fault.
    Internal = 70,
    /// The count was asked to stop, and a ledger keeps the work. Or the system refuses a thread, an
    /// open file or memory.
    // It is EX_TEMPFAIL of sysexits.h. Schedulers can be set to start such a task again.
    Stopped = 75,
    /// The command was interrupted, or its time limit is over, and no ledger keeps the work.
    Interrupted = 130,
}

impl Failure {
    /// Adds the names of environment variables that may be the cause of this failure. `options` has
    /// the name of each option that a variable has set, if it has one, and the name of the
    /// variable. If the command was used wrongly, only options that the failure names and options
    /// without a name may be the cause.
    pub(crate) fn after(mut self, options: &[(Option<String>, String)]) -> Failure {
        use Failure::{Listen, Secret, Unreachable, Usage};
        let is_usage = matches!(self, Usage(_));
        if let Usage(text) | Unreachable(text) | Secret(text) | Listen(text) = &mut self {
            let may_cause = |option: &Option<String>| {
                !is_usage || option.as_deref().is_none_or(|option| text.contains(option))
            };
            let named = options.iter().filter(|(option, _)| may_cause(option));
            let names: Vec<&str> = named.map(|(_, name)| name.as_str()).collect();
            if !names.is_empty() {
                let verb = if names.len() == 1 { "is" } else { "are" };
                *text = format!("{text} ({} {verb} set)", names.join(", "));
            }
        }
        self
    }

    /// No coordinator answers at `url`.
    pub(crate) fn unreachable(url: &str, reason: &str) -> Failure {
        let here = ["http://127.0.0.1:", "http://localhost:"];
        let port = here.iter().find_map(|start| url.strip_prefix(start)?.parse::<u16>().ok());
        let listen = port.filter(|&port| port != service::PORT);
        let listen = listen.map_or(String::new(), |port| format!(" --listen {port}"));
        Failure::Unreachable(format!(
            "no coordinator answers at {url} ({reason}); start one with `queens coordinator{listen}`, or name another with \
             --coordinator or, if it serves TLS, --join-file"
        ))
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
                "serve the ledger with `queens coordinator --ledger {}` and two other workers, and let `queens audit JOB \
                 --all` have all of it counted again",
                ledger.display()
            ),
            None => "count it again on another machine, and report this".into(),
        };
        Failure::Suspended(format!("{what}: {reason}; {way_out}"))
    }

    /// Prints it on standard error, in one line. Nothing is printed if nobody reads standard output
    /// any more.
    pub(crate) fn report(&self) {
        if !matches!(self, Failure::Unread) {
            let name = stderr::painted(Style::Red, "queens:");
            stderr::print(format_args!("{name} {}\n", farm::visible(&self.to_string())));
        }
    }

    /// The exit code, which cli/exit-codes.md explains.
    pub(crate) fn code(&self) -> u8 {
        self.parts().0
    }

    /// Ends the process.
    pub(crate) fn exit(self) -> ! {
        let failure = self.of_resource();
        failure.report();
        std::process::exit(failure.code().into());
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
