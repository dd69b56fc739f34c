//! Which failure an error of another crate is, and what to do about it.

use executor::CountingError;
use ledger::{FaultKind, JoinError, LedgerError};
use service::ServiceError;
use service::local::LocalError;

use super::Failure;

impl From<LedgerError> for Failure {
    fn from(LedgerError { path, fault }: LedgerError) -> Failure {
        let reason = fault.to_string();
        match fault.kind() {
            FaultKind::Held => Failure::LedgerHeld { path },
            FaultKind::Busy => Failure::LedgerBusy { path },
            FaultKind::Damaged => Failure::LedgerCorrupt { path, reason },
            FaultKind::NoLedger => Failure::NoLedger { path },
            FaultKind::Version => Failure::LedgerVersion { path, reason },
            FaultKind::Open => Failure::LedgerOpen { path, reason },
            FaultKind::Gone => Failure::LedgerGone { path, reason },
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
            ServiceError::GaveUp { reason } => Failure::GaveUp { reason },
            ServiceError::Token { url, reason } => Failure::Token { url, reason },
            ServiceError::Forbidden(reason) => Failure::Forbidden(reason),
            ServiceError::SecretFile { path, reason } => Failure::SecretFile { path, reason },
            ServiceError::Impostor { url, reason } => Failure::Impostor { url, reason },
            ServiceError::Listen { address, reason } => Failure::Listen { address, reason },
            ServiceError::Incompatible(text) => Failure::Incompatible(text),
            ServiceError::Tasks(_) => Failure::Incompatible(format!(
                "{error}; run the same version of this program at both ends, or work for another \
                 coordinator"
            )),
            ServiceError::Device(error) => Failure::Device(error),
            ServiceError::Distrusted { url, reason } => Failure::Distrusted { url, reason },
            ServiceError::Stopping(gone) => Failure::Internal(gone.into()),
            ServiceError::Internal(error) => Failure::Internal(error),
        }
    }
}

impl From<CountingError> for Failure {
    fn from(error: CountingError) -> Failure {
        match error {
            CountingError::Device(error) => Failure::Device(error),
            CountingError::Count(error) => Failure::Internal(error.into()),
        }
    }
}

impl From<LocalError> for Failure {
    fn from(error: LocalError) -> Failure {
        match error {
            // Here the coordinator is this program, too.
            LocalError::Service(ServiceError::Tasks(error)) => Failure::Internal(error.into()),
            LocalError::Service(error) => error.into(),
            LocalError::Memory(error) => Failure::Memory(error),
            LocalError::Refused(refusal) => Failure::Job(refusal),
            LocalError::AnotherPlan { path, holds, wanted } => {
                Failure::LedgerOfAnotherPlan { path, holds, wanted }
            }
            LocalError::Unsettled { path, open } => Failure::LedgerUnsettled { path, open },
            LocalError::Miscounted => Failure::Miscounted,
            LocalError::Held { plan, held, ledger } => {
                Failure::TotalHeld { what: plan, held, ledger }
            }
            LocalError::Stopped { percent, ledger } => {
                let place = percent
                    .map_or("before counting began".into(), |percent| format!("at {percent:.1}%"));
                match ledger {
                    Some(path) => Failure::Stopped(format!(
                        "stopped {place}, and {} keeps what is counted",
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
