//! Tasks of the method `halves`: every way to give half of the columns to the upper half's queens.
//!
//! The queens of the upper N/2 rows stand in N/2 columns, the *split*; those of the lower half stand in
//! the others. A task is one split. On an odd board a task is the column of the centre row's queen and a
//! split of the remaining columns.
//!
//! Each board stands for its eight images under the symmetries of the square. Reflections in the vertical
//! and the horizontal axis take splits to splits, so one canonical split stands for four. Transposing does
//! not take splits to splits. Whether a board must be counted in spite of it can be seen from each of its
//! half-boards alone, so only some half-boards of a task count: [`Shares`] shows which.
//!
//! ```text
//!   record      left       right      down                              weight
//!   N even      0          0          the upper half's columns          2
//!   N odd       1 << c     1 << c     (c: the centre row's queen)       4, in the centre 2
//! ```
//!
//! A split of N = 28 takes minutes. From there on, each split is eight tasks, one for each pair of [`Slice`]s
//! of its lists, which are in the record too ([`Split`]).
//!
//! The count of a task is the sum of its completions' shares. Share times weight, added up over the eight
//! images of a board, is eight, so the sum over all tasks is Q(N).
//!
//! # The order of tasks
//!
//! For odd N, tasks with c left of the centre come first. The upper half of these has a queen in the centre
//! column. Up to N = 21 neighbours have the same split, or splits that are equal right of the centre, so
//! that most of their half-boards serve several tasks. On larger boards such half-boards would have to be
//! kept for too long; there neighbours have the same c, and splits are in the order of their masks. The
//! module `splits` has the order of tasks with c in the centre, and of those of even N. The eight tasks of a
//! split follow one another, two for each slice of the upper list.
//!
//! A task is computed from its ordinal, in less than 1 us (N = 19).

mod shares;
mod slices;
mod split;
mod splits;

pub use self::shares::{Shares, Window};
pub use self::slices::Slice;
pub use self::split::Split;
use crate::Task;

/// The smallest board that is split.
pub const MIN_N: u32 = 4;

/// The largest board that is split. At the rate of N = 28, N = 30 would take more than a million core-days, and
/// a task ten minutes on average: its lists would be joined in hundreds of pairs of parts.
pub const MAX_N: u32 = 29;

/// The smallest board whose splits are cut into [`Slice`]s.
pub(crate) const SLICED_MIN_N: u32 = 28;

/// The number of slices of the upper list of such a split.
const UPPER_SLICES: u32 = 4;

/// The number of slices of its lower list, which are the tasks that share one slice of the upper list.
pub(crate) const LOWER_SLICES: u32 = 2;

/// The largest board for which a kernel keeps the quarter-boards of all columns, if it has the memory: about
/// 0.3 GiB for N = 22.
pub const KEPT_QUARTERS_MAX_N: u32 = 23;

/// The largest odd board whose tasks are in the order of splits, so that neighbours share lists of
/// half-boards. On larger odd boards they are in the order of the centre row's squares.
pub const SHARED_LISTS_MAX_N: u32 = 21;

/// The number of tasks of a board of size `n`, from [`MIN_N`] to [`MAX_N`]: about C(N, N/2)/4 for even N, and N/4
/// times C(N - 1, (N - 1)/2) for odd N; from N = 28 on eight times as many.
pub(crate) fn len(n: u32) -> u64 {
    let half = n / 2;
    let beside = if n % 2 == 1 { splits::len_beside(half) } else { 0 };
    (beside + splits::len(half)) * u64::from(tasks_of_split(n))
}

/// The task with this `ordinal`, less than [`len`].
pub(crate) fn task(n: u32, ordinal: u64) -> Task {
    let cuts = u64::from(tasks_of_split(n));
    let (split, weight) = split(n, ordinal / cuts);
    if cuts == 1 {
        return Task { record: split.pack(), weight };
    }
    let mut pairs = Slice::modulo(UPPER_SLICES)
        .flat_map(|upper| Slice::modulo(LOWER_SLICES).map(move |lower| (upper, lower)));
    let pair = pairs.nth((ordinal % cuts) as usize);
    let (upper, lower) = pair.expect("there are as many pairs as cuts");
    Task { record: Split { upper, lower, ..split }.pack(), weight }
}

/// A split with its whole lists, by its place among the splits.
fn split(n: u32, place: u64) -> (Split, u8) {
    let half = n / 2;
    let whole = |centre, columns| Split { centre, columns, ..Split::default() };
    if n.is_multiple_of(2) {
        return (whole(0, splits::get(half, place)), 2);
    }
    let beside = splits::len_beside(half);
    if place < beside {
        let in_order =
            if n <= SHARED_LISTS_MAX_N { splits::beside } else { splits::beside_by_square };
        let (centre, columns) = in_order(half, place);
        (whole(centre, columns), 4)
    } else {
        let columns = splits::leave_out(splits::get(half, place - beside), half);
        (whole(1 << half, columns), 2)
    }
}

/// The number of tasks into which a split of a board of size `n` is cut. They follow one another in a plan.
#[must_use]
pub const fn tasks_of_split(n: u32) -> u32 {
    if n < SLICED_MIN_N { 1 } else { UPPER_SLICES * LOWER_SLICES }
}
