//! The program: words in, one result out.
//!
//! This crate knows people: options, exit codes, progress bars, tables and pictures. It deliberately
//! serves nothing itself (that is `service`'s), stores nothing (`ledger`) and counts nothing
//! (`executor`).
#![forbid(unsafe_code)]

mod answer;
mod cli;
mod compare;
mod draw;
mod failure;
mod output;
mod progress;

pub use cli::main;
