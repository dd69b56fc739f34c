//! One task: its lists, in as many parts as there is room for, and their joins.

use board::halves::Shares;
use board::{Prefix, full_mask};

use super::buckets::{Buckets, Unsorted};
use super::geometry::{Geometry, code_bits, item_bits};
use super::join::{Join, Lower, Upper};
use super::lists::{Kept, Lists, Rest, Wanted};
use super::memory::Room;
use super::shared::{Shared, shares_lists};
use super::sum::Sum;
use super::unit::Unit;

/// The method in the instructions of one unit.
pub(crate) struct Joiner<U: Unit> {
    n: u32,
    kept: Kept,
    tables: Option<Tables>,
    shared: Option<Shared>,
    parts: Parts<U>,
}

/// What is made for one centre row.
struct Tables {
    /// Its square, a bit or 0, of an odd board 0 for any.
    centre: u32,
    lists: Lists,
}

/// The lists of a task, or parts of them.
pub(crate) struct Parts<U: Unit> {
    pub(crate) unit: U,
    pub(crate) whole: Unsorted,
    pub(crate) ties: Unsorted,
    pub(crate) upper: Upper,
    pub(crate) lower: Lower,
    join: Join<U>,
}

impl<U: Unit> Joiner<U> {
    /// For boards of size `n` and lists of at most `room` half-boards at a time.
    pub(crate) fn new(unit: U, n: u32, room: Room) -> Joiner<U> {
        assert!(U::ITEM_BITS >= item_bits(n), "a unit too narrow for a board of size {n}");
        let code_bits = code_bits(n);
        let buckets = |room| Buckets::new(code_bits, room);
        let parts = Parts {
            unit,
            whole: Unsorted::new(room.whole),
            ties: Unsorted::new(room.ties),
            upper: Upper { whole: buckets(room.whole), ties: Unsorted::new(room.ties) },
            lower: Lower { whole: buckets(room.whole), ties: buckets(room.ties) },
            join: Join::new(unit, code_bits, room),
        };
        let shared = shares_lists(n).then(|| Shared::new(n, room.shared));
        Joiner { n, kept: room.kept, tables: None, shared, parts }
    }

    /// Adds the shares of one task's boards to `sum`.
    pub(crate) fn count(&mut self, record: Prefix, sum: &mut Sum) {
        let shares = Shares::of(self.n, record);
        if self.list_shared(record, shares) {
            self.parts.join.count(&self.parts.upper, &self.parts.lower, shares.times, sum);
        } else {
            self.count_in_parts(record, shares, sum);
        }
    }

    /// Lists a task as one that shares its lists; false if it does not, or they do not fit.
    fn list_shared(&mut self, record: Prefix, shares: Shares) -> bool {
        let Joiner { n, kept, tables, shared, parts } = self;
        let Some(shared) = shared.as_mut().filter(|shared| shared.has(record)) else {
            return false;
        };
        let lists = lists(tables, *n, *kept, 0, shares);
        parts.clear_ties();
        shared.list(record, lists, parts).is_ok()
    }

    fn count_in_parts(&mut self, record: Prefix, shares: Shares, sum: &mut Sum) {
        let Prefix { left: centre, down: split, .. } = record;
        let n = self.n;
        let lists = lists(&mut self.tables, n, self.kept, centre, shares);
        let geometry = Geometry::new(n, centre, split);
        let others = full_mask(n) & !(split | centre);
        let upper = Wanted { set: split, window: shares.upper, closed: 0, view: geometry.upper };
        let lower = Wanted { set: others, window: shares.lower, closed: 0, view: geometry.lower };
        // A list that does not fit is joined in parts, each with the other list once more.
        let mut upper_rest = Rest::ALL;
        while let Rest::From(_) = upper_rest {
            upper_rest = self.parts.list_upper(lists, upper, upper_rest);
            if self.parts.whole.len() + self.parts.upper.ties.len() == 0 {
                continue;
            }
            let mut lower_rest = Rest::ALL;
            while let Rest::From(_) = lower_rest {
                lower_rest = self.parts.list_lower(lists, lower, lower_rest);
                self.parts.join.count(&self.parts.upper, &self.parts.lower, shares.times, sum);
            }
        }
    }
}

/// The lists for a square of the centre row, or for any, made if the last ones were for another.
fn lists(
    tables: &mut Option<Tables>,
    n: u32,
    kept: Kept,
    centre: u32,
    shares: Shares,
) -> &mut Lists {
    tables.take_if(|tables| tables.centre != centre);
    let lists = || Lists::new(n, kept, centre, shares.columns);
    &mut tables.get_or_insert_with(|| Tables { centre, lists: lists() }).lists
}

impl<U: Unit> Parts<U> {
    fn clear_ties(&mut self) {
        self.ties.clear();
        self.upper.ties.clear();
        self.lower.ties.sort(&self.ties);
    }

    fn list_upper(&mut self, lists: &mut Lists, wanted: Wanted, rest: Rest) -> Rest {
        let rest = lists.list(self.unit, wanted, rest, &mut self.whole, &mut self.upper.ties);
        self.upper.whole.sort(&self.whole);
        rest
    }

    fn list_lower(&mut self, lists: &mut Lists, wanted: Wanted, rest: Rest) -> Rest {
        let rest = lists.list(self.unit, wanted, rest, &mut self.whole, &mut self.ties);
        self.lower.whole.sort(&self.whole);
        self.lower.ties.sort(&self.ties);
        rest
    }
}

#[cfg(test)]
mod tests {
    use board::Tasks;
    use board::halves::HalvesPlan;

    use super::*;
    use crate::halves::portable::Portable;

    #[test]
    fn a_list_in_parts_counts_what_it_counts_as_a_whole() {
        for (n, ordinal, part) in [(19, 89_900, 8_000), (20, 16_001, 12_000), (22, 106_952, 60_000)]
        {
            let plan = HalvesPlan::new(n).expect("the size is in range");
            let mut tasks = Tasks::new();
            // Of the most even splits the last one leaves no half-board out.
            plan.fill(ordinal..ordinal + 1, &mut tasks).expect("the plan has the range");
            let count = |room| {
                let mut joiner = Joiner::new(Portable::<4>, n, room);
                let mut sum = Sum::default();
                joiner.count(tasks.get(0).0, &mut sum);
                (sum.get().expect("it is small"), joiner.parts.whole.len())
            };
            let (whole, longest) = count(Room::within(u64::MAX, n));
            let (in_parts, last) =
                count(Room { kept: Kept::OfList, whole: part, ties: part, shared: 0 });
            assert!(last < longest, "N = {n}: the last list is {longest}, and {last} in parts");
            assert_eq!(in_parts, whole, "N = {n}");
            assert!(whole > 0);
        }
    }
}
