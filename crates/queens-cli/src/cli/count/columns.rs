//! `queens count --by-column`: a count for each file of the first queen.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use board::{Given, MethodChoice, Problem, Square};
use count::Counting;
use serde_json::json;
use tokio::task::spawn_blocking;

use super::CountArgs;
use crate::answer::check_total;
use crate::cli::show;
use crate::failure::{Failure, usage};
use crate::progress::{Progress, Took};

/// Counts the placements by the column of the first row's queen, and prints a line of these
/// numbers.
pub(super) async fn count(args: &CountArgs, n: u32) -> Result<Took, Failure> {
    let problem = args.asked(n)?;
    if !matches!(problem, Problem::Total { .. }) {
        return usage("--by-column counts all placements: leave out --by-column or --problem");
    }
    let corner = Problem::completions(n, &[Square { column: 0, row: 0 }]);
    let method = corner.map_or(MethodChoice::Rows { rows: None }, MethodChoice::suggested);
    let backend = args.counting.tested_backend([method])?;
    let threads = args.counting.threads.number();
    let begun = Instant::now();
    let done = Arc::new(AtomicU32::new(0));
    let counted_columns = Arc::clone(&done);
    let counted = spawn_blocking(move || {
        // The other columns have mirror images of these.
        let half = (0..n.div_ceil(2)).map(|column| {
            let first = Given::new(n, &[Square { column, row: 0 }])?;
            let counting = Counting::new(Problem::Completions(first)).backend(backend);
            let counted = counting.threads(threads.get()).run()?;
            counted_columns.fetch_add(1, Ordering::Relaxed);
            Ok((counted.answer.count(), counted.threads))
        });
        half.collect::<anyhow::Result<(Vec<u128>, Vec<usize>)>>()
    });
    let see = || {
        let (done, all) = (done.load(Ordering::Relaxed), n.div_ceil(2));
        (f64::from(done) / f64::from(all.max(1)), format!("{done} of {all} columns"))
    };
    let counted = Progress::during(!args.progress.quiet, n, counted, see).await;
    let (half, threads) = counted.map_err(anyhow::Error::from)??;
    let threads = threads.into_iter().max().unwrap_or(1);
    let mirrored = half[..(n / 2) as usize].iter().rev();
    let columns: Vec<String> = half.iter().chain(mirrored).map(ToString::to_string).collect();
    let sum: u128 = half.iter().sum::<u128>() + half[..(n / 2) as usize].iter().sum::<u128>();
    // The board of size 0 has one placement and no column.
    let total = if n == 0 { 1 } else { sum };
    check_total(problem, total)?;
    let seconds = begun.elapsed().as_secs_f64();
    let json = json!({
        "problem": "total", "n": n, "by_column": columns, "total": total.to_string(), "seconds": seconds,
        "threads": threads, "backend": backend.name(),
    });
    args.print(n, columns.join(" "), json)?;
    let (method, s) = (method.name(), show::plural(threads as u64, "s"));
    let how = format!("{method} by {backend}, {threads} thread{s}");
    Ok(Took { seconds, counted: Some(total), how })
}
