//! Tests of searches that are asked to stop.

use std::thread;
use std::time::Duration;

use board::{Method, PlanIndex, Problem, Square};
use queens_count::{Backend, CountError, Kernel, Stop};

/// Problems whose first task takes long, each with other loops.
fn long() -> [(Problem, Method); 6] {
    let corner = Square { column: 0, row: 0 };
    let given = |n| Problem::completions(n, &[corner]).expect("it is a board");
    [
        (Problem::Total { n: 32 }, Method::Prefixes { rows: 1 }),
        (Problem::Total { n: 16 }, Method::Prefixes { rows: 0 }),
        (Problem::Toroidal { n: 31 }, Method::Rows { rows: 1 }),
        (Problem::Superqueens { n: 32 }, Method::Rows { rows: 1 }),
        (given(32), Method::Rows { rows: 1 }),
        (given(64), Method::Rows { rows: 1 }),
    ]
}

#[test]
fn a_search_that_is_asked_to_stop_ends_and_gives_no_count() {
    for (problem, method) in long() {
        let index = PlanIndex::new(problem, method).expect("such a plan exists");
        for backend in Backend::available() {
            let mut kernel = Kernel::new(backend, problem, method).expect("it cuts the problem");
            let stop = Stop::default();
            kernel.stop_at(stop.clone());
            let tasks = index.tasks(0..1).expect("there is a task");
            let counting = thread::spawn(move || kernel.count(&tasks));
            thread::sleep(Duration::from_millis(20));
            stop.ask();
            let counted = counting.join().expect("it does not panic");
            assert_eq!(counted, Err(CountError::Stopped), "{backend}: {problem}");
        }
    }
}

/// Whatever a search left behind when it was stopped is in no later count.
#[test]
fn a_kernel_that_was_stopped_at_any_moment_counts_exactly_afterwards() {
    for (n, method) in
        [(11, Method::Prefixes { rows: 0 }), (12, Method::Rows { rows: 3 }), (12, Method::Colours)]
    {
        let problem = Problem::Total { n };
        let index = PlanIndex::new(problem, method).expect("such a plan exists");
        let tasks = index.tasks(0..index.len()).expect("it is the whole plan");
        for backend in Backend::available() {
            let mut kernel = Kernel::new(backend, problem, method).expect("it cuts the problem");
            for us in (0..2_000).step_by(200) {
                let stop = Stop::default();
                kernel.stop_at(stop.clone());
                let asking = thread::spawn(move || {
                    thread::sleep(Duration::from_micros(us));
                    stop.ask();
                });
                let stopped = kernel.count(&tasks);
                asking.join().expect("it does not panic");
                assert!(stopped.is_err() || stopped == Ok(total(n)), "{backend}: {stopped:?}");

                kernel.stop_at(Stop::default());
                assert_eq!(kernel.count(&tasks), Ok(total(n)), "{backend} by {method}");
            }
        }
    }
}

fn total(n: u32) -> u64 {
    u64::try_from(testkit::vectors::total(n)).expect("it is small")
}
