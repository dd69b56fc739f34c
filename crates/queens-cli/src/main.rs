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

/// Where the stack of the first thread may not grow as usual (`ulimit -s`), the program runs on a
/// thread with one of its own, if there is a thread to be had.
fn main() -> ExitCode {
    const STACK_BYTES: usize = 8 << 20;
    let thread = std::thread::Builder::new().name("main".into()).stack_size(STACK_BYTES);
    let running = os::has_small_stack().then(|| thread.spawn(cli::main));
    match running {
        // A panic has ended the process.
        Some(Ok(running)) => running.join().unwrap_or(ExitCode::FAILURE),
        Some(Err(_)) | None => cli::main(),
    }
}
