//! The algorithms with which textbooks count placements, each in one short file.
//!
//! They fill the board row by row, and differ in how they find free squares:
//!
//! | module | how a free square is found | squares tried at N = 8 |
//! |---|---|---|
//! | [`direct`] | the new queen is compared with each earlier one | 15,720 |
//! | [`arrays`] | three boolean arrays: columns and both directions of diagonals | 15,720 |
//! | [`stack`] | the same arrays, without recursion | 15,720 |
//! | [`permutations`] | only free columns are tried, two arrays for the diagonals | 5,508 |
//! | [`masks`] | three words of bits give all free squares of a row at once | 2,056 |
//! | [`mirror`] | the same words, for one of every two mirror images | 1,028 |
//! | [`flip`] | the same words, for one of every two images in the horizontal axis | 2,010 |
//! | [`flip::count_with_mirror`] | the same words, for one of every four images in both axes | 1,009 |
//!
//! All but the last three place the same 2,056 queens. Together with the empty board, these are the
//! 2,057 nodes of the tree in Knuth, "Estimating the Efficiency of Backtrack Programs" (Mathematics
//! of Computation 29, 1975) and in "The Art of Computer Programming" 4B, section 7.2.2.
//!
//! [`ladder`] counts without a search. Textbooks present this first.

pub mod arrays;
pub mod direct;
pub mod flip;
pub mod ladder;
pub mod masks;
pub mod mirror;
pub mod permutations;
pub mod stack;

/// The result of a search, and its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Searched {
    /// Number of placements of N queens. For N = 0 the empty board is one.
    pub total: u64,
    /// Number of squares on which a queen was tried, whether or not another queen attacks it there.
    pub tries: u64,
    /// Number of queens placed: tries that no earlier queen attacks. Each is a partial placement.
    pub nodes: u64,
}
