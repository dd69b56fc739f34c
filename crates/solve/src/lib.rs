//! One placement, or all of them: construction, completion, listing, and the algorithms by which the
//! literature knows the problem.
//!
//! This crate knows how queens are placed on a board of any size. It deliberately knows nothing of
//! tasks and weights (`count`), of who counts (`farm`), or of files and terminals (`queens`). What it
//! finds are [`Placement`]s, whole boards; numbers it finds too are there to check those of `count`,
//! with which it shares no code.

#![forbid(unsafe_code)]

pub mod classical;
pub mod forced;
mod placement;

pub mod states;

pub use placement::Placement;
