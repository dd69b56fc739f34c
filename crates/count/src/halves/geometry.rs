//! Where the diagonals of the two halves meet, and as which bits.
//!
//! A half-board is a list of rows from its own edge inwards. Both halves are searched in the same way, the
//! lower one from the bottom. The diagonals of a half-board are those of its state after M = N/2 rows: the
//! masks `left` and `right` of [`Prefix`](board::Prefix), as the row beyond sees them.
//!
//! ```text
//!   N even                                       N odd
//!   column       5 4 3 2 1 0                     column       4 3 2 1 0
//!   upper half   . . . Q . .                     upper half   . . Q . .
//!   - - - - - - - - - - - -                      centre row   . L D R .   both halves' states
//!   lower half   . . L D R .   upper's state     lower half   . . Q . .
//!
//!   upper half   . . L D R .   lower's state
//!   - - - - - - - - - - - -
//!   lower half   . . . Q . .
//! ```
//!
//! A diagonal that leads downwards to higher columns is in `left` of the upper half and in `right` of the
//! lower one. For odd N both halves name it by its column in the centre row. For even N each half names it
//! by its column in the other half's innermost row, which is one less for the lower half. For the other
//! diagonals `left` and `right` are exchanged:
//!
//! ```text
//!   upper.left[j]  meets  lower.right[j - s]        s = 1 for even N, 0 for odd N
//!   upper.right[j] meets  lower.left[j + s]
//! ```
//!
//! A *key* holds both masks, `left` in the lower 32 bits. A [`View`] brings equal diagonals of both halves to
//! the same bits of their items, and to corresponding bits of their codes. An upper and a lower half fit
//! together if they have none of these diagonals in common. On an even board they are the N - 1 diagonals of
//! each direction that cross the boundary. On an odd board they are the N - 2 of each direction that cross the
//! centre row and touch both halves, less the two diagonals of its queen.
//!
//! The diagonals on which most halves meet are the *code*, which numbers a half-board's bucket, and the others
//! the *item*. The code has a low part, for the most important diagonals, and a high part. In each of them the
//! diagonals are in order, the most important one as the highest bit. The buckets of the upper half are in the
//! order of the high part and then of the low one, those of the lower half in the order of the low part and
//! then of the high one.

use std::cmp::Reverse;

use board::full_mask;

use super::by_size;
use super::cover::Conflicts;
use super::marks::Marks;
use super::view::{CODE, View};
use super::word::Chunks;

/// The diagonals of a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// How the upper half's keys are read.
    pub(crate) upper: View,
    /// How the lower half's keys are read.
    pub(crate) lower: View,
    /// The number of diagonals in an item.
    pub(crate) item_diagonals: u32,
    /// How many chunks hold the diagonals of an item.
    pub(crate) chunks: Chunks,
}

impl Geometry {
    /// The diagonals of all splits of an odd board of size `n` whose halves' queens take columns of `upper`
    /// and of `lower`, with [`marks`](super::marks) of the half-boards, and a code that suits these conflicts.
    ///
    /// Diagonals that one of the halves cannot have are left out. One of the two beside the last column's
    /// is always among them, because each half has only a square of the last column on them. Without it,
    /// item and marks fit into 32 bits. The lowest bits of the numbers of the upper half's buckets are marks.
    pub(crate) fn shared(n: u32, upper: u32, lower: u32, conflicts: Conflicts) -> Geometry {
        let meetings = meetings(n, upper, lower).filter(|(_, meetings)| *meetings > 0);
        let mut diagonals = in_order(meetings);
        conflicts.order(&mut diagonals, by_size::code(n).bits() as usize);
        Geometry::with_marks(n, &diagonals, Marks::of(n))
    }

    /// The geometry of a board of size `n` (4 to 29) with these diagonals, in the order of importance, each a
    /// bit of the upper half's keys.
    pub(crate) fn new(n: u32, diagonals: &[u32]) -> Geometry {
        Geometry::with_marks(n, diagonals, Marks::default())
    }

    fn with_marks(n: u32, diagonals: &[u32], marks: Marks) -> Geometry {
        let diagonals = diagonals.iter().copied();
        let Code { low, high } = by_size::code(n);
        let item_diagonals = (diagonals.len() as u32).saturating_sub(low + high);
        let [upper_marks, lower_marks] = [marks.upper, marks.lower].map(|(first, len)| {
            assert!(item_diagonals + len <= u32::BITS, "an item and its marks");
            (first..first + len).zip(item_diagonals..)
        });
        let columns = (n..n + marks.columns).zip(CODE..);
        // The places in the order of importance. In the upper half's records the high part is on top.
        let places = move |low_at: u32, high_at: u32| {
            let low_part = (0..low).rev().map(move |i| CODE + low_at + i);
            let high_part = (0..high).rev().map(move |i| CODE + high_at + i);
            low_part.chain(high_part).chain(0..)
        };
        let upper_low = marks.columns;
        let upper = diagonals.clone().zip(places(upper_low, upper_low + low));
        let upper = upper.chain(upper_marks).chain(columns);
        let lower =
            diagonals.map(move |bit| in_other_half(n, bit)).zip(places(high, 0)).chain(lower_marks);
        let chunks = Chunks::of_bits(item_diagonals);
        Geometry { upper: View::new(upper), lower: View::new(lower), item_diagonals, chunks }
    }
}

/// The diagonals of a board of size `n` whose upper half's queens take the columns of `split`, each a bit of
/// the upper half's keys, in the order of the number of pairs of squares that meet on them. `centre` is the
/// square of the centre row's queen, as a bit, and 0 for even N.
///
/// Those on which none of its pairs of squares meets are left out, if the board
/// [leaves them out](by_size::leaves_out_void_diagonals).
pub(crate) fn diagonals(n: u32, centre: u32, split: u32) -> Vec<u32> {
    let meetings = meetings(n, split, full_mask(n) & !(split | centre));
    let least = u32::from(by_size::leaves_out_void_diagonals(n));
    in_order(meetings.filter(|&(bit, pairs)| centre >> (bit % 32) & 1 == 0 && pairs >= least))
}

/// The bit of a lower half-board's key for the diagonal that is this bit of an upper half-board's.
pub(crate) fn in_other_half(n: u32, bit: u32) -> u32 {
    if bit < 32 { bit + 32 - shift(n) } else { bit - 32 + shift(n) }
}

/// Brings the diagonals of a lower half-board's key to the bits of the upper half's keys.
pub(crate) fn as_upper(n: u32, key: u64) -> u64 {
    let (left, right) = (key >> 32, key & u64::from(u32::MAX));
    left << shift(n) | right >> shift(n) << 32
}

/// The key of both masks of diagonals.
pub(crate) fn key(left: u32, right: u32) -> u64 {
    u64::from(left) | u64::from(right) << 32
}

/// How much less the lower half's column is than the upper half's, of a diagonal in the upper half's `left`.
fn shift(n: u32) -> u32 {
    1 - n % 2
}

/// The bits of the meetings, those with the most pairs first.
fn in_order(meetings: impl Iterator<Item = (u32, u32)>) -> Vec<u32> {
    let mut diagonals: Vec<(Reverse<u32>, u32)> =
        meetings.map(|(bit, meetings)| (Reverse(meetings), bit)).collect();
    diagonals.sort_unstable();
    diagonals.into_iter().map(|(_, bit)| bit).collect()
}

/// Each diagonal that crosses from half to half, as a bit of the upper half's key, with its number of pairs
/// of squares, one of each half, in the columns `upper` and `lower` that the halves' queens take.
///
/// Every such pair of squares is occupied in about one of M^2 pairs of half-boards. The diagonals with the
/// most pairs therefore exclude the most pairs of half-boards.
fn meetings(n: u32, upper: u32, lower: u32) -> impl Iterator<Item = (u32, u32)> {
    let (half, shift) = (n / 2, shift(n));
    // The number of squares in these columns and in the rows of the half whose diagonals come to column j.
    let squares = move |run: u64| (run & u64::from(full_mask(half))).count_ones();
    let by_left = move |columns: u32, j: u32| squares(u64::from(columns) << half >> j);
    let by_right = move |columns: u32, j: u32| squares(u64::from(columns) >> (j + 1));
    let left = (1..n - 1 + shift).map(move |j| (j, by_left(upper, j) * by_right(lower, j - shift)));
    let right =
        (1 - shift..n - 1).map(move |j| (j + 32, by_right(upper, j) * by_left(lower, j + shift)));
    left.chain(right)
}

/// The numbers of bits of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code {
    /// The bits of the low part.
    pub(crate) low: u32,
    /// The bits of the high part.
    pub(crate) high: u32,
}

impl Code {
    /// The number of all bits.
    pub(crate) fn bits(self) -> u32 {
        self.low + self.high
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::halves::view;

    /// The diagonals of a square, as bits of its half's key.
    fn diagonals(n: u32, rows_before: u32, column: u32) -> u64 {
        let left = u64::from(1_u32 << column) << rows_before & u64::from(full_mask(n));
        left | u64::from(1_u32 << column >> rows_before) << 32
    }

    #[test]
    fn pairs_of_squares_meet_on_the_diagonals_that_views_bring_together() {
        for (n, centre, split) in
            [(8, 0, 0b1011_0010), (9, 1 << 4, 0b1_1000_0011), (9, 1 << 8, 0b111_1000 & !16 | 1)]
        {
            let others = full_mask(n) & !(split | centre);
            let Geometry { upper, lower, .. } =
                Geometry::new(n, &super::diagonals(n, centre, split));
            let mut found = vec![0; 64];
            let squares = |columns: u32| {
                let columns = (0..n).filter(move |column| columns >> column & 1 == 1);
                columns.flat_map(|column| (1..=n / 2).map(move |rows| (column, rows)))
            };
            for (above, rows_above) in squares(split) {
                for (below, rows_below) in squares(others) {
                    let above = upper.read(diagonals(n, rows_above, above));
                    let below = lower.read(diagonals(n, rows_below, below));
                    let common = above & below;
                    (0..64).for_each(|place| found[place] += (common >> place & 1) as u32);
                }
            }
            assert_eq!(upper.used(), lower.used());
            let expected =
                meetings(n, split, others).filter(|(bit, _)| centre >> (bit % 32) & 1 == 0);
            let mut expected: Vec<u32> = expected.map(|(_, meetings)| meetings).collect();
            let places = (0..64).filter(|place| upper.used() >> place & 1 == 1);
            let mut in_order: Vec<u32> = places.map(|place: usize| found[place]).collect();
            in_order.sort_unstable();
            expected.sort_unstable();
            assert_eq!(in_order, expected, "all but the centre's, N = {n}");
        }
    }

    #[test]
    fn what_is_brought_to_the_upper_halfs_bits_is_where_views_read_it() {
        for n in [18, 19, 24, 27, 28, 29] {
            let diagonals: Vec<u32> = super::diagonals(n, 0, full_mask(n) & 0x0f0f_33aa);
            let Geometry { upper, lower, .. } = Geometry::new(n, &diagonals);
            let mut seen = 0;
            // A lower half's diagonals are below bit N of each mask.
            for bit in (0..64).filter(|bit| bit % 32 < n).map(|bit| 1_u64 << bit) {
                let (above, below) = (upper.read(as_upper(n, bit)), lower.read(bit));
                assert_eq!(view::item(above), view::item(below), "N = {n}");
                assert_eq!(view::code(above).count_ones(), view::code(below).count_ones());
                seen |= below;
            }
            assert_eq!(seen, lower.used());
        }
    }

    /// Whatever columns the halves' queens take, the code has a bit for each diagonal for which items have no
    /// room. Only the outermost columns decide which diagonals are void, so that the others may be of both
    /// halves here.
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
                assert!(most <= by_size::code(n).bits() + u32::BITS, "N = {n}");
            }
        }
    }

    /// Looking six chunks up takes six sevenths of the time.
    #[test]
    fn items_of_most_boards_are_looked_up_in_six_chunks() {
        for n in 4..=29 {
            for split in (0..200_u32).map(|i| i.wrapping_mul(0x9e37_79b9) & full_mask(n)) {
                let squares = if n % 2 == 0 { 0..1 } else { 0..n / 2 + 1 };
                for centre in squares.map(|column| (n % 2) << column) {
                    let diagonals = super::diagonals(n, centre, split & !centre);
                    let geometry = Geometry::new(n, &diagonals);
                    let item = u32::BITS - (geometry.upper.used() as u32).leading_zeros();
                    assert_eq!(geometry.chunks, Chunks::of_bits(item), "N = {n}");
                    assert!(n == 28 || geometry.chunks == Chunks::Six, "N = {n}, {centre:b}");
                }
            }
        }
    }

    /// The number of pairs of squares that meet on each diagonal falls from the code's high bits to the items.
    #[test]
    fn the_most_important_diagonals_are_on_top() {
        for n in [18, 19, 20, 22, 24] {
            let split = full_mask(n) & 0x0f0f_33aa;
            let Code { low, high } = by_size::code(n);
            let meetings: HashMap<u32, u32> = meetings(n, split, full_mask(n) & !split).collect();
            let view = Geometry::new(n, &super::diagonals(n, 0, split)).upper;
            let at = |place: u32| meetings[&u32::from(view.from()[(CODE + place) as usize])];
            let low_part = (0..low).rev().map(at);
            let order: Vec<u32> = low_part.chain((low..low + high).rev().map(at)).collect();
            assert!(order.is_sorted_by(|a, b| a >= b), "N = {n}: {order:?}");
        }
    }
}
