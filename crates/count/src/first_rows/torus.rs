//! Toroidal boards, by a search for exact covers.

use board::{MAX_N, Square, full_mask, ones};

use super::open::OpenRow;
use crate::stop::Stop;

/// The rows of a torus to fill. Every row, column and diagonal has exactly one queen. So a line
/// without a free square ends the search, and a line with a single free square leaves no choice.
#[derive(Clone, Copy)]
pub(super) struct Torus {
    n: u32,
    len: usize,
    rows: [OpenRow; MAX_N as usize],
}

/// Three sets of lines of one kind: lines with at least one, two and three free squares.
#[derive(Clone, Copy, Default)]
struct Lines {
    any: u64,
    two: u64,
    three: u64,
}

impl Lines {
    fn see(&mut self, free: u64) {
        self.three |= self.two & free;
        self.two |= self.any & free;
        self.any |= free;
    }

    /// One of the lines with exactly `squares` free squares (1 or 2), as a bit. It is 0 if there is
    /// none.
    fn with(self, squares: u32) -> u64 {
        let lines = if squares == 1 { self.any & !self.two } else { self.two & !self.three };
        lines & lines.wrapping_neg()
    }
}

impl Torus {
    pub(super) fn new(n: u32, queens: &[Square]) -> Torus {
        let mut torus = Torus { n, len: 0, rows: [OpenRow::default(); MAX_N as usize] };
        for row in queens.len() as u32..n {
            torus.rows[torus.len] = OpenRow { row, free: full_mask(n).into() };
            torus.len += 1;
        }
        queens.iter().for_each(|&queen| torus.close(queen));
        torus
    }

    /// The columns, shifted up by `by` around the torus. `by` is at most N.
    fn turn(&self, columns: u64, by: u32) -> u64 {
        (columns << by | columns >> (self.n - by)) & u64::from(full_mask(self.n))
    }

    fn close(&mut self, queen: Square) {
        let column = 1 << queen.column;
        for at in 0..self.len {
            let away = self.rows[at].row.abs_diff(queen.row);
            let attacked = column | self.turn(column, away) | self.turn(column, self.n - away);
            self.rows[at].free &= !attacked;
        }
    }

    fn place(&self, at: usize, column: u32) -> Torus {
        let mut next = *self;
        let row = next.rows[at].row;
        next.len -= 1;
        next.rows[at] = next.rows[next.len];
        next.close(Square { column, row });
        next
    }

    pub(super) fn count(&self, stop: &Stop) -> u64 {
        if self.len == 0 {
            return 1;
        }
        if stop.is_asked() {
            return 0;
        }
        let [mut columns, mut sums, mut differences] = [Lines::default(); 3];
        let (mut fewest, mut chosen) = (u32::MAX, 0);
        for (at, open) in self.rows[..self.len].iter().enumerate() {
            let squares = open.free.count_ones();
            if squares < fewest {
                (fewest, chosen) = (squares, at);
            }
            columns.see(open.free);
            sums.see(self.turn(open.free, open.row));
            differences.see(self.turn(open.free, self.n - open.row));
        }
        // Each kind of line needs at least as many lines with a free square as rows are left.
        let dead = |lines: Lines| lines.any.count_ones() < self.len as u32;
        if fewest == 0 || dead(columns) || dead(sums) || dead(differences) {
            return 0;
        }
        for squares in 1..fewest.min(3) {
            let lines = [columns, sums, differences].map(|lines| lines.with(squares));
            if let Some(kind) = lines.iter().position(|line| *line != 0) {
                return self.count_line(kind, lines[kind], stop);
            }
        }
        ones(self.rows[chosen].free).map(|column| self.place(chosen, column).count(stop)).sum()
    }

    /// The number of placements, found by trying each free square of one line. `kind` is 0 for a
    /// column, 1 for a diagonal by column + row, and 2 for a diagonal by column - row.
    fn count_line(&self, kind: usize, line: u64, stop: &Stop) -> u64 {
        let mut found = 0;
        for (at, open) in self.rows[..self.len].iter().enumerate() {
            let column = match kind {
                0 => line,
                1 => self.turn(line, self.n - open.row),
                _ => self.turn(line, open.row),
            };
            if open.free & column != 0 {
                found += self.place(at, column.trailing_zeros()).count(stop);
            }
        }
        found
    }
}
