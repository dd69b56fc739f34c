//! The known counts of `vectors/counts.json` and the figures of `vectors/sources.json`, built into
//! the program.
//!
//! The farm compares totals with the counts. Tests take numbers from here, so that no known count
//! is written down twice. Every value in the files names its source.
#![forbid(unsafe_code)]

mod sources;

pub use sources::{Figure, Source, figures};

use std::sync::LazyLock;

use serde::Deserialize;

#[derive(Deserialize)]
struct Counts {
    total: Values,
    fundamental: Values,
    centrosymmetric: Values,
    quarter_turn: Values,
    toroidal: Values,
    superqueens: Values,
    prefixes: Vec<Polynomial>,
    ring_two_tasks: Values,
}

/// A known count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// The count.
    pub value: u128,
    /// The publication.
    pub source: &'static str,
}

#[derive(Deserialize)]
struct Values {
    source: String,
    first: u32,
    values: Vec<String>,
}

#[derive(Deserialize)]
struct Polynomial {
    rows: u32,
    from_n: u32,
    polynomial: Vec<i128>,
}

static COUNTS: LazyLock<Counts> = LazyLock::new(|| {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/counts.json"));
    serde_json::from_str(text).expect("vectors/counts.json holds the known counts")
});

impl Values {
    fn known(&'static self, n: u32) -> Option<Known> {
        let value = self.values.get(usize::try_from(n.checked_sub(self.first)?).ok()?)?;
        Some(Known { value: value.parse().expect("counts are decimal"), source: &self.source })
    }

    fn at(&'static self, n: u32) -> u128 {
        self.known(n).unwrap_or_else(|| panic!("no count for N = {n} is known")).value
    }
}

/// Two functions for each sequence: one whose result is `None` where no count is known, and one that panics there.
macro_rules! sequences {
    ($($(#[$about:meta])* $sequence:ident, $known:ident;)*) => {$(
        $(#[$about])*
        ///
        /// Panics if no count is known for `n`.
        pub fn $sequence(n: u32) -> u128 {
            COUNTS.$sequence.at(n)
        }

        $(#[$about])*
        ///
        /// `None`, if no count is known for `n`.
        pub fn $known(n: u32) -> Option<Known> {
            COUNTS.$sequence.known(n)
        }
    )*};
}

sequences! {
    /// Q(n), the number of placements of `n` queens (A000170), for `n` up to 27.
    total, known_total;
    /// Number of placements up to the symmetries of the square (A002562), for `n` from 1 to 27.
    fundamental, known_fundamental;
    /// Number of placements that the half turn fixes (A032522), for `n` from 1 to 32.
    centrosymmetric, known_centrosymmetric;
    /// Number of placements that the quarter turn fixes (A033148), for `n` from 1 to 33.
    quarter_turn, known_quarter_turn;
    /// Number of placements on a torus (A007705), for `n` from 1 to 34.
    toroidal, known_toroidal;
    /// Number of placements of queens that also move as knights (A051223), for `n` from 10 to 26.
    superqueens, known_superqueens;
}

/// The number of orbits, under the symmetries of the square, of the ways to fill the two outer
/// rings of a board of size `n` (16 to 27).
pub fn ring_two_tasks(n: u32) -> u64 {
    COUNTS.ring_two_tasks.at(n) as u64
}

/// The number of ways to place queens in the first `rows` rows of a board of size `n`, without
/// removing symmetry. `None` if no closed form is known.
pub fn prefixes(n: u32, rows: u32) -> Option<u128> {
    let known = COUNTS.prefixes.iter().find(|it| it.rows == rows && it.from_n <= n)?;
    let terms = known.polynomial.iter();
    let value = terms.fold(0, |sum, coefficient| sum * i128::from(n) + coefficient);
    Some(u128::try_from(value).expect("a count is not negative"))
}
