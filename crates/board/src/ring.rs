//! The `ring` method's tasks: every way to place the queens of the outermost rows and columns, one
//! of each orbit under the eight symmetries of the square.
//!
//! The outer `width` rows and columns of all four sides are filled first, one queen to each line:
//!
//! ```text
//!   N = 7, width 1     . . . . Q . .     top 4
//!                      Q . . . . . .     left 1        named clockwise from the right:
//!                      . . . . . . .                   right   3
//!                      . . . . . . Q     right 3       bottom  1   (its column 5, from the right)
//!                      . . . . . . .                   left    5   (its row 1, from below)
//!                      . . . . . . .                   top     4
//!                      . . . . . Q .     bottom 5
//! ```
//!
//! A *side* is the queens on the outer lines of one side of the board, read clockwise. It is one of
//! a fixed list ([`sides`]), and has a mirror image in it. A preplacement is then a bracelet of
//! four sides: a quarter turn of the board moves each on to the next place, and a reflection
//! reverses their order and mirrors each. Two queens are compared at a time, so four sides fit if
//! every two of them do.
//!
//! The canonical preplacement of an orbit is the least of its images, as four places in the list
//! of sides. Its weight is the size of the orbit: 8, or 4 if the half turn leaves it as it is, or
//! 2 if the quarter turn does. No reflection ever does: a queen would attack its own image.
//!
//! # The order of tasks
//!
//! Tasks are in lexicographic order of the right, the bottom, the left and the top side. The top
//! side varies fastest: **tasks that differ in nothing but [`Preplacement::top`] are neighbours**,
//! and a kernel may prepare the other three sides once for all of them.
//!
//! A plan holds no tasks: it holds which sides fit, and an index by the first two sides.
//!
//! This is the coronal preplacement by which Q(27) was computed (T. B. Preußer and M. R.
//! Engelhardt, "Putting Queens in Carry Chains, No. 27"); width 2 makes as many tasks as that
//! project counted.

mod opening;
mod preplacement;
mod sides;

use std::ops::Range;

use thiserror::Error;

use self::opening::Opening;
pub use self::preplacement::Preplacement;
use self::sides::Sides;
use crate::{MAX_N, Tasks};

/// Why a plan cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RingError {
    /// The masks cannot hold a row of this board.
    #[error("a board of size {n}: give a size of at most {MAX_N}")]
    BoardTooLarge {
        /// The size of the board.
        n: u32,
    },
    /// Opposite sides would share lines.
    #[error("a board of size {n} has no ring of width {width}: use --method rows")]
    BoardTooSmall {
        /// The size of the board.
        n: u32,
        /// The width of the ring.
        width: u32,
    },
    /// Only one or two outer rings are placed.
    #[error("a ring of width {width}: give --width 1 or 2")]
    NoSuchWidth {
        /// The width of the ring.
        width: u32,
    },
}

/// The width to choose where the user names none: 1 up to N = 22, 2 above.
#[must_use]
pub const fn suggested_width(n: u32) -> u32 {
    if n <= 22 { 1 } else { 2 }
}

/// The tasks of one board and one width, by ordinal.
#[derive(Clone, Debug)]
pub struct RingPlan {
    n: u32,
    width: u32,
    sides: Sides,
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
    /// Plans the outer `width` rings (1 or 2) of a board of size `n` (`2 * width..=32`).
    ///
    /// # Errors
    ///
    /// [`RingError`], if the width or the size is another.
    pub fn new(n: u32, width: u32) -> Result<RingPlan, RingError> {
        check(n, width)?;
        let sides = Sides::new(n, width);
        let mut index = vec![];
        let mut tasks = 0;
        for first in sides.firsts() {
            for second in sides.seconds(first).iter() {
                index.push(Entry { start: tasks, first: first as u16, second: second as u16 });
                tasks += Opening::new(&sides, first, second).tasks();
            }
        }
        Ok(RingPlan { n, width, sides, index, tasks })
    }

    /// The size of the board.
    #[must_use]
    pub fn n(&self) -> u32 {
        self.n
    }

    /// The number of outer rings that a task has filled.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The number of tasks.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.tasks
    }

    /// Whether there is no task, because the ring cannot be filled (`n` = 2 and 3).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tasks == 0
    }

    /// Appends the tasks whose ordinals are in `range` to `out`, in order, each as
    /// [packed](Preplacement::pack).
    ///
    /// # Panics
    ///
    /// If `range` passes [`len`](RingPlan::len), or starts after its end.
    pub fn fill(&self, range: Range<u64>, out: &mut Tasks) {
        assert!(
            range.start <= range.end && range.end <= self.len(),
            "range {range:?} of a plan of {} tasks",
            self.len()
        );
        out.reserve((range.end - range.start) as usize);
        let after = self.index.partition_point(|entry| entry.start <= range.start);
        let mut at = range.start;
        for entry in &self.index[after.saturating_sub(1)..] {
            let opening = Opening::new(&self.sides, entry.first.into(), entry.second.into());
            at += opening.fill(at - entry.start, range.end - at, out);
            if at == range.end {
                return;
            }
        }
    }
}

fn check(n: u32, width: u32) -> Result<(), RingError> {
    if !(1..=2).contains(&width) {
        Err(RingError::NoSuchWidth { width })
    } else if n > MAX_N {
        Err(RingError::BoardTooLarge { n })
    } else if n < 2 * width {
        Err(RingError::BoardTooSmall { n, width })
    } else {
        Ok(())
    }
}
