//! The section of the text about queens on black and on white squares, and their product.
//!
//! Its tables are those of a board of size 6, the largest whose tables fit on a page. They are made
//! by a plain search for the placements of each colour, and are compared with the tasks and the
//! counts of the method.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, ensure};
use board::colours::{Split, even_lines, odd_lines, sets, share};
use board::squares::{Square, check_queens};
use board::{Method, bits, full_mask};

use super::CountedTasks;

/// The size of the board in tables and pictures.
pub(super) const N: u32 = 6;

/// The number of even rows with a black queen for which the tables are shown.
const SHOWN: u32 = 1;

/// The placements of queens of one colour, by the sets of their rows and of their columns.
type Placements = BTreeMap<(u32, u32), Vec<Vec<Square>>>;

/// The placements of both colours on boards whose splits have equally many black queens.
struct Tables {
    splits: Vec<Split>,
    /// B and W: for each split of rows, and in it for each split of columns, the number of
    /// placements.
    black: Vec<Vec<usize>>,
    white: Vec<Vec<usize>>,
}

/// The section on a page about boards of size `n`.
pub(super) fn section(n: u32) -> anyhow::Result<String> {
    let found = [placements(0), placements(1)];
    let all: Vec<Tables> = (0..=odd_lines(N)).map(|k| Tables::new(k, &found)).collect();
    let shown = &all[SHOWN as usize];
    let tasks = CountedTasks::all(N, Method::Colours)?;
    let total: usize = all.iter().map(Tables::boards).sum();
    ensure!(total as u64 == tasks.sum(), "products make {total}, and tasks {}", tasks.sum());
    let (row, column) = shown.first_board().context("no board has as many black queens")?;
    let [rows, columns] = [shown.splits[row], shown.splits[column]];
    let [black, white] = [true, false].map(|is_black| {
        let lines = [rows, columns].map(|split| lines(split, is_black));
        found[usize::from(!is_black)][&lines.into()][0].clone()
    });
    check_queens(N, &[&black[..], &white[..]].concat())?;

    let mut section = format!(
        "A diagonal has squares of one colour only. So a queen on a black square and a queen on a white square share \
         no diagonal: they meet only in rows and columns. This is a board of {N} x {N}, whose tables fit on a page. a1 \
         is black.\n\n{}\n\
         The split S of a board is the set of rows whose queens stand in columns a, c, e. It says of each row whether \
         its queen stands on black or on white: in rows 1, 3, 5 the queen is black if S has the row, and in rows 2, 4, \
         6 it is black if S lacks the row. The split S2 is the set of columns whose queens stand in rows 1, 3, 5, and \
         says the same of each column. Here S is rows {} and S2 is columns {}, so black queens stand in rows {} and \
         in columns {}. (The program numbers rows and columns from 0, and calls rows 1, 3, 5 and columns a, c, e \
         even.)\n\n\
         Once S and S2 are given, each colour has rows and columns of its own, and no queen hinders one of the other \
         colour. So the boards with these splits are the placements of the black queens times those of \
         the white queens:\n\n\
         ```text\n\
         Q(N) = sum over all S and S2 of B(S, S2) x W(S, S2)\n\
         ```\n\n",
        pictures(&black, &white),
        names(rows.pack(N).down, row_name, " "),
        names(columns.pack(N).down, column_name, " "),
        names(lines(rows, true), row_name, " "),
        names(lines(columns, true), column_name, " "),
    );
    section += &format!(
        "These are B and W for {} black and {} white queens. The rows and the columns of black queens name a split. A \
         point is 0.\n\n{}\n\
         At rows {} and columns {}, B is {} and W is {}: this is the board above. The products come to {}. The splits \
         with other numbers of black queens have tables of their own:\n\n{}\n",
        black.len(),
        white.len(),
        shown.text(),
        names(lines(rows, true), row_name, " "),
        names(lines(columns, true), column_name, " "),
        shown.black[row][column],
        shown.white[row][column],
        shown.boards(),
        sums(&all),
    );
    section += &task_text(shown, row, &tasks)?;
    let looked_at: usize = all.iter().map(Tables::placements).sum();
    section += &format!(
        "No board is visited: the placements of both colours are searched for apart, and a product stands for all of \
         their pairs. This small board has {looked_at} placements of one colour for {total} boards, but the number of \
         boards grows faster. At N = 20 the kernel looks at 0.18 placements for each board of the total, at N = 24 at \
         0.034, and at N = 28 at 0.005. It uses its cells again for the next sets of columns, so a thread takes some MB \
         at every N. docs/COLOURS.md has the proofs. No source is known: this project found the method in 2026. `queens count` takes it \
         from N = 15 on, where it is the fastest.\n\n"
    );
    if n != N {
        let tasks = CountedTasks::all(n, Method::Colours)?;
        section += &format!(
            "A board of {n} x {n} has {} tasks, and these come to {}.\n\n",
            tasks.tasks.len(),
            tasks.sum()
        );
    }
    Ok(section)
}

/// What a task is, and how the kernel counts the task whose split is in the given row of the
/// tables.
fn task_text(tables: &Tables, row: usize, tasks: &CountedTasks) -> anyhow::Result<String> {
    let split = tables.splits[row];
    let record = split.pack(N);
    let ordinal = tasks.tasks.iter().position(|task| task.record == record);
    let ordinal = ordinal.context("the first split with a board is no task")?;
    let (weight, count) = (tasks.tasks[ordinal].weight, tasks.counts[ordinal]);
    let shares = tables.splits.iter().map(|&columns| share(N, split.class(N), columns) as usize);
    let cells = &tables.black[row];
    let shared: Vec<usize> = cells.iter().zip(shares).map(|(cell, share)| cell * share).collect();
    let white = &tables.white[row];
    let sum: usize = shared.iter().zip(white).map(|(cell, found)| cell * found).sum();
    ensure!(sum as u64 * u64::from(weight) == count, "cells make {sum}, and the kernel {count}");

    let in_groups = |words: Vec<String>| {
        let groups = words.chunks(tables.splits.len() / sets(odd_lines(N), SHOWN).len());
        groups.map(|group| group.join(" ")).collect::<Vec<_>>().join(" | ")
    };
    let numbers = |numbers: &[usize]| in_groups(numbers.iter().map(number).collect());
    let split_count = sets(N, even_lines(N)).len();
    Ok(format!(
        "A task is one split S with all S2, which is one line of such tables. Boards with their rows or columns in \
         reverse order have splits that are images of S: up to four splits, or up to two for odd N. All of them have \
         equally many boards, so one of them is the task, and their number is its weight. The {split_count} splits of \
         this board make {} tasks.\n\n\
         Transposing the board exchanges S and S2. So the boards with (S, S2) and those with (S2, S) are equally many, \
         and it is enough to count one of both. Its boards have the share 2, and those of the other have the share 0. \
         Where S2 is an image of S, the share is 1. For odd N, reversing the columns changes S2 alone, so a share may \
         also be 4.\n\n\
         The kernel has a row of cells for each set of black queens' columns among b, d, f. In a row there is one cell \
         for each set of their columns among a, c, e. The colour with fewer queens is counted first, which keeps cells \
         small. This is the task with black queens in rows {}:\n\n\
         ```text\n\
         columns of black queens                {}\n\
         1  count  each black placement adds 1  {}\n\
         2  share  each cell times its share    {}\n\
         3  sum    white placements             {}\n\
         ```\n\n\
         In step 3, each white placement adds to the sum the cell that its columns leave to black. Here the sum is {sum}. Times the \
         weight {weight} it is {count}.\n\n",
        tasks.tasks.len(),
        names(lines(split, true), row_name, " "),
        in_groups(tables.column_names()),
        numbers(cells),
        numbers(&shared),
        numbers(white),
    ))
}

impl Tables {
    /// The tables of all splits with `k` even lines of black queens.
    fn new(k: u32, [black, white]: &[Placements; 2]) -> Tables {
        let evens = sets(even_lines(N), k);
        let splits: Vec<Split> = sets(odd_lines(N), k)
            .into_iter()
            .flat_map(|odd| evens.iter().map(move |&even| (even, odd)))
            .map(|(even, odd)| Split { even: even.into(), odd: odd.into() })
            .collect();
        let table = |found: &Placements, is_black| -> Vec<Vec<usize>> {
            let count = |rows, columns| {
                let lines = [rows, columns].map(|split| lines(split, is_black));
                found.get(&lines.into()).map_or(0, Vec::len)
            };
            let row = |&rows| splits.iter().map(|&columns| count(rows, columns)).collect();
            splits.iter().map(row).collect()
        };
        let (black, white) = (table(black, true), table(white, false));
        Tables { splits, black, white }
    }

    /// The products of both tables, line by line.
    fn products(&self) -> impl Iterator<Item = usize> {
        let pairs = self.black.iter().flatten().zip(self.white.iter().flatten());
        pairs.map(|(black, white)| black * white)
    }

    fn boards(&self) -> usize {
        self.products().sum()
    }

    fn placements(&self) -> usize {
        self.black.iter().chain(&self.white).flatten().sum()
    }

    /// The place of the first pair of splits that has a board.
    fn first_board(&self) -> Option<(usize, usize)> {
        let place = self.products().position(|boards| boards > 0)?;
        Some((place / self.splits.len(), place % self.splits.len()))
    }

    fn column_names(&self) -> Vec<String> {
        self.splits.iter().map(|&split| names(lines(split, true), column_name, "")).collect()
    }

    /// Both tables in a block of its own, beside each other.
    fn text(&self) -> String {
        let columns = self.column_names().join(" ");
        let mut text = format!("```text\nB   {columns}     W   {columns}\n");
        for ((&split, black), white) in self.splits.iter().zip(&self.black).zip(&self.white) {
            let [black, white] = [black, white]
                .map(|numbers| numbers.iter().map(number).collect::<Vec<_>>().join(" "));
            let rows = names(lines(split, true), row_name, "");
            let _ = writeln!(text, "{rows}  {black}     {rows}  {white}");
        }
        text + "```\n"
    }
}

/// The sums of all tables, as a table.
fn sums(all: &[Tables]) -> String {
    let mut text =
        "| black queens | splits S | sum of B | sum of W | sum of B x W |\n|---|---|---|---|---|\n"
            .to_owned();
    let sum = |table: &[Vec<usize>]| table.iter().flatten().sum::<usize>();
    let mut rows: Vec<(String, [usize; 4])> = (0..)
        .map(|k: usize| (2 * k).to_string())
        .zip(all)
        .map(|(name, it)| (name, [it.splits.len(), sum(&it.black), sum(&it.white), it.boards()]))
        .collect();
    let column = |place: usize| rows.iter().map(|(_, numbers)| numbers[place]).sum();
    rows.push(("all".to_owned(), [0, 1, 2, 3].map(column)));
    for (name, [splits, black, white, boards]) in rows {
        let _ = writeln!(text, "| {name} | {splits} | {black} | {white} | {boards} |");
    }
    text
}

/// The placements of any number of queens on squares where row + column is even, or odd.
fn placements(parity: u32) -> Placements {
    fn place(parity: u32, row: u32, queens: &mut Vec<Square>, found: &mut Placements) {
        if row == N {
            let set =
                |line: fn(&Square) -> u32| queens.iter().fold(0, |set, it| set | 1 << line(it));
            let lines = (set(|queen| queen.row), set(|queen| queen.column));
            found.entry(lines).or_default().push(queens.clone());
            return;
        }
        place(parity, row + 1, queens, found);
        for column in (0..N).filter(|column| (row + column) % 2 == parity) {
            queens.push(Square { column, row });
            if check_queens(N, queens).is_ok() {
                place(parity, row + 1, queens, found);
            }
            queens.pop();
        }
    }
    let mut found = Placements::new();
    place(parity, 0, &mut Vec::new(), &mut found);
    found
}

/// The lines of the board that hold queens of one colour.
fn lines(split: Split, is_black: bool) -> u32 {
    let holds_black = |line: u32| match line.is_multiple_of(2) {
        true => split.even >> (line / 2) & 1 == 1,
        false => split.odd >> (line / 2) & 1 == 1,
    };
    (0..N).filter(|&line| holds_black(line) == is_black).fold(0, |set, line| set | 1 << line)
}

/// The board, and the queens of each colour apart, with the squares of this colour.
fn pictures(black: &[Square], white: &[Square]) -> String {
    let row_of = |row: u32, has_square: &dyn Fn(u32) -> bool, queens: &[&[Square]]| {
        let square = |column| {
            let is_queen = queens.iter().any(|queens| queens.contains(&Square { column, row }));
            if is_queen {
                "Q"
            } else if has_square(column) {
                "."
            } else {
                " "
            }
        };
        format!("{} {}", row + 1, (0..N).map(square).collect::<Vec<_>>().join(" "))
    };
    let mut text = "```text\n  all queens       on black squares on white squares\n".to_owned();
    for row in (0..N).rev() {
        let boards = [
            row_of(row, &|_| true, &[black, white]),
            row_of(row, &|column| (row + column) % 2 == 0, &[black]),
            row_of(row, &|column| (row + column) % 2 == 1, &[white]),
        ];
        text += &format!("{}\n", boards.join("    ").trim_end());
    }
    let columns = format!("  {}", names(full_mask(N), column_name, " "));
    text + &format!("{}\n```\n", [columns.as_str(); 3].join("    "))
}

fn names(lines: u32, name: fn(u32) -> String, between: &str) -> String {
    bits(lines).map(|bit| name(bit.trailing_zeros())).collect::<Vec<_>>().join(between)
}

fn row_name(row: u32) -> String {
    (row + 1).to_string()
}

fn column_name(column: u32) -> String {
    Square { column, row: 0 }.to_string().trim_end_matches('1').to_owned()
}

/// A number of a table, as wide as the two letters that name a split of columns.
fn number(number: &usize) -> String {
    if *number == 0 { " .".to_owned() } else { format!("{number:>2}") }
}
