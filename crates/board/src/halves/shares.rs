//! How often a task counts each of its boards, so that eight images count as eight.
//!
//! Transposing a board leaves its quadrants of the main diagonal in place, and exchanges the columns
//! of a quadrant's queens with their rows. Take a board of even N that has, as its mirror image else
//! has, more queens in the upper left quadrant than in the upper right one, and so as many in the
//! lower right one. Each of its four *sides* has a number of N/2 bits, one for each line, read from
//! the edge of the board inwards with the edge's line as the highest bit:
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
//! The four symmetries that keep the heavier quadrants in place move the sides as a group moves
//! itself: exactly one brings each side to the west. So the image with the largest number in the
//! west, as the one above, is canonical. West and east are known from the split alone, north is
//! known from the upper half-board and south from the lower one: of a canonical split only
//! half-boards are counted whose number does not pass the west's.
//!
//! Where equally many queens stand in both quadrants, all eight symmetries are left, and a side has
//! two numbers, one for each of its quadrants, which are complements; the larger one counts. The
//! canonical image has it in the upper left quadrant, that is, it has a queen in the first column
//! there. North and south must then be neither larger than the west nor smaller than its complement.
//!
//! If other sides are as large as the west, several images are canonical, and their shares, times the
//! weight 2 of the task, must add up to eight. Of the three images where three sides are the largest,
//! the one counts whose smaller side is the east:
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
//! An odd board with a queen in the centre has the same four quadrants without the centre lines.
//! On any other the two queens of the centre lines tell: mirrored so that the centre row's stands
//! left of the centre and the centre column's above it, transposing exchanges the distances from
//! the edge, c and r. Boards with c < r are counted, twice as often; c = r is a common diagonal.

use std::cmp::Ordering;

use crate::Prefix;

/// Which half-boards count for a task, and how often a pair of them does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// The columns, a mask, whose queens are looked at: a half-board's number has a bit for each of
    /// its N/2 rows, that of the edge highest, set where the row's queen stands in one of them.
    pub columns: u32,
    /// The upper half-boards that count.
    pub upper: Window,
    /// The lower half-boards that count, read from their own edge.
    pub lower: Window,
    /// How often a board counts: `times[upper is a tie][lower is a tie]`.
    pub times: [[u64; 2]; 2],
}

/// The half-boards whose numbers are between two numbers. Those that have one of the two are *ties*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// No number is less; -1 if none can have it.
    pub below: i32,
    /// No number is greater; 1 << N/2 if none can have it.
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
    /// The shares of a task of a board of size `n`, of which `record` is the record.
    #[must_use]
    pub fn of(n: u32, record: Prefix) -> Shares {
        let half = n / 2;
        let middle = 1 << half;
        if n % 2 == 1 && record.left != middle {
            let column = record.left.trailing_zeros();
            let all = Window { below: -1, above: 1 << half };
            return Shares {
                columns: middle,
                upper: Window { below: -1, above: 1 << (half - 1 - column.min(half - 1)) },
                lower: all,
                times: [[2; 2]; 2],
            };
        }
        let lines = (1 << half) - 1;
        let west = (record.down & lines).reverse_bits() >> (u32::BITS - half);
        let east = !(record.down >> (n - half)) & lines;
        // Equal numbers of lines are distinct from their complements; others need not be told apart.
        let balanced = 2 * west.count_ones() == half;
        let east = if balanced { east.max(!east & lines) } else { east };
        let below = if balanced { (!west & lines) as i32 } else { -1 };
        let upper = Window { below, above: west as i32 };
        // The lower half's number is of the left columns too, the complement of the south's.
        let complement = |number: i32| lines as i32 - number;
        let lower = Window { below: complement(upper.above), above: complement(upper.below) };
        let times = match east.cmp(&west) {
            Ordering::Equal => [[2, 0], [0, 1]],
            Ordering::Less | Ordering::Greater => [[4, 2], [2, 4]],
        };
        Shares { columns: lines, upper, lower, times }
    }

    /// How often a board counts whose halves have these numbers.
    #[must_use]
    pub fn of_board(&self, upper: u32, lower: u32) -> u64 {
        let ties = self.upper.tie(upper).zip(self.lower.tie(lower));
        ties.map_or(0, |(upper, lower)| self.times[usize::from(upper)][usize::from(lower)])
    }
}
