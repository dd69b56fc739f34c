//! The rows of a job: what is accepted, what was counted again, and what they sum to.

use std::collections::BTreeMap;

use farm::{Claim, KernelName, Range, Tally, Unaudited, Vote};

/// An accepted range.
#[derive(Clone, Debug)]
pub struct Row {
    pub range: Range,
    pub tally: Tally,
    pub worker: String,
    pub kernel: KernelName,
    pub check: Check,
}

/// What is known of a second count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// Nobody asked for one.
    None,
    /// It is waited for.
    Wanted,
    /// This worker agreed.
    Confirmed(String),
    /// Two workers agreed against others.
    Settled,
}

impl Row {
    pub fn is_unconfirmed(&self) -> bool {
        matches!(self.check, Check::None | Check::Wanted)
    }

    pub fn unaudited(&self) -> Unaudited {
        Unaudited { range: self.range, worker: self.worker.clone(), kernel: self.kernel }
    }
}

/// Disjoint rows, by their start, and some sums over them.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    rows: BTreeMap<u64, Row>,
    pub tasks: u64,
    pub total: u128,
    /// Rows that wait for an audit, and rows that were confirmed.
    pub wanted: u64,
    pub agreed: u64,
}

impl Rows {
    pub fn iter(&self) -> impl Iterator<Item = &Row> {
        self.rows.values()
    }

    pub fn put(&mut self, row: Row) {
        let overlapped = self.overlapping(row.range).next();
        assert!(overlapped.is_none(), "{row:?} overlaps {overlapped:?}");
        self.tasks += row.range.len();
        self.total += u128::from(row.tally.count);
        self.wanted += u64::from(row.check == Check::Wanted);
        self.agreed += u64::from(matches!(row.check, Check::Confirmed(_)));
        self.rows.insert(row.range.start(), row);
    }

    pub fn take(&mut self, range: Range) -> Row {
        let row = self.rows.remove(&range.start()).expect("a row that is there");
        assert_eq!(row.range, range, "rows are not cut");
        self.tasks -= row.range.len();
        self.total -= u128::from(row.tally.count);
        self.wanted -= u64::from(row.check == Check::Wanted);
        self.agreed -= u64::from(matches!(row.check, Check::Confirmed(_)));
        row
    }

    /// Changes what is known of some rows: of those for which `change` says something new.
    pub fn check(&mut self, change: impl Fn(&Row) -> Option<Check>) {
        let changes: Vec<_> =
            self.iter().filter_map(|row| Some((row.range, change(row)?))).collect();
        for (range, check) in changes {
            let row = self.take(range);
            self.put(Row { check, ..row });
        }
    }

    /// The row that covers just this range.
    pub fn get(&self, range: Range) -> Option<&Row> {
        self.rows.get(&range.start()).filter(|row| row.range == range)
    }

    /// Whether all of `range` has rows, wherever they begin and end.
    pub fn cover(&self, range: Range) -> bool {
        let parts = self.overlapping(range).filter_map(|row| row.range.intersect(range));
        parts.map(Range::len).sum::<u64>() == range.len()
    }

    pub fn overlapping(&self, range: Range) -> impl Iterator<Item = &Row> {
        let rows = self.rows.range(..range.end()).rev();
        let rows = rows.map(|(_, row)| row).take_while(move |row| row.range.end() > range.start());
        rows.collect::<Vec<_>>().into_iter().rev()
    }

    /// The rows that tile `range` exactly.
    pub fn tiles(&self, range: Range) -> Option<Vec<Row>> {
        let rows: Vec<Row> = self.overlapping(range).cloned().collect();
        let inside = rows.iter().all(|row| row.range.intersect(range) == Some(row.range));
        (inside && self.cover(range)).then_some(rows)
    }
}

/// What rows say together; nobody's claim if they are several workers'.
pub fn vote_of(rows: &[Row]) -> Vote {
    let first = &rows[0].worker;
    let alone = rows.iter().all(|row| row.worker == *first);
    let join = |claim: Claim, row: &Row| claim.join(row.tally.claim()).expect("it fits 128 bits");
    Vote {
        worker: if alone { first.clone() } else { String::new() },
        claim: rows.iter().fold(Claim::default(), join),
    }
}

/// What counted all of them; empty if it was not the same.
pub fn kernel_of(rows: &[Row]) -> KernelName {
    let first = rows[0].kernel;
    let alike = rows.iter().all(|row| row.kernel == first);
    if alike { first } else { KernelName::default() }
}
