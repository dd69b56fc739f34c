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
//! A *key* holds both masks, `left` in the lower 32 bits. A [`View`] brings the keys of both halves to the
//! same bits, so that an upper and a lower half fit together if they have no bit in common. On an even board
//! these bits are the N - 1 diagonals of each direction that cross the boundary. On an odd board they are
//! the N - 2 of each direction that cross the centre row and touch both halves, less the two diagonals of
//! its queen.

use std::cmp::Reverse;

use board::full_mask;

use super::marks::{LOWER_MARKS, UPPER_MARKS};

/// How the keys of one half are read, so that equal diagonals of both halves become equal bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    /// 32 if `left` and `right` are exchanged first, otherwise 0.
    pub(crate) rotate: u32,
    /// The diagonals whose bits number the bucket: those on which most halves meet.
    pub(crate) cut: u64,
    /// The other diagonals: the *item*, in which halves are compared.
    pub(crate) rest: u64,
}

/// The diagonals of a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// How the upper half's keys are read.
    pub(crate) upper: View,
    /// How the lower half's keys are read.
    pub(crate) lower: View,
}

impl Geometry {
    /// The diagonals of a board of size `n` (4 to 29) whose upper half's queens take the columns of `split`.
    /// `centre` is the square of the centre row's queen, as a bit, and 0 for even N.
    pub(crate) fn new(n: u32, centre: u32, split: u32) -> Geometry {
        let meetings = meetings(n, split, full_mask(n) & !(split | centre));
        Geometry::of(n, meetings.filter(|(bit, _)| centre >> (bit % 32) & 1 == 0))
    }

    /// The diagonals of all splits of an odd board of size `n` whose halves' queens take columns of `upper`
    /// and of `lower`, with [`marks`](super::marks) of the half-boards.
    ///
    /// Diagonals that one of the halves cannot have are left out. One of the two beside the last column's
    /// is always among them, because each half has only a square of the last column on them. Without it,
    /// item and marks fit into 32 bits.
    pub(crate) fn shared(n: u32, upper: u32, lower: u32) -> Geometry {
        let meetings = meetings(n, upper, lower).filter(|(_, meetings)| *meetings > 0);
        let mut geometry = Geometry::of(n, meetings);
        geometry.upper.rest |= UPPER_MARKS;
        geometry.lower.rest |= LOWER_MARKS;
        assert!(geometry.upper.rest.count_ones() <= u32::BITS, "an item and its marks");
        geometry
    }

    /// The geometry with these diagonals, each a bit of the upper half's keys with the number of pairs of
    /// squares that meet on it.
    fn of(n: u32, meetings: impl Iterator<Item = (u32, u32)>) -> Geometry {
        let shift = 1 - n % 2;
        let mut diagonals: Vec<(Reverse<u32>, u32)> =
            meetings.map(|(bit, meetings)| (Reverse(meetings), bit)).collect();
        diagonals.sort_unstable();
        let cut = code_bits(n).min(diagonals.len() as u32);
        let mask = |part: &[(_, u32)]| part.iter().map(|&(_, bit)| 1 << bit).sum();
        let (cut, rest) = diagonals.split_at(cut as usize);
        let upper = View { rotate: 0, cut: mask(cut), rest: mask(rest) };
        let lower = |mask: u64| {
            let (left, right) = (mask & u64::from(u32::MAX), mask >> 32);
            left >> shift | right << shift << 32
        };
        let lower = View { rotate: 32, cut: lower(upper.cut), rest: lower(upper.rest) };
        Geometry { upper, lower }
    }
}

/// Each diagonal that crosses from half to half, as a bit of the upper half's key, with its number of pairs
/// of squares, one of each half, in the columns `upper` and `lower` that the halves' queens take.
///
/// Every such pair of squares is occupied in about one of M^2 pairs of half-boards. The diagonals with the
/// most pairs therefore exclude the most pairs of half-boards.
fn meetings(n: u32, upper: u32, lower: u32) -> impl Iterator<Item = (u32, u32)> {
    let (half, shift) = (n / 2, 1 - n % 2);
    // The number of squares in these columns and in the rows of the half whose diagonals come to column j.
    let squares = move |run: u64| (run & u64::from(full_mask(half))).count_ones();
    let by_left = move |columns: u32, j: u32| squares(u64::from(columns) << half >> j);
    let by_right = move |columns: u32, j: u32| squares(u64::from(columns) >> (j + 1));
    let left = (1..n - 1 + shift).map(move |j| (j, by_left(upper, j) * by_right(lower, j - shift)));
    let right =
        (1 - shift..n - 1).map(move |j| (j + 32, by_right(upper, j) * by_left(lower, j + shift)));
    left.chain(right)
}

/// The runs of bits of a mask, lowest first, each with the shift that moves it down next to the one before.
pub(crate) fn runs(mut mask: u64) -> Vec<(u64, u32)> {
    let mut runs = Vec::new();
    let mut below = 0;
    while mask != 0 {
        let start = mask.trailing_zeros();
        let len = (!(mask >> start)).trailing_zeros();
        let run = u64::MAX >> (64 - len) << start;
        runs.push((run, start - below));
        below += len;
        mask ^= run;
    }
    runs
}

/// The largest board for items of 28 bits, which narrow units have. On larger boards too many bits would be
/// left for the buckets.
pub(crate) const NARROW: u32 = 25;

/// The most bits of an item on a board of size `n`.
pub(crate) fn item_bits(n: u32) -> u32 {
    if n <= NARROW { 28 } else { 32 }
}

/// The number of bits of a bucket's number on a board of size `n`.
///
/// It has at least a bit for each diagonal for which an item has no room. More bits leave fewer pairs to
/// compare, but make buckets shorter, and fewer of them fill a unit's lanes. Trials at N = 18 to 22, and of
/// one bit more at N = 24, showed that the fewest bits are best once the buckets are small enough.
pub(crate) fn code_bits(n: u32) -> u32 {
    // For an odd board this holds with the centre row's queen in a corner column; elsewhere it takes two of
    // the diagonals.
    let diagonals = 2 * (n - 1 - n % 2);
    let best = if n <= NARROW { n / 4 - n % 2 } else { n / 2 * 3 - 19 };
    diagonals.saturating_sub(item_bits(n)).max(best)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let Geometry { upper, lower } = Geometry::new(n, centre, split);
            // Where the upper half's bits are after the lower half's were exchanged and moved.
            let shift = 1 - n % 2;
            let mut found = vec![0; 64];
            let squares = |columns: u32| {
                let columns = (0..n).filter(move |column| columns >> column & 1 == 1);
                columns.flat_map(|column| (1..=n / 2).map(move |rows| (column, rows)))
            };
            for (above, rows_above) in squares(split) {
                for (below, rows_below) in squares(others) {
                    let above = diagonals(n, rows_above, above);
                    let below = diagonals(n, rows_below, below).rotate_left(lower.rotate);
                    let (left, right) = (below & u64::from(u32::MAX), below >> 32);
                    let common = above & (left << shift | right >> shift << 32);
                    (0..64).for_each(|bit| found[bit as usize] += (common >> bit & 1) as u32);
                }
            }
            let meetings: Vec<(u32, u32)> = meetings(n, split, others).collect();
            let mut looked_at = 0;
            for &(bit, expected) in &meetings {
                assert_eq!(found[bit as usize], expected, "bit {bit}, N = {n}");
                looked_at |= 1_u64 << bit & !(u64::from(centre) | u64::from(centre) << 32);
            }
            assert_eq!(upper.cut | upper.rest, looked_at, "all but the centre's, N = {n}");
            let of = |mask: u64| {
                let of = meetings.iter().filter(move |(bit, _)| mask >> bit & 1 == 1);
                of.map(|&(_, meetings)| meetings)
            };
            let (least, most) = (of(upper.cut).min(), of(upper.rest).max());
            assert!(least >= most, "{least:?} and {most:?} pairs, N = {n}");
        }
    }

    #[test]
    fn runs_lie_together() {
        assert_eq!(runs(0b0110_1000), [(0b1000, 3), (0b0110_0000, 4)]);
        assert_eq!(runs(u64::MAX), [(u64::MAX, 0)]);
    }
}
