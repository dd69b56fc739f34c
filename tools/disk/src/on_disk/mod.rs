//! The real ledger on a disk, and what it must hold.
//!
//! ```text
//!   life: open ── write, write, … ── close, kill or power cut      one fault is planned for most lives
//!     │                                   │
//!     │                                   └── rot, a vanished log
//!     └── exact: all that was acknowledged, and the batch in flight as a whole or not at all
//!         refused: with the sentence that fits what the disk has done
//! ```
//!
//! A model, the farm's own rules over rows in memory, says what the ledger must hold. A disk that says when it fails,
//! and loses only what was not synced, must cost nothing: every opening is exact, unless a call fails meanwhile. After a
//! disk has lied, a ledger may be refused. What was acknowledged may be missing then only if it is counts of a job that
//! is not done, which are counted again, or if a client's mark tells that the state is an older one ([`farm::History`]).

mod befall;
mod content;
mod judge;
mod tally;

use std::path::{Path, PathBuf};

use farm::{LedgerAnswer, Mark, Restored};
use histories::Random;
use ledger::{CheckedLedger, Ledger, LedgerFault};
use tempfile::TempDir;

pub use content::{Batch, Content, State};
pub use tally::Tally;

use crate::{Disk, Fault};

/// A ledger in a file of its own disk. Whoever uses it asserts at every call that it holds what it must.
#[derive(Debug)]
pub struct LedgerOnDisk {
    /// `None` while no coordinator has it open.
    ledger: Option<Box<Ledger>>,
    disk: Disk,
    path: PathBuf,
    _folder: TempDir,
    traced: bool,
    weather: Weather,
    /// What the ledger must hold.
    present: State,
    /// All batches that have led to it.
    past: Vec<Batch>,
    /// What the ledger may hold after all, because it was being written when its life ended.
    in_flight: Option<Batch>,
    /// What a coordinator is given when it opens the ledger.
    restored: Restored,
    /// What a client shows.
    mark: Option<Mark>,
    epoch: u64,
    /// Whether calls have failed in this life.
    has_failed: bool,
    /// Whether the disk has lied.
    has_lied: bool,
    /// Whether the ledger holds something that it never held before.
    is_mixed: bool,
    tally: Tally,
}

/// What a disk may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weather {
    /// It fails and says so, and a log may vanish.
    Honest,
    /// It lies when it writes.
    Lying,
    /// What it has may rot.
    Rotting,
}

/// A folder for a disk, in memory where that has a place for files.
///
/// # Panics
///
/// If there is no room for temporary files.
#[must_use]
pub fn folder() -> TempDir {
    let folder = match Path::new("/dev/shm") {
        memory if memory.is_dir() => TempDir::new_in(memory),
        _ => TempDir::new(),
    };
    folder.expect("a temporary directory")
}

/// Why a ledger cannot be used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A call failed, which is no fault of the ledger: it can be opened again.
    Failed,
    /// The ledger was refused for what the disk has done to it.
    Refused,
}

impl LedgerOnDisk {
    /// A disk without a ledger yet.
    ///
    /// # Panics
    ///
    /// If there is no room for temporary files.
    #[must_use]
    pub fn new(random: &mut Random, traced: bool) -> LedgerOnDisk {
        let weather = match random.below(100) {
            0..60 => Weather::Honest,
            60..80 => Weather::Lying,
            _ => Weather::Rotting,
        };
        let folder = folder();
        let disk = Disk::under(folder.path(), random.next());
        let path = folder.path().canonicalize().expect("it is there").join("ledger.db");
        LedgerOnDisk {
            ledger: None,
            disk,
            path,
            _folder: folder,
            traced,
            weather,
            present: State::default(),
            past: Vec::new(),
            in_flight: None,
            restored: Restored::default(),
            mark: None,
            epoch: 0,
            has_failed: false,
            has_lied: false,
            is_mixed: false,
            tally: Tally::default(),
        }
    }

    /// Plans a fault for the next life, most of whose calls open and close the ledger if `reach` is small: the fault
    /// strikes within so many times the calls of an opening.
    pub fn plan_trouble(&mut self, random: &mut Random, reach: u64) {
        let lies = self.weather == Weather::Lying && !self.has_lied && random.percent(60);
        let fault = match random.below(12) {
            _ if lies => random.pick(&[
                Fault::LossySyncError,
                Fault::LostWrite,
                Fault::LostWrite,
                Fault::Misdirected,
            ]),
            0..4 => Fault::Stop,
            4 => Fault::ReadError,
            5 => Fault::WriteError,
            6 => Fault::SyncError,
            7 => Fault::Full { writes: random.scaled(1, 20) },
            _ => return,
        };
        let opening = match fault {
            Fault::SyncError | Fault::LossySyncError => 8,
            Fault::ReadError => 60,
            _ => 25,
        };
        let first = random.pick(&[0, opening]);
        let spared = random.between(first, first + reach * opening);
        self.trace(|| format!("{fault:?} is planned after {spared} calls"));
        self.disk.plan(fault, spared);
    }

    /// Nothing goes wrong any more.
    pub fn calm(&mut self) {
        self.disk.calm();
    }

    /// Opens the ledger as a coordinator that starts, and compares what it holds with what it must hold.
    ///
    /// # Errors
    ///
    /// Why it is not open.
    pub fn open(&mut self) -> Result<(), End> {
        self.tally.lives += 1;
        self.has_failed = false;
        let opened = match self.open_unjudged() {
            Ok(ledger) => self.judge(ledger),
            Err(fault) => {
                self.trace(|| format!("not opened: {fault}"));
                Err(self.end(&fault, |tally| &mut tally.refused_opening))
            }
        };
        self.tally.failed_openings += u64::from(matches!(opened, Err(End::Failed)));
        self.ledger = Some(opened?);
        Ok(())
    }

    fn open_unjudged(&self) -> Result<Ledger, LedgerFault> {
        CheckedLedger::open(&self.path).and_then(CheckedLedger::begin)
    }

    /// Takes out what the coordinator was given that has opened the ledger.
    pub fn take_restored(&mut self) -> Restored {
        std::mem::take(&mut self.restored)
    }

    /// Writes a batch that fits what the ledger must hold, and returns the answers.
    ///
    /// # Errors
    ///
    /// Why it is not known to be durable.
    pub fn write(&mut self, batch: Batch) -> Result<Vec<LedgerAnswer>, End> {
        self.trace(|| format!("{batch:?}"));
        let ledger = self.ledger.as_deref().expect("it is open");
        let written = batch.write(ledger);
        let mark = ledger.history().mark();
        self.note_strikes();
        match written {
            Ok(answers) => {
                self.tally.batches += 1;
                self.mark = mark;
                if !self.is_mixed {
                    let expected = self.present.execute(&batch);
                    assert!(self.has_lied || answers == expected, "{answers:?}, not {expected:?}");
                    self.past.push(batch);
                }
                Ok(answers)
            }
            Err(fault) => {
                self.trace(|| format!("not written: {fault}"));
                self.in_flight = (!self.is_mixed).then_some(batch);
                let end = self.end(&fault, |tally| &mut tally.refused_writing);
                self.tally.failed_batches += u64::from(end == End::Failed);
                Err(end)
            }
        }
    }

    /// Reads all of the open ledger.
    ///
    /// # Errors
    ///
    /// Why it cannot be read.
    pub fn content(&mut self) -> Result<Content, End> {
        let content = Content::of(self.ledger.as_deref().expect("it is open"));
        content.map_err(|fault| {
            self.trace(|| format!("not read: {fault}"));
            self.end(&fault, |tally| &mut tally.refused_reading)
        })
    }

    /// Closes the ledger as a coordinator that was asked to stop.
    ///
    /// # Errors
    ///
    /// Why it is not known to be closed.
    pub fn close(&mut self) -> Result<(), End> {
        let closed = self.ledger.take().expect("it is open").close();
        if let Err(fault) = closed {
            self.trace(|| format!("not closed: {fault}"));
            return Err(self.end(&fault, |tally| &mut tally.refused_writing));
        }
        self.note_strikes();
        self.tally.closed += 1;
        Ok(())
    }

    /// Ends the process that has the ledger, if it has not ended by itself, and lets the next one start: the power has
    /// failed, or the process alone is gone.
    pub fn die(&mut self, random: &mut Random) {
        self.disk.stop();
        self.ledger = None;
        if random.percent(60) {
            self.trace(|| "the power fails".into());
            let losses = self.disk.restart_after_power_cut();
            self.tally.power_cuts += 1;
            self.tally.lost += u64::from(losses.lost);
            self.tally.torn += u64::from(losses.torn);
            self.tally.reordered += u64::from(losses.reordered);
        } else {
            self.trace(|| "the process is gone".into());
            self.tally.kills += 1;
            self.disk.restart();
        }
    }

    /// What the ledger must hold.
    #[must_use]
    pub fn present(&self) -> &State {
        &self.present
    }

    /// Whether it holds something that it never held before, so that nobody can say any more what it must hold.
    #[must_use]
    pub fn is_mixed(&self) -> bool {
        self.is_mixed
    }

    /// Whether the disk has lied.
    #[must_use]
    pub fn has_lied(&self) -> bool {
        self.has_lied
    }

    /// Whether calls have failed since it was opened.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// What has happened to it so far.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Notes which faults have struck.
    fn note_strikes(&mut self) {
        for fault in self.disk.struck() {
            self.trace(|| format!("{fault:?} strikes"));
            self.has_lied |= fault.is_silent();
            self.has_failed |= !matches!(fault, Fault::LostWrite | Fault::Misdirected);
            let tally = &mut self.tally;
            *match fault {
                Fault::Stop => &mut tally.stopped,
                Fault::ReadError => &mut tally.read_errors,
                Fault::WriteError => &mut tally.write_errors,
                Fault::SyncError => &mut tally.sync_errors,
                Fault::LossySyncError => &mut tally.lossy_syncs,
                Fault::Full { .. } => &mut tally.full,
                Fault::LostWrite => &mut tally.lost_writes,
                Fault::Misdirected => &mut tally.misdirected,
            } += 1;
        }
    }

    fn trace(&self, what: impl FnOnce() -> String) {
        if self.traced {
            println!("{:?}: {}", self.weather, what());
        }
    }
}
