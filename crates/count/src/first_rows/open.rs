//! Completions on boards of up to 64 columns. The row with the fewest free squares is filled first.

use board::{Given, Problem, Square, low_bits, ones};

use crate::stop::Stop;

/// A row to fill, in a search that keeps a mask for each row.
#[derive(Clone, Copy, Default)]
pub(super) struct OpenRow {
    pub(super) row: u32,
    pub(super) free: u64,
}

/// The rows to fill, each with its free squares.
#[derive(Clone, Copy)]
pub(super) struct Open {
    len: usize,
    rows: [OpenRow; Given::MAX_N as usize],
}

impl Open {
    /// The rows below a task's queens, which fill the first rows that given queens leave open.
    pub(super) fn new(problem: &Problem, queens: &[Square]) -> Open {
        let mut open = Open { len: 0, rows: [OpenRow::default(); Given::MAX_N as usize] };
        for row in problem.open_rows().split_off(queens.len()) {
            open.rows[open.len] = OpenRow { row, free: low_bits(problem.n()) };
            open.len += 1;
        }
        let given = problem.given().into_iter().flat_map(Given::queens);
        given.chain(queens.iter().copied()).for_each(|queen| open.close(queen));
        open
    }

    /// Closes the squares that a queen attacks.
    fn close(&mut self, queen: Square) {
        let column = 1_u64 << queen.column;
        for open in &mut self.rows[..self.len] {
            let away = open.row.abs_diff(queen.row);
            open.free &= !(column | column << away | column >> away);
        }
    }

    /// The number of ways to fill all rows. The row with the fewest free squares is filled first,
    /// so a row without a free square ends the search at once.
    pub(super) fn count(&self, stop: &Stop) -> u64 {
        let rows = &self.rows[..self.len];
        let fewest = rows.iter().enumerate().min_by_key(|(_, open)| open.free.count_ones());
        let Some((at, _)) = fewest else { return 1 };
        let OpenRow { row, free } = rows[at];
        if self.len == 1 {
            return free.count_ones().into();
        }
        if stop.is_asked() {
            return 0;
        }
        let mut rest = *self;
        rest.len -= 1;
        rest.rows[at] = rest.rows[rest.len];
        let with_queen = |column| {
            let mut next = rest;
            next.close(Square { column, row });
            next.count(stop)
        };
        ones(free).map(with_queen).sum()
    }
}
