//! The reference of `colours`: for each set of odd columns two plain searches, row by row. It
//! shares with the kernels only the definitions in [`board::colours`] and the drawn sets, so that
//! it can judge their searches.

use board::colours::{Split, even_lines, odd_lines, sets, share};
use board::{Given, MAX_N, Prefix, Problem, Square, bits, full_mask};

use super::{CountSplits, Draws};

const EVEN: u32 = 0x5555_5555;

/// A mask of columns for each row.
type Rows = [u32; MAX_N as usize];

/// The queens of one colour on a board of size `n`.
struct Colour<'a> {
    n: u32,
    /// The columns that are open in each row.
    open: &'a Rows,
    /// The rows that hold its queens.
    rows: u32,
    /// The columns that its queens may take in even and in odd rows.
    columns: [u32; 2],
}

impl Colour<'_> {
    /// Calls `found` with the columns of each placement, below `row` rows that are done.
    fn place(&self, row: u32, above: Prefix, found: &mut impl FnMut(u32)) {
        let n = self.n;
        if row == n {
            found(above.down);
        } else if self.rows >> row & 1 == 0 {
            let Prefix { left, down, right } = above;
            let below = Prefix { left: left << 1 & full_mask(n), down, right: right >> 1 };
            self.place(row + 1, below, found);
        } else {
            let open = self.columns[row as usize % 2] & self.open[row as usize];
            for bit in bits(above.free(n) & open) {
                self.place(row + 1, above.place(n, bit), found);
            }
        }
    }
}

pub(crate) struct Reference {
    problem: Problem,
    /// The columns that are open in each row: one in the row of a given queen.
    open: Rows,
    /// The placements of black queens for each set of columns, one bit for each even one.
    cells: Vec<u64>,
}

impl Reference {
    pub(crate) fn new(problem: Problem, blocked: &[Square]) -> Reference {
        let mut open = [u32::MAX; MAX_N as usize];
        for queen in problem.given().into_iter().flat_map(Given::queens) {
            open[queen.row as usize] = 1 << queen.column;
        }
        for square in blocked {
            open[square.row as usize] &= !(1 << square.column);
        }
        Reference { problem, open, cells: vec![0; 1 << even_lines(problem.n())] }
    }
}

impl CountSplits for Reference {
    fn count(&mut self, split: Split, draws: Draws) -> u128 {
        let Reference { problem, open, cells } = self;
        let (n, all) = (problem.n(), full_mask(problem.n()));
        let class = split.class(n);
        let in_even_columns = split.pack(n).down;
        let black_rows = !(in_even_columns ^ EVEN) & all;
        // A set of half of the lines has one bit for each line.
        let evens = |columns: u32| -> u32 {
            (0..even_lines(n)).map(|line| (columns >> (2 * line) & 1) << line).sum()
        };
        let odds = |set: u32| {
            (0..odd_lines(n)).map(|line| (set >> line & 1) << (2 * line + 1)).sum::<u32>()
        };
        let mut sum = 0;
        for odd in draws.of(&sets(odd_lines(n), split.odd.count_ones())) {
            let black_odd = odds(odd);
            cells.fill(0);
            Colour { n, open, rows: black_rows, columns: [EVEN & all, black_odd] }.place(
                0,
                Prefix::EMPTY,
                &mut |columns| cells[evens(columns) as usize] += 1,
            );
            let white_odd = all & !EVEN & !black_odd;
            Colour { n, open, rows: all & !black_rows, columns: [white_odd, EVEN & all] }.place(
                0,
                Prefix::EMPTY,
                &mut |columns| {
                    let even = evens(!columns);
                    let black = cells[even as usize];
                    if black > 0 {
                        // With given queens no symmetry was removed.
                        let share = match problem.given() {
                            Some(_) => 1,
                            None => share(n, class, Split { even, odd }),
                        };
                        sum += u128::from(black) * u128::from(share);
                    }
                },
            );
        }
        sum
    }
}
