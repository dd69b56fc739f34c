//! The tasks of `colours` by ordinal.
//!
//! A plan is a list of *runs*: tasks with the same odd rows. In a run the even rows go through a
//! part of a table, which follows from the symmetry. Let a be the odd rows and b the even rows that
//! hold black queens, `rev` the reversal of a set of lines, and `~` its complement.
//!
//! ```text
//!   N even, h = N/2, k = 0 ..= h/2     a: k odd rows       b: k even rows with a <= rev b
//!           2k = h                     a < ~a              and also rev b <= ~a
//!           weight 4, or 2 if one of the comparisons is an equality
//!
//!   N odd,  k = 1 ..= (N + 1)/2        a: k - 1 odd rows with a <= rev a
//!                                      b: k even rows; with b <= rev b if a = rev a
//!           weight 2, or 1 if a = rev a and b = rev b
//! ```
//!
//! Sets of equal size are compared and listed as numbers. For even N a run therefore takes
//! consecutive entries of the table of values of rev b.

use std::cmp::Ordering;
use std::ops::Range;

use super::{Split, even_lines, odd_lines, reversed};
use crate::{Task, full_mask};

/// The sets of `size` of `lines` lines, `lines` at most 16, in ascending order.
#[must_use]
pub fn sets(lines: u32, size: u32) -> Vec<u16> {
    (0..=full_mask(lines)).filter(|set| set.count_ones() == size).map(|set| set as u16).collect()
}

/// The tasks of a board by ordinal. It takes less than 1 MB.
#[derive(Clone, Debug)]
pub(crate) struct ColoursPlan {
    n: u32,
    /// The sets of even rows that runs refer to. For even N there is one table for each k, which
    /// holds rev b. For odd N there are two tables for each k: all b, and then those with b <= rev
    /// b.
    tables: Vec<Vec<u16>>,
    runs: Vec<Run>,
    len: u64,
}

/// Tasks with the same odd rows.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The ordinal of its first task.
    start: u64,
    odd: u16,
    /// The table of the sets of even rows, and the place of the first task's set in this table.
    table: u16,
    first: u32,
}

impl ColoursPlan {
    /// The plan of a board of size `n`, from [`MIN_N`](super::MIN_N) to [`MAX_N`](super::MAX_N).
    pub(crate) fn new(n: u32) -> ColoursPlan {
        let mut plan = ColoursPlan { n, tables: Vec::new(), runs: Vec::new(), len: 0 };
        if n.is_multiple_of(2) {
            plan.add_even()
        } else {
            plan.add_odd()
        }
        plan
    }

    fn add_even(&mut self) {
        let half = self.n / 2;
        for k in 0..=half / 2 {
            let (table, turned) = (self.tables.len(), sets(half, k));
            let len = turned.len();
            for (rank, &odd) in turned.iter().enumerate() {
                // The complement of a set of half of the lines has the same rank from the other
                // end.
                let end = if 2 * k == half { len - rank } else { len };
                self.add(odd, table, rank..end);
            }
            self.tables.push(turned);
        }
    }

    fn add_odd(&mut self) {
        let (even, odd) = (even_lines(self.n), odd_lines(self.n));
        for k in 1..=even {
            let (table, all) = (self.tables.len(), sets(even, k));
            let least = |set: &u16| u32::from(*set) <= reversed((*set).into(), even);
            let canonical: Vec<u16> = all.iter().copied().filter(least).collect();
            for set in sets(odd, k - 1) {
                match u32::from(set).cmp(&reversed(set.into(), odd)) {
                    Ordering::Less => self.add(set, table, 0..all.len()),
                    Ordering::Equal => self.add(set, table + 1, 0..canonical.len()),
                    Ordering::Greater => {}
                }
            }
            self.tables.extend([all, canonical]);
        }
    }

    /// Adds a run of the tasks with these odd rows and a part of a table, unless the part is empty.
    fn add(&mut self, odd: u16, table: usize, part: Range<usize>) {
        if !part.is_empty() {
            let (table, first) = (table as u16, part.start as u32);
            self.runs.push(Run { start: self.len, odd, table, first });
            self.len += part.len() as u64;
        }
    }

    /// The number of tasks: about a quarter of C(N, N/2) for even N, about half of it for odd N.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Appends the tasks of a range of ordinals.
    pub(crate) fn fill(&self, range: Range<u64>, out: &mut Vec<Task>) {
        let mut at = range.start;
        let mut run = self.runs.partition_point(|run| run.start <= at).saturating_sub(1);
        while at < range.end {
            let Run { start, odd, table, first } = self.runs[run];
            let end = self.runs.get(run + 1).map_or(self.len, |next| next.start).min(range.end);
            let place = |ordinal: u64| first as usize + (ordinal - start) as usize;
            let part = &self.tables[usize::from(table)][place(at)..place(end)];
            out.extend(part.iter().map(|&set| self.task(odd.into(), set.into())));
            (at, run) = (end, run + 1);
        }
    }

    /// The task with these odd rows and this set of a table.
    fn task(&self, odd: u32, set: u32) -> Task {
        let n = self.n;
        let even = if n.is_multiple_of(2) { reversed(set, n / 2) } else { set };
        let split = Split { even, odd };
        Task { record: split.pack(n), weight: split.weight(n) }
    }
}
