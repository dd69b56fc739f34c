//! Bundles over the network: a job's evidence for whoever may see the job.
//!
//! ```text
//!   client                                    a thread of its own, with the ledger opened to be read
//!     what it has: header, number of bytes ──►  the header, from all rows (first pass)
//!                                                 the same header: goes on where the client stopped
//!                                                 another one: begins anew
//!     blocks of text, compressed          ◄──  the text, from all rows (second pass)
//! ```
//!
//! The ledger is read as it was at one moment, and the coordinator goes on meanwhile.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use evidence::Header;
use farm::JobId;
use ledger::{Evidence, LedgerFault, unix_ms};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc};
use tonic::Status;
use wire::v1;

use super::own_secrets::signing_key;
use crate::KeyFolder;

/// Bytes of text in one answer. Compressed, they are far fewer.
const BLOCK: usize = 1 << 20;

/// How many bundles are written at the same time.
const TURNS: usize = 2;

/// How long the receiver of a bundle may take for one answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Writes bundles from the coordinator's ledger, a few at a time.
#[derive(Clone)]
pub(super) struct Bundles {
    ledger: Option<PathBuf>,
    turns: Arc<Semaphore>,
}

/// A stream of answers.
pub(super) type Answers = mpsc::Receiver<Result<v1::ExportResponse, Status>>;

impl Bundles {
    pub(super) fn new(ledger: Option<&Path>) -> Bundles {
        Bundles { ledger: ledger.map(Path::to_path_buf), turns: Arc::new(Semaphore::new(TURNS)) }
    }

    /// Begins to write a bundle. Ends without a word if nobody takes it.
    ///
    /// # Errors
    ///
    /// A status, if there is no ledger or too many bundles are written now.
    pub(super) fn begin(&self, wanted: v1::ExportRequest) -> Result<Answers, Status> {
        let ledger = self.ledger.clone().ok_or_else(|| {
            Status::failed_precondition(
                "this coordinator keeps its ledger in memory, and exports nothing",
            )
        })?;
        let turn = self.turns.clone().try_acquire_owned().map_err(|_| {
            Status::resource_exhausted(format!(
                "{TURNS} bundles are being exported already; try again when one of them is done"
            ))
        })?;
        let (sender, receiver) = mpsc::channel(1);
        let reader = Reader { sender, runtime: Handle::current() };
        tokio::task::spawn_blocking(move || {
            let _turn = turn;
            if let Err(Stop::Because(status)) = reader.write(&ledger, &wanted) {
                let _ = reader.send(Err(status));
            }
        });
        Ok(receiver)
    }
}

/// Who takes a bundle.
struct Reader {
    sender: mpsc::Sender<Result<v1::ExportResponse, Status>>,
    runtime: Handle,
}

/// Why a bundle is not written to its end.
enum Stop {
    /// Nobody takes it any more.
    Gone,
    Because(Status),
}

impl From<LedgerFault> for Stop {
    fn from(fault: LedgerFault) -> Stop {
        tracing::warn!(%fault, "a bundle cannot be exported");
        Stop::Because(Status::internal(format!("the ledger cannot be read: {fault}")))
    }
}

impl Reader {
    fn send(&self, answer: Result<v1::ExportResponse, Status>) -> Result<(), Stop> {
        let sent = async { tokio::time::timeout(PATIENCE, self.sender.send(answer)).await };
        match self.runtime.block_on(sent) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Stop::Gone),
        }
    }

    fn write(&self, ledger: &Path, wanted: &v1::ExportRequest) -> Result<(), Stop> {
        let evidence = Evidence::open(ledger)?;
        let id = JobId(wanted.job);
        let job = evidence.jobs().iter().find(|job| job.id == id);
        let none = || Stop::Because(Status::not_found(format!("there is no job {id}")));
        let job = job.ok_or_else(none)?;
        let records = |see: &mut dyn FnMut(_) -> Result<(), Stop>| {
            evidence.in_bundle_order(id, |record| match self.sender.is_closed() {
                true => Err(Stop::Gone),
                false => see(record),
            })
        };
        // What the client has is continued if it is the beginning of what would be written now at the same time.
        let had = Header::read(&wanted.header);
        let exported_at = had.as_ref().map_or_else(unix_ms, |had| had.exported_at);
        let mut header = evidence::summary(job, exported_at, records)?;
        let goes_on = had.is_some_and(|had| had == header);
        if !goes_on {
            header.exported_at = unix_ms();
        }

        let skipped = if goes_on { wanted.offset } else { 0 };
        let (mut at, mut block) = (0_u64, Vec::with_capacity(BLOCK + (64 << 10)));
        let mut offset = skipped;
        let key = signing_key(&KeyFolder::beside(ledger)).map_err(|error| {
            tracing::warn!(%error, "a bundle cannot be signed");
            Stop::Because(Status::internal(format!("the bundle cannot be signed: {error}")))
        })?;
        evidence::text(job, &header, Some(&key), records, &mut |line| {
            let behind = skipped.saturating_sub(at).min(line.len() as u64);
            at += line.len() as u64;
            block.extend_from_slice(&line[behind as usize..]);
            if block.len() >= BLOCK {
                self.send(Ok(answer(offset, &block)?))?;
                offset += block.len() as u64;
                block.clear();
            }
            Ok(())
        })?;
        // The last answer says where the end is, even if nothing is left.
        self.send(Ok(v1::ExportResponse { is_last: true, ..answer(offset, &block)? }))
    }
}

fn answer(offset: u64, text: &[u8]) -> Result<v1::ExportResponse, Stop> {
    let zstd = zstd::bulk::compress(text, 3);
    let zstd = zstd.map_err(|error| Stop::Because(Status::internal(error.to_string())))?;
    let length = text.len() as u64;
    Ok(v1::ExportResponse { offset, length, zstd, is_last: false })
}
