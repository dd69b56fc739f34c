//! Counts ranges of a bundle again.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use board::Cut;
use count::Backend;
use executor::{Fit, NamedKernel, fit};
use farm::{KernelName, Plan, Recount, Row, Tally};

use crate::RecountError;

/// Which ranges are counted again.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The largest number of ranges.
    pub most: usize,
    /// Seed that decides which ranges.
    pub seed: u64,
}

/// The resources of a recount.
#[derive(Clone, Copy, Debug)]
pub struct RecountEffort {
    /// Number of counting threads.
    pub threads: NonZero<usize>,
    /// The preferred backend. A range that it counted before is counted by another one.
    pub backend: Backend,
    /// Bytes of memory that all threads together may take.
    pub memory: u64,
    /// The time after which no range is begun; `None` for no limit.
    pub time: Option<Duration>,
    /// Whether ranges of methods that do not search are recounted by a search.
    pub by_search: bool,
}

/// The ranges that were counted again with the same result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recounted {
    /// Number of ranges.
    pub ranges: usize,
    /// Number of tasks in these ranges.
    pub tasks: u64,
    /// The sum of the threads' counting times.
    pub busy: Duration,
}

/// Counts `ranges` of a plan again, in order, each with a kernel that differs from the one in the evidence.
///
/// # Errors
///
/// [`RecountError::Differs`] for a range whose count differs; other variants if this machine cannot count
/// the plan.
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
            // Each thread counts one range even when it is late: an empty sample says nothing.
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
    let which = if tally.count == ours.count {
        "the sums are equal but the tasks' counts differ;"
    } else {
        ""
    };
    format!(
        "the range {range} is counted as {} in the bundle, by {} with {}, and as {} here with {}: \
         {which} one of the two machines counted wrong",
        tally.count, author.maker, entry.kernel, ours.count, kernel
    )
}
