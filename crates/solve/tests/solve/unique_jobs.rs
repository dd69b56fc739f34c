//! The direct search in jobs: their number, their totals and their sizes.

use queens_solve::{JobSizes, jobs};

#[test]
fn n_26_has_the_277_jobs_of_the_mc_sharp_project() {
    let jobs = jobs(26).expect("it is small enough");
    let by_first = |first| jobs.iter().filter(|job| job.first == first).count();
    assert_eq!([by_first(0), by_first(1)], [23, 23]);
    assert!((2..=12).all(|first| by_first(first) == 21));
    assert_eq!(jobs.len(), 277);
}

#[test]
fn the_totals_of_all_jobs_add_up_to_that_of_the_board() {
    for n in 2..=12 {
        let total: u128 = jobs(n).expect("it is small").into_iter().map(|job| job.total()).sum();
        assert_eq!(total, vectors::total(n), "N = {n}");
    }
    assert!(jobs(0).expect("it is small").is_empty() && jobs(33).is_err());
}

#[test]
fn estimated_sizes_come_near_what_the_search_places() {
    // At N = 10 the direct search places 8,391 queens below the second row.
    let mut sizes = JobSizes::new(jobs(10).expect("it is small"), 1);
    assert!(sizes.sizes().all(|(_, nodes)| nodes == 0.0));
    for _ in 0..20_000 {
        sizes.probe();
    }
    let (nodes, error) = sizes.nodes();
    assert_eq!(sizes.probes(), 20_000);
    assert!(error < 0.01 * nodes, "{nodes} +- {error}");
    assert!((nodes - NODES_OF_10).abs() < 2.0 * error, "{nodes} +- {error}");
}

/// Counted by a program of its own that follows the rules in the first lines of `unique.rs`.
const NODES_OF_10: f64 = 8391.0;
