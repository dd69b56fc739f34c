//! The program: command line, servers, disk, terminal.
//!
//! This crate knows the world: sockets, files, clocks, threads, signals and people. It deliberately
//! decides nothing about what may be counted, lent or accepted: that is `farm`'s; and it counts
//! nothing itself: that is `count`'s.
#![forbid(unsafe_code)]

mod answer;
mod bench;
mod bundle;
mod cli;
mod compare;
mod coordinator;
mod draw;
mod endpoint;
mod estimate;
mod failure;
mod ledger;
mod local;
mod memory;
mod merge;
mod output;
mod progress;
#[cfg(test)]
mod simulation;
mod token;
mod worker;

pub use cli::main;
