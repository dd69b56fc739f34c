//! The ledger as the coordinators of a history open and leave it.
//!
//! In most histories the ledger is in memory, and opening it again only reads it back. In the other
//! histories it is a file. A coordinator that crashes leaves the file as a machine does that loses
//! its power in the middle of a write: what was not synced is lost or torn (`lossy.rs`). The next
//! coordinator opens the file, which may have been replaced by an older copy.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use farm::{LedgerCommand, Restored, Times};
use ledger::{CheckedLedger, Evidence, Ledger};
use tempfile::TempDir;
use testkit::Random;

use crate::lossy::{self, Fails};

pub enum Disk {
    Memory(Rc<Ledger>),
    File {
        /// `None` while no coordinator has opened it.
        ledger: Option<Rc<Ledger>>,
        path: PathBuf,
        /// The state that the last coordinator left.
        left: Option<Box<Restored>>,
        _folder: TempDir,
    },
}

/// The files of a ledger, the second of which is its write-ahead log.
pub type Copy = [Vec<u8>; 2];

impl Disk {
    pub fn memory() -> Disk {
        let ledger = CheckedLedger::in_memory().and_then(CheckedLedger::begin);
        Disk::Memory(Rc::new(ledger.expect("SQLite needs nothing for it")))
    }

    /// A ledger in its own folder, in memory if the system has a file system there.
    pub fn file() -> Disk {
        let folder = match Path::new("/dev/shm") {
            memory if memory.is_dir() => TempDir::new_in(memory),
            _ => TempDir::new(),
        };
        let folder = folder.expect("a temporary directory");
        let path = folder.path().canonicalize().expect("it is there").join("ledger.db");
        lossy::install();
        Disk::File { ledger: None, path, left: None, _folder: folder }
    }

    /// Opens it for the coordinator of this epoch, and returns the state for it.
    pub fn open(&mut self, epoch: u64) -> Restored {
        let mut restored = match self {
            Disk::Memory(ledger) => Restored { epoch, ..read_back(ledger) },
            Disk::File { ledger, path, left, .. } => {
                let opened = CheckedLedger::open(path).and_then(CheckedLedger::begin);
                let mut opened = opened.expect("it is sound");
                let restored = Restored { epoch, ..opened.take_restored() };
                if let Some(left) = left.take() {
                    assert_eq!(restored, Restored { epoch, ..*left }, "what was durable stays");
                }
                *ledger = Some(Rc::new(opened));
                restored
            }
        };
        // The farm of a history knows no wall clock.
        restored.jobs.iter_mut().for_each(|job| job.stored.times = Times::default());
        restored
    }

    pub fn ledger(&self) -> &Rc<Ledger> {
        match self {
            Disk::Memory(ledger) => ledger,
            Disk::File { ledger, .. } => ledger.as_ref().expect("it is open"),
        }
    }

    pub fn is_file(&self) -> bool {
        matches!(self, Disk::File { .. })
    }

    /// Closes it for a coordinator that was asked to stop.
    pub fn close(&mut self) {
        let Disk::File { ledger, left, .. } = self else { return };
        let ledger = ledger.take().and_then(Rc::into_inner).expect("it is open");
        *left = Some(Box::new(read_back(&ledger)));
        ledger.close().expect("it can be closed");
    }

    /// The power will be cut soon: checkpoints are not complete from now on.
    pub fn fades(&self) {
        if self.is_file() {
            lossy::fail(Fails::Checkpoints);
        }
    }

    /// Leaves it as a machine that loses its power while it writes these commands. None of them is
    /// durable. Returns how many sectors of its files were lost.
    pub fn die<'a>(
        &mut self,
        commands: impl Iterator<Item = &'a LedgerCommand> + Clone,
        random: &mut Random,
    ) -> u64 {
        let files = self.is_file().then(|| self.files());
        let Disk::File { ledger, left, .. } = self else { return 0 };
        let ledger = ledger.take().and_then(Rc::into_inner).expect("it is open");
        *left = Some(Box::new(read_back(&ledger)));
        lossy::fail(Fails::Commits);
        let all = || commands.clone().try_for_each(|it| ledger.execute(it, 0).map(drop));
        let written = ledger.in_one_go(all);
        // These may find done what they ask for, and write nothing.
        let may_not = |it: &LedgerCommand| {
            it.is_look_up()
                || matches!(it, LedgerCommand::NoteCounted(_) | LedgerCommand::Doubt(..))
        };
        let writes = commands.clone().any(|command| !may_not(command));
        assert!(!writes || written.is_err(), "it was written without a sync");
        drop(ledger);
        files.into_iter().flatten().map(|file| lossy::cut_power(&file, random)).sum()
    }

    /// A copy of its files between two transactions.
    pub fn copy(&self) -> Copy {
        self.files().map(|file| fs::read(file).expect("it is there"))
    }

    /// Replaces its files, while no coordinator has it open.
    pub fn replace(&mut self, copy: &Copy) {
        for (file, bytes) in self.files().iter().zip(copy) {
            fs::write(file, bytes).expect("it can be written");
        }
        let Disk::File { left, .. } = self else { unreachable!("it has files") };
        *left = None;
    }

    fn files(&self) -> [PathBuf; 2] {
        let Disk::File { path, .. } = self else { unreachable!("only a file is copied") };
        [path.clone(), ledger::with_suffix(path, "-wal")]
    }

    /// Reads the ledger as evidence, while no coordinator writes it.
    pub fn evidence(&self) -> Evidence {
        let Disk::File { path, .. } = self else { unreachable!("only a file is evidence") };
        Evidence::open(path).expect("it is sound")
    }
}

fn read_back(ledger: &Ledger) -> Restored {
    ledger.read_back().expect("its rows fit together")
}
