//! The section of the text about half-boards and their join.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use board::Method;
use board::squares::{Square, check_queens};
use solve::first_rows;

use super::{Counted, picture};

/// The half-boards with queens in rows 0 to N/2 - 1, by the set of their columns.
type Halves = BTreeMap<u32, Vec<Vec<Square>>>;

pub(super) fn section(n: u32, total: u64) -> anyhow::Result<String> {
    let lower = halves(n);
    let turned_over = |half: &Vec<Square>| -> Vec<Square> {
        half.iter().map(|&Square { column, row }| Square { column, row: n - 1 - row }).collect()
    };
    let fitting = |columns: u32| -> Vec<(&[Square], Vec<Square>)> {
        let others = !columns & board::full_mask(n);
        let lowers = lower.get(&columns).into_iter().flatten();
        let uppers = || lower.get(&others).into_iter().flatten().map(turned_over);
        lowers
            .flat_map(|half| uppers().map(move |upper| (half.as_slice(), upper)))
            .filter(|(half, upper)| check_queens(n, &[half, upper.as_slice()].concat()).is_ok())
            .collect()
    };
    let joined: BTreeMap<u32, usize> =
        lower.keys().map(|&columns| (columns, fitting(columns).len())).collect();
    let sum: usize = joined.values().sum();
    ensure!(sum as u64 == total, "joined halves make {sum}, and there are {total}");
    let tasks = Counted::all(n, Method::Halves)?;
    ensure!(tasks.sum() == total, "halves count {}, and there are {total}", tasks.sum());

    let most = joined.values().copied().max().unwrap_or_default();
    let (&columns, _) = joined.iter().find(|&(_, &found)| found == most).context("no split")?;
    let others = !columns & board::full_mask(n);
    let count = |columns| lower.get(&columns).map_or(0, Vec::len);
    let pairs = fitting(columns);
    let (half, upper) = pairs.first().context("no two halves fit")?;
    Ok(format!(
        "## Two half-boards and their join: the method halves\n\n\
         The queens of the lower {} rows use {} columns, the split, and those of the upper rows use the others. \
         There are {} half-boards with {} splits. An upper half-board is a lower one turned over, so one list \
         is enough for both.\n\n\
         Two halves fit if no diagonal has a queen of each. The split {} has {} lower half-boards and {} upper \
         ones. These two fit:\n\n{}\n\
         Of the {} pairs of this split, {} fit. The sum over all splits is {sum}, and no placement was searched \
         for as a whole. With symmetry removed, {} splits are enough.\n",
        n / 2,
        n / 2,
        lower.values().map(Vec::len).sum::<usize>(),
        lower.len(),
        names(columns),
        count(columns),
        count(others),
        picture(n, [half, upper.as_slice()].concat(), false),
        count(columns) * count(others),
        pairs.len(),
        tasks.tasks.len(),
    ))
}

fn halves(n: u32) -> Halves {
    let mut halves = Halves::new();
    for columns in first_rows(n, n / 2) {
        let set = columns.iter().fold(0, |set, column| set | 1 << column);
        let queens = (0..).zip(columns).map(|(row, column)| Square { column, row }).collect();
        halves.entry(set).or_default().push(queens);
    }
    halves
}

/// The names of columns, as in `a c f`.
fn names(columns: u32) -> String {
    let file = |column| Square { column, row: 0 }.to_string().trim_end_matches('1').to_owned();
    let all = (0..32).filter(|column| columns >> column & 1 == 1).map(file);
    all.collect::<Vec<String>>().join(" ")
}
