//! Compares the tasks of `colours` with the symmetries of the square, and with closed forms.
//!
//! In this file a split is the mask of a record: the rows whose queens stand in even columns.

use std::collections::{BTreeMap, BTreeSet};

use queens_board::colours::{MAX_N, Split, share};
use queens_board::{Method, PlanIndex, Prefix, Task, full_mask, ones};
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};

use super::boards::{Queens, boards, images};
use super::filled;

/// The largest board whose plan is walked as a whole.
const WALKED_MAX_N: u32 = 22;

fn plan(n: u32) -> PlanIndex {
    super::plan(n, Method::Colours)
}

fn walked(n: u32) -> Vec<Task> {
    let plan = plan(n);
    filled(&plan, 0..plan.len())
}

fn unpacked(n: u32, mask: u32) -> Split {
    Split::unpack(n, Prefix { down: mask, ..Prefix::EMPTY }).expect("it is a split")
}

fn ways(from: u32, chosen: u32) -> u64 {
    let [from, chosen] = [from, chosen].map(u64::from);
    (0..chosen).fold(1, |ways, i| ways * (from - i) / (i + 1))
}

/// Every split of a board.
fn splits(n: u32) -> impl Iterator<Item = u32> {
    (0..=full_mask(n)).filter(move |mask| mask.count_ones() == n.div_ceil(2))
}

/// Random splits of a board, each with `k` even rows, for every `k` that there is.
fn drawn_splits(n: u32, random: &mut StdRng) -> Vec<u32> {
    let lines = |first: u32| (first..n).step_by(2).map(|line| 1_u32 << line).collect::<Vec<_>>();
    let [mut even, mut odd] = [lines(0), lines(1)];
    let mut drawn = Vec::new();
    for k in 0..=even.len() {
        // A split has as many rows as there are even columns.
        let white_odd = even.len() - k;
        if white_odd <= odd.len() {
            even.shuffle(random);
            odd.shuffle(random);
            drawn.push(even[..k].iter().chain(&odd[..white_odd]).sum());
        }
    }
    drawn
}

fn reversed(n: u32, mask: u32) -> u32 {
    (0..n).filter(|line| mask >> line & 1 == 1).map(|line| 1 << (n - 1 - line)).sum()
}

/// The splits of a board with this split and of its images under the symmetries that take rows to
/// rows.
fn class(n: u32, split: u32) -> BTreeSet<u32> {
    let other = reversed(n, split);
    let complements = [split, other].map(|mask| !mask & full_mask(n));
    let columns_keep_their_parity = n % 2 == 1;
    let others = complements.into_iter().filter(|_| !columns_keep_their_parity);
    [split, other].into_iter().chain(others).collect()
}

/// The rows whose queens stand in even columns.
fn split_of(queens: &Queens) -> u32 {
    queens.iter().zip(0..).filter(|(column, _)| *column % 2 == 0).map(|(_, row)| 1 << row).sum()
}

/// The columns whose queens stand in even rows.
fn transposed_split_of(queens: &Queens) -> u32 {
    queens.iter().step_by(2).map(|column| 1 << column).sum()
}

/// How often the images of a board are counted by all tasks. `weight` is that of the task with a
/// split, if there is one.
fn times_counted(queens: &Queens, weight: impl Fn(u32) -> Option<u8>) -> u32 {
    let n = queens.len() as u32;
    let of_image = |image: Queens| {
        let Some(weight) = weight(split_of(&image)) else { return 0 };
        let class = unpacked(n, split_of(&image)).class(n);
        u32::from(weight) * share(n, class, unpacked(n, transposed_split_of(&image)))
    };
    images(queens).into_iter().map(of_image).sum()
}

#[test]
fn a_split_says_which_lines_hold_black_queens() {
    for n in 4..=10 {
        for queens in boards(n) {
            let [black_even, black_odd] = [0, 1].map(|parity: u32| {
                let rows = queens.iter().zip(0..).skip(parity as usize).step_by(2);
                rows.filter(|(column, _)| *column % 2 == parity)
                    .map(|(_, row)| 1 << (row / 2))
                    .sum::<u32>()
            });
            let split = unpacked(n, split_of(&queens));
            assert_eq!(split, Split { even: black_even, odd: black_odd }, "{queens:?}");
        }
    }
}

#[test]
fn every_split_is_read_back_from_its_record() {
    for n in 4..=12 {
        for mask in splits(n) {
            let record = Prefix { down: mask, ..Prefix::EMPTY };
            assert_eq!(unpacked(n, mask).pack(n), record, "N = {n}");
        }
    }
}

#[test]
fn reflections_of_a_board_reverse_or_complement_its_splits() {
    for n in 4..=10 {
        for queens in boards(n) {
            let of = |queens: &Queens| {
                [split_of(queens), transposed_split_of(queens)].map(|mask| unpacked(n, mask))
            };
            let [rows, columns] = of(&queens);
            let other_rows = of(&queens.iter().rev().copied().collect());
            let other_columns = of(&queens.iter().map(|column| n - 1 - column).collect());
            let complement = |split: Split| if n % 2 == 0 { split.complement(n) } else { split };
            assert_eq!(other_rows, [rows.reversed(n), complement(columns)], "{queens:?}");
            assert_eq!(other_columns, [complement(rows), columns.reversed(n)], "{queens:?}");
        }
    }
}

#[test]
fn every_split_has_one_image_in_the_plan_whose_weight_is_the_number_of_images() {
    for n in 4..=14 {
        let tasks = walked(n);
        let weights: BTreeMap<u32, u8> =
            tasks.iter().map(|task| (task.record.down, task.weight)).collect();
        assert_eq!(weights.len(), tasks.len(), "N = {n}: no task is there twice");
        for split in splits(n) {
            let class = class(n, split);
            let weights: Vec<u8> = class.iter().filter_map(|it| weights.get(it).copied()).collect();
            assert_eq!(weights, [class.len() as u8], "N = {n}: {split:b}");
        }
    }
}

/// The sort key of a task: the number of odd rows with a black queen, these rows, and the even
/// ones. For even N the even rows are read from the other end.
fn place_in_order(n: u32, split: u32) -> (u32, u32, u32) {
    let Split { even, odd } = unpacked(n, split);
    (odd.count_ones(), odd, if n.is_multiple_of(2) { reversed(n / 2, even) } else { even })
}

#[test]
fn tasks_are_in_order_and_their_weights_add_up_to_the_number_of_splits() {
    for n in 4..=WALKED_MAX_N {
        let tasks = walked(n);
        let in_order = tasks.is_sorted_by(|a, b| {
            place_in_order(n, a.record.down) < place_in_order(n, b.record.down)
        });
        assert!(in_order, "N = {n}");
        let sum: u64 = tasks.iter().map(|task| u64::from(task.weight)).sum();
        assert_eq!(sum, ways(n, n.div_ceil(2)), "N = {n}");
    }
}

#[test]
fn the_lesser_of_two_classes_counts_their_boards() {
    for n in 4..=10 {
        let place = |split| {
            let Split { even, odd } = unpacked(n, split);
            (even.count_ones(), odd, even)
        };
        // The task of a class is its least split.
        let tasks: Vec<u32> = walked(n).iter().map(|task| task.record.down).collect();
        for &task in &tasks {
            let class = class(n, task);
            assert!(class.iter().all(|&image| place(task) <= place(image)), "N = {n}: {task:b}");
            for &other in &tasks {
                let share = share(n, unpacked(n, task).class(n), unpacked(n, other));
                assert_eq!(share > 0, place(task) <= place(other), "N = {n}: {task:b}, {other:b}");
            }
        }
    }
}

/// The ordinal of a split in a plan that is in order, if it is one of its tasks.
fn ordinal(plan: &PlanIndex, n: u32, split: u32) -> Option<u64> {
    let split_at = |ordinal: u64| filled(plan, ordinal..ordinal + 1)[0].record.down;
    let (mut least, mut end) = (0, plan.len());
    while least < end {
        let middle = u64::midpoint(least, end);
        if place_in_order(n, split_at(middle)) < place_in_order(n, split) {
            least = middle + 1;
        } else {
            end = middle;
        }
    }
    (least < plan.len() && split_at(least) == split).then_some(least)
}

#[test]
fn drawn_splits_of_every_board_have_one_image_in_the_plan() {
    let mut random = StdRng::seed_from_u64(0x5eed);
    for n in 4..=MAX_N {
        let plan = plan(n);
        for split in (0..20).flat_map(|_| drawn_splits(n, &mut random)) {
            let class = class(n, split);
            let in_plan: Vec<(u32, u64)> = class
                .iter()
                .filter_map(|&image| Some((image, ordinal(&plan, n, image)?)))
                .collect();
            let [(task, ordinal)] = in_plan[..] else {
                panic!("N = {n}: {split:b} has {} images in the plan", in_plan.len())
            };
            let weight = filled(&plan, ordinal..ordinal + 1)[0].weight;
            assert_eq!(usize::from(weight), class.len(), "N = {n}: {split:b}");
            for image in class {
                assert_eq!(unpacked(n, image).is_canonical(n), image == task, "N = {n}: {split:b}");
                assert_eq!(unpacked(n, image).weight(n), weight, "N = {n}: {split:b}");
                assert_eq!(unpacked(n, image).class(n), unpacked(n, split).class(n), "N = {n}");
            }
        }
    }
}

/// The number of classes of splits, derived from symmetry alone.
fn classes(n: u32) -> u64 {
    let (pairs, all) = (n / 2, ways(n, n.div_ceil(2)));
    // The number follows from Burnside's lemma. A split that is its own reverse has both lines of a
    // pair or none.
    let in_pairs = n.div_ceil(2) / 2;
    let palindromes = if n % 4 == 2 { 0 } else { ways(pairs, in_pairs) };
    if n % 2 == 1 {
        return (all + palindromes) / 2;
    }
    // No split is its own complement. A split that is the complement of its reverse has one line of
    // each pair.
    (all + palindromes + (1 << pairs)) / 4
}

#[test]
fn there_are_as_many_tasks_as_classes_of_splits() {
    for n in 4..=MAX_N {
        assert_eq!(plan(n).len(), classes(n), "N = {n}");
    }
}

#[test]
fn tasks_with_the_same_odd_rows_are_neighbours() {
    for n in 4..=18 {
        let odd_rows: Vec<u32> =
            walked(n).iter().map(|task| unpacked(n, task.record.down).odd).collect();
        let different: BTreeSet<u32> = odd_rows.iter().copied().collect();
        assert_eq!(odd_rows.chunk_by(|a, b| a == b).count(), different.len(), "N = {n}");
    }
}

#[test]
fn the_images_of_every_board_count_eight_times() {
    for n in 4..=11 {
        let weights: BTreeMap<u32, u8> =
            walked(n).iter().map(|task| (task.record.down, task.weight)).collect();
        for queens in boards(n) {
            let times = times_counted(&queens, |split| weights.get(&split).copied());
            assert_eq!(times, 8, "N = {n}: {queens:?}");
        }
    }
}

/// A search for a random placement of queens.
#[derive(Clone)]
struct Search {
    /// The free columns of each row.
    free: Vec<u32>,
    queens: Queens,
    /// Whether the half turn maps the placement to itself.
    is_central: bool,
}

impl Search {
    /// Stands for the column of a row that has no queen yet.
    const OPEN: u32 = u32::MAX;

    /// Searches among placements whose queens stand in these columns of each row.
    fn new(mut free: Vec<u32>, is_central: bool) -> Search {
        let n = free.len();
        if is_central && n % 2 == 1 {
            free[n / 2] &= 1 << (n / 2);
        }
        Search { queens: vec![Search::OPEN; n], free, is_central }
    }

    fn add(&mut self, row: usize, column: u32) {
        self.queens[row] = column;
        for (other, free) in self.free.iter_mut().enumerate() {
            let (bit, distance) = (1_u64 << column, other.abs_diff(row));
            *free &= !(bit | bit << distance | bit >> distance) as u32;
        }
    }

    /// A placement, if one is found before this number of queens was placed.
    fn find(self, random: &mut StdRng, queens: &mut u32) -> Option<Queens> {
        let open = (0..self.free.len()).filter(|&row| self.queens[row] == Search::OPEN);
        let Some(row) = open.min_by_key(|&row| self.free[row].count_ones()) else {
            return Some(self.queens);
        };
        let mut columns: Vec<u32> = ones(self.free[row].into()).collect();
        columns.shuffle(random);
        let last = self.free.len() - 1;
        for column in columns {
            *queens = queens.checked_sub(1)?;
            let mut next = self.clone();
            next.add(row, column);
            let (row, column) =
                if self.is_central { (last - row, last as u32 - column) } else { (row, column) };
            if next.queens[row] != column {
                if next.free[row] >> column & 1 == 0 {
                    continue;
                }
                next.add(row, column);
            }
            if let Some(found) = next.find(random, queens) {
                return Some(found);
            }
        }
        None
    }
}

/// The columns of each row that the queens of a board with these splits may take.
fn columns_of_splits(n: u32, split: u32, transposed: u32) -> Vec<u32> {
    const EVEN: u32 = 0x5555_5555;
    let columns = |row: u32| {
        let even_or_odd = if split >> row & 1 == 1 { EVEN } else { !EVEN };
        even_or_odd & if row.is_multiple_of(2) { transposed } else { !transposed } & full_mask(n)
    };
    (0..n).map(columns).collect()
}

#[test]
fn the_images_of_random_boards_count_eight_times() {
    let mut random = StdRng::seed_from_u64(0x8888);
    for n in 12..=MAX_N {
        let mut of = |count: usize, is_central: bool, columns: &dyn Fn(&mut StdRng) -> Vec<u32>| {
            let find =
                |_| Search::new(columns(&mut random), is_central).find(&mut random, &mut 500);
            (0..count).filter_map(find).collect::<Vec<Queens>>()
        };
        let any = |_: &mut StdRng| vec![full_mask(n); n as usize];
        let in_one_class = |random: &mut StdRng| {
            let mut lines: Vec<u32> = (0..n).collect();
            lines.shuffle(random);
            let split = lines[..n.div_ceil(2) as usize].iter().map(|line| 1 << line).sum();
            let images = Vec::from_iter(class(n, split));
            columns_of_splits(n, split, images[random.random_range(0..images.len())])
        };
        let found =
            [of(2000, false, &any), of(200, true, &any), of(400, false, &in_one_class)].concat();

        let turned = |queens: &Queens| -> Queens {
            queens.iter().rev().map(|column| n - 1 - column).collect()
        };
        let is_tie =
            |queens: &Queens| class(n, split_of(queens)).contains(&transposed_split_of(queens));
        for queens in &found {
            let weight = |split| {
                let split = unpacked(n, split);
                split.is_canonical(n).then(|| split.weight(n))
            };
            assert_eq!(times_counted(queens, weight), 8, "N = {n}: {queens:?}");
        }
        let central = found.iter().filter(|queens| turned(queens) == **queens).count();
        let ties = found.iter().filter(|queens| is_tie(queens)).count();
        assert!(found.len() > 1500, "N = {n}: {}", found.len());
        assert!(central > 10 && ties > 10, "N = {n}: {central}, {ties}");
    }
}
