//! Ranges of a bundle, counted again.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use board::Cut;
use count::Backend;
use executor::{Fit, NamedKernel, fit};
use farm::{KernelName, Plan, Recount, Row, Tally};

use crate::RecountError;

/// What is to be counted again.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Ranges at most.
    pub most: usize,
    /// Decides which.
    pub seed: u64,
}

/// With what, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct RecountEffort {
    /// Threads that count.
    pub threads: NonZero<usize>,
    /// The backend that they use where it is not the one that counted the range before.
    pub backend: Backend,
    /// Bytes that they may take together.
    pub memory: u64,
    /// After this no range is begun; `None`: all are.
    pub time: Option<Duration>,
    /// By searching, where the method does not search.
    pub by_search: bool,
}

/// What was counted again, with the same result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recounted {
    /// Ranges.
    pub ranges: usize,
    /// Tasks in these ranges.
    pub tasks: u64,
    /// Thread time.
    pub busy: Duration,
}

/// Counts `ranges` of a plan again, in order, each by another kernel than the one that counted it.
///
/// # Errors
///
/// [`RecountError::Differs`] for the first range that differs, and what keeps this machine from counting.
pub fn recount(
    plan: Plan,
    ranges: &[Row],
    effort: RecountEffort,
) -> Result<Recounted, RecountError> {
    let cut = Cut::new(plan.problem, plan.method)?;
    let Fit { threads, bytes } = fit(plan, effort.threads, effort.memory)?;
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done = Mutex::new(Recounted::default());
    let begun = Instant::now();
    let work = || -> Result<(), RecountError> {
        let mut kernel: Option<(Recount, NamedKernel)> = None;
        loop {
            let late = effort.time.is_some_and(|time| begun.elapsed() >= time);
            // One is counted in any case: a sample of none says nothing.
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(entry) = ranges.get(place) else { return Ok(()) };
            if stop.load(Ordering::Relaxed) || late && place >= threads.get() {
                return Ok(());
            }
            let unlike = Recount { unlike: entry.kernel, by_search: effort.by_search };
            kernel.take_if(|(of, _)| *of != unlike);
            let (_, kernel) = kernel.get_or_insert_with(|| {
                (unlike, NamedKernel::new(bytes, effort.backend, plan, Some(unlike)))
            });
            let started = Instant::now();
            let tally = kernel.count_range(plan.fingerprint(), &cut, entry.range)?;
            if tally.claim() != entry.tally.claim() {
                stop.store(true, Ordering::Relaxed);
                return Err(RecountError::Differs(differs(entry, tally, kernel.name())));
            }
            let mut done = done.lock().expect("no thread panics while holding it");
            done.ranges += 1;
            done.tasks += entry.range.len();
            done.busy += started.elapsed();
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.get()).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
    })?;
    Ok(done.into_inner().expect("no thread panicked"))
}

fn differs(entry: &Row, ours: Tally, kernel: KernelName) -> String {
    let Row { range, tally, author, .. } = entry;
    let which =
        if tally.count == ours.count { "its tasks' counts, with the same sum," } else { "" };
    format!(
        "the range {range} is counted as {} there, by worker {} with {}, and as {} here with {}: {which} \
         one of the two machines counted wrong",
        tally.count, author.worker, entry.kernel, ours.count, kernel
    )
}
