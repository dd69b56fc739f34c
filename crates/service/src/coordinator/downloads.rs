//! Long answers to clients: bundles of jobs, and copies of the ledger.
//!
//! ```text
//!   client                      a thread of its own, with the ledger opened to be read
//!     which job             ──►  the header, from all rows (first pass)
//!                                the text, from all rows (second pass), into a file
//!     pieces of the file    ◄──  once it is written: as slowly as the client takes them
//! ```
//!
//! The ledger is read as it was at one moment, and the coordinator goes on meanwhile. SQLite's log
//! grows as long as the ledger is read. So that a slow client does not make it grow, a bundle or a
//! copy is written to a file before the client gets any of it, and one bundle and one copy are
//! written at a time.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use farm::{JobId, Refusal};
use ledger::{Draft, JobEvidence, LedgerFault, folder_of, unix_ms, with_suffix};
use prometheus_client::metrics::gauge::Gauge;
use tokio::io::AsyncReadExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::spawn_blocking;
use tokio_stream::wrappers::ReceiverStream;

use super::refused::Refused;
use super::{Credentials, Identity};
use crate::api::Code;
use crate::os::free_space;

/// The free space on the disk is checked again after this number of bytes of a bundle's text.
const BLOCK: usize = 1 << 20;
/// The most bundles that wait for their turn, are written or are sent at a time. Each may have a
/// file.
const PLACES: usize = 16;
/// Bytes on the disk of the ledger that bundles leave free.
const RESERVE: u64 = 256 << 20;
/// Bytes of a file that are read at a time.
const PIECE: usize = 256 << 10;
/// How long the network may take to accept a piece. Tests on a busy machine take longer.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 3_600 } else { 60 });

/// A file that is whole on the disk and waits to be sent.
pub(super) struct Download {
    file: File,
    /// The length of the file, by which a client tells its end from a cut.
    pub(super) bytes: u64,
    _place: OwnedSemaphorePermit,
    /// The file's name, which is removed when the file was sent.
    _draft: Option<Draft>,
    /// What notes that the file was sent whole.
    sent: Option<Gauge>,
}

impl Download {
    fn new(file: File, place: OwnedSemaphorePermit) -> io::Result<Download> {
        let bytes = file.metadata()?.len();
        Ok(Download { file, bytes, _place: place, _draft: None, sent: None })
    }

    /// The file as the body of an answer, until the client goes or takes nothing, or its credential
    /// ends. Then the body is cut, so that it is shorter than `bytes`.
    pub(super) fn body(self, identity: Identity, credentials: Credentials) -> Body {
        let (sender, receiver) = mpsc::channel(1);
        tokio::spawn(async move {
            let cut = tokio::select! {
                () = sender.closed() => return,
                refused = credentials.ended(&identity) => io::Error::other(refused.reason),
                sent = self.send(&sender) => match sent {
                    Ok(()) => return,
                    Err(cut) => cut,
                },
            };
            let _ = sender.send_timeout(Err(cut), PATIENCE).await;
        });
        Body::from_stream(ReceiverStream::new(receiver))
    }

    async fn send(self, out: &mpsc::Sender<io::Result<Bytes>>) -> io::Result<()> {
        let mut file = tokio::fs::File::from_std(self.file);
        loop {
            let mut data = Vec::with_capacity(PIECE);
            (&mut file).take(PIECE as u64).read_to_end(&mut data).await?;
            if data.is_empty() {
                break;
            }
            let sent = out.send_timeout(Ok(data.into()), PATIENCE).await;
            sent.map_err(|_| io::Error::other("nobody takes the file"))?;
        }
        self.sent.inspect(|at| _ = at.set(unix_ms() / 1_000));
        Ok(())
    }
}

/// Writes bundles and copies of the coordinator's ledger.
#[derive(Clone)]
pub(super) struct Downloads {
    ledger: Arc<Path>,
    /// The places of bundles.
    bundles: Arc<Semaphore>,
    /// The turn to write a bundle.
    bundle: Arc<Semaphore>,
    copy: Arc<Semaphore>,
    /// When the last copy was sent whole, in seconds since 1970.
    copied_at: Gauge,
}

impl Downloads {
    pub(super) fn of(ledger: Arc<Path>, copied_at: Gauge) -> Downloads {
        let [bundles, bundle, copy] = [PLACES, 1, 1].map(|places| Arc::new(Semaphore::new(places)));
        Downloads { ledger, bundles, bundle, copy, copied_at }
    }

    /// Writes the bundle of a job when its turn has come. It fails if too many bundles are on their
    /// way. If this call is given up, the bundle is not written to its end.
    pub(super) async fn bundle(&self, job: JobId) -> Result<Download, Refused> {
        let ledger = self.ledger.clone();
        let place = self.bundles.clone().try_acquire_owned().map_err(|_| {
            let reason = format!(
                "{PLACES} bundles are being exported already; try again when one of them is done"
            );
            Refused::new(Code::Busy, reason)
        })?;
        let turn = self.bundle.clone().acquire_owned().await.map_err(Refused::internal)?;
        let wanted = Arc::new(());
        let still_wanted = Arc::downgrade(&wanted);
        let written = spawn_blocking(move || {
            let _turn = turn;
            write(&ledger, job, RESERVE, &|| still_wanted.strong_count() == 0)
        });
        let written = written.await.map_err(Refused::internal)?;
        drop(wanted);
        let failed = |error: anyhow::Error| {
            let reason = match error.downcast::<Refusal>() {
                Ok(refusal) => return refusal.into(),
                Err(error) if error.is::<LedgerFault>() => {
                    format!("the ledger cannot be read: {error:#}")
                }
                Err(error) => {
                    format!(
                        "the bundle cannot be written beside the coordinator's ledger: {error:#}"
                    )
                }
            };
            tracing::warn!(reason, "no bundle was made");
            Refused::new(Code::Internal, reason)
        };
        Download::new(written.map_err(failed)?, place).map_err(Refused::internal)
    }

    /// Copies the ledger. It fails if another copy is being made or sent.
    pub(super) async fn copy(&self) -> Result<Download, Refused> {
        let ledger = self.ledger.clone();
        let turn = self.copy.clone().try_acquire_owned().map_err(|_| {
            Refused::new(Code::Busy, "another copy is being made; try again when it is there")
        })?;
        let path = ledger.clone();
        let failed = |fault: LedgerFault| {
            let reason = fault.at(Some(&path)).to_string();
            tracing::error!(reason, "no copy of the ledger was made");
            Refused::new(Code::Internal, reason)
        };
        let copied = spawn_blocking(move || {
            // The copy is beside the ledger, and is removed when it was sent.
            let draft = Draft::begin(&with_suffix(&ledger, ".sent"))?;
            draft.copy_from(&ledger)?;
            let whole = Download::new(File::open(draft.path())?, turn)?;
            Ok(Download { _draft: Some(draft), ..whole })
        });
        let whole = copied.await.map_err(Refused::internal)?.map_err(failed)?;
        Ok(Download { sent: Some(self.copied_at.clone()), ..whole })
    }
}

/// Writes the compressed bundle of a job, as the ledger has it now, into a file without a name
/// beside the ledger. The system removes the file when it is closed. It fails if fewer than
/// `reserve` bytes would stay free on the disk, and when `is_unwanted` says that nobody wants the
/// bundle any more.
fn write(
    ledger: &Path,
    id: JobId,
    reserve: u64,
    is_unwanted: &dyn Fn() -> bool,
) -> anyhow::Result<File> {
    let evidence = JobEvidence::open(ledger, id)?.ok_or(Refusal::NoSuchJob(id))?;
    let records = |see: &mut dyn FnMut(_) -> anyhow::Result<()>| {
        evidence.for_each(|record| {
            anyhow::ensure!(!is_unwanted(), "nobody wants it any more");
            see(record)
        })
    };
    let header = evidence::summary(evidence.job(), unix_ms(), records)?;
    let folder = folder_of(ledger);
    let mut out = evidence::gzip(tempfile::tempfile_in(folder)?);
    let mut unchecked = BLOCK;
    evidence::text(&header, records, &mut |line| {
        unchecked += line.len();
        if unchecked >= BLOCK {
            anyhow::ensure!(
                free_space(folder)? >= reserve.saturating_add(BLOCK as u64),
                "its disk has too little room, because {} MiB stay free for the ledger",
                reserve >> 20
            );
            unchecked = 0;
        }
        Ok(out.write_all(line)?)
    })?;
    let mut file = out.finish()?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use axum::body::BodyDataStream;
    use board::{Method, Problem};
    use farm::{JobSpec, LedgerCommand, Origin, Party, Plan, Shard};
    use ledger::{CheckedLedger, Credential, Ledger, Role};
    use tempfile::TempDir;
    use tokio_stream::StreamExt;

    use super::*;

    const JOB: JobId = JobId(1);

    fn create(job: JobId, origin: Origin) -> LedgerCommand {
        let plan =
            Plan { problem: Problem::Total { n: 8 }, method: Method::Rows { rows: 2 }, tasks: 100 };
        let spec = JobSpec { origin, plan, shard: Shard::ALL, priority: 0 };
        LedgerCommand::CreateJob { job, spec, audit: None }
    }

    /// A text of 16 KiB that cannot be compressed much.
    fn noise(number: u64) -> String {
        let line = |line: u64| blake3::hash(format!("{number} {line}").as_bytes()).to_hex();
        (0..256).map(|number| line(number).to_string()).collect()
    }

    /// A ledger in a folder of its own, with a job whose bundle has several pieces: the reasons of
    /// decisions are in all bundles.
    fn ledger() -> (TempDir, PathBuf, Ledger) {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.path().join("farm.db");
        let ledger = CheckedLedger::open(&path).and_then(CheckedLedger::begin);
        let ledger = ledger.expect("it is new");
        let decision = |number| {
            let party = Party { owner: "ann".into(), machine: None };
            LedgerCommand::Trust { party, trusted: true, reason: noise(number) }
        };
        let decisions = (0..3 * BLOCK as u64 / (16 << 10)).map(decision);
        let commands: Vec<_> = decisions.chain([create(JOB, Origin::of("ann"))]).collect();
        ledger.apply(&commands).expect("it is written");
        (folder, path, ledger)
    }

    /// Writes 512 other jobs, whose names have 8 MiB together.
    fn write_others(ledger: &Ledger, first: u64) {
        let job = |number| create(JobId(number), Origin::of(&noise(number)));
        let jobs: Vec<_> = (first..first + 512).map(job).collect();
        ledger.apply(&jobs).expect("it is written");
    }

    /// What a client with this credential gets of a file.
    fn taken(file: Download, credential: Option<u8>) -> BodyDataStream {
        let (owner, role) = (String::from("ann"), Role::Viewer);
        let valid = Credential {
            owner: owner.clone(),
            hash: [1; 32],
            ..crate::tests::credential(1, "", role)
        };
        let credentials = Credentials::new(None, vec![valid]);
        let credential = credential.map(|of| [of; 32].into());
        file.body(Identity { owner, role, credential }, credentials).into_data_stream()
    }

    async fn begin(downloads: &Downloads) -> (BodyDataStream, u64) {
        let file = downloads.bundle(JOB).await.expect("there is a place");
        let bytes = file.bytes;
        (taken(file, None), bytes)
    }

    /// Takes the next piece of a file, and returns how much is left of it.
    async fn take((body, left): &mut (BodyDataStream, u64)) -> u64 {
        let piece = body.next().await.expect("there is more").expect("it can be read");
        *left -= piece.len() as u64;
        *left
    }

    async fn take_all(file: &mut (BodyDataStream, u64)) {
        while take(file).await > 0 {}
        assert!(file.0.next().await.is_none());
    }

    #[tokio::test]
    async fn who_reads_slowly_holds_up_neither_the_log_nor_others() {
        let (_folder, path, ledger) = ledger();
        let downloads = Downloads::of(path.as_path().into(), Gauge::default());

        // Given clients that take no more than the first pieces
        let mut begun = Vec::new();
        for _ in 1..PLACES {
            let mut file = begin(&downloads).await;
            assert!(take(&mut file).await > 0);
            begun.push(file);
        }

        // Then the log is begun anew, whatever is written.
        let log = path.with_file_name("farm.db-wal");
        let length = || fs::metadata(&log).expect("the ledger is in use").len();
        write_others(&ledger, 1_000);
        let before = length();
        (2..6).for_each(|thousand| write_others(&ledger, 1_000 * thousand));
        assert!(length() < 2 * before, "it has grown from {before} to {} bytes", length());

        // And somebody else gets a bundle, whole, and then has the last place until it is taken to
        // its end.
        take_all(&mut begin(&downloads).await).await;
        let mut last = begin(&downloads).await;
        take(&mut last).await;
        let Err(refused) = downloads.bundle(JOB).await else { panic!("it has no place") };
        assert_eq!(refused.code, Code::Busy);
        assert!(refused.reason.contains("16 bundles are being exported already"), "{refused:?}");

        // And what was begun goes on, as it was, and makes room with its end.
        take_all(&mut begun[0]).await;
        let mut again = begin(&downloads).await;
        take(&mut again).await;
        // A client that goes makes room too.
        drop(last);
        let makes_room = async {
            while downloads.bundle(JOB).await.is_err() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(300), makes_room).await;
        in_time.expect("its place is free again");
        assert!(take(&mut begun[1]).await > 0);
        take_all(&mut again).await;
    }

    #[tokio::test]
    async fn a_ledger_that_cannot_be_read_is_named_as_what_fails() {
        let (_folder, path, ledger) = ledger();
        drop(ledger);
        fs::write(&path, "no ledger").expect("it can be written");
        let downloads = Downloads::of(path.as_path().into(), Gauge::default());
        let Err(refused) = downloads.bundle(JOB).await else { panic!("it is no ledger") };
        assert!(refused.reason.starts_with("the ledger cannot be read: "), "{refused:?}");
    }

    #[tokio::test]
    async fn files_of_bundles_have_no_names_and_leave_room_for_the_ledger() {
        let (folder, path, _ledger) = ledger();
        let names = || fs::read_dir(folder.path()).expect("it is there").count();
        let _bundle = begin(&Downloads::of(path.as_path().into(), Gauge::default())).await;
        // The ledger with its lock and its log. On Windows each file has a name until it is closed.
        assert_eq!(names(), if cfg!(windows) { 5 } else { 4 });

        let full = write(&path, JOB, u64::MAX, &|| false).expect_err("there is room for no byte");
        assert!(full.to_string().contains("stay free for the ledger"), "{full}");
    }

    #[tokio::test]
    async fn a_job_that_there_is_not_has_no_bundle() {
        let (_folder, path, _ledger) = ledger();
        let downloads = Downloads::of(path.as_path().into(), Gauge::default());
        let Err(refused) = downloads.bundle(JobId(2)).await else { panic!("there is no such job") };
        assert_eq!(refused.code, Code::NoSuchJob);
    }

    #[tokio::test]
    async fn a_file_is_cut_when_the_credential_ends() {
        let (_folder, path, _ledger) = ledger();
        let downloads = Downloads::of(path.as_path().into(), Gauge::default());
        let mut lengths = Vec::new();
        // Only number 1 is valid.
        for credential in [1, 2] {
            let file = downloads.bundle(JOB).await.expect("there is a place");
            let mut left = file.bytes;
            let mut body = taken(file, Some(credential));
            while let Some(Ok(piece)) = body.next().await {
                left -= piece.len() as u64;
            }
            lengths.push(left);
        }
        assert!(lengths[0] == 0 && lengths[1] > 0, "{lengths:?}");
    }
}
