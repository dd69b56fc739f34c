//! The board before the search: its given queens, and the squares that no other queen may take.
//!
//! Given queens are no part of the search. Their rows are left out, and their numbers are what all
//! placements of their colour begin with. The squares that they attack and blocked squares are
//! zeros in the columns that are free at the roots.

use board::colours::{even_lines, odd_lines};
use board::{Given, MAX_N, Problem, Square};

/// The board before the search.
#[derive(Clone, Debug)]
pub(super) struct Start {
    pub(super) n: u32,
    /// Whether the plan has removed symmetry, so that boards have shares.
    pub(super) has_shares: bool,
    /// The rows with a given queen.
    pub(super) rows: u32,
    /// The columns that queens may take: the even ones and the odd ones, by row, as sets in
    /// descending order.
    pub(super) open: [[u16; MAX_N as usize]; 2],
    /// The number of the placement of the given queens: of the black ones and of the white ones.
    pub(super) numbers: [u16; 2],
    /// The odd columns of the given queens, as [`board::colours::sets`] has them: of the black ones
    /// and of the white ones.
    pub(super) odd: [u32; 2],
}

impl Start {
    /// The board of a problem, in which no queen may stand on the squares that are `blocked`
    /// besides.
    pub(super) fn new(problem: Problem, blocked: &[Square]) -> Start {
        let n = problem.n();
        let open = [[u16::MAX; MAX_N as usize]; 2];
        let has_shares = problem.given().is_none();
        let mut start = Start { n, has_shares, rows: 0, open, numbers: [0; 2], odd: [0; 2] };
        blocked.iter().for_each(|&square| start.close(square));
        for queen in problem.given().into_iter().flat_map(Given::queens) {
            start.rows |= 1 << queen.row;
            let colour = (queen.row + queen.column) as usize % 2;
            if queen.column % 2 == 0 {
                start.numbers[colour] ^= start.bit(queen.column) >> 1;
            } else {
                start.odd[colour] |= 1 << (queen.column / 2);
            }
            let squares = (0..n).flat_map(|row| (0..n).map(move |column| Square { column, row }));
            for square in squares.filter(|&square| problem.attack(queen, square)) {
                start.close(square);
            }
        }
        start
    }

    fn close(&mut self, Square { column, row }: Square) {
        let bit = self.bit(column);
        self.open[column as usize % 2][row as usize] &= !bit;
    }

    /// The bit of a column in a set of even or of odd columns.
    fn bit(&self, column: u32) -> u16 {
        let lines = [even_lines(self.n), odd_lines(self.n)][column as usize % 2];
        1 << (lines - 1 - column / 2)
    }
}
