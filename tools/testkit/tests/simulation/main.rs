//! Simulates the farm core and the worker's agent in a world of faults.
//!
//! A seed decides a whole history: jobs, workers and all faults. Messages are lost, repeated,
//! delayed and overtaken. Sessions break, and one end may notice much later. Leases expire. Workers
//! hang, die, lie and come back. In some worlds one task of each plan kills every worker that
//! counts it. The clock jumps and stands still. The coordinator crashes between any two effects and
//! restarts from the durable state. Some jobs are counted twice, in part or as a whole. A principal
//! that is proven wrong is distrusted, and what only it has counted is counted again. Then the
//! faults end, and every job must end soon with the exact total. Only a lie that nothing checked
//! may remain, and a job that was counted twice has none.
//!
//! ```text
//!   clients ─requests─►  ┌──────┐ ─commands─►  ledger (first in, first durable)
//!                        │ Farm │
//!   workers ──network──► └──────┘ ◄──time──  a clock that may jump
//!   (Agent)                  ▲
//!                            └── the model checks every event and effect against its own state
//! ```
//!
//! The ledger is the real one, in memory or in a file. A coordinator that crashes leaves the file
//! as a power cut leaves it. In some worlds a coordinator may restart from an older copy of
//! the file, which lacks the latest counts.
//!
//! `exhaustive.rs` tries all histories of tiny farms instead of random ones.
//!
//! ```text
//!   cargo test -p testkit --test simulation      100 seeds
//!   QUEENS_SIM_SEEDS=100000 …                    any number of seeds
//!   QUEENS_SIM_SEED=17 … -- --nocapture          one seed, printed step by step
//!   QUEENS_SIM_BUNDLES=FILE …                    the hashes of the bundles of 200 seeds
//! ```
// Everything in a test binary is within the crate.
#![allow(unreachable_pub)]

mod agenda;
mod attempts;
mod books;
mod bundles;
mod coordinator;
mod coverage;
mod disk;
mod exhaustive;
mod fleet;
mod ledger;
mod lossy;
mod model;
mod network;
mod quiesce;
mod rows;
mod scenario;
mod seeds;
mod snapshot;
mod truth;
mod worker;
mod world;

use std::time::Instant;

use seeds::{number_from, run_all};
use world::World;

const SEEDS: u64 = 100;
/// This many histories contain every kind of fault.
const ENOUGH_SEEDS: u64 = 20_000;

#[test]
fn every_history_ends_with_exact_totals() {
    if let Some(seed) = number_from("QUEENS_SIM_SEED") {
        let coverage = World::new(seed, true).live();
        println!("\nseed {seed} ended well\n{coverage}");
        return;
    }
    let seeds = number_from("QUEENS_SIM_SEEDS").unwrap_or(SEEDS);
    let begun = Instant::now();
    let coverage = run_all(seeds, |seed| World::new(seed, false).live(), replay);
    println!("{seeds} seeds in {:.1} s\n{coverage}", begun.elapsed().as_secs_f64());
    if seeds >= ENOUGH_SEEDS {
        let missing = coverage.missing();
        assert!(missing.is_empty(), "the simulation is blind, it never saw: {missing:#?}");
    }
}

/// These are seeds of histories that once failed. A job without counts had hours (429). A failed
/// task was still held (1371). A process was lost twice with one task (3009). A session was not
/// woken for suspected tasks (7729). The row of a distrusted worker had a vote in a later dispute
/// (10232). The model confused a recount that expired with one that was revoked (18694). The power
/// was cut while the ledger was to note what it knew already (1179).
#[test]
fn histories_that_failed_once_end_with_exact_totals() {
    for seed in [429, 1179, 1371, 3009, 7729, 6_877, 10_232, 18_694] {
        World::new(seed, false).live();
    }
}

/// Writes the hash of the bundles of 200 histories into a file, a line for each seed, so that two
/// versions of the program can be compared.
#[test]
fn bundles_of_histories_are_written() {
    let Some(file) = std::env::var_os("QUEENS_SIM_BUNDLES") else { return };
    let bundles = |seed| format!("{seed} {}\n", World::with_file(seed).bundles());
    std::fs::write(file, (0..200).map(bundles).collect::<String>()).expect("it can be written");
}

fn replay(seed: u64) -> String {
    format!("QUEENS_SIM_SEED={seed} cargo test -p testkit --test simulation -- --nocapture")
}
