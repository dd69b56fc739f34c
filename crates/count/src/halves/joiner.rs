//! One task: its lists, whole or in parts as there is room, and their joins.

use board::halves::Shares;
use board::{Prefix, full_mask};

use super::cover::Conflicts;
use super::geometry::{Code, Geometry, as_upper, diagonals};
use super::lists::{Kept, Lists, Rest, Wanted};
use super::marks::shares_lists;
use super::memory::Room;
use super::parts::Parts;
use super::phases::{Phase, Phases};
use super::shared::Shared;
use super::sum::Sum;
use super::unit::Unit;

/// The method in the instructions of one unit.
pub(crate) struct Joiner<U: Unit> {
    n: u32,
    kept: Kept,
    for_centre: Option<ForCentre>,
    shared: Option<Shared>,
    parts: Parts<U>,
}

/// The smallest board whose tasks have codes of their own, by a sample. Tasks of smaller ones take about as
/// long as such a sample, or less.
pub(crate) const SAMPLED: u32 = 22;

/// The number of pairs of half-boards of a sample. It takes a few hundredths of the time of a task, or less.
fn sampled_pairs(n: u32) -> u64 {
    match n {
        0..=23 => 5_000,
        24..=25 => 30_000,
        _ => 100_000,
    }
}

/// Lists that serve all tasks with one square of the centre row's queen.
struct ForCentre {
    /// The square, as a bit. It is 0 for even N, and for an odd board if the lists serve every square.
    centre: u32,
    lists: Lists,
}

impl<U: Unit> Joiner<U> {
    /// The method for boards of size `n`, with lists of at most `room` half-boards at a time.
    pub(crate) fn new(unit: U, n: u32, room: Room) -> Joiner<U> {
        let parts = Parts::new(unit, Code::of(n), room);
        let shared = shares_lists(n).then(|| Shared::new(n, room.shared));
        Joiner { n, kept: room.kept, for_centre: None, shared, parts }
    }

    /// Where the time goes.
    pub(crate) fn phases(&mut self) -> &mut Phases {
        &mut self.parts.phases
    }

    /// Adds the shares of the boards of one task to `sum`.
    pub(crate) fn count(&mut self, record: Prefix, sum: &mut Sum) {
        let shares = Shares::of(self.n, record);
        if self.list_shared(record, shares) {
            self.parts.count(shares.times, sum);
        } else {
            self.count_in_parts(record, shares, sum);
        }
    }

    /// Makes the lists of a task from shared ones. Returns false if it shares none, or they do not fit.
    fn list_shared(&mut self, record: Prefix, shares: Shares) -> bool {
        let Joiner { n, kept, for_centre, shared, parts } = self;
        let Some(shared) = shared.as_mut().filter(|shared| shared.has(record)) else {
            return false;
        };
        let lists = lists(for_centre, *n, *kept, 0, shares);
        parts.clear_ties();
        shared.list(record, lists, parts).is_ok()
    }

    fn count_in_parts(&mut self, record: Prefix, shares: Shares, sum: &mut Sum) {
        let Prefix { left: centre, down: split, .. } = record;
        let Joiner { n, kept, for_centre, parts, .. } = self;
        let lists = lists(for_centre, *n, *kept, centre, shares);
        let others = full_mask(*n) & !(split | centre);
        let mut diagonals = diagonals(*n, centre, split);
        if *n >= SAMPLED {
            let upper = lists.sample(parts.unit, split, shares.upper, &mut parts.phases);
            let lower = lists.sample(parts.unit, others, shares.lower, &mut parts.phases);
            let conflicts =
                Conflicts::sample(sampled_pairs(*n), &upper, &lower, |key| as_upper(*n, key));
            conflicts.order(&mut diagonals, Code::of(*n).bits() as usize);
            parts.phases.end(Phase::Code);
        }
        let geometry = Geometry::new(*n, &diagonals);
        let upper = Wanted { set: split, window: shares.upper, closed: 0, view: geometry.upper };
        let lower = Wanted { set: others, window: shares.lower, closed: 0, view: geometry.lower };
        // A list that does not fit is joined in parts; the other list is made once more for each.
        let mut upper_rest = Rest::ALL;
        while let Rest::From(_) = upper_rest {
            upper_rest = parts.list_upper(lists, upper, upper_rest);
            if parts.whole.len() + parts.upper.ties.len() == 0 {
                continue;
            }
            let mut lower_rest = Rest::ALL;
            while let Rest::From(_) = lower_rest {
                lower_rest = parts.list_lower(lists, lower, lower_rest);
                parts.count(shares.times, sum);
            }
        }
    }
}

/// The lists for a square of the centre row, or for every square. They are made if the last ones were for
/// another square.
fn lists(
    last: &mut Option<ForCentre>,
    n: u32,
    kept: Kept,
    centre: u32,
    shares: Shares,
) -> &mut Lists {
    last.take_if(|last| last.centre != centre);
    let lists = || Lists::new(n, kept, centre, shares.columns);
    &mut last.get_or_insert_with(|| ForCentre { centre, lists: lists() }).lists
}

#[cfg(test)]
mod tests {
    use board::Tasks;
    use board::halves::HalvesPlan;

    use super::*;
    use crate::halves::portable::Portable;

    /// The share of the pairs of a task of N = 22 whose codes do not meet is smaller with a sampled code.
    #[test]
    fn a_sampled_code_leaves_fewer_pairs() {
        const N: u32 = 22;
        let plan = HalvesPlan::new(N).expect("the size is in range");
        let mut tasks = Tasks::new();
        plan.fill(50_000..50_001, &mut tasks).expect("the plan has it");
        let record = tasks.get(0).0;
        let shares = Shares::of(N, record);
        let others = full_mask(N) & !record.down;
        let mut lists = Lists::new(N, Kept::OfList, 0, shares.columns);
        let phases = &mut Phases::default();
        let upper = lists.sample(Portable::<6>, record.down, shares.upper, phases);
        let lower = lists.sample(Portable::<6>, others, shares.lower, phases);
        assert!(upper.len().min(lower.len()) > 1000, "{} and {}", upper.len(), lower.len());

        let by_squares = diagonals(N, 0, record.down);
        let mut sampled = by_squares.clone();
        let conflicts = || Conflicts::sample(20_000, &upper, &lower, |key| as_upper(N, key));
        conflicts().order(&mut sampled, Code::of(N).bits() as usize);

        let left = |order: &[u32]| conflicts().left(&order[..Code::of(N).bits() as usize]);
        let (before, after) = (left(&by_squares), left(&sampled));
        assert!(after < before * 9 / 10, "{after} conflicts are left of {before}");
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
                let mut joiner = Joiner::new(Portable::<6>, n, room);
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
