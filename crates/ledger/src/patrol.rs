//! Reads the whole ledger again and again while it is served, because a disk may lose what is
//! rarely read.
//!
//! A round is a check as [`check_file`](super::check_file()) does it, in one transaction. It runs
//! on a thread of its own, and reads from the disk what the system still had in its memory. The
//! pause after a round is [`PAUSES`] times as long as the round, so that reading takes a twentieth
//! of a core, and damage is found within two rounds and their pauses.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::ErrorCode;

use super::{Evidence, LedgerFault, Result, looking};

/// How many times as long as a round the pause after it is.
const PAUSES: u32 = 19;
/// The shortest pause, and the one before the first round: the ledger was read when it was opened.
const SHORTEST: Duration = Duration::from_millis(if cfg!(test) { 50 } else { 10_000 });
/// The number of instructions of SQLite's machine after which a round looks whether it is to end.
const INSTRUCTIONS: i32 = 10_000;

/// The thread that reads a ledger. Dropping this ends it.
#[derive(Debug)]
pub(crate) struct Patrol {
    damage: Receiver<LedgerFault>,
    ends: Arc<AtomicBool>,
    /// Dropping this ends a pause.
    pause: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Is closed after the ledger: closing a file ends all locks that the process has on it.
    _file: Option<Arc<File>>,
}

impl Patrol {
    /// Begins to read the ledger in `path`.
    pub(crate) fn begin(path: &Path) -> Patrol {
        let (found, damage) = mpsc::channel();
        let (pause, pauses) = mpsc::channel();
        let ends = Arc::new(AtomicBool::new(false));
        let file = File::open(path).ok().map(Arc::new);
        let round = Round { path: path.into(), file: file.clone(), ends: ends.clone() };
        let read = move || {
            let mut pause = SHORTEST;
            while pauses.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let begun = Instant::now();
                // Damage is found twice, and what another program did meanwhile is not.
                match round.read().or_else(|_| round.read()) {
                    Err(fault) if is_damage(&fault) => return drop(found.send(fault)),
                    Err(_) if round.ends.load(Ordering::Relaxed) => return,
                    Err(fault) => tracing::warn!(%fault, "the ledger cannot be read again now"),
                    Ok(()) => {}
                }
                pause = SHORTEST.max(begun.elapsed() * PAUSES);
            }
        };
        let thread = thread::Builder::new().name("patrol".into()).spawn(read);
        let thread = Some(thread.expect("failed to spawn thread"));
        Patrol { damage, ends, pause: Some(pause), thread, _file: file }
    }

    /// What was found damaged, once.
    pub(crate) fn damage(&self) -> Option<LedgerFault> {
        self.damage.try_recv().ok()
    }

    /// Ends the thread, which reads nothing more then.
    pub(crate) fn end(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        self.pause = None;
        // If it panicked, the ledger is whole all the same.
        self.thread.take().map(JoinHandle::join);
    }
}

impl Drop for Patrol {
    fn drop(&mut self) {
        self.end();
    }
}

struct Round {
    path: PathBuf,
    file: Option<Arc<File>>,
    ends: Arc<AtomicBool>,
}

impl Round {
    fn read(&self) -> Result<()> {
        #[cfg(target_os = "linux")]
        if let Some(file) = &self.file {
            // What cannot be forgotten is read from memory.
            let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
        }
        let mut db = looking::reader(&self.path)?;
        let ends = self.ends.clone();
        db.progress_handler(INSTRUCTIONS, Some(move || ends.load(Ordering::Relaxed)))?;
        Evidence::checked_by(db, &self.path).map(drop)
    }
}

/// Whether this says that the ledger is damaged, or that the disk cannot read it.
fn is_damage(fault: &LedgerFault) -> bool {
    match fault {
        LedgerFault::Content(_) => true,
        LedgerFault::Sqlite(error) => error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom, Write};

    use crate::tests::{ledger_in, range, scratch};
    use crate::{LedgerEvent, LedgerFault, LedgerRequest, spawn};

    #[tokio::test]
    async fn a_page_that_is_damaged_while_the_ledger_is_served_ends_its_writer() {
        let (_folder, path) = scratch();
        let ledger = ledger_in(&path);
        let ranges: Vec<_> = (0..29).map(|at| range(11 + 3 * at, 13 + 3 * at, 1)).collect();
        ledger.apply(&ranges).expect("they are written");
        ledger.db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("it is SQL");
        let query = "SELECT (rootpage - 1) * (SELECT page_size FROM pragma_page_size) \
                     FROM sqlite_schema WHERE name = 'counts'";
        let page: u64 = ledger.db.query_row(query, [], |row| row.get(0)).expect("it is SQL");
        let mut served = spawn(ledger);

        // When nothing is damaged, it is served
        tokio::time::sleep(super::SHORTEST * 4).await;
        served.requests.send(LedgerRequest::Look).await.expect("it is served");
        assert!(served.events.try_recv().is_err(), "nothing has happened");
        // When a page is
        let mut file = std::fs::OpenOptions::new().write(true).open(&path).expect("it is there");
        file.seek(SeekFrom::Start(page)).expect("it is a file");
        file.write_all(&[0x5a; 2048]).expect("it can be written");
        let ended = async {
            while served.requests.send(LedgerRequest::Look).await.is_ok() {
                tokio::time::sleep(super::SHORTEST).await;
            }
            served.events.recv().await
        };
        let soon = std::time::Duration::from_secs(60);
        let event = tokio::time::timeout(soon, ended).await.expect("it is found");
        let Some(LedgerEvent::Failed(fault)) = event else { panic!("{event:?}") };
        assert!(matches!(fault, LedgerFault::Content(_)), "{fault}");
    }
}
