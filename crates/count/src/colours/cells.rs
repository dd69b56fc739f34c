//! The rows of cells: how often the queens of one colour can take a set of columns.
//!
//! A placement has a *number*: which row of cells, times the length of a row, plus the place of its
//! even columns in the row. Both colours number their placements alike ([`colour`](super::colour)),
//! so a placement of the one colour looks up the cell of all placements of the other colour that it
//! fits.
//!
//! # No cell overflows
//!
//! The colour with fewer queens is counted, so it has at most N/2 queens. Let k of them stand in
//! even columns and l in odd columns. A cell is at most k! l!, because its columns are given: k
//! rows share k even columns, and l rows share l odd columns. A cell is multiplied by its share, at
//! most 2 for even N and 4 for odd N:
//!
//! ```text
//!   cells of 16 bits, N <= 22     N = 21: 5! 5! x 4 = 57,600              < 2^16
//!                                 N = 22: 5! 5! x 2 = 28,800
//!   cells of 32 bits, N <= 32     N = 32: 8! 8! x 2 = 3,251,404,800       < 2^32
//!                                 N = 31: 8! 7! x 4 =   812,851,200
//! ```
//!
//! Given queens only make k and l less, and every share is then 1.
//!
//! Up to N = 22, a count with cells of 32 bits takes 9 to 12% longer than with cells of 16 bits.

/// The largest board whose cells fit in 16 bits.
pub(super) const NARROW_MAX_N: u32 = 22;

/// The type of a cell: `u16` or `u32`. Its sums and products do not overflow, so they are not
/// checked.
pub(super) trait Cell: Copy + Default + PartialEq + Into<u64> + Send + Sync {
    /// One placement more.
    fn next(self) -> Self;

    /// The cell times a share.
    fn times(self, share: u8) -> Self;
}

macro_rules! cell {
    ($($type:ty),*) => {$(
        impl Cell for $type {
            #[inline]
            fn next(self) -> $type {
                self.wrapping_add(1)
            }

            #[inline]
            fn times(self, share: u8) -> $type {
                self.wrapping_mul(share.into())
            }
        }
    )*};
}

cell!(u16, u32);

/// Cells for every number of a placement.
pub(super) struct Cells<C> {
    cells: Box<[C; 1 << 16]>,
}

impl<C: Cell> Cells<C> {
    pub(super) fn new() -> Cells<C> {
        let cells = vec![C::default(); 1 << 16].into_boxed_slice();
        Cells { cells: cells.try_into().ok().expect("there are as many") }
    }

    /// Sets the first `len` cells to 0.
    pub(super) fn clear(&mut self, len: usize) {
        self.cells[..len].fill(C::default());
    }

    /// The rows of cells, each of this length.
    pub(super) fn rows(&mut self, len: usize) -> impl Iterator<Item = &mut [C]> {
        self.cells.chunks_exact_mut(len)
    }

    /// Adds 1 to the cell of each placement.
    #[inline]
    pub(super) fn count(&mut self, numbers: &[u16]) {
        let mut count = |number: u16| {
            let cell = &mut self.cells[usize::from(number)];
            *cell = cell.next();
        };
        let (eights, rest) = numbers.as_chunks::<8>();
        for &[a, b, c, d, e, f, g, h] in eights {
            count(a);
            count(b);
            count(c);
            count(d);
            count(e);
            count(f);
            count(g);
            count(h);
        }
        rest.iter().for_each(|&number| count(number));
    }

    /// The sum of the cells of fewer than 2^32 placements, which is less than 2^64.
    #[inline]
    pub(super) fn sum(&self, numbers: &[u16]) -> u64 {
        let cell = |number: u16| -> u64 { self.cells[usize::from(number)].into() };
        let (eights, rest) = numbers.as_chunks::<8>();
        let mut sums = [0_u64; 8];
        for numbers in eights {
            for place in 0..8 {
                sums[place] = sums[place].wrapping_add(cell(numbers[place]));
            }
        }
        sums.into_iter().sum::<u64>() + rest.iter().map(|&number| cell(number)).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use board::colours::{MAX_N, MIN_N, even_lines, odd_lines};

    use super::*;

    /// The greatest product of a cell and its share, of the colour that is counted on a board of
    /// size `n`.
    fn most(n: u32) -> u64 {
        let factorial = |k: u32| (1..=u64::from(k)).product::<u64>();
        let share = if n.is_multiple_of(2) { 2 } else { 4 };
        let (even, odd) = (even_lines(n), odd_lines(n));
        // k black queens in even rows: the others of a colour follow from it.
        let colours =
            (even - odd..=even).flat_map(|k| [[k, k - (even - odd)], [even - k, even - k]]);
        let counted = colours.filter(|[one, other]| one + other <= n / 2);
        let cells = counted.map(|[one, other]| factorial(one) * factorial(other));
        share * cells.max().expect("one colour has no more than half of the queens")
    }

    #[test]
    fn no_cell_of_any_board_overflows() {
        for n in MIN_N..=MAX_N {
            let limit = if n <= NARROW_MAX_N { u16::MAX.into() } else { u32::MAX.into() };
            assert!(most(n) <= limit, "N = {n}: {}", most(n));
        }
        assert!(most(NARROW_MAX_N + 1) > u16::MAX.into(), "cells of 16 bits could serve longer");
    }

    #[test]
    fn cells_hold_what_they_may_reach() {
        let mut cells = Cells::<u16>::new();
        let most_before = most(21) / 4;
        (0..most_before).for_each(|_| cells.count(&[7; 1]));
        let row = cells.rows(8).next().expect("there is a row");
        row[7] = row[7].times(4);
        assert_eq!(cells.sum(&[7, 6, 7]), 2 * most(21));
        assert_eq!(Into::<u64>::into(((most(32) / 2) as u32).times(2)), most(32));
    }

    #[test]
    fn every_number_is_counted_and_summed_once() {
        let numbers: Vec<u16> = (0..100).map(|number| number * 31 % 37).collect();
        for len in 0..numbers.len() {
            let mut cells = Cells::<u32>::new();
            cells.count(&numbers[..len]);
            let times = |number: &u16| numbers[..len].iter().filter(|it| *it == number).count();
            let expected: usize = numbers.iter().map(times).sum();
            assert_eq!(cells.sum(&numbers), expected as u64);
            cells.clear(37);
            assert_eq!(cells.sum(&numbers), 0);
        }
    }
}
