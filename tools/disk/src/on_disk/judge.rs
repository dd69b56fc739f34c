//! Whether a ledger may hold what it holds, and be refused as it is.

use farm::rules::Jobs;
use farm::{JobId, Restored, Row, Standing};
use ledger::{FaultKind, Ledger, LedgerFault};

use super::{Content, End, LedgerOnDisk, State, Tally};

impl LedgerOnDisk {
    /// Compares what a ledger holds that was opened just now with what it must hold.
    pub(super) fn judge(&mut self, mut ledger: Ledger) -> Result<Box<Ledger>, End> {
        let content = Content::of(&ledger).map_err(|fault| {
            self.trace(|| format!("not read: {fault}"));
            self.end(&fault, |tally| &mut tally.refused_reading)
        })?;
        self.note_strikes();
        let history = ledger.history();
        let standing = self.mark.map_or(Standing::Contained, |mark| history.standing(&mark));
        let decided = self.mark.map_or(0, |mark| mark.decisions);
        assert!(standing == Standing::Later || history.decisions >= decided, "{history:?}");
        self.restored = ledger.take_restored();
        let epoch = self.restored.epoch;
        if standing == Standing::Later {
            assert!(self.has_lied, "{history:?} lacks {:?}", self.mark);
            self.trace(|| "the mark tells that it is an older state".into());
            self.tally.older_refused += 1;
            return Err(End::Refused);
        }
        if self.is_exact(&content) {
            self.trace(|| format!("exact, opening {epoch}"));
            self.tally.exact += 1;
            assert_eq!(self.restored, Restored { epoch, ..self.present.restored(Jobs::Live) });
            if !self.has_lied {
                assert!(epoch > self.epoch, "opened as {epoch} after {}", self.epoch);
            }
        } else if !self.is_mixed {
            assert!(
                self.has_lied,
                "the ledger holds {content:#?}\nand must hold {:#?}",
                self.present.content()
            );
            self.judge_unlike(&content);
        }
        self.epoch = epoch;
        self.mark = history.mark();
        Ok(Box::new(ledger))
    }

    /// Whether this is what the ledger must hold, with the batch in flight or without it.
    fn is_exact(&mut self, content: &Content) -> bool {
        let in_flight = self.in_flight.take();
        if *content == self.present.content() {
            return true;
        }
        let Some(batch) = in_flight else { return false };
        let mut next = self.present.clone();
        next.execute(&batch);
        let is_there = *content == next.content();
        if is_there {
            self.tally.in_flight += 1;
            self.present = next;
            self.past.push(batch);
        }
        is_there
    }

    /// What may be in a ledger that has lost something although nobody notices.
    fn judge_unlike(&mut self, content: &Content) {
        let is_decided = self.present.content().decisions() == content.decisions();
        let past: Vec<State> =
            (0..=self.past.len()).map(|batches| State::after(&self.past[..batches])).collect();
        let older = past.iter().rposition(|state| state.content() == *content);
        if let Some(older) = older.filter(|_| is_decided) {
            let lost = self.past.len() - older;
            self.trace(|| format!("{lost} batches of counts are lost"));
            assert!(lost <= 2 || self.tally.rotten_logs == 0, "the middle of a log is lost");
            self.past.truncate(older);
            self.present = State::after(&self.past);
            self.tally.counted_again += 1;
            return;
        }
        self.trace(|| format!("{content:#?}\ninstead of {:#?}", self.present.content()));
        assert!(is_decided, "what was decided is not what the ledger holds: {content:#?}");
        self.is_mixed = true;
        self.tally.mixed_counts += 1;
        for (job, rows) in &content.rows {
            for row in rows {
                let was_there = past.iter().any(|state| state.holds(*job, row));
                assert!(was_there, "nobody has counted {row:?}");
            }
        }
    }

    /// Whether a fault comes from a call that has failed. Otherwise the ledger is refused for good reason, which
    /// `refusals` count.
    pub(super) fn end(
        &mut self,
        fault: &LedgerFault,
        refusals: impl Fn(&mut Tally) -> &mut u64,
    ) -> End {
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
            return End::Failed;
        }
        *refusals(&mut self.tally) += 1;
        self.refused(fault)
    }

    /// Asserts that a ledger may be refused with this fault.
    ///
    /// A file that was not a ledger yet is the only one that an honest disk may damage: SQLite takes a file that it has
    /// cut back to nothing for new, and removes the journal before the cut is synced.
    pub(super) fn refused(&mut self, fault: &LedgerFault) -> End {
        if self.epoch == 0 && !self.has_lied && fault.kind() == FaultKind::Damaged {
            self.tally.never_begun += 1;
            return End::Refused;
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
        End::Refused
    }
}

impl State {
    /// Whether it holds a row, among those that are accepted.
    #[must_use]
    pub fn holds(&self, job: JobId, row: &Row) -> bool {
        let job = self.store.jobs.get(&job);
        let counted = job.and_then(|job| job.rows.get(&row.range.start()));
        counted.is_some_and(|counted| counted.row == *row)
    }
}
