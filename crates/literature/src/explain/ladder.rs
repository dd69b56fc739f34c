//! The sections about the ways to count that need no words of bits, from all choices of squares on,
//! and about those that look ahead or keep states: their work, their sources, and where each wins.

use anyhow::ensure;
use board::Square;
use solve::{Rules, attack};

use super::picture;
use crate::classical::Searched;
use crate::forced::{self, Looking};
use crate::states;

/// The memory that the dynamic program may take for the largest board of a page.
const MEMORY: u64 = 1 << 28;

/// The section about what each condition saves. `searched` is the search with masks.
pub(super) fn section(n: u32, searched: &Searched) -> anyhow::Result<String> {
    let squares = u128::from(n * n);
    let choices = (0..u128::from(n)).fold(1, |choices, i| choices * (squares - i) / (i + 1));
    let rooks = u128::from(n).pow(n);
    Ok(format!(
        "## What each condition saves\n\n\
         A text at Allbest.ru says that C. F. Gauss and F. Nauck showed in 1850 that eight queens can be placed. \
         These are the candidates that remain if one condition after the other is built in, and when the method is \
         still the best one:\n\n\
         | condition | candidates | N = {n} | N = 20 | use |\n|---|---|---|---|---|\n\
         | N squares of the board | C(N^2, N) | {choices} | 2.8e33 | none: a definition |\n\
         | one queen in each row | N^N | {rooks} | {:.1e} | none |\n\
         | and in each column | N! | {} | {:.4e} | none beyond N = 10 |\n\
         | diagonals, while queens are placed | queens placed | {} | 3.7e12 | N up to 14 |\n\n\
         The first three are in the article \"Задача о восьми ферзях\" (2010), which prints 20! as 2.433e18. With \
         symmetry, one placement stands for up to eight: all searches could take nearly an eighth of the time, and \
         takaken's program (2011) takes about a quarter, as A. P. Sharakhov (2017) reports.\n\n",
        20f64.powi(20),
        factorial(n),
        factorial(20) as f64,
        searched.nodes,
    ))
}

/// The section about the smart check, and the one about the dynamic program.
pub(super) fn checks_section(n: u32, total: u64) -> anyhow::Result<String> {
    let columns = forced::count(n, Looking::Columns);
    let lines = forced::count(n, Looking::ColumnsAndRows);
    let states = states::count_plain(n, MEMORY)?;
    ensure!(columns.total == total && lines.total == total, "the smart check miscounts");
    ensure!(states.total == u128::from(total), "the dynamic program miscounts");
    let kept: u64 = states.rows.iter().map(|row| row.states).sum();
    Ok(format!(
        "## Dead and forced lines: the method forced\n\n\
         An article at habr.com (\"Задача о 8-ми ферзях. Свежий взгляд\") looks at all lines before it tries a queen, in \
         this order:\n\n\
         1. A line without a free square is dead: the branch ends.\n\
         2. A line with one free square is forced: its queen is placed, and the check begins again.\n\
         3. Otherwise a queen is tried on each free square of the first column with exactly two of them, or, if there is \
         none, of the first column without a queen.\n\n\
         {}\
         With columns alone (then step 3 takes the first column), it takes {} tries and {} forced queens; with rows, {} \
         and {}. Each check costs more than it saves in a count, so it wins where few placements or none are left: with \
         given queens.\n\n\
         ## States: the method states\n\n\
         Two prefixes with the same three words have the same completions. The dynamic program of I. Rivin and R. Zabih \
         (1992) keeps each state once, with the number of its prefixes: {kept} states in all rows of this board. An \
         article without a date (\"Алгоритм подсчета кол-ва расстановок n ферзей\") bounds its work by n 8^n, here {}. It \
         needs four to six times the memory for each further row, and is an independent check up to N of about 16.\n\n",
        first_branch(n),
        columns.tries,
        columns.forced,
        lines.tries,
        lines.forced,
        u64::from(n) * 8u64.pow(n),
    ))
}

/// The first branch of the smart check, with a picture of its end, and the bytes of a board of size
/// 8 where the first queen is forced.
fn first_branch(n: u32) -> String {
    let branch = forced::first_branch(n, Looking::ColumnsAndRows);
    let steps: Vec<String> = branch
        .iter()
        .map(|(square, is_forced)| {
            format!("{square} is {}", if *is_forced { "forced" } else { "tried" })
        })
        .collect();
    let queens: Vec<Square> = branch.iter().map(|&(square, _)| square).collect();
    let tried = branch.iter().take_while(|(_, is_forced)| !is_forced).count();
    let mut text = format!(
        "In the first branch {}. Then a line is dead:\n\n{}\n",
        steps.join(", "),
        picture(n, queens.clone(), true)
    );
    if n == 8 {
        text += &bytes(&queens[..tried]);
    }
    text
}

/// The board of size 8 as a word with a byte for each column, and how it shows dead and forced
/// columns.
fn bytes(queens: &[Square]) -> String {
    let attacked = |column: u32| {
        let is_attacked = |row: &u32| attack_or_stand(queens, Square { column, row: *row });
        (0..8).filter(is_attacked).fold(0_u64, |byte, row| byte | 1 << row)
    };
    let word = (0..8).fold(0, |word, column| word | attacked(column) << (8 * column));
    let counts = counts_of_bytes(word);
    let mut rows = String::new();
    for column in 0..8 {
        let byte = word >> (8 * column) & 0xff;
        let bits: String = (0..8).map(|row| if byte >> row & 1 == 1 { '1' } else { '.' }).collect();
        let count = counts >> (8 * column) & 0xff;
        let note = match count {
            8 if queens.iter().any(|queen| queen.column == column) => "has a queen",
            8 => "dead",
            7 => "forced",
            _ => "",
        };
        let name = Square { column, row: 0 }.to_string();
        rows += format!("{}   {bits}  {count}  {note}", &name[..1]).trim_end();
        rows += "\n";
    }
    let squares: Vec<String> = queens.iter().map(Square::to_string).collect();
    format!(
        "The article keeps the whole board in a word of 64 bits, with a byte for each column. After {} it is \
         0x{word:016x}. From row 1 on, the bits of its bytes are:\n\n\
         ```text\n{rows}```\n\n\
         The last numbers are the attacked squares of each column. Three additions of all bytes at once find them: of \
         neighbouring bits, of pairs, and of halves of a byte, 0x{counts:016x} in all. A number is 8 where this word \
         and 0x0808080808080808 have a bit in common, and such a column is dead, unless a second word, with a byte of \
         0xff for each column without a queen, says that it has one.\n\n",
        squares.join(", ")
    )
}

/// Whether a queen attacks the square or stands on it.
fn attack_or_stand(queens: &[Square], square: Square) -> bool {
    queens.iter().any(|&queen| attack(8, &[queen, square], Rules::Plain).is_some())
}

/// The number of bits of each byte, as a byte of the result.
fn counts_of_bytes(word: u64) -> u64 {
    let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
    let halves = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
    (halves + (halves >> 4)) & 0x0f0f_0f0f_0f0f_0f0f
}

fn factorial(n: u32) -> u128 {
    (1..=u128::from(n)).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_of_all_bytes_are_counted_at_once() {
        for word in [0, u64::MAX, 0x0102_0408_1020_4080, 0xfe01_7f03_3f07_1f0f] {
            let counts = word.to_le_bytes().map(|byte| byte.count_ones() as u8);
            assert_eq!(counts_of_bytes(word).to_le_bytes(), counts, "{word:x}");
        }
    }
}
