//! One ledger from several of the same plan.
//!
//! ```text
//!   here    [   a   )     [ c )[ d )            [  g  )
//!   part         [ b )    [    e    )  [ f )  [ h  )
//!            unaligned     compared    added   unaligned: what is here stays
//! ```

use std::collections::{HashMap, HashSet};

use farm::rules::{self, Store};
use farm::{
    Check, CountedRange, Digest, DisputeState, Distrusted, EvidenceRecord, IntervalSet, JobId,
    LeaseId, Maker, Range, Row, TaskCounts, Tiled, TrustChange, unite_trust,
};

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
    /// compared; or only a party counted them that is not believed.
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

/// What the parts know together about who and what is not believed. No part's silence undoes it.
#[derive(Debug, Default)]
pub struct Verdicts {
    /// Who is not believed.
    pub distrusted: Distrusted,
    /// Changes of trust, to be noted once all parts are in.
    pub(crate) trust: Vec<TrustChange>,
    withdrawn: Withdrawn,
}

/// Counts that were accepted, or claimed, and then contradicted or taken back.
#[derive(Debug, Default)]
struct Withdrawn {
    counts: HashSet<Said>,
    /// The ranges of their leases. While a lease goes on, its row grows, so that copies of different ages have rows of different
    /// ranges, of which none says what another one says.
    leases: HashMap<(Maker, LeaseId), IntervalSet>,
}

/// What somebody says about a range.
type Said = (Range, Maker, u128, Digest);

fn said(row: &Row) -> Said {
    let claim = row.tally.claim();
    (row.range, row.author.maker.clone(), claim.count, claim.digest)
}

impl Withdrawn {
    fn add(&mut self, count: Said, leases: impl IntoIterator<Item = LeaseId>) {
        let (range, maker, ..) = &count;
        for lease in leases {
            self.leases.entry((maker.clone(), lease)).or_default().insert(*range);
        }
        self.counts.insert(count);
    }

    fn includes(&self, row: &Row) -> bool {
        let lease = self.leases.get(&(row.author.maker.clone(), row.lease));
        lease.is_some_and(|taken| taken.intersects(row.range)) || self.counts.contains(&said(row))
    }
}

impl Verdicts {
    /// What the parts say together, each about one job, which is called `job` here.
    pub(crate) fn of<'a>(
        parts: impl IntoIterator<Item = (&'a Evidence, JobId)>,
        job: JobId,
    ) -> Result<Verdicts, LedgerFault> {
        let mut all = HashMap::<Said, HashSet<LeaseId>>::new();
        let (mut again, mut histories) = (HashSet::new(), Vec::new());
        for (part, theirs) in parts {
            histories.push(part.trust_changes(job)?);
            let mut taken = HashMap::<Said, HashSet<LeaseId>>::new();
            part.for_each_sum(theirs, |record| {
                if let EvidenceRecord::Dispute { row, .. } = record {
                    taken.entry(said(&row)).or_default().insert(row.lease);
                }
                Ok::<(), LedgerFault>(())
            })?;
            if taken.is_empty() {
                continue;
            }
            // What was accepted anew after it was taken back is believed.
            part.for_each_sum(theirs, |record| {
                if let EvidenceRecord::Range { counted, .. } = record {
                    again.extend(taken.remove_entry(&said(&counted.row)).map(|(count, _)| count));
                }
                Ok::<(), LedgerFault>(())
            })?;
            for (count, leases) in taken {
                all.entry(count).or_default().extend(leases);
            }
        }
        let mut withdrawn = Withdrawn::default();
        for (count, leases) in all {
            if !again.contains(&count) {
                withdrawn.add(count, leases);
            }
        }
        let trust = unite_trust(histories.iter().map(Vec::as_slice));
        Ok(Verdicts { distrusted: Distrusted::after(&trust), trust, withdrawn })
    }

    /// Whether a row that nobody has confirmed is not taken in.
    fn exclude(&self, counted: &CountedRange) -> bool {
        let is_unconfirmed = counted.check != Check::Agreed;
        let is_believed = !self.distrusted.includes(&counted.row.author.maker);
        is_unconfirmed && !is_believed || self.withdrawn.includes(&counted.row)
    }
}

impl Ledger {
    /// Takes in the rows and the evidence of a job of `part`, of the same plan as `job` here. What only
    /// workers say that are not believed is left out.
    pub fn absorb(
        &self,
        job: JobId,
        part: &Evidence,
        theirs: JobId,
        verdicts: &Verdicts,
    ) -> Result<Absorbed, MergeFault> {
        let distrusted = &verdicts.distrusted;
        let mut absorbed = Absorbed::default();
        let mut open: Option<Overlap> = None;
        part.for_each(theirs, |record| {
            let by_nobody = |row: &Row| distrusted.includes(&row.author.maker);
            match record {
                EvidenceRecord::Range { counted, .. } if verdicts.exclude(&counted) => {
                    absorbed.left_out += counted.row.range.len();
                }
                EvidenceRecord::Audit { row, .. } if by_nobody(&row) => {
                    self.settle_overlap(job, open.take(), &mut absorbed)?;
                    self.forget_confirmation(job, row.range, distrusted, &mut absorbed)?;
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

    /// A part says that a range was confirmed, and nobody who is believed has done so. A row that was taken over
    /// from there is unconfirmed then; if its own maker is not believed either, it is left out.
    fn forget_confirmation(
        &self,
        job: JobId,
        range: Range,
        distrusted: &Distrusted,
        absorbed: &mut Absorbed,
    ) -> Result<(), LedgerFault> {
        if !self.lacks_second(job, range)? {
            return Ok(());
        }
        let mut store = SqlStore(&self.db);
        let rows = self.overlapping(job, range)?;
        if rows.iter().any(|row| distrusted.includes(&row.author.maker)) {
            store.retire(job, range, DisputeState::TakenBack)?;
            absorbed.added = absorbed.added.saturating_sub(range.len());
            absorbed.left_out += range.len();
            return Ok(());
        }
        store.set_check(job, range, Check::NotChosen)
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
            let tiled = Tiled::of(rows, range).map_err(|fault| fault.of(job));
            tiled.map(|tiled| tiled.map(|tiled| tiled.claim)).map_err(LedgerFault::from)
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

    /// Notes whom the parts believe together.
    pub(crate) fn note_verdicts(&self, verdicts: &Verdicts) -> Result<(), LedgerFault> {
        let store = SqlStore(&self.db);
        self.in_one_go(|| verdicts.trust.iter().try_for_each(|change| store.note_trust(change)))
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
            // All parts' changes of trust are united.
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
