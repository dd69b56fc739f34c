//! The walk below the entries of an index that collects a range of tasks.
//!
//! Tasks before the range are skipped a row at a time, by the number of free squares.

use super::index::{Entry, bits, two_rows};
use crate::{Prefix, Task};

/// A walk that skips `skip` tasks and then collects `take`.
pub(super) struct Walk<'a> {
    n: u32,
    skip: u64,
    take: u64,
    weight: u8,
    out: &'a mut Vec<Task>,
}

impl Walk<'_> {
    pub(super) fn new(n: u32, skip: u64, take: u64, out: &mut Vec<Task>) -> Walk<'_> {
        Walk { n, skip, take, weight: 0, out }
    }

    /// Walks the tasks `rows` rows below each of `entries`.
    pub(super) fn run(mut self, entries: &[Entry], rows: u32) {
        for entry in entries {
            if self.take == 0 {
                return;
            }
            self.weight = entry.weight;
            self.below(entry.prefix, rows);
        }
    }

    fn below(&mut self, prefix: Prefix, rows: u32) {
        match rows {
            0 => self.collect(prefix),
            1 => self.last_row(prefix),
            2 if self.skip > 0 && self.skips(two_rows(self.n, prefix)) => {}
            _ => {
                for bit in bits(prefix.free(self.n)) {
                    if self.take == 0 {
                        return;
                    }
                    self.below(prefix.place(self.n, bit), rows - 1);
                }
            }
        }
    }

    /// Skips the next `tasks` tasks, if the range starts after all of them; returns whether it did.
    fn skips(&mut self, tasks: u64) -> bool {
        let all = self.skip >= tasks;
        if all {
            self.skip -= tasks;
        }
        all
    }

    fn last_row(&mut self, prefix: Prefix) {
        let free = prefix.free(self.n);
        if self.skip > 0 && self.skips(u64::from(free.count_ones())) {
            return;
        }
        for bit in bits(free) {
            self.collect(prefix.place(self.n, bit));
        }
    }

    fn collect(&mut self, record: Prefix) {
        if self.skip > 0 {
            self.skip -= 1;
        } else if self.take > 0 {
            self.take -= 1;
            self.out.push(Task { record, weight: self.weight });
        }
    }
}
