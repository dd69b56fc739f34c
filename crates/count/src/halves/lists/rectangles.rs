//! The half-boards of a window of numbers, as pairs of quarters.
//!
//! Quarters are in the order of their numbers, so a window of [`Shares`](board::halves::Shares) is
//! a few rectangles of pairs:
//!
//! ```text
//!                         lower quarter's number
//!                          0 ..  | b | ..  | a | ..
//!   upper     ..           -       -   -     -   -      the window is from Bb to Aa
//!   quarter's B            -       t   w     w   w      w: whole, t: ties
//!   number    B+1 .. A-1   w       w   w     w   w
//!             A            w       w   w     t   -
//! ```

use std::ops::Range;

use board::halves::Window;

use crate::halves::quarters::Place;

/// All pairs of an upper and a lower quarter with numbers in these ranges.
pub(crate) struct Rectangle {
    pub(crate) upper: Range<u32>,
    pub(crate) lower: Range<u32>,
}

/// The half-boards in a window, as pairs of quarters.
pub(crate) struct Rectangles {
    pub(crate) whole: Vec<Rectangle>,
    pub(crate) ties: Vec<Rectangle>,
    /// The numbers of ones that an upper quarter's number can have, as bits.
    ones: u32,
}

impl Rectangles {
    /// The rectangles of a window of half-boards of `half` rows.
    pub(crate) fn new(Window { below, above }: Window, half: u32) -> Rectangles {
        let (upper_rows, lower_rows) = (Place::Upper.rows(half), Place::Lower.rows(half));
        let all = 1 << lower_rows;
        // No half-board has the number -1. The arithmetic shift makes it the highest number below
        // upper 0.
        let split = |number: i32| (number >> lower_rows, number as u32 & (all - 1));
        let ((below, below_low), (above, above_low)) = (split(below), split(above));
        let mut rectangles = Rectangles { whole: Vec::new(), ties: Vec::new(), ones: 0 };
        let mut add = |whole: bool, upper: Range<i32>, lower: Range<u32>| {
            let upper = upper.start.max(0) as u32..upper.end.clamp(0, 1 << upper_rows) as u32;
            if !upper.is_empty() && !lower.is_empty() {
                rectangles.ones |=
                    upper.clone().fold(0, |ones, number| ones | 1 << number.count_ones());
                let to = if whole { &mut rectangles.whole } else { &mut rectangles.ties };
                to.push(Rectangle { upper, lower });
            }
        };
        let one = |number: i32| number..number + 1;
        if below == above {
            add(true, one(above), below_low + 1..above_low);
        } else if below < above {
            add(true, below + 1..above, 0..all);
            add(true, one(below), below_low + 1..all);
            add(true, one(above), 0..above_low);
        }
        if (below, below_low) <= (above, above_low) {
            add(false, one(above), above_low..above_low + 1);
        }
        if (below, below_low) < (above, above_low) {
            add(false, one(below), below_low..below_low + 1);
        }
        rectangles
    }

    /// Whether there can be a half-board whose upper quarter has this many ones in its number. This
    /// is the number of its queens in the columns that are looked at.
    pub(crate) fn may_hold(&self, ones: u32) -> bool {
        self.ones >> ones & 1 == 1
    }
}
