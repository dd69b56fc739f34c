//! The accepted ranges of a job, and what they sum to, as the witness was told of them.

use std::collections::BTreeMap;

use farm::{
    Check, CountedRange, Fingerprint, LedgerId, PublicKey, Range, Report, Row, RowsRoot, RowsTree,
    Signature, Signed, Signer, Stretch, Tiled, Vote,
};

/// What a worker signs of a report, as far as the farm can tell: every other worker signs. The core takes any bytes.
pub fn signed(worker: usize, report: &Report) -> Option<Signed> {
    let (key, ledger) = (PublicKey([worker as u8; 32]), LedgerId([7; 16]));
    let signer = Signer { key, ledger, job: report.job, kind: report.proof.kind };
    let signature = signature(report.range, report.tally.count);
    does_sign(worker).then_some(Signed { signer, signature })
}

/// The stretches of a report, as a worker signs them.
pub fn signed_stretches(worker: usize, report: &Report) -> Vec<Stretch> {
    let sign = |&stretch: &Stretch| Stretch {
        signature: does_sign(worker).then(|| signature(stretch.range, stretch.count)),
        ..stretch
    };
    report.stretches.iter().map(sign).collect()
}

fn does_sign(worker: usize) -> bool {
    worker.is_multiple_of(2)
}

fn signature(range: Range, count: u64) -> Signature {
    let mut bytes = [0; 64];
    let numbers = [range.start(), range.end(), count].map(u64::to_le_bytes);
    bytes[..24].copy_from_slice(numbers.as_flattened());
    Signature(bytes)
}

/// Disjoint rows, by their start, and some sums over them.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    rows: BTreeMap<u64, CountedRange>,
    pub tasks: u64,
    pub total: u128,
    /// Rows that wait for an audit, and rows that two workers counted alike.
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
        if let Some(signatures) = &counted.row.signatures {
            let is_signed =
                |part: &farm::SignedPart| part.signature == signature(part.range, part.count);
            let are_its = signatures.add_up_to(&counted.row);
            assert!(are_its && signatures.parts.iter().all(is_signed), "{counted:?}");
        }
        self.tasks += range.len();
        self.total += u128::from(counted.row.tally.count);
        self.wanted += u64::from(counted.check == Check::Wanted);
        self.agreed += u64::from(counted.check == Check::Agreed);
        self.rows.insert(range.start(), counted);
    }

    pub fn take(&mut self, range: Range) -> CountedRange {
        let counted = self.rows.remove(&range.start()).expect("a row that is there");
        assert_eq!(counted.row.range, range, "rows are not cut");
        self.tasks -= range.len();
        self.total -= u128::from(counted.row.tally.count);
        self.wanted -= u64::from(counted.check == Check::Wanted);
        self.agreed -= u64::from(counted.check == Check::Agreed);
        counted
    }

    /// Neighbours have become these rows: nothing that they say is another thing than before.
    pub fn join(&mut self, joined: &[CountedRange]) {
        for counted in joined {
            let CountedRange { row, check } = counted;
            let parts: Vec<Range> = self.overlapping(row.range).map(|part| part.range).collect();
            let parts: Vec<CountedRange> = parts.into_iter().map(|part| self.take(part)).collect();
            let tiled = Tiled::of(parts.iter().map(|part| &part.row), row.range);
            let tiled = tiled.expect("it fits 128 bits").expect("rows are not cut");
            assert_eq!(tiled.claim, row.tally.claim(), "{counted:?}");
            for part in &parts {
                let (one, all) = (&part.row, row);
                assert_eq!(
                    (&one.author, one.lease, one.kernel),
                    (&all.author, all.lease, all.kernel)
                );
                let is_unchecked = (part.check, *check) == (Check::NotChosen, Check::NotChosen);
                assert!(is_unchecked || parts.len() == 1 && part.check == *check, "{parts:?}");
            }
            self.put(counted.clone());
        }
    }

    /// Whether these are the very rows that a store has.
    pub fn are(&self, rows: &BTreeMap<u64, CountedRange>) -> bool {
        self.rows == *rows
    }

    /// Whether they are the counts that a store has, however they are checked.
    pub fn count_like(&self, rows: &BTreeMap<u64, CountedRange>) -> bool {
        let counts = |rows: &BTreeMap<u64, CountedRange>| -> Vec<Row> {
            rows.values().map(|counted| counted.row.clone()).collect()
        };
        counts(&self.rows) == counts(rows)
    }

    /// The root of the rows of a job that counts this plan.
    pub fn root(&self, plan: Fingerprint) -> RowsRoot {
        let mut tree = RowsTree::new(plan);
        for CountedRange { row, .. } in self.rows.values() {
            tree.add(row.range, row.tally.claim());
        }
        tree.root()
    }

    /// The row that covers just this range.
    pub fn get(&self, range: Range) -> Option<&CountedRange> {
        self.rows.get(&range.start()).filter(|counted| counted.row.range == range)
    }

    pub fn overlapping(&self, range: Range) -> impl Iterator<Item = &Row> {
        overlapping(&self.rows, range)
    }

    /// What the rows claim that tile `range` exactly.
    pub fn vote(&self, range: Range) -> Option<Vote> {
        vote(&self.rows, range)
    }
}

/// Rows that have ordinals of `range`, in ascending order.
pub fn overlapping(rows: &BTreeMap<u64, CountedRange>, range: Range) -> impl Iterator<Item = &Row> {
    let rows = rows.range(..range.end()).rev().map(|(_, counted)| &counted.row);
    let rows = rows.take_while(move |row| row.range.end() > range.start());
    rows.collect::<Vec<_>>().into_iter().rev()
}

/// Whether all of `range` has rows, wherever they begin and end.
pub fn cover(rows: &BTreeMap<u64, CountedRange>, range: Range) -> bool {
    let parts = overlapping(rows, range).filter_map(|row| row.range.intersect(range));
    parts.map(Range::len).sum::<u64>() == range.len()
}

/// What the rows claim that tile `range` exactly.
pub fn vote(rows: &BTreeMap<u64, CountedRange>, range: Range) -> Option<Vote> {
    let tiled = Tiled::of(overlapping(rows, range), range).expect("it fits 128 bits");
    tiled.map(|Tiled { claim, maker, .. }| Vote { maker, claim })
}
