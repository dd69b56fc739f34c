//! A history of one ledger: its lives, and what befalls it.

mod ending;
mod judge;

use std::fs;
use std::path::{Path, PathBuf};

use disk::{Disk, Fault};
use farm::Mark;
use histories::{Random, mix};
use ledger::{CheckedLedger, FaultKind, Ledger, LedgerFault};
use tempfile::TempDir;

use crate::clients;
use crate::model::{Batch, State};
use crate::tally::Tally;

/// What a seed's disk may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weather {
    /// It fails and says so, and a log may vanish.
    Honest,
    /// It lies when it writes.
    Lying,
    /// What it has may rot.
    Rotting,
}

pub struct History {
    traced: bool,
    random: Random,
    weather: Weather,
    _folder: TempDir,
    path: PathBuf,
    disk: Disk,
    /// All states that were durable, the present one last.
    past: Vec<State>,
    /// What the ledger may hold too, because it was being written when its life ended.
    in_flight: Option<State>,
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

/// How a life goes on.
enum Opened {
    Open(Box<Ledger>),
    /// A call failed, which is no fault of the ledger.
    Failed,
    /// The ledger was refused for what the disk has done to it.
    Refused,
}

impl History {
    pub fn new(seed: u64, traced: bool) -> History {
        let mut random = Random::new(mix(seed));
        let weather = match random.below(100) {
            0..60 => Weather::Honest,
            60..80 => Weather::Lying,
            _ => Weather::Rotting,
        };
        let folder = match Path::new("/dev/shm") {
            memory if memory.is_dir() => TempDir::new_in(memory),
            _ => TempDir::new(),
        };
        let folder = folder.expect("a temporary directory");
        let disk = Disk::under(folder.path(), random.next());
        let path = folder.path().canonicalize().expect("it is there").join("ledger.db");
        History {
            traced,
            random,
            weather,
            _folder: folder,
            path,
            disk,
            past: vec![State::default()],
            in_flight: None,
            mark: None,
            epoch: 0,
            has_failed: false,
            has_lied: false,
            is_mixed: false,
            tally: Tally::default(),
        }
    }

    /// Lives through all of it.
    ///
    /// # Panics
    ///
    /// If anything is not as it should be.
    pub fn live(mut self) -> Tally {
        self.trace(|| "begins".into());
        for _ in 0..self.random.between(2, 5) {
            self.plan_trouble();
            if !self.life() {
                return self.tally;
            }
            if !self.befall() {
                return self.tally;
            }
        }
        self.disk.calm();
        if self.last_life() {
            self.tally.finished += 1;
        }
        self.tally
    }

    /// Plans a fault for this life, of which most of the calls open and close the ledger.
    fn plan_trouble(&mut self) {
        let random = &mut self.random;
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
        let spared = random.between(first, first + 3 * opening);
        self.trace(|| format!("{fault:?} is planned after {spared} calls"));
        self.disk.plan(fault, spared);
    }

    /// A life of the coordinator, up to the next time that it can start. Returns whether there is one.
    fn life(&mut self) -> bool {
        self.tally.lives += 1;
        self.has_failed = false;
        let ledger = match self.open() {
            Opened::Open(ledger) => ledger,
            Opened::Failed => {
                self.tally.failed_openings += 1;
                self.start_again();
                return true;
            }
            Opened::Refused => return false,
        };
        for _ in 0..self.random.scaled(1, 12) {
            let state = self.past.last().expect("there is a first one");
            let batch = clients::batch(&mut self.random, state);
            match self.write(&ledger, &batch) {
                Ok(true) => {}
                Ok(false) => {
                    self.tally.failed_batches += 1;
                    drop(ledger);
                    self.start_again();
                    return true;
                }
                Err(()) => return false,
            }
            if self.is_mixed {
                break;
            }
        }
        if self.random.percent(30) {
            match ledger.close() {
                Ok(_) => {
                    self.note_strikes();
                    self.tally.closed += 1;
                    // It may have been stopped where nothing depended on it any more.
                    if self.has_failed || self.random.percent(50) {
                        self.start_again();
                    }
                }
                Err(fault) => {
                    self.trace(|| format!("not closed: {fault}"));
                    if !self.explain(&fault) {
                        self.tally.refused_writing += 1;
                        return false;
                    }
                    self.start_again();
                }
            }
            return true;
        }
        self.disk.stop();
        drop(ledger);
        self.start_again();
        true
    }

    /// The process has ended in the middle of something, by itself or because it was killed.
    fn start_again(&mut self) {
        match self.random.percent(60) {
            true => self.cut_power(),
            false => {
                self.trace(|| "the process is gone".into());
                self.tally.kills += 1;
                self.disk.restart();
            }
        }
    }

    fn cut_power(&mut self) {
        self.trace(|| "the power fails".into());
        self.tally.power_cuts += 1;
        self.disk.restart_after_power_cut();
    }

    /// What happens to the files while nobody uses them. Returns whether the history goes on.
    fn befall(&mut self) -> bool {
        let log = self.log();
        let rots = self.weather == Weather::Rotting && !self.has_lied;
        if rots && self.path.exists() && self.random.percent(40) {
            let has_log = fs::metadata(&log).is_ok_and(|log| log.len() > 0);
            let is_log = has_log && self.random.percent(50);
            let file = if is_log { log } else { self.path.clone() };
            self.rot(&file);
        } else if self.random.percent(5) && log.exists() {
            return self.vanish(&log);
        }
        true
    }

    fn rot(&mut self, file: &Path) {
        let random = &mut self.random;
        let is_log = file != self.path;
        let mut what = String::new();
        self.disk.alter(file, |content| {
            let Some(last) = (content.len() as u64).checked_sub(1) else { return };
            let at = random.between(0, last) as usize;
            if random.percent(80) {
                content[at] ^= 1 << random.below(8);
                what = format!("a bit of byte {at}");
            } else {
                let sector = at / 512 * 512;
                let end = content.len().min(sector + 512);
                content[sector..end].fill(0);
                what = format!("the sector at {sector}");
            }
        });
        if what.is_empty() {
            return;
        }
        self.has_lied = true;
        self.trace(|| format!("{what} of {} rots", file.display()));
        match is_log {
            true => self.tally.rotten_logs += 1,
            false => self.tally.rotten_ledgers += 1,
        }
    }

    fn vanish(&mut self, log: &Path) -> bool {
        let content = self.disk.lose(log).expect("it is there");
        self.trace(|| format!("the log of {} bytes vanishes", content.len()));
        self.tally.vanished += 1;
        self.disk.calm();
        match self.open_unjudged() {
            Ok(ledger) => {
                let opened = self.judge(ledger);
                self.disk.stop();
                drop(match opened {
                    Opened::Open(ledger) => ledger,
                    Opened::Failed | Opened::Refused => return false,
                });
                self.start_again();
            }
            Err(fault) => {
                self.trace(|| format!("refused: {fault}"));
                let is_said = fault.to_string().contains("are missing: put that file beside it");
                if !self.has_lied {
                    // The page that says that it was closed may be half written: then it is damaged without its log.
                    assert!(is_said || fault.kind() == FaultKind::Damaged, "{fault}");
                } else if !is_said {
                    return self.refused(&fault);
                }
                self.disk.bring_back(log, &content);
                self.tally.missed += 1;
            }
        }
        true
    }

    fn open(&mut self) -> Opened {
        match self.open_unjudged() {
            Ok(ledger) => self.judge(ledger),
            Err(fault) => {
                self.trace(|| format!("not opened: {fault}"));
                match self.explain(&fault) {
                    true => Opened::Failed,
                    false => {
                        self.tally.refused_opening += 1;
                        Opened::Refused
                    }
                }
            }
        }
    }

    fn open_unjudged(&mut self) -> Result<Ledger, LedgerFault> {
        CheckedLedger::open(&self.path).and_then(CheckedLedger::begin)
    }

    /// Writes a batch. Returns whether it is durable, or that the ledger is refused.
    fn write(&mut self, ledger: &Ledger, batch: &Batch) -> Result<bool, ()> {
        self.trace(|| format!("{batch:?}"));
        let (next, expected) = self.present().after(batch);
        let written = batch.write(ledger);
        self.note_strikes();
        match written {
            Ok(answers) => {
                self.tally.batches += 1;
                if !self.has_lied {
                    assert_eq!(answers, expected);
                }
                self.past.push(next);
                self.mark = ledger.history().mark();
                Ok(true)
            }
            Err(fault) => {
                self.trace(|| format!("not written: {fault}"));
                self.in_flight = Some(next);
                match self.explain(&fault) {
                    true => Ok(false),
                    false => {
                        self.tally.refused_writing += 1;
                        Err(())
                    }
                }
            }
        }
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

    fn present(&self) -> &State {
        self.past.last().expect("there is a first one")
    }

    fn log(&self) -> PathBuf {
        self.path.with_file_name("ledger.db-wal")
    }

    fn trace(&self, what: impl FnOnce() -> String) {
        if self.traced {
            println!("{:?}: {}", self.weather, what());
        }
    }
}
