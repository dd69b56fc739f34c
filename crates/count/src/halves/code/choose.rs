//! Chooses the diagonals that number the buckets: those on which most pairs of a sample of
//! half-boards meet.
//!
//! ```text
//!   even boards whose quarters are kept   one code for all splits
//!   odd boards up to 21                   one for tasks that share lists; for others the diagonals on
//!                                         which most pairs of squares meet
//!   other boards                          one for each split, or up to 23 for a few that are alike
//! ```

use board::halves::{Shares, Split};
use board::{Method, PlanIndex, Problem, full_mask};

use crate::halves::by_size;
use crate::halves::code::Code;
use crate::halves::code::conflicts::Conflicts;
use crate::halves::code::diagonals::{diagonals, key};
use crate::halves::lists::Lists;
use crate::halves::shared::marks::Marks;
use crate::halves::units::Unit;

/// The code of a split. On a larger board, its half-boards are sampled for it.
pub(crate) fn of_split<U: Unit>(unit: U, n: u32, split: Split, lists: &mut Lists) -> Code {
    let conflicts =
        by_size::sampled_pairs(n).map(|pairs| conflicts(unit, n, [split], pairs, lists));
    arranged(n, split, conflicts.unwrap_or_default())
}

/// The code that was chosen last. It serves the other tasks of its split, and some of the splits
/// that follow.
#[derive(Default)]
pub(crate) struct LastCode {
    last: Option<(Split, Code)>,
    /// The largest number of further splits that it serves.
    left: u32,
}

impl LastCode {
    /// The number of columns in which other splits may differ.
    const COLUMNS: u32 = 4;

    /// The code for a split. A new one is chosen if the last one does not serve it.
    pub(crate) fn serve(&mut self, n: u32, split: Split, choose: impl FnOnce() -> Code) -> Code {
        if let Some((last, code)) = &self.last
            && last.centre == split.centre
        {
            let columns = (last.columns ^ split.columns).count_ones();
            if columns == 0 {
                return *code;
            }
            if columns <= LastCode::COLUMNS && self.left > 0 {
                self.left -= 1;
                return *code;
            }
        }
        let code = choose();
        *self = LastCode { last: Some((split, code)), left: by_size::splits_of_a_code(n) - 1 };
        code
    }
}

/// The diagonals of a split in an order that suits these conflicts.
fn arranged(n: u32, split: Split, conflicts: Conflicts) -> Code {
    let mut diagonals = diagonals(n, split.centre, split.columns);
    conflicts.order(&mut diagonals, by_size::code_bits(n).sum() as usize);
    Code::new(n, &diagonals, Marks::default())
}

/// Samples of both lists of a split: half-boards that do not attack the centre row's queen, without
/// the marks of their keys.
fn samples<U: Unit>(unit: U, n: u32, split: Split, lists: &mut Lists) -> [Vec<u64>; 2] {
    let shares = Shares::new(n, split);
    let sides = [(split.columns, shares.upper), (split.others(n), shares.lower)];
    let (attacked, diagonals) = (key(split.centre, split.centre), key(full_mask(n), full_mask(n)));
    sides.map(|(set, window)| {
        let mut keys = lists.sample(unit, set, window);
        if split.centre != 0 {
            keys.retain(|key| key & attacked == 0);
            keys.iter_mut().for_each(|key| *key &= diagonals);
        }
        keys
    })
}

/// The code of all splits of an even board, for which half-boards of some splits are sampled.
///
/// The join takes 3% longer with it than with a code for each split (N = 18 to 22), but neither
/// samples nor views are made for splits, and keys are read once for all of them.
pub(crate) fn of_board<U: Unit>(unit: U, n: u32, lists: &mut Lists) -> Code {
    const SPLITS: u64 = 32;
    const PAIRS: u64 = 5_000;
    let plan =
        PlanIndex::new(Problem::Total { n }, Method::Halves).expect("the method counts this board");
    let splits = (0..SPLITS).map(|i| {
        let ordinal = plan.len() * (2 * i + 1) / (2 * SPLITS);
        let tasks = plan.tasks(ordinal..ordinal + 1).expect("the plan has it");
        Split::unpack(n, tasks[0].record).expect("it is a task")
    });
    let split = Split { columns: full_mask(n / 2), ..Split::default() };
    arranged(n, split, conflicts(unit, n, splits, PAIRS, lists))
}

/// The code of all tasks of an odd board that [share lists](crate::halves::shared) with a task
/// whose upper half has the columns `columns`. Half-boards of some of them are sampled.
///
/// With diagonals in the order of meetings instead, the join of N = 21 takes a fifth longer.
pub(crate) fn of_neighbours<U: Unit>(unit: U, n: u32, columns: u32, lists: &mut Lists) -> Code {
    const SPLITS: usize = 8;
    const PAIRS: u64 = 500;
    let left = full_mask(n / 2);
    let right = columns & !left;
    let on_left = (columns & left).count_ones();
    let lefts: Vec<u32> = (0..=left).filter(|left| left.count_ones() == on_left).collect();
    let splits = (0..SPLITS).filter_map(|i| {
        let columns = right | lefts[(2 * i + 1) * lefts.len() / (2 * SPLITS)];
        // With the queen next to the centre, no half-board counts.
        let squares: Vec<u32> =
            (0..n / 2 - 1).filter(|column| columns >> column & 1 == 0).collect();
        let centre = 1 << squares.get(i % squares.len().max(1))?;
        Some(Split { centre, columns, ..Split::default() })
    });
    let others = full_mask(n) & !columns;
    let conflicts = conflicts(unit, n, splits, PAIRS, lists);
    Code::shared(n, columns | left, others | left, conflicts)
}

/// The conflicts of `pairs` sampled pairs of half-boards of each split.
fn conflicts<U: Unit>(
    unit: U,
    n: u32,
    splits: impl IntoIterator<Item = Split>,
    pairs: u64,
    lists: &mut Lists,
) -> Conflicts {
    let mut conflicts = Conflicts::default();
    for split in splits {
        let [upper, lower] = samples(unit, n, split, lists);
        conflicts.add_sample(n, pairs, &upper, &lower);
    }
    conflicts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::halves::by_size::Kept;
    use crate::halves::code::view::CODE;
    use crate::halves::units::portable::Portable;

    #[test]
    fn a_code_serves_eight_similar_splits_with_the_same_centre() {
        let code = |n| {
            arranged(
                n,
                Split { centre: 1, columns: 0b1_1110, ..Split::default() },
                Conflicts::default(),
            )
        };
        let samples = |n: u32, splits: &[(u32, u32)]| {
            let mut last = LastCode::default();
            let mut samples = 0;
            for &(centre, columns) in splits {
                let split = Split { centre, columns, ..Split::default() };
                last.serve(n, split, || {
                    samples += 1;
                    code(n)
                });
            }
            samples
        };
        let (one, alike) = ((1, 0b1_1110), (1, 0b111_0010));
        let nine = [one, alike, alike, alike, alike, alike, alike, alike, alike];
        assert_eq!(samples(23, &nine[..8]), 1);
        assert_eq!(samples(23, &nine), 2);
        assert_eq!(samples(25, &[one, alike, one]), 3);
        assert_eq!(samples(21, &[one, alike, one]), 3);
        assert_eq!(samples(28, &[one; 9]), 1, "the tasks of a split");
        assert_eq!(samples(23, &[(1, 0b1_1110), (2, 0b1_1110)]), 2);
        assert_eq!(samples(23, &[(1, 0b1_1110), (1, 0b110_0110)]), 1);
        assert_eq!(samples(23, &[(1, 0b1_1110), (1, 0b111_0010)]), 1);
        assert_eq!(samples(23, &[(1, 0b1_1110), (1, 0b1110_0010)]), 2);
    }

    /// The shares of sampled pairs of a task that do not meet on their codes, in thousandths: with
    /// the order of meetings, and with a code from a sample. The pairs are not those of the sample.
    fn left(
        n: u32,
        ordinal: u64,
        kept: Kept,
        by_meetings: impl Fn(Split) -> Code,
        sampled: impl Fn(Split, &mut Lists) -> Code,
    ) -> [usize; 2] {
        let plan =
            PlanIndex::new(Problem::Total { n }, Method::Halves).expect("the size is in range");
        let tasks = plan.tasks(ordinal..ordinal + 1).expect("the plan has it");
        let split = Split::unpack(n, tasks[0].record).expect("it is a task");
        let mut lists = Lists::new(n, kept, 0, Shares::new(n, split).columns);
        let [upper, lower] = samples(Portable, n, split, &mut lists);
        assert!(upper.len().min(lower.len()) > 500, "{} and {}", upper.len(), lower.len());
        [by_meetings(split), sampled(split, &mut lists)].map(|code| {
            let (from, used) = (code.upper.from, code.upper.used);
            let places = (CODE..u64::BITS).filter(|place| used >> place & 1 == 1);
            let code: Vec<u32> = places.map(|place| u32::from(from[place as usize])).collect();
            let mut conflicts = Conflicts::default();
            conflicts.add_sample(n, 20_000, &upper, &lower);
            conflicts.left(&code)
        })
    }

    #[test]
    fn a_sampled_code_of_a_split_leaves_fewer_pairs() {
        let n = 22;
        let by_meetings = |split| arranged(n, split, Conflicts::default());
        let [before, after] = left(n, 50_000, Kept::OfList, by_meetings, |split, lists| {
            of_split(Portable, n, split, lists)
        });
        assert!(after < before * 9 / 10, "{after} conflicts are left of {before}");
    }

    #[test]
    fn a_sampled_code_of_neighbours_leaves_fewer_pairs() {
        let (n, left_of_centre) = (21, full_mask(21 / 2));
        let by_meetings = |split: Split| {
            let [upper, lower] = [split.columns, split.others(n)].map(|set| set | left_of_centre);
            Code::shared(n, upper, lower, Conflicts::default())
        };
        let [before, after] = left(n, 400_000, Kept::All, by_meetings, |split, lists| {
            of_neighbours(Portable, n, split.columns, lists)
        });
        assert!(after < before * 9 / 10, "{after} conflicts are left of {before}");
    }
}
