//! A task as the columns and lists that it stands for, and as a record.
//!
//! ```text
//!   bits     0 .. N                                       29 .. 32
//!   left     the column of the centre row's queen, or 0   the code of the upper list's slice
//!   right    the same                                     the code of the lower list's slice
//!   down     the columns of the upper half's queens       0
//! ```

use super::Slice;
use crate::{Prefix, full_mask};

/// What a task joins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Split {
    /// The column of the centre row's queen, as a bit; 0 for an even board.
    pub centre: u32,
    /// The columns of the upper half's queens.
    pub columns: u32,
    /// The upper half-boards that it joins.
    pub upper: Slice,
    /// The lower half-boards that it joins.
    pub lower: Slice,
}

/// The first bit of a slice in a mask.
const SLICE: u32 = 29;

impl Split {
    /// The split of a record, if it is one of a board of size `n`.
    #[must_use]
    pub fn unpack(n: u32, Prefix { left, down, right }: Prefix) -> Option<Split> {
        let (centre, upper) = unpack(left)?;
        let (same, lower) = unpack(right)?;
        let is_split = centre == same
            && centre & down == 0
            && (centre | down) & !full_mask(n) == 0
            && centre.count_ones() == n % 2
            && down.count_ones() == n / 2;
        is_split.then_some(Split { centre, columns: down, upper, lower })
    }

    /// The split as a record.
    #[must_use]
    pub fn pack(self) -> Prefix {
        let Split { centre, columns, upper, lower } = self;
        let with = |slice: Slice| centre | slice.code() << SLICE;
        Prefix { left: with(upper), down: columns, right: with(lower) }
    }

    /// The columns of the lower half's queens, on a board of size `n`.
    #[must_use]
    pub fn others(&self, n: u32) -> u32 {
        full_mask(n) & !(self.columns | self.centre)
    }
}

/// The centre row's queen and the slice that a mask has.
fn unpack(mask: u32) -> Option<(u32, Slice)> {
    Some((mask & full_mask(SLICE), Slice::from_code(mask >> SLICE)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_the_split_that_was_packed() {
        let slices = || [1, 2, 4].into_iter().flat_map(Slice::modulo);
        for (n, centre, columns) in [(8, 0, 0b1011_0010), (29, 1 << 3, 0x3fff << 15)] {
            for (upper, lower) in slices().flat_map(|upper| slices().map(move |s| (upper, s))) {
                let split = Split { centre, columns, upper, lower };
                assert_eq!(Split::unpack(n, split.pack()), Some(split));
            }
            let record = Split { centre, columns, ..Split::default() }.pack();
            assert_eq!(Split::unpack(n, Prefix { left: 7 << SLICE | centre, ..record }), None);
        }
    }
}
