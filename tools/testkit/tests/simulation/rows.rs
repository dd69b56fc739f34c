//! The accepted ranges of a job and their sums, as they were reported to the model.

use std::collections::BTreeMap;

use farm::{Check, CountedRange, Range, Row, Vote};

/// Disjoint rows by their start, and some sums over them.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    rows: BTreeMap<u64, CountedRange>,
    pub tasks: u64,
    pub total: u128,
    /// Number of rows that wait for an audit, and of rows that two workers counted alike.
    pub wanted: u64,
    pub agreed: u64,
}

impl Rows {
    pub fn of(rows: &BTreeMap<u64, CountedRange>) -> Rows {
        let mut all = Rows::default();
        rows.values().for_each(|counted| all.put(counted.clone()));
        all
    }

    pub fn put(&mut self, counted: CountedRange) {
        let range = counted.row.range;
        let overlapped = self.overlapping(range).next();
        assert!(overlapped.is_none(), "{counted:?} overlaps {overlapped:?}");
        self.tasks += range.len();
        self.total += u128::from(counted.row.checked_count.count);
        self.wanted += u64::from(counted.check == Check::Wanted);
        self.agreed += u64::from(counted.check == Check::Agreed);
        self.rows.insert(range.start(), counted);
    }

    pub fn take(&mut self, range: Range) -> CountedRange {
        let counted = self.rows.remove(&range.start()).expect("a row that is there");
        assert_eq!(counted.row.range, range, "rows are not split");
        self.tasks -= range.len();
        self.total -= u128::from(counted.row.checked_count.count);
        self.wanted -= u64::from(counted.check == Check::Wanted);
        self.agreed -= u64::from(counted.check == Check::Agreed);
        counted
    }

    /// Joins neighbours to these rows, which must have the same content.
    pub fn join(&mut self, joined: &[CountedRange]) {
        for counted in joined {
            let CountedRange { row, check } = counted;
            let parts: Vec<Range> = self.overlapping(row.range).map(|part| part.range).collect();
            let parts: Vec<CountedRange> = parts.into_iter().map(|part| self.take(part)).collect();
            let tiled = farm::tiled(parts.iter().map(|part| &part.row), row.range);
            assert_eq!(tiled, Some(row.checked_count.result()), "{counted:?}");
            for part in &parts {
                let (one, all) = (&part.row, row);
                assert_eq!(
                    (&one.provenance, one.lease, one.kernel),
                    (&all.provenance, all.lease, all.kernel)
                );
                let is_unchecked = (part.check, *check) == (Check::NotChosen, Check::NotChosen);
                assert!(is_unchecked || parts.len() == 1 && part.check == *check, "{parts:?}");
            }
            self.put(counted.clone());
        }
    }

    /// Whether the rows equal those of a store.
    pub fn are(&self, rows: &BTreeMap<u64, CountedRange>) -> bool {
        self.rows == *rows
    }

    /// Whether the rows have the same counts as those of a store. Audits are not compared.
    pub fn count_like(&self, rows: &BTreeMap<u64, CountedRange>) -> bool {
        let counts = |rows: &BTreeMap<u64, CountedRange>| -> Vec<Row> {
            rows.values().map(|counted| counted.row.clone()).collect()
        };
        counts(&self.rows) == counts(rows)
    }

    /// The row that covers exactly this range.
    pub fn get(&self, range: Range) -> Option<&CountedRange> {
        self.rows.get(&range.start()).filter(|counted| counted.row.range == range)
    }

    pub fn overlapping(&self, range: Range) -> impl Iterator<Item = &Row> {
        overlapping(&self.rows, range)
    }

    /// The claim of the row that covers exactly this range.
    pub fn vote(&self, range: Range) -> Option<Vote> {
        vote(&self.rows, range)
    }
}

/// The rows with ordinals of `range`, in ascending order.
pub fn overlapping(rows: &BTreeMap<u64, CountedRange>, range: Range) -> impl Iterator<Item = &Row> {
    let rows = rows.range(..range.end()).rev().map(|(_, counted)| &counted.row);
    let rows = rows.take_while(move |row| row.range.end() > range.start());
    rows.collect::<Vec<_>>().into_iter().rev()
}

/// Whether all of `range` has rows, wherever they begin and end.
pub fn cover(rows: &[CountedRange], range: Range) -> bool {
    let parts = rows.iter().filter_map(|counted| counted.row.range.intersect(range));
    parts.map(Range::len).sum::<u64>() == range.len()
}

/// The claim of the row that covers exactly this range.
pub fn vote(rows: &BTreeMap<u64, CountedRange>, range: Range) -> Option<Vote> {
    let row = &rows.get(&range.start()).filter(|counted| counted.row.range == range)?.row;
    Some(Vote { principal: row.provenance.principal.clone(), result: row.checked_count.result() })
}
