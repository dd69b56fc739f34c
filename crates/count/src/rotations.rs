//! The numbers of placements that rotations fix: P(N) for the half turn (OEIS A032522) and R(N) for
//! the quarter turn (A033148). Each is counted by its own search, which places all queens of an
//! orbit at a time.
//!
//! A reflection fixes no placement. So, by Burnside's lemma, there are (Q + P + 2R) / 8 orbits of
//! placements for N >= 2 (see [`Census`](board::Census)).

use board::{Problem, Square, low_bits, ones};

/// The largest board of [`half_turn`].
pub const HALF_TURN_MAX: u32 = 32;
/// The largest board of [`quarter_turn`].
pub const QUARTER_TURN_MAX: u32 = 64;

/// R(`n`), the number of placements that the quarter turn fixes. It is 0 unless N mod 4 is 0 or 1.
/// `None` beyond [`QUARTER_TURN_MAX`].
///
/// If rows and columns are counted from the middle, a queen on (r, c) implies queens on (c, -r),
/// (-r, -c) and (-c, r). This orbit occupies the rows and columns +-r and +-c, and the diagonals
/// c - r and c + r of both directions and signs. Its mirror image occupies the same lines, so each
/// orbit can be reflected independently of the others. So R is 2 to the power of the number of
/// orbits, times the number of matchings. A matching joins the rows' distances from the middle in
/// pairs such that all sums and differences of the pairs differ.
#[must_use]
pub fn quarter_turn(n: u32) -> Option<u128> {
    match n {
        _ if n > QUARTER_TURN_MAX => None,
        _ if n % 4 > 1 => Some(0),
        _ => Some(u128::from(matchings(n, low_bits(n / 2), 0)) << (n / 4)),
    }
}

/// The number of ways to match the folded rows in `free` in pairs such that no two pairs share a
/// diagonal and none has one of `diagonals`. The folded row i stands for the rows i and n - 1 - i.
fn matchings(n: u32, free: u64, diagonals: u64) -> u64 {
    if free == 0 {
        return 1;
    }
    // The outermost row has the fewest free diagonals.
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

/// P(`n`), the number of placements that the half turn fixes. The quarter turn may fix them, too.
/// `None` beyond [`HALF_TURN_MAX`].
///
/// The search visits one of every two or of every four placements that it counts. It takes 10 s at
/// N = 26, and ten times as long each time that N grows by two.
///
/// Queens are placed in pairs: first the pair of row 0, then the others from the middle outwards.
/// Reflections and the exchange of rows and columns turn a found placement into other such
/// placements. So the search only visits placements whose queen in row 0 stands in the left half,
/// and is no nearer to the middle than the queens of the outer columns. If they are equally near, a
/// placement counts twice, and otherwise four times.
#[must_use]
pub fn half_turn(n: u32) -> Option<u128> {
    match n {
        0 | 1 => Some(1),
        2..=HALF_TURN_MAX => Some((1..n / 2).map(|column| pairs_by_first(n, column)).sum()),
        _ => None,
    }
}

/// The number of placements whose queen of row 0 stands in column `first` or its mirror image,
/// together with their images under the exchange of rows and columns.
fn pairs_by_first(n: u32, first: u32) -> u128 {
    let mut start = Occupied::default();
    if n % 2 == 1 {
        start = start.with(n, n / 2, n / 2);
    }
    start = start.with(n, 0, first);
    let sides = 1 | 1 << (n - 1);
    // Rows near the middle come first, because queens there attack the most squares.
    let inner_rows = (1..n / 2).rev();

    // First, the queens of the outer columns are further in than that of row 0.
    let rows: Vec<InnerRow> = inner_rows
        .clone()
        .map(|row| InnerRow::new(n, row, if row <= first { !sides } else { !0 }))
        .collect();
    let strict = pairs(n, &rows, start);

    // Then, they are equally far in. Row 0's queen leaves only one square for this.
    let tied = if InnerRow::new(n, first, !0).free(start) & 1 << (n - 1) == 0 {
        0
    } else {
        let rows: Vec<InnerRow> =
            inner_rows.filter(|&row| row != first).map(|row| InnerRow::new(n, row, !0)).collect();
        pairs(n, &rows, start.with(n, first, n - 1))
    };
    4 * u128::from(strict) + 2 * u128::from(tied)
}

/// The lines that hold a queen: columns, diagonals by row + column, and diagonals by column - row +
/// N - 1.
#[derive(Clone, Copy, Default)]
struct Occupied {
    columns: u64,
    sums: u64,
    differences: u64,
}

/// A row to fill.
#[derive(Clone, Copy)]
struct InnerRow {
    row: u32,
    /// The number of the diagonal of differences that its first square is on.
    shift: u32,
    /// The columns that its queen may take.
    allowed: u64,
}

impl InnerRow {
    fn new(n: u32, row: u32, allowed: u64) -> InnerRow {
        // A queen on a long diagonal would attack its own image.
        let long = 1 << row | 1 << (n - 1 - row);
        InnerRow { row, shift: n - 1 - row, allowed: low_bits(n) & !long & allowed }
    }

    fn free(self, occupied: Occupied) -> u64 {
        let diagonals = occupied.sums >> self.row | occupied.differences >> self.shift;
        self.allowed & !(occupied.columns | diagonals)
    }
}

impl Occupied {
    /// The lines occupied after queens are placed on a square and its image.
    fn with(self, n: u32, row: u32, column: u32) -> Occupied {
        let last = n - 1;
        let (sum, difference) = (row + column, column + last - row);
        Occupied {
            columns: self.columns | 1 << column | 1 << (last - column),
            sums: self.sums | 1 << sum | 1 << (2 * last - sum),
            differences: self.differences | 1 << difference | 1 << (2 * last - difference),
        }
    }
}

/// The number of ways to fill `rows` in pairs, on a board of at most 32 rows.
fn pairs(n: u32, rows: &[InnerRow], occupied: Occupied) -> u64 {
    let Some((&row, rest)) = rows.split_first() else { return 1 };
    let free = row.free(occupied);
    if rest.is_empty() {
        return u64::from(free.count_ones());
    }
    ones(free).map(|column| pairs(n, rest, occupied.with(n, row.row, column))).sum()
}

/// The largest board of [`fixed_by_rules`].
pub const FIXED_BY_RULES_MAX: u32 = 22;

/// The numbers of placements of a problem without given queens that the half turn and the quarter
/// turn fix. `None` beyond [`FIXED_BY_RULES_MAX`].
///
/// All queens of an orbit are placed at a time, in the first row without a queen, and compared pair
/// by pair. It takes seconds at N = 20.
#[must_use]
pub fn fixed_by_rules(problem: &Problem) -> Option<(u128, u128)> {
    let fixed = |turns| fixed_by_turns(problem, turns, &mut Vec::new());
    (problem.n() <= FIXED_BY_RULES_MAX).then(|| (fixed(2), fixed(1)))
}

/// The number of ways to add queens to `queens` until all rows have one, such that `turns` quarter
/// turns fix the placement.
fn fixed_by_turns(problem: &Problem, turns: u32, queens: &mut Vec<Square>) -> u128 {
    let n = problem.n();
    let filled = queens.iter().fold(0_u64, |rows, queen| rows | 1 << queen.row);
    let row = filled.trailing_ones();
    if row >= n {
        return 1;
    }
    let placed = queens.len();
    let mut found = 0;
    for column in 0..n {
        let first = Square { column, row };
        let mut image = first;
        loop {
            let attacks = |queen: &Square| queen.row == image.row || problem.attack(*queen, image);
            if queens.iter().any(attacks) {
                break;
            }
            queens.push(image);
            for _ in 0..turns {
                image = Square { column: n - 1 - image.row, row: image.column };
            }
            if image == first {
                found += fixed_by_turns(problem, turns, queens);
                break;
            }
        }
        queens.truncate(placed);
    }
    found
}
