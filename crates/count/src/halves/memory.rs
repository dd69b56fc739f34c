//! How much memory a board takes.

use super::geometry::code_bits;
use super::lists::Kept;
use super::marks::shares_lists;
use super::quarters::Place;
use crate::MemoryNeed;

/// The most bytes of a lane of a block of any unit.
const LANE_BYTES: u64 = 8;

/// The most lanes of a block of any unit.
const MOST_LANES: u64 = 64;

/// The largest board of which all quarters are worth their memory, where there is enough: some 0.3
/// GiB for N = 22.
const ALL_QUARTERS: u32 = 23;

/// The largest board of which they take so little that all are kept always.
const FEW_QUARTERS: u32 = 21;

/// What there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// Quarters.
    pub(crate) kept: Kept,
    /// Half-boards of each list at a time: whole ones.
    pub(crate) whole: usize,
    /// The same, ties: few, but for one split, of which all half-boards are.
    pub(crate) ties: usize,
    /// Half-boards of all lower lists that tasks share, or of one.
    pub(crate) shared: usize,
}

impl Room {
    fn new(kept: Kept, whole: usize) -> Room {
        Room { kept, whole, ties: (whole / 16).max(LEAST), shared: 0 }
    }

    /// The least that a board of size `n` can be counted in.
    fn least(n: u32) -> Room {
        let kept = if n <= FEW_QUARTERS { Kept::All } else { Kept::OfList };
        Room { shared: longest_shared_list(n), ..Room::new(kept, least(n)) }
    }

    /// The most that is of use.
    fn most(n: u32) -> Room {
        let kept = if n <= ALL_QUARTERS { Kept::All } else { Kept::OfList };
        let shared = shared_lists(n) * longest_shared_list(n) / 3 * 2;
        Room { shared, ..Room::new(kept, longest_list(n)) }
    }

    /// All bytes, for a board of size `n`.
    fn bytes(self, n: u32) -> u64 {
        fixed(n, self.kept) + self.list_bytes() + self.shared as u64 * SHARED_BYTES
    }

    /// The bytes of the lists of a task.
    fn list_bytes(self) -> u64 {
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
        let (least, most) = (Room::least(n), Room::most(n));
        // All quarters first: a list in parts costs little, and only larger boards have any.
        let kept = if memory >= most.bytes(n) { most.kept } else { least.kept };
        let lists = memory.saturating_sub(fixed(n, kept));
        let whole = (lists / Room::new(kept, 1 << 20).list_bytes()) << 20;
        let room = Room::new(kept, (whole as usize).clamp(least.whole, most.whole));
        let shared = memory.saturating_sub(room.bytes(n)) / SHARED_BYTES;
        Room { shared: (shared as usize).clamp(least.shared, most.shared), ..room }
    }
}

/// The bytes that a thread needs for a board of size `n` (4 to 29), whatever the backend: upper
/// bounds. The reference alone takes what its lists take.
///
/// With less than `most`, odd boards up to 21 list anew what tasks could share, N = 22 and 23 place
/// their quarters anew for each list, and larger boards join lists in parts.
pub(crate) fn needs(n: u32) -> MemoryNeed {
    MemoryNeed { least: Room::least(n).bytes(n), most: Room::most(n).bytes(n) }
}

/// What a board takes beside its lists.
fn fixed(n: u32, kept: Kept) -> u64 {
    const REST: u64 = 2 << 20;
    let half = n / 2;
    let columns = match kept {
        Kept::All => n,
        Kept::OfList => half,
    };
    let quarters = [Place::Upper, Place::Lower].map(|place| {
        let rows = place.rows(half);
        let rooks = (0..rows).map(|row| u64::from(columns - row)).product::<u64>();
        let orders = (1..=u64::from(rows)).product::<u64>();
        let sets = rooks / orders;
        // Of the ways to place rooks two fifths are queens' in five rows of 23 columns, a quarter in
        // six rows, and fewer in fewer columns.
        let queens = match rows {
            0..=4 => rooks,
            5 => rooks / 2,
            _ => rooks / 3,
        };
        // Two keys each. Where sets and numbers start, at first in words of 32 bits.
        (2 * 8 * queens + 4 * sets + (2 + 4) * (sets << rows), orders)
    });
    // Pairs of quarters with given columns are at most a sixth of those of rooks.
    let pairs = 2 * 8 * quarters[0].1 * quarters[1].1 / 6;
    let bits = code_bits(n);
    // Two numbers for each bucket of either list, of its ties, and of the join's sorted ties.
    let buckets = 4 * 2 * 4 * (1_u64 << bits);
    // The runs of numbers without a bit in common with another, and a block for each high part.
    let runs = 2 * 8 * 3_u64.pow(bits.div_ceil(2));
    let padding = (1 << bits.div_ceil(2)) * MOST_LANES * LANE_BYTES;
    // Of each shared list, where its buckets start, and what is beyond its end. The upper one.
    let shared = shared_lists(n) as u64 * (2 * 4 * (1 << bits) + 256)
        + longest_shared_list(n) as u64 * SHARED_BYTES;
    quarters[0].0 + quarters[1].0 + pairs + buckets + runs + padding + shared + REST
}

/// The bytes of a half-board of a shared list.
const SHARED_BYTES: u64 = 4;

/// The most lists that tasks of a board of size `n` share at a time, the upper one among them.
fn shared_lists(n: u32) -> usize {
    if !shares_lists(n) {
        return 0;
    }
    let half = n as usize / 2;
    // The lower halves' columns on the left: at most as many ways as to choose half of them.
    (1..=half / 2).fold(1, |ways, i| ways * (half + 1 - i) / i) + 1
}

/// The longest list that tasks share.
fn longest_shared_list(n: u32) -> usize {
    if shares_lists(n) { longest_list(n) } else { 0 }
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
/// are shorter than on the even one below it. Those that its tasks share have marks instead, and are
/// longer: for the longest there is 1.2 times the room, every one looked at up to N = 19. If one does
/// not fit, its tasks are counted as those that share nothing.
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
