//! Where the diagonals of the two halves meet, and as which bits.
//!
//! A half-board is a list of rows from its own edge inwards; both halves are searched in the same
//! way, the lower one from the bottom. What one knows of its diagonals is its state after M = N/2
//! rows, the masks `left` and `right` of [`Prefix`](board::Prefix), as the row beyond sees them.
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
//! A diagonal that leads to higher columns downwards is in `left` of the upper half and in `right`
//! of the lower one. For odd N both name it by its column in the centre row. For even N each
//! half's state is for the other's innermost row, where the lower half names the diagonal one column
//! less. The other diagonals are the same with `left` and `right` exchanged:
//!
//! ```text
//!   upper.left[j]  meets  lower.right[j - s]        s = 1 for even N, 0 for odd N
//!   upper.right[j] meets  lower.left[j + s]
//! ```
//!
//! A *key* holds both masks, `left` in the lower 32 bits. A [`View`] brings the two halves' keys to
//! common bits, in which an upper and a lower half fit together if they have no bit in common: the
//! N - 1 diagonals of each direction that cross the boundary of an even board, or the N - 2 that
//! cross the centre row of an odd one and touch both halves, less the two of its queen.

/// The common bits of one half's keys, in the order of both halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    /// 32 where `left` and `right` are exchanged first.
    pub(crate) rotate: u32,
    /// The diagonals that number the bucket: those occupied most often, the longest ones.
    pub(crate) cut: u64,
    /// The other diagonals: the *item*, in which halves are compared.
    pub(crate) rest: u64,
}

/// One board's diagonals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// How the upper half's keys are read.
    pub(crate) upper: View,
    /// How the lower half's keys are read.
    pub(crate) lower: View,
}

impl Geometry {
    /// A board of size `n` (4 to 29), if odd with a queen on the square `centre` of the centre row, a
    /// bit; it is 0 for even N. Items have at most `item_bits` bits.
    pub(crate) fn new(n: u32, centre: u32, item_bits: u32) -> Geometry {
        let shift = 1 - n % 2;
        // Twice the column, so that the middle of the board is a whole number.
        let distance = |column: u32, middle: u32| (2 * column).abs_diff(middle);
        let left = (1..n - 1 + shift).map(|j| (distance(j, n - 1 + shift), j));
        let right = (1 - shift..n - 1).map(|j| (distance(j, n - 1 - shift), j + 32));
        let mut diagonals: Vec<(u32, u32)> =
            left.chain(right).filter(|&(_, bit)| centre >> (bit % 32) & 1 == 0).collect();
        diagonals.sort_unstable();
        let cut = code_bits(n, item_bits).min(diagonals.len() as u32);
        let mask = |part: &[(u32, u32)]| part.iter().map(|&(_, bit)| 1 << bit).sum();
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

/// The largest board for items of 28 bits, those of narrow units; on larger ones too many bits would
/// be left to the buckets.
pub(crate) const NARROW: u32 = 25;

/// The number of bits of a bucket's number on a board of size `n`, where an item has at most
/// `item_bits`.
///
/// At least the diagonals for which an item has no room. More of them leave fewer pairs to compare,
/// but shorter buckets, of which fewer fill a unit's lanes: by trial at N = 18 to 22, and of one bit
/// more at 24, the least are the best, where there are enough of them.
pub(crate) fn code_bits(n: u32, item_bits: u32) -> u32 {
    // With the centre's queen in a corner column, of an odd board; else it takes two of them.
    let diagonals = 2 * (n - 1 - n % 2);
    let best = if n <= NARROW { n / 4 - n % 2 } else { n / 2 * 3 - 19 };
    diagonals.saturating_sub(item_bits).max(best)
}
