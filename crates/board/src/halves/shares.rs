//! How often a task counts each of its boards, so that the eight images of a board count as eight.
//!
//! Transposing a board leaves the two quadrants on the main diagonal in place, and exchanges the columns
//! of a quadrant's queens with their rows. Consider a board of even N with more queens in the upper left
//! quadrant than in the upper right one, and therefore as many in the lower right one. (Either a board or its
//! mirror image is like that, unless both quadrants have equally many.) Each of its four *sides* has a number
//! of N/2 bits, one for each line, read from the edge of the board inwards with the edge's line as the
//! highest bit:
//!
//! ```text
//!   column   0 1 2 3   4 5 6 7
//!            . . . .   . . Q .     west:  the columns of the upper left queens      1 1 0 1
//!            . Q . .   . . . .     north: their rows                                0 1 1 1
//!            . . . Q   . . . .
//!            Q . . .   . . . .
//!
//!            . . . .   . . . Q
//!            . . . .   Q . . .
//!            . . Q .   . . . .     east:  the columns of the lower right queens     1 0 1 1
//!            . . . .   . Q . .     south: their rows                                1 0 1 1
//! ```
//!
//! Four symmetries keep the heavier quadrants in place, and for each side exactly one of them brings it to
//! the west. The image with the largest number in the west is canonical, like the board above. West and
//! east are known from the split alone. North is known from the upper half-board and south from the lower
//! one, so a canonical split counts only half-boards whose number does not exceed the west's.
//!
//! If both quadrants have equally many queens, all eight symmetries remain. A side then has two numbers,
//! one for each of its quadrants, which are complements; the larger one is its number. The canonical image
//! has the larger one in the upper left quadrant, which means that it has a queen in the first column
//! there. North and south must then be neither larger than the west nor smaller than its complement.
//!
//! If other sides are as large as the west, several images are canonical, and their shares, times the
//! weight 2 of the task, must add up to eight. If three sides are the largest, three images are canonical,
//! and only the one whose smaller side is the east counts:
//!
//! ```text
//!   as large as the west         images   share
//!   none                            1       4
//!   one of the others               2       2
//!   north and south                 1       4
//!   east, and north or south        2       0
//!   all                             4       1
//! ```
//!
//! An odd board with a queen in the centre has the same four quadrants, without the centre lines. On any
//! other odd board the two queens of the centre lines decide. Mirror the board so that the centre row's
//! queen stands left of the centre and the centre column's above it. Transposing then exchanges their
//! distances c and r from the edge. Boards with c < r count, twice as often as otherwise; c = r does not
//! occur, because the two queens would stand on one diagonal.

use std::cmp::Ordering;

use super::Split;

/// Which half-boards count for a task, and how often a pair of them counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shares {
    /// The columns that decide about a half-board's number, as a mask. The number has a bit for each of the
    /// N/2 rows, that of the edge highest, which is set if the row's queen stands in one of these columns.
    pub columns: u32,
    /// The upper half-boards that count.
    pub upper: Window,
    /// The lower half-boards that count; their rows are read from the lower edge.
    pub lower: Window,
    /// How often a board counts: `times[upper is a tie][lower is a tie]`.
    pub times: [[u64; 2]; 2],
}

/// The half-boards whose numbers lie between two bounds, which belong to the window. Half-boards whose
/// number is one of the bounds are *ties*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// The lower bound; -1, which no half-board has, if there is none.
    pub below: i32,
    /// The upper bound; 1 << N/2, which no half-board has, if there is none.
    pub above: i32,
}

impl Window {
    /// Whether a half-board with this number is a tie; `None` if it does not count.
    #[must_use]
    pub fn tie(self, number: u32) -> Option<bool> {
        let number = number as i32;
        (self.below..=self.above)
            .contains(&number)
            .then_some(number == self.below || number == self.above)
    }
}

impl Shares {
    /// The shares of the boards of a split of a board of size `n`.
    #[must_use]
    pub fn new(n: u32, split: Split) -> Shares {
        let half = n / 2;
        let middle = 1 << half;
        if n % 2 == 1 && split.centre != middle {
            let column = split.centre.trailing_zeros();
            let all = Window { below: -1, above: 1 << half };
            return Shares {
                columns: middle,
                upper: Window { below: -1, above: 1 << (half - 1 - column.min(half - 1)) },
                lower: all,
                times: [[2; 2]; 2],
            };
        }
        let lines = (1 << half) - 1;
        let west = (split.columns & lines).reverse_bits() >> (u32::BITS - half);
        let east = !(split.columns >> (n - half)) & lines;
        // A number with as many ones as zeros has a complement with as many ones; the larger one counts.
        let balanced = 2 * west.count_ones() == half;
        let east = if balanced { east.max(!east & lines) } else { east };
        let below = if balanced { (!west & lines) as i32 } else { -1 };
        let upper = Window { below, above: west as i32 };
        // The lower half's number is about the left columns too, so it is the complement of the south's.
        let complement = |number: i32| lines as i32 - number;
        let lower = Window { below: complement(upper.above), above: complement(upper.below) };
        let times = match east.cmp(&west) {
            Ordering::Equal => [[2, 0], [0, 1]],
            Ordering::Less | Ordering::Greater => [[4, 2], [2, 4]],
        };
        Shares { columns: lines, upper, lower, times }
    }
}
