//! What is counted: masks, prefixes, and the enumeration of tasks in a fixed order.
//!
//! This crate knows the geometry of an N x N board of queens and how a method cuts the counting of
//! it into tasks: [`rows`] places the first rows, [`ring`] the outermost rows and columns. It
//! deliberately knows nothing of how a task is counted (`count`), who counts it (`farm`), or how
//! tasks travel (`wire`); it does no I/O, and depends on no other crate of the workspace.
//!
//! # Masks
//!
//! A set of columns is a `u32`; bit `c` is column `c`, so that boards reach [`MAX_N`] = 32. A
//! [`Prefix`] is the board after its first M rows, seen from row M:
//!
//! ```text
//!   N = 5, two queens placed      column   4 3 2 1 0
//!                                 row 0    . . . Q .
//!                                 row 1    . Q . . .
//!   what row 2 sees               row 2    L B R D .     B: both left and down
//!
//!   left  = 1 1 0 0 0   attacked along diagonals that lead to higher columns
//!   down  = 0 1 0 1 0   columns that hold a queen
//!   right = 0 0 1 0 0   attacked along diagonals that lead to lower columns
//!   free  = 0 0 0 0 1   none of the three
//! ```
//!
//! From one row to the next `left` moves one bit up, `right` one bit down, and `down` stays.
//!
//! A task of [`ring`] is no such state. It travels in the same three words, as the squares of its
//! queens ([`ring::Preplacement`]), and so does one of [`first_rows`].

#![forbid(unsafe_code)]

pub mod first_rows;
pub mod halves;
mod method;
mod prefix;
mod problem;
pub mod ring;
pub mod rows;
pub mod squares;
mod tasks;

pub use method::{Cut, CutError, Method, MethodChoice};
pub use prefix::{MAX_N, Prefix, full_mask};
pub use problem::{Given, GivenError, Problem};
pub use squares::{Square, SquaresError};
pub use tasks::{TaskSlice, Tasks};
