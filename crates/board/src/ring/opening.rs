//! The canonical preplacements that begin with the same two sides.
//!
//! If the first side is less than the other sides and than all mirror images, its own included, then every
//! other image of the four sides is larger. They are canonical with weight 8, and nothing needs to be
//! compared. Otherwise there is a tie, and the images are compared.

use super::sides::{Set, Sides};
use crate::Task;

/// The first two sides, and the sets of sides that can follow them.
pub(super) struct Opening<'a> {
    sides: &'a Sides,
    first: usize,
    second: usize,
    thirds: Set,
    /// The sides that can be last if they also fit the third side.
    lasts: Set,
    /// The first side and its mirror image.
    least: Set,
    /// Whether the first two sides are a tie already.
    tie: bool,
}

impl Opening<'_> {
    pub(super) fn new(sides: &Sides, first: usize, second: usize) -> Opening<'_> {
        let (mirrored, not_less) = (sides.mirror[first], &sides.not_less[first]);
        let least = Set::from_iter([first, mirrored]);
        Opening {
            sides,
            first,
            second,
            thirds: not_less.and(&sides.across[first]).and(&sides.next[second]),
            lasts: not_less.and(&sides.previous[first]).and(&sides.across[second]),
            least,
            tie: first == mirrored || least.contains(second),
        }
    }

    pub(super) fn tasks(&self) -> u64 {
        self.thirds.iter().map(|third| self.canonical(third).len()).sum()
    }

    /// Skips `skip` tasks, appends up to `take` to `out`, and returns how many it has appended.
    pub(super) fn fill(&self, mut skip: u64, take: u64, out: &mut Vec<Task>) -> u64 {
        let mut left = take;
        for third in self.thirds.iter() {
            if left == 0 {
                break;
            }
            let lasts = self.canonical(third);
            let tasks = lasts.len();
            let passed = skip.min(tasks);
            let taken = left.min(tasks - passed);
            for last in lasts.iter().skip(passed as usize).take(taken as usize) {
                let sides = [self.first, self.second, third, last];
                let record = self.sides.preplacement(sides).pack();
                // Other images of sides that are no tie are larger.
                let weight = if self.ties(third) || self.least.contains(last) {
                    self.sides.orbit(sides).expect("it is canonical")
                } else {
                    8
                };
                out.push(Task { record, weight });
            }
            skip -= passed;
            left -= taken;
        }
        take - left
    }

    /// The last sides that make a canonical preplacement with this third side.
    fn canonical(&self, third: usize) -> Set {
        let mut canonical = self.lasts.and(&self.sides.next[third]);
        let ties = if self.ties(third) { canonical } else { canonical.and(&self.least) };
        for last in ties.iter() {
            if self.sides.orbit([self.first, self.second, third, last]).is_none() {
                canonical.remove(last);
            }
        }
        canonical
    }

    /// Whether the first three sides are a tie.
    fn ties(&self, third: usize) -> bool {
        self.tie || self.least.contains(third)
    }
}
