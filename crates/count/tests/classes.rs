//! Counts by class against a search, against the whole task, and against each class counted alone.

use board::halves::{Class, Diagonal, HalvesPlan, Shares, Slice, Split};
use board::{Method, Prefix, Tasks};
use queens_count::{Backend, ClassKernel, CountError, Kernel, SubtotalKernel, Subtotals};

fn by_class(backend: Backend, n: u32) -> SubtotalKernel {
    SubtotalKernel::new(u64::MAX, backend, n).expect("there is such a kernel")
}

fn of_class(backend: Backend, n: u32, class: Class) -> ClassKernel {
    ClassKernel::new(u64::MAX, backend, n, class).expect("there is such a kernel")
}

fn whole(backend: Backend, n: u32, (task, weight): (Prefix, u8)) -> u64 {
    let mut kernel = Kernel::new(backend, n, Method::Halves).expect("there is such a kernel");
    let mut tasks = Tasks::new();
    tasks.push(task, weight);
    kernel.count(tasks.as_slice()).expect("it is a task")
}

/// `count` tasks from all over a plan, in no order (multiples of an odd number close to its golden section).
fn scattered(n: u32, count: u64) -> Vec<(Prefix, u8)> {
    let plan = HalvesPlan::new(n).expect("the size is in range");
    let stride = (plan.len() as f64 * 0.618) as u64 | 1;
    let mut tasks = Tasks::new();
    for ordinal in (1..=count).map(|i| i * stride % plan.len()) {
        plan.fill(ordinal..ordinal + 1, &mut tasks).expect("the plan has it");
    }
    (0..tasks.len()).map(|i| tasks.get(i)).collect()
}

/// The counts of a task by class, by placing one row after the other and looking at the squares.
fn searched(n: u32, (task, weight): (Prefix, u8)) -> Subtotals {
    let split = Split::unpack(n, task).expect("it is a task");
    let shares = Shares::of(n, split);
    let mut found = [0; Class::COUNT];
    place(n, split, shares, Prefix::EMPTY, &mut Vec::new(), &mut found);
    found.map(|count| count * u64::from(weight))
}

fn place(
    n: u32,
    split: Split,
    shares: Shares,
    prefix: Prefix,
    columns: &mut Vec<u32>,
    found: &mut Subtotals,
) {
    let (row, half) = (columns.len() as u32, n / 2);
    if row == n {
        let number = |rows: Vec<u32>| {
            let looked_at = |row: &u32| shares.columns >> columns[*row as usize] & 1;
            rows.iter().fold(0, |number, row| number << 1 | looked_at(row))
        };
        // From each half's edge inwards.
        let (upper, lower) = (number((0..half).collect()), number((n - half..n).rev().collect()));
        found[class(n, split, columns)] += shares.of_board(upper, lower);
        return;
    }
    let open = match row {
        _ if row < half => split.columns,
        _ if row >= n - half => split.others(n),
        _ => split.centre,
    };
    let free = prefix.free(n) & open;
    for column in (0..n).filter(|column| free >> column & 1 == 1) {
        columns.push(column);
        place(n, split, shares, prefix.place(n, 1 << column), columns, found);
        columns.pop();
    }
}

/// The number of a whole board's class: for each diagonal a digit in base 3.
fn class(n: u32, split: Split, columns: &[u32]) -> usize {
    Diagonal::of_task(n, split).into_iter().fold(0, |number, diagonal| {
        let queens = (0..).zip(columns.iter().map(|column| *column as i32));
        let mut on_it = queens.filter(|(row, column)| match diagonal {
            Diagonal::Difference(difference) => column - row == difference,
            Diagonal::Sum(sum) => column + row == sum,
        });
        let digit = match on_it.next() {
            None => 0,
            Some((row, _)) if row < n as i32 / 2 => 1,
            Some(_) => 2,
        };
        3 * number + digit
    })
}

#[test]
fn every_backend_counts_each_class_like_the_search() {
    let mut classes_with_boards = [false; Class::COUNT];
    for (n, count) in [
        (4, 2),
        (5, 2),
        (6, 3),
        (7, 4),
        (8, 6),
        (9, 9),
        (10, 9),
        (11, 9),
        (12, 6),
        (13, 6),
        (14, 4),
    ] {
        let tasks = scattered(n, count);
        let expected: Vec<Subtotals> = tasks.iter().map(|task| searched(n, *task)).collect();
        let small = |backend: &Backend| n < 13 || *backend != Backend::Reference;
        for backend in Backend::available().filter(small) {
            let mut kernel = by_class(backend, n);
            for (&(task, weight), expected) in tasks.iter().zip(&expected) {
                let found = kernel.count(task, weight);
                assert_eq!(found, Ok(*expected), "{backend}, N = {n}, {task:?}");
            }
            for class in Class::all() {
                let mut kernel = of_class(backend, n, class);
                for (&(task, weight), expected) in tasks.iter().zip(&expected) {
                    let (found, expected) = (kernel.count(task, weight), expected[class.number()]);
                    assert_eq!(found, Ok(expected), "{backend}, N = {n}, {task:?}, {class:?}");
                    classes_with_boards[class.number()] |= expected > 0;
                }
            }
        }
    }
    assert_eq!(classes_with_boards, [true; Class::COUNT], "a class without boards tests nothing");
}

/// Boards large enough for many blocks, samples, quarters of a list, and seven chunks.
#[test]
fn subtotals_add_up_to_the_task_and_each_class_counts_its_own() {
    for (n, count) in [(16, 4), (17, 4), (18, 3), (19, 2), (20, 1), (21, 3), (22, 1)] {
        let tasks = scattered(n, count);
        for backend in Backend::available().filter(|it| *it != Backend::Reference) {
            let mut kernel = by_class(backend, n);
            let mut found: Vec<Subtotals> = Vec::new();
            for &(task, weight) in &tasks {
                let subtotals = kernel.count(task, weight).expect("it is a task");
                let sum = subtotals.iter().sum::<u64>();
                assert_eq!(sum, whole(backend, n, (task, weight)), "{backend}, N = {n}, {task:?}");
                found.push(subtotals);
            }
            assert!(found.iter().flatten().sum::<u64>() > 0, "N = {n}: the tasks have boards");
            // All of a small board's classes, and some of a large one's.
            for class in Class::all().step_by(if n < 20 { 1 } else { 5 }) {
                let mut kernel = of_class(backend, n, class);
                for (&(task, weight), subtotals) in tasks.iter().zip(&found) {
                    let expected = subtotals[class.number()];
                    assert_eq!(kernel.count(task, weight), Ok(expected), "{backend}, N = {n}");
                }
            }
        }
    }
}

/// A task of N = 28 joins slices of its lists; neighbours use one upper list.
#[test]
fn classes_of_slices_add_up_to_those_of_the_split() {
    const N: u32 = 14;
    let (task, weight) = scattered(N, 1)[0];
    let split = Split::unpack(N, task).expect("it is a task");
    for backend in Backend::available().filter(|it| *it != Backend::Reference) {
        let mut by_class = by_class(backend, N);
        let expected = by_class.count(task, weight).expect("it is a task");
        let mut sums = [0; Class::COUNT];
        for upper in Slice::modulo(4) {
            for lower in Slice::modulo(2) {
                let task = Split { upper, lower, ..split }.pack();
                let slice = by_class.count(task, weight).expect("it is a task");
                sums.iter_mut().zip(slice).for_each(|(sum, slice)| *sum += slice);
            }
        }
        assert_eq!(sums, expected, "{backend}");
        for class in [2, 13, 26].map(|number| Class::from_number(number).expect("there are 27")) {
            let mut kernel = of_class(backend, N, class);
            let mut sum = 0;
            for upper in Slice::modulo(4) {
                for lower in Slice::modulo(2) {
                    let task = Split { upper, lower, ..split }.pack();
                    sum += kernel.count(task, weight).expect("it is a task");
                }
            }
            assert_eq!(sum, expected[class.number()], "{backend}, {class:?}");
        }
    }
}

#[test]
fn what_is_no_task_is_refused() {
    let expected = CountError::BadTask { index: 0, problem: "total", n: 9, method: Method::Halves };
    let class = Class::default();
    for backend in Backend::available() {
        let none = Prefix::EMPTY;
        assert_eq!(by_class(backend, 9).count(none, 2), Err(expected));
        assert_eq!(of_class(backend, 9, class).count(none, 2), Err(expected));
    }
    assert!(SubtotalKernel::new(u64::MAX, Backend::Portable, 30).is_err());
    assert!(ClassKernel::new(u64::MAX, Backend::Portable, 3, class).is_err());
}
