//! Placements of N queens: construct one, complete one, list all.
//!
//! ```
//! use std::ops::ControlFlow;
//! use queens_solve::{Construction, Listing, Notation, is_placement};
//!
//! // One placement of a million queens, without a search.
//! let million = Construction::new(1_000_000)?;
//! assert!(is_placement(million.n(), million.columns()));
//!
//! // The first placement of eight queens in the order of the list.
//! let first = Listing::new(8, vec![])?.visit(|placement| ControlFlow::Break(placement.clone()));
//! let first = first.break_value().expect("there are placements");
//! assert_eq!(Notation::Permutation.of(&first).to_string(), "1 5 8 6 3 7 2 4");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`complete`] finds a placement around queens that stand already, or proves that there is none.
//! [`Placement`] tells its symmetries and its orbit. [`unique()`] finds one placement of each orbit, and
//! [`arrays`] lists those of boards of any size.
//!
//! This crate knows how queens are placed on a board of any size. It deliberately knows nothing of
//! tasks and weights, of who counts, or of files and terminals.
//!
//! # Features
//!
//! `serde`, off by default, implements `Serialize` and `Deserialize` for [`Placement`] and for the types
//! of [`board`].

#![forbid(unsafe_code)]

pub mod arrays;
mod bits;
mod board_size;
mod check;
mod construct;
mod listing;
mod notation;
mod placement;
mod random;
mod reading;
mod search;
mod symmetry;
mod unique;

pub use board;
pub use board_size::BoardTooLarge;
pub use check::{Rules, attack, is_placement};
pub use construct::{ConstructError, Construction};
pub use listing::{Listing, first_rows, ways};
pub use notation::Notation;
pub use placement::Placement;
pub use reading::{NotationError, boards, read_queens, read_ranks};
pub use search::{Completion, Effort, Opening, Start, complete, complete_within, random_placement};
pub use symmetry::{Symmetry, SymmetryClass};
pub use unique::{Job, JobSizes, UNIQUE_MAX, census, jobs, unique};
