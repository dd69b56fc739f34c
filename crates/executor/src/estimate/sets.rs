//! How tasks of `colours` are sampled: by sets of odd columns, whose number depends only on the
//! size of the board.
//!
//! All work of a task belongs to a set of odd columns, and no two sets share any. So a task is
//! sampled in two stages. Tasks are drawn from all over the plan, and of a drawn task the sets with
//! numbers `first`, `first + every`, ... are counted, where `first` is random
//! ([`count::Kernel::sample`]). Nothing has to be measured before, and nothing is kept between
//! tasks.
//!
//! Tasks differ more than the sets of one task do, and a set costs nothing beside its own work.
//! Therefore many tasks are drawn, each with only as many sets as the kernel counts at a time.
//! About half of the sets can have a share, so about twice as many are drawn. This number halves
//! each time that N grows by two, because the cells of a set double. Small boards are drawn in runs
//! of whole tasks.
//!
//! ```text
//!   N              16      18      20      22      24      26      28      30      32
//!   tasks drawn    64      16       4       1       1       1       1       1       1
//!   sets drawn    all     all     all      33      16       8       4       2       1
//!   of sets, at most                      462     924    1716    3432    6435   12870
//! ```

use std::num::NonZeroU32;

use board::MAX_N;
use board::colours::odd_lines;

/// The smallest board of which parts of tasks are counted, and of which a run is one task. With
/// each line less a task takes at most half as long, and a run has twice as many tasks, which is
/// enough to measure it well.
const LARGE_MIN_N: u32 = 22;

/// The most tasks that are drawn if only some of their sets are counted. The draws are held in
/// memory, and more of them would hardly make the estimate any better.
pub(super) const MOST_DRAWS: u64 = 1_000_000;

/// The longest task takes at most about this many times as long as the tasks do on average: 2.3
/// times at N = 16, 3.2 times at N = 17 and 19, and 3.0 to 3.1 times among some hundred tasks of N
/// = 24 and 28.
pub(super) const LONGEST: f64 = 3.5;

/// The number of sets of odd columns of which one is counted, for a board of size `n`.
pub(super) fn every(n: u32) -> NonZeroU32 {
    let lines = odd_lines(n);
    // In most tasks about half of the odd rows hold black queens, and so about half of the odd
    // columns.
    let every = if n < LARGE_MIN_N { 1 } else { most_sets(lines) >> (odd_lines(MAX_N) - lines) };
    NonZeroU32::new(every).expect("there are more sets than are drawn")
}

/// The tasks of a run on a board of size `n`.
pub(super) fn run(n: u32) -> u64 {
    1 << LARGE_MIN_N.saturating_sub(n)
}

/// The number of sets of half of the lines: the binomial coefficient.
fn most_sets(lines: u32) -> u32 {
    (0..lines / 2).fold(1, |sets, taken| sets * (lines - taken) / (taken + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_small_boards_are_counted_in_full_and_few_sets_of_large_ones() {
        let drawn = |n| most_sets(odd_lines(n)) / every(n);
        assert_eq!([4, 19, 20, 21].map(|n| every(n).get()), [1; 4]);
        assert_eq!([22, 24, 26, 28, 30, 32].map(drawn), [33, 16, 8, 4, 2, 1]);
        assert_eq!([23, 31].map(every), [22, 30].map(every), "the odd columns are as many");
        assert_eq!([4, 18, 21, 22, 32].map(run), [1 << 18, 16, 2, 1, 1]);
    }
}
