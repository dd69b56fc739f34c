//! Lists that several tasks of an odd board share. These are the tasks whose centre row's queen is
//! left of the centre.
//!
//! Tasks with equal upper columns differ in the column of this queen, and so do tasks with equal
//! lower columns. At N = 19 a list serves 4.5 tasks on average. Such a list is made and sorted once
//! for all columns of the queen. It is then filtered for each task: about a third of its
//! half-boards do not attack the queen. In the order of the plan, tasks whose upper halves have the
//! same columns right of the centre follow one another. They differ only on the left. All their
//! lower lists are kept as far as there is room. An upper list is needed only for neighbours.
//!
//! ```text
//!   lists      an upper one and a lower one, with marks        once for 2 to 10 tasks
//!   buckets    by diagonals that suit all these tasks           \
//!   filter     those that do not attack the centre's queen      for each task
//!   join                                                        /
//! ```
//!
//! Half-boards carry [`marks`] of the squares that they attack. Half-boards that are closed in
//! every column that is left are not listed. These are about a quarter of them. The other marks go
//! into items, above the diagonals, or they number buckets that are merged when they are filtered.

mod arena;
pub(crate) mod filter;
pub(crate) mod marks;

use board::full_mask;
use board::halves::{Slice, Split, Window};

use crate::halves::buckets::{Buckets, Sorted, Sorter};
use crate::halves::by_size;
use crate::halves::code::choose;
use crate::halves::code::diagonals::key;
use crate::halves::code::view::View;
use crate::halves::code::{Code, view};
use crate::halves::join::probe::Chunks;
use crate::halves::lists::{Lists, Wanted};
use crate::halves::memory::Room;
use crate::halves::quarters::Half;
use crate::halves::shared::arena::{Arena, TooLong};
use crate::halves::shared::filter::{Filter, Passed};
use crate::halves::shared::marks::CLOSED_COLUMNS;
use crate::halves::task::Workspace;
use crate::halves::units::Unit;

/// The lists that are shared by tasks whose upper halves have the same columns right of the centre.
pub(crate) struct Shared {
    n: u32,
    block: Option<Block>,
    /// The upper list of the previous task. Its buckets are numbered by marks, too.
    upper: Buckets,
    sorter: Sorter,
    /// The lower lists of all tasks of the block.
    lower: Arena,
    passed: Passed,
}

/// Tasks whose upper halves have the same columns right of the centre.
struct Block {
    right: u32,
    code: Code,
    /// The columns of the upper list, if there is one.
    upper: Option<u32>,
}

impl Shared {
    pub(crate) fn new(n: u32, room: Room) -> Shared {
        let upper_bits = by_size::code_bits(n).sum() + CLOSED_COLUMNS;
        Shared {
            n,
            block: None,
            upper: Buckets::new(upper_bits, room.whole),
            sorter: Sorter::new(upper_bits),
            lower: Arena::new(room.shared),
            passed: Passed::default(),
        }
    }

    /// Whether a task shares lists.
    pub(crate) fn has(&self, Split { centre, columns, upper, lower }: Split) -> bool {
        let middle = 1 << (self.n / 2);
        let is_whole = upper == Slice::WHOLE && lower == Slice::WHOLE;
        is_whole && centre < middle && columns & middle != 0
    }

    /// Puts the sorted lists of a task, which must [share lists](Shared::has), into `work`. Returns
    /// the number of chunks of their items.
    pub(crate) fn list<U: Unit>(
        &mut self,
        split: Split,
        lists: &mut Lists,
        work: &mut Workspace<U>,
    ) -> Result<Chunks, TooLong> {
        let n = self.n;
        let Split { centre, columns, .. } = split;
        let others = split.others(n);
        let right = columns & !full_mask(n / 2);
        self.block.take_if(|block| block.right != right);
        if self.block.is_none() {
            let code = choose::of_neighbours(work.unit, n, columns, lists);
            self.block = Some(Block { right, code, upper: None });
            self.lower.clear();
        }
        let Shared { block: Some(block), upper, sorter, lower, passed, .. } = self else {
            unreachable!("there is a block now")
        };
        let Code { upper: above, lower: below, item_diagonals, chunks } = block.code;
        // With the centre row's queen next to the centre, no half-board counts: the queen attacks the
        // centre column's queen or is nearer to the centre.
        if centre << 1 == 1 << (n / 2) {
            work.build.whole.clear();
            work.probe.whole.clear();
            return Ok(chunks);
        }
        if block.upper != Some(columns) {
            block.upper = None;
            // The centre column's queen must be further in than the first column that is left for
            // the centre row's queen. The half-boards at the bound are ties, and none of them
            // counts.
            let bound = 1 << (n / 2 - 1 - columns.trailing_ones());
            let window = Window { below: -1, above: bound };
            list(n, Half::Upper, columns, window, above, lists, work)?;
            sorter.sort(work.records.as_slice(), upper);
            block.upper = Some(columns);
        }
        if lower.get(others).is_none() {
            let all = Window { below: -1, above: 1 << (n / 2) };
            list(n, Half::Lower, others, all, below, lists, work)?;
            let sorted = &mut work.probe.whole;
            work.sorter.sort(work.records.as_slice(), sorted);
            lower.add(others, sorted.sorted())?;
        }
        let above = upper_filter(n, centre, above, item_diagonals);
        work.build.whole.filter(work.unit, upper.sorted(), above, passed);
        let list = lower.get(others).expect("it was there, or was added");
        let below = lower_filter(n, centre, below, item_diagonals);
        work.probe.whole.filter(work.unit, list, below, passed);
        Ok(chunks)
    }
}

/// Lists, as records of `work`, the half-boards in the columns `set` that count for some square of
/// the centre row.
fn list<U: Unit>(
    n: u32,
    half: Half,
    set: u32,
    window: Window,
    view: View,
    lists: &mut Lists,
    work: &mut Workspace<U>,
) -> Result<(), TooLong> {
    let closed = u64::from(!set & full_mask(n / 2 - 1)) << n;
    let wanted = Wanted { half, set, window, slice: Slice::WHOLE, closed, view };
    let Workspace { unit, records, ties, .. } = work;
    match lists.list(*unit, wanted, 0, records, ties) {
        None => Ok(()),
        Some(_) => Err(TooLong),
    }
}

/// The filter for the upper half-boards of a shared list that count with the queen on the square
/// `centre`, which is not next to the centre. Their items have `diagonals` diagonals.
fn upper_filter(n: u32, centre: u32, view: View, diagonals: u32) -> Filter {
    let column = centre.trailing_zeros();
    let keep = (1 << diagonals) - 1;
    if column < CLOSED_COLUMNS {
        return Filter { numbers: centre, bits: 0, most: u32::MAX, keep, merged: CLOSED_COLUMNS };
    }
    let attacked = view.read(key(centre, centre));
    Filter {
        numbers: view::bucket(attacked),
        bits: view::item(attacked),
        most: marks::most(n, column, diagonals),
        keep,
        merged: CLOSED_COLUMNS,
    }
}

/// The same filter as [`upper_filter`], for lower half-boards.
fn lower_filter(n: u32, centre: u32, view: View, diagonals: u32) -> Filter {
    // Some of the first square's diagonals do not touch the other half, so no view has them.
    let attacked = view.read(key(centre, centre) | u64::from(centre & 1) << n);
    Filter {
        numbers: view::bucket(attacked),
        bits: view::item(attacked),
        most: u32::MAX,
        keep: (1 << diagonals) - 1,
        merged: 0,
    }
}

impl Buckets {
    /// Replaces the contents by the items of `from` that pass a filter. There is room for all of
    /// them.
    pub(crate) fn filter<U: Unit>(
        &mut self,
        unit: U,
        from: Sorted<'_>,
        filter: Filter,
        passed: &mut Passed,
    ) {
        passed.start(from.len());
        // Neighbouring buckets are closed together if only higher bits of their numbers decide.
        let neighbours = filter.numbers & filter.numbers.wrapping_neg();
        if neighbours > 0 {
            for first in (0..from.numbers()).step_by(neighbours as usize) {
                if first & filter.numbers != 0 {
                    passed.close(from.places(first..first + neighbours));
                }
            }
        }
        unit.filter(from.groups(), filter, passed, &mut self.items);
        unit.ranks(from.starts, 1 << filter.merged, passed, &mut self.first);
    }
}
