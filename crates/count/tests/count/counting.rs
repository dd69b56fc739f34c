//! Tests whole problems that are counted on threads: known counts, progress, and the stop flag.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use board::{Problem, Shard};
use queens_count::{Answer, Backend, Counting, CountingError, count};

#[test]
fn every_problem_has_the_known_counts() {
    for n in 0..=12 {
        assert_eq!(count(n), Ok(testkit::vectors::total(n)), "N = {n}");
    }
    for n in 1..=12 {
        assert_eq!(
            count(Problem::Fundamental { n }),
            Ok(testkit::vectors::fundamental(n)),
            "N = {n}"
        );
        assert_eq!(count(Problem::Toroidal { n }), Ok(testkit::vectors::toroidal(n)), "N = {n}");
    }
    for n in 10..=12 {
        assert_eq!(
            count(Problem::Superqueens { n }),
            Ok(testkit::vectors::superqueens(n)),
            "N = {n}"
        );
    }
}

#[test]
fn boards_of_15_and_16_have_the_known_counts() {
    assert_eq!([15, 16].map(count), [15, 16].map(|n| Ok(testkit::vectors::total(n))));
}

#[test]
fn backends_agree_on_any_number_of_threads() {
    for backend in Backend::available() {
        for threads in [0, 1, 3] {
            let counting = Counting::new(10).backend(backend).threads(threads);
            let counted = counting.run().expect("it counts");
            assert_eq!(counted.threads, threads.max(1));
            assert_eq!(
                counted.answer.count(),
                testkit::vectors::total(10),
                "{backend}, {threads} threads"
            );
        }
    }
}

#[test]
fn progress_rises_to_the_whole_and_its_sum_to_the_total() {
    let mut reports = Vec::new();
    let counting = Counting::new(Problem::Fundamental { n: 13 }).threads(2);
    let counted = counting.on_progress(|progress| reports.push(progress)).run();
    assert_eq!(counted.expect("it counts").answer.count(), testkit::vectors::fundamental(13));
    assert!(reports.is_sorted_by(|a, b| a.tasks_done < b.tasks_done));
    let last = reports.last().expect("there is one");
    assert_eq!((last.tasks_done, last.placements), (last.tasks, testkit::vectors::total(13)));
    assert!(reports.iter().all(|progress| progress.threads == 2));
}

/// The sum over `of` shards, which different numbers of threads count.
fn sum_of_shards(problem: Problem, of: u32) -> u128 {
    let shard = |index| {
        let shard = Shard::new(index, of).expect("it is one");
        let counted = Counting::new(problem).shard(shard).threads(index as usize % 3 + 1).run();
        counted.expect("it counts").answer.count()
    };
    (1..=of).map(shard).sum()
}

#[test]
fn the_shards_of_a_board_add_up_to_its_total() {
    // Up to N = 14 a board is cut by rows, and then by colours.
    for n in [0, 1, 4, 12, 15] {
        for of in [1, 2, 5] {
            let sum = sum_of_shards(Problem::Total { n }, of);
            assert_eq!(sum, testkit::vectors::total(n), "N = {n} in {of} shards");
        }
    }
    let toroidal = sum_of_shards(Problem::Toroidal { n: 11 }, 7);
    assert_eq!(toroidal, testkit::vectors::toroidal(11));
    let superqueens = sum_of_shards(Problem::Superqueens { n: 12 }, 7);
    assert_eq!(superqueens, testkit::vectors::superqueens(12));
    let corner = Problem::completions(11, &["a1".parse().expect("it is a square")]);
    let corner = corner.expect("it may stand");
    assert_eq!(Ok(sum_of_shards(corner, 7)), count(corner));
}

#[test]
fn each_shard_counts_a_part() {
    let shard = Shard::new(2, 5).expect("it is one");
    let mut last = None;
    let counting = Counting::new(15).shard(shard).on_progress(|progress| last = Some(progress));
    let part = counting.run().expect("it counts").answer.count();
    let last = last.expect("there is a report");
    assert_eq!((last.tasks_done, last.placements), (last.tasks, part));
    let whole = testkit::vectors::total(15);
    assert!((whole / 10..whole / 3).contains(&part), "{part} of {whole}");
}

#[test]
fn orbits_are_counted_from_the_shards_of_the_total_and_not_by_shards() {
    let (n, shard) = (12, Shard::new(2, 5).expect("it is one"));
    let refused = Counting::new(Problem::Fundamental { n }).shard(shard).run();
    assert_eq!(refused, Err(CountingError::Orbits));
    let total = sum_of_shards(Problem::Total { n }, 5);
    let answer = Answer::new(Problem::Fundamental { n }, total).expect("it is the total");
    assert_eq!(answer.count(), testkit::vectors::fundamental(n));
    let whole = Counting::new(Problem::Fundamental { n }).shard(Shard::ALL).run();
    assert_eq!(whole.map(|counted| counted.answer), Ok(answer));
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

/// The number of counting threads, according to the first report.
fn threads_of(counting: Counting<'_>) -> usize {
    let (stop, threads) = (AtomicBool::new(false), AtomicUsize::new(0));
    let counting = counting.stop(&stop).on_progress(|progress| {
        threads.store(progress.threads, Ordering::Relaxed);
        stop.store(true, Ordering::Relaxed);
    });
    let _ = counting.run();
    threads.load(Ordering::Relaxed)
}

#[test]
fn as_many_threads_run_as_asked_for_if_possible() {
    assert_eq!(threads_of(Counting::new(18).threads(8)), 8);
    // The empty board is one task.
    assert_eq!(threads_of(Counting::new(0).threads(100_000)), 1);
}

/// If the other threads did not stop, they would count for weeks.
#[test]
fn a_panic_of_one_thread_stops_the_others() {
    for threads in [1, 2, 3] {
        let counting = Counting::new(26).threads(threads);
        let mut reports = 0;
        let counting = counting.on_progress(move |_| {
            reports += 1;
            assert_ne!(reports, 1, "as it is asked to");
        });
        let ended = catch_unwind(AssertUnwindSafe(|| counting.run()));
        let panic = ended.expect_err("it panics");
        let text = panic.downcast_ref::<String>().expect("it has a text");
        assert!(text.contains("as it is asked to"), "{threads} threads: {text}");
    }
}

#[test]
fn a_problem_that_cannot_be_counted_is_an_error() {
    for problem in [
        Problem::Total { n: 33 },
        Problem::Fundamental { n: u32::MAX },
        Problem::Toroidal { n: 33 },
        Problem::Superqueens { n: 64 },
    ] {
        let refused = Counting::new(problem).run();
        assert!(matches!(refused, Err(CountingError::Plan(_))), "{problem}: {refused:?}");
    }
    for backend in Backend::ALL.iter().copied().filter(|backend| !backend.is_available()) {
        let refused = Counting::new(Problem::Total { n: 8 }).backend(backend).run();
        assert!(matches!(refused, Err(CountingError::SelfTest(_))), "{refused:?}");
    }
}
