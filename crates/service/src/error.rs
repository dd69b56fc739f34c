//! What can go wrong with a running farm.

use std::path::PathBuf;

use board::CutError;
use ledger::LedgerError;

use crate::coordinator::HubGone;

/// Why a coordinator, a worker or a client ends before its work is done.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The ledger fails.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// There is no such plan.
    #[error(transparent)]
    Plan(#[from] CutError),
    /// The address of the coordinator cannot be used.
    #[error("cannot use the address {url}: {reason}")]
    Url {
        /// As it was given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No coordinator answers.
    #[error("no coordinator answers at {url} ({reason})")]
    Unreachable {
        /// Where it was looked for.
        url: String,
        /// What the attempt came back with.
        reason: String,
    },
    /// The coordinator refuses the token.
    #[error("the coordinator at {url} refuses this token")]
    Token {
        /// Which coordinator.
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
    /// The address to listen on cannot be bound.
    #[error("cannot listen on {address}: {reason}")]
    Listen {
        /// Where.
        address: String,
        /// Why not.
        reason: String,
    },
    /// Two versions of the program must not work together.
    #[error("{0}")]
    Incompatible(String),
    /// The coordinator does not trust this worker any more.
    #[error("the coordinator at {url} does not trust this worker any more: {reason}")]
    Distrusted {
        /// Which coordinator.
        url: String,
        /// Its words.
        reason: String,
    },
    /// The coordinator is stopping.
    #[error(transparent)]
    Stopping(#[from] HubGone),
    /// A fault of this program.
    #[error("{0:#}")]
    Internal(#[from] anyhow::Error),
}
