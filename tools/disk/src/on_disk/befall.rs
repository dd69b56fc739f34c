//! What happens to the files of a ledger while nobody uses them.

use std::fs;
use std::path::{Path, PathBuf};

use histories::Random;
use ledger::FaultKind;

use super::{End, LedgerOnDisk, Weather};

impl LedgerOnDisk {
    /// What rots, and what vanishes, between two lives.
    ///
    /// # Errors
    ///
    /// Why the ledger was refused without a log that has vanished.
    ///
    /// # Panics
    ///
    /// If it says the wrong thing about the log, or goes on without it.
    pub fn befall(&mut self, random: &mut Random) -> Result<(), End> {
        let log = self.log();
        let rots = self.weather == Weather::Rotting && !self.has_lied;
        if rots && self.path.exists() && random.percent(40) {
            let has_log = fs::metadata(&log).is_ok_and(|log| log.len() > 0);
            let is_log = has_log && random.percent(50);
            let file = if is_log { log } else { self.path.clone() };
            self.rot(random, &file);
        } else if random.percent(5) && log.exists() {
            return self.vanish(random, &log);
        }
        Ok(())
    }

    fn rot(&mut self, random: &mut Random, file: &Path) {
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
        self.trace(|| format!("{what} of the {} rots", if is_log { "log" } else { "file" }));
        match is_log {
            true => self.tally.rotten_logs += 1,
            false => self.tally.rotten_ledgers += 1,
        }
    }

    fn vanish(&mut self, random: &mut Random, log: &Path) -> Result<(), End> {
        let content = self.disk.lose(log).expect("it is there");
        self.trace(|| format!("the log of {} bytes vanishes", content.len()));
        self.tally.vanished += 1;
        self.disk.calm();
        match self.open_unjudged() {
            Ok(ledger) => {
                self.ledger = Some(self.judge(ledger)?);
                self.die(random);
            }
            Err(fault) => {
                self.trace(|| format!("refused: {fault}"));
                let is_said = fault.to_string().contains("are missing: put that file beside it");
                if !self.has_lied {
                    // The page that says that it was closed may be half written: then it is damaged without its log.
                    assert!(is_said || fault.kind() == FaultKind::Damaged, "{fault}");
                } else if !is_said {
                    return Err(self.refused(&fault));
                }
                self.disk.bring_back(log, &content);
                self.tally.missed += 1;
            }
        }
        Ok(())
    }

    fn log(&self) -> PathBuf {
        self.path.with_file_name("ledger.db-wal")
    }
}
