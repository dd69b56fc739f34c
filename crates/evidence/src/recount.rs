//! Counts the drawn ranges again, within a time limit.

use std::num::NonZero;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use blake3::Hash;
use board::PlanIndex;
use count::Variant;
use executor::{Fit, NamedKernel, fit};
use farm::{CheckedCount, KernelName, Plan, Range, TaskCounts};

use crate::RecountError;
use crate::check::Checked;
use crate::draw::Drawn;
use crate::pieces::{Piece, Pieces, Sizes};
use crate::task_counts;
use crate::verdict::{Outcome, Verdict};

/// The resources of a recount.
#[derive(Clone, Copy, Debug)]
pub struct RecountEffort {
    /// Number of counting threads.
    pub threads: NonZero<usize>,
    /// The variant of the kernel. The bundle has no influence on it.
    pub variant: Variant,
    /// Memory of all threads together, in bytes.
    pub memory: u64,
    /// The time limit. `None` counts all drawn ranges, each as a whole.
    pub time: Option<Duration>,
}

/// Sums over what was counted again.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecountSums {
    /// Number of whole ranges.
    pub ranges: usize,
    /// Number of single tasks of larger ranges, whose counts are reported.
    pub reported: usize,
    /// Number of pieces of larger ranges whose counts of tasks are not reported.
    pub pieces: usize,
    /// Number of tasks in all of them.
    pub tasks: u64,
    /// The sum of the threads' counting times.
    pub busy: Duration,
}

/// The result of a recount that found no difference.
#[derive(Clone, Debug)]
pub struct Recounted {
    /// The amount that was counted.
    pub sums: RecountSums,
    /// The kernel that counted.
    pub kernel: KernelName,
    /// Whether the time was over before all drawn ranges were counted.
    pub is_cut_short: bool,
    /// The verdict on the bundle.
    pub verdict: Verdict,
}

/// Counts the drawn ranges of a bundle again, in the order of the draws.
///
/// # Errors
///
/// [`RecountError::Differs`] if the count of a range differs, and [`RecountError::TooFar`] if the
/// counts of pieces contradict the total. Other variants if this machine cannot count the plan.
pub fn recount(checked: &Checked, effort: RecountEffort) -> Result<Recounted, RecountError> {
    let Checked { plan, drawn, header, .. } = checked;
    let fit = fit(*plan, effort.threads, effort.memory)?;
    let begun = Instant::now();
    let work = Work {
        plan: *plan,
        index: Arc::new(checked.index.clone()),
        variant: effort.variant,
        memory: fit.bytes,
        end: effort.time.map(|time| begun + time),
    };
    let sizes = match effort.time {
        None => Some((Sizes { whole: u64::MAX, piece: u64::MAX }, 0.0)),
        Some(time) => {
            let task = work.pilot(drawn, begun, time)?;
            let stated = checked.content.busy.counts.as_secs_f64() / header.covered.max(1) as f64;
            task.map(|task| (sizes(usual(task, stated), time, fit, drawn), task))
        }
    };
    let pieces = Pieces::cut(drawn, sizes.map_or(Sizes { whole: 1, piece: 1 }, |(sizes, _)| sizes));
    let mut outcomes = vec![Outcome::NotBegun; pieces.pieces.len()];
    let mut sums = RecountSums::default();
    if let Some((_, task)) = sizes {
        let begun = work.count(&pieces.pieces, fit.threads, task, |number, counted| {
            outcomes[number] = Outcome::Counted(counted.checked_count.count.into());
            sums.note(&pieces.pieces[number], drawn, counted, &work)
        })?;
        let unfinished = outcomes[..begun].iter_mut().filter(|it| **it == Outcome::NotBegun);
        unfinished.for_each(|outcome| *outcome = Outcome::Unfinished);
    }
    // Under a time limit, ranges that no draw has hit are counted only if time is left.
    let wanted = match effort.time {
        None => pieces.pieces.len(),
        Some(_) => pieces.of_draw.iter().max().map_or(0, |last| last + 1),
    };
    let is_counted = |outcome: &Outcome| matches!(outcome, Outcome::Counted(_));
    Ok(Recounted {
        sums,
        kernel: work.name(),
        is_cut_short: !outcomes[..wanted].iter().all(is_counted),
        verdict: Verdict::of((checked.total, header.covered), drawn, &pieces, &outcomes)?,
    })
}

/// The duration of a task, in seconds, that decides the sizes. It is the one `stated` by the
/// bundle, so that a seed chooses the same pieces however busy this machine is. If that is far from
/// the duration `measured` here, the measured one is used. So the writer of a bundle has little
/// influence on what is recounted.
fn usual(measured: f64, stated: f64) -> f64 {
    const FAR: f64 = 8.0;
    if (measured / FAR..=measured * FAR).contains(&stated) { stated } else { measured }
}

/// The sizes of what is recounted, if a task takes `task` seconds. If there is time for all drawn
/// ranges, they are counted whole. Otherwise a range is counted whole if it takes at most a tenth
/// of the time of one thread, or, with reported tasks, if it is no longer than a piece. Pieces are
/// so small that there is time for all draws.
fn sizes(task: f64, time: Duration, fit: Fit, drawn: &Drawn) -> Sizes {
    let (seconds, threads) = (time.as_secs_f64(), fit.threads.get() as f64);
    let tasks = |seconds: f64| (seconds / task.max(1e-9)) as u64;
    let lengths = || drawn.rows.iter().map(|row| row.range.len());
    let (all, longest) = (lengths().sum::<u64>(), lengths().max().unwrap_or(0));
    if all < tasks(seconds * threads / 2.0) && longest < tasks(seconds / 2.0) {
        return Sizes { whole: u64::MAX, piece: u64::MAX };
    }
    let whole = tasks(seconds / 10.0).max(1);
    let each = seconds * threads / drawn.draws.len().max(1) as f64;
    Sizes { whole, piece: tasks(each / 2.0).clamp(1, whole) }
}

/// The state that all threads share.
#[derive(Clone)]
struct Work {
    plan: Plan,
    index: Arc<PlanIndex>,
    variant: Variant,
    memory: u64,
    end: Option<Instant>,
}

/// The result for a piece.
struct Counted {
    checked_count: CheckedCount,
    /// The checksum of the counts of its tasks, if plans of this kind report them.
    checksum: Option<Hash>,
    busy: Duration,
}

/// The next piece, and the time that tasks have taken so far.
struct Turn {
    next: usize,
    /// Whether no further piece may begin.
    is_over: bool,
    seconds: f64,
    tasks: f64,
}

impl Work {
    fn kernel(&self) -> NamedKernel {
        NamedKernel::of(self.memory, self.variant, self.plan)
    }

    fn name(&self) -> KernelName {
        KernelName::new(&self.variant.to_string()).expect("every variant has a name")
    }

    /// The seconds that a task takes, measured during a twentieth of the time limit. `None` if the
    /// time is over before that.
    fn pilot(
        &self,
        drawn: &Drawn,
        begun: Instant,
        time: Duration,
    ) -> Result<Option<f64>, RecountError> {
        let (sender, receiver) = mpsc::channel();
        let (work, draws) = (self.clone(), drawn.draws.clone());
        let most = (time / 20).min(Duration::from_secs(1));
        if time.is_zero() || draws.is_empty() {
            return Ok(None);
        }
        // A thread cannot be stopped within a task, so it is abandoned when the time is over.
        std::thread::spawn(move || {
            let mut kernel = work.kernel();
            let mut measure = || -> Result<f64, count::CountError> {
                let mut length = 1;
                for draw in draws.iter().cycle() {
                    let first = draw.ordinal.min(work.plan.tasks - length);
                    let run = Range::new(first, first + length).expect("it has tasks");
                    let started = Instant::now();
                    kernel.count_range(work.plan.fingerprint(), &work.index, run)?;
                    let task = started.elapsed().as_secs_f64() / length as f64;
                    length *= 2;
                    if begun.elapsed() >= most || length > work.plan.tasks {
                        return Ok(task);
                    }
                }
                unreachable!("the draws come again and again")
            };
            // Nobody receives the result if the time is over.
            let _ = sender.send(measure());
        });
        Ok(receiver.recv_timeout(time).ok().transpose()?)
    }

    /// Counts the pieces on threads and passes each result to `note`, until the time is over.
    /// Returns how many were begun.
    fn count(
        &self,
        pieces: &[Piece],
        threads: NonZero<usize>,
        task: f64,
        mut note: impl FnMut(usize, Counted) -> Result<(), RecountError>,
    ) -> Result<usize, RecountError> {
        let (sender, receiver) = mpsc::channel();
        let turn = Turn { next: 0, is_over: false, seconds: task, tasks: 1.0 };
        let turn = Arc::new(Mutex::new(turn));
        let ranges: Arc<[Range]> = pieces.iter().map(|piece| piece.range).collect();
        for _ in 0..threads.get().min(ranges.len()) {
            let (work, turn, ranges, sender) =
                (self.clone(), turn.clone(), ranges.clone(), sender.clone());
            std::thread::spawn(move || work.take_turns(&turn, &ranges, &sender));
        }
        drop(sender);
        let mut result = Ok(());
        while result.is_ok()
            && let Some((number, counted)) = self.next(&receiver)
        {
            result = counted.map_err(RecountError::from).and_then(|counted| note(number, counted));
        }
        let mut turn = turn.lock().expect(NO_PANIC);
        turn.is_over = true;
        result.map(|()| turn.next)
    }

    /// The next piece that was counted. `None` if no piece is left, or if the time is over.
    fn next<T>(&self, receiver: &Receiver<T>) -> Option<T> {
        let Some(end) = self.end else { return receiver.recv().ok() };
        receiver.recv_timeout(end.saturating_duration_since(Instant::now())).ok()
    }

    /// Counts one piece after the other. A piece that would not finish in time is not begun.
    fn take_turns(
        &self,
        turn: &Mutex<Turn>,
        ranges: &[Range],
        sender: &Sender<(usize, Result<Counted, count::CountError>)>,
    ) {
        let mut kernel = self.kernel();
        loop {
            let (number, range) = {
                let mut turn = turn.lock().expect(NO_PANIC);
                let Some(&range) = ranges.get(turn.next).filter(|_| !turn.is_over) else { return };
                let expected = turn.seconds / turn.tasks * range.len() as f64;
                let expected = Duration::try_from_secs_f64(expected).unwrap_or(Duration::MAX);
                turn.is_over = self.end.is_some_and(|end| {
                    Instant::now().checked_add(expected).is_none_or(|then| then > end)
                });
                if turn.is_over {
                    return;
                }
                turn.next += 1;
                (turn.next - 1, range)
            };
            let started = Instant::now();
            let counted = kernel.count_range(self.plan.fingerprint(), &self.index, range);
            let busy = started.elapsed();
            {
                let mut turn = turn.lock().expect(NO_PANIC);
                turn.seconds += busy.as_secs_f64();
                turn.tasks += range.len() as f64;
            }
            let checksum = |tasks: &TaskCounts| {
                (!tasks.are_omitted()).then(|| task_counts::checksum(tasks.as_slice()))
            };
            let counted = counted.map(|(checked_count, tasks)| Counted {
                checked_count,
                checksum: checksum(&tasks),
                busy,
            });
            // Nobody receives the result if the time is over.
            if sender.send((number, counted)).is_err() {
                return;
            }
        }
    }
}

const NO_PANIC: &str = "no thread panics while holding it";

impl RecountSums {
    /// Adds a result, if the bundle says the same.
    fn note(
        &mut self,
        piece: &Piece,
        drawn: &Drawn,
        Counted { checked_count, checksum, busy }: Counted,
        work: &Work,
    ) -> Result<(), RecountError> {
        if let Some(result) = piece.result.filter(|&result| result != checked_count.result()) {
            let which = if result.count == checked_count.result().count {
                " (the sums are equal, but the tasks' counts differ)"
            } else {
                ""
            };
            return Err(RecountError::Differs(format!(
                "the range {} is counted as {} in the bundle, and as {} here by {}{which}: one of the two machines \
                 counted wrong",
                piece.range,
                result.count,
                checked_count.count,
                work.name()
            )));
        }
        let is_row = piece.range == drawn.rows[piece.row].range;
        let stated = drawn.checksums.get(&piece.row).filter(|_| is_row);
        if let Some((stated, checksum)) = stated.zip(checksum)
            && *stated != checksum
        {
            return Err(RecountError::Differs(format!(
                "the tasks of the range {} count differently here by {} than in the bundle, although \
                 their sum and their digest are the same: the counts in the bundle are invented",
                piece.range,
                work.name()
            )));
        }
        self.tasks += piece.range.len();
        self.busy += busy;
        match piece.result {
            None => self.pieces += 1,
            Some(_) if is_row => self.ranges += 1,
            Some(_) => self.reported += 1,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_depend_neither_on_load_nor_on_false_times() {
        assert!([0.2, 1.0, 7.0].into_iter().all(|measured| usual(measured, 1.0) == 1.0));
        assert_eq!((usual(1.0, 1e-6), usual(1.0, 1e6), usual(1.0, f64::NAN)), (1.0, 1.0, 1.0));
    }
}
