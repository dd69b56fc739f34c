//! One ledger from several of the same plan.
//!
//! ```text
//!   here    [   a   )     [ c )[ d )            [  g  )
//!   part         [ b )    [    e    )  [ f )  [ h  )
//!            unaligned     compared    added   unaligned: what is here stays
//! ```

use farm::rules::{self, Store};
use farm::{Check, CountedRange, Distrusted, EvidenceRecord, JobId, Range, Row, TaskCounts};

use super::entry::{COLUMNS, read_row, signed, state_number};
use super::store::{SqlStore, own_state};
use super::{Evidence, Ledger, LedgerFault};

/// What became of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Absorbed {
    /// Tasks that were added.
    pub added: u64,
    /// Ranges that were there before, in whatever rows, with the same counts.
    pub compared: u64,
    /// Tasks that were left out: their ranges begin or end within others, so that they cannot be
    /// compared; or a party counted them of which another part knows that it was wrong.
    pub left_out: u64,
}

/// Why a part cannot be taken in.
#[derive(Debug, thiserror::Error)]
pub enum MergeFault {
    /// One of the ledgers cannot be read or written.
    #[error(transparent)]
    Ledger(#[from] LedgerFault),
    /// Two counts of the same tasks.
    #[error("the tasks {range} are counted as {here} before, and as {there} there")]
    Conflict {
        /// Which.
        range: Range,
        /// What the parts before it say.
        here: u128,
        /// What it says.
        there: u128,
    },
}

impl From<rusqlite::Error> for MergeFault {
    fn from(error: rusqlite::Error) -> MergeFault {
        MergeFault::Ledger(error.into())
    }
}

/// Rows of a part, and the range in which they overlap rows here.
struct Overlap {
    rows: Vec<(CountedRange, TaskCounts)>,
    range: Range,
}

impl Ledger {
    /// Takes in the rows and the evidence of a job of `part`, of the same plan as `job` here. What
    /// these parties have counted is left out: another part has distrusted them, and this one has
    /// not taken their counts back.
    pub fn absorb(
        &self,
        job: JobId,
        part: &Evidence,
        theirs: JobId,
        wrong: &Distrusted,
    ) -> Result<Absorbed, MergeFault> {
        let mut absorbed = Absorbed::default();
        let mut open: Option<Overlap> = None;
        part.for_each(theirs, |record| {
            let is_wrong = |row: &Row| wrong.includes(&row.author.maker);
            match record {
                EvidenceRecord::Range { counted, .. } if is_wrong(&counted.row) => {
                    absorbed.left_out += counted.row.range.len();
                }
                EvidenceRecord::Audit { row, .. } if is_wrong(&row) => {
                    self.settle_overlap(job, open.take(), &mut absorbed)?;
                    if self.lacks_second(job, row.range)? {
                        SqlStore(&self.db).set_check(job, row.range, Check::NotChosen)?;
                    }
                }
                EvidenceRecord::Range { counted, task_counts, .. } => {
                    let range = counted.row.range;
                    if let Some(overlap) = &mut open
                        && range.start() < overlap.range.end()
                    {
                        overlap.range = self.hull(job, join(overlap.range, range))?;
                        overlap.rows.push((counted, task_counts));
                        return Ok(());
                    }
                    self.settle_overlap(job, open.take(), &mut absorbed)?;
                    let range = self.hull(job, range)?;
                    open = Some(Overlap { rows: vec![(counted, task_counts)], range });
                }
                other => {
                    self.settle_overlap(job, open.take(), &mut absorbed)?;
                    self.add_evidence(job, other)?;
                }
            }
            Ok::<(), MergeFault>(())
        })?;
        self.settle_overlap(job, open, &mut absorbed)?;
        Ok(absorbed)
    }

    /// Whether there is a row of just this range here that is said to be confirmed, without what confirms it.
    fn lacks_second(&self, job: JobId, range: Range) -> Result<bool, LedgerFault> {
        let mut statement = self.db.prepare_cached(
            "SELECT 1 FROM ranges WHERE job = ?1 AND first = ?2 AND past = ?3 AND audit = 2 \
             AND NOT EXISTS (SELECT 1 FROM audits WHERE job = ?1 AND first = ?2)",
        )?;
        let key = (signed(job.0), signed(range.start()), signed(range.end()));
        Ok(statement.exists(key)?)
    }

    /// A range together with all rows here that overlap it.
    fn hull(&self, job: JobId, range: Range) -> Result<Range, LedgerFault> {
        let rows = self.overlapping(job, range)?;
        Ok(rows.iter().fold(range, |hull, row| join(hull, row.range)))
    }

    fn overlapping(&self, job: JobId, range: Range) -> Result<Vec<Row>, LedgerFault> {
        // Rows do not overlap each other, so that at most one begins before the range.
        let mut statement = self.db.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM ranges WHERE job = ?1 AND past > ?2 AND first < ?3 AND first >= \
             coalesce((SELECT max(first) FROM ranges WHERE job = ?1 AND first <= ?2), 0) \
             ORDER BY first"
        ))?;
        let key = (signed(job.0), signed(range.start()), signed(range.end()));
        let rows = statement.query_and_then(key, |row| read_row(job, row))?;
        rows.collect()
    }

    fn settle_overlap(
        &self,
        job: JobId,
        overlap: Option<Overlap>,
        absorbed: &mut Absorbed,
    ) -> Result<(), MergeFault> {
        let Some(Overlap { rows, range }) = overlap else { return Ok(()) };
        let here = self.overlapping(job, range)?;
        let tiled = |rows: Vec<&Row>| {
            farm::tiled(rows, range).map_err(|fault| LedgerFault::from(fault.of(job)))
        };
        let there = rows.iter().map(|(counted, _)| &counted.row).collect();
        if let (Some(ours), Some(theirs)) = (tiled(here.iter().collect())?, tiled(there)?) {
            if ours != theirs {
                let (here, there) = (ours.count, theirs.count);
                return Err(MergeFault::Conflict { range, here, there });
            }
            absorbed.compared += 1;
            return self.tell(job, &here, rows);
        }
        for (counted, task_counts) in rows {
            let range = counted.row.range;
            let overlap = self.overlapping(job, range)?;
            if overlap.is_empty() {
                rules::accept(&mut SqlStore(&self.db), job, &counted, &task_counts)?;
                absorbed.added += range.len();
            } else {
                let parts = overlap.iter().filter_map(|row| row.range.intersect(range));
                absorbed.left_out += range.len() - parts.map(Range::len).sum::<u64>();
            }
        }
        Ok(())
    }

    /// Keeps what a part tells of the tasks of rows that are here, and of which nothing is told here.
    fn tell(
        &self,
        job: JobId,
        here: &[Row],
        there: Vec<(CountedRange, TaskCounts)>,
    ) -> Result<(), MergeFault> {
        let mut store = SqlStore(&self.db);
        for (counted, task_counts) in there.into_iter().filter(|(_, told)| !told.are_untold()) {
            let (range, claim) = (counted.row.range, counted.row.tally.claim());
            let is_here = |row: &Row| row.range == range && row.tally.claim() == claim;
            if here.iter().any(is_here) && store.task_counts(job, range)?.are_untold() {
                store.set_task_counts(job, range, &task_counts)?;
            }
        }
        Ok(())
    }

    fn add_evidence(&self, job: JobId, record: EvidenceRecord) -> Result<(), LedgerFault> {
        let store = SqlStore(&self.db);
        let key = |range: Range| (signed(job.0), signed(range.start()), signed(range.end()));
        match record {
            EvidenceRecord::Audit { row, at_ms } => {
                if self.lacks_second(job, row.range)? {
                    store.add("audits", ("counted_at", at_ms), job, &row, Vec::new())?;
                }
            }
            EvidenceRecord::Dispute { row, at_ms, state } => {
                let (id, first, past) = key(row.range);
                let (maker, digest) = (&row.author.maker, row.tally.digest.to_string());
                let number = state_number(state);
                let is_known = self
                    .db
                    .prepare_cached(
                        "SELECT 1 FROM disputes WHERE job = ? AND first = ? AND past = ? AND owner = ? \
                         AND machine = ? AND digest = ? AND noted_at = ? AND state = ?",
                    )?
                    .exists((id, first, past, &maker.owner, &maker.machine, digest, at_ms, number))?;
                if !is_known {
                    store.add("disputes", ("noted_at", at_ms), job, &row, own_state(state))?;
                }
            }
            // See `join.rs`.
            EvidenceRecord::Trust(_) => {}
            // A ledger that was joined is counted on without the parts' policies.
            EvidenceRecord::Policy { .. } | EvidenceRecord::Range { .. } => {}
        }
        Ok(())
    }
}

/// From the beginning of one to the end of the other.
fn join(a: Range, b: Range) -> Range {
    let range = Range::new(a.start().min(b.start()), a.end().max(b.end()));
    range.expect("two ranges are not empty together")
}
