//! N non-attacking queens on an N x N board: counted, listed, found and completed.
//!
//! ```
//! use queens::{Problem, Start, complete, count, solutions, solve};
//!
//! // How many placements there are: of eight queens, and of eleven on a torus.
//! assert_eq!(count(8)?, 92);
//! assert_eq!(count(Problem::Toroidal { n: 11 })?, 88);
//!
//! // The first three of ten queens, by the column of each row's queen.
//! for placement in solutions(10).take(3) {
//!     println!("{placement}");
//! }
//!
//! // One of a thousand queens, and one that has a queen on a1 and no queen on b3.
//! assert_eq!(solve(1000)?.n(), 1000);
//! let start = Start::new(8, &["a1".parse()?])?.blocking(&["b3".parse()?])?;
//! let placement = complete(&start).expect("there is one");
//! assert!(start.admits(&placement));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which function
//!
//! | you want | of | use | up to N = |
//! |---|---|---|---|
//! | the number of placements | a [`Problem`] | [`count()`] | 32 |
//! | the same with progress, a stop flag or fewer threads | a [`Problem`] | [`Counting`] | 32 |
//! | one of several parts of it, for each process of a cluster | a [`Problem`] and a [`Shard`] | [`Counting::shard`] | 32 |
//! | the number around given queens | [`Problem::completions`] | [`count()`] | 64 |
//! | the number up to symmetry, and of each symmetry | [`Problem::Fundamental`] | [`Counting`], [`Answer::census`] | 32 |
//! | the number with blocked squares, or of other rules around given queens | a [`Start`] | [`solutions()`]`.count()` | any |
//! | all placements, or the first ones | a size, [`Problem`] or [`Start`] | [`solutions()`] | any |
//! | the same with pauses, in which the search can be given up | a [`Solutions`] | [`Solutions::next_within`] | any |
//! | one placement of each orbit | a size or a [`Start`] | [`Solutions::fundamental`] | any |
//! | one placement | a size | [`solve()`] | 10^8 |
//! | its columns without holding them, or one on a torus | a size | [`Construction`] | 10^8 |
//! | a random placement | a size | [`random_placement`] | any |
//! | a placement around given queens, or none | a [`Start`] | [`complete()`] | any |
//! | the same with a stop and a seed | a [`Start`] | [`complete_until`] | any |
//! | to read or write placements | a text | [`str::parse`], [`Notation`], [`read_queens`] | any |
//! | to check queens | squares or columns | [`attack`], [`is_placement`], [`Placement::new`] | any |
//! | to turn and mirror placements | a [`Placement`] | [`Placement::image`], [`Placement::orbit`] | any |
//!
//! "Any" means any size that fits in memory. Each function says how long it takes.
//!
//! # Given queens
//!
//! [`Start`] has given queens, blocked squares and [`Rules`] on a board of any size;
//! [`solutions()`] and [`complete()`] take it. [`count()`] takes a [`Problem`], which is small
//! enough to be sent to other machines.
//!
//! # Threads and memory
//!
//! A count takes all processors and some MB for each thread. [`Counting::threads`] asks for less.
//! Everything else runs on the caller's thread, and so does a count on one thread, so that it runs
//! where there are no threads, as in WebAssembly.
//!
//! # Rust versions
//!
//! Rust 1.89 or newer. A newer Rust is required only with a new minor version.
//!
//! # Below this crate
//!
//! It is a selection from `queens-count`, `queens-solve` and `queens-board`. These also have what a
//! farm of many machines needs, and change with it.

#![forbid(unsafe_code)]

pub use board::{Census, Given, NoShard, PlanError, Problem, Shard, Square, SquaresError};
pub use count::{
    Answer, AnswerError, Backend, CountError, Counted, Counting, CountingError, KernelError,
    MissingBackend, Progress, SelfTestError, UnknownBackend, count,
};
pub use solve::{
    Completion, ConstructError, Construction, Notation, NotationError, Placement, QueensRead,
    Rules, Solutions, Start, Symmetry, SymmetryClass, attack, complete, complete_until,
    is_placement, random_placement, read_queens, solutions, solve,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
