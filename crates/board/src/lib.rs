//! Counting problems of the N-queens family, and how they are cut into tasks.
//!
//! A [`Problem`] says what is counted, and a [`Method`] says how it is cut into tasks. Together
//! they make a [`PlanIndex`]: the list of tasks in a fixed order, of which any range can be made
//! without the tasks before it. The answer to the problem is the sum of weight times completions
//! over all tasks.
//!
//! ```
//! use queens_board::{PlanIndex, Method, Problem, Task};
//!
//! let problem = Problem::Total { n: 27 };
//! let index = PlanIndex::new(problem, Method::Rows { rows: 6 })?;
//! assert_eq!(index.len(), 33_879_091);
//!
//! // Ten tasks from the middle: the masks of the first six rows, and how many boards each stands for.
//! let tasks = index.tasks(17_000_000..17_000_010)?;
//! let Task { record, weight } = tasks[0];
//! assert_eq!((record.down.count_ones(), weight), (6, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate `queens` counts, lists and finds placements: begin there. `queens-count` counts tasks,
//! and `queens-solve` finds placements one by one. This crate, `queens-count` and `queens-solve`
//! change with the farm that uses them.
//!
//! This crate knows the geometry of an N x N board of queens and what each method is like. It
//! deliberately does not know how a task is counted, on which machine, or how tasks are sent. It
//! does no I/O, and depends on no other crate of the workspace.
//!
//! # Masks
//!
//! A set of columns is a `u32`, in which bit `c` is column `c`; boards therefore have at most
//! [`MAX_N`] = 32 columns. A [`Prefix`] is the board after its first M rows, as row M sees it:
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
//! Tasks of the other methods hold something else in the same three words; [`TaskKind`] lists what.

#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]

mod bound;
mod census;
pub mod colours;
pub mod first_rows;
mod given;
mod method;
mod plan_index;
mod prefix;
mod problem;
pub mod rows;
mod shard;
pub mod squares;
pub mod symmetry;
mod tasks;

pub use bound::most_per_task;
pub use census::{Census, CensusError};
pub use given::Given;
pub use method::{Method, MethodChoice, MethodOf};
pub use plan_index::{PlanError, PlanIndex, RangeError};
pub use prefix::{MAX_N, Prefix, bits, full_mask, low_bits, ones};
pub use problem::Problem;
pub use shard::{NoShard, Shard, equal_block};
pub use squares::{Square, SquaresError};
pub use tasks::{Task, TaskKind};
