//! Tests the jobs of the direct search: their number and their totals.

use queens_solve::jobs;

#[test]
fn n_26_has_the_277_jobs_of_the_mc_sharp_project() {
    let jobs = jobs(26);
    let by_first = |first| jobs.iter().filter(|job| job.first == first).count();
    assert_eq!([by_first(0), by_first(1)], [23, 23]);
    assert!((2..=12).all(|first| by_first(first) == 21));
    assert_eq!(jobs.len(), 277);
}

#[test]
fn the_totals_of_all_jobs_add_up_to_that_of_the_board() {
    for n in 2..=12 {
        let total: u128 = jobs(n).into_iter().map(|job| job.total()).sum();
        assert_eq!(total, testkit::vectors::total(n), "N = {n}");
    }
    assert!(jobs(0).is_empty());
}
