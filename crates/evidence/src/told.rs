//! What single tasks count, as a bundle tells it behind their range.
//!
//! ```text
//!   range  [100, 150) counts 42                       lines of tasks tile the range, end where a block of 64 ordinals
//!   tasks  100: 3, 4, ..                              does, and add up to its count and its digest
//!   tasks  128: 1, 0, ..
//!   range  [150, 190) counts 17                       nothing is told of the tasks of this one
//! ```
//!
//! A range whose tasks are told is drawn from by its tasks; another one is drawn as a whole.

use anyhow::{Context, Result, ensure};
use blake3::{Hash, Hasher};
use farm::{Claim, Digest, Fingerprint, Known, Range};

use crate::draw::Drawing;
use crate::format::{StatedRow, TasksLine};

/// Ordinals of one block: a line of tasks has no more.
const BLOCK: u64 = 64;

/// The parts of a range that its lines of tasks are about.
pub(super) fn blocks(range: Range) -> impl Iterator<Item = Range> {
    let mut next = range.start();
    std::iter::from_fn(move || {
        let block = Range::new(next, range.end().min((next / BLOCK + 1) * BLOCK))?;
        next = block.end();
        Some(block)
    })
}

/// A hash over what each task of a range counts: of different counts, it is different, which a digest need not be.
pub(super) fn seal(counts: &[u64]) -> Hash {
    let mut hasher = Hasher::new();
    counts.iter().for_each(|&count| note(&mut hasher, count));
    hasher.finalize()
}

fn note(hasher: &mut Hasher, count: u64) {
    hasher.update(&count.to_le_bytes());
}

/// Follows the lines of tasks of a bundle.
pub(super) struct Told {
    plan: Fingerprint,
    /// The last range, if no other line stands behind it and its lines of tasks.
    open: Option<Open>,
    /// Number of lines.
    pub(super) lines: u64,
    /// Number of tasks in them.
    pub(super) tasks: u64,
}

struct Open {
    row: StatedRow,
    /// The first task that is not told yet.
    next: u64,
    sum: Claim,
    counts: Hasher,
}

impl Told {
    pub(super) fn new(plan: Fingerprint) -> Told {
        Told { plan, open: None, lines: 0, tasks: 0 }
    }

    /// A range of the total, whose tasks may follow.
    pub(super) fn range(&mut self, row: &StatedRow, drawing: &mut Drawing) {
        drawing.row(row);
        let (row, next) = (row.clone(), row.range.start());
        self.open = Some(Open { row, next, sum: Claim::default(), counts: Hasher::new() });
    }

    /// What some tasks of the last range count.
    pub(super) fn tasks(
        &mut self,
        line: TasksLine,
        known: &Known,
        drawing: &mut Drawing,
    ) -> Result<()> {
        let Open { row, next, sum, counts: seen } =
            self.open.as_mut().context("no range stands before these tasks")?;
        let (range, counts) = line.read()?;
        let rest = Range::new(*next, row.range.end());
        let expected = rest.and_then(|rest| blocks(rest).next());
        ensure!(
            expected == Some(range),
            "the tasks {range} are not those that follow of the range {}",
            row.range
        );
        for (ordinal, count) in (range.start()..).zip(counts) {
            let task = Range::new(ordinal, ordinal + 1).expect("it is one task");
            note(seen, count);
            let (count, digest) = (u128::from(count), Digest::of(self.plan, ordinal, count));
            ensure!(known.allows(task, count), "the task {ordinal} cannot count {count}");
            let claim = Claim { count, digest };
            *sum = sum.join(claim).context("the counts of the tasks exceed 2^128 - 1")?;
            drawing.task(task, claim);
        }
        *next = range.end();
        self.lines += 1;
        self.tasks += range.len();
        Ok(())
    }

    /// Another line follows, or none.
    ///
    /// # Errors
    ///
    /// Says so if the tasks of the last range are told, and not as its count says.
    pub(super) fn close(&mut self, drawing: &mut Drawing) -> Result<()> {
        let Some(Open { row, next, sum, counts }) = self.open.take() else { return Ok(()) };
        if next == row.range.start() {
            drawing.whole();
            return Ok(());
        }
        ensure!(
            (next, sum) == (row.range.end(), row.claim),
            "the counts of the tasks of {} do not add up to its count",
            row.range
        );
        drawing.seal(counts.finalize());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_tile_a_range_and_end_at_multiples_of_64() {
        for (range, expected) in [
            ((0, 64), vec![(0, 64)]),
            ((3, 5), vec![(3, 5)]),
            ((60, 65), vec![(60, 64), (64, 65)]),
            ((100, 300), vec![(100, 128), (128, 192), (192, 256), (256, 300)]),
        ] {
            let range = Range::new(range.0, range.1).expect("not empty");
            let found: Vec<_> = blocks(range).map(|block| (block.start(), block.end())).collect();
            assert_eq!(found, expected);
        }
    }
}
