//! Counts the drawn ranges again, within a time limit.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use board::PlanIndex;
use count::pool::Pool;
use count::{CountError, Variant};
use executor::NamedKernel;
use farm::{CheckedCount, IntervalSet, KernelName, Plan};

use crate::check::Checked;
use crate::draw::{Drawn, Unit};
use crate::verdict::Verdict;

/// The resources of a recount.
#[derive(Clone, Copy, Debug)]
pub struct RecountEffort {
    /// Number of counting threads.
    pub threads: NonZero<usize>,
    /// The variant of the kernel. The bundle has no influence on it.
    pub variant: Variant,
    /// The time limit. `None` counts everything that was drawn.
    pub time: Option<Duration>,
}

/// The result of a recount that found no difference.
#[derive(Clone, Debug)]
pub struct Recounted {
    /// Number of whole ranges.
    pub ranges: usize,
    /// Number of single tasks, whose counts are reported.
    pub reported: usize,
    /// Number of tasks that were counted again. A task that was counted alone and in a range is
    /// one.
    pub tasks: u64,
    /// The sum of the threads' counting times.
    pub busy: Duration,
    /// The kernel that counted.
    pub kernel: KernelName,
    /// Whether the time was over before everything that was drawn was counted.
    pub is_cut_short: bool,
    /// The verdict on the bundle.
    pub verdict: Verdict,
}

/// Counts again what the draws have hit, in the order of the draws, and then all ranges if
/// [`Drawn::ranges`](crate::Drawn) has them. It fails if the count of a range or a task differs.
///
/// It panics if the system refuses a thread, with the words of the standard library.
pub fn recount(checked: &Checked, effort: RecountEffort) -> Result<Recounted> {
    let Checked { plan, drawn, .. } = checked;
    let (units, of_draw) = units(drawn);
    let work = Arc::new(Work {
        plan: *plan,
        index: checked.index.clone(),
        units,
        variant: effort.variant,
        end: effort.time.map(|time| Instant::now() + time),
        turn: Mutex::default(),
    });
    let mut is_done = vec![false; work.units.len()];
    let (mut ranges, mut reported, mut busy) = (0, 0, Duration::ZERO);
    let mut tasks = IntervalSet::new();
    let of_threads = work.clone();
    let threads = effort.threads.min(NonZero::new(work.units.len()).unwrap_or(effort.threads));
    // A thread cannot be stopped within a task, so it is abandoned when the time is over.
    let pool = Pool::start(threads, move |_, send| of_threads.take_turns(send));
    let mut pool = pool.expect("failed to spawn thread");
    while let Ok((number, counted, time)) = pool.next(work.end) {
        let unit = work.units[number];
        compare(unit, counted?, work.name())?;
        is_done[number] = true;
        tasks.insert(unit.range);
        busy += time;
        *(if unit.is_task { &mut reported } else { &mut ranges }) += 1;
    }
    let begun = work.turn().next;
    // Draws up to the first one whose unit was not begun.
    let seen = of_draw.len().min(of_draw.iter().take_while(|&&unit| unit < begun).count() + 1);
    let alike: Vec<bool> = of_draw[..seen].iter().map(|&unit| is_done[unit]).collect();
    // Under a time limit, ranges that no draw has hit are counted only if time is left.
    let is_whole = is_done.iter().all(|&is_done| is_done);
    let is_cut_short = match effort.time {
        None => !is_whole,
        Some(_) => seen < of_draw.len() || alike.contains(&false),
    };
    let is_exact = is_whole && drawn.ranges.is_some();
    let verdict = Verdict::of(checked.header.counted, drawn, &alike, is_exact);
    let kernel = work.name();
    Ok(Recounted { ranges, reported, tasks: tasks.len(), busy, kernel, is_cut_short, verdict })
}

/// The units to count again, each of them once, and for each draw the index of its unit.
fn units(drawn: &Drawn) -> (Vec<Unit>, Vec<usize>) {
    let (mut numbers, mut units) = (HashMap::new(), Vec::new());
    let mut number = |unit: &Unit| {
        *numbers.entry(unit.range).or_insert_with(|| {
            units.push(*unit);
            units.len() - 1
        })
    };
    let of_draw = drawn.hits.iter().map(&mut number).collect();
    for range in drawn.ranges.iter().flatten() {
        number(range);
    }
    (units, of_draw)
}

/// Refuses a claim that differs from the count here.
fn compare(unit: Unit, counted: CheckedCount, kernel: KernelName) -> Result<()> {
    let Unit { range, result, .. } = unit;
    let here = counted.result();
    let which = if result.count == here.count {
        " (the sums are equal, but the tasks' counts differ)"
    } else {
        ""
    };
    ensure!(
        result == here,
        "the range {range} is counted as {} in the bundle, and as {} here by {kernel}{which}: one of \
         the two machines counted wrong",
        result.count,
        here.count
    );
    Ok(())
}

/// The state that all threads share.
struct Work {
    plan: Plan,
    index: PlanIndex,
    units: Vec<Unit>,
    variant: Variant,
    end: Option<Instant>,
    turn: Mutex<Turn>,
}

/// The next unit, and the time that tasks have taken so far.
#[derive(Default)]
struct Turn {
    next: usize,
    /// Whether no further unit may begin.
    is_over: bool,
    seconds: f64,
    tasks: f64,
}

/// The number of a unit, its count, and the time of a thread that it took.
type Counted = (usize, Result<CheckedCount, CountError>, Duration);

impl Work {
    fn name(&self) -> KernelName {
        KernelName::new(&self.variant.to_string()).expect("every variant has a name")
    }

    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().expect("no thread panics while holding it")
    }

    /// The index of the unit that a thread is to begin. `None` if no unit is left, or if the next
    /// one would not finish in time; then no later unit is begun either.
    fn begin(&self) -> Option<usize> {
        let mut turn = self.turn();
        let unit = self.units.get(turn.next).filter(|_| !turn.is_over)?;
        let expected = turn.seconds / turn.tasks.max(1.0) * unit.range.len() as f64;
        let expected = Duration::try_from_secs_f64(expected).unwrap_or(Duration::MAX);
        turn.is_over = self
            .end
            .is_some_and(|end| Instant::now().checked_add(expected).is_none_or(|then| then > end));
        if turn.is_over {
            return None;
        }
        turn.next += 1;
        Some(turn.next - 1)
    }

    /// Counts one unit after the other.
    fn take_turns(&self, send: &mut dyn FnMut(Counted) -> bool) {
        let mut kernel = NamedKernel::of(self.variant, self.plan);
        while let Some(number) = self.begin() {
            let range = self.units[number].range;
            let started = Instant::now();
            let counted = kernel.count_range(self.plan.fingerprint(), &self.index, range);
            let busy = started.elapsed();
            {
                let mut turn = self.turn();
                turn.seconds += busy.as_secs_f64();
                turn.tasks += range.len() as f64;
            }
            // Nobody receives the result if the time is over.
            if !send((number, counted.map(|(count, _)| count), busy)) {
                return;
            }
        }
    }
}
