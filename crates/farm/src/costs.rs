//! How much thread time is left of a job.
//!
//! A task's cost is taken to be what tasks around it cost, times how slow the worker is that counts it:
//!
//! ```text
//!   busy(w) = slowness(w) · Σ tasks(w, s) cost(s)     of each worker w, over all strata s
//!   busy(s) = cost(s) · Σ tasks(w, s) slowness(w)     of each stratum, over all workers
//! ```
//!
//! The left sides and the numbers of tasks are known; costs and slownesses are found by turns, each
//! from the others. (It is the maximum of likelihood of a table with two factors; W. E. Deming and
//! F. F. Stephan, 1940, fit such tables so.) Means of thread time alone would be wrong by as much as
//! workers differ: leases take all of them about as long, so that a slow worker's strata seem dear.

use std::array::from_fn;
use std::collections::BTreeMap;

use crate::{Range, SessionId};

/// Fewer than there are turns in a [`StratumScheduler`](crate::scheduler::StratumScheduler), so that soon several workers have
/// counted tasks of each.
const STRATA: usize = 16;

/// Thread time that was spent on a plan's tasks, by where they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent {
    plan_tasks: u64,
    tasks: [u64; STRATA],
    busy_us: [u64; STRATA],
}

impl Spent {
    /// Nothing yet, on a plan with as many tasks.
    #[must_use]
    pub fn new(plan_tasks: u64) -> Spent {
        Spent { plan_tasks, tasks: [0; STRATA], busy_us: [0; STRATA] }
    }

    /// The tasks of `range` took `busy_us` of thread time together.
    pub fn add(&mut self, range: Range, busy_us: u64) {
        for stratum in 0..STRATA {
            let Some(part) = self.part(stratum, range) else { continue };
            let share = u128::from(busy_us) * u128::from(part.len()) / u128::from(range.len());
            let share = u64::try_from(share).expect("it is at most `busy_us`");
            self.tasks[stratum] += part.len();
            self.busy_us[stratum] = self.busy_us[stratum].saturating_add(share.max(1));
        }
    }

    fn join(&mut self, other: &Spent) {
        for stratum in 0..STRATA {
            self.tasks[stratum] += other.tasks[stratum];
            let busy_us = &mut self.busy_us[stratum];
            *busy_us = busy_us.saturating_add(other.busy_us[stratum]);
        }
    }

    fn part(&self, stratum: usize, range: Range) -> Option<Range> {
        let bound = |stratum: usize| {
            let bound = u128::from(self.plan_tasks) * stratum as u128 / STRATA as u128;
            u64::try_from(bound).expect("it is at most `plan_tasks`")
        };
        Range::new(bound(stratum), bound(stratum + 1))?.intersect(range)
    }

    fn busy(&self) -> f64 {
        self.busy_us.iter().map(|&busy_us| busy_us as f64).sum()
    }

    /// Σ tasks times `costs`.
    fn at(&self, costs: &[f64; STRATA]) -> f64 {
        self.tasks.iter().zip(costs).map(|(&tasks, cost)| tasks as f64 * cost).sum()
    }
}

/// What a worker's tasks have cost, without those that it reported first: while it counts them, it touches its
/// memory and makes its tables.
#[derive(Debug)]
struct Pace {
    all: Spent,
    /// What tells how slow it is now: the last two spans, of which the second has not ended.
    recent: [Spent; 2],
}

impl Pace {
    /// The least span of each thread.
    const SPAN_US: f64 = 15e6;
    /// The least span as a part of all that the worker has counted: machines that others use too change from minute to
    /// minute, and the more is left, the less the last minute tells of it.
    const SPAN_PART: f64 = 0.25;

    fn add(&mut self, threads: u32, range: Range, busy_us: u64) {
        self.all.add(range, busy_us);
        let [before, now] = &mut self.recent;
        let span = (Self::SPAN_US * f64::from(threads)).max(Self::SPAN_PART * self.all.busy());
        if now.busy() > span {
            *before = std::mem::replace(now, Spent::new(self.all.plan_tasks));
        }
        now.add(range, busy_us);
    }

    /// Thread time of late, and how long a worker of slowness 1 would have taken.
    fn recent(&self, costs: &[f64; STRATA]) -> (f64, f64) {
        let sum = |of: &dyn Fn(&Spent) -> f64| self.recent.iter().map(of).sum();
        (sum(&Spent::busy), sum(&|spent| spent.at(costs)))
    }
}

/// What a job's tasks have cost so far, by strata and workers.
#[derive(Debug)]
pub(crate) struct Costs {
    sessions: BTreeMap<SessionId, Pace>,
    /// By sessions that are gone.
    earlier: Spent,
}

impl Costs {
    /// A worker is known once each of its threads has counted for so long; before, it is taken for one like the
    /// others, the more so the less it has counted.
    const KNOWN_US: f64 = 4e6;
    /// Nothing is told before this share of the threads belongs to workers that are known.
    const KNOWN_SHARE: f64 = 0.75;
    /// Nothing is told before so many strata have data. Sessions begin with every second one.
    const SEEN: usize = STRATA / 2;

    pub(crate) fn new(earlier: Spent) -> Costs {
        Costs { sessions: BTreeMap::new(), earlier }
    }

    /// A session of `threads` threads has counted a range.
    pub(crate) fn add(&mut self, session: SessionId, threads: u32, range: Range, busy_us: u64) {
        let new = || Spent::new(self.earlier.plan_tasks);
        let Some(pace) = self.sessions.get_mut(&session) else {
            self.sessions.insert(session, Pace { all: new(), recent: [new(), new()] });
            return;
        };
        pace.add(threads, range, busy_us);
    }

    /// Thread time that a task has taken on average, microseconds; `None` before any was counted.
    pub(crate) fn us_per_task(&self) -> Option<f64> {
        let spent = self.sessions.values().map(|pace| &pace.all).chain([&self.earlier]);
        let (busy, tasks) = spent.fold((0.0, 0), |(busy, tasks), spent| {
            (busy + spent.busy(), tasks + spent.tasks.iter().sum::<u64>())
        });
        (tasks > 0).then(|| busy / tasks as f64)
    }

    pub(crate) fn forget_sessions(&mut self) {
        for pace in std::mem::take(&mut self.sessions).into_values() {
            self.earlier.join(&pace.all);
        }
    }

    pub(crate) fn forget_session(&mut self, session: SessionId) {
        if let Some(pace) = self.sessions.remove(&session) {
            self.earlier.join(&pace.all);
        }
    }

    /// Thread time that `left` takes `workers`: sessions, and how many threads they count it with. `None` without a
    /// thread, and before it can be told: most of the threads must be of workers that are known, and half of the plan's
    /// parts must have been seen.
    pub(crate) fn busy_us_left(
        &self,
        left: impl Iterator<Item = Range>,
        workers: &[(SessionId, u32)],
    ) -> Option<u64> {
        let spent: Vec<&Spent> = self
            .sessions
            .values()
            .map(|pace| &pace.all)
            .chain([&self.earlier])
            .filter(|spent| spent.busy() > 0.0)
            .collect();
        let costs = fitted(&spent)?;
        // Whoever has reported nothing yet is like all the others together.
        let all = spent.iter().map(|spent| spent.busy()).sum::<f64>()
            / spent.iter().map(|spent| spent.at(&costs)).sum::<f64>();
        let (mut threads, mut speed, mut known) = (0.0, 0.0, 0.0);
        for &(session, its_threads) in workers {
            let its_threads = f64::from(its_threads);
            let recent = self.sessions.get(&session).map(|pace| pace.recent(&costs));
            let (busy, at) = recent.filter(|(busy, _)| *busy > 0.0).unwrap_or((1.0, 0.0));
            let trust = (busy / (Self::KNOWN_US * its_threads)).min(1.0);
            threads += its_threads;
            speed += its_threads * (trust * at / busy + (1.0 - trust) / all);
            known += its_threads * trust;
        }
        if threads == 0.0 || known < Self::KNOWN_SHARE * threads || seen(&spent) < Self::SEEN {
            return None;
        }
        let mut work = 0.0;
        for range in left {
            let part =
                |stratum| Some(self.earlier.part(stratum, range)?.len() as f64 * costs[stratum]);
            work += (0..STRATA).filter_map(part).sum::<f64>();
        }
        Some((work * threads / speed) as u64)
    }
}

/// In how many strata something was counted.
fn seen(spent: &[&Spent]) -> usize {
    (0..STRATA).filter(|&stratum| spent.iter().any(|spent| spent.tasks[stratum] > 0)).count()
}

/// A task's cost in each stratum, to a worker of slowness 1. A stratum with few tasks is taken for one like the
/// others, the more so the fewer there are; one without is the mean of the nearest that have some.
fn fitted(spent: &[&Spent]) -> Option<[f64; STRATA]> {
    const TURNS: usize = 8;
    /// So many tasks of average cost are added to each stratum, in parts of what strata have on average.
    const ADDED: f64 = 0.1;
    let busy: [f64; STRATA] =
        from_fn(|stratum| spent.iter().map(|spent| spent.busy_us[stratum] as f64).sum());
    // At first as if each had a fair sample of the plan.
    let per_task = |spent: &&Spent| spent.busy() / spent.tasks.iter().sum::<u64>() as f64;
    let mut slowness: Vec<f64> = spent.iter().map(per_task).collect();
    let mut costs = [None; STRATA];
    for _ in 0..TURNS {
        // How many tasks a worker of slowness 1 would have counted in the time.
        let paces: [f64; STRATA] = from_fn(|stratum| {
            let pace = spent.iter().zip(&slowness);
            pace.map(|(spent, slow)| spent.tasks[stratum] as f64 * slow).sum()
        });
        let all: f64 = paces.iter().sum();
        let average = busy.iter().sum::<f64>() / all;
        let added = ADDED * all / seen(spent).max(1) as f64;
        costs = from_fn(|stratum| {
            let pace = paces[stratum];
            (pace > 0.0).then(|| (busy[stratum] + added * average) / (pace + added))
        });
        let known = costs.map(|cost| cost.unwrap_or(0.0));
        slowness = spent.iter().map(|spent| spent.busy() / spent.at(&known)).collect();
    }
    let known = |stratum: usize| costs[stratum];
    let filled: [Option<f64>; STRATA] = from_fn(|stratum| {
        let below = (0..=stratum).rev().find_map(known);
        let above = (stratum..STRATA).find_map(known);
        let (sum, of) =
            [below, above].iter().flatten().fold((0.0, 0), |(sum, of), cost| (sum + cost, of + 1));
        (of > 0).then(|| sum / f64::from(of))
    });
    filled.iter().all(Option::is_some).then(|| filled.map(|cost| cost.expect("all are there")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::StratumScheduler;
    use crate::{IntervalSet, Method, Plan, Problem};

    const TASKS: u64 = 1_600;

    fn range(start: u64, end: u64) -> Range {
        Range::new(start, end).expect("it is not empty")
    }

    /// What a worker of this slowness takes, in microseconds: a task of the ordinal o costs o + 100 times 100.
    fn busy_us(range: Range, slowness: u64) -> u64 {
        (range.start()..range.end()).map(|ordinal| 100 * slowness * (ordinal + 100)).sum()
    }

    /// From the middle of every hundred, as many as it counts in the same time.
    fn counted(costs: &mut Costs, session: u64, slowness: u64) {
        costs.add(SessionId(session), 1, range(0, 1), 1_000_000);
        for middle in (50..TASKS).step_by(100) {
            let range = range(middle - 50 / slowness, middle + 50 / slowness);
            costs.add(SessionId(session), 1, range, busy_us(range, slowness));
        }
    }

    fn left(costs: &Costs, part: Range, workers: &[(u64, u32)]) -> Option<f64> {
        let workers: Vec<_> =
            workers.iter().map(|&(id, threads)| (SessionId(id), threads)).collect();
        costs.busy_us_left([part].into_iter(), &workers).map(|us| us as f64)
    }

    #[test]
    fn a_slow_worker_makes_no_tasks_dear() {
        let mut costs = Costs::new(Spent::new(TASKS));
        counted(&mut costs, 1, 1);
        counted(&mut costs, 2, 10);
        let whole = range(0, TASKS);
        let truth = busy_us(whole, 1) as f64;
        let near = |workers: &[(u64, u32)], expected: f64| {
            let ratio = left(&costs, whole, workers).expect("known") / truth;
            assert!((ratio / expected - 1.0).abs() < 0.1, "{ratio} for {expected}");
        };
        near(&[(1, 2)], 1.0);
        near(&[(2, 1)], 10.0);
        near(&[(1, 1), (2, 1)], 2.0 / 1.1);
        assert_eq!(left(&costs, whole, &[]), None);
    }

    #[test]
    fn strata_without_data_are_like_their_neighbours() {
        let mut spent = Spent::new(TASKS);
        spent.add(range(0, 100), 100 * 10);
        spent.add(range(300, 400), 100 * 30);
        let costs = fitted(&[&spent]).expect("something was counted");
        let scale = spent.busy() / spent.at(&costs);
        let near = |stratum: usize, expected: f64| {
            assert!((costs[stratum] * scale / expected - 1.0).abs() < 0.1, "{costs:?}");
        };
        near(0, 10.0);
        near(1, 20.0);
        near(2, 20.0);
        near(15, 30.0);
        assert_eq!(fitted(&[]), None);
    }

    #[test]
    fn a_few_tasks_that_were_dear_do_not_speak_for_their_stratum() {
        let mut spent = Spent::new(TASKS);
        spent.add(range(0, 1), 100_000);
        spent.add(range(100, TASKS), 1_500 * 1_000);
        let costs = fitted(&[&spent]).expect("something was counted");
        assert!(costs[0] < 12.0 * costs[8], "it took a hundred times as long: {costs:?}");
    }

    #[test]
    fn nothing_is_told_before_workers_and_plan_are_known() {
        let mut costs = Costs::new(Spent::new(TASKS));
        let rest = range(1_000, TASKS);
        counted(&mut costs, 1, 1);
        costs.forget_session(SessionId(1));
        assert_eq!(left(&costs, rest, &[(2, 1)]), None, "nobody knows how fast the new one is");
        for told in [false, false, true] {
            assert_eq!(
                left(&costs, rest, &[(2, 1)]).is_some(),
                told,
                "the plan is known from before"
            );
            costs.add(SessionId(2), 1, range(0, 10), 3_500_000);
        }
        assert_eq!(left(&costs, rest, &[(2, 1), (3, 1)]), None, "half of the threads are new");
        assert_eq!(left(&costs, rest, &[(2, 9)]), None, "it has more threads than were seen");

        let mut costs = Costs::new(Spent::new(TASKS));
        costs.add(SessionId(1), 1, range(0, 10), 1_000_000);
        for stratum in 0..Costs::SEEN as u64 {
            assert_eq!(left(&costs, rest, &[(1, 1)]), None, "{stratum} parts were seen");
            let from = 200 * stratum;
            costs.add(SessionId(1), 1, range(from, from + 10), 1_000_000);
        }
        assert!(left(&costs, rest, &[(1, 1)]).is_some());
    }

    #[test]
    fn a_worker_that_becomes_slow_is_slow_soon() {
        let mut costs = Costs::new(Spent::new(TASKS));
        let round = |costs: &mut Costs, slowness| {
            for first in (0..TASKS).step_by(100) {
                let range = range(first, first + 10);
                costs.add(SessionId(1), 1, range, busy_us(range, slowness));
            }
        };
        costs.add(SessionId(1), 1, range(0, 1), 10);
        (0..50).for_each(|_| round(&mut costs, 1));
        (0..12).for_each(|_| round(&mut costs, 4));
        let whole = range(0, TASKS);
        let ratio = left(&costs, whole, &[(1, 1)]).expect("known") / busy_us(whole, 1) as f64;
        assert!((3.0..=4.2).contains(&ratio), "{ratio}");
    }

    /// A plan of which tasks become dearer and then cheaper, counted in the order of the scheduler by workers that
    /// come and go. Whatever is told is right within a tenth.
    #[test]
    fn what_is_told_is_right_while_workers_come_and_go() {
        let plan =
            Plan { problem: Problem::Total { n: 18 }, method: Method::Halves, tasks: 12_800 };
        let cost_us = |ordinal: u64| 2_000 + 3 * ordinal.min(plan.tasks - ordinal);
        let of = |range: Range| (range.start()..range.end()).map(cost_us).sum::<u64>();
        let mut pool: IntervalSet = Range::new(0, plan.tasks).into_iter().collect();
        let (mut scheduler, mut costs) =
            (StratumScheduler::new(&plan), Costs::new(Spent::new(plan.tasks)));
        // (session, slowness, there from this time on until that, free at), in microseconds
        let mut workers =
            [(1, 1, 0, u64::MAX, 0), (2, 3, 0, 20_000_000, 0), (3, 2, 30_000_000, u64::MAX, 0)];
        let (mut now, mut told, mut asked) = (0, 0, 0);
        while !pool.is_empty() {
            now += 100_000;
            for (session, slowness, from, until, free_at) in &mut workers {
                while (*from..*until).contains(&now) && *free_at <= now {
                    let Some(range) = scheduler.take(SessionId(*session), &mut pool, 25) else {
                        break;
                    };
                    // The first tasks are a hundred times as dear: tables are made for them.
                    let first = if *free_at == 0 { 1_000_000 } else { 0 };
                    let busy_us = of(range) * *slowness + first;
                    costs.add(SessionId(*session), 1, range, busy_us);
                    *free_at = now + busy_us;
                }
                if *until == now {
                    costs.forget_session(SessionId(*session));
                }
            }
            let there =
                workers.iter().filter(|(_, _, from, until, _)| (*from..*until).contains(&now));
            let there: Vec<(SessionId, u64)> =
                there.map(|&(session, slowness, ..)| (SessionId(session), slowness)).collect();
            let work: u64 = pool.iter().map(of).sum();
            let speed: f64 = there.iter().map(|&(_, slowness)| 1.0 / slowness as f64).sum();
            let truth = work as f64 * there.len() as f64 / speed;
            let sessions: Vec<(SessionId, u32)> = there.iter().map(|&(id, _)| (id, 1)).collect();
            asked += 1;
            if let Some(us) = costs.busy_us_left(pool.iter(), &sessions) {
                told += 1;
                let error = (us as f64 - truth).abs() / truth.max(1e6);
                let bound = if now < 10_000_000 { 0.3 } else { 0.1 };
                assert!(error < bound, "{us} instead of {truth} at {now} us");
            }
        }
        assert!(told > asked / 2, "it was told {told} times of {asked}");
    }

    #[test]
    fn time_is_dealt_to_the_strata_of_a_range() {
        let mut spent = Spent::new(TASKS);
        spent.add(range(50, 250), 2_000);
        assert_eq!((spent.tasks[0], spent.tasks[1], spent.tasks[2]), (50, 100, 50));
        assert_eq!((spent.busy_us[0], spent.busy_us[1], spent.busy_us[2]), (500, 1_000, 500));
    }
}
