//! Every threshold of the method that depends on the size of a board.
//!
//! ```text
//!   N                    4 .. 21              22 23              24 25      26 27      28 29
//!   tasks of a split     1                                                             8
//!   quarters are kept    of all columns       of all, if there   of 2       of 1       of 2
//!                                             is room, or of 2   lists      list       lists
//!                                             lists
//!   lists     even N     of one task
//!             odd N      of neighbours        of one task
//!   code      even N     one for the board    one for 8 splits   one for each split
//!                                             or, with all
//!                                             quarters, the board
//!             odd N      one for neighbours   one for 8 splits   one for each split
//!   void diagonals       stay                                    are left out
//! ```
//!
//! [`board::halves`] knows the sizes that also change plans: the largest board whose neighbours
//! share lists, the largest board whose quarters may all be kept, and the smallest board whose
//! splits are divided into slices.

use board::halves::{KEPT_QUARTERS_MAX_N, SHARED_LISTS_MAX_N};

/// The numbers of bits of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodeBits {
    /// The bits of the low part: the most important diagonals.
    pub low: u32,
    /// The bits of the high part.
    pub high: u32,
}

impl CodeBits {
    pub(crate) fn sum(self) -> u32 {
        self.low + self.high
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kept {
    /// All quarters of a board, placed once.
    All,
    /// The quarters in the columns of one list, placed anew for each list. Placing them takes a
    /// third of the time at N = 22, and a tenth at N = 24.
    OfList,
}

impl Kept {
    /// The number of columns in which quarters are placed.
    pub(crate) fn columns(self, n: u32) -> u32 {
        match self {
            Kept::All => n,
            Kept::OfList => n / 2,
        }
    }

    /// The number of sets of columns whose quarters are kept. If not all of them are, the quarters
    /// of both halves are needed twice, for a sample and for the list. From N = 28 on they are
    /// needed for several tasks. At N = 26 and 27 placing them again takes a twentieth of the time,
    /// and keeping them would take a tenth of the memory.
    pub(crate) fn sets(self, n: u32) -> usize {
        match self {
            Kept::OfList if !matches!(n, 26..=27) => 2,
            Kept::All | Kept::OfList => 1,
        }
    }

    /// Whether quarters are placed only once, with room for them until they are counted. On boards
    /// whose tasks take seconds, nothing is gained.
    pub(crate) fn places_once(self, n: u32) -> bool {
        self == Kept::OfList && n <= 27
    }
}

/// The numbers of bits of the code of boards of size `n`. There are at least as many bits as
/// diagonals for which an item has no room.
///
/// With more bits fewer pairs are compared, but there are more and smaller buckets, and each low
/// bit multiplies the copies of an upper half by about 1.75. Trials at N = 18 to 22, 24, 26 and 28
/// showed that these are best.
pub(crate) fn code_bits(n: u32) -> CodeBits {
    let (low, high) = match n {
        0..=13 => (0, 0),
        14..=15 => (0, 2),
        16 => (1, 2),
        17 => (1, 3),
        18 => (2, 3),
        19 => (1, 3),
        20 => (3, 5),
        21 => (4, 4),
        22..=23 => (5, 7),
        24..=25 => (7, 9),
        26..=27 => (7, 11),
        _ => (8, 12),
    };
    CodeBits { low, high }
}

/// Whether all splits of a board have one code. Those of an odd board depend on the centre row's
/// queen.
pub(crate) fn has_common_code(n: u32, kept: Kept) -> bool {
    kept == Kept::All && n.is_multiple_of(2)
}

/// The number of similar splits that a sampled code serves.
///
/// At N = 23 a sample takes a tenth of the time of a task, and neighbours in the plan mostly differ
/// in two columns; a code for eight of them is hardly worse. On larger boards a sample takes too
/// little of the time.
pub(crate) fn splits_of_a_code(n: u32) -> u32 {
    if matches!(n, 22..=23) { 8 } else { 1 }
}

/// The number of pairs of half-boards by which the code of a split is chosen. It takes a few
/// hundredths of the time of a task, or less. `None` for boards whose tasks take about as long as
/// a sample.
pub(crate) fn sampled_pairs(n: u32) -> Option<u64> {
    match n {
        0..=21 => None,
        22..=23 => Some(5_000),
        24..=25 => Some(30_000),
        _ => Some(100_000),
    }
}

/// The number of choices of columns for the upper quarter that are in a sample of a list. On small
/// boards listing more takes longer than a better code saves.
pub(crate) fn sampled_choices(n: u32) -> usize {
    if n < 26 { 20 } else { 64 }
}

/// Whether diagonals on which no squares of both halves meet are left out of a code. This is done
/// on boards whose splits each have a code of their own.
///
/// There are at least two such diagonals. On an even board, they are one of the two outermost
/// diagonals at each side, because their column belongs to one half. So at most 2N - 4 diagonals
/// are left on an even board. At most 2N - 8 are left on an odd board, where the centre row's queen
/// removes two more. At N = 28 and 29 the code then needs 20 and 18 bits, with an item of 32 bits.
/// At N = 26 items are looked up in six chunks instead of seven, which makes the join 1.16 times
/// faster.
pub(crate) fn leaves_out_void_diagonals(n: u32) -> bool {
    n >= 24
}

/// Whether tasks of a board share lists. Lists of a larger board would take too much memory, and
/// its keys have no room for marks.
pub(crate) fn shares_lists(n: u32) -> bool {
    n % 2 == 1 && n <= SHARED_LISTS_MAX_N
}

/// The quarters that are kept with the least memory: all of a board if they take little.
pub(crate) fn kept_at_least(n: u32) -> Kept {
    if n <= 21 { Kept::All } else { Kept::OfList }
}

/// The quarters that are kept with as much memory as is useful.
pub(crate) fn kept_at_most(n: u32) -> Kept {
    if n <= KEPT_QUARTERS_MAX_N { Kept::All } else { Kept::OfList }
}

/// The number of choices of columns whose quarters are looked up before they are paired. On a large
/// board pairing takes so long that the time for looking up does not matter. There, memory matters
/// more, because all half-boards of a batch need room.
pub(crate) fn choices_at_a_time(n: u32) -> usize {
    if n < 24 { 32 } else { 2 }
}

/// The most half-boards of a list at a time. Longer lists are joined in parts, for which the other
/// list is made and sorted once more. That takes a tenth of the time of a task of N = 26, and less
/// of a larger one.
pub(crate) fn most_at_a_time(n: u32) -> usize {
    if n <= 27 { 19 << 20 } else { 36 << 20 }
}

/// The room for the half-boards of a split of a board of size `n`, with `n / 2` up to 14. As far as
/// is known, no list is longer, so that with this room none is joined in parts.
///
/// The longest list is 2.5 to 2.7 times as long as the mean; all lists were measured up to N = 18,
/// and evenly spread ones up to N = 22. The room is 1.3 to 1.4 times the longest list, and for N =
/// 24 to 28 it is 3.6 times the mean. On an odd board lists are shorter than on the even board
/// below it, because half-boards that attack the centre's queen are left out. Lists that its tasks
/// share hold these half-boards too, with marks, and are longer. The room is 1.2 times the longest
/// of them; all were measured up to N = 19. If one does not fit, its tasks are counted without
/// sharing it.
pub(crate) fn longest_list(n: u32) -> usize {
    LONGEST[n as usize / 2 - 1]
}

/// The room for boards of size 2 and 3, 4 and 5, and so on.
const LONGEST: [usize; 14] = [
    16,
    16,
    16,
    32,
    64,
    192,
    768,
    4_200,
    24_000,
    145_000,
    1_000_000,
    7_200_000,
    60_000_000,
    520_000_000,
];

/// An upper bound for the number of quarter-boards with this many rows whose queens stand in some
/// of this many columns.
///
/// In five rows of 23 columns, two fifths of the ways to place rooks are placements of queens; in
/// six or more rows a quarter are. In fewer columns the share is smaller.
#[must_use]
pub(crate) fn most_quarters(rows: u32, columns: u32) -> u64 {
    let rooks: u64 = (0..rows).map(|row| u64::from(columns - row)).product();
    match rows {
        0..=4 => rooks,
        5 => rooks / 2,
        _ => rooks * 3 / 11,
    }
}
