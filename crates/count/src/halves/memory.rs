//! How much memory a board takes.

use super::geometry::{NARROW, code_bits};
use super::lists::ALL_QUARTERS;
use super::quarters::Place;
use crate::MemoryNeed;

/// The most bytes of a lane of a block of any unit.
const LANE_BYTES: u64 = 8;

/// The most lanes of a block of any unit.
const MOST_LANES: u64 = 64;

/// Of each list, how many half-boards there is room for at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// Whole ones.
    pub(crate) whole: usize,
    /// Ties: few, but for one split, of which all half-boards are.
    pub(crate) ties: usize,
}

impl Room {
    fn new(whole: usize) -> Room {
        Room { whole, ties: (whole / 16).max(LEAST) }
    }

    /// The bytes of the lists.
    fn bytes(self) -> u64 {
        // Two words of one list while it is sorted, an item of both; of the upper one a lane and, where
        // that is a block, its place, and the items of the largest high part.
        let whole = self.whole as u64 * (2 * 4 + 2 * 4 + LANE_BYTES + 4 + 4);
        // Two words and an item of both lists; of the upper one item, high part, lane and open block,
        // as far as vectors grow.
        let ties = self.ties as u64 * (2 * (2 * 4 + 4) + 2 * (4 + 4 + LANE_BYTES + 16));
        whole + ties
    }

    /// As much as is of use on a board of size `n` within `memory` bytes, and at least what is
    /// needed.
    pub(crate) fn within(memory: u64, n: u32) -> Room {
        let lists = memory.saturating_sub(fixed(n));
        let whole = (lists / Room::new(1 << 20).bytes()) << 20;
        Room::new((whole as usize).clamp(least(n), longest_list(n)))
    }
}

/// The bytes that a thread needs for a board of size `n` (4 to 29), whatever the backend: upper
/// bounds. The reference alone takes what its lists take.
///
/// Where `least` is less than `most`, from N = 24 on, lists are joined in parts.
pub(crate) fn needs(n: u32) -> MemoryNeed {
    let bytes = |whole| fixed(n) + Room::new(whole).bytes();
    MemoryNeed { least: bytes(least(n)), most: bytes(longest_list(n)) }
}

/// What a board takes beside its lists.
fn fixed(n: u32) -> u64 {
    const REST: u64 = 2 << 20;
    let half = n / 2;
    let columns = if n <= ALL_QUARTERS { n } else { half };
    let quarters = [Place::Upper, Place::Lower].map(|place| {
        let rows = place.rows(half);
        // Ways to place rooks in its rows, two keys each, and where sets and numbers start.
        let rooks = (0..rows).map(|row| u64::from(columns - row)).product::<u64>();
        let orders = (1..=u64::from(rows)).product::<u64>();
        let sets = rooks / orders;
        (2 * 8 * rooks + 6 * sets + 2 * (sets << rows), orders)
    });
    // Pairs of quarters with given columns are at most a sixth of those of rooks.
    let pairs = 2 * 8 * quarters[0].1 * quarters[1].1 / 6;
    let bits = code_bits(n, if n <= NARROW { 28 } else { 32 });
    // Two numbers for each bucket of either list, of its ties, and of the join's sorted ties.
    let buckets = 4 * 2 * 4 * (1_u64 << bits);
    // The runs of numbers without a bit in common with another, and a block for each high part.
    let runs = 2 * 8 * 3_u64.pow(bits.div_ceil(2));
    let padding = (1 << bits.div_ceil(2)) * MOST_LANES * LANE_BYTES;
    quarters[0].0 + quarters[1].0 + pairs + buckets + runs + padding + REST
}

/// A list that is joined in parts is listed so many half-boards at a time at least, where it has them.
const PART: usize = 2 << 20;

/// The least room of any list: a chunk and the half-boards of one choice.
const LEAST: usize = 16 << 10;

fn least(n: u32) -> usize {
    longest_list(n).min(PART)
}

/// The half-boards of a split of a board of size `n`, `n / 2` up to 14: with more room no list is
/// joined in parts, as far as it is known.
///
/// The longest list is 2.5 to 2.7 times the mean: every list was looked at up to N = 18, evenly
/// spread ones up to N = 22. There is room for 1.3 to 1.4 times the longest; for N = 24 to 28 that
/// is 3.6 times the mean. On an odd board, where what attacks the centre's queen is left out, lists
/// are shorter than on the even one below it.
fn longest_list(n: u32) -> usize {
    LONGEST[n as usize / 2 - 1].max(LEAST)
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
