//! The rows of one colour, in the order in which they get their queens.
//!
//! First come the rows whose queens stand in odd columns, because these columns are given, then
//! those in even columns; each from the middle of the board outwards, because the middle rows
//! attack most squares. Rows are known by their *level*: the number of rows that come after them.
//!
//! ```text
//!   black   rows of split.odd in odd columns     then   rows of split.even in even columns
//!   white   the other even rows, odd columns     then   the other odd rows, even columns
//! ```
//!
//! Sets of columns are masks with a bit for each even or each odd column, in descending order: bit
//! 0 is the last column. So the set of the even columns of black queens is a number that is read
//! from the other end. For even N, [shares](board::colours::share) compare this number. The place
//! of the set in a row of cells is the number without its lowest bit, which follows from the number
//! of columns. Black queens begin with the number 0, and white queens with all columns, from which
//! they take theirs away. So a queen on bit `b` of an even column changes the number of a placement
//! of either colour by `^ b >> 1`.
//!
//! ```text
//!   a queen with bit b on row d takes from row z, which is g = |d - z| rows away,
//!     if both stand in even columns, or both in odd ones    b << g/2,  b >> g/2  and b itself
//!     if d has odd and z has even columns,  N even          b << (g - 1)/2  and  b >> (g + 1)/2
//!                                           N odd           b << (g + 1)/2  and  b >> (g - 1)/2
//! ```
//!
//! Rows of one colour are an even number of rows apart exactly if both stand in even or both in odd
//! columns.

use board::colours::{Split, even_lines, odd_lines};
use board::{MAX_N, full_mask, ones};

use super::start::Start;

/// The most rows of one colour: all queens of a board can have the same colour.
pub(super) const MAX_ROWS: usize = MAX_N as usize;

/// How far a queen's row is from one that comes later, and how their columns are numbered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Attack {
    /// The number of rows from one to the other.
    distance: u8,
    /// The difference of the shifts up and down: 0, 1 or -1.
    skew: i8,
}

impl Attack {
    /// Every attack, by its [`index`](Attack::index).
    pub(super) fn all() -> impl Iterator<Item = Attack> {
        (-1..=1).flat_map(|skew| (0..MAX_ROWS as u8).map(move |distance| Attack { distance, skew }))
    }

    /// The number of this attack among all, so that a unit can prepare what it needs of each of
    /// them.
    pub(super) const fn index(self) -> u8 {
        (self.skew + 1) as u8 * MAX_ROWS as u8 + self.distance
    }

    /// By how many bits the attack shifts a queen's bit up and down.
    pub(super) fn shifts(self) -> [u32; 2] {
        let (distance, skew) = (self.distance as i32, self.skew as i32);
        [(distance + skew).max(0) as u32 / 2, (distance - skew).max(0) as u32 / 2]
    }

    /// Whether the attack takes the queen's own column, too.
    pub(super) const fn takes_column(self) -> bool {
        self.skew == 0
    }

    /// The columns that a queen with this `bit` takes, of the lowest sixteen.
    pub(super) fn columns(self, bit: u16) -> u16 {
        let [up, down] = self.shifts();
        let own = if self.takes_column() { bit } else { 0 };
        bit.checked_shl(up).unwrap_or(0) | bit.checked_shr(down).unwrap_or(0) | own
    }
}

/// The rows of one colour, without those of given queens, by their levels.
#[derive(Clone, Debug)]
pub(super) struct Colour {
    /// The number of rows.
    len: usize,
    /// The number of rows, the last ones, whose queens stand in even columns.
    even: usize,
    /// The rows, by their levels.
    rows: [u8; MAX_ROWS],
    /// The columns that their queens may take, by their levels.
    open: [u16; MAX_ROWS],
    /// The number of the placement of the given queens.
    number: u16,
    n: u32,
}

impl Colour {
    /// The rows of black queens of a split.
    pub(super) fn black(start: &Start, split: Split) -> Colour {
        Colour::new(start, rows(split.even, 0), rows(split.odd, 1), start.numbers[0])
    }

    /// The rows of white queens of a split.
    pub(super) fn white(start: &Start, split: Split) -> Colour {
        let n = start.n;
        let (even, odd) =
            (!split.even & full_mask(even_lines(n)), !split.odd & full_mask(odd_lines(n)));
        Colour::new(start, rows(odd, 1), rows(even, 0), start.numbers[1])
    }

    /// The colour whose queens stand in these rows, masks of the board's rows.
    fn new(start: &Start, in_even_columns: u32, in_odd_columns: u32, number: u16) -> Colour {
        let n = start.n;
        let (rows, open) = ([0; MAX_ROWS], [0; MAX_ROWS]);
        let mut colour = Colour { n, len: 0, even: 0, rows, open, number };
        let [in_even_columns, in_odd_columns] =
            [in_even_columns, in_odd_columns].map(|mask| mask & !start.rows);
        for (mask, open) in [in_even_columns, in_odd_columns].into_iter().zip(&start.open) {
            // From the edges to the middle: the last row has level 0.
            for place in 0..n {
                let row = if place % 2 == 0 { place / 2 } else { n - 1 - place / 2 };
                if mask >> row & 1 == 1 {
                    colour.rows[colour.len] = row as u8;
                    colour.open[colour.len] = open[row as usize];
                    colour.len += 1;
                }
            }
        }
        colour.even = in_even_columns.count_ones() as usize;
        colour
    }

    /// The number of rows, which is that of queens.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The number of the placement of the given queens.
    pub(super) fn number(&self) -> u16 {
        self.number
    }

    /// The columns that are open to the queen of the row at this level.
    pub(super) fn open(&self, level: usize) -> u16 {
        self.open[level]
    }

    /// The number of rows whose queens stand in even columns, which have the lowest levels.
    pub(super) fn even(&self) -> usize {
        self.even
    }

    /// Whether the queen of the row at this level stands in an even column.
    pub(super) fn is_in_even_columns(&self, level: usize) -> bool {
        level < self.even
    }

    /// How a queen of the row at `level` attacks the row at the lower level `later`.
    pub(super) fn attack(&self, level: usize, later: usize) -> Attack {
        let is_same = self.is_in_even_columns(level) == self.is_in_even_columns(later);
        let skew = match is_same {
            true => 0,
            false if self.n.is_multiple_of(2) => -1,
            false => 1,
        };
        Attack { distance: self.rows[level].abs_diff(self.rows[later]), skew }
    }
}

/// The rows of half a board's lines: the even ones or, from `first` = 1 on, the odd ones.
fn rows(lines: u32, first: u32) -> u32 {
    ones(lines.into()).map(|line| 1 << (2 * line + first)).sum()
}
