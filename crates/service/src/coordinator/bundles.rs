//! Bundles over the network: a job's evidence for clients that may see the job.
//!
//! ```text
//!   client                                    a thread of its own, with the ledger opened to be read
//!     which job                           ──►  the header, from all rows (first pass)
//!                                               the text, from all rows (second pass), into a file
//!                                             the ledger is closed
//!     blocks of text, compressed          ◄──  the file, as slowly as the client takes it
//! ```
//!
//! The ledger is read as it was at one moment, and the coordinator goes on meanwhile. SQLite's log grows as long as the
//! ledger is read. So the bundle is written to a file before the client gets any of it, and one bundle is written at a time.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use farm::JobId;
use ledger::{Evidence, LedgerFault, unix_ms};
use tokio::sync::Semaphore;
use tonic::Status;
use wire::v1;

use super::sending::{Stop, Taken, Taker};
use crate::os::{folder_of, free_space};

/// Bytes of text in one answer. Compressed, they are far fewer.
const BLOCK: usize = 1 << 20;

/// The most bundles that wait for their turn, are written or are sent at a time. Each has a thread and a file.
const PLACES: usize = 16;

/// Bytes on the disk of the ledger that bundles leave free.
const RESERVE: u64 = 256 << 20;

/// Writes bundles from the coordinator's ledger, one at a time, and sends a few.
#[derive(Clone)]
pub(super) struct Bundles {
    ledger: Option<Arc<Path>>,
    turn: Arc<Semaphore>,
    places: Arc<Semaphore>,
}

impl Bundles {
    pub(super) fn new(ledger: Option<Arc<Path>>) -> Bundles {
        let [turn, places] = [1, PLACES].map(|number| Arc::new(Semaphore::new(number)));
        Bundles { ledger, turn, places }
    }

    /// Begins to write a bundle, and then sends it. Ends without a word if nobody takes it.
    ///
    /// # Errors
    ///
    /// A status, if there is no ledger or too many bundles are on their way now.
    pub(super) fn begin(&self, job: JobId) -> Result<Taken<v1::ExportResponse>, Status> {
        let ledger = self.ledger.clone().ok_or_else(|| {
            Status::failed_precondition(
                "this coordinator keeps its ledger in memory, and exports nothing",
            )
        })?;
        let place = self.places.clone().try_acquire_owned().map_err(|_| {
            Status::resource_exhausted(format!(
                "{PLACES} bundles are being exported already; try again when one of them is done"
            ))
        })?;
        let turn = self.turn.clone();
        Ok(Taker::begin(move |taker| {
            let _place = place;
            let turn = taker.wait(turn.acquire_owned())?;
            let written = write(&ledger, job, taker);
            drop(turn);
            written?.send(taker)
        }))
    }
}

impl From<LedgerFault> for Stop {
    fn from(fault: LedgerFault) -> Stop {
        tracing::warn!(%fault, "a bundle cannot be exported");
        Stop::Because(Status::internal(format!("the ledger cannot be read: {fault}")))
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        tracing::warn!(%error, "a bundle cannot be written or read again");
        Stop::Because(Status::internal(format!(
            "the bundle cannot be written beside the coordinator's ledger: {error}"
        )))
    }
}

/// Writes the bundle of a job, as the ledger has it now, unless the taker goes meanwhile.
fn write(ledger: &Path, id: JobId, taker: &Taker<v1::ExportResponse>) -> Result<Written, Stop> {
    let evidence = Evidence::open(ledger)?;
    let job = evidence.jobs().iter().find(|job| job.id == id);
    let none = || Stop::Because(Status::not_found(format!("there is no job {id}")));
    let job = job.ok_or_else(none)?;
    let records = |see: &mut dyn FnMut(_) -> Result<(), Stop>| {
        evidence.for_each(id, |record| if taker.is_gone() { Err(Stop::Gone) } else { see(record) })
    };
    let header = evidence::summary(job, unix_ms(), records)?;
    let mut block = Vec::with_capacity(BLOCK + (128 << 10));
    let mut written = Written::begin(ledger, RESERVE)?;
    evidence::text(&header, records, &mut |line| {
        block.extend_from_slice(line);
        if block.len() >= BLOCK {
            written.add(&block, false)?;
            block.clear();
        }
        Ok(())
    })?;
    // The last answer says where the end is, even if nothing is left.
    written.add(&block, true)?;
    Ok(written)
}

/// The answers of a bundle, in a file without a name beside the ledger. The system removes it when it is closed.
struct Written {
    file: File,
    folder: PathBuf,
    /// Bytes that stay free on the disk.
    reserve: u64,
    /// The answers without their text, and how many bytes of the file that is.
    answers: Vec<(v1::ExportResponse, usize)>,
}

impl Written {
    fn begin(ledger: &Path, reserve: u64) -> io::Result<Written> {
        let folder = folder_of(ledger).to_path_buf();
        let file = tempfile::tempfile_in(&folder)?;
        Ok(Written { file, folder, reserve, answers: Vec::new() })
    }

    fn add(&mut self, text: &[u8], is_last: bool) -> io::Result<()> {
        let gzip = evidence::compressed(text);
        let free = free_space(&self.folder)?;
        if free < self.reserve.saturating_add(gzip.len() as u64) {
            let reserve = self.reserve >> 20;
            let text = format!(
                "its disk has too little room, because {reserve} MiB stay free for the ledger"
            );
            return Err(io::Error::new(io::ErrorKind::StorageFull, text));
        }
        self.file.write_all(&gzip)?;
        let length = text.len() as u64;
        let answer = v1::ExportResponse { length, gzip: Vec::new(), is_last };
        self.answers.push((answer, gzip.len()));
        Ok(())
    }

    /// Sends it as slowly as the client takes it.
    fn send(mut self, taker: &Taker<v1::ExportResponse>) -> Result<(), Stop> {
        self.file.rewind()?;
        for (answer, bytes) in self.answers {
            let mut gzip = vec![0; bytes];
            self.file.read_exact(&mut gzip)?;
            taker.send(v1::ExportResponse { gzip, ..answer })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use board::{Method, Problem};
    use farm::{JobSpec, LedgerCommand, Origin, Party, Plan, Slice};
    use ledger::{CheckedLedger, Ledger};
    use tempfile::TempDir;

    use super::*;

    const JOB: JobId = JobId(1);

    /// A ledger in a folder of its own, with a job whose bundle has several blocks.
    fn ledger() -> (TempDir, PathBuf, Ledger) {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.path().join("farm.db");
        let ledger = CheckedLedger::open_again(&path).and_then(CheckedLedger::begin);
        let ledger = ledger.expect("it is new");
        let plan =
            Plan { problem: Problem::Total { n: 8 }, method: Method::Rows { rows: 2 }, tasks: 100 };
        let (job, origin, slice) = (JOB, Origin::of("ann"), Slice::ALL);
        let spec = JobSpec { origin, plan, slice, priority: 0 };
        let create = LedgerCommand::CreateJob { job, spec, audit: None };
        ledger.apply(&[create]).expect("it is written");
        grow(&ledger, 6 * BLOCK);
        (folder, path, ledger)
    }

    /// Writes decisions whose reasons have so many bytes together. They are in all bundles.
    fn grow(ledger: &Ledger, bytes: usize) {
        let party = Party { owner: "ann".into(), machine: None };
        let decision = LedgerCommand::Trust { party, trusted: true, reason: "r".repeat(16 << 10) };
        ledger.apply(&vec![decision; bytes / (16 << 10)]).expect("it is written");
    }

    async fn next(bundle: &mut Taken<v1::ExportResponse>) -> v1::ExportResponse {
        bundle.recv().await.expect("there is more").expect("it can be read")
    }

    #[tokio::test]
    async fn who_reads_slowly_holds_up_neither_the_log_nor_others() {
        let (_folder, path, ledger) = ledger();
        let bundles = Bundles::new(Some(path.as_path().into()));

        // Given clients that take no more than the first answers
        let begun = [(); PLACES - 1].map(|()| bundles.begin(JOB));
        let mut begun = begun.map(|bundle| bundle.expect("it has places"));
        for bundle in &mut begun {
            assert!(!next(bundle).await.is_last);
        }

        // Then the log is begun anew, whatever is written.
        let log = path.with_file_name("farm.db-wal");
        let length = || fs::metadata(&log).expect("the ledger is in use").len();
        grow(&ledger, 8 << 20);
        let before = length();
        (0..4).for_each(|_| grow(&ledger, 8 << 20));
        assert!(length() < 2 * before, "it has grown from {before} to {} bytes", length());

        // And somebody else gets a bundle, whole, and then has the last place until it is taken to
        // its end.
        let mut bundle = bundles.begin(JOB).expect("there is a place");
        while !next(&mut bundle).await.is_last {}
        assert!(bundle.recv().await.is_none());
        let last = bundles.begin(JOB).expect("there is a place again");
        let refused = bundles.begin(JOB).expect_err("it has no place").to_string();
        assert!(refused.contains("16 bundles are being exported already"), "{refused}");

        // And what was begun goes on, as it was, and makes room with its end.
        let [rest, ..] = &mut begun;
        while !next(rest).await.is_last {}
        assert!(rest.recv().await.is_none());
        // A client that goes makes room too, whether it waits for its turn or not.
        drop(last);
        let makes_room = async {
            while bundles.begin(JOB).is_err() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(300), makes_room).await;
        in_time.expect("its place is free again");
    }

    #[tokio::test]
    async fn files_of_bundles_have_no_names_and_leave_room_for_the_ledger() {
        let (folder, path, _ledger) = ledger();
        let names = || fs::read_dir(folder.path()).expect("it is there").count();
        let mut bundle = Bundles::new(Some(path.as_path().into())).begin(JOB);
        let bundle = bundle.as_mut().expect("there are places");
        next(bundle).await;
        // The ledger with its lock and its log.
        assert_eq!(names(), 4);

        let mut full = Written::begin(&path, u64::MAX).expect("there is room for no byte");
        let fault = Stop::from(full.add(b"text", true).expect_err("there is not so much room"));
        let Stop::Because(status) = fault else { panic!("somebody waits for it") };
        assert!(status.message().contains("stay free for the ledger"), "{status}");
    }
}
