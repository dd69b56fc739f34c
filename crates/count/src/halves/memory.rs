//! How much memory a board takes.

use super::geometry::code_bits;
use super::lists::ALL_QUARTERS;
use super::quarters::Place;
use crate::MemoryNeed;

/// The fewest bits of an item of any unit.
const FEWEST_ITEM_BITS: u32 = 28;

/// The most bytes of a lane of a block of any unit.
const LANE_BYTES: u64 = 8;

/// The most lanes of a block of any unit.
const MOST_LANES: u64 = 64;

/// The bytes that a thread needs for a board of size `n` (4 to 29), whatever the backend: an upper
/// bound. The reference alone takes what its lists take.
///
/// In MiB: 3 for N = 16, 19 for 18, 62 for 20, 31 for 22, 191 for 24, 1592 for 26 and 13,463 for 28. A
/// third to a half of it is ever touched.
pub(crate) fn needs(n: u32) -> MemoryNeed {
    const REST: u64 = 2 << 20;
    let half = n / 2;
    let columns = if n <= ALL_QUARTERS { n } else { half };
    // Ways to place rooks in the rows of a quarter, two keys each.
    let quarters: u64 = [Place::Upper, Place::Lower]
        .into_iter()
        .map(|place| (0..place.rows(half)).map(|row| u64::from(columns - row)).product::<u64>())
        .sum::<u64>()
        * 2
        * 8;
    let bits = code_bits(n, FEWEST_ITEM_BITS);
    // Two numbers for each bucket of either list, of its ties, and of the join's sorted ties.
    let buckets = 4 * 2 * 4 * (1_u64 << bits);
    let padding = (1 << bits.div_ceil(2)) * MOST_LANES * LANE_BYTES;
    // While it is sorted, two words of each half-board of one list; an item of both; a lane.
    let lists = longest_list(n) as u64 * (2 * 4 + 2 * 4 + LANE_BYTES);
    let bytes = quarters + buckets + padding + lists + REST;
    MemoryNeed { least: bytes, most: bytes }
}

/// The room for the half-boards of a split of a board of size `n`, `n / 2` up to 14.
///
/// The longest list is 2.5 to 2.7 times the mean: every list was looked at up to N = 18, evenly
/// spread ones up to N = 22. There is room for 1.3 to 1.4 times the longest; for N = 24 to 28 that
/// is 3.6 times the mean, and a longer list is an error, not a wrong count. On an odd board, where
/// what attacks the centre's queen is left out, lists are shorter than on the even one below it.
pub(crate) fn longest_list(n: u32) -> usize {
    LONGEST[n as usize / 2 - 1]
}

/// For boards of size 2 and 3, 4 and 5, and so on.
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
