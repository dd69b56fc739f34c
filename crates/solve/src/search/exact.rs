//! Completion by exact search, which also proves that there is no placement.
//!
//! The search branches on the row or column with the fewest squares that no queen attacks. This is the rule
//! of J. R. Bitner and E. M. Reingold ("Backtrack programming techniques", CACM 18(11), 1975), applied to
//! rows and columns alike as in D. E. Knuth's exact covers ("Dancing links", 2000). A line without such a
//! square ends the branch, and a line with a single one has no choice. No list of squares is kept: the
//! squares of a line follow from three bit sets, word by word.

use super::{Budget, Completion, Effort, Start};
use crate::Placement;
use crate::bits::{Bits, ones};
use crate::random::SplitMix64;
use board::squares::Square;

/// Searches the completions in a random order until one is found, all are excluded, or the budget is spent.
pub(super) fn search(
    given: &Start,
    random: &mut SplitMix64,
    effort: &mut Effort,
    budget: &mut Budget<'_>,
) -> Completion {
    let mut board = Board::new(given);
    let mut levels: Vec<Level> = Vec::new();
    let mut columns = given.columns.clone();
    loop {
        // Go down to the next line, with all its squares ...
        match board.narrowest(budget) {
            Narrowest::Full => {
                let columns = columns.into_iter().map(|column| column.expect("no row is left"));
                return Completion::Found(Placement::new(columns.collect()));
            }
            Narrowest::Unknown => return Completion::Undecided,
            Narrowest::Line(line) => {
                let mut squares = board.squares(line);
                random.shuffle(&mut squares);
                levels.push(Level { line, squares, queen: None });
            }
        }
        // ... and on to the next square of the last line that has one left.
        loop {
            let Some(level) = levels.last_mut() else { return Completion::None };
            if let Some(queen) = level.queen.take() {
                board.flip(queen);
                columns[queen.row as usize] = None;
            }
            if let Some(across) = level.squares.pop() {
                let queen = level.line.square(across);
                board.flip(queen);
                effort.nodes += 1;
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

#[derive(Clone, Copy)]
enum Line {
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

struct Board {
    n: usize,
    words: usize,
    /// The columns without a queen, among which a row chooses, and the rows without one, among which a column
    /// chooses.
    open: [Bits; 2],
    /// Diagonals with a queen by row + column, which rows and columns see alike.
    sums: Bits,
    /// Diagonals with a queen by across - line + N - 1, as rows see them and as columns see them.
    differences: [Bits; 2],
}

impl Board {
    fn new(given: &Start) -> Board {
        let n = given.n as usize;
        let mut all = Bits::none(n);
        (0..n).for_each(|i| all.flip(i));
        let mut board = Board {
            n,
            words: n.div_ceil(64),
            open: [all.clone(), all],
            sums: Bits::none(2 * n),
            differences: [Bits::none(2 * n), Bits::none(2 * n)],
        };
        given.queens().for_each(|queen| board.flip(queen));
        board
    }

    /// Puts a queen on the square, or removes the one that is there.
    fn flip(&mut self, queen: Square) {
        let (row, column) = (queen.row as usize, queen.column as usize);
        self.open[0].flip(column);
        self.open[1].flip(row);
        self.sums.flip(row + column);
        self.differences[0].flip(column + self.n - 1 - row);
        self.differences[1].flip(row + self.n - 1 - column);
    }

    /// The squares `64 * word` to `64 * word + 63` of a line that no queen attacks, as bits.
    fn word(&self, line: Line, word: usize) -> u64 {
        let (kind, line) = line.index();
        let attacked = self.sums.window(line + 64 * word)
            | self.differences[kind].window(self.n - 1 - line + 64 * word);
        self.open[kind].word(word) & !attacked
    }

    fn squares(&self, line: Line) -> Vec<u32> {
        let words = (0..self.words).zip((0..).step_by(64));
        words.flat_map(|(word, at)| ones(self.word(line, word)).map(move |bit| at + bit)).collect()
    }

    /// The line with the fewest squares, or the first with at most one.
    fn narrowest(&self, budget: &mut Budget<'_>) -> Narrowest {
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
            if !budget.spend(4 + 2 * word as u64) {
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
