//! The path of a task, in the three steps of the [module](super), for one batch of sets of odd
//! columns after the other.
//!
//! # What has a share
//!
//! Only sets of odd columns within certain [bounds](share_bounds) can have a share. For even N the
//! sets of even columns, read from the other end, must be within the same bounds. Between the
//! bounds every share is 2, or 4 for odd N. At a bound, [`share`] is asked for each cell. Sets of
//! odd columns outside the bounds are passed over. For even N the search may also drop placements
//! whose even columns are outside, a quarter of all placements.
//!
//! With given queens every share is 1, and there is no step 2. A set c is passed over if it lacks
//! the odd column of a given black queen or has that of a given white queen.

use board::colours::{Class, Split, even_lines, odd_lines, reversed, sets, share, share_bounds};
use board::full_mask;

use super::cells::{Cell, Cells, NARROW_MAX_N};
use super::colour::Colour;
use super::start::Start;
use super::units::{ColourSearch, Roots};
use super::{CountSplits, Draws};

/// The most cells that are used at a time: all rows of cells of a batch. At N = 31 and 32 one row
/// has 2^15 cells, and is a batch by itself. With 2^15 cells, N = 18 to 20 take 2% to 5% longer,
/// because the cells do not fit in the first-level cache.
const MOST_CELLS: usize = 1 << 14;

/// The most sets of a batch.
pub(super) const MOST_ROOTS: usize = 1024;

/// The kernel with the instructions of a unit.
pub(super) fn counter_with<U: ColourSearch + 'static>(
    unit: U,
    start: Start,
) -> Box<dyn CountSplits> {
    match start.n {
        0..=NARROW_MAX_N => Box::new(TaskCounter::<U, u16>::new(unit, start)),
        _ => Box::new(TaskCounter::<U, u32>::new(unit, start)),
    }
}

struct TaskCounter<U, C> {
    start: Start,
    unit: U,
    cells: Cells<C>,
    /// The sets of even columns, and of odd ones, by their size.
    sets: [Vec<Vec<u16>>; 2],
}

impl<U: ColourSearch, C: Cell> TaskCounter<U, C> {
    fn new(unit: U, start: Start) -> TaskCounter<U, C> {
        let by_size = |lines| (0..=lines).map(|size| sets(lines, size)).collect();
        let sets = [even_lines(start.n), odd_lines(start.n)].map(by_size);
        TaskCounter { start, unit, cells: Cells::new(), sets }
    }
}

impl<U: ColourSearch, C: Cell> CountSplits for TaskCounter<U, C> {
    fn count(&mut self, split: Split, draws: Draws) -> u128 {
        let TaskCounter { start, unit, cells, sets: [evens, odds] } = self;
        let task = Task::new(start, split);
        let [evens, odds] =
            [&evens[split.even.count_ones() as usize], &odds[split.odd.count_ones() as usize]];
        let mut wanted = draws.of(odds).filter(|&set| task.wants(set));
        let mut batch = [0; MOST_ROOTS];
        let most = (MOST_CELLS / task.row()).clamp(1, MOST_ROOTS);
        let mut total = 0;
        loop {
            let mut len = 0;
            for (place, set) in batch[..most].iter_mut().zip(&mut wanted) {
                *place = set;
                len += 1;
            }
            if len == 0 {
                return total;
            }
            total += task.count(&batch[..len], evens, unit, cells);
        }
    }
}

/// What the batches of a task have in common.
struct Task<'a> {
    start: &'a Start,
    n: u32,
    split: Split,
    class: Class,
    bounds: Bounds,
    black: Colour,
    white: Colour,
}

/// The bounds of the sets that can have a share, both included. Without shares they are those of
/// all sets.
#[derive(Clone, Copy)]
struct Bounds {
    least: u32,
    most: u32,
}

impl Task<'_> {
    fn new(start: &Start, split: Split) -> Task<'_> {
        let n = start.n;
        let class = split.class(n);
        let bounds = match start.has_shares {
            true => share_bounds(n, split),
            false => 0..=full_mask(odd_lines(n)),
        };
        let bounds = Bounds { least: *bounds.start(), most: *bounds.end() };
        let (black, white) = (Colour::black(start, split), Colour::white(start, split));
        Task { start, n, split, class, bounds, black, white }
    }

    fn is_odd(&self) -> bool {
        self.n % 2 == 1
    }

    /// The length of a row of cells.
    fn row(&self) -> usize {
        1 << (even_lines(self.n) - 1)
    }

    /// Whether boards whose black queens take this set of odd columns can have a share.
    fn wants(&self, set: u32) -> bool {
        if !self.start.has_shares {
            let [black, white] = self.start.odd;
            return set & (black | white) == black;
        }
        let Bounds { least, most } = self.bounds;
        let is_within = least <= set && set <= most;
        is_within && (!self.is_odd() || set <= reversed(set, odd_lines(self.n)))
    }

    /// The places in a row of cells that can have a share: the first one and the last one.
    fn places(&self) -> [u16; 2] {
        match self.is_odd() {
            true => [0, self.row() as u16 - 1],
            false => [self.bounds.least, self.bounds.most].map(|bound| (bound >> 1) as u16),
        }
    }

    /// The sum of the shares of the boards of a batch. `evens` are the sets of even columns.
    fn count<U: ColourSearch, C: Cell>(
        &self,
        batch: &[u32],
        evens: &[u16],
        unit: &mut U,
        cells: &mut Cells<C>,
    ) -> u128 {
        let sides = [(&self.black, false), (&self.white, true)];
        // The colour with fewer queens is chosen with the given ones, so that no cell overflows.
        let black = self.split.even.count_ones() + self.split.odd.count_ones();
        let [counted, summed] = match 2 * black <= self.n {
            true => sides,
            false => [sides[1], sides[0]],
        };
        let places = self.places();
        let roots = |is_white| Roots { n: self.n, sets: batch, is_white, places };

        // 1. Count.
        cells.clear(batch.len() * self.row());
        let mut is_empty = true;
        unit.search(counted.0, &roots(counted.1), &mut |numbers| {
            is_empty &= numbers.is_empty();
            cells.count(numbers);
        });
        if is_empty {
            return 0;
        }

        // 2. Share.
        if self.start.has_shares {
            for (&set, row) in batch.iter().zip(cells.rows(self.row())) {
                self.share(set, evens, row);
            }
        }

        // 3. Sum.
        let mut sum = 0;
        unit.search(summed.0, &roots(summed.1), &mut |numbers| {
            sum += u128::from(cells.sum(numbers));
        });
        sum
    }

    /// Multiplies each cell of the row for a set of odd columns by its share.
    fn share<C: Cell>(&self, set: u32, evens: &[u16], row: &mut [C]) {
        let Task { n, class, bounds, .. } = *self;
        let lines = even_lines(n);
        let ask = |even: u32, cell: &mut C| {
            *cell = cell.times(share(n, class, Split { even, odd: set }) as u8);
        };
        let is_palindrome = self.is_odd() && set == reversed(set, odd_lines(n));
        if [bounds.least, bounds.most].contains(&set) || is_palindrome {
            for even in evens.iter().map(|&even| u32::from(even)) {
                ask(even, &mut row[reversed(even, lines) as usize >> 1]);
            }
        } else if self.is_odd() {
            row.iter_mut().for_each(|cell| *cell = cell.times(4));
        } else {
            let [first, last] = self.places().map(usize::from);
            row[..first].fill(C::default());
            row[last + 1..].fill(C::default());
            let mut ask_at = |place: usize| {
                // The lowest bit of rev d is not in its place; it follows from the number of
                // columns.
                let [place, k] = [place as u32, self.split.even.count_ones()];
                let columns = place << 1 | k.wrapping_sub(place.count_ones()) & 1;
                ask(reversed(columns, lines), &mut row[place as usize]);
            };
            ask_at(first);
            if first < last {
                ask_at(last);
                row[first + 1..last].iter_mut().for_each(|cell| *cell = cell.times(2));
            }
        }
    }
}
