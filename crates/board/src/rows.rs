//! Tasks of the method `rows`: every way to place the first M rows, mirror images removed.
//!
//! One of two boards that are mirror images of each other, left to right, is counted. A prefix that is its
//! own mirror image has weight 1: the empty board, and for odd N the queen in the centre column. The next
//! queen below such a prefix stands in the left half (columns `0..N/2`), and the prefix has weight 2 from
//! there on, or it stands in the centre column. Nothing else is removed:
//!
//! ```text
//!   N = 5, M = 2       first row   0 0 0 1 1 2      weight 2 throughout; the centre
//!                      second row  2 3 4 3 4 0      column's 2 4 mirrors 2 0
//! ```
//!
//! The method `prefixes` removes nothing: it has every such prefix, with weight 1.
//!
//! Tasks are in lexicographic order of their queens' columns, row by row, ascending. The sum of
//! their weights is the number of prefixes without symmetry (A061989 to A061993 for M = 3 to 7).
//!
//! A plan holds no tasks. It holds an index of all canonical prefixes of the deepest row that has at most
//! 65,536 of them, in order, each with the ordinal of the first task below it. A task is reached by binary
//! search and a walk over the tasks below one entry: 4,000 of them for N = 27 and M = 6, and some ten
//! thousand in the largest plans.
//!
//! Measured on one core of a shared Zen 5 server, a plan of N = 27 with M = 6 (3.4e7 tasks) is made in
//! 1.1 ms, and one of N = 17 with M = 10 (1.8e8 tasks) in 0.17 s. Among the largest plans the deep ones take
//! longest: 0.6 s for N = 17, M = 11, and 6 s for N = 16 with all rows placed, the longest of all that are
//! not refused. A refusal takes at most 1.5 s (N = 17), and 0.03 s for N = 32.

use std::ops::Range;

use crate::{PlanError, Prefix, Task, full_mask};

/// The most prefixes that the first M rows of a plan may hold, all those rows together.
///
/// It bounds the number of tasks, and also the time to make a plan, which counts the prefixes above
/// the last two rows one at a time.
pub const MAX_TASKS: u64 = 1_000_000_000;

/// The number of placed rows to choose if the user names none: a quarter of the rows, at most 6, and 3 for N = 14 to 17.
///
/// There are then about 700 to 1,400 tasks for N = 14 to 17, 10^5 to 5 * 10^5 up to N = 21, 6 * 10^6 to
/// 3 * 10^7 up to N = 25, and 10^8 for N = 32: enough for a large farm to share, and each of them long
/// enough to be worth sending. With a quarter of the rows, tasks of N = 16 would take 8 us, and the evidence that is
/// kept of each would take 8% of the time.
#[must_use]
pub const fn suggested_rows(n: u32) -> u32 {
    // (n + 2) / 4 would overflow for the largest n, which a stranger can ask for.
    match n / 4 + n % 4 / 2 {
        4 => 3,
        quarter @ ..6 => quarter,
        6.. => 6,
    }
}

/// The most entries of an index: 24 bytes each, 1.5 MiB.
const MAX_ENTRIES: u64 = 1 << 16;

/// A canonical prefix, and the ordinal of the first task at or below it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u64,
    prefix: Prefix,
    weight: u8,
}

/// The tasks of one board and one number of placed rows, by ordinal.
///
/// It takes at most 2 MB for any number of tasks.
#[derive(Clone, Debug)]
pub(crate) struct RowsPlan {
    n: u32,
    /// The canonical prefixes of one row, in order.
    entries: Vec<Entry>,
    /// Number of rows from an entry down to its tasks.
    below: u32,
    tasks: u64,
}

impl RowsPlan {
    /// Plans the first `rows` rows (M, `0..=n`) of a board of size `n` (`0..=32`); `None` soon after `stop`
    /// begins to return `true`. A prefix that is not its own mirror image has the weight `of_pair`: 2 if only
    /// the canonical one of the two is a task, and 1 if both are.
    ///
    /// # Errors
    ///
    /// [`PlanError::TooManyPrefixes`], if the first `rows` rows hold more than `limit` prefixes.
    ///
    /// The prefixes are counted two rows at a time from the top, so that a board with far too many of them
    /// is refused before the search has gone deep.
    pub(crate) fn new_unless(
        n: u32,
        rows: u32,
        of_pair: u8,
        limit: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<RowsPlan>, PlanError> {
        let mut entries = vec![Entry { start: 0, prefix: Prefix::EMPTY, weight: 1 }];
        let mut depth = 0;
        let mut prefixes_above = 0;
        // After two rows no prefix is its own mirror image, which the walk below an entry relies on.
        while depth < rows && (depth < 2 || children(n, &entries) <= MAX_ENTRIES) {
            prefixes_above += entries.len() as u64;
            entries = entries.iter().flat_map(|entry| extend(n, *entry, of_pair)).collect();
            depth += 1;
        }

        let below = rows - depth;
        let mut tasks = 0;
        for deep in (below % 2..=below).step_by(2) {
            let mut tally = Tally::default();
            for entry in &mut entries {
                entry.start = tally.tasks;
                tally.add(n, entry.prefix, deep);
                if prefixes_above + tally.parents + tally.tasks > limit {
                    let advice = suggested_rows(n);
                    return Err(PlanError::TooManyPrefixes { n, rows, advice });
                }
                if stop() {
                    return Ok(None);
                }
            }
            prefixes_above += tally.parents + tally.tasks;
            tasks = tally.tasks;
        }
        Ok(Some(RowsPlan { n, entries, below, tasks }))
    }

    /// The number of tasks. There is none if the rows cannot be placed (`n` = 2 and 3).
    pub(crate) fn len(&self) -> u64 {
        self.tasks
    }

    /// Puts the tasks of `range`, which the plan has, into `out`, which is empty, in order.
    pub(crate) fn fill(&self, range: Range<u64>, out: &mut Vec<Task>) {
        if range.is_empty() {
            return;
        }
        let after = self.entries.partition_point(|entry| entry.start <= range.start);
        let entries = &self.entries[after - 1..];
        // Those below the first entry that are before the range are made, too, and removed again.
        let before = (range.start - entries[0].start) as usize;
        let most = before + (range.end - range.start) as usize;
        for entry in entries {
            if out.len() == most {
                break;
            }
            self.collect(entry.prefix, self.below, entry.weight, most, out);
        }
        out.drain(..before);
    }

    /// Appends the tasks `rows` rows below `prefix` to `out`, in order, until it has `most` tasks.
    fn collect(&self, prefix: Prefix, rows: u32, weight: u8, most: usize, out: &mut Vec<Task>) {
        if rows == 0 {
            return out.push(Task { record: prefix, weight });
        }
        for bit in bits(prefix.free(self.n)) {
            if out.len() == most {
                return;
            }
            self.collect(prefix.place(self.n, bit), rows - 1, weight, most, out);
        }
    }
}

/// The number of prefixes one row below `entries`, which are two rows deep or more.
fn children(n: u32, entries: &[Entry]) -> u64 {
    entries.iter().map(|entry| u64::from(entry.prefix.free(n).count_ones())).sum()
}

/// The canonical prefixes one row below an entry, in order; their `start` is not known yet.
fn extend(n: u32, entry: Entry, of_pair: u8) -> impl Iterator<Item = Entry> {
    let is_own_image = entry.weight < of_pair;
    let (columns, centre) = if is_own_image {
        (full_mask(n.div_ceil(2)), full_mask(n % 2) << (n / 2))
    } else {
        (full_mask(n), 0)
    };
    bits(entry.prefix.free(n) & columns).map(move |bit| Entry {
        start: 0,
        prefix: entry.prefix.place(n, bit),
        weight: if bit == centre { 1 } else { of_pair },
    })
}

/// The single bits of a mask, lowest first.
fn bits(mut mask: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = mask & mask.wrapping_neg();
        mask ^= bit;
        (bit != 0).then_some(bit)
    })
}

/// The number of prefixes of the last two rows of a search.
#[derive(Default)]
struct Tally {
    parents: u64,
    tasks: u64,
}

impl Tally {
    /// Adds the numbers of prefixes `rows` rows below `prefix`, and `rows - 1` rows below it.
    fn add(&mut self, n: u32, prefix: Prefix, rows: u32) {
        match rows {
            0 => self.tasks += 1,
            1 => {
                self.parents += 1;
                self.tasks += u64::from(prefix.free(n).count_ones());
            }
            2 => {
                self.parents += u64::from(prefix.free(n).count_ones());
                self.tasks += two_rows(n, prefix);
            }
            _ => {
                for bit in bits(prefix.free(n)) {
                    self.add(n, prefix.place(n, bit), rows - 1);
                }
            }
        }
    }
}

/// The number of ways to place two rows below `prefix`, without visiting each: all pairs of free squares of
/// the two rows, less the pairs in one column or on one diagonal.
fn two_rows(n: u32, prefix: Prefix) -> u64 {
    let first = prefix.free(n);
    let second = prefix.place(n, 0).free(n);
    let together = first.count_ones() * second.count_ones();
    let attacking = (first & second).count_ones()
        + ((first << 1) & second).count_ones()
        + (first & (second << 1)).count_ones();
    u64::from(together - attacking)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_N;

    #[test]
    fn the_index_is_bounded_and_its_entries_start_in_order() {
        for n in 0..=MAX_N {
            let index = RowsPlan::new_unless(n, suggested_rows(n), 2, MAX_TASKS, &|| false);
            let index = index.expect("is within the limit").expect("is not stopped");
            assert!(index.entries.len() as u64 <= MAX_ENTRIES, "N = {n}");
            assert!(index.entries.is_sorted_by_key(|entry| entry.start));
        }
    }

    #[test]
    fn the_limit_counts_the_prefixes_of_all_rows() {
        for rows in [3, 8, 12] {
            let within = |rows, limit| RowsPlan::new_unless(12, rows, 2, limit, &|| false);
            let tasks = |rows| within(rows, u64::MAX).expect("no limit").expect("no stop").tasks;
            let all_rows = (0..=rows).map(tasks).sum();
            assert!(within(rows, all_rows).is_ok(), "M = {rows}");
            assert!(within(rows, all_rows - 1).is_err(), "M = {rows}");
        }
    }

    #[test]
    fn two_rows_are_counted_as_if_looked_at() {
        for n in [1, 2, 3, 5, 9, 32] {
            let mut prefix = Prefix::EMPTY;
            loop {
                let one_by_one: u32 =
                    bits(prefix.free(n)).map(|bit| prefix.place(n, bit).free(n).count_ones()).sum();
                assert_eq!(two_rows(n, prefix), u64::from(one_by_one), "{prefix:?}");
                let Some(bit) = bits(prefix.free(n)).last() else {
                    break;
                };
                prefix = prefix.place(n, bit);
            }
        }
    }
}
