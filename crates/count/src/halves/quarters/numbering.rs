//! The numbers of sets of columns.

use crate::halves::by_size::Kept;

/// A set of columns of an area.
#[derive(Clone, Copy)]
pub(crate) struct Columns {
    pub(crate) set: u32,
    /// Their ranks among the area's columns.
    pub(crate) ranks: u32,
}

/// Numbers the sets of a given size of some columns from 0, by two look-ups.
///
/// The sets are in the order of their upper columns, which are all but the lowest 10. Sets with
/// equal upper columns have equally many lower ones, and are in the order of these.
///
/// If only the quarters of one list are kept, the ranks of the columns are numbered in their place.
pub(crate) struct Numbering {
    kept: Kept,
    upper: Vec<u32>,
    lower: Vec<u32>,
    len: u32,
}

/// The number of columns that the second of two look-ups covers. With 10, both tables are small.
const LOWER_COLUMNS: u32 = 10;

impl Numbering {
    /// Numbers the sets of `chosen` out of `columns` columns, or ranks.
    pub(crate) fn new(kept: Kept, columns: u32, chosen: u32) -> Numbering {
        let lower_columns = columns.min(LOWER_COLUMNS);
        let mut of_size = [0; LOWER_COLUMNS as usize + 1];
        let mut lower = Vec::with_capacity(1 << lower_columns);
        for set in 0..1_u32 << lower_columns {
            let next = &mut of_size[set.count_ones() as usize];
            lower.push(*next);
            *next += 1;
        }
        let mut len = 0;
        let mut upper = Vec::with_capacity(1 << (columns - lower_columns));
        for set in 0..1_u32 << (columns - lower_columns) {
            upper.push(len);
            let below = chosen.checked_sub(set.count_ones());
            len += below.and_then(|below| of_size.get(below as usize)).unwrap_or(&0);
        }
        Numbering { kept, upper, lower, len }
    }

    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// The number of a set. The set must have as many columns as all sets that are numbered.
    pub(crate) fn of(&self, Columns { set, ranks }: Columns) -> usize {
        let set = match self.kept {
            Kept::All => set,
            Kept::OfList => ranks,
        };
        let low = set & ((1 << LOWER_COLUMNS) - 1);
        (self.upper[(set >> LOWER_COLUMNS) as usize] + self.lower[low as usize]) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_columns_are_numbered_without_gaps() {
        for (n, chosen) in [(6, 0), (6, 3), (9, 4), (18, 2), (20, 5)] {
            let numbering = Numbering::new(Kept::All, n, chosen);
            let sets = (0..1_u32 << n).filter(|set| set.count_ones() == chosen);
            let mut numbers: Vec<usize> =
                sets.map(|set| numbering.of(Columns { set, ranks: set })).collect();
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..numbering.len()), "{chosen} of {n}");
        }
    }
}
