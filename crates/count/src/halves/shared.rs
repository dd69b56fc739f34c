//! Lists that several tasks of an odd board share: tasks whose centre row's queen is left of the centre.
//!
//! Tasks with equal upper columns differ in the column of this queen, and so do tasks with equal lower
//! columns; at N = 19 a list serves 4.5 tasks on average. Such a list is made and sorted once for all columns
//! of the queen, and sifted for each task: about a third of its half-boards do not attack the queen. In the
//! order of the plan, tasks whose upper halves have the same columns right of the centre follow one another.
//! They differ only on the left. All their lower lists are kept as far as there is room, while an upper list
//! is needed only for neighbours.
//!
//! ```text
//!   lists      an upper one and a lower one, with marks        once for 2 to 10 tasks
//!   buckets    by diagonals that suit all these tasks           \
//!   sift       those that do not attack the centre's queen      for each task
//!   join                                                        /
//! ```
//!
//! Half-boards carry [`marks`](super::marks) of the squares that they attack. Those closed in every column
//! that is left are not listed, about a quarter of them. The other marks go into items, on top of the
//! diagonals.

use std::collections::HashMap;

use board::halves::{Slice, Split, Window};

use super::buckets::Buckets;
use super::geometry::Geometry;
use super::lists::{Lists, Rest, Wanted};
use super::marks::{LOWER_MARKS, UPPER_MARKS};
use super::pairs::Pattern;
use super::parts::Parts;
use super::phases::Phase;
use super::quarters::Half;
use super::sift::{Passed, Sieve};
use super::unit::Unit;
use super::view::{self, View};
use super::word::Chunks;

/// The lists that tasks share whose upper halves have the same columns right of the centre.
pub(crate) struct Shared {
    n: u32,
    /// The most half-boards that the kept lower lists may have together.
    room: usize,
    block: Option<Block>,
    passed: Passed,
}

struct Block {
    /// The upper halves' columns right of the centre.
    right: u32,
    geometry: Geometry,
    /// The upper columns of the task before, and their list.
    upper: Option<(u32, Buckets)>,
    /// The lower lists, by their columns.
    lower: HashMap<u32, Buckets>,
    /// The number of half-boards of all lower lists.
    kept: usize,
}

/// A list is too long for the room there is.
pub(crate) struct TooLong;

impl Shared {
    /// No lists yet, of a board of size `n`, with room for lower lists of `room` half-boards, or for one list.
    pub(crate) fn new(n: u32, room: usize) -> Shared {
        Shared { n, room, block: None, passed: Passed::default() }
    }

    /// Whether a task shares lists.
    pub(crate) fn has(&self, Split { centre, columns, upper, lower }: Split) -> bool {
        let middle = 1 << (self.n / 2);
        let is_whole = upper == Slice::WHOLE && lower == Slice::WHOLE;
        is_whole && centre < middle && columns & middle != 0
    }

    /// Puts the sorted lists of a task, which [shares lists](Shared::has), into `parts`, and returns how many chunks their
    /// items have.
    pub(crate) fn list<U: Unit>(
        &mut self,
        split: Split,
        lists: &mut Lists,
        parts: &mut Parts<U>,
    ) -> Result<Chunks, TooLong> {
        let (n, room) = (self.n, self.room);
        let Split { centre, columns, .. } = split;
        let others = split.others(n);
        let left = (1 << (n / 2)) - 1;
        self.block.take_if(|block| block.right != columns & !left);
        let block = self.block.get_or_insert_with(|| Block {
            right: columns & !left,
            geometry: Geometry::shared(n, columns | left, others | left),
            upper: None,
            lower: HashMap::new(),
            kept: 0,
        });
        block.list_upper(n, columns, lists, parts)?;
        block.list_lower(n, others, room, lists, parts)?;
        let Geometry { upper: above, lower: below, item_diagonals, chunks } = block.geometry;
        let sieve = |view, corner| sieve(n, centre, view, corner, item_diagonals);
        if let (Some((_, upper)), Some(lower)) = (&block.upper, block.lower.get(&others)) {
            let (above, below) = (sieve(above, UPPER_MARKS[0]), sieve(below, LOWER_MARKS[0]));
            parts.upper.whole.sift(parts.unit, upper, above, &mut self.passed);
            parts.lower.whole.sift(parts.unit, lower, below, &mut self.passed);
        }
        parts.phases.end(Phase::Buckets);
        Ok(chunks)
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
            // The centre column's queen must be further in than the first column that is left for the centre
            // row's queen. The half-boards at the bound are ties, and none of them counts.
            let half = n / 2;
            let window = Window { below: -1, above: 1 << (half - 1 - split.trailing_ones()) };
            list(n, Half::Upper, split, window, self.geometry.upper, lists, parts)?;
            self.upper = Some((split, parts.sorter.sorted(&parts.whole)));
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
            list(n, Half::Lower, others, all, self.geometry.lower, lists, parts)?;
            let len = parts.whole.len();
            if self.kept + len > room {
                self.kept = 0;
                self.lower.clear();
            }
            self.kept += len;
            self.lower.insert(others, parts.sorter.sorted(&parts.whole));
        }
        Ok(())
    }
}

/// Lists, unsorted and into `parts`, the half-boards in the columns `set` that count for some square of the
/// centre row.
fn list<U: Unit>(
    n: u32,
    half: Half,
    set: u32,
    window: Window,
    view: View,
    lists: &mut Lists,
    parts: &mut Parts<U>,
) -> Result<(), TooLong> {
    // With the queen next to the centre no half-board counts.
    let squares = !set & ((1 << (n / 2 - 1)) - 1);
    let closed = u64::from(squares) << n;
    let pattern = Pattern::default();
    let wanted = Wanted { half, set, window, slice: Slice::WHOLE, closed, pattern, view };
    let Parts { unit, whole, ties, phases, .. } = parts;
    let rest = lists.list(*unit, wanted, Rest::ALL, whole, ties, phases);
    phases.end(Phase::Lists);
    match rest {
        Rest::Nothing => Ok(()),
        Rest::From(_) => Err(TooLong),
    }
}

/// The sieve that leaves the half-boards of shared lists that count with the queen on the square `centre`.
/// Their keys have the corner's mark as bit `corner`, and their items so many diagonals.
fn sieve(n: u32, centre: u32, view: View, corner: u32, diagonals: u32) -> Sieve {
    let column = centre.trailing_zeros();
    let corner = if column == 0 { 1 << corner } else { 0 };
    let attacked = view.read(u64::from(centre) | u64::from(centre) << 32 | corner);
    Sieve {
        codes: view::code(attacked),
        bits: view::item(attacked),
        below: (n / 2 - column) << (diagonals + 1),
        keep: (1 << diagonals) - 1,
    }
}
