//! The code of a split, which says how keys of half-boards become records.
//!
//! A [`View`] brings equal diagonals of both halves to the same bits of their *items*, and to
//! corresponding bits of the numbers of their *buckets*. An upper and a lower half fit together if
//! they have none of these diagonals in common. On an even board they are the N - 1 diagonals of
//! each direction that cross the boundary. On an odd board they are the N - 2 of each direction
//! that cross the centre row and touch both halves, less the two diagonals of its queen.
//!
//! ```text
//!   key      both masks of diagonals       64 bits     code::diagonals
//!   record   bucket number | item          64 bits     code::view
//!   probe    an item, as places in tables  64 bits     join::probe
//! ```
//!
//! The diagonals on which most halves meet are the *code*, which numbers a half-board's bucket, and
//! the others the item. The code has a low part, for the most important diagonals, and a high part.
//! In each of them the diagonals are in order, the most important one as the highest bit. The
//! buckets of the upper half are in the order of the high part and then of the low one, those of
//! the lower half in the order of the low part and then of the high one.

pub(crate) mod choose;
pub(crate) mod conflicts;
pub(crate) mod diagonals;
pub(crate) mod key_views;
pub(crate) mod view;

use self::conflicts::Conflicts;
use self::diagonals::{in_order, in_other_half, meetings};
use self::view::{CODE, View};
use crate::halves::by_size::{self, CodeBits};
use crate::halves::join::probe::Chunks;
use crate::halves::shared::marks::Marks;

/// The rule by which the keys of a split's half-boards become records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code {
    pub(crate) upper: View,
    pub(crate) lower: View,
    pub(crate) item_diagonals: u32,
    /// The number of chunks that hold the diagonals of an item.
    pub(crate) chunks: Chunks,
}

impl Code {
    /// The code for all splits of an odd board of size `n` in which the queens of the halves stand
    /// in the columns of `upper` and of `lower`. Its diagonals suit these conflicts.
    ///
    /// Diagonals that one of the halves cannot have are left out. One of the two diagonals beside
    /// that of the last column is always among them, because each half has only a square of the
    /// last column on them. Without it, item and marks fit into 32 bits. The lowest bits of the
    /// numbers of the upper half's buckets are marks.
    pub(crate) fn shared(n: u32, upper: u32, lower: u32, conflicts: Conflicts) -> Code {
        let meetings = meetings(n, upper, lower).filter(|(_, meetings)| *meetings > 0);
        let mut diagonals = in_order(meetings);
        conflicts.order(&mut diagonals, by_size::code_bits(n).sum() as usize);
        Code::new(n, &diagonals, Marks::of(n))
    }

    /// The code of a board of size `n` (4 to 29) with these diagonals, in the order of importance,
    /// each a bit of the upper half's keys. Its records have these marks of the half-boards.
    pub(crate) fn new(n: u32, diagonals: &[u32], marks: Marks) -> Code {
        let diagonals = diagonals.iter().copied();
        let bits = by_size::code_bits(n);
        let item_diagonals = (diagonals.len() as u32).saturating_sub(bits.sum());
        let [upper_marks, lower_marks] = [marks.upper, marks.lower].map(|(first, len)| {
            assert!(item_diagonals + len <= u32::BITS, "an item and its marks");
            (first..first + len).zip(item_diagonals..)
        });
        let columns = (n..n + marks.columns).zip(CODE..);
        let upper = diagonals.clone().zip(bits.places(marks.columns, marks.columns + bits.low));
        let upper = upper.chain(upper_marks).chain(columns);
        let lower = diagonals
            .map(move |bit| in_other_half(n, bit))
            .zip(bits.places(bits.high, 0))
            .chain(lower_marks);
        let chunks = Chunks::of_bits(item_diagonals);
        Code { upper: View::new(upper), lower: View::new(lower), item_diagonals, chunks }
    }
}

impl CodeBits {
    /// The bits of records for diagonals in the order of importance, with the low part from bit
    /// `low_at` of the bucket's number on, and the high part from bit `high_at` on.
    fn places(self, low_at: u32, high_at: u32) -> impl Iterator<Item = u32> {
        let low_part = (0..self.low).rev().map(move |bit| CODE + low_at + bit);
        let high_part = (0..self.high).rev().map(move |bit| CODE + high_at + bit);
        low_part.chain(high_part).chain(0..CODE)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use board::full_mask;

    use super::*;
    use crate::halves::by_size;
    use crate::halves::code::diagonals::as_upper;
    use crate::halves::code::view;

    #[test]
    fn keys_brought_to_the_upper_half_are_where_views_read_them() {
        for n in [18, 19, 24, 27, 28, 29] {
            let diagonals: Vec<u32> = diagonals::diagonals(n, 0, full_mask(n) & 0x0f0f_33aa);
            let Code { upper, lower, .. } = Code::new(n, &diagonals, Marks::default());
            let mut seen = 0;
            // A lower half's diagonals are below bit N of each mask.
            for bit in (0..64).filter(|bit| bit % 32 < n).map(|bit| 1_u64 << bit) {
                let (above, below) = (upper.read(as_upper(n, bit)), lower.read(bit));
                assert_eq!(view::item(above), view::item(below), "N = {n}");
                assert_eq!(view::bucket(above).count_ones(), view::bucket(below).count_ones());
                seen |= below;
            }
            assert_eq!(seen, lower.used);
        }
    }

    /// In every pair of columns for the halves' queens, the code has a bit for each diagonal for
    /// which items have no room. Only the outermost columns decide which diagonals are void, so the
    /// other columns may belong to both halves here.
    #[test]
    fn items_and_codes_of_every_board_have_room() {
        const OUTER: u32 = 3;
        for n in 16..=29 {
            let outer = full_mask(OUTER) | full_mask(OUTER) << (n - OUTER);
            let squares = if n % 2 == 0 { 0..1 } else { 0..n / 2 + 1 };
            let mut most = 0;
            for centre in squares.map(|column| (n % 2) << column) {
                for upper in (0..1_u32 << (2 * OUTER))
                    .map(|set| set & full_mask(OUTER) | set >> OUTER << (n - OUTER))
                {
                    let both = full_mask(n) & !outer;
                    let [upper, lower] =
                        [upper, outer & !upper].map(|columns| (columns | both) & !centre);
                    let met = meetings(n, upper, lower)
                        .filter(|&(bit, pairs)| centre >> (bit % 32) & 1 == 0 && pairs > 0);
                    most = most.max(met.count() as u32);
                }
            }
            assert_eq!(most, if n % 2 == 0 { 2 * n - 4 } else { 2 * n - 8 }, "N = {n}");
            if by_size::leaves_out_void_diagonals(n) {
                assert!(most <= by_size::code_bits(n).sum() + u32::BITS, "N = {n}");
            }
        }
    }

    /// Looking up six chunks takes six sevenths of the time that seven take.
    #[test]
    fn items_of_most_boards_are_looked_up_in_six_chunks() {
        for n in 4..=29 {
            for split in (0..200_u32).map(|i| i.wrapping_mul(0x9e37_79b9) & full_mask(n)) {
                let squares = if n % 2 == 0 { 0..1 } else { 0..n / 2 + 1 };
                for centre in squares.map(|column| (n % 2) << column) {
                    let diagonals = diagonals::diagonals(n, centre, split & !centre);
                    let code = Code::new(n, &diagonals, Marks::default());
                    let item = u32::BITS - (code.upper.used as u32).leading_zeros();
                    assert_eq!(code.chunks, Chunks::of_bits(item), "N = {n}");
                    assert!(n == 28 || code.chunks == Chunks::Six, "N = {n}, {centre:b}");
                }
            }
        }
    }

    /// The number of pairs of squares that meet on each diagonal falls from the code's high bits to
    /// the items.
    #[test]
    fn the_most_important_diagonals_are_on_top() {
        for n in [18, 19, 20, 22, 24] {
            let split = full_mask(n) & 0x0f0f_33aa;
            let CodeBits { low, high } = by_size::code_bits(n);
            let meetings: HashMap<u32, u32> = meetings(n, split, full_mask(n) & !split).collect();
            let view = Code::new(n, &diagonals::diagonals(n, 0, split), Marks::default()).upper;
            let at = |place: u32| meetings[&u32::from(view.from[(CODE + place) as usize])];
            let low_part = (0..low).rev().map(at);
            let order: Vec<u32> = low_part.chain((low..low + high).rev().map(at)).collect();
            assert!(order.is_sorted_by(|a, b| a >= b), "N = {n}: {order:?}");
        }
    }
}
