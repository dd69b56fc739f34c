//! Takes the rows of one ledger into another ledger of the same plan.
//!
//! ```text
//!   here    [   a   )     [ c )[ d )            [  g  )
//!   part         [ b )    [    e    )  [ f )  [ h  )
//!            unaligned     compared    added   unaligned: what is here stays
//! ```

use farm::{
    Check, CountedRange, DisputeState, Distrusted, EvidenceRecord, JobId, Range, Row, TaskCounts,
};

use super::entry::{Standing, checksum};
use super::store::Store;
use super::{Evidence, Ledger, LedgerFault, Result, queries, rules};

/// What a part contributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Absorbed {
    /// The number of ranges that were counted in both ledgers, independently and with the same
    /// result. The two ledgers may have cut such a range into different rows.
    pub compared: u64,
    /// The number of tasks that were left out. Either their range partly overlaps others and cannot
    /// be compared, or another ledger knows that the party that counted them was wrong.
    pub left_out: u64,
}

/// Rows of a part, and the range in which they overlap rows here.
struct Overlap {
    rows: Vec<Theirs>,
    range: Range,
}

/// A row of a part. If it has a second count, `second` is that count and its time.
struct Theirs {
    counted: CountedRange,
    task_counts: TaskCounts,
    second: Option<(Row, i64)>,
}

impl Ledger {
    /// Takes in the rows and the evidence of the job `theirs` of `part`, which has the same plan as
    /// `job` here. The counts of the parties in `wrong` are left out: another part has distrusted
    /// these parties, and this part has not taken their counts back.
    ///
    /// # Errors
    ///
    /// [`LedgerFault::Conflict`] if both have counted the same tasks, with different results.
    pub fn absorb(
        &self,
        job: JobId,
        part: &Evidence,
        theirs: JobId,
        wrong: &Distrusted,
    ) -> Result<Absorbed> {
        let mut absorbed = Absorbed::default();
        let mut open: Option<Overlap> = None;
        let is_wrong = |row: &Row| wrong.includes(&row.provenance.principal);
        part.for_each(theirs, |record| {
            match record {
                EvidenceRecord::Range { counted, .. } if is_wrong(&counted.row) => {
                    absorbed.left_out += counted.row.range.len();
                }
                EvidenceRecord::Range { counted, task_counts, .. } => {
                    let range = counted.row.range;
                    let row = Theirs { counted, task_counts, second: None };
                    if let Some(overlap) = &mut open
                        && range.start() < overlap.range.end()
                    {
                        overlap.range = self.hull(job, overlap.range.hull(range))?;
                        overlap.rows.push(row);
                        return Ok(());
                    }
                    self.settle_overlap(job, open.take(), wrong, &mut absorbed)?;
                    let range = self.hull(job, range)?;
                    open = Some(Overlap { rows: vec![row], range });
                }
                EvidenceRecord::Audit { row, at_ms } => {
                    // The second count of a range that is left out confirms nothing.
                    if let Some(first) = open.as_mut().and_then(|overlap| overlap.rows.last_mut())
                        && first.counted.row.range == row.range
                    {
                        first.second = Some((row, at_ms));
                    }
                }
                EvidenceRecord::Dispute { row, state, at_ms } => {
                    self.add_dispute(job, &row, at_ms, state)?;
                }
                // Counting continues in a joined ledger without the policies of its parts.
                // `join.rs` takes over the changes of trust.
                EvidenceRecord::Policy { .. } | EvidenceRecord::Trust(_) => {}
            }
            Ok::<(), LedgerFault>(())
        })?;
        self.settle_overlap(job, open, wrong, &mut absorbed)?;
        Ok(absorbed)
    }

    /// The smallest range that contains `range` and all rows here that overlap it.
    fn hull(&self, job: JobId, range: Range) -> Result<Range> {
        let rows = self.rows_in(job, range)?;
        Ok(rows.iter().fold(range, |hull, here| hull.hull(here.row.range)))
    }

    fn settle_overlap(
        &self,
        job: JobId,
        overlap: Option<Overlap>,
        wrong: &Distrusted,
        absorbed: &mut Absorbed,
    ) -> Result<()> {
        let Some(Overlap { rows, range }) = overlap else { return Ok(()) };
        let here = self.rows_in(job, range)?;
        let here = here.iter().map(|ours| &ours.row);
        let there = rows.iter().map(|theirs| &theirs.counted.row);
        let tiled = (farm::tiled(here.clone(), range), farm::tiled(there.clone(), range));
        if let (Some(ours), Some(theirs)) = tiled {
            if ours != theirs {
                let (here, there) = (ours.count, theirs.count);
                return Err(LedgerFault::Conflict { range, here, there });
            }
            // Rows that are equal to the microsecond are copies of one count, and not two
            // independent counts. A bundle does not say their leases.
            let is_copy =
                |(ours, theirs): (&Row, &Row)| *ours == Row { lease: ours.lease, ..theirs.clone() };
            let are_copies = here.clone().count() == rows.len() && here.zip(there).all(is_copy);
            absorbed.compared += u64::from(!are_copies);
            return Ok(());
        }
        for Theirs { mut counted, task_counts, second } in rows {
            let range = counted.row.range;
            let overlap = self.rows_in(job, range)?;
            if !overlap.is_empty() {
                let parts = overlap.iter().filter_map(|here| here.row.range.intersect(range));
                absorbed.left_out += range.len() - parts.map(Range::len).sum::<u64>();
                continue;
            }
            let second = second.filter(|(row, _)| !wrong.includes(&row.provenance.principal));
            if second.is_none() {
                counted.check = Check::NotChosen;
            }
            let store = Store::of(&self.db);
            rules::accept(&store, job, &counted, &task_counts)?;
            if let Some((row, at_ms)) = second {
                store.add(job, &row, at_ms, Standing::Second, &TaskCounts::default())?;
            }
        }
        Ok(())
    }

    /// Adds a count that is evidence, unless it is here already.
    fn add_dispute(&self, job: JobId, row: &Row, at_ms: i64, state: DisputeState) -> Result<()> {
        let standing = Standing::Evidence(state);
        let key = (job.0, row.range.start(), checksum(job, row), at_ms, standing.name());
        if self.db.prepare_cached(queries::IS_EVIDENCE)?.exists(key)? {
            return Ok(());
        }
        Store::of(&self.db).add(job, row, at_ms, standing, &TaskCounts::default())
    }
}
