//! Tasks of the method `rows`: every way to place the first M rows, mirror images removed.
//!
//! One of two boards that are mirror images of each other, left to right, is counted. A prefix that
//! is its own mirror image has weight 1: the empty board, and for odd N the queen in the centre
//! column. Below such a prefix, the next queen stands in the left half (columns `0..N/2`) or in the
//! centre column. In the left half, the prefix with this queen and all prefixes below it have
//! weight 2. In the centre column, the weight is still 1. Nothing else is removed:
//!
//! ```text
//!   N = 5, M = 2       first row   0 0 0 1 1 2      weight 2 throughout; the centre
//!                      second row  2 3 4 3 4 0      column's 2 4 mirrors 2 0
//! ```
//!
//! The method `prefixes` removes nothing: it has every such prefix, with weight 1.
//!
//! Tasks are in lexicographic order of their queens' columns, row by row, ascending. The sum of
//! their weights is the number of prefixes without symmetry (A061989 to A061993 for M = 3 to 7).
//!
//! A plan holds no tasks. It holds an index of at most 65,536 prefixes of a shallower row, from
//! which a walk reaches any range of ordinals.
//!
//! Measured on one core of a shared Zen 5 server:
//!
//! | plan | tasks | `new` | 8,192 tasks from anywhere | 40 tasks from anywhere |
//! |---|---|---|---|---|
//! | N = 16, M = 4 | 9,844 | 0.1 ms | 220 M/s | 0.2 us |
//! | N = 27, M = 6 | 3.4e7 | 1.1 ms | 230 M/s | 0.4 us |
//! | N = 17, M = 10 | 1.8e8 | 0.17 s | 125 M/s | 6.7 us |
//!
//! Among the largest plans the deep ones take longest to make: 0.6 s for N = 17, M = 11, and 6 s
//! for N = 16 with all rows placed, the longest of all that are not refused. A refusal takes at
//! most 1.5 s (N = 17), and 0.03 s for N = 32.

mod index;

pub(crate) use self::index::{Images, RowsPlan, TooManyPrefixes};

/// The most prefixes that a plan may have: those after 0, 1, 2, ... and M rows, added up.
///
/// It bounds the number of tasks, and also the time to make a plan, which counts the prefixes above
/// the last two rows one at a time.
pub const MAX_TASKS: u64 = 1_000_000_000;

/// The number of placed rows to choose if the user names none: a quarter of the rows, at most 6,
/// and 3 for N = 14 to 17.
///
/// There are then about 700 to 1,400 tasks for N = 14 to 17, 10^5 to 5 * 10^5 up to N = 21, 6 *
/// 10^6 to 3 * 10^7 up to N = 25, and 10^8 for N = 32: enough for a large farm to share, and each
/// of them long enough to be worth sending. With a quarter of the rows, tasks of N = 16 would take
/// 8 us, and the evidence that is kept of each would take 8% of the time.
#[must_use]
pub const fn suggested_rows(n: u32) -> u32 {
    // (n + 2) / 4 would overflow for the largest n, which a stranger can ask for.
    match n / 4 + n % 4 / 2 {
        4 => 3,
        quarter @ ..6 => quarter,
        6.. => 6,
    }
}
