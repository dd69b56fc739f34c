//! The real ledger in a file, beside the simulation's own rows. It gets the same commands and must
//! give the same answers, and must restore the same state whenever a coordinator starts. A crashed
//! coordinator leaves it as a killed process does.

use std::path::{Path, PathBuf};

use farm::{JobId, LedgerAnswer, LedgerCommand, Restored, Row, Times};
use ledger::{CheckedLedger, Ledger};
use tempfile::TempDir;

pub struct RealLedger {
    /// `None` while no coordinator has opened it.
    ledger: Option<Box<Ledger>>,
    path: PathBuf,
    _folder: TempDir,
}

impl RealLedger {
    /// A ledger in its own folder, in memory if the system has a file system there.
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

    /// Opens it for a coordinator that starts, and returns the state for it.
    pub fn open(&mut self) -> Restored {
        let ledger = CheckedLedger::open(&self.path).and_then(CheckedLedger::begin);
        let mut ledger = ledger.expect("it is sound");
        let mut restored = ledger.take_restored();
        // The simulated rows have no wall clock.
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

    /// Leaves it as a killed process does.
    pub fn die(&mut self) {
        self.ledger = None;
    }

    fn ledger(&self) -> &Ledger {
        self.ledger.as_deref().expect("it is open")
    }
}
