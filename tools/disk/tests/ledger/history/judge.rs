//! Whether a ledger may hold what it holds, and be refused as it is.

use farm::{JobId, Row, Standing};
use ledger::{FaultKind, Ledger, LedgerFault};

use super::{History, Opened};
use crate::model::{Content, State};

impl History {
    /// Compares what a ledger holds with what it must hold.
    pub(super) fn judge(&mut self, mut ledger: Ledger) -> Opened {
        let content = match Content::of(&ledger) {
            Ok(content) => content,
            Err(fault) => {
                self.trace(|| format!("not read: {fault}"));
                match self.explain(&fault) {
                    true => return Opened::Failed,
                    false => {
                        self.tally.refused_reading += 1;
                        return Opened::Refused;
                    }
                }
            }
        };
        self.note_strikes();
        let history = ledger.history();
        let standing = self.mark.map_or(Standing::Contained, |mark| history.standing(&mark));
        let decided = self.mark.map_or(0, |mark| mark.decisions);
        assert!(standing == Standing::Later || history.decisions >= decided, "{history:?}");
        let in_flight = self.in_flight.take().filter(|state| state.content() == content);
        let epoch = ledger.take_restored().epoch;
        let is_exact = content == self.present().content() || in_flight.is_some();
        if standing == Standing::Later {
            assert!(self.has_lied, "{history:?} lacks {:?}", self.mark);
            self.trace(|| "the mark tells that it is an older state".into());
            self.tally.older_refused += 1;
            return Opened::Refused;
        }
        if is_exact {
            self.trace(|| format!("exact, opening {epoch}"));
            self.tally.exact += 1;
            if self.present().content() != content {
                self.tally.in_flight += 1;
                self.past.extend(in_flight);
            }
            if !self.has_lied {
                assert!(epoch > self.epoch, "opened as {epoch} after {}", self.epoch);
            }
        } else {
            assert!(
                self.has_lied,
                "the ledger holds {content:#?}\nand must hold {:#?}",
                self.present().content()
            );
            self.judge_unlike(&content);
        }
        self.epoch = epoch;
        self.mark = history.mark();
        Opened::Open(Box::new(ledger))
    }

    /// What may be in a ledger that has lost something although nobody notices.
    fn judge_unlike(&mut self, content: &Content) {
        let is_decided = self.present().content().decisions() == content.decisions();
        let older = self.past.iter().rposition(|state| state.content() == *content);
        if let Some(older) = older.filter(|_| is_decided) {
            self.trace(|| format!("{} batches of counts are lost", self.past.len() - 1 - older));
            let is_end = self.past.len() - 1 - older <= 2;
            assert!(is_end || self.tally.rotten_logs == 0, "the middle of a log is lost");
            self.past.truncate(older + 1);
            self.tally.counted_again += 1;
            return;
        }
        self.trace(|| format!("{content:#?}\ninstead of {:#?}", self.present().content()));
        self.is_mixed = true;
        match is_decided {
            true => self.tally.mixed_counts += 1,
            false => self.tally.mixed_decisions += 1,
        }
        for (job, rows) in &content.rows {
            for row in rows {
                let was_there = self.past.iter().any(|state| holds(state, *job, row));
                assert!(was_there, "nobody has counted {row:?}");
            }
        }
    }

    /// Whether a fault comes from a call that has failed. Otherwise the ledger is refused for good reason.
    pub(super) fn explain(&mut self, fault: &LedgerFault) -> bool {
        self.note_strikes();
        let text = fault.to_string();
        let words = [
            "disk I/O error",
            "database or disk is full",
            "unable to open database file",
            "the disk fails or is full",
        ];
        // The words can be about what was rotten as well, when the code of the error is about a call that has failed.
        let is_io =
            words.iter().any(|words| text.contains(words)) || fault.kind() == FaultKind::Write;
        if self.has_failed && is_io {
            return true;
        }
        self.refused(fault)
    }

    /// Asserts that a ledger may be refused with this fault. Returns `false`.
    ///
    /// A file that was not a ledger yet is the only one that an honest disk may damage: SQLite takes a file that it has cut
    /// back to nothing for new, and removes the journal before the cut is synced.
    pub(super) fn refused(&mut self, fault: &LedgerFault) -> bool {
        if self.epoch == 0 && !self.has_lied && fault.kind() == FaultKind::Damaged {
            self.tally.never_begun += 1;
            return false;
        }
        assert!(self.has_lied, "refused without reason: {fault}");
        let text = fault.to_string();
        let is_right = match fault.kind() {
            FaultKind::Damaged | FaultKind::NoLedger | FaultKind::Version => true,
            // A disk that lies can lose the log, or the line in which the file names it.
            FaultKind::Open => {
                text.contains("are missing: put that file beside it")
                    || text.contains("cannot be begun: the disk fails")
            }
            _ => false,
        };
        assert!(is_right, "the wrong words, {:?}: {text}", fault.kind());
        false
    }
}

/// Whether a state holds a row, among those that are accepted.
pub(super) fn holds(state: &State, job: JobId, row: &Row) -> bool {
    let job = state.store.jobs.get(&job);
    job.and_then(|job| job.rows.get(&row.range.start())).is_some_and(|counted| counted.row == *row)
}
