//! Completion by exact search, which also proves that there is no placement.
//!
//! The search branches on the row or column with the fewest squares that no queen attacks. This is
//! the rule of J. R. Bitner and E. M. Reingold ("Backtrack programming techniques", CACM 18(11),
//! 1975), applied to rows and columns alike as in D. E. Knuth's exact covers ("Dancing links",
//! 2000). A line without such a square ends the branch, and a line with a single one has no choice.
//! No list of squares is kept: the squares of a line follow from three bit sets, word by word. On a
//! torus a diagonal has two places in a set, so that each line finds it. Blocked squares are
//! removed from their lines. For superqueens, so are the squares that are a knight's move from the
//! queens of the nearest lines.

use std::collections::HashMap;

use super::{Completion, Start, Work};
use crate::Placement;
use crate::bits::Bits;
use crate::check::Rules;
use board::ones;
use board::squares::Square;

/// Searches the completions in a random order until one is found, all are excluded, or the budget
/// is spent.
pub(super) fn search(given: &Start, work: &mut Work<'_>) -> Completion {
    let mut board = Board::new(given);
    let mut levels: Vec<Level> = Vec::new();
    let mut columns = given.columns.clone();
    loop {
        // First, choose the next line, with all its squares.
        match board.narrowest(work) {
            Narrowest::Full => {
                let columns = columns.into_iter().map(|column| column.expect("no row is left"));
                return Completion::Found(Placement::trusted(columns.collect()));
            }
            Narrowest::Unknown => return Completion::Undecided,
            Narrowest::Line(line) => {
                let mut squares = board.squares(line);
                work.random.shuffle(&mut squares);
                levels.push(Level { line, squares, queen: None });
            }
        }
        // Then place a queen on the next square of the last line that has a square left.
        loop {
            let Some(level) = levels.last_mut() else { return Completion::Impossible };
            if let Some(queen) = level.queen.take() {
                board.flip(queen);
                columns[queen.row as usize] = None;
            }
            if let Some(across) = level.squares.pop() {
                let queen = level.line.square(across);
                board.flip(queen);
                work.effort.nodes += 1;
                columns[queen.row as usize] = Some(queen.column);
                level.queen = Some(queen);
                break;
            }
            levels.pop();
        }
    }
}

/// A line that was chosen, the squares left to try in it, and its present queen.
struct Level {
    line: Line,
    squares: Vec<u32>,
    queen: Option<Square>,
}

/// A row or a column.
#[derive(Clone, Copy)]
pub(crate) enum Line {
    Row(u32),
    Column(u32),
}

impl Line {
    fn square(self, across: u32) -> Square {
        match self {
            Line::Row(row) => Square { column: across, row },
            Line::Column(column) => Square { column, row: across },
        }
    }

    /// 0 for a row and 1 for a column, and the number of the line.
    fn index(self) -> (usize, usize) {
        match self {
            Line::Row(row) => (0, row as usize),
            Line::Column(column) => (1, column as usize),
        }
    }
}

enum Narrowest {
    /// Every line has its queen.
    Full,
    /// A line with the fewest squares.
    Line(Line),
    /// The budget was spent before all lines were seen.
    Unknown,
}

/// The squares of a board that no queen attacks.
#[derive(Clone, Debug)]
pub(crate) struct Board {
    n: usize,
    /// Number of words of a line.
    pub(crate) words: usize,
    /// The columns without a queen, among which a row chooses, and the rows without one, among
    /// which a column chooses.
    open: [Bits; 2],
    /// Diagonals with a queen by row + column, which rows and columns see alike.
    sums: Bits,
    /// Diagonals with a queen by across - line + N - 1, as rows see them and as columns see them.
    differences: [Bits; 2],
    rules: Rules,
    /// The queen of each row and of each column, by its place across. Only superqueens need them.
    standing: [Vec<Option<usize>>; 2],
    /// The blocked squares of the rows and columns that have some.
    blocked: [HashMap<usize, Bits>; 2],
}

impl Board {
    pub(crate) fn new(given: &Start) -> Board {
        let n = given.n as usize;
        let mut all = Bits::none(n);
        (0..n).for_each(|i| all.flip(i));
        let mut board = Board {
            n,
            words: n.div_ceil(64),
            open: [all.clone(), all],
            sums: Bits::none(2 * n),
            differences: [Bits::none(2 * n), Bits::none(2 * n)],
            rules: given.rules,
            standing: [vec![None; n], vec![None; n]],
            blocked: [HashMap::new(), HashMap::new()],
        };
        for square in &given.blocked {
            let (row, column) = (square.row as usize, square.column as usize);
            for (kind, line, across) in [(0, row, column), (1, column, row)] {
                let blocked = board.blocked[kind].entry(line).or_insert_with(|| Bits::none(n));
                blocked.flip(across);
            }
        }
        given.queens().for_each(|queen| board.flip(queen));
        board
    }

    /// Puts a queen on the square, or removes the one that is there.
    pub(crate) fn flip(&mut self, queen: Square) {
        let (row, column) = (queen.row as usize, queen.column as usize);
        self.open[0].flip(column);
        self.open[1].flip(row);
        let n = self.n;
        let [rising, falling] = &mut self.differences;
        let diagonals = [
            (&mut self.sums, row + column),
            (rising, column + n - 1 - row),
            (falling, row + n - 1 - column),
        ];
        for (diagonals, number) in diagonals {
            if self.rules == Rules::Torus {
                diagonals.flip(number % n);
                diagonals.flip(number % n + n);
            } else {
                diagonals.flip(number);
            }
        }
        let [rows, columns] = &mut self.standing;
        for (queen, across) in [(&mut rows[row], column), (&mut columns[column], row)] {
            *queen = if queen.is_none() { Some(across) } else { None };
        }
    }

    /// The squares `64 * word` to `64 * word + 63` of a line that no queen attacks, as bits.
    pub(crate) fn word(&self, line: Line, word: usize) -> u64 {
        let (kind, line) = line.index();
        let mut closed = self.sums.window(line + 64 * word)
            | self.differences[kind].window(self.n - 1 - line + 64 * word);
        if let Some(blocked) = self.blocked[kind].get(&line) {
            closed |= blocked.word(word);
        }
        if self.rules == Rules::Superqueens {
            closed |= self.knights(kind, line, word);
        }
        self.open[kind].word(word) & !closed
    }

    /// The squares of a word of a line that are a knight's move from a queen.
    fn knights(&self, kind: usize, line: usize, word: usize) -> u64 {
        let mut attacked = 0;
        for (away, aside) in [(1, 2), (2, 1)] {
            for other in [line.wrapping_sub(away), line + away] {
                let queen = self.standing[kind].get(other).copied().flatten();
                let squares = queen.map(|across| [across.wrapping_sub(aside), across + aside]);
                let here = squares.into_iter().flatten().filter(|square| square / 64 == word);
                attacked |= here.fold(0, |mask, square| mask | 1 << (square % 64));
            }
        }
        attacked
    }

    fn squares(&self, line: Line) -> Vec<u32> {
        let words = (0..self.words).zip((0..).step_by(64));
        words.flat_map(|(word, at)| ones(self.word(line, word)).map(move |bit| at + bit)).collect()
    }

    /// The line with the fewest squares, or the first with at most one.
    fn narrowest(&self, work: &mut Work<'_>) -> Narrowest {
        let rows = self.open[1].iter().map(Line::Row);
        let columns = self.open[0].iter().map(Line::Column);
        let mut narrowest = Narrowest::Full;
        let mut fewest = u32::MAX;
        for line in rows.chain(columns) {
            let mut found = 0;
            let mut word = 0;
            // Counting ends once a line has as many squares as the narrowest one so far.
            while word < self.words && found < fewest {
                found += self.word(line, word).count_ones();
                word += 1;
            }
            if !work.spend(4 + 2 * word as u64) {
                return Narrowest::Unknown;
            }
            if found < fewest {
                (narrowest, fewest) = (Narrowest::Line(line), found);
                if found <= 1 {
                    break;
                }
            }
        }
        narrowest
    }
}
