//! The farm core and the worker's agent, in a world that is out to break them.
//!
//! A seed decides a whole history: jobs, workers, and every fault that hits them. Messages are
//! lost, repeated, delayed and overtaken; sessions break, and one end may notice much later;
//! leases expire; workers hang, die, lie and come back; in some worlds one task of each plan kills every
//! worker that counts it; the clock jumps and stands still; the
//! coordinator dies between any two effects and goes on from what was durable. Some jobs are counted
//! twice, in part or as a whole; who is proven wrong is sent away, and what only it has counted is
//! counted anew. Then the world turns quiet, and every job must end with the exact total, soon: but for
//! lies that nobody had reason to look for, of which a job that is counted twice has none.
//!
//! ```text
//!   clients ─requests─►  ┌──────┐ ─commands─►  ledger (first in, first durable)
//!                        │ Farm │
//!   workers ──network──► └──────┘ ◄──time──  a clock that may jump
//!   (Agent)                  ▲
//!                            └── the model checks every event and effect against its own books
//! ```
//!
//! The ledger is the farm's own rules over rows in memory. Every tenth seed has the real ledger beside it, in a file. It is given
//! the same commands, must answer and restore the same, and is left as a killed process leaves it when the coordinator dies. In
//! other worlds a coordinator may go on from an older copy of the ledger, which lacks the latest counts.
//!
//! ```text
//!   cargo test -p testkit --test simulation      100 seeds
//!   QUEENS_SIM_SEEDS=100000 …                    any number of seeds
//!   QUEENS_SIM_SEED=17 … -- --nocapture          one seed, told step by step
//! ```
// In a test binary everything is within the crate.
#![allow(unreachable_pub)]

mod agenda;
mod attempts;
mod books;
mod coordinator;
mod fleet;
mod in_memory;
mod ledger;
mod model;
mod network;
mod quiesce;
mod random;
mod real;
mod rows;
mod scenario;
mod seeds;
mod tally;
mod truth;
mod worker;
mod world;

use std::time::Instant;

use farm::rules::MemoryStore;
use in_memory::InMemory;
use seeds::{number_from, run_all};
use world::World;

const SEEDS: u64 = 100;
/// So many histories have every kind of fault in them.
const ENOUGH_SEEDS: u64 = 20_000;

#[test]
fn every_history_ends_with_exact_totals() {
    if let Some(seed) = number_from("QUEENS_SIM_SEED") {
        let tally = World::new(seed, true).live();
        println!("\nseed {seed} ended well\n{tally}");
        return;
    }
    let seeds = number_from("QUEENS_SIM_SEEDS").unwrap_or(SEEDS);
    let begun = Instant::now();
    let tally = run_all(seeds, |seed| World::new(seed, false).live(), replay);
    println!("{seeds} seeds in {:.1} s\n{tally}", begun.elapsed().as_secs_f64());
    if seeds >= ENOUGH_SEEDS {
        let missing = tally.missing();
        assert!(missing.is_empty(), "the simulation is blind, it never saw: {missing:#?}");
    }
}

#[test]
fn every_store_conforms() {
    testkit::conformance::check(MemoryStore::default);
    testkit::conformance::check(InMemory::new);
}

fn replay(seed: u64) -> String {
    format!("QUEENS_SIM_SEED={seed} cargo test -p testkit --test simulation -- --nocapture")
}
