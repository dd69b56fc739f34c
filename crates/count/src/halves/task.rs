//! One task: its lists, whole or in parts as there is room, and their joins.

use board::halves::{Shares, Slice, Split};

use crate::halves::buckets::{Buckets, Sorter};
use crate::halves::by_size;
use crate::halves::code::choose;
use crate::halves::code::choose::LastCode;
use crate::halves::code::{Code, CodeBits};
use crate::halves::join::probe::Chunks;
use crate::halves::join::{BuildSide, Join, ProbeSide, Terms};
use crate::halves::lists::records::Records;
use crate::halves::lists::{Kept, Lists, Rest, Wanted};
use crate::halves::measure::draws::Draws;
use crate::halves::measure::phases::{Phase, Phases};
use crate::halves::memory::Room;
use crate::halves::quarters::Half;
use crate::halves::shared::Shared;
use crate::halves::sum::Sum;
use crate::halves::units::Unit;

/// The method in the instructions of one unit.
pub(crate) struct TaskCounter<U: Unit> {
    n: u32,
    kept: Kept,
    for_centre: Option<ForCentre>,
    shared: Option<Shared>,
    listed: Option<Listed>,
    nearby: LastCode,
    parts: Workspace<U>,
}

/// Lists that serve all tasks with one square of the centre row's queen.
struct ForCentre {
    /// The square, as a bit. It is 0 for even N, and for an odd board if the lists serve every square.
    centre: u32,
    lists: Lists,
}

impl<U: Unit> TaskCounter<U> {
    /// The method for boards of size `n`, with lists of at most `room` half-boards at a time.
    pub(crate) fn new(unit: U, n: u32, room: Room) -> TaskCounter<U> {
        let parts = Workspace::new(unit, by_size::code_bits(n), room);
        let shared = by_size::shares_lists(n).then(|| Shared::new(n, room));
        TaskCounter {
            n,
            kept: room.kept,
            for_centre: None,
            shared,
            listed: None,
            nearby: LastCode::default(),
            parts,
        }
    }

    /// Where the time goes, and which blocks are joined.
    pub(crate) fn gauges(&mut self) -> (&mut Phases, &mut Draws) {
        (&mut self.parts.phases, &mut self.parts.join.draws)
    }

    /// Adds the shares of the boards of one task to `sum`.
    pub(crate) fn count(&mut self, split: Split, sum: &mut Sum) {
        let shares = Shares::of(self.n, split);
        if let Some(chunks) = self.list_shared(split, shares) {
            self.parts.count(Terms { chunks, shares: shares.times }, sum);
        } else {
            self.count_in_parts(split, shares, sum);
        }
    }

    /// Makes the lists of a task from shared ones, and says how many chunks their items have. `None` if it shares none, or
    /// they do not fit.
    fn list_shared(&mut self, split: Split, shares: Shares) -> Option<Chunks> {
        let TaskCounter { n, kept, for_centre, shared, listed, parts, .. } = self;
        let shared = shared.as_mut().filter(|shared| shared.has(split))?;
        *listed = None;
        let lists = lists(for_centre, parts.unit, *n, *kept, 0, shares);
        parts.clear_ties();
        shared.list(split, lists, parts).ok()
    }

    fn count_in_parts(&mut self, split: Split, shares: Shares, sum: &mut Sum) {
        let TaskCounter { n, kept, for_centre, listed, nearby, parts, .. } = self;
        let lists = lists(for_centre, parts.unit, *n, *kept, split.centre, shares);
        let before = listed.take().filter(|listed| listed.is_of(split));
        let upper_is_listed =
            before.as_ref().is_some_and(|listed| listed.upper == Some(split.upper));
        let code = match before {
            Some(Listed { code, .. }) => code,
            None => match lists.code() {
                Some(code) => code,
                None => nearby.code(*n, split, || {
                    choose::of_split(parts.unit, *n, split, lists, &mut parts.phases)
                }),
            },
        };
        let upper = Wanted {
            half: Half::Upper,
            set: split.columns,
            window: shares.upper,
            slice: split.upper,
            closed: 0,
            view: code.upper,
        };
        let lower = Wanted {
            half: Half::Lower,
            set: split.others(*n),
            window: shares.lower,
            slice: split.lower,
            closed: 0,
            view: code.lower,
        };
        // A list that does not fit is joined in parts; the other list is made once more for each.
        let mut upper_rest = Rest::ALL;
        let mut upper_parts = 0;
        while let Rest::From(_) = upper_rest {
            upper_rest = if upper_is_listed {
                Rest::Nothing
            } else {
                parts.list_upper(lists, upper, upper_rest)
            };
            upper_parts += 1;
            if parts.upper.whole.len() + parts.upper.ties.len() == 0 {
                continue;
            }
            let mut lower_rest = Rest::ALL;
            while let Rest::From(_) = lower_rest {
                lower_rest = parts.list_lower(lists, lower, lower_rest);
                parts.count(Terms { chunks: code.chunks, shares: shares.times }, sum);
            }
        }
        let Split { centre, columns, upper, .. } = split;
        // Without slices the next task has another split.
        *listed = (upper != Slice::WHOLE).then(|| {
            let upper = (upper_parts == 1).then_some(upper);
            Listed { centre, columns, code, upper }
        });
    }
}

/// What is left of the task before. A task of the same split takes its code, and if it joins the same upper
/// half-boards, their list.
struct Listed {
    centre: u32,
    columns: u32,
    code: Code,
    /// The slice of which all upper half-boards are listed.
    upper: Option<Slice>,
}

impl Listed {
    fn is_of(&self, split: Split) -> bool {
        (self.centre, self.columns) == (split.centre, split.columns)
    }
}

/// The lists for a square of the centre row, or for every square. They are made if the last ones were for
/// another square.
fn lists<U: Unit>(
    last: &mut Option<ForCentre>,
    unit: U,
    n: u32,
    kept: Kept,
    centre: u32,
    shares: Shares,
) -> &mut Lists {
    last.take_if(|last| last.centre != centre);
    let lists = || {
        let mut lists = Lists::new(n, kept, centre, shares.columns);
        if by_size::has_common_code(n, kept) {
            let code = choose::of_board(unit, n, &mut lists);
            lists.read(unit, code);
        }
        lists
    };
    &mut last.get_or_insert_with(|| ForCentre { centre, lists: lists() }).lists
}

/// The lists of a task, or parts of them.
pub(crate) struct Workspace<U: Unit> {
    pub(crate) unit: U,
    pub(crate) whole: Records,
    pub(crate) ties: Records,
    pub(crate) upper: BuildSide,
    pub(crate) lower: ProbeSide,
    pub(crate) sorter: Sorter,
    pub(crate) phases: Phases,
    pub(crate) join: Join<U>,
}

impl<U: Unit> Workspace<U> {
    /// Empty lists, for which there is `room`, of a board with this code.
    pub(crate) fn new(unit: U, bits: CodeBits, room: Room) -> Workspace<U> {
        let buckets = |room| Buckets::new(bits.sum(), room);
        Workspace {
            unit,
            whole: Records::new(room.whole),
            ties: Records::new(room.ties),
            upper: BuildSide { whole: buckets(room.whole), ties: Records::new(room.ties) },
            lower: ProbeSide { whole: buckets(room.whole), ties: buckets(room.ties) },
            sorter: Sorter::new(bits.sum()),
            phases: Phases::default(),
            join: Join::new(unit, bits, room),
        }
    }

    /// Adds the shares of the boards that the upper and the lower list make to `sum`.
    pub(crate) fn count(&mut self, terms: Terms, sum: &mut Sum) {
        let Workspace { upper, lower, sorter, phases, join, .. } = self;
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
        let Workspace { unit, whole, upper, sorter, phases, .. } = self;
        let rest = lists.list(*unit, wanted, rest, whole, &mut upper.ties, phases);
        phases.end(Phase::Lists);
        sorter.sort(whole, &mut upper.whole);
        phases.end(Phase::Buckets);
        rest
    }

    /// Lists lower half-boards, as far as there is room, and returns what is left.
    pub(crate) fn list_lower(&mut self, lists: &mut Lists, wanted: Wanted, rest: Rest) -> Rest {
        let Workspace { unit, whole, ties, lower, sorter, phases, .. } = self;
        let rest = lists.list(*unit, wanted, rest, whole, ties, phases);
        phases.end(Phase::Lists);
        sorter.sort(whole, &mut lower.whole);
        sorter.sort(ties, &mut lower.ties);
        phases.end(Phase::Buckets);
        rest
    }
}

#[cfg(test)]
mod tests {
    use board::Tasks;
    use board::halves::HalvesPlan;

    use super::*;
    use crate::halves::units::portable::Portable;

    /// Tasks of N = 21 have the largest items, and its centre column's queen stands further out than marks can tell.
    #[test]
    fn tasks_that_share_lists_count_what_they_count_alone() {
        for (n, groups, some) in [(13, 12, 40), (19, 3, 10), (21, 2, 6)] {
            let plan = HalvesPlan::new(n).expect("the size is in range");
            let full = Room::within(u64::MAX, n);
            let mut together = TaskCounter::new(Portable, n, full);
            // There is no room for a lower list.
            let mut alone = TaskCounter::new(Portable, n, Room { shared: 0, ..full });
            let mut total = 0;
            for group in 0..groups {
                let mut tasks = Tasks::new();
                let start = plan.len() * (2 * group + 1) / (2 * groups + 1);
                plan.fill(start..start + some, &mut tasks).expect("the plan has the range");
                for task in (0..tasks.len()).map(|index| tasks.get(index).0) {
                    let split = Split::unpack(n, task).expect("it is a task");
                    let count = |counter: &mut TaskCounter<Portable>| {
                        let mut sum = Sum::default();
                        counter.count(split, &mut sum);
                        sum.get().expect("it is small")
                    };
                    let (shared, expected) = (count(&mut together), count(&mut alone));
                    assert_eq!(shared, expected, "N = {n}, {split:?}");
                    total += shared;
                }
            }
            assert!(total > 0, "N = {n}");
        }
    }

    #[test]
    fn a_list_in_parts_counts_what_it_counts_as_a_whole() {
        for (n, ordinal, part) in [(19, 89_900, 8_000), (20, 16_001, 12_000), (22, 106_952, 60_000)]
        {
            let plan = HalvesPlan::new(n).expect("the size is in range");
            let mut tasks = Tasks::new();
            // The last one of the most even splits leaves no half-board out.
            plan.fill(ordinal..ordinal + 1, &mut tasks).expect("the plan has the range");
            let count = |room| {
                let mut counter = TaskCounter::new(Portable, n, room);
                let mut sum = Sum::default();
                counter.count(Split::unpack(n, tasks.get(0).0).expect("it is a task"), &mut sum);
                (sum.get().expect("it is small"), counter.parts.whole.len())
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
