//! The memory that a board takes, and its division between lists and quarters.

use crate::halves::buckets::{Buckets, Sorter};
use crate::halves::by_size::{self, Kept};
use crate::halves::join::open::Runs;
use crate::halves::quarters::{Place, Seen};
use crate::halves::shared::filter::Passed;
use crate::halves::shared::marks::CLOSED_COLUMNS;

/// The room that a thread has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) kept: Kept,
    /// The most half-boards of a list at a time that are not ties.
    pub(crate) whole: usize,
    /// The most ties of a list at a time. There are few of them, except in one split, all of whose
    /// half-boards are ties.
    pub(crate) ties: usize,
    /// The most half-boards in all lower lists that tasks share, or in a single such list.
    pub(crate) shared: usize,
}

impl Room {
    fn new(kept: Kept, whole: usize) -> Room {
        Room { kept, whole, ties: (whole / 16).max(LEAST), shared: 0 }
    }

    /// The least room in which a board of size `n` can be counted.
    fn least(n: u32) -> Room {
        let whole = longest_list(n).min(PART);
        Room { shared: longest_shared_list(n), ..Room::new(by_size::kept_at_least(n), whole) }
    }

    /// The most room that is useful.
    fn most(n: u32) -> Room {
        let whole = longest_list(n).min(by_size::most_at_a_time(n));
        let shared = shared_lists(n) * longest_shared_list(n) / 3 * 2;
        Room { shared, ..Room::new(by_size::kept_at_most(n), whole) }
    }

    /// The bytes of everything for a board of size `n`.
    fn bytes(self, n: u32) -> u64 {
        fixed(n, self.kept) + self.list_bytes(n) + self.shared as u64 * SHARED_BYTES
    }

    /// The bytes of the lists of a task.
    fn list_bytes(self, n: u32) -> u64 {
        // A record of one list while it is sorted, an item of each list, and probes of one low
        // part. With three low bits these are at most half of the list.
        let probes = if by_size::code_bits(n).low < 3 { 8 } else { 4 };
        let whole = self.whole as u64 * (8 + 2 * 4 + probes);
        // A record of one list, an item of each list, and a probe of a lower one.
        let ties = self.ties as u64 * (8 + 2 * 4 + 8);
        whole + ties
    }

    /// The useful room for a board of size `n` within `memory` bytes. It is never less than the
    /// least room.
    pub(crate) fn within(memory: u64, n: u32) -> Room {
        let (least, most) = (Room::least(n), Room::most(n));
        // Quarters come first, because only larger boards have lists in parts, and parts cost
        // little.
        let kept = if memory >= most.bytes(n) { most.kept } else { least.kept };
        let lists = memory.saturating_sub(fixed(n, kept));
        let bytes = Room::new(kept, 1 << 20).list_bytes(n);
        let whole = u128::from(lists) * (1 << 20) / u128::from(bytes);
        let whole = usize::try_from(whole).unwrap_or(usize::MAX);
        let room = Room::new(kept, whole.clamp(least.whole, most.whole));
        let shared = memory.saturating_sub(room.bytes(n)) / SHARED_BYTES;
        Room { shared: (shared as usize).clamp(least.shared, most.shared), ..room }
    }
}

/// The bytes that a board takes beside its lists.
fn fixed(n: u32, kept: Kept) -> u64 {
    // Samples of both lists and their conflicts, and the runs of a block, take most of it.
    let rest = if by_size::sampled_pairs(n).is_some() { 6 << 20 } else { 2 << 20 };
    let columns = kept.columns(n);
    let quarters = [Place::Upper, Place::Lower].map(|place| {
        let rows = place.rows(n / 2);
        let rooks = (0..rows).map(|row| u64::from(columns - row)).product::<u64>();
        let orders = (1..=u64::from(rows)).product::<u64>();
        let sets = rooks / orders;
        let queens = by_size::most_quarters(rows, columns);
        let keys = if by_size::has_common_code(n, kept) { 3 } else { 2 };
        // The starts of sets and numbers are in words of 32 bits at first.
        let bytes = keys * 8 * queens + 4 * sets + (2 + 4) * (sets << rows);
        (bytes, orders, queens)
    });
    // This is the room for the quarters of one place, in a vector that grows to twice the size.
    let seen = if kept.places_once(n) { 2 * size_of::<Seen>() as u64 * quarters[1].2 } else { 0 };
    // Where choices of columns are paired, a list has room for all pairs of their quarters and for
    // the half-boards of the choices before them. The pairs are at most a sixth of those of
    // placements of rooks.
    let paired = 2 * 8 * quarters[0].1 * quarters[1].1 / 6;
    let bits = by_size::code_bits(n);
    // Both lists, and the ties of each.
    let buckets = 4 * Buckets::bytes(bits.sum()) + Sorter::bytes(bits.sum());
    // Each low part has the runs of low parts without a bit in common with it, in vectors that grow
    // to twice the size. The runs of a block follow.
    let runs = 2 * 2 * 8 * 3_u64.pow(bits.low) + Runs::bytes(bits.high);
    // Each shared list has the starts of its buckets, in a vector that grows to twice the size, and
    // its place in a map. The upper list has more starts, and its items.
    let upper_bits = bits.sum() + CLOSED_COLUMNS;
    let shared = shared_lists(n) as u64 * (2 * Buckets::bytes(bits.sum()) + 256)
        + Buckets::bytes(upper_bits)
        + Sorter::bytes(upper_bits)
        + longest_shared_list(n) as u64 * SHARED_BYTES
        + Passed::bytes(longest_shared_list(n));
    let placed = kept.sets(n) as u64 * (quarters[0].0 + quarters[1].0) + seen;
    placed + paired + buckets + runs + shared + rest
}

/// The bytes of a half-board in a shared list.
const SHARED_BYTES: u64 = 4;

/// The largest number of lists, including the upper one, that tasks of a board of size `n` share at
/// a time.
fn shared_lists(n: u32) -> usize {
    if !by_size::shares_lists(n) {
        return 0;
    }
    let half = n as usize / 2;
    // The lower lists differ in their columns on the left. There are at most as many of them as
    // ways to choose half of these columns.
    (1..=half / 2).fold(1, |ways, i| ways * (half + 1 - i) / i) + 1
}

fn longest_shared_list(n: u32) -> usize {
    if by_size::shares_lists(n) { longest_list(n) } else { 0 }
}

/// The least number of half-boards in a part of a list, unless the list has fewer.
const PART: usize = 2 << 20;

/// The least room of any list: enough for a chunk and the half-boards of one choice of columns.
const LEAST: usize = 16 << 10;

/// The room for the longest list of a board.
fn longest_list(n: u32) -> usize {
    by_size::longest_list(n).max(LEAST)
}
