//! The program `queens`: arguments in, one result out.
//!
//! This crate knows what a user sees: options, exit codes, progress bars and tables. It
//! deliberately does not serve (`service` does), store (`ledger` does), count (`executor` does) or
//! draw (`solve` does).
#![forbid(unsafe_code)]
#![recursion_limit = "256"] // the JSON of a job has so many fields

mod advice;
mod answer;
mod cli;
mod failure;
mod os;
mod output;
mod progress;
mod stderr;
mod table;
mod terminal;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
