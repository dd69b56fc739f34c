//! How many placements the half turn fixes, P(N), and how many the quarter turn, R(N): OEIS A032522
//! and A033148, counted by searches of their own, which place all queens of an orbit at a time.
//!
//! A reflection fixes none, so by Burnside's lemma the orbits of all placements are
//! (Q + P + 2R) / 8 for N >= 2: see [`Census`](crate::Census).

use crate::bits::{low_bits, ones};

/// The largest board of [`half_turn`].
pub const HALF_TURN_MAX: u32 = 32;
/// The largest board of [`quarter_turn`].
pub const QUARTER_TURN_MAX: u32 = 64;

/// R(`n`): the placements that the quarter turn fixes; none unless N mod 4 is 0 or 1. `None` beyond
/// [`QUARTER_TURN_MAX`].
///
/// A queen on (r, c) stands with those on (c, -r), (-r, -c) and (-c, r), rows and columns counted
/// from the middle. Its orbit uses up rows and columns +-r and +-c, and the diagonals c - r and c + r
/// of both directions and signs. So does its mirror image, so that each orbit may be reflected by
/// itself, and R is 2 to the power of their number times the number of ways to match the rows' distances
/// from the middle in pairs such that all their sums and differences differ.
#[must_use]
pub fn quarter_turn(n: u32) -> Option<u128> {
    match n {
        _ if n > QUARTER_TURN_MAX => None,
        _ if n % 4 > 1 => Some(0),
        _ => Some(u128::from(matchings(n, low_bits(n / 2), 0)) << (n / 4)),
    }
}

/// Ways to match the folded rows in `free` (row i stands for i and n - 1 - i) in pairs of which no two
/// share a diagonal, nor any one of `diagonals`.
fn matchings(n: u32, free: u64, diagonals: u64) -> u64 {
    if free == 0 {
        return 1;
    }
    // The outermost row reaches the fewest diagonals that are free.
    let a = free.trailing_zeros();
    let rest = free & (free - 1);
    ones(rest)
        .map(|b| {
            let pair = 1 << (b - a) | 1 << (n - 1 - a - b);
            if diagonals & pair != 0 {
                return 0;
            }
            matchings(n, rest & !(1 << b), diagonals | pair)
        })
        .sum()
}

/// P(`n`): the placements that the half turn fixes, quarter turns or not. `None` beyond
/// [`HALF_TURN_MAX`]; it visits a part of what it counts: 10 s at N = 26,
/// and ten times as long with every second N.
///
/// Queens are placed in pairs, first that of row 0, then from the middle out. Mirror images and the
/// exchange of rows and columns still act on what is found. So the queen of row 0 stands in the left
/// half, and no nearer to the middle than those of the outer columns; where they are equally near,
/// placements count twice, others four times.
#[must_use]
pub fn half_turn(n: u32) -> Option<u128> {
    match n {
        0 | 1 => Some(1),
        2..=HALF_TURN_MAX => Some((1..n / 2).map(|column| pairs_by_first(n, column)).sum()),
        _ => None,
    }
}

/// The placements whose queen of row 0 stands in column `first` or its mirror image, and the images
/// of these under the exchange of rows and columns.
fn pairs_by_first(n: u32, first: u32) -> u128 {
    let search = Pairs { n };
    let mut start = Occupied::default();
    if n % 2 == 1 {
        start = search.with(start, n / 2, n / 2);
    }
    start = search.with(start, 0, first);
    let sides = 1 | 1 << (n - 1);
    // From the middle out: queens there attack the most.
    let inner_rows = (1..n / 2).rev();

    // The outer columns' queens further in than that of row 0.
    let rows: Vec<Row> = inner_rows
        .clone()
        .map(|row| search.row(row, if row <= first { !sides } else { !0 }))
        .collect();
    let strict = search.count(&rows, start);

    // As far in: on the one square for it that row 0 does not attack.
    let tied = if search.row(first, !0).free(start) & 1 << (n - 1) == 0 {
        0
    } else {
        let rows: Vec<Row> =
            inner_rows.filter(|&row| row != first).map(|row| search.row(row, !0)).collect();
        search.count(&rows, search.with(start, first, n - 1))
    };
    4 * u128::from(strict) + 2 * u128::from(tied)
}

/// A search for placements that the half turn fixes, on a board of at most 32 rows.
struct Pairs {
    n: u32,
}

/// Lines with a queen: columns; sums of row and column; columns less rows, plus n - 1.
#[derive(Clone, Copy, Default)]
struct Occupied {
    columns: u64,
    sums: u64,
    differences: u64,
}

/// A row that is to be filled.
#[derive(Clone, Copy)]
struct Row {
    row: u32,
    /// How far its first square is along the differences.
    shift: u32,
    /// Columns that it may use.
    allowed: u64,
}

impl Row {
    fn free(self, occupied: Occupied) -> u64 {
        let diagonals = occupied.sums >> self.row | occupied.differences >> self.shift;
        self.allowed & !(occupied.columns | diagonals)
    }
}

impl Pairs {
    fn row(&self, row: u32, allowed: u64) -> Row {
        // On the long diagonals a queen would attack its own image.
        let long = 1 << row | 1 << (self.n - 1 - row);
        Row { row, shift: self.n - 1 - row, allowed: low_bits(self.n) & !long & allowed }
    }

    /// With queens on a square and its image.
    fn with(&self, occupied: Occupied, row: u32, column: u32) -> Occupied {
        let last = self.n - 1;
        let (sum, difference) = (row + column, column + last - row);
        Occupied {
            columns: occupied.columns | 1 << column | 1 << (last - column),
            sums: occupied.sums | 1 << sum | 1 << (2 * last - sum),
            differences: occupied.differences | 1 << difference | 1 << (2 * last - difference),
        }
    }

    fn count(&self, rows: &[Row], occupied: Occupied) -> u64 {
        let Some((&row, rest)) = rows.split_first() else { return 1 };
        let free = row.free(occupied);
        if rest.is_empty() {
            return u64::from(free.count_ones());
        }
        ones(free).map(|column| self.count(rest, self.with(occupied, row.row, column))).sum()
    }
}
