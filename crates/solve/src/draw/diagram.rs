//! A board with queens, and the lines on which they attack.

use board::squares::Square;

/// Queens on a board. They may attack each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Diagram {
    /// Size of the board, 1 or more.
    pub n: u32,
    /// The squares with a queen, all on the board.
    pub queens: Vec<Square>,
}

/// Whether a queen on one square attacks the other one, or both are one.
pub(super) fn attacks(a: Square, b: Square) -> bool {
    let (across, up) = (a.column.abs_diff(b.column), a.row.abs_diff(b.row));
    across == 0 || up == 0 || across == up
}

impl Diagram {
    /// The pairs of queens that attack each other.
    pub fn attacks(&self) -> Vec<[Square; 2]> {
        let mut pairs = Vec::new();
        for (i, &a) in self.queens.iter().enumerate() {
            let attacked = self.queens[i + 1..].iter().filter(|&&b| attacks(a, b));
            pairs.extend(attacked.map(|&b| [a, b]));
        }
        pairs
    }

    /// The letters of the columns, from the left.
    pub fn files(&self) -> impl Iterator<Item = String> {
        let name = |column| Square { column, row: 0 }.to_string();
        (0..self.n).map(move |column| name(column).trim_end_matches('1').to_owned())
    }

    /// The ends of the row, the column and the diagonals of a square.
    pub fn lines_through(&self, Square { column, row }: Square) -> [[Square; 2]; 4] {
        let last = self.n - 1;
        let square = |column, row| Square { column, row };
        let (down, up) = (column.min(row), (last - column).min(last - row));
        let (left, right) = (column.min(last - row), (last - column).min(row));
        [
            [square(0, row), square(last, row)],
            [square(column, 0), square(column, last)],
            [square(column - down, row - down), square(column + up, row + up)],
            [square(column - left, row + left), square(column + right, row - right)],
        ]
    }
}
