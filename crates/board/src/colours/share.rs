//! How often a task counts each of its boards, so that the eight images of a board count as eight.
//!
//! Let f(S, S2) be the number of boards whose split is S and whose transposed board has the split
//! S2. Reading rows or columns from the other end and transposing map boards to boards, so
//!
//! ```text
//!   f(S, S2) = f(S2, S)                               every N
//!   f(S, S2) = f(rev S, ~S2) = f(~S, rev S2)          N even: a reflection exchanges even and odd lines
//!   f(S, S2) = f(rev S, S2)  = f(S, rev S2)           N odd: a reflection keeps them
//! ```
//!
//! The *class* of a split is the set of its images: itself, its reverse, and for even N the
//! complements of both. Classes are numbered by their least member, in the order of k, the number
//! of black even lines, then of the odd lines, then of the even lines. This is not the order of
//! tasks for even N. The least split of a class is canonical; it is the task for all splits of its
//! class, and its weight is their number. A board of the task S counts
//!
//! ```text
//!   0, 1 or 2    if the class of S2 is numbered below, equal to or above the class of S
//!   N odd        that times 0, if S2 is not canonical, and otherwise times the number of splits in its class
//! ```
//!
//! *Proof that the sum of weight x share x f is Q(N).* By the second and third line, each image of
//! S has the same sum of f over the S2 of any one class, so the weight stands for all S of a class.
//! By the first line, the boards with (S, S2) and with (S2, S) are equally many. Only those with
//! the lesser class first are counted, so they count twice, and those with equal classes once. For
//! odd N, S2 may be reversed while S stays, so all S2 of one class have equal counts, and the
//! canonical one counts for all of them.
//!
//! Equivalently, weight x share, added up over the eight images of any board, is eight. A test says
//! so for every board up to N = 11 and for random boards beyond.

use std::ops::RangeInclusive;

use super::{Split, odd_lines};
use crate::full_mask;

/// The class of a split, as the number of its least member. Its order is that of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Class(u64);

impl Split {
    /// The place of the split among those with as many even lines: by the odd lines, then by the
    /// even ones.
    #[inline(always)]
    const fn place(self) -> u32 {
        self.odd << 16 | self.even
    }

    /// The class of the split, for a board of size `n`.
    #[must_use]
    #[inline(always)]
    pub fn class(self, n: u32) -> Class {
        let k = self.odd.count_ones() + n % 2;
        let reversed = self.reversed(n);
        if n % 2 == 1 {
            return Class::new(k, self.place().min(reversed.place()));
        }
        // The reverse has N/2 - k black even lines, and so has the complement.
        let own = self.place().min(reversed.complement(n).place());
        let others = reversed.place().min(self.complement(n).place());
        let other = n / 2 - k;
        Class::new(k, own).min(Class::new(other, others))
    }

    /// Whether the split is the least of its class, so that it can be a task.
    #[must_use]
    pub fn is_canonical(self, n: u32) -> bool {
        self.class(n) == Class::new(self.even.count_ones(), self.place())
    }

    /// The number of splits in the class: 2 or 4 for even N, 1 or 2 for odd N.
    #[must_use]
    pub fn weight(self, n: u32) -> u8 {
        let reversed = self.reversed(n);
        if n % 2 == 1 {
            return if reversed == self { 1 } else { 2 };
        }
        // No split is its own complement.
        if [reversed, reversed.complement(n)].contains(&self) { 2 } else { 4 }
    }
}

impl Class {
    #[inline(always)]
    const fn new(k: u32, place: u32) -> Class {
        Class((k as u64) << 32 | place as u64)
    }

    /// Its number: k, then 16 bits of the odd lines and 16 bits of the even lines of the least
    /// split.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The odd lines of the class's least split.
    #[must_use]
    pub const fn odd(self) -> u32 {
        (self.0 >> 16) as u32 & 0xffff
    }
}

/// How often a board counts for a task of a board of size `n`: 0, 1 or 2, and for odd N also 4.
///
/// `class` is that of the task's split. `transposed` is the split of the transposed board: the
/// columns that hold black queens.
#[must_use]
#[inline(always)]
pub fn share(n: u32, class: Class, transposed: Split) -> u32 {
    let other = transposed.class(n);
    let times = u32::from(other >= class) + u32::from(other > class);
    if n.is_multiple_of(2) {
        return times;
    }
    // 2 if it is less than its reverse, and so the canonical one of two; 1 if it is the only one.
    let (own, reversed) = (transposed.place(), transposed.reversed(n).place());
    times * (u32::from(own <= reversed) + u32::from(own < reversed))
}

/// The bounds of the sets of odd columns of black queens with which boards of a task can have a
/// share, for a board of size `n`. For odd N, a set within the bounds gives no share if it is
/// greater than its reverse.
///
/// Let a be the odd lines of the least split of the task's class, and ~a its complement. A board
/// whose black queens take the odd columns c and the even columns d has a share by the class of S2
/// = (c, d), which is numbered by its images. So boards with these sets can have a share, and no
/// others:
///
/// ```text
///   N odd     a <= c <= rev c                     inside: share 4
///   N even    c and rev d, with k lines each,     inside: share 2
///               2k < N/2    at least a
///               2k = N/2    at least a, at most ~a
///               2k > N/2    at most ~a
/// ```
///
/// For odd N the odd lines of the images of S2 are c and rev c. For even N those of the images with
/// k black even lines are c and rev d, and those of the images with N/2 - k are ~c and ~rev d; the
/// least image is one of those with fewer, or any if 2k = N/2. If the odd lines of all of these
/// exceed a, the class of S2 is above that of the task. If one is less than a, it is below. If the
/// least of them equals a, the even lines decide.
#[must_use]
pub fn share_bounds(n: u32, split: Split) -> RangeInclusive<u32> {
    let all = full_mask(odd_lines(n));
    let least = split.class(n).odd();
    let (twice_k, half) = (2 * split.even.count_ones(), n / 2);
    if n % 2 == 1 || twice_k < half {
        least..=all
    } else if twice_k > half {
        0..=all & !least
    } else {
        least..=all & !least
    }
}
