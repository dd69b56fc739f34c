//! Turns errors of other crates into failures, and adds what to do about them.

use executor::{CountingError, DeviceSelfTestError};
use ledger::{LedgerError, LedgerFault};
use service::ServiceError;
use service::local::LocalError;

use super::Failure;

/// Implements `From` for errors. The sentence of the failure contains the error as `{0}`.
macro_rules! failures {
    ($($error:ty => $failure:ident, $sentence:literal;)*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                Failure::$failure(format!($sentence, error))
            }
        }
    )*};
}

failures! {
    board::PlanError => Plan, "{0}";
    literature::compare::Disagreement => Miscounted, "{0}";
    literature::states::StatesError =>
        Plan, "{0}: allow more with --memory, or count by another method";
    farm::Refusal => NoSuchJob, "{0}";
    count::AnswerError => Miscounted, "{0}; count again on another machine, and report this";
    count::SelfTestError => Miscounted, "{0}";
    executor::MissingDevice => Device, "{0}; `queens bench --list` shows what can count here";
    executor::DeviceError =>
        Device, "{0}; what it was counting was not counted: run the same command again, or with another --backend";
}

impl From<board::SquaresError> for Failure {
    fn from(error: board::SquaresError) -> Failure {
        match error {
            board::SquaresError::BoardTooLarge(_) => Failure::Plan(error.to_string()),
            _ => Failure::Usage(error.to_string()),
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Failure {
        match error.downcast_ref() {
            Some(count::CountingError::Threads(_)) => Failure::no_thread(),
            _ => Failure::Internal(format!(
                "internal fault: {error:#}; nothing that was accepted is lost, please report this"
            )),
        }
    }
}

impl From<DeviceSelfTestError> for Failure {
    fn from(error: DeviceSelfTestError) -> Failure {
        let text = error.to_string();
        match error {
            DeviceSelfTestError::Miscount { .. } => Failure::Miscounted(text),
            DeviceSelfTestError::Failed(_) => Failure::Device(text),
        }
    }
}

impl From<LedgerError> for Failure {
    fn from(LedgerError { path, fault }: LedgerError) -> Failure {
        let (ledger, reason) = (path.display(), fault.to_string());
        match fault {
            LedgerFault::Locked => Failure::LedgerLocked(format!(
                "the ledger {ledger} is locked by another process; stop that one, or name another file"
            )),
            LedgerFault::Taken => Failure::LedgerTaken(format!(
                "another coordinator has begun to serve the ledger {ledger}, on another machine or on a file system without \
                 locks, and this one ends; see that only one is started: everything accepted so far is safe"
            )),
            LedgerFault::Busy => Failure::LedgerLocked(format!(
                "the ledger {ledger} was read or locked by another program for a minute; end that one (a copy or an \
                 export that is being made, or `sqlite3`), then start again: everything accepted so far is safe"
            )),
            LedgerFault::Content(_) => Failure::LedgerDamaged(format!(
                "the ledger {ledger} is damaged ({reason}); nothing was changed in it: restore a copy, or start again \
                 with another file"
            )),
            LedgerFault::Lost(_) => Failure::LedgerDamaged(format!(
                "the ledger {ledger} is lost ({reason}); nothing was changed: put it or its latest copy in its place, or begin \
                 a new one there with --new of `queens coordinator` or `queens count`"
            )),
            LedgerFault::Version(_) => Failure::Incompatible(format!(
                "the ledger {ledger} cannot be used by this version ({reason}); use the version that made it, or another \
                 file"
            )),
            LedgerFault::File(_) => Failure::Unwritten(format!(
                "cannot open the ledger {ledger} ({reason}); give the name of a file that can be read and written, or \
                 made"
            )),
            LedgerFault::FileSystem(_) => Failure::Unwritten(format!(
                "the ledger {ledger} cannot be on this file system ({reason}); put it on a local disk, or on one that \
                 has what it needs: docs/OPERATIONS.md says which"
            )),
            LedgerFault::Linked => Failure::Unwritten(format!(
                "the ledger {ledger} cannot be locked: {reason}; remove the other name (`find FOLDER -samefile {ledger}` finds \
                 it), or use a copy (`queens backup --from {ledger} COPY`)"
            )),
            LedgerFault::Gone(_) => Failure::Unwritten(format!(
                "the ledger {ledger}: {reason} while it was in use; put it or its latest copy in its place, then start \
                 again: workers keep what was not acknowledged"
            )),
            LedgerFault::AnotherPlan { holds, wanted } => Failure::AnotherPlan(format!(
                "the ledger {ledger} holds {holds}, not {wanted}; use another file, or ask for what it holds"
            )),
            LedgerFault::Unsettled(open) => Failure::Incomplete(format!(
                "{open} ranges of the ledger {ledger} wait for another machine to count them again; serve it with \
                 `queens coordinator --ledger` and two or more workers until its job is done"
            )),
            LedgerFault::Conflict { .. } => Failure::Miscounted(format!(
                "the ledger {ledger} conflicts with the others: {reason}; one of the machines miscounts: count that shard \
                 again elsewhere, and leave the wrong ledger out"
            )),
            LedgerFault::Sqlite(_) | LedgerFault::Full(_) => Failure::Unwritten(format!(
                "cannot write the ledger {ledger} ({reason}); everything accepted so far is safe: make room or mend the \
                 disk, then start again with the same command"
            )),
        }
    }
}

impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Failure {
        let text = error.to_string();
        match error {
            ServiceError::Ledger(error) => error.into(),
            ServiceError::Plan(error) => error.into(),
            ServiceError::Url(_) => Failure::Usage(text),
            ServiceError::Unreachable { url, reason } => Failure::unreachable(&url, &reason),
            ServiceError::GaveUp(reason) => Failure::Unreachable(format!(
                "there was no coordinator for as long as --give-up-after says ({reason}); what this worker has not \
                 reported is counted again by others"
            )),
            ServiceError::Token { .. } => Failure::Secret(format!(
                "{text}; give one that is valid with --token-file FILE, or a join string with --join-file FILE"
            )),
            ServiceError::Secret(_) => Failure::Secret(text),
            ServiceError::Listen { .. } => {
                Failure::Listen(format!("{text}; choose another address with --listen"))
            }
            ServiceError::Incompatible(_) => Failure::Incompatible(text),
            ServiceError::Tasks(_) => Failure::Incompatible(format!(
                "{text}; run the same version of this program at both ends, or work for another coordinator"
            )),
            ServiceError::Device(error) => error.into(),
            ServiceError::Distrusted(_) => Failure::Miscounted(text),
            ServiceError::Stopping(gone) => anyhow::Error::from(gone).into(),
            ServiceError::Internal(error) => error.into(),
        }
    }
}

impl From<CountingError> for Failure {
    fn from(error: CountingError) -> Failure {
        match error {
            CountingError::Device(error) => error.into(),
            CountingError::Count(error) => anyhow::Error::from(error).into(),
        }
    }
}

impl From<LocalError> for Failure {
    fn from(error: LocalError) -> Failure {
        match error {
            // Here the coordinator is this program, too.
            LocalError::Service(ServiceError::Tasks(error)) => anyhow::Error::from(error).into(),
            LocalError::Service(error) => error.into(),
            LocalError::Refused(refusal) => refusal.into(),
            LocalError::Miscounted => Failure::Miscounted(
                "this machine counted the same range twice, with different results; do not trust it with counting \
                 before its memory and cooling are checked"
                    .into(),
            ),
            LocalError::Suspended { plan, reason, ledger } => {
                Failure::total_suspended(plan, &reason, ledger.as_deref())
            }
            LocalError::Stopped { percent, ledger } => {
                let place = percent
                    .map_or("before counting began".into(), |percent| format!("at {percent:.1}%"));
                match ledger {
                    Some(path) => Failure::Stopped(format!(
                        "stopped {place}, and {} keeps what is counted; the same command goes on from there",
                        path.display()
                    )),
                    None => Failure::Interrupted(format!(
                        "stopped {place}, and nothing is kept; --ledger FILE keeps the work"
                    )),
                }
            }
        }
    }
}
