//! The real ledger in a file, beside the simulation's own rows: it is given the same commands and must answer alike, and
//! whenever a coordinator starts, it must hold the same. A coordinator that dies leaves it as a process leaves it that is killed.

use std::path::{Path, PathBuf};

use farm::{JobId, LedgerAnswer, LedgerCommand, Restored, Row, Times};
use ledger::{CheckedLedger, Ledger};
use tempfile::TempDir;

pub struct RealLedger {
    /// `None` while no coordinator has it.
    ledger: Option<Box<Ledger>>,
    path: PathBuf,
    _folder: TempDir,
}

impl RealLedger {
    /// One in a folder of its own, in memory where that has a place for files.
    pub fn new() -> RealLedger {
        let folder = match Path::new("/dev/shm") {
            memory if memory.is_dir() => TempDir::new_in(memory),
            _ => TempDir::new(),
        };
        let folder = folder.expect("a temporary directory");
        RealLedger { ledger: None, path: folder.path().join("ledger.db"), _folder: folder }
    }

    /// Makes commands durable, and returns the answers.
    pub fn write(&self, commands: &[LedgerCommand]) -> Vec<LedgerAnswer> {
        self.ledger().apply(commands).expect("the commands fit its rows")
    }

    /// Opens it for a coordinator that starts, and returns what that one is given.
    pub fn open(&mut self) -> Restored {
        let ledger = CheckedLedger::open(&self.path).and_then(CheckedLedger::begin);
        let mut ledger = ledger.expect("it is sound");
        let mut restored = ledger.take_restored();
        // The simulated rows know no wall clock.
        restored.jobs.iter_mut().for_each(|job| job.times = Times::default());
        self.ledger = Some(Box::new(ledger));
        restored
    }

    /// The accepted rows of a job.
    pub fn rows(&self, job: JobId) -> Vec<Row> {
        let mut rows = Vec::new();
        self.ledger().for_each_row(job, |row| rows.push(row)).expect("they can be read");
        rows
    }

    /// Closes it for a coordinator that was asked to stop.
    pub fn close(&mut self) {
        let ledger = self.ledger.take().expect("it is open");
        ledger.close().expect("it can be closed");
    }

    /// The coordinator's process is gone.
    pub fn die(&mut self) {
        self.ledger = None;
    }

    fn ledger(&self) -> &Ledger {
        self.ledger.as_deref().expect("it is open")
    }
}
