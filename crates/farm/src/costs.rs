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

/// Fewer than there are turns in a [`StratumScheduler`](crate::strata::StratumScheduler), so that soon several workers have
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

/// What a job's tasks have cost so far, by strata and workers.
#[derive(Debug)]
pub(crate) struct Costs {
    sessions: BTreeMap<SessionId, Spent>,
    /// By sessions that are gone.
    earlier: Spent,
}

impl Costs {
    pub(crate) fn new(earlier: Spent) -> Costs {
        Costs { sessions: BTreeMap::new(), earlier }
    }

    pub(crate) fn add(&mut self, session: SessionId, range: Range, busy_us: u64) {
        let new = || Spent::new(self.earlier.plan_tasks);
        self.sessions.entry(session).or_insert_with(new).add(range, busy_us);
    }

    pub(crate) fn forget_session(&mut self, session: SessionId) {
        if let Some(spent) = self.sessions.remove(&session) {
            self.earlier.join(&spent);
        }
    }

    /// Thread time that `left` takes `workers`: sessions, and how many threads they count it with.
    /// `None` before anything was counted, and without a thread.
    pub(crate) fn busy_us_left(
        &self,
        left: impl Iterator<Item = Range>,
        workers: &[(SessionId, u32)],
    ) -> Option<u64> {
        if workers.is_empty() {
            return None;
        }
        let spent: Vec<&Spent> = self
            .sessions
            .values()
            .chain([&self.earlier])
            .filter(|spent| spent.busy() > 0.0)
            .collect();
        let costs = fitted(&spent)?;
        let slowness = |spent: &Spent| spent.busy() / spent.at(&costs);
        // Whoever has reported nothing yet is like all the others together.
        let all = spent.iter().map(|spent| spent.busy()).sum::<f64>()
            / spent.iter().map(|spent| spent.at(&costs)).sum::<f64>();
        let (mut threads, mut speed) = (0.0, 0.0);
        for &(session, its_threads) in workers {
            let known = self.sessions.get(&session).filter(|spent| spent.busy() > 0.0);
            threads += f64::from(its_threads);
            speed += f64::from(its_threads) / known.map_or(all, slowness);
        }
        let mut work = 0.0;
        for range in left {
            let part =
                |stratum| Some(self.earlier.part(stratum, range)?.len() as f64 * costs[stratum]);
            work += (0..STRATA).filter_map(part).sum::<f64>();
        }
        (speed > 0.0).then(|| (work * threads / speed) as u64)
    }
}

/// A task's cost in each stratum, to a worker of slowness 1; in one without data it is the mean of the
/// nearest that have some.
fn fitted(spent: &[&Spent]) -> Option<[f64; STRATA]> {
    const TURNS: usize = 8;
    let busy: [f64; STRATA] =
        from_fn(|stratum| spent.iter().map(|spent| spent.busy_us[stratum] as f64).sum());
    // At first as if each had a fair sample of the plan.
    let per_task = |spent: &&Spent| spent.busy() / spent.tasks.iter().sum::<u64>() as f64;
    let mut slowness: Vec<f64> = spent.iter().map(per_task).collect();
    let mut costs = [None; STRATA];
    for _ in 0..TURNS {
        costs = from_fn(|stratum| {
            let pace = spent.iter().zip(&slowness);
            let pace: f64 = pace.map(|(spent, slow)| spent.tasks[stratum] as f64 * slow).sum();
            (pace > 0.0).then(|| busy[stratum] / pace)
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

    const TASKS: u64 = 1_600;

    fn range(start: u64, end: u64) -> Range {
        Range::new(start, end).expect("it is not empty")
    }

    /// What a worker of this slowness takes: a task of the ordinal o costs o + 100.
    fn busy_us(range: Range, slowness: u64) -> u64 {
        (range.start()..range.end()).map(|ordinal| slowness * (ordinal + 100)).sum()
    }

    /// From the middle of every hundred, as many as it counts in the same time.
    fn counted(costs: &mut Costs, session: u64, slowness: u64) {
        for middle in (50..TASKS).step_by(100) {
            let range = range(middle - 50 / slowness, middle + 50 / slowness);
            costs.add(SessionId(session), range, busy_us(range, slowness));
        }
    }

    #[test]
    fn a_slow_worker_makes_no_tasks_dear() {
        let mut costs = Costs::new(Spent::new(TASKS));
        counted(&mut costs, 1, 1);
        counted(&mut costs, 2, 10);
        let left = [range(0, TASKS)];
        let truth = busy_us(left[0], 1) as f64;
        let with = |workers: &[(u64, u32)]| {
            let workers: Vec<_> =
                workers.iter().map(|&(id, threads)| (SessionId(id), threads)).collect();
            costs.busy_us_left(left.into_iter(), &workers).map(|us| us as f64 / truth)
        };
        let near =
            |ratio: Option<f64>, truth: f64| (ratio.expect("known") / truth - 1.0).abs() < 0.05;
        assert!(near(with(&[(1, 3)]), 1.0), "{:?}", with(&[(1, 3)]));
        assert!(near(with(&[(2, 1)]), 10.0), "{:?}", with(&[(2, 1)]));
        assert!(near(with(&[(1, 1), (2, 1)]), 2.0 / 1.1), "{:?}", with(&[(1, 1), (2, 1)]));
        assert_eq!(with(&[]), None);
    }

    #[test]
    fn strata_without_data_are_like_their_neighbours_and_sessions_that_left_count() {
        let mut costs = Costs::new(Spent::new(TASKS));
        assert_eq!(costs.busy_us_left([range(0, 1)].into_iter(), &[(SessionId(1), 1)]), None);
        costs.add(SessionId(1), range(0, 100), 100 * 10);
        costs.add(SessionId(1), range(300, 400), 100 * 30);
        costs.forget_session(SessionId(1));
        let left = |part| costs.busy_us_left([part].into_iter(), &[(SessionId(2), 4)]);
        assert_eq!(left(range(0, 1)), Some(10));
        assert_eq!(left(range(100, 101)), Some(20));
        assert_eq!(left(range(1_500, 1_600)), Some(3_000));
    }

    #[test]
    fn time_is_dealt_to_the_strata_of_a_range() {
        let mut spent = Spent::new(TASKS);
        spent.add(range(50, 250), 2_000);
        assert_eq!((spent.tasks[0], spent.tasks[1], spent.tasks[2]), (50, 100, 50));
        assert_eq!((spent.busy_us[0], spent.busy_us[1], spent.busy_us[2]), (500, 1_000, 500));
    }
}
