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
use std::io::{Seek, Write};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use farm::JobId;
use flate2::Compression;
use flate2::write::GzEncoder;
use ledger::{Draft, Evidence, LedgerFault, folder_of, unix_ms, with_suffix};
use prometheus_client::metrics::gauge::Gauge;
use tokio::io::AsyncReadExt;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::spawn_blocking;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Response, Status};
use wire::v1;

use super::{Credentials, Identity};
use crate::os::free_space;

/// The free space on the disk is checked again after this number of bytes of a bundle's text.
const BLOCK: usize = 1 << 20;
/// The most bundles that wait for their turn, are written or are sent at a time. Each may have a
/// file.
const PLACES: usize = 16;
/// Bytes on the disk of the ledger that bundles leave free.
const RESERVE: u64 = 256 << 20;
/// Bytes of a file in one answer.
const PIECE: usize = 256 << 10;
/// How long the network may take to accept an answer. Tests on a busy machine take longer.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 3_600 } else { 60 });

pub(super) type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Where the answers to a client go.
pub(super) struct Client<T>(mpsc::Sender<Result<T, Status>>);

impl<T> Client<T> {
    /// Waits until the next answer has room. It fails if the client is gone or takes nothing.
    async fn send(&self, answer: T) -> Result<(), Status> {
        let sent = self.0.send_timeout(Ok(answer), PATIENCE).await;
        sent.map_err(|_| Status::deadline_exceeded("nobody takes the answers"))
    }

    /// Waits until the next answer has room, for as long as the client stays. A person may pause
    /// what reads the answers.
    pub(super) async fn send_patiently(&self, answer: T) -> Result<(), Status> {
        let sent = self.0.send(Ok(answer)).await;
        sent.map_err(|_| Status::cancelled("nobody takes the answers"))
    }
}

impl Client<v1::Piece> {
    /// Sends what is left of a file, and the hash of it.
    async fn send_file(&self, file: File) -> Result<(), Status> {
        let mut file = tokio::fs::File::from_std(file);
        let mut hasher = blake3::Hasher::new();
        loop {
            let mut data = Vec::with_capacity(PIECE);
            let read = (&mut file).take(PIECE as u64).read_to_end(&mut data).await;
            let is_last = read.map_err(internal)? < PIECE;
            hasher.update(&data);
            let hash = if is_last { hasher.finalize().as_bytes().to_vec() } else { Vec::new() };
            self.send(v1::Piece { data, hash }).await?;
            if is_last {
                return Ok(());
            }
        }
    }
}

/// The answers that `make` sends, until the client goes or its credential ends.
pub(super) fn answers<T: Send + 'static, M>(
    identity: Identity,
    credentials: Credentials,
    make: impl FnOnce(Client<T>) -> M,
) -> Response<Answers<T>>
where
    M: Future<Output = Result<(), Status>> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(1);
    let make = make(Client(sender.clone()));
    tokio::spawn(async move {
        let end = tokio::select! {
            () = sender.closed() => return,
            status = credentials.ended(&identity) => Err(status),
            made = make => made,
        };
        if let Err(status) = end {
            let _ = sender.send_timeout(Err(status), PATIENCE).await;
        }
    });
    Response::new(Box::pin(ReceiverStream::new(receiver)))
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

    /// Writes the bundle of a job when its turn has come, and sends it. It fails if too many
    /// bundles are on their way.
    pub(super) async fn bundle(self, job: JobId, client: Client<v1::Piece>) -> Result<(), Status> {
        let ledger = self.ledger;
        let _place = self.bundles.try_acquire_owned().map_err(|_| {
            Status::resource_exhausted(format!(
                "{PLACES} bundles are being exported already; try again when one of them is done"
            ))
        })?;
        let turn = self.bundle.acquire_owned().await.map_err(internal)?;
        let listener = client.0.clone();
        let written = spawn_blocking(move || {
            let _turn = turn;
            write(&ledger, job, RESERVE, &|| listener.is_closed())
        });
        let failed = |error: anyhow::Error| {
            let reason = match error.downcast::<Status>() {
                Ok(status) => return status,
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
            Status::internal(reason)
        };
        client.send_file(written.await.map_err(internal)?.map_err(failed)?).await
    }

    /// Copies the ledger, and sends the copy with its hash. It fails if another copy is being made.
    pub(super) async fn copy(self, client: Client<v1::Piece>) -> Result<(), Status> {
        let ledger = self.ledger;
        let turn = self.copy.try_acquire_owned().map_err(|_| {
            Status::resource_exhausted("another copy is being made; try again when it is there")
        })?;
        let path = ledger.clone();
        let failed = |fault: LedgerFault| {
            let reason = fault.at(Some(&path)).to_string();
            tracing::error!(reason, "no copy of the ledger was made");
            Status::internal(reason)
        };
        let copied = spawn_blocking(move || {
            // The copy is beside the ledger, and is removed when it was sent.
            let draft = Draft::begin(&with_suffix(&ledger, ".sent"))?;
            draft.copy_from(&ledger)?;
            Ok((turn, File::open(draft.path())?, draft))
        });
        let (_turn, file, _draft) = copied.await.map_err(internal)?.map_err(failed)?;
        client.send_file(file).await?;
        self.copied_at.set(unix_ms() / 1_000);
        Ok(())
    }
}

fn internal(error: impl std::error::Error) -> Status {
    Status::internal(error.to_string())
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
    let evidence = Evidence::open(ledger)?;
    let job = evidence.jobs().iter().find(|job| job.stored.id == id);
    let job = job.ok_or_else(|| Status::not_found(format!("there is no job {id}")))?;
    let records = |see: &mut dyn FnMut(_) -> anyhow::Result<()>| {
        evidence.for_each(id, |record| {
            anyhow::ensure!(!is_unwanted(), "nobody wants it any more");
            see(record)
        })
    };
    let header = evidence::summary(job, unix_ms(), records)?;
    let folder = folder_of(ledger);
    let mut out = GzEncoder::new(tempfile::tempfile_in(folder)?, Compression::default());
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

    use board::{Method, Problem};
    use farm::{JobSpec, LedgerCommand, Origin, Party, Plan, Shard};
    use ledger::{CheckedLedger, Credential, Ledger, Role};
    use tempfile::TempDir;
    use tokio_stream::StreamExt;
    use tonic::Code;

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

    fn begin(downloads: &Downloads) -> Answers<v1::Piece> {
        let identity = Identity { owner: "ann".into(), role: Role::Viewer, credential: None };
        let credentials = Credentials::new(None, Vec::new());
        answers(identity, credentials, |client| downloads.clone().bundle(JOB, client)).into_inner()
    }

    /// Takes the next piece. Returns whether it is the last one.
    async fn next_is_last(bundle: &mut Answers<v1::Piece>) -> bool {
        let piece = bundle.next().await.expect("there is more").expect("it can be read");
        !piece.hash.is_empty()
    }

    #[tokio::test]
    async fn who_reads_slowly_holds_up_neither_the_log_nor_others() {
        let (_folder, path, ledger) = ledger();
        let downloads = Downloads::of(path.as_path().into(), Gauge::default());

        // Given clients that take no more than the first answers
        let mut begun = [(); PLACES - 1].map(|()| begin(&downloads));
        for bundle in &mut begun {
            assert!(!next_is_last(bundle).await);
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
        let mut bundle = begin(&downloads);
        while !next_is_last(&mut bundle).await {}
        assert!(bundle.next().await.is_none());
        let mut last = begin(&downloads);
        next_is_last(&mut last).await;
        let refused = begin(&downloads).next().await.expect("it says why");
        let refused = refused.expect_err("it has no place");
        assert_eq!(refused.code(), Code::ResourceExhausted);
        assert!(refused.message().contains("16 bundles are being exported already"), "{refused}");

        // And what was begun goes on, as it was, and makes room with its end.
        let [rest, other, ..] = &mut begun;
        while !next_is_last(rest).await {}
        assert!(rest.next().await.is_none());
        let mut again = begin(&downloads);
        next_is_last(&mut again).await;
        // A client that goes makes room too.
        drop(last);
        let makes_room = async {
            while begin(&downloads).next().await.expect("it says why").is_err() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(300), makes_room).await;
        in_time.expect("its place is free again");
        assert!(!next_is_last(other).await);
        while !next_is_last(&mut again).await {}
    }

    #[tokio::test]
    async fn a_ledger_that_cannot_be_read_is_named_as_what_fails() {
        let (_folder, path, ledger) = ledger();
        drop(ledger);
        fs::write(&path, "no ledger").expect("it can be written");
        let mut bundle = begin(&Downloads::of(path.as_path().into(), Gauge::default()));
        let refused = bundle.next().await.expect("it says why").expect_err("it is no ledger");
        assert!(refused.message().starts_with("the ledger cannot be read: "), "{refused}");
    }

    #[tokio::test]
    async fn files_of_bundles_have_no_names_and_leave_room_for_the_ledger() {
        let (folder, path, _ledger) = ledger();
        let names = || fs::read_dir(folder.path()).expect("it is there").count();
        let mut bundle = begin(&Downloads::of(path.as_path().into(), Gauge::default()));
        next_is_last(&mut bundle).await;
        // The ledger with its lock and its log. On Windows each file has a name until it is closed.
        assert_eq!(names(), if cfg!(windows) { 5 } else { 4 });

        let full = write(&path, JOB, u64::MAX, &|| false).expect_err("there is room for no byte");
        assert!(full.to_string().contains("stay free for the ledger"), "{full}");
    }

    /// The maker's end of answers, and what a client with this credential gets of them. Only number
    /// 1 is valid.
    fn made(credential: u8) -> (mpsc::Receiver<Client<u32>>, Answers<u32>) {
        let (owner, role) = (String::from("ann"), Role::Viewer);
        let valid = Credential {
            owner: owner.clone(),
            hash: [1; 32],
            ..crate::tests::credential(1, "", role)
        };
        let credentials = Credentials::new(None, vec![valid]);
        let identity = Identity { owner, role, credential: Some([credential; 32].into()) };
        let (sender, maker) = mpsc::channel(1);
        let make = |client: Client<u32>| async move {
            let _ = client.send(7).await;
            let _ = sender.send(client).await;
            std::future::pending().await
        };
        (maker, answers(identity, credentials, make).into_inner())
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_makes_answers_for_a_client_that_has_gone() {
        let (mut maker, mut sent) = made(1);
        assert_eq!(sent.next().await.expect("there is one").expect("it is no error"), 7);
        let client = maker.recv().await.expect("it makes the next");
        drop(sent);
        let closed = tokio::time::timeout(PATIENCE, client.0.closed()).await;
        closed.expect("it is told in time");
        assert!(maker.recv().await.is_none(), "nobody makes it any more");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_is_sent_to_patiently_may_pause_for_long() {
        let (mut maker, mut sent) = made(1);
        let client = maker.recv().await.expect("it makes the next");
        // The first one has taken the room.
        let second = tokio::spawn(async move { client.send_patiently(8).await });
        tokio::time::sleep(2 * PATIENCE).await;
        for expected in [7, 8] {
            assert_eq!(sent.next().await.expect("there is one").expect("no error"), expected);
        }
        second.await.expect("it does not panic").expect("the client stays");
    }

    #[tokio::test(start_paused = true)]
    async fn answers_end_with_the_credential_while_the_next_one_is_being_made() {
        let (_maker, mut sent) = made(2);
        let end = loop {
            if let Err(end) = sent.next().await.expect("it says why it ends") {
                break end;
            }
        };
        assert_eq!(end.code(), Code::Unauthenticated, "{end}");
    }
}
