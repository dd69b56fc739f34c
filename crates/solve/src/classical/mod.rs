//! The algorithms by which textbooks count the placements: one short file each, to be read first.
//!
//! They fill the board row by row and differ in how they know which squares are free:
//!
//! | module | how a square is known to be free | squares tried at N = 8 |
//! |---|---|---|
//! | [`direct`] | the new queen is held against each earlier one | 15,720 |
//! | [`arrays`] | three boolean arrays: columns and both diagonals | 15,720 |
//! | [`stack`] | the same arrays, no recursion | 15,720 |
//! | [`permutations`] | only free columns are tried, two arrays for the diagonals | 5,508 |
//! | [`masks`] | three words of bits give all free squares of a row at once | 2,056 |
//! | [`mirror`] | the same words, one of every two mirror images | 1,028 |
//!
//! All but `mirror` place the same 2,056 queens. With the empty board they are the 2,057 nodes of the
//! tree in Knuth, "Estimating the Efficiency of Backtrack Programs" (Mathematics of Computation 29,
//! 1975) and in "The Art of Computer Programming" 4B, section 7.2.2.

pub mod arrays;
pub mod direct;
pub mod masks;
pub mod mirror;
pub mod permutations;
pub mod stack;

/// What a search found, and what it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Searched {
    /// The placements of N queens; the empty board is one, for N = 0.
    pub total: u64,
    /// Squares that a queen was put on for trial, whether or not another attacks it there.
    pub tries: u64,
    /// Queens placed: tries that no earlier queen attacks, each a partial placement that is reached.
    pub nodes: u64,
}
