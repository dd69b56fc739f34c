//! The lists of a task, or parts of them, and the room to join them.

use super::buckets::{Buckets, Sorter};
use super::geometry::Code;
use super::join::{Join, Lower, Terms, Upper};
use super::lists::{Lists, Rest, Wanted};
use super::memory::Room;
use super::phases::{Phase, Phases};
use super::sum::Sum;
use super::unit::Unit;
use super::unsorted::Unsorted;

/// The lists of a task, or parts of them.
pub(crate) struct Parts<U: Unit> {
    pub(crate) unit: U,
    pub(crate) whole: Unsorted,
    pub(crate) ties: Unsorted,
    pub(crate) upper: Upper,
    pub(crate) lower: Lower,
    pub(crate) sorter: Sorter,
    pub(crate) phases: Phases,
    pub(crate) join: Join<U>,
}

impl<U: Unit> Parts<U> {
    /// Empty lists, for which there is `room`, of a board with this code.
    pub(crate) fn new(unit: U, code: Code, room: Room) -> Parts<U> {
        let buckets = |room| Buckets::new(code.bits(), room);
        Parts {
            unit,
            whole: Unsorted::new(room.whole),
            ties: Unsorted::new(room.ties),
            upper: Upper { whole: buckets(room.whole), ties: Unsorted::new(room.ties) },
            lower: Lower { whole: buckets(room.whole), ties: buckets(room.ties) },
            sorter: Sorter::new(code.bits()),
            phases: Phases::default(),
            join: Join::new(unit, code, room),
        }
    }

    /// Adds the shares of the boards that the upper and the lower list make to `sum`.
    pub(crate) fn count(&mut self, terms: Terms, sum: &mut Sum) {
        let Parts { upper, lower, sorter, phases, join, .. } = self;
        join.count(upper, lower, terms, sum, sorter, phases);
    }

    /// Leaves no ties in either list.
    pub(crate) fn clear_ties(&mut self) {
        self.ties.clear();
        self.upper.ties.clear();
        self.lower.ties.clear();
    }

    /// Lists upper half-boards, as far as there is room, and returns what is left.
    pub(crate) fn list_upper(&mut self, lists: &mut Lists, wanted: Wanted, rest: Rest) -> Rest {
        let Parts { unit, whole, upper, sorter, phases, .. } = self;
        let rest = lists.list(*unit, wanted, rest, whole, &mut upper.ties, phases);
        phases.end(Phase::Lists);
        sorter.sort(whole, &mut upper.whole);
        phases.end(Phase::Buckets);
        rest
    }

    /// Lists lower half-boards, as far as there is room, and returns what is left.
    pub(crate) fn list_lower(&mut self, lists: &mut Lists, wanted: Wanted, rest: Rest) -> Rest {
        let Parts { unit, whole, ties, lower, sorter, phases, .. } = self;
        let rest = lists.list(*unit, wanted, rest, whole, ties, phases);
        phases.end(Phase::Lists);
        sorter.sort(whole, &mut lower.whole);
        sorter.sort(ties, &mut lower.ties);
        phases.end(Phase::Buckets);
        rest
    }
}
