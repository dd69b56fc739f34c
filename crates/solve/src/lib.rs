//! One placement, or all of them: construction, completion, listing, and the algorithms by which the
//! literature knows the problem.
//!
//! This crate knows how queens are placed on a board of any size. It deliberately knows nothing of
//! tasks and weights (`count`), of who counts (`farm`), or of files and terminals (`queens`). What it
//! finds are [`Placement`]s, whole boards; numbers it finds too are there to check those of `count`,
//! with which it shares no code.

#![forbid(unsafe_code)]

pub mod arrays;
mod bits;
mod check;
pub mod classical;
mod construct;
pub mod forced;
mod listing;
mod notation;
mod placement;
mod random;
mod search;
pub mod states;
mod symmetry;
mod unique;

pub use check::is_placement;
pub use construct::{ConstructError, Construction};
pub use listing::Listing;
pub use notation::{Notation, NotationError, read_queens};
pub use placement::Placement;
pub use search::{Completion, Start, complete, random_placement};
pub use symmetry::{Symmetry, SymmetryClass};
pub use unique::{UNIQUE_MAX, census, unique};
