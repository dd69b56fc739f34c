//! `queens plan --method unique`: the jobs of the direct search for one placement of each orbit.

use serde_json::json;
use solve::{Job, UNIQUE_MAX};

use crate::failure::{Failure, usage};
use crate::output;

/// The largest board whose jobs are all counted, to show that their totals add up to that of the board.
const LARGEST_COUNTED: u32 = 12;

/// Prints how many jobs a board of size `n` has, for each column of the first queen.
pub(super) fn jobs(n: u32, json: bool) -> Result<(), Failure> {
    if !(4..=UNIQUE_MAX).contains(&n) {
        return usage(format!(
            "a board of size {n} has no jobs by the queens of its first two rows: give a size from 4 to 32"
        ));
    }
    let jobs = solve::jobs(n);
    let total = (n <= LARGEST_COUNTED).then(|| jobs.iter().map(|job| job.total()).sum::<u128>());
    let by_first: Vec<usize> = jobs.chunk_by(|a, b| a.first == b.first).map(<[Job]>::len).collect();
    if json {
        return output::print(json!({
            "problem": "fundamental",
            "n": n,
            "method": "unique",
            "jobs": jobs.len(),
            "jobs_by_first": by_first,
            "total": total.map(|total| total.to_string()),
        }));
    }
    let (corner, others) = (by_first[0], jobs.len() - by_first[0]);
    output::print(format!(
        "plan      N={n} by unique, the direct search for one placement of each orbit, on one thread\n\
         jobs      {} by the queens of the first two rows: {corner} with a queen in the corner, {others} without",
        jobs.len()
    ))?;
    total.map_or(Ok(()), |total| {
        output::print(format!("total     {total}, the sum of what all jobs stand for"))
    })
}
