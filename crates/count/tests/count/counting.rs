//! Whole problems, counted on threads: known counts, progress, and the flag that stops them.

use std::sync::atomic::{AtomicBool, Ordering};

use board::squares::parse_squares;
use board::{MethodChoice, Problem};
use queens_count::{
    Backend, Counting, CountingError, completions, fundamental, superqueens, toroidal, total,
};

#[test]
fn every_problem_has_the_known_counts() {
    for n in 0..=12 {
        assert_eq!(total(n), Ok(vectors::total(n)), "N = {n}");
    }
    for n in 1..=12 {
        assert_eq!(fundamental(n), Ok(vectors::fundamental(n)), "N = {n}");
        assert_eq!(toroidal(n), Ok(vectors::toroidal(n)), "N = {n}");
    }
    for n in 10..=12 {
        assert_eq!(superqueens(n), Ok(vectors::superqueens(n)), "N = {n}");
    }
}

#[test]
fn completions_of_every_first_queen_are_all_placements() {
    let by_first = |column: u8| {
        let given = parse_squares(&format!("{}1", char::from(b'a' + column))).expect("a square");
        completions(9, &given).expect("it counts")
    };
    assert_eq!((0..9).map(by_first).sum::<u128>(), vectors::total(9));
    let attacking = parse_squares("a1 b2").expect("they are squares");
    assert!(matches!(completions(9, &attacking), Err(CountingError::Given(_))));
    assert!(matches!(completions(65, &[]), Err(CountingError::Given(_))));
}

#[test]
fn every_method_and_backend_counts_the_same_on_any_number_of_threads() {
    for method in MethodChoice::all() {
        for backend in Backend::available() {
            for threads in [0, 1, 3] {
                let counting = Counting::new(Problem::Total { n: 10 });
                let answer = counting.method(method).backend(backend).threads(threads).run();
                let count = answer.expect("it counts").count();
                assert_eq!(count, vectors::total(10), "{method} by {backend}, {threads} threads");
            }
        }
    }
}

#[test]
fn progress_rises_to_the_whole_and_its_sum_to_the_total() {
    let mut reports = Vec::new();
    let counting = Counting::new(Problem::Fundamental { n: 13 }).threads(2);
    let answer = counting.on_progress(|progress| reports.push(progress)).run().expect("it counts");
    assert_eq!(answer.count(), vectors::fundamental(13));
    assert!(reports.is_sorted_by(|a, b| a.tasks_done < b.tasks_done));
    let last = reports.last().expect("there is one");
    assert_eq!((last.tasks_done, last.placements), (last.tasks, vectors::total(13)));
}

#[test]
fn a_count_ends_when_its_flag_is_set() {
    let stop = AtomicBool::new(false);
    let counting = Counting::new(Problem::Total { n: 20 }).stop(&stop);
    let stopped = counting.on_progress(|_| stop.store(true, Ordering::Relaxed)).run();
    let Err(CountingError::Stopped { tasks_done, tasks }) = stopped else {
        panic!("{stopped:?} of a count that was stopped")
    };
    assert!(0 < tasks_done && tasks_done < tasks);
}

#[test]
fn what_cannot_be_counted_is_an_error() {
    for problem in [
        Problem::Total { n: 33 },
        Problem::Fundamental { n: u32::MAX },
        Problem::Toroidal { n: 33 },
        Problem::Superqueens { n: 64 },
    ] {
        let refused = Counting::new(problem).run();
        assert!(matches!(refused, Err(CountingError::Cut(_))), "{problem}: {refused:?}");
    }
    let too_little = Counting::new(Problem::Total { n: 20 }).memory(1 << 20).run();
    assert!(matches!(too_little, Err(CountingError::TooLittleMemory { .. })), "{too_little:?}");
    for backend in Backend::ALL.into_iter().filter(|backend| !backend.is_available()) {
        let refused = Counting::new(Problem::Total { n: 8 }).backend(backend).run();
        assert!(matches!(refused, Err(CountingError::SelfTest(_))), "{refused:?}");
    }
}
