//! `queens plan --method unique`: the jobs of the direct search, and their estimated sizes.

use std::time::{Duration, Instant};

use board::squares::Square;
use serde::Serialize;
use serde_json::json;
use solve::{Job, JobSizes, jobs};

use crate::failure::Failure;
use crate::output;

/// Up to this size, all jobs are counted at once, and the sum of their totals is told.
const LARGEST_COUNTED: u32 = 12;

/// The jobs with one first queen.
#[derive(Serialize)]
struct First {
    /// The square of the queen in row 1, as on the board.
    first: String,
    jobs: usize,
    /// The queens that they place below row 2, and the most that one of them places; estimated.
    nodes: f64,
    largest: f64,
}

/// Prints the jobs of a board of size `n`. Their sizes are estimated for so many seconds, if any.
pub(super) fn run(n: u32, seconds: u64, seed: u64, json: bool) -> Result<(), Failure> {
    let jobs = jobs(n).map_err(|error| Failure::Usage(error.to_string()))?;
    if jobs.is_empty() {
        return Err(Failure::Usage(format!(
            "a board of size {n} has no jobs by the queens of its first two rows: give a size from 4 to 32"
        )));
    }
    let total = (n <= LARGEST_COUNTED).then(|| jobs.iter().map(|job| job.total()).sum::<u128>());
    let mut sizes = JobSizes::new(jobs, seed);
    if seconds > 0 {
        let begun = Instant::now();
        // An error needs two descents into each job.
        while sizes.probes() < 2 || begun.elapsed() < Duration::from_secs(seconds) {
            sizes.probe();
        }
    }
    let by_first = by_first(&sizes);
    if json {
        let of_each: Vec<usize> = by_first.iter().map(|first| first.jobs).collect();
        let mut object = json!({
            "problem": "fundamental",
            "n": n,
            "method": "unique",
            "jobs": of_each.iter().sum::<usize>(),
            "jobs_by_first": of_each,
        });
        if let Some(total) = total {
            object["total"] = total.to_string().into();
        }
        if seconds > 0 {
            let (nodes, error) = sizes.nodes();
            object["nodes"] = nodes.into();
            object["nodes_error"] = error.into();
            object["probes"] = sizes.probes().into();
            object["seed"] = seed.to_string().into();
            object["by_first"] = serde_json::to_value(by_first).map_err(anyhow::Error::from)?;
        }
        return output::print(object);
    }
    output::print(text(n, &by_first, total))?;
    if seconds == 0 {
        return Ok(());
    }
    output::print(estimate(&sizes, &by_first, seed))
}

fn by_first(sizes: &JobSizes) -> Vec<First> {
    let sizes: Vec<(Job, f64)> = sizes.sizes().collect();
    let with_one_first = sizes.chunk_by(|(a, _), (b, _)| a.first == b.first);
    let gathered = with_one_first.map(|jobs| First {
        first: Square { column: jobs.first().map_or(0, |(job, _)| job.first), row: 0 }.to_string(),
        jobs: jobs.len(),
        nodes: jobs.iter().map(|(_, nodes)| nodes).sum(),
        largest: jobs.iter().map(|(_, nodes)| *nodes).fold(0.0, f64::max),
    });
    gathered.collect()
}

fn text(n: u32, by_first: &[First], total: Option<u128>) -> String {
    let jobs: usize = by_first.iter().map(|first| first.jobs).sum();
    let corner = by_first.first().map_or(0, |first| first.jobs);
    let plan = format!(
        "plan      N={n} by unique, the direct search for one placement of each orbit, on one thread\n\
         jobs      {jobs} by the queens of the first two rows: {corner} with a queen in the corner, {} without",
        jobs - corner
    );
    match total {
        Some(total) => format!("{plan}\ntotal     {total}, the sum of what all jobs stand for"),
        None => plan,
    }
}

fn estimate(sizes: &JobSizes, by_first: &[First], seed: u64) -> String {
    let (nodes, error) = sizes.nodes();
    let percent = |part: f64| format!("{:.2}%", 100.0 * part / nodes);
    let head = format!(
        "estimate  {nodes:.3e} queens placed +- {} (95%), from {} random descents into each job, seed {seed}\n\
         first queen  jobs     share   largest job",
        percent(error),
        sizes.probes()
    );
    by_first.iter().fold(head, |text, First { first, jobs, nodes, largest }| {
        format!("{text}\n{first:<11} {jobs:>5} {:>9} {:>13}", percent(*nodes), percent(*largest))
    })
}
