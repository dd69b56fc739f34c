//! Placements of N queens: construct one, complete one, list all.
//!
//! ```
//! use queens_solve::{Construction, is_placement, solutions};
//!
//! // One placement of a million queens, without a search.
//! let million = Construction::new(1_000_000)?;
//! assert!(is_placement(million.n(), million.columns()));
//!
//! // The first placement of eight queens in the order of the list.
//! let first = solutions(8).next().expect("there are placements");
//! assert_eq!(first.to_string(), "1 5 8 6 3 7 2 4");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`complete`] finds a placement around queens that stand already, or proves that there is none.
//! A [`Placement`] has symmetries and an orbit, and [`draw`] makes pictures of it. [`census()`]
//! counts the placements of each symmetry by a direct search for one of each orbit.
//!
//! The crate `queens` is a selection from this one and `queens-count`: begin there. This one also
//! has what the program `queens` needs, and changes with it.
//!
//! This crate knows how queens are placed on a board of any size. It deliberately knows nothing of
//! tasks and weights, of who counts, or of files and terminals.

#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]

mod bits;
mod check;
mod construct;
pub mod draw;
mod large;
mod masks;
mod notation;
mod placement;
mod random;
mod reading;
mod search;
mod solutions;
mod symmetry;
mod unique;

pub use board;
pub use check::{Rules, attack, is_placement};
pub use construct::{ConstructError, Construction, solve};
pub use notation::Notation;
pub use placement::Placement;
pub use reading::{NotationError, QueensRead, boards, read_queens, read_ranks};
pub use search::{
    Completion, Effort, Opening, Start, complete, complete_until, complete_within, random_placement,
};
pub use solutions::{Solutions, first_rows, solutions, ways};
pub use symmetry::{Symmetry, SymmetryClass};
pub use unique::{Job, UNIQUE_MAX, census, jobs};
