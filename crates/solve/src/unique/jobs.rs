//! The direct search in jobs, one for each pair of queens in the first two rows.
//!
//! The MC# project cut N = 26 in this way into 277 jobs (mcsharp.net/nqueens.html, 2009): 23 with a queen in
//! the corner, and for the first queen 1 to 12 squares from it 23 and then 21 jobs each.

use board::ones;

use super::{Orbits, UNIQUE_MAX};

/// The boards of the direct search that have these queens in rows 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    n: u32,
    /// Column of the queen in row 0, less than half of N. In column 0 it stands in the corner.
    pub first: u32,
    /// Column of the queen in row 1.
    pub second: u32,
}

/// The jobs of a board of size `n`, in the order of their queens. For N of 2 or more their totals add up to
/// that of the board; smaller boards have no second row and no jobs.
///
/// # Panics
///
/// If `n` is greater than 32.
#[must_use]
pub fn jobs(n: u32) -> Vec<Job> {
    assert!(n <= UNIQUE_MAX, "a board of size {n}: the direct search takes sizes up to 32");
    let of_first = |first| {
        let seconds: Vec<u32> = match first {
            // A queen in the last column would attack that of column 1, which cannot be nearer.
            0 => (2..n.saturating_sub(1)).collect(),
            _ => {
                let mut orbits = Orbits::new(n);
                orbits.open(&[first]);
                orbits.search.map_or_else(Vec::new, |search| ones(search.allowed[1]).collect())
            }
        };
        seconds.into_iter().map(move |second| Job { n, first, second })
    };
    (0..n / 2).flat_map(of_first).collect()
}

impl Job {
    /// The number of placements that the job stands for: the sizes of the orbits that it finds.
    #[must_use]
    pub fn total(self) -> u128 {
        let mut orbits = Orbits { next: None, ..Orbits::new(self.n) };
        orbits.open(&[self.first, self.second]);
        std::iter::from_fn(|| orbits.advance()).map(u128::from).sum()
    }
}
