//! The farm on a network that fails: the coordinator's services and the workers' loops as they are,
//! over gRPC, through the simulated TCP of `turmoil`.
//!
//! ```text
//!   worker-0 ─┐  partitions, held links,
//!   worker-1 ─┼─────────────────────────── coordinator ── ledger, a file that survives crashes
//!   client   ─┘  latency, crashes
//! ```
//!
//! Each seed draws a small job, some workers and a list of faults. Then the network heals, and the
//! total must be exact within simulated minutes. Time is simulated everywhere; ledger and counting
//! threads are tasks of their hosts. A seed replays its faults to the millisecond; what is left to
//! chance is in which order `select!` looks at what is ready.
//!
//! ```text
//! cargo test -p testkit --features network --test network -- --nocapture       # 40 seeds
//! QUEENS_NET_SEEDS=200 cargo test ...                        # more of them
//! QUEENS_NET_SEED=7 cargo test ...                           # one again, alone
//! ```

mod faults;
mod hosts;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use faults::Tally;

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

#[test]
fn totals_are_exact_whatever_the_network_does() {
    let alone = number("QUEENS_NET_SEED");
    let seeds = alone.map_or(0..number("QUEENS_NET_SEEDS").unwrap_or(40), |seed| seed..seed + 1);
    let (next, tally, begun) = (AtomicU64::new(seeds.start), Mutex::default(), Instant::now());
    let run = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            let fired = catch_unwind(AssertUnwindSafe(|| world::run(seed)));
            let fired = fired.unwrap_or_else(|_| panic!("replay with QUEENS_NET_SEED={seed}"));
            let mut tally: std::sync::MutexGuard<'_, Tally> = tally.lock().expect("all is well");
            tally.add(&fired);
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| {
            scope.spawn(run);
        });
    });
    let tally: Tally = tally.into_inner().expect("no seed failed");
    let ran = seeds.end - seeds.start;
    println!("{ran} seeds in {:.1?}; faults: {tally}", begun.elapsed());
    assert!(alone.is_some() || tally.has_every_kind(), "a kind of fault never fired: {tally}");
}

#[test]
fn workers_who_flood_are_dismissed_and_the_total_is_exact() {
    let dismissals = world::flood();
    println!("dismissed: {:?}, {dismissals:?} times", hosts::FLOODS);
    assert!(dismissals.iter().all(|&times| times > 0), "one was let go on: {dismissals:?}");
}
