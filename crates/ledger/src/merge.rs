//! One ledger from several of the same plan.
//!
//! ```text
//!   here    [   a   )     [ c )[ d )            [  g  )
//!   part         [ b )    [    e    )  [ f )  [ h  )
//!            unaligned     compared    added   unaligned: what is here stays
//! ```

use std::collections::BTreeSet;

use farm::{Claim, JobId, Range};

use super::entry::{ENTRY, Entry, signed};
use super::{Evidence, Fact, Ledger, LedgerFault};

/// What became of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Absorbed {
    /// Tasks that were added.
    pub added: u64,
    /// Stretches that were there before, with the same counts.
    pub compared: u64,
    /// Tasks that were left out: their ranges begin or end within others, so that they cannot be
    /// compared; or only a worker counted them that was proven wrong.
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

/// Rows of a part that overlap rows here, in one stretch.
struct Stretch {
    rows: Vec<(Entry, i64)>,
    range: Range,
}

impl Ledger {
    /// Takes in the rows and the evidence of a job of `part`, of the same plan as `job` here. What only
    /// workers say that are not believed is left out.
    pub fn absorb(
        &self,
        job: JobId,
        part: &Evidence,
        theirs: JobId,
        distrusted: &BTreeSet<String>,
    ) -> Result<Absorbed, MergeFault> {
        let mut absorbed = Absorbed::default();
        let mut open: Option<Stretch> = None;
        part.for_each(theirs, |fact| {
            let by_nobody = |entry: &Entry| distrusted.contains(&entry.author.worker);
            match fact {
                Fact::Range(entry, _, audit) if audit != 2 && by_nobody(&entry) => {
                    absorbed.left_out += entry.range.len();
                }
                Fact::Audit(entry, _) if by_nobody(&entry) => {
                    self.db.execute(
                        "UPDATE ranges SET audit = 0 WHERE job = ? AND first = ? AND past = ?",
                        (signed(job.0), signed(entry.range.start()), signed(entry.range.end())),
                    )?;
                }
                Fact::Range(entry, _, audit) => {
                    if let Some(stretch) = &mut open
                        && entry.range.start() < stretch.range.end()
                    {
                        stretch.range = self.hull(job, join(stretch.range, entry.range))?;
                        stretch.rows.push((entry, audit));
                        return Ok(());
                    }
                    self.settle_stretch(job, open.take(), &mut absorbed)?;
                    let range = self.hull(job, entry.range)?;
                    open = Some(Stretch { rows: vec![(entry, audit)], range });
                }
                other => {
                    self.settle_stretch(job, open.take(), &mut absorbed)?;
                    self.add_evidence(job, other)?;
                }
            }
            Ok::<(), MergeFault>(())
        })?;
        self.settle_stretch(job, open, &mut absorbed)?;
        Ok(absorbed)
    }

    /// A range together with all rows here that overlap it.
    fn hull(&self, job: JobId, range: Range) -> Result<Range, LedgerFault> {
        let rows = self.overlapping(job, range)?;
        Ok(rows.iter().fold(range, |hull, row| join(hull, row.range)))
    }

    fn overlapping(&self, job: JobId, range: Range) -> Result<Vec<Entry>, LedgerFault> {
        // Rows do not overlap each other, so that at most one begins before the range.
        let mut statement = self.db.prepare_cached(&format!(
            "SELECT {ENTRY} FROM ranges WHERE job = ?1 AND past > ?2 AND first < ?3 AND first >= \
             coalesce((SELECT max(first) FROM ranges WHERE job = ?1 AND first <= ?2), 0) \
             ORDER BY first"
        ))?;
        let key = (signed(job.0), signed(range.start()), signed(range.end()));
        let rows = statement.query_and_then(key, |row| Entry::read(job, row))?;
        rows.collect()
    }

    fn settle_stretch(
        &self,
        job: JobId,
        stretch: Option<Stretch>,
        absorbed: &mut Absorbed,
    ) -> Result<(), MergeFault> {
        let Some(Stretch { rows, range }) = stretch else { return Ok(()) };
        let here = self.overlapping(job, range)?;
        let there = || rows.iter().map(|(entry, _)| entry);
        if let (Some(here), Some(there)) = (tiled(here.iter(), range), tiled(there(), range)) {
            if here != there {
                let (here, there) = (here.count, there.count);
                return Err(MergeFault::Conflict { range, here, there });
            }
            absorbed.compared += 1;
            return Ok(());
        }
        for (entry, audit) in rows {
            let len = entry.range.len();
            let overlap = self.overlapping(job, entry.range)?;
            if overlap.is_empty() {
                self.insert_range(&entry, job, audit)?;
                absorbed.added += len;
            } else {
                let parts = overlap.iter().filter_map(|row| row.range.intersect(entry.range));
                absorbed.left_out += len - parts.map(Range::len).sum::<u64>();
            }
        }
        Ok(())
    }

    fn add_evidence(&self, job: JobId, fact: Fact) -> Result<(), LedgerFault> {
        match fact {
            Fact::Audit(entry, at) => {
                let key = (signed(job.0), signed(entry.range.start()), signed(entry.range.end()));
                let is_of_row = self
                    .db
                    .prepare_cached(
                        "SELECT 1 FROM ranges WHERE job = ?1 AND first = ?2 AND past = ?3 AND audit = 2 \
                         AND NOT EXISTS (SELECT 1 FROM audits WHERE job = ?1 AND first = ?2)",
                    )?
                    .exists(key)?;
                if is_of_row {
                    self.insert_at("audits", ("counted_at", at), job, &entry, None)?;
                }
            }
            Fact::Dispute(entry, at, state) => {
                let is_known = self
                    .db
                    .prepare_cached(
                        "SELECT 1 FROM disputes WHERE job = ? AND first = ? AND past = ? AND worker = ? \
                         AND digest = ? AND noted_at = ? AND state = ?",
                    )?
                    .exists((
                        signed(job.0),
                        signed(entry.range.start()),
                        signed(entry.range.end()),
                        &entry.author.worker,
                        entry.tally.digest.to_string(),
                        at,
                        state,
                    ))?;
                if !is_known {
                    let own = Some(("state", state));
                    self.insert_at("disputes", ("noted_at", at), job, &entry, own)?;
                }
            }
            Fact::Distrusted(worker, range, at) => {
                self.db.execute(
                    "INSERT INTO distrusted VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                    (worker, signed(job.0), signed(range.start()), signed(range.end()), at),
                )?;
            }
            // A ledger that was joined is counted on without the parts' policies.
            Fact::Policy(..) | Fact::Range(..) => {}
        }
        Ok(())
    }
}

/// What rows say that tile `range` exactly.
fn tiled<'a>(rows: impl Iterator<Item = &'a Entry>, range: Range) -> Option<Claim> {
    let (mut claim, mut end) = (Claim::default(), range.start());
    for row in rows {
        if row.range.start() != end {
            return None;
        }
        end = row.range.end();
        claim = claim.join(row.tally.claim())?;
    }
    (end == range.end()).then_some(claim)
}

/// From the beginning of one to the end of the other.
fn join(a: Range, b: Range) -> Range {
    let range = Range::new(a.start().min(b.start()), a.end().max(b.end()));
    range.expect("two ranges are not empty together")
}
