//! Runs the histories of many seeds on several threads.

use std::ops::AddAssign;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

const THREADS: usize = 2;

/// Runs the seeds `0..seeds`, and returns the sum of their results.
///
/// # Panics
///
/// Panics if a history panics. The message names the lowest seed whose history did. `replay`
/// returns the command that runs one seed again.
pub fn run_all<T: Default + Send + AddAssign>(
    seeds: u64,
    live: impl Fn(u64) -> T + Sync,
    replay: impl Fn(u64) -> String,
) -> T {
    let (next, failed) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
    let work = || {
        let mut coverage = T::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.min(failed.load(Ordering::Relaxed)) {
                return coverage;
            }
            match catch_unwind(AssertUnwindSafe(|| live(seed))) {
                Ok(of_seed) => coverage += of_seed,
                Err(_) => drop(failed.fetch_min(seed, Ordering::Relaxed)),
            }
        }
    };
    let mut coverage = T::default();
    thread::scope(|scope| {
        let threads = [(); THREADS].map(|()| scope.spawn(work));
        threads.into_iter().for_each(|thread| coverage += thread.join().expect("it catches"));
    });
    let failed = failed.into_inner();
    assert!(
        failed == u64::MAX,
        "seed {failed} failed, see above; replay it with\n    {}\n",
        replay(failed)
    );
    coverage
}

/// The number in an environment variable, if it is set.
///
/// # Panics
///
/// Panics if the value is no number.
#[must_use]
pub fn number_from(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not {text:?}")))
}
