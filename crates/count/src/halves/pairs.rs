//! Which pairs of half-boards are counted: all, all but class by class, or those of one class.
//!
//! A class ([`Class`]) says which of three diagonals each half has a queen on. So each half-board has a *pattern*
//! of three bits, and a class is a pair of patterns.
//!
//! ```text
//!   class by class   the three diagonals are the highest bits of a code's low part: the join takes the upper
//!                    halves of one pattern after those of another, and nothing else changes
//!   one class        quarters are placed without the squares of diagonals on which the half has no queen; of the
//!                    half-boards that they make, those stay that have a queen on each of the others
//! ```
//!
//! With one class all half-boards of a list have one pattern, so that their codes need no bits for it.

use board::Prefix;
use board::halves::{CLASS_DIAGONALS, Class, Diagonal, Split};

use super::geometry::{Code, key};
use super::quarters::Half;

/// Which pairs are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairs {
    /// All pairs, as one sum.
    Together,
    /// All pairs, with a sum for each class.
    ByClass,
    /// The pairs of one class.
    Of(Class),
}

/// The half-boards of one pattern, by bits of their keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// The diagonals on which no queen stands.
    pub(crate) without: u64,
    /// The diagonals on which queens stand.
    pub(crate) having: u64,
}

impl Pairs {
    /// The code of boards of size `n`.
    ///
    /// The bits of a code that tell patterns apart are bits of its low part, and there is a bit for as many
    /// diagonals as without classes.
    pub(crate) fn code(self, n: u32) -> Code {
        let code = Code::of(n);
        let classed = CLASS_DIAGONALS as u32;
        let low = code.low.max(classed);
        let high = (code.low + code.high).saturating_sub(low);
        match self {
            Pairs::Together => code,
            Pairs::ByClass => Code { low, high, classed, ..code },
            Pairs::Of(_) => Code { low: low - classed, high, ..code },
        }
    }

    /// The diagonals that tell the classes of a task apart, in their order, as bits of the upper half's keys. There
    /// are none if nothing is said of classes.
    pub(crate) fn diagonals(self, n: u32, split: Split) -> Vec<u32> {
        if self == Pairs::Together {
            return Vec::new();
        }
        let bit = |diagonal: Diagonal| key_of(diagonal.in_upper(n)).trailing_zeros();
        Diagonal::of_task(n, split).into_iter().map(bit).collect()
    }

    /// The half-boards of a task that are listed.
    pub(crate) fn pattern(self, n: u32, split: Split, half: Half) -> Pattern {
        let Pairs::Of(class) = self else { return Pattern::default() };
        let (queens, state): (u32, fn(Diagonal, u32) -> Prefix) = match half {
            Half::Upper => (class.upper(), Diagonal::in_upper),
            Half::Lower => (class.lower(), Diagonal::in_lower),
        };
        let mut pattern = Pattern::default();
        // The first diagonal is the highest bit.
        for (bit, diagonal) in (0..CLASS_DIAGONALS).rev().zip(Diagonal::of_task(n, split)) {
            let has_queen = queens >> bit & 1 == 1;
            let bits = if has_queen { &mut pattern.having } else { &mut pattern.without };
            *bits |= key_of(state(diagonal, n));
        }
        pattern
    }
}

fn key_of(state: Prefix) -> u64 {
    key(state.left, state.right)
}
