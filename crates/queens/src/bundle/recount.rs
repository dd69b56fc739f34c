//! Ranges of a bundle, counted again.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use board::{Cut, Tasks};
use count::Backend;
use farm::{Fingerprint, Plan, Recount, Row, Tally};

use crate::memory::{Fit, fit};
use crate::worker::NamedKernel;

/// What is to be counted again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Ranges at most.
    pub(crate) most: usize,
    /// Decides which.
    pub(crate) seed: u64,
}

/// With what, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) threads: NonZero<usize>,
    pub(crate) backend: Backend,
    /// Bytes.
    pub(crate) memory: u64,
    /// After this no range is begun; `None`: all are.
    pub(crate) time: Option<Duration>,
    /// By searching, where the method does not search.
    pub(crate) by_search: bool,
}

/// What was counted again, with the same result.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recounted {
    pub(crate) ranges: usize,
    pub(crate) tasks: u64,
    /// Thread time.
    pub(crate) busy: Duration,
}

/// Tasks that are enumerated at a time.
const AT_A_TIME: u64 = 4096;

/// Counts `ranges` of a plan again, in order, each by another kernel than the one that counted it.
///
/// # Errors
///
/// The first that differs.
pub(crate) fn recount(plan: Plan, ranges: &[Row], effort: Effort) -> Result<Recounted> {
    let cut = Cut::new(plan.problem, plan.method)?;
    let Fit { threads, bytes } = fit(plan, effort.threads, effort.memory)?;
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done = Mutex::new(Recounted::default());
    let begun = Instant::now();
    let work = || -> Result<()> {
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
            let tally = count(&cut, plan.fingerprint(), entry, kernel)?;
            if tally.claim() != entry.tally.claim() {
                stop.store(true, Ordering::Relaxed);
                bail!(differs(entry, tally, kernel));
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

fn count(cut: &Cut, plan: Fingerprint, entry: &Row, kernel: &mut NamedKernel) -> Result<Tally> {
    let mut tally = Tally::EMPTY;
    let mut tasks = Tasks::new();
    let mut start = entry.range.start();
    while start < entry.range.end() {
        let end = entry.range.end().min(start + AT_A_TIME);
        tasks.clear();
        cut.fill(start..end, &mut tasks);
        let counted = kernel.count(plan, start, tasks.as_slice())?;
        tally = tally.join(counted).ok_or(count::CountError::Overflow)?;
        start = end;
    }
    Ok(tally)
}

fn differs(entry: &Row, ours: Tally, kernel: &NamedKernel) -> String {
    let Row { range, tally, author, .. } = entry;
    let which =
        if tally.count == ours.count { "its tasks' counts, with the same sum," } else { "" };
    format!(
        "the range {range} is counted as {} there, by worker {} with {}, and as {} here with {}: {which} \
         one of the two machines counted wrong",
        tally.count,
        author.worker,
        entry.kernel,
        ours.count,
        kernel.name()
    )
}
