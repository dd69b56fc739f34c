//! Compares the `ring` plan with known numbers of tasks, and with all preplacements found square by
//! square.

use std::collections::{HashMap, HashSet};

use queens_board::ring::{Preplacement, suggested_width};
use queens_board::{Method, PlanIndex, Prefix, Task};

use super::filled;

fn plan(n: u32, width: u32) -> PlanIndex {
    super::plan(n, Method::Ring { width })
}

/// Every task of a plan, read back, with its weight.
fn all(n: u32, width: u32) -> Vec<(Preplacement, u8)> {
    let plan = plan(n, width);
    let tasks = filled(&plan, 0..plan.len());
    let read = |&Task { record, weight }: &Task| {
        (Preplacement::unpack(record, n, width).expect("is well-formed"), weight)
    };
    tasks.iter().map(read).collect()
}

/// The boards that are small enough to be examined square by square.
fn small_boards() -> impl Iterator<Item = (u32, u32)> {
    (1..=2).flat_map(|width| (2 * width..=9).map(move |n| (n, width)))
}

/// Queens as (row, column), sorted.
type Queens = Vec<(u32, u32)>;

fn queens(ring: Preplacement, n: u32, width: u32) -> Queens {
    ring.queens(n, width).map(|queen| (queen.row, queen.column)).collect()
}

/// Every way to give each of the outer rows and columns its queen. Each square of a line is tried
/// in turn, unless the line has a queen from an earlier line.
fn placements(n: u32, width: u32) -> Vec<Queens> {
    let outer = (0..width).chain(n - width..n);
    let rows = outer.clone().map(|row| (0..n).map(|column| (row, column)).collect::<Queens>());
    let columns = outer.map(|column| (0..n).map(|row| (row, column)).collect::<Queens>());
    let mut placements = vec![vec![]];
    for line in rows.chain(columns) {
        placements = placements
            .into_iter()
            .flat_map(|queens: Queens| {
                if queens.iter().any(|queen| line.contains(queen)) {
                    return vec![queens];
                }
                let free = |(row, column): &(u32, u32)| {
                    queens.iter().all(|(r, c)| {
                        row != r && column != c && row.abs_diff(*r) != column.abs_diff(*c)
                    })
                };
                line.iter().filter(|s| free(s)).map(|s| [&queens[..], &[*s]].concat()).collect()
            })
            .collect();
    }
    placements.iter_mut().for_each(|queens| queens.sort_unstable());
    placements
}

/// The eight images of some queens.
fn images(n: u32, queens: &Queens) -> [Queens; 8] {
    let mut image = queens.clone();
    std::array::from_fn(|number| {
        for (row, column) in &mut image {
            // Reflections in a diagonal and in the vertical axis alternate, and so give all eight
            // images.
            if number % 2 == 0 {
                std::mem::swap(row, column);
            } else {
                *column = n - 1 - *column;
            }
        }
        image.sort_unstable();
        image.clone()
    })
}

/// The record of some queens that fill the outer rings.
fn record(n: u32, width: u32, queens: &Queens) -> Prefix {
    let in_row = |row| queens.iter().find(|queen| queen.0 == row).expect("has its queen").1;
    let in_column =
        |column| queens.iter().find(|queen| queen.1 == column).expect("has its queen").0;
    let mut record = Prefix::EMPTY;
    for k in 0..width {
        record.left |= in_column(k) << (8 * k);
        record.right |= in_column(n - 1 - k) << (8 * k);
        record.down |= in_row(k) << (8 * k) | in_row(n - 1 - k) << (16 + 8 * k);
    }
    record
}

#[test]
fn each_orbit_is_one_task_of_its_size_as_weight() {
    for (n, width) in small_boards() {
        let mut orbits = HashMap::new();
        for queens in placements(n, width) {
            let least = images(n, &queens).into_iter().min().expect("there are eight");
            *orbits.entry(least).or_insert(0) += 1;
        }
        for (task, weight) in all(n, width) {
            let mut queens = queens(task, n, width);
            queens.sort_unstable();
            let least = images(n, &queens).into_iter().min().expect("there are eight");
            assert_eq!(orbits.remove(&least), Some(weight), "N = {n}, width {width}: {task:?}");
        }
        assert!(orbits.is_empty(), "N = {n}, width {width}: no task of {orbits:?}");
    }
}

#[test]
fn tasks_are_ordered_clockwise_and_the_top_varies_fastest() {
    for (n, width) in small_boards().chain([(12, 1), (12, 2)]) {
        let read_backwards = |side: [u8; 2]| side.map(|at| n as u8 - 1 - at);
        let sides: Vec<[[u8; 2]; 4]> = all(n, width)
            .into_iter()
            .map(|(task, _)| {
                let (bottom, left) = (read_backwards(task.bottom), read_backwards(task.left));
                [task.right, bottom, left, task.top]
            })
            .collect();
        assert!(sides.is_sorted_by(|before, after| before < after), "N = {n}, width {width}");
    }
}

#[test]
fn tasks_are_as_many_as_the_q27_project_counted() {
    for n in 16..=22 {
        assert_eq!(plan(n, 2).len(), vectors::ring_two_tasks(n), "N = {n}");
    }
}

#[test]
fn records_are_read_back_exactly_if_they_are_preplacements() {
    for (n, width) in [(4, 1), (5, 1), (6, 1), (4, 2), (5, 2), (6, 2), (7, 2)] {
        let placements = placements(n, width);
        let records: HashSet<Prefix> = placements.iter().map(|q| record(n, width, q)).collect();
        assert_eq!(records.len(), placements.len());
        for good in &records {
            for (byte, value) in (0..12).flat_map(|byte| (0..=255).map(move |v| (byte, v))) {
                let mut bytes = [good.left, good.down, good.right].map(u32::to_le_bytes);
                bytes.as_flattened_mut()[byte] = value;
                let [left, down, right] = bytes.map(u32::from_le_bytes);
                let altered = Prefix { left, down, right };
                let read = Preplacement::unpack(altered, n, width);
                assert_eq!(read.is_some(), records.contains(&altered), "{altered:?}");
                assert!(read.is_none_or(|ring| ring.pack() == altered), "{altered:?}");
            }
        }
    }
}

#[test]
fn no_record_is_read_for_a_board_without_such_rings() {
    let Task { record, .. } = filled(&plan(4, 2), 0..1)[0];
    assert!(Preplacement::unpack(record, 4, 2).is_some());
    for (n, width) in [(0, 1), (1, 1), (3, 2), (33, 2), (8, 0), (8, 3)] {
        assert!(Preplacement::unpack(record, n, width).is_none(), "N = {n}, width {width}");
    }
}

#[test]
fn the_suggested_width_makes_a_plan_of_the_promised_size() {
    for n in 2..=23 {
        let promised = match n {
            2..=15 => 0..=3_000,
            16..=22 => 3_000..=15_000,
            _ => 300_000_000..=330_000_000,
        };
        let tasks = plan(n, suggested_width(n)).len();
        assert!(promised.contains(&tasks), "N = {n}: {tasks} tasks");
    }
    for n in 24..=32 {
        assert_eq!(suggested_width(n), 2);
    }
}
