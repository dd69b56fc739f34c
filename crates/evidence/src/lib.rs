//! Bundles: the evidence of a job as one text file, which anybody can check.
//!
//! This crate knows the lines of a bundle, how they fit together, how to count a sample of them
//! again, and what follows from that. It deliberately knows nothing about databases or the network:
//! [`export()`] gets its rows from a function, and [`check()`] reads a file. `docs/BUNDLE.md`
//! specifies the format for other programs.
//!
//! ```text
//!   line 1      the header: plan, total, number of lines of each kind
//!   then        policy       what was to be counted twice
//!               trust        somebody was distrusted, or trusted again
//!               author       who counted; it precedes the first count that names it
//!               range        an accepted count: author, time, digest, the count of each task
//!               audit        a second count of the range before it
//!               dispute      a count that was contradicted, overruled or invalidated
//! ```
//!
//! Each line is a JSON object with one spelling. The BLAKE3 hash of the text is the bundle's name.

#![forbid(unsafe_code)]

mod canonical;
mod check;
mod confirmations;
mod draw;
mod export;
mod format;
mod header;
mod lines;
mod new_file;
mod recount;
mod reports;
mod running;
mod verdict;

pub use check::{Checked, UnknownFormat, check};
pub use confirmations::{Amount, Confirmations};
pub use draw::{Drawn, Sample, Seed, Unit};
pub use export::{Exported, export, summary, text};
pub use format::{Lines, StatedAuthor, StatedPolicy, StatedRow};
pub use header::Header;
pub use lines::{BundleChanged, open_file, open_file_itself};
pub use new_file::{NewFile, WrittenFile, gzip};
pub use recount::{RecountEffort, Recounted, recount};
pub use reports::reports;
pub use running::Content;
pub use verdict::Verdict;
