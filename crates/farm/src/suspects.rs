//! Which of a job's ranges look worst, when their sum cannot be right.
//!
//! Neighbouring tasks are alike: they count about as much, and what counts more takes longer. So two numbers
//! of a range are compared with those of the ranges beside it: its count for each task, and its count for
//! each second. An honest range that is heavy differs in the first, one that a slow machine counted differs
//! in the second, and a wrong count differs in both. Ranges are therefore ordered by the smaller of the two
//! differences. Those that two workers counted alike come last.
//!
//! This is for people, and for an audit to begin with. It proves nothing.

use std::cmp::Ordering;

use crate::rows::{Check, CountedRange};
use crate::{Author, Maker, Range, Row};

/// A range that may have been counted wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// The range.
    pub range: Range,
    /// What the ledger has for it.
    pub count: u64,
    /// The worker that counted it, by the name that it gives itself.
    pub worker: String,
    /// Who answers for the count.
    pub maker: Maker,
}

impl Suspect {
    /// The most that are named of a job.
    pub const NAMED: usize = 8;
}

/// Finds the worst of the rows that it is shown. Rows come in the order of their ordinals, and only three of
/// them are kept at a time.
#[derive(Debug, Default)]
pub(crate) struct Suspects {
    before: Option<CountedRange>,
    last: Option<CountedRange>,
    /// The worst first.
    worst: Vec<(Looks, Suspect)>,
}

/// How bad a range looks.
#[derive(Clone, Copy, Debug)]
struct Looks {
    counted_once: bool,
    /// By which factor it differs from its neighbours: the smaller and the larger of two.
    factors: [f64; 2],
}

impl Suspects {
    /// Shows it the next row.
    pub(crate) fn see(&mut self, next: CountedRange) {
        self.look(Some(&next));
        self.before = self.last.replace(next);
    }

    /// The worst rows, the worst first; at most [`Suspect::NAMED`].
    #[must_use]
    pub(crate) fn end(mut self) -> Vec<Suspect> {
        self.look(None);
        self.worst.into_iter().map(|(_, suspect)| suspect).collect()
    }

    /// Judges the last row, which stands between two others.
    fn look(&mut self, next: Option<&CountedRange>) {
        let Some(CountedRange { row, check }) = &self.last else { return };
        let beside = self.before.iter().chain(next).map(|counted| &counted.row);
        let looks = Looks { counted_once: *check != Check::Agreed, factors: factors(row, beside) };
        let at = self.worst.partition_point(|(other, _)| other.cmp(&looks) != Ordering::Less);
        if at < Suspect::NAMED {
            let Row { range, tally, author, .. } = row;
            let Author { maker, worker, .. } = author.clone();
            let suspect = Suspect { range: *range, count: tally.count, worker, maker };
            self.worst.insert(at, (looks, suspect));
            self.worst.truncate(Suspect::NAMED);
        }
    }
}

impl Looks {
    fn cmp(&self, other: &Looks) -> Ordering {
        let [least, most] = [0, 1].map(|at: usize| self.factors[at].total_cmp(&other.factors[at]));
        self.counted_once.cmp(&other.counted_once).then(least).then(most)
    }
}

/// By which factors a row differs from those beside it, in its count for each task and for each
/// microsecond; 1 if it has no neighbours.
fn factors<'a>(row: &Row, beside: impl Iterator<Item = &'a Row>) -> [f64; 2] {
    let numbers =
        |row: &Row| [row.tally.count, row.range.len(), row.busy_us].map(|number| number as f64);
    let usual =
        beside.map(numbers).reduce(|sum, more| [0, 1, 2].map(|at: usize| sum[at] + more[at]));
    let Some(usual) = usual else { return [1.0; 2] };
    let own = numbers(row);
    // One more of everything, so that nothing is divided by zero.
    let factor = |of: usize| {
        let ratio = (own[0] + 1.0) / (own[of] + 1.0) * (usual[of] + 1.0) / (usual[0] + 1.0);
        ratio.max(1.0 / ratio)
    };
    let (tasks, time) = (factor(1), factor(2));
    [tasks.min(time), tasks.max(time)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Author, KernelName, LeaseId, Maker, Tally};

    /// Rows of ten tasks each, with these counts and thread times, in order.
    fn worst(rows: &[(u64, u64, Check)]) -> Vec<u64> {
        let mut suspects = Suspects::default();
        for (place, &(count, busy_us, check)) in (0..).zip(rows) {
            let row = Row {
                range: Range::new(10 * place, 10 * place + 10).expect("not empty"),
                tally: Tally { count, ..Tally::EMPTY },
                kernel: KernelName::default(),
                author: Author {
                    maker: Maker { owner: "o".into(), machine: "m".into() },
                    worker: "w".into(),
                    build: "1".into(),
                },
                lease: LeaseId(1),
                busy_us,
            };
            suspects.see(CountedRange { row, check });
        }
        suspects.end().into_iter().map(|suspect| suspect.range.start() / 10).collect()
    }

    #[test]
    fn what_counts_too_much_or_too_little_for_its_cost_and_its_neighbours_comes_first() {
        let mut rows = [(1_000, 100, Check::NotChosen); 20];
        rows[3].1 = 1_000; // a slow machine
        rows[7] = (10_000, 1_000, Check::NotChosen); // heavy tasks
        for (at, wrong) in [(12, 2_500), (15, 0), (0, 300), (19, u64::MAX)] {
            let mut rows = rows;
            rows[at].0 = wrong;
            assert_eq!(worst(&rows)[0], at as u64, "{wrong}");
            assert_eq!(worst(&rows).len(), Suspect::NAMED);
        }
    }

    #[test]
    fn what_two_workers_counted_alike_comes_last() {
        let mut rows = [(1_000, 100, Check::NotChosen); 5];
        rows[2] = (1, 100, Check::Agreed);
        assert_eq!(worst(&rows).last(), Some(&2));
        rows[2].2 = Check::NotChosen;
        assert_eq!(worst(&rows).first(), Some(&2));
    }

    #[test]
    fn few_rows_are_all_named() {
        assert_eq!(worst(&[]), [0; 0]);
        assert_eq!(worst(&[(42, 1, Check::NotChosen)]), [0]);
        assert_eq!(worst(&[(0, 0, Check::NotChosen), (0, 0, Check::NotChosen)]), [0, 1]);
    }
}
