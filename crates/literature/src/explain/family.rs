//! The sections about the other problems of the family: counts up to symmetry, tori, superqueens,
//! given queens, and one placement without a count.

use std::fmt::Write;

use anyhow::{Context, ensure};
use board::Square;
use solve::{Construction, Rules, attack, census, solutions};

use super::picture;
use crate::classical::Searched;
use crate::forced::{Looking, count_with};

/// The sizes of tori whose placements are counted for the text.
const TORI: [u32; 4] = [5, 7, 11, 13];
/// The sizes of boards whose superqueens are counted for the text.
const SUPERQUEENS: [u32; 3] = [8, 10, 12];
/// The least board above size 1 that has a placement of superqueens.
const LEAST_SUPERQUEENS: u32 = 10;

/// The sections for a board of size `n` with `total` placements.
pub(super) fn sections(n: u32, total: u64) -> anyhow::Result<String> {
    Ok(symmetry(n, total)? + &tori()? + &superqueens()? + &given(n)? + &one(n)?)
}

fn symmetry(n: u32, total: u64) -> anyhow::Result<String> {
    let census = census(n);
    ensure!(census.total == u128::from(total), "the census counts {}", census.total);
    Ok(format!(
        "## Up to symmetry: the problem fundamental\n\n\
         Rotations and reflections turn a placement into up to eight. The half turn leaves P of the Q placements as they \
         are, the quarter turn R, and no reflection leaves one. So Burnside's lemma gives the number F of \
         placements that are essentially different:\n\n\
         ```text\n\
         8 F = Q + P + 2 R\n\
         8 x {} = {} + {} + 2 x {}\n\
         ```\n\n\
         These are {} groups of eight, {} of four and {} of two. Q is counted as above. P and R are searched for apart, \
         by all queens of an orbit at a time: P takes 10 s of a core at N = 26, and R less. This is the best way for \
         every N. The program of takaken (2011) visits a placement of each group instead, which takes about a quarter of \
         the time of all of them, and also lists them.\n\n",
        census.fundamental,
        census.total,
        census.half_turn,
        census.quarter_turn,
        census.orbits_of_8,
        census.orbits_of_4,
        census.orbits_of_2,
    ))
}

fn tori() -> anyhow::Result<String> {
    let mut rows = String::new();
    for n in TORI {
        let Searched { total, nodes, .. } = plain(n, Rules::Torus, &[]);
        let _ = writeln!(rows, "| {n} | {total} | {nodes} |");
    }
    Ok(format!(
        "## Tori: the problem toroidal\n\n\
         On a torus, rows, columns and diagonals go on at the opposite edge. G. Pólya (in Ahrens, 1921) showed that N \
         queens can be placed only if neither 2 nor 3 divides N: A. P. Sharakhov (2017) calls these placements modular, \
         with N = 6 K - 1 or 6 K + 1. The plane can be tiled with such a placement, here one of 5 queens, each two \
         columns to the right of the one below it. Every window of 5 x 5 squares of the tiling is a placement, too. The \
         five that begin at different columns share no square, and so fill the board: at the right, each has its own \
         number.\n\n\
         {}\n\
         | N | placements | queens placed by a plain search |\n|---|---|---|\n{rows}\n\
         `queens count` counts them by the method rows for every N (OEIS A007705): colours does not serve, because \
         diagonals of an odd torus change their colour at the edge. It leaves the first queen in column a, which stands \
         for N translations, and counts one of two mirror images. All N diagonals of both directions need a queen, as \
         rows and columns do, so the search looks for dead and forced lines in four directions.\n\n",
        tiling(TORI[0])?,
    ))
}

/// Four copies of a placement on a torus of size `n`, and a board filled by the placements that
/// begin at its columns. It fails if a window of the copies, or one of these, is no placement.
fn tiling(n: u32) -> anyhow::Result<String> {
    let columns: Vec<u32> = Construction::toroidal(n)?.columns().collect();
    let is_queen = |column: u32, row: u32| columns[(row % n) as usize] == column % n;
    for (right, up) in (0..n).flat_map(|right| (0..n).map(move |up| (right, up))) {
        let squares = (0..n).flat_map(|row| (0..n).map(move |column| Square { column, row }));
        let window: Vec<Square> =
            squares.filter(|it| is_queen(it.column + right, it.row + up)).collect();
        let is_placement = window.len() == n as usize && attack(n, &window, Rules::Torus).is_none();
        ensure!(is_placement, "a window of the tiling is no placement");
    }
    let mut text = "```text\n".to_owned();
    for row in (0..2 * n).rev() {
        let copies = (0..2 * n).map(|column| if is_queen(column, row) { "Q" } else { "." });
        let number = |column| 1 + (column + n - columns[(row % n) as usize]) % n;
        let numbers = (0..n).filter(|_| row < n).map(|column| number(column).to_string());
        let [copies, numbers] = [copies.map(String::from).collect::<Vec<_>>(), numbers.collect()]
            .map(|it| it.join(" "));
        let _ = writeln!(text, "{}", format!("{copies}    {numbers}").trim_end());
    }
    Ok(text + "```\n")
}

fn superqueens() -> anyhow::Result<String> {
    let mut rows = String::new();
    for n in SUPERQUEENS {
        let [queens, superqueens] =
            [Rules::Plain, Rules::Superqueens].map(|rules| plain(n, rules, &[]));
        let Searched { total, nodes, .. } = superqueens;
        let _ = writeln!(rows, "| {n} | {total} | {nodes} | {} |", queens.nodes);
    }
    let n = LEAST_SUPERQUEENS;
    let first = solutions(board::Problem::Superqueens { n }).next();
    let first = first.context("superqueens have no placement")?;
    Ok(format!(
        "## Superqueens: the problem superqueens\n\n\
         They move as queens and as knights (OEIS A051223). From N = 2 on, {n} is the least board that has a placement:\n\n\
         {}\n\
         Two more words have the squares that are a knight's move from the queens of the last two rows.\n\n\
         | N | placements | superqueens placed | queens placed |\n|---|---|---|---|\n{rows}\n\
         `queens count` counts them by the method rows for every N, one of two mirror images: knights' moves connect \
         squares of both colours, so colours does not serve.\n\n",
        picture(n, first.squares().collect(), false),
    ))
}

fn given(n: u32) -> anyhow::Result<String> {
    let first = solutions(n).next().context("the board has no placement")?;
    let mut squares = first.squares();
    let given: Vec<Square> = squares.by_ref().skip(1).step_by(2).take(2).collect();
    let searched = plain(n, Rules::Plain, &given);
    let checked = count_with(n, &given, Looking::ColumnsAndRows);
    ensure!(searched.total == checked.total, "completions are miscounted");
    Ok(format!(
        "## Given queens: the problem completions\n\n\
         F. Nauck asked in 1850 for the placements that have given queens. I. P. Gent, C. Jefferson and P. Nightingale \
         (\"Complexity of n-Queens Completion\", 2017) proved that it is NP-complete to find one, and #P-complete to \
         count them. The number of placements with queens on {} and {} is {}. A search that closes the squares that they \
         attack, and fills only the other rows, places {} queens; the smart check tries {}, and {} are forced.\n\n\
         The method rows wins if many queens are given, and colours if the rows without one are at least 16 more than \
         those with one (N up to 32): N = 24 with 4 given queens takes it 14 s of a core, where there are 558211076. \
         Boards up to N = 64 have a mask for each row, and the row with the fewest free squares is filled first. Beyond, \
         queens are counted on columns and diagonals in arrays.\n\n\
         `queens solve` looks for one completion by swaps that remove attacks (R. Sosič and J. Gu, 1990). This wins on \
         large boards, up to N = 10^6 in seconds, but proves nothing. Where it fails, an exact search takes the row or \
         column with the fewest free squares first, and proves that there is none.\n\n",
        given[0], given[1], searched.total, searched.nodes, checked.tries, checked.forced,
    ))
}

fn one(n: u32) -> anyhow::Result<String> {
    let construction = Construction::mod12(n)?;
    let mut squares: Vec<Square> = construction.placement().squares().collect();
    squares.sort_unstable();
    let ranks: Vec<String> = squares.iter().map(|square| (square.row + 1).to_string()).collect();
    Ok(format!(
        "## One placement\n\n\
         A rule gives one for every N but 2 and 3 in linear time, N = 10^8 in seconds, and wins for every N. \
         The article \"Задача о восьми ферзях\" (2010) has the list by the remainder of N by 12, which Sharakhov credits to \
         B. Bernhardsson (1991). It is the rank of the queen on each file, first the even ranks and then the odd ones \
         with exceptions. For N = {n}, which leaves {}, it is {}:\n\n\
         {}\n\
         `queens solve {n} --construction mod12` prints it. Without the option, the rule of E. Pauls (1874) is taken.\n\n",
        n % 12,
        ranks.join(" "),
        picture(n, squares, false),
    ))
}

/// Counts the placements that have these queens by a plain search, row by row.
fn plain(n: u32, rules: Rules, given: &[Square]) -> Searched {
    let mut search =
        Plain { n, rules, columns: vec![None; n as usize], searched: Searched::default() };
    for queen in given {
        search.columns[queen.row as usize] = Some(queen.column);
    }
    let empty = Lines { columns: 0, sums: 0, differences: 0 };
    let lines = given.iter().fold(empty, |lines, &queen| search.with(lines, queen));
    search.go_on(0, lines);
    search.searched
}

struct Plain {
    n: u32,
    rules: Rules,
    /// The column of the queen of each row.
    columns: Vec<Option<u32>>,
    searched: Searched,
}

/// The columns and diagonals that have a queen, a bit for each.
#[derive(Clone, Copy)]
struct Lines {
    columns: u64,
    sums: u64,
    differences: u64,
}

impl Plain {
    /// The bits of the lines through a square.
    fn lines(&self, Square { column, row }: Square) -> [u64; 3] {
        let around = if self.rules == Rules::Torus { self.n } else { 2 * self.n };
        [column, (row + column) % around, (row + around - column) % around].map(|line| 1 << line)
    }

    fn with(&self, lines: Lines, queen: Square) -> Lines {
        let [column, sum, difference] = self.lines(queen);
        Lines {
            columns: lines.columns | column,
            sums: lines.sums | sum,
            differences: lines.differences | difference,
        }
    }

    fn is_free(&self, lines: Lines, square: Square) -> bool {
        let [column, sum, difference] = self.lines(square);
        let is_taken = lines.columns & column | lines.sums & sum | lines.differences & difference;
        let has_knight = |down: u32| {
            let above = square.row.checked_sub(down).and_then(|row| self.columns[row as usize]);
            above.is_some_and(|queen| queen.abs_diff(square.column) == 3 - down)
        };
        is_taken == 0 && !(self.rules == Rules::Superqueens && (has_knight(1) || has_knight(2)))
    }

    fn go_on(&mut self, row: u32, lines: Lines) {
        if row == self.n {
            self.searched.total += 1;
            return;
        }
        if self.columns[row as usize].is_some() {
            return self.go_on(row + 1, lines);
        }
        for column in 0..self.n {
            let square = Square { column, row };
            self.searched.tries += 1;
            if self.is_free(lines, square) {
                self.searched.nodes += 1;
                self.columns[row as usize] = Some(column);
                self.go_on(row + 1, self.with(lines, square));
                self.columns[row as usize] = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use board::Problem;

    use super::*;

    #[test]
    fn the_plain_search_finds_the_known_counts() {
        for (rules, problem) in [
            (Rules::Plain, (|n| Problem::Total { n }) as fn(u32) -> Problem),
            (Rules::Torus, |n| Problem::Toroidal { n }),
            (Rules::Superqueens, |n| Problem::Superqueens { n }),
        ] {
            for n in 1..=10 {
                let listed = solutions(problem(n)).count() as u64;
                assert_eq!(plain(n, rules, &[]).total, listed, "N = {n}, {rules:?}");
            }
        }
    }

    #[test]
    fn only_a_torus_prime_to_six_is_tiled() {
        assert!(tiling(7).is_ok());
        assert!(tiling(9).is_err());
    }
}
