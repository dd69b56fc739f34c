//! The diagonals on which the two halves meet, and their bits.
//!
//! A half-board is a list of rows from its own edge inwards. Both halves are searched in the same
//! way, the lower one from the bottom. The diagonals of a half-board are those of its state after M
//! = N/2 rows: the masks `left` and `right` of [`Prefix`](board::Prefix), as the row beyond sees
//! them.
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
//! A diagonal that leads downwards to higher columns is in `left` of the upper half and in `right`
//! of the lower one. For odd N both halves name it by its column in the centre row. For even N each
//! half names it by its column in the other half's innermost row, which is one less for the lower
//! half. For the other diagonals `left` and `right` are exchanged:
//!
//! ```text
//!   upper.left[j]  meets  lower.right[j - s]        s = 1 for even N, 0 for odd N
//!   upper.right[j] meets  lower.left[j + s]
//! ```
//!
//! A *key* holds both masks, `left` in the lower 32 bits.

use std::cmp::Reverse;

use board::full_mask;

use crate::halves::by_size;

/// The diagonals of a board of size `n` whose upper half's queens take the columns of `split`, each
/// a bit of the upper half's keys, in the order of the number of pairs of squares that meet on
/// them. `centre` is the square of the centre row's queen, as a bit, and 0 for even N.
///
/// Diagonals on which no pair of its squares meets are left out, if the board [leaves them
/// out](by_size::leaves_out_void_diagonals).
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

/// The difference between the upper half's column and the lower half's column of a diagonal in the
/// upper half's `left`.
fn shift(n: u32) -> u32 {
    1 - n % 2
}

/// The bits of the meetings, those with the most pairs first.
pub(crate) fn in_order(meetings: impl Iterator<Item = (u32, u32)>) -> Vec<u32> {
    let mut diagonals: Vec<(Reverse<u32>, u32)> =
        meetings.map(|(bit, meetings)| (Reverse(meetings), bit)).collect();
    diagonals.sort_unstable();
    diagonals.into_iter().map(|(_, bit)| bit).collect()
}

/// Each diagonal that crosses from half to half, as a bit of the upper half's key, with its number
/// of pairs of squares, one of each half, in the columns `upper` and `lower` that the halves'
/// queens take.
///
/// Every such pair of squares is occupied in about one of M^2 pairs of half-boards. The diagonals
/// with the most pairs therefore exclude the most pairs of half-boards.
pub(crate) fn meetings(n: u32, upper: u32, lower: u32) -> impl Iterator<Item = (u32, u32)> {
    let (half, shift) = (n / 2, shift(n));
    // The number of squares in these columns and in the rows of the half whose diagonals come to
    // column j.
    let squares = move |run: u64| (run & u64::from(full_mask(half))).count_ones();
    let by_left = move |columns: u32, j: u32| squares(u64::from(columns) << half >> j);
    let by_right = move |columns: u32, j: u32| squares(u64::from(columns) >> (j + 1));
    let left = (1..n - 1 + shift).map(move |j| (j, by_left(upper, j) * by_right(lower, j - shift)));
    let right =
        (1 - shift..n - 1).map(move |j| (j + 32, by_right(upper, j) * by_left(lower, j + shift)));
    left.chain(right)
}
