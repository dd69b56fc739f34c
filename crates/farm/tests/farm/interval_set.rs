//! Properties of the interval set, compared with a set of single ordinals.

use std::collections::BTreeSet;

use farm::{IntervalSet, Range};
use proptest::collection::vec;
use proptest::prelude::*;

const UNIVERSE: u64 = 64;

proptest! {
    /// Every method of the interval set, against a set of single ordinals.
    #[test]
    fn interval_set_is_a_set(changes in vec(change(), 0..40), probe in range()) {
        let (mut set, mut model) = (IntervalSet::new(), BTreeSet::new());
        for change in changes {
            match change {
                Change::Insert(range) => {
                    set.insert(range);
                    model.extend(ordinals(range));
                }
                Change::Remove(range) => {
                    let within: Vec<_> = set.within(range).collect();
                    prop_assert_eq!(set.remove(range), within);
                    model.retain(|ordinal| !ordinals(range).contains(ordinal));
                }
            }
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), intervals(&model));
            prop_assert_eq!(set.len(), model.len() as u64);
            prop_assert_eq!(set.is_empty(), model.is_empty());
        }
        let within: BTreeSet<u64> = model.iter().copied().filter(|o| ordinals(probe).contains(o)).collect();
        prop_assert_eq!(set.within(probe).collect::<Vec<_>>(), intervals(&within));
        prop_assert_eq!(set.intersects(probe), !within.is_empty());
        prop_assert_eq!(set.contains(probe), within.len() as u64 == probe.len());
        prop_assert_eq!(intervals(&model).into_iter().collect::<IntervalSet>(), set);
    }
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Insert(Range),
    Remove(Range),
}

fn range() -> impl Strategy<Value = Range> {
    (0..UNIVERSE, 1..=16u64).prop_map(|(start, len)| {
        Range::new(start, (start + len).min(UNIVERSE)).expect("the universe goes on")
    })
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => range().prop_map(Change::Insert),
        2 => range().prop_map(Change::Remove),
    ]
}

fn ordinals(range: Range) -> std::ops::Range<u64> {
    range.start()..range.end()
}

/// The maximal intervals of a set of ordinals.
fn intervals(set: &BTreeSet<u64>) -> Vec<Range> {
    let mut intervals: Vec<Range> = Vec::new();
    for &ordinal in set {
        let start = match intervals.last() {
            Some(last) if last.end() == ordinal => intervals.pop().expect("it is there").start(),
            _ => ordinal,
        };
        intervals.extend(Range::new(start, ordinal + 1));
    }
    intervals
}
