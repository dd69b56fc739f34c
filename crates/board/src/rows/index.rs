//! A plan, as an index that says where the tasks below each prefix of a shallow row begin.
//!
//! The index holds all canonical prefixes of the deepest row that has at most [`MAX_ENTRIES`] of
//! them, in order, each with the ordinal of the first task below it. A task is reached by binary
//! search and a walk below one entry.

use std::ops::Range;

use crate::{Prefix, Task, bits, full_mask};

/// The most entries of an index: 24 bytes each, 1.5 MiB.
const MAX_ENTRIES: u64 = 1 << 16;

/// Which of two prefixes that are mirror images of each other are tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Images {
    /// The one whose first queen off the centre column stands in the left half, which is the
    /// canonical one.
    Left,
    /// Both of them, as in the method `prefixes`.
    Both,
}

/// A canonical prefix, and the ordinal of the first task at or below it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u64,
    prefix: Prefix,
    weight: u8,
}

/// The error of rows that hold more prefixes than the limit.
#[derive(Debug)]
pub(crate) struct TooManyPrefixes {
    /// The most rows that do not.
    pub(crate) most_rows: u32,
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
    /// Plans the first `rows` rows (M, `0..=n`) of a board of size `n` (`0..=32`), with the mirror
    /// images that `images` names. It fails if there are more than `limit` prefixes, and it returns
    /// `None` soon after `stop` begins to return `true`.
    ///
    /// The prefixes are counted two rows at a time from the top, so that a board with far too many
    /// of them is refused before the search has gone deep.
    pub(crate) fn new_unless(
        n: u32,
        rows: u32,
        images: Images,
        limit: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<RowsPlan>, TooManyPrefixes> {
        let mut entries = vec![Entry { start: 0, prefix: Prefix::EMPTY, weight: 1 }];
        let mut depth = 0;
        let mut prefixes_above = 0;
        // After two rows no prefix is its own mirror image, which the walk below an entry relies
        // on.
        while depth < rows && (depth < 2 || children(n, &entries) <= MAX_ENTRIES) {
            prefixes_above += entries.len() as u64;
            entries = entries.iter().flat_map(|entry| extend(n, *entry, images)).collect();
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
                    // The round before has counted the rows above the last two.
                    let too_many = match deep {
                        0 => 1,
                        _ if fits(n, &entries, deep - 1, limit.saturating_sub(prefixes_above)) => 1,
                        _ => 2,
                    };
                    return Err(TooManyPrefixes { most_rows: depth + deep - too_many });
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

    /// Appends the tasks of `range`, which the plan has, to `out`, in order.
    pub(crate) fn fill(&self, range: Range<u64>, out: &mut Vec<Task>) {
        if range.is_empty() {
            return;
        }
        // The entry above the first task.
        let after = self.entries.partition_point(|entry| entry.start <= range.start);
        let entries = &self.entries[after - 1..];
        let skip = range.start - entries[0].start;
        let mut walk = Walk { n: self.n, skip, take: range.end - range.start, weight: 0, out };
        for entry in entries {
            if walk.take == 0 {
                return;
            }
            walk.weight = entry.weight;
            walk.below(entry.prefix, self.below);
        }
    }
}

/// A walk below the entries of an index that skips `skip` tasks and then collects `take`. The tasks
/// one or two rows below a prefix are skipped at once, because their number follows from the free
/// squares.
struct Walk<'a> {
    n: u32,
    skip: u64,
    take: u64,
    weight: u8,
    out: &'a mut Vec<Task>,
}

impl Walk<'_> {
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

/// Whether there are at most `limit` prefixes `rows` rows below `entries`.
fn fits(n: u32, entries: &[Entry], rows: u32, limit: u64) -> bool {
    let mut tally = Tally::default();
    entries.iter().all(|entry| {
        tally.add(n, entry.prefix, rows);
        tally.tasks <= limit
    })
}

/// The number of prefixes one row below `entries`, which are two rows deep or more.
fn children(n: u32, entries: &[Entry]) -> u64 {
    entries.iter().map(|entry| u64::from(entry.prefix.free(n).count_ones())).sum()
}

/// The canonical prefixes one row below an entry, in order; their `start` is not known yet.
fn extend(n: u32, entry: Entry, images: Images) -> impl Iterator<Item = Entry> {
    let own_mirror_image = entry.weight == 1 && images == Images::Left;
    let (columns, centre) = if own_mirror_image {
        (full_mask(n.div_ceil(2)), full_mask(n % 2) << (n / 2))
    } else {
        (full_mask(n), 0)
    };
    bits(entry.prefix.free(n) & columns).map(move |bit| Entry {
        start: 0,
        prefix: entry.prefix.place(n, bit),
        weight: if bit == centre || images == Images::Both { 1 } else { 2 },
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

/// The number of ways to place two rows below `prefix`, without visiting each: all pairs of free
/// squares of the two rows, less the pairs in one column or on one diagonal.
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
    use crate::rows::{MAX_TASKS, suggested_rows};

    #[test]
    fn the_index_is_bounded_and_its_entries_start_in_order() {
        for n in 0..=MAX_N {
            let index =
                RowsPlan::new_unless(n, suggested_rows(n), Images::Left, MAX_TASKS, &|| false);
            let index = index.expect("is within the limit").expect("is not stopped");
            assert!(index.entries.len() as u64 <= MAX_ENTRIES, "N = {n}");
            assert!(index.entries.is_sorted_by_key(|entry| entry.start));
        }
    }

    #[test]
    fn the_limit_counts_the_prefixes_of_all_rows() {
        for rows in [3, 8, 12] {
            let within =
                |rows, limit| RowsPlan::new_unless(12, rows, Images::Left, limit, &|| false);
            let tasks = |rows| within(rows, u64::MAX).expect("no limit").expect("no stop").tasks;
            let all_rows = (0..=rows).map(tasks).sum();
            assert!(within(rows, all_rows).is_ok(), "M = {rows}");
            assert!(within(rows, all_rows - 1).is_err(), "M = {rows}");
        }
    }

    #[test]
    fn a_refusal_names_the_most_rows_within_the_limit() {
        for (n, images) in [(12, Images::Left), (12, Images::Both), (13, Images::Left)] {
            let within = |rows, limit| RowsPlan::new_unless(n, rows, images, limit, &|| false);
            let tasks = |rows| within(rows, u64::MAX).expect("no limit").expect("no stop").tasks;
            let mut limit = tasks(0);
            for most in 1..n {
                limit += tasks(most);
                // An index is made whole, so a limit below its size says nothing.
                let deeper = if limit < 2 * MAX_ENTRIES { n..n } else { most + 1..n + 1 };
                for rows in deeper {
                    let refused = within(rows, limit).expect_err("too many").most_rows;
                    assert_eq!(refused, most, "N = {n}, {images:?}, M = {rows}, limit {limit}");
                }
            }
        }
    }
}
