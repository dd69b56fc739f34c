//! The errors of a running farm.

use std::fmt::Display;
use std::path::Path;

use board::PlanError;
use count::CountError;
use gpu::DeviceError;
use ledger::LedgerError;

/// The event loop has ended, because the process is about to end.
#[derive(Debug, thiserror::Error)]
#[error("the coordinator is stopping")]
pub struct CoordinatorGone;

/// Why a coordinator, a worker or a client ended before its work was done.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The method cannot cut the problem into tasks, or the board is too large.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The address of the coordinator cannot be used.
    #[error("{0}")]
    Url(String),
    /// No coordinator answers.
    #[error("no coordinator answers at {url} ({reason})")]
    Unreachable {
        /// The address of the coordinator.
        url: String,
        /// The reason that the attempt gave.
        reason: String,
    },
    /// There was no coordinator for longer than the worker may wait.
    #[error("there was no coordinator for too long ({0})")]
    GaveUp(String),
    /// The coordinator refuses the token.
    #[error("the coordinator at {url} refuses this token: {reason}")]
    Token {
        /// The address of the coordinator.
        url: String,
        /// The coordinator's explanation.
        reason: String,
    },
    /// A file with a secret cannot be used, a credential does not allow this, or another program
    /// answers instead of the coordinator.
    #[error("{0}")]
    Secret(String),
    /// The address to listen on cannot be bound.
    #[error("cannot listen on {address}: {reason}")]
    Listen {
        /// The address.
        address: String,
        /// Why it cannot be bound.
        reason: String,
    },
    /// Two versions of the program cannot work together.
    #[error("{0}")]
    Incompatible(String),
    /// The coordinator sent tasks that cannot be counted.
    #[error("the coordinator sent tasks that its plan does not have: {0}")]
    Tasks(#[from] CountError),
    /// A device that was asked for failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The coordinator does not trust this worker any more.
    #[error("{0}")]
    Distrusted(String),
    /// The coordinator is stopping.
    #[error(transparent)]
    Stopping(#[from] CoordinatorGone),
    /// This program has a fault.
    #[error("{0:#}")]
    Internal(#[from] anyhow::Error),
}

impl ServiceError {
    /// The file with a secret at `path` cannot be used.
    pub(crate) fn secret_file(path: &Path, reason: impl Display) -> ServiceError {
        ServiceError::Secret(format!("cannot use the secret in {}: {reason}", path.display()))
    }
}
