//! Copies of the ledger for admins, made and sent while the farm goes on, one at a time.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ledger::{Draft, LedgerFault, unix_ms};
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::Semaphore;
use tonic::Status;
use wire::v1::BackupResponse;

use super::sending::{Stop, Taken, Taker};

/// Bytes in one message.
const PIECE: usize = 256 << 10;

/// Makes one copy at a time. Clones share that one.
#[derive(Clone)]
pub(super) struct Copies {
    ledger: Option<Arc<Path>>,
    turn: Arc<Semaphore>,
    /// When the last one was sent whole, in seconds since 1970.
    copied_at: Gauge,
}

impl Copies {
    /// Copies of this ledger, if it is in a file; `copied_at` is set after each.
    pub(super) fn of(ledger: Option<Arc<Path>>, copied_at: Gauge) -> Copies {
        Copies { ledger, turn: Arc::new(Semaphore::new(1)), copied_at }
    }

    /// Begins a copy.
    ///
    /// # Errors
    ///
    /// A status, if another one is being made, or the ledger is in memory.
    pub(super) fn begin(&self) -> Result<Taken<BackupResponse>, Status> {
        let Some(ledger) = self.ledger.clone() else {
            return Err(Status::failed_precondition("the ledger is in no file"));
        };
        let turn = self.turn.clone().try_acquire_owned().map_err(|_| {
            Status::resource_exhausted("another copy is being made; try again when it is there")
        })?;
        let copied_at = self.copied_at.clone();
        Ok(Taker::begin(move |taker| {
            let _turn = turn;
            let failed = |fault: LedgerFault| {
                let reason = fault.at(Some(&ledger)).to_string();
                tracing::error!(reason, "no copy of the ledger was made");
                Stop::Because(Status::internal(reason))
            };
            // A file beside the ledger, which is removed in the end.
            let beside = |end: &str| {
                let mut name = ledger.as_os_str().to_owned();
                name.push(end);
                PathBuf::from(name)
            };
            let draft = Draft::begin(beside(".sending"), &beside(".sent")).map_err(failed)?;
            draft.copy_from(&ledger).map_err(failed)?;
            let file = File::open(draft.path()).map_err(|error| failed(error.into()))?;
            send(file, taker, failed)?;
            copied_at.set(unix_ms() / 1_000);
            Ok(())
        }))
    }
}

/// Sends all bytes of a file, and their hash.
fn send(
    mut file: File,
    taker: &Taker<BackupResponse>,
    failed: impl Fn(LedgerFault) -> Stop,
) -> Result<(), Stop> {
    let mut hasher = blake3::Hasher::new();
    loop {
        let mut data = Vec::with_capacity(PIECE);
        let read = file.by_ref().take(PIECE as u64).read_to_end(&mut data);
        let is_last = read.map_err(|error| failed(error.into()))? < PIECE;
        hasher.update(&data);
        let hash = if is_last { hasher.finalize().as_bytes().to_vec() } else { Vec::new() };
        taker.send(BackupResponse { data, hash })?;
        if is_last {
            return Ok(());
        }
    }
}
