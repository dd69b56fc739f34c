//! Lists that tasks of an odd board share, those with the centre row's queen left of the centre.
//!
//! Tasks with equal upper columns differ in the column of this queen, and so do tasks with equal lower
//! ones: 4.5 tasks for a list at N = 19. Such a list is listed and sorted once, for every column, and
//! sifted for each task: about a third of its half-boards do not attack the queen. In the order of
//! the plan tasks follow one another whose upper halves have the same columns right of the centre.
//! They differ on the left alone: all their lower lists are kept, where there is room, and an upper one
//! is needed for neighbours only.
//!
//! ```text
//!   lists      an upper one and a lower one, with marks        once for 2 to 10 tasks
//!   buckets    by diagonals that suit all these tasks           \
//!   sift       those that do not attack the centre's queen      for each task
//!   join                                                        /
//! ```
//!
//! The *marks* of a half-board are bits of its key that no diagonal has:
//!
//! ```text
//!   left    N ..       the closed columns: with the centre row's queen there the half-board does not
//!                      count, because it attacks her or has the centre column's queen too far out
//!   left    31         whether it attacks the first column's square: on a diagonal that the other
//!   right   27         half does not touch, so that no view has it
//!   right   28 .. 31   how far out the centre column's queen is: 1 in the row next to the centre
//! ```
//!
//! Half-boards closed in every column that is left are not listed, about a quarter of them. The
//! other marks go into items, on top of the diagonals.

use std::collections::HashMap;

use board::halves::Window;
use board::{Locality, Method, Prefix, full_mask};

use super::buckets::Buckets;
use super::geometry::{Geometry, View, code_bits};
use super::joiner::Parts;
use super::lists::{Lists, Rest, Wanted};
use super::portable::runs;
use super::unit::{Sieve, Unit};

/// Whether tasks of a board of size `n` share lists: those of a larger one take too much memory, and
/// in its keys there is no room for marks.
pub(crate) fn shares_lists(n: u32) -> bool {
    match Method::Halves.locality(n) {
        Locality::SharedWork { .. } => true,
        Locality::None | Locality::SharedTables => false,
    }
}

/// The marks in keys of upper half-boards.
pub(crate) const UPPER_MARKS: u64 = 0b1_1111 << (32 + CORNER_OF_UPPER);

/// The marks in keys of lower half-boards, after `left` and `right` are exchanged.
pub(crate) const LOWER_MARKS: u64 = 1 << (32 + CORNER_OF_LOWER);

const CORNER_OF_UPPER: u32 = 27;

const CORNER_OF_LOWER: u32 = 31;

/// The marks of a quarter-board with the key `far`, and as its part of the half-board's number the
/// row of the centre column's queen. A half-board's marks are the union.
pub(crate) fn marks(n: u32, far: u64, number: u32) -> u64 {
    let half = n / 2;
    let (distance, not_beyond) = match number.checked_ilog2() {
        None => (0, 0),
        Some(bit) => (u64::from(bit) + 1, u64::MAX << (half - 1 - bit)),
    };
    let closed = (far | far >> 32 | not_beyond) & ((1 << half) - 1);
    let corner = far >> 32 & 1;
    let upper = corner << CORNER_OF_UPPER | distance << (CORNER_OF_UPPER + 1);
    closed << n | corner << CORNER_OF_LOWER | upper << 32
}

/// The lists of tasks whose upper halves have the same columns right of the centre.
pub(crate) struct Shared {
    n: u32,
    /// The most half-boards of kept lower lists.
    room: usize,
    block: Option<Block>,
}

struct Block {
    /// The upper halves' columns right of the centre.
    right: u32,
    geometry: Geometry,
    /// Of the task before: its upper columns and their list.
    upper: Option<(u32, Buckets)>,
    /// By columns.
    lower: HashMap<u32, Buckets>,
    /// Their half-boards.
    kept: usize,
}

/// A list is longer than there is room for.
pub(crate) struct TooLong;

impl Shared {
    /// For a board of size `n`, and lower lists of `room` half-boards, or one list.
    pub(crate) fn new(n: u32, room: usize) -> Shared {
        Shared { n, room, block: None }
    }

    /// Whether a task shares lists, which are of halves for any square of the centre row.
    pub(crate) fn has(&self, Prefix { left: centre, down: split, .. }: Prefix) -> bool {
        let middle = 1 << (self.n / 2);
        centre < middle && split & middle != 0
    }

    /// Makes the sorted lists of a task that it [`has`](Shared::has) the `parts`' lists.
    pub(crate) fn list<U: Unit>(
        &mut self,
        Prefix { left: centre, down: split, .. }: Prefix,
        lists: &mut Lists,
        parts: &mut Parts<U>,
    ) -> Result<(), TooLong> {
        let (n, room) = (self.n, self.room);
        let others = full_mask(n) & !(split | centre);
        let left = (1 << (n / 2)) - 1;
        self.block.take_if(|block| block.right != split & !left);
        let block = self.block.get_or_insert_with(|| Block {
            right: split & !left,
            geometry: Geometry::shared(n, split | left, others | left),
            upper: None,
            lower: HashMap::new(),
            kept: 0,
        });
        block.list_upper(n, split, lists, parts)?;
        block.list_lower(n, others, room, lists, parts)?;
        let sieve = sieve(n, centre, block.geometry.lower);
        if let (Some((_, upper)), Some(lower)) = (&block.upper, block.lower.get(&others)) {
            parts.upper.whole.sift(parts.unit, upper, sieve);
            parts.lower.whole.sift(parts.unit, lower, sieve);
        }
        Ok(())
    }
}

impl Block {
    fn list_upper<U: Unit>(
        &mut self,
        n: u32,
        split: u32,
        lists: &mut Lists,
        parts: &mut Parts<U>,
    ) -> Result<(), TooLong> {
        self.upper.take_if(|(columns, _)| *columns != split);
        if self.upper.is_none() {
            // The centre column's queen is beyond the first column that is left. In its row are ties,
            // none of which counts.
            let half = n / 2;
            let window = Window { below: -1, above: 1 << (half - 1 - split.trailing_ones()) };
            list(n, split, window, self.geometry.upper, lists, parts)?;
            self.upper = Some((split, Buckets::of(code_bits(n), &parts.whole)));
        }
        Ok(())
    }

    fn list_lower<U: Unit>(
        &mut self,
        n: u32,
        others: u32,
        room: usize,
        lists: &mut Lists,
        parts: &mut Parts<U>,
    ) -> Result<(), TooLong> {
        if !self.lower.contains_key(&others) {
            let all = Window { below: -1, above: 1 << (n / 2) };
            list(n, others, all, self.geometry.lower, lists, parts)?;
            let len = parts.whole.len();
            if self.kept + len > room {
                self.kept = 0;
                self.lower.clear();
            }
            self.kept += len;
            self.lower.insert(others, Buckets::of(code_bits(n), &parts.whole));
        }
        Ok(())
    }
}

/// Lists the half-boards in the columns `set` that count for any square of the centre row, not sorted,
/// in the `parts`.
fn list<U: Unit>(
    n: u32,
    set: u32,
    window: Window,
    view: View,
    lists: &mut Lists,
    parts: &mut Parts<U>,
) -> Result<(), TooLong> {
    // Next to the centre no half-board counts.
    let squares = !set & ((1 << (n / 2 - 1)) - 1);
    let wanted = Wanted { set, window, closed: u64::from(squares) << n, view };
    let rest = lists.list(parts.unit, wanted, Rest::ALL, &mut parts.whole, &mut parts.ties);
    match rest {
        Rest::Nothing => Ok(()),
        Rest::From(_) => Err(TooLong),
    }
}

/// Leaves of shared lists what counts with the square `centre`. Of the views' marks the lower one
/// has but the corner's, in the same place of the items as the upper one.
fn sieve(n: u32, centre: u32, lower: View) -> Sieve {
    let column = centre.trailing_zeros();
    let corner = if column == 0 { LOWER_MARKS } else { 0 };
    let attacked = u64::from(centre) | u64::from(centre) << 32 | corner;
    let gather = |mask: u64| {
        runs(mask).iter().fold(0, |bits, (run, shift)| bits | (attacked & run) >> shift) as u32
    };
    let diagonals = (lower.rest & !LOWER_MARKS).count_ones();
    Sieve {
        codes: gather(lower.cut),
        bits: gather(lower.rest),
        below: (n / 2 - column) << (diagonals + 1),
        keep: (1 << diagonals) - 1,
    }
}
