//! The real ledger on a disk as it really is.
//!
//! A seed decides a history: several lives of a coordinator's ledger, what is written in each, and what the disk does to
//! it. Whether the ledger may hold what it holds, and be refused as it is, [`disk::LedgerOnDisk`] knows.
//!
//! ```text
//!   cargo test -p disk                           300 seeds
//!   QUEENS_DISK_SEEDS=10000 …                    any number of seeds
//!   QUEENS_DISK_SEED=17 … -- --nocapture         one seed, told step by step
//! ```
//!
//! A seed does not decide the random numbers of SQLite and the times in the rows.
// In a test binary everything is within the crate.
#![allow(unreachable_pub)]
#![forbid(unsafe_code)]

mod clients;
mod counts;
mod ending;
mod history;
mod left_in_log;
mod tally;

use std::time::Instant;

use histories::{Both, number_from, run_all};
use history::History;

const SEEDS: u64 = 300;
/// So many histories have every kind of fault in them.
const ENOUGH_SEEDS: u64 = 10_000;

#[test]
fn every_history_ends_exact_or_refused() {
    if let Some(seed) = number_from("QUEENS_DISK_SEED") {
        let tally = History::new(seed, true).live();
        println!("\nseed {seed} ended well\n{tally}");
        return;
    }
    let seeds = number_from("QUEENS_DISK_SEEDS").unwrap_or(SEEDS);
    let begun = Instant::now();
    let tally = run_all(seeds, |seed| History::new(seed, false).live(), replay);
    println!("{seeds} seeds in {:.1} s\n{tally}", begun.elapsed().as_secs_f64());
    if seeds >= ENOUGH_SEEDS {
        // Some outcomes are so rare that a run may do without them; a fault is not.
        let Both(on_disk, ends) = tally;
        let on_disk = disk::Tally { never_begun: 1, mixed_counts: 1, ..on_disk };
        let missing = [on_disk.missing(), ends.missing()].concat();
        assert!(missing.is_empty(), "the simulation is blind, it never saw: {missing:#?}");
    }
}

fn replay(seed: u64) -> String {
    format!("QUEENS_DISK_SEED={seed} cargo test -p disk --test disk -- --nocapture")
}
