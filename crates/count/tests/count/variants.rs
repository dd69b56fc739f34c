//! Tests that every variant counts every task like the reference, one by one and together.

use board::squares::parse_squares;
use board::{Given, Method, PlanIndex, Prefix, Problem, Square, Task, full_mask};
use queens_count::{Backend, CountError, Kernel, KernelError, MissingBackend, Variant};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

const REFERENCE: Variant = Variant::Straight(Backend::Reference);
const PORTABLE: Variant = Variant::Straight(Backend::Portable);

fn variants() -> impl Iterator<Item = Variant> {
    Backend::available()
        .flat_map(|backend| [Variant::Straight(backend), Variant::Mirrored(backend)])
}

fn kernel(variant: impl Into<Variant>, problem: Problem, method: Method) -> Kernel {
    Kernel::new(variant, problem, method).expect("there is such a kernel")
}

fn completions(n: u32, queens: &str) -> Problem {
    let queens = parse_squares(queens).expect("they are squares");
    Problem::Completions(Given::new(n, &queens).expect("they stand so"))
}

/// A board of 64 rows with ten open ones.
fn largest() -> Problem {
    // The queens are a knight's move apart, in two strands.
    let column = |row: u32| if row < 32 { 2 * row + 1 } else { 2 * (row - 32) };
    let queens = (0..64).map(|row| Square { column: column(row), row });
    let given: Vec<Square> = queens.filter(|queen| queen.row % 6 != 5).collect();
    Problem::Completions(Given::new(64, &given).expect("they stand so"))
}

fn each(kernel: &mut Kernel, tasks: &[Task]) -> Vec<u64> {
    let mut counts = Vec::new();
    kernel.count_each(tasks, |count| counts.push(count)).expect("tasks are good");
    counts
}

fn plan_index(problem: Problem, method: Method) -> PlanIndex {
    PlanIndex::new(problem, method).expect("it is cut so")
}

/// Compares all variants with `oracle`, which counts each task by itself, and returns these counts.
fn agree(problem: Problem, method: Method, oracle: Variant, tasks: &[Task]) -> Vec<u64> {
    let expected = {
        let mut oracle = kernel(oracle, problem, method);
        let count = |task: &[Task]| oracle.count(task).expect("the task is good");
        tasks.chunks(1).map(count).collect::<Vec<u64>>()
    };
    for variant in variants() {
        if variant != oracle && slow(variant) && !slow(oracle) {
            continue;
        }
        let mut kernel = kernel(variant, problem, method);
        assert_eq!(each(&mut kernel, tasks), expected, "{problem} by {method}, {variant}");
        assert_eq!(
            kernel.count(tasks),
            Ok(expected.iter().sum()),
            "{problem} by {method}, {variant}"
        );
    }
    expected
}

fn slow(variant: Variant) -> bool {
    [REFERENCE, Variant::Mirrored(Backend::Reference)].contains(&variant)
}

#[test]
fn variants_agree_on_every_task_of_small_boards() {
    let mut cuts = Vec::new();
    for problem in (0..=9).map(|n| Problem::Total { n }) {
        let n = problem.n();
        cuts.extend((0..=n).map(|rows| (problem, Method::Rows { rows })));
        cuts.extend([0, 3, 7].map(|rows| (problem, Method::Prefixes { rows: rows.min(n) })));
        cuts.push((problem, Method::Colours));
    }
    // Vector backends search thousands of tasks at once. The largest of these plans have more
    // tasks.
    for (n, rows) in (10..=13).map(|n| (n, Method::Rows { rows: n / 2 })) {
        let methods = [rows, Method::Colours];
        cuts.extend(methods.map(|method| (Problem::Total { n }, method)));
    }
    cuts.push((Problem::Total { n: 14 }, Method::Colours));
    let others = [
        Problem::Toroidal { n: 11 },
        Problem::Superqueens { n: 10 },
        largest(),
        completions(0, ""),
        completions(4, "a1"),
        completions(4, "b1,d2,a3,c4"),
        completions(8, ""),
        completions(8, "b4,d5"),
        completions(9, "a2,h7"),
    ];
    let small = (0..=9).flat_map(|n| [Problem::Toroidal { n }, Problem::Superqueens { n }]);
    for problem in others.into_iter().chain(small) {
        cuts.extend((0..=3).map(|rows| (problem, Method::Rows { rows })));
    }
    for (problem, method) in cuts.into_iter().filter(|(problem, method)| method.cuts(*problem)) {
        let index = plan_index(problem, method);
        let tasks = index.tasks(0..index.len()).expect("the plan has the range");
        let is_large = matches!(problem, Problem::Total { n: 12.. });
        let oracle = if is_large && method != Method::Colours { PORTABLE } else { REFERENCE };
        let counts = agree(problem, method, oracle, &tasks);
        if let Problem::Total { n } = problem {
            let sum = counts.iter().map(|count| u128::from(*count)).sum::<u128>();
            assert_eq!(sum, testkit::vectors::total(n), "N = {n} by {method}");
        }
    }
}

#[test]
fn variants_agree_on_random_tasks_of_larger_boards() {
    let total = |n| Problem::Total { n };
    let mut random = StdRng::seed_from_u64(0xc4ec);
    for (problem, method, count) in [
        (total(12), Method::Rows { rows: 2 }, 20),
        (total(15), Method::Rows { rows: 4 }, 60),
        (total(18), Method::Rows { rows: 6 }, 20),
        (total(20), Method::Rows { rows: 6 }, 5),
        (total(14), Method::Colours, 30),
        (total(15), Method::Colours, 20),
        (total(16), Method::Colours, 15),
        (total(17), Method::Colours, 6),
        (total(18), Method::Colours, 3),
        (total(19), Method::Colours, 1),
        (Problem::Toroidal { n: 17 }, Method::Rows { rows: 3 }, 60),
        (Problem::Superqueens { n: 14 }, Method::Rows { rows: 4 }, 60),
        (completions(14, "c3,h6"), Method::Rows { rows: 3 }, 60),
    ] {
        let index = plan_index(problem, method);
        let mut tasks = Vec::new();
        // The tasks include neighbours, which are searched together.
        for _ in 0..count {
            let start = random.random_range(0..index.len());
            let end = index.len().min(start + random.random_range(1..4));
            tasks.extend(index.tasks(start..end).expect("the plan has the range"));
        }
        let oracle = if method == Method::Colours { REFERENCE } else { PORTABLE };
        let counts = agree(problem, method, oracle, &tasks);
        assert!(counts.iter().sum::<u64>() > 0, "{problem} by {method}: nothing is compared");
    }
}

/// Tasks from all over a plan, in no order. Their ordinals are the multiples of an odd number that
/// is close to the golden section of the plan.
fn scattered(n: u32, method: Method, count: u64) -> Vec<Task> {
    let index = plan_index(Problem::Total { n }, method);
    let stride = (index.len() as f64 * 0.618) as u64 | 1;
    let ordinals = (1..=count).map(|i| i * stride % index.len());
    ordinals.flat_map(|at| index.tasks(at..at + 1).expect("the plan has the range")).collect()
}

/// Compares all backends but the reference on one task of a large board.
fn fast_backends_agree(n: u32, method: Method) {
    let tasks = scattered(n, method, 1);
    let fast = Backend::available().filter(|backend| *backend != Backend::Reference);
    let count = |backend| {
        let mut kernel = kernel(backend, Problem::Total { n }, method);
        kernel.count(&tasks).expect("is a task")
    };
    let counts: Vec<u64> = fast.map(count).collect();
    assert!(counts[0] > 0 && counts.iter().all(|count| *count == counts[0]), "{counts:?}");
}

#[test]
#[ignore = "takes a quarter of a minute: CI runs it"]
fn backends_agree_on_boards_whose_cells_are_wide() {
    for n in [23, 24, 25] {
        fast_backends_agree(n, Method::Colours);
    }
}

#[test]
#[ignore = "takes a minute: CI runs it"]
fn variants_agree_on_tasks_of_colours_from_all_over_large_plans() {
    for (n, count) in [(19, 10), (20, 10), (21, 3), (22, 2)] {
        let tasks = scattered(n, Method::Colours, count);
        let counts = agree(Problem::Total { n }, Method::Colours, REFERENCE, &tasks);
        assert!(counts.iter().sum::<u64>() > 0, "N = {n}: nothing is compared");
    }
}

#[test]
fn splits_outside_of_the_plan_count_like_the_reference() {
    for n in [4_u32, 5, 8, 9, 12] {
        let splits = (0..1_u32 << n).filter(|split| split.count_ones() == n.div_ceil(2));
        let records = splits.map(|down| Prefix { down, ..Prefix::EMPTY });
        let tasks: Vec<Task> = records.map(|record| Task { record, weight: 1 }).collect();
        agree(Problem::Total { n }, Method::Colours, REFERENCE, &tasks);
    }
}

#[test]
fn every_variant_refuses_a_bad_task_before_it_counts() {
    let total = |n| Problem::Total { n };
    let rows = Method::Rows { rows: 1 };
    // Each kind of task has its bad records, made from a good one.
    type Spoil = fn(Prefix) -> Vec<Prefix>;
    let kinds: [(Problem, Method, Spoil); 4] = [
        (total(8), rows, |task| {
            vec![
                Prefix::EMPTY,
                task.place(8, 1 << 5),
                Prefix { left: 1 << 8, ..task },
                Prefix { right: 1 << 31, ..task },
                Prefix { down: 1 << 8, ..task },
            ]
        }),
        (total(9), Method::Colours, |task| {
            let lowest = task.down & task.down.wrapping_neg();
            vec![
                Prefix::EMPTY,
                Prefix { left: 1, ..task },
                Prefix { right: 1 << 8, ..task },
                Prefix { down: task.down ^ lowest, ..task },
                Prefix { down: task.down ^ lowest ^ 1 << 9, ..task },
                Prefix { down: full_mask(9), ..task },
            ]
        }),
        (Problem::Toroidal { n: 7 }, rows, |_| {
            vec![
                Prefix { down: 7, ..Prefix::EMPTY },
                Prefix { down: 1 << 6, ..Prefix::EMPTY },
                Prefix { left: 1, ..Prefix::EMPTY },
            ]
        }),
        (completions(8, "b4"), rows, |_| vec![Prefix { left: 1 << 31, ..Prefix::EMPTY }]),
    ];
    for (problem, method, bad) in kinds {
        let good = plan_index(problem, method).tasks(0..1).expect("the plan has the range")[0];
        for record in bad(good.record) {
            let tasks = [good, Task { record, ..good }];
            let error = CountError::BadTask(1);
            for variant in variants() {
                let mut kernel = kernel(variant, problem, method);
                assert_eq!(kernel.count(&tasks), Err(error), "{variant}: {record:?}");
                let counted = kernel.count_each(&tasks, |_| panic!("{variant} counted"));
                assert_eq!(counted, Err(error), "{variant}: {record:?}");
            }
        }
    }
}

#[test]
fn a_kernel_is_refused_if_its_parts_do_not_match() {
    let refused = |variant: Variant, problem, method| {
        Kernel::new(variant, problem, method).expect_err("it does not fit")
    };
    let total = Problem::Total { n: 8 };
    for (problem, method) in [
        (total, Method::Rows { rows: 9 }),
        (total, Method::Prefixes { rows: 9 }),
        (Problem::Total { n: u32::MAX }, Method::Rows { rows: 1 }),
        (Problem::Toroidal { n: 7 }, Method::Colours),
        (Problem::Total { n: 3 }, Method::Colours),
        (Problem::Total { n: 33 }, Method::Colours),
        (Problem::Superqueens { n: 9 }, Method::Colours),
        (completions(3, "a1"), Method::Colours),
        (Problem::Superqueens { n: 4 }, Method::Rows { rows: 5 }),
    ] {
        let error = refused(Backend::Portable.into(), problem, method);
        assert_eq!(error, KernelError::Problem(problem, method));
    }
    let rows = Method::Rows { rows: 1 };
    for backend in Backend::ALL.iter().copied().filter(|backend| !backend.is_available()) {
        let error = refused(backend.into(), total, rows);
        assert_eq!(error, KernelError::Backend(MissingBackend(backend)));
    }
}

#[test]
fn a_range_of_the_plan_is_counted_like_its_tasks() {
    let (problem, method) = (Problem::Total { n: 11 }, Method::Rows { rows: 4 });
    let index = plan_index(problem, method);
    let mut kernel = kernel(Backend::detect(), problem, method);
    let mut each = Vec::new();
    let range = 3..index.len();
    kernel
        .count_each_of_range(&index, range.clone(), |count| each.push(count))
        .expect("they count");
    assert_eq!(each.len() as u64, index.len() - 3);
    assert_eq!(kernel.count_range(&index, range), Ok(each.iter().sum()));
    let beyond = kernel.count_range(&index, 1..index.len() + 1);
    assert!(matches!(beyond, Err(CountError::Range(_))), "{beyond:?}");
}
