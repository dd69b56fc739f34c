//! Tasks of the method `ring`: the ways to place the queens of the outermost rows and columns, one of each
//! orbit under the eight symmetries of the square.
//!
//! A task has the queens of the outer `width` rows and columns on all four sides:
//!
//! ```text
//!   N = 7, width 1     . . Q . . . .     right    row 1      1 when read clockwise
//!                      . . . . . . Q     bottom   column 4   2
//!                      . . . . . . .     left     row 3      3
//!                      Q . . . . . .     top      column 2   2
//!                      . . . . . . .
//!                      . . . . . . .
//!                      . . . . Q . .
//! ```
//!
//! A *side* is the queens of the outer lines of one side of the board, read clockwise. There are N sides
//! of width 1 and (N - 1)(N - 2) of width 2. They are kept as a list, which also holds the mirror image of
//! each. A [`Preplacement`] is a bracelet of four sides: a quarter turn of the board moves each one to the
//! next place, and a reflection reverses their order and mirrors each. Queens attack each other in pairs,
//! so four sides fit together if every two of them do.
//!
//! One preplacement of each orbit is a task: the one whose sides, by their places in the list, are least,
//! so that none of its sides or their mirror images is less than its first. Its weight is the size of the
//! orbit: 4 if the half turn fixes the preplacement, 2 if the quarter turn fixes it, and otherwise 8. No
//! reflection fixes it, because a queen would attack her own image.
//!
//! This is the coronal preplacement by which Q(27) was computed (T. B. Preußer and M. R. Engelhardt,
//! "Putting Queens in Carry Chains, No. 27", 2017). With width 2 there are as many tasks as in that work.
//!
//! # The order of tasks
//!
//! Tasks are in lexicographic order of their right, bottom, left and top side. **The top varies
//! fastest: tasks that differ in nothing but [`Preplacement::top`] are neighbours**, so that a
//! kernel may prepare the other three sides once for all of them.
//!
//! A plan holds no tasks. It holds as bits which sides fit together, and where the tasks with the same
//! first two sides begin. The tasks themselves follow from intersections: one row of bits holds all tops
//! that fit three other sides.
//!
//! Measured on one core of a shared Zen 5 server; where two runs differed, both figures are given:
//!
//! | plan | tasks | `new` | 8,192 tasks from anywhere | 40 tasks from anywhere |
//! |---|---|---|---|---|
//! | N = 20, width 1 | 9,522 | 0.15 ms | 36 M/s | 2 to 3 us |
//! | N = 24, width 2 | 5.3e8 | 0.7 to 0.8 s | 52 M/s | 21 us |
//! | N = 27, width 2 | 2.0e9 | 1.1 to 1.8 s | 63 M/s | 23 us |
//! | N = 32, width 2 | 1.3e10 | 4.1 to 5.6 s | 42 M/s | 35 us |
//!
//! Neighbouring ranges of 65,536 were filled at 75 to 108 M/s (width 2).

mod opening;
mod preplacement;
mod sides;

use std::ops::Range;

use self::opening::Opening;
pub use self::preplacement::Preplacement;
use self::sides::{Sides, list};
use crate::Task;

/// The width to choose if the user names none: 1 up to N = 22, 2 above.
///
/// There are then 3,000 to 15,000 tasks for N = 16 to 22, 3 * 10^8 to 2 * 10^9 for N = 23 to 27, and
/// 1.3 * 10^10 for N = 32. With width 1 there would be 18,410 tasks for N = 23, of more than ten seconds
/// each.
#[must_use]
pub const fn suggested_width(n: u32) -> u32 {
    if n <= 22 { 1 } else { 2 }
}

/// The tasks of one board and one width, by ordinal.
///
/// It takes at most 5 MB for any number of tasks.
#[derive(Clone, Debug)]
pub(crate) struct RingPlan {
    sides: Sides,
    /// Entries in order; some have no task.
    index: Vec<Entry>,
    tasks: u64,
}

/// The first two sides of some tasks, and the ordinal of the first of them.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u64,
    first: u16,
    second: u16,
}

impl RingPlan {
    /// Plans a board of size `n`, which has rings of this `width`; `None` soon after `stop` begins to return
    /// `true`.
    pub(crate) fn new_unless(n: u32, width: u32, stop: &dyn Fn() -> bool) -> Option<RingPlan> {
        let sides = Sides::new(n, width, list(n, width));
        let mut index = vec![];
        let mut tasks = 0;
        for first in sides.firsts() {
            for second in sides.seconds(first).iter() {
                if stop() {
                    return None;
                }
                index.push(Entry { start: tasks, first: first as u16, second: second as u16 });
                tasks += Opening::new(&sides, first, second).tasks();
            }
        }
        Some(RingPlan { sides, index, tasks })
    }

    /// The number of tasks. There is none if the ring cannot be filled (`n` = 2 and 3).
    pub(crate) fn len(&self) -> u64 {
        self.tasks
    }

    /// Appends the tasks of `range`, which the plan has, to `out`, in order, each as [packed](Preplacement::pack).
    pub(crate) fn fill(&self, range: Range<u64>, out: &mut Vec<Task>) {
        let after = self.index.partition_point(|entry| entry.start <= range.start);
        let mut at = range.start;
        for entry in &self.index[after.saturating_sub(1)..] {
            let opening = Opening::new(&self.sides, entry.first.into(), entry.second.into());
            at += opening.fill(at - entry.start, range.end - at, out);
            if at == range.end {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_in_the_module_documentation_is_a_task() {
        let picture = Preplacement { top: [2, 0], right: [1, 0], bottom: [4, 0], left: [3, 0] };
        let plan = RingPlan::new_unless(7, 1, &|| false).expect("nothing stops it");
        let mut tasks = Vec::new();
        plan.fill(0..plan.len(), &mut tasks);
        assert!(tasks.contains(&Task { record: picture.pack(), weight: 8 }));
    }
}
