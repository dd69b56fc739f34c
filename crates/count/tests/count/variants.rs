//! Tests that every variant counts every task like the reference, one by one and together.

use board::squares::parse_squares;
use board::{Given, Method, PlanIndex, Prefix, Problem, Square, Task};
use queens_count::{Backend, CountError, Kernel, KernelError, MissingBackend, Variant};

use super::Random;

fn variants(method: Method) -> impl Iterator<Item = Variant> {
    let of = |backend| [Variant::Straight(backend), Variant::Mirrored(backend)];
    let all = Backend::available().flat_map(of).chain([Variant::Search]);
    all.filter(move |variant| variant.suits(method))
}

fn kernel(variant: impl Into<Variant>, problem: Problem, method: Method) -> Kernel {
    Kernel::with_memory(u64::MAX, variant, problem, method).expect("there is such a kernel")
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

/// Compares all variants with `oracle`, which counts each task by itself.
fn agree(problem: Problem, method: Method, oracle: Variant, tasks: &[Task]) {
    let expected = {
        let mut oracle = kernel(oracle, problem, method);
        let count = |task: &[Task]| oracle.count(task).expect("the task is good");
        tasks.chunks(1).map(count).collect::<Vec<u64>>()
    };
    for variant in variants(method) {
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
}

fn slow(variant: Variant) -> bool {
    matches!(variant, Variant::Straight(Backend::Reference) | Variant::Mirrored(Backend::Reference))
}

#[test]
fn variants_agree_on_every_task_of_small_boards() {
    let mut cuts = Vec::new();
    for problem in (0..=9).map(|n| Problem::Total { n }) {
        let n = problem.n();
        cuts.extend((0..=n.min(4)).map(|rows| (problem, Method::Rows { rows })));
        cuts.extend([0, 3, 7].map(|rows| (problem, Method::Prefixes { rows: rows.min(n) })));
        cuts.extend((1..=2).map(|width| (problem, Method::Ring { width })));
        cuts.push((problem, Method::Halves));
    }
    cuts.extend((10..=11).map(|n| (Problem::Total { n }, Method::Halves)));
    let others = [
        Problem::Toroidal { n: 5 },
        Problem::Toroidal { n: 7 },
        Problem::Toroidal { n: 11 },
        Problem::Superqueens { n: 8 },
        Problem::Superqueens { n: 10 },
        completions(8, ""),
        completions(8, "b4,d5"),
        completions(9, "a2,h7"),
    ];
    for problem in others {
        cuts.extend((0..=3).map(|rows| (problem, Method::Rows { rows })));
    }
    for (problem, method) in cuts.into_iter().filter(|(problem, method)| method.cuts(*problem)) {
        let index = plan_index(problem, method);
        let tasks = index.tasks(0..index.len()).expect("the plan has the range");
        agree(problem, method, Variant::Straight(Backend::Reference), &tasks);
    }
}

#[test]
fn variants_agree_on_random_tasks_of_larger_boards() {
    let total = |n| Problem::Total { n };
    let mut random = Random(0xc4ec);
    for (problem, method, count) in [
        (total(12), Method::Rows { rows: 2 }, 20),
        (total(15), Method::Rows { rows: 4 }, 60),
        (total(18), Method::Rows { rows: 6 }, 20),
        (total(20), Method::Rows { rows: 6 }, 5),
        (total(13), Method::Ring { width: 1 }, 40),
        (total(16), Method::Ring { width: 2 }, 100),
        (total(20), Method::Ring { width: 2 }, 5),
        (total(13), Method::Halves, 50),
        (total(14), Method::Halves, 30),
        (total(15), Method::Halves, 20),
        (total(16), Method::Halves, 10),
        (total(17), Method::Halves, 6),
        (total(18), Method::Halves, 2),
        (total(19), Method::Halves, 2),
        (Problem::Toroidal { n: 17 }, Method::Rows { rows: 3 }, 60),
        (Problem::Superqueens { n: 14 }, Method::Rows { rows: 4 }, 60),
        (completions(14, "c3,h6"), Method::Rows { rows: 3 }, 60),
        (largest(), Method::Rows { rows: 2 }, 200),
    ] {
        let index = plan_index(problem, method);
        let mut tasks = Vec::new();
        // The tasks include neighbours, which may share work.
        for _ in 0..count {
            let start = random.next() % index.len();
            let end = index.len().min(start + 1 + random.next() % 3);
            tasks.extend(index.tasks(start..end).expect("the plan has the range"));
        }
        agree(problem, method, Variant::Straight(Backend::Portable), &tasks);
        let found = kernel(Backend::Portable, problem, method).count(&tasks);
        assert!(found.is_ok_and(|found| found > 0), "{problem} by {method}: nothing is compared");
    }
}

#[test]
fn every_variant_refuses_a_bad_task_before_it_counts() {
    for (problem, method) in [
        (Problem::Total { n: 8 }, Method::Rows { rows: 2 }),
        (Problem::Total { n: 8 }, Method::Ring { width: 1 }),
        (Problem::Total { n: 8 }, Method::Halves),
        (Problem::Toroidal { n: 7 }, Method::Rows { rows: 2 }),
        (completions(8, "b4"), Method::Rows { rows: 1 }),
    ] {
        let mut tasks = plan_index(problem, method).tasks(0..2).expect("the plan has the range");
        tasks.push(Task { record: Prefix { left: 1 << 31, ..Prefix::EMPTY }, weight: 1 });
        let error = CountError::BadTask(2);
        for variant in variants(method) {
            let mut kernel = kernel(variant, problem, method);
            assert_eq!(kernel.count(&tasks), Err(error), "{variant}");
            let counted = kernel.count_each(&tasks, |_| panic!("{variant} counted"));
            assert_eq!(counted, Err(error), "{variant}");
        }
    }
}

#[test]
fn a_kernel_is_refused_if_its_parts_do_not_match() {
    let refused = |variant: Variant, problem, method| {
        Kernel::with_memory(u64::MAX, variant, problem, method).expect_err("it does not fit")
    };
    let (total, mirrored) = (Problem::Total { n: 8 }, Variant::Mirrored(Backend::Portable));
    let error = refused(mirrored, total, Method::Halves);
    assert_eq!(error, KernelError::Variant(Method::Halves, mirrored));
    for (problem, method) in [
        (total, Method::Rows { rows: 9 }),
        (total, Method::Ring { width: 0 }),
        (Problem::Total { n: 30 }, Method::Halves),
        (Problem::Total { n: u32::MAX }, Method::Rows { rows: 1 }),
        (Problem::Toroidal { n: 7 }, Method::Halves),
        (Problem::Superqueens { n: 4 }, Method::Rows { rows: 5 }),
    ] {
        let error = refused(Backend::Portable.into(), problem, method);
        assert_eq!(error, KernelError::Problem(problem, method));
    }
    let ring = Method::Ring { width: 1 };
    for backend in Backend::ALL.iter().copied().filter(|backend| !backend.is_available()) {
        let error = refused(backend.into(), total, ring);
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
