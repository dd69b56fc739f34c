//! The counts of single tasks that a bundle reports beside the sum of their range.
//!
//! A range with reported tasks is sampled by its tasks. Any other range is sampled as a whole.

use anyhow::{Context, Result, ensure};
use farm::{CountResult, Digest, Fingerprint, Known, Range};

use crate::canonical::Decimal;
use crate::draw::Unit;
use crate::format::StatedRow;

/// The claim of each task of a row.
///
/// # Errors
///
/// The counts do not add up to the row, or a task cannot have such a count.
pub(super) fn results(
    plan: Fingerprint,
    known: &Known,
    row: &StatedRow,
    counts: &[Decimal],
) -> Result<Vec<Unit>> {
    let range = row.range;
    ensure!(
        counts.len() as u64 == range.len(),
        "it does not report the count of each task of {range}"
    );
    let (mut sum, mut results) = (CountResult::default(), Vec::with_capacity(counts.len()));
    for (ordinal, &Decimal(count)) in (range.start()..).zip(counts) {
        let task = Range::new(ordinal, ordinal + 1).expect("it is one task");
        let (count, digest) = (u128::from(count), Digest::of(plan, ordinal, count));
        ensure!(known.allows(task, count), "the task {ordinal} cannot count {count}");
        let result = CountResult { count, digest };
        sum = sum.join(result).context("the counts of the tasks exceed 2^128 - 1")?;
        results.push(Unit { range: task, result, is_task: true });
    }
    ensure!(sum == row.result, "the counts of the tasks of {range} do not add up to its count");
    Ok(results)
}
