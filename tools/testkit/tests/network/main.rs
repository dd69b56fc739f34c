//! The farm on a network that fails: the coordinators' services, the workers' loops and the stand-by as they are, over gRPC,
//! through the simulated TCP of `turmoil`.
//!
//! ```text
//!   worker-0 ─┐  partitions, held links,   ┌── first ──── ledger, a file that survives crashes
//!   worker-1 ─┼────────────────────────────┤     │ follows, and takes over
//!   client   ─┘  latency, crashes          └── second, third ── ledgers, copies of that of the first at the beginning
//! ```
//!
//! Each seed draws a small job, some workers, mostly one or two stand-bys, and a list of faults, of the links between their
//! places too. Then the network heals. Within simulated minutes one coordinator must serve alone, that of the latest term, and
//! all others must follow it; every job that was accepted while all others followed must be there; and all totals must be
//! exact. Time is simulated everywhere; ledger and counting threads are tasks of their hosts. A seed replays its faults to the
//! millisecond; what is left to chance is in which order `select!` looks at what is ready.
//!
//! ```text
//! cargo test -p testkit --features network --test network -- --nocapture       # 40 seeds
//! QUEENS_NET_SEEDS=200 cargo test ...                        # more of them
//! QUEENS_NET_SEED=7 cargo test ...                           # one again, alone
//! ```

mod client;
mod faults;
mod hosts;
mod places;
mod tally;
mod world;

use std::time::{Duration, Instant};

use histories::{number_from, run_all};

/// So many seeds have every kind of fault in them.
const SEEDS: u64 = 40;

#[test]
fn totals_are_exact_whatever_the_network_does() {
    if let Some(seed) = number_from("QUEENS_NET_SEED") {
        println!("{}", world::run(seed));
        return;
    }
    let seeds = number_from("QUEENS_NET_SEEDS").unwrap_or(SEEDS);
    let begun = Instant::now();
    let replay = |seed| {
        format!("QUEENS_NET_SEED={seed} cargo test -p testkit --features network --test network")
    };
    let tally = run_all(seeds, world::run, replay);
    println!("{seeds} seeds in {:.1?}:\n{tally}", begun.elapsed());
    assert!(
        seeds < SEEDS || tally.missing().is_empty(),
        "it never happened: {:?}",
        tally.missing()
    );
}

#[test]
fn a_standby_with_a_whole_copy_serves_soon_after_the_coordinator_is_lost() {
    for seed in 0..3 {
        for dies in [true, false] {
            let took = world::lose_the_coordinator(seed, dies);
            println!("it serves after {took:?}; dead: {dies}");
            assert!(took < Duration::from_secs(5), "{took:?}, seed {seed}, dead: {dies}");
        }
    }
}

#[test]
fn of_two_standbys_that_both_take_over_one_goes_on() {
    for seed in 0..3 {
        assert!(world::tie(seed), "seed {seed}: only one has taken over");
    }
}

#[test]
fn workers_who_flood_are_dismissed_and_the_total_is_exact() {
    let dismissals = world::flood();
    println!("dismissed: {:?}, {dismissals:?} times", hosts::FLOODS);
    assert!(dismissals.iter().all(|&times| times > 0), "one was let go on: {dismissals:?}");
}
