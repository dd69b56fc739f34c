//! What the farm costs a laptop: `queens count` against the bare counting loop.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use board::Tasks;
use board::rows::{RowsPlan, suggested_rows};
use clap::Args;
use count::Kernel;

use crate::cli::CountingArgs;
use crate::failure::Failure;
use crate::local::LocalCount;
use crate::output;
use crate::progress::Progress;

/// Tasks that a thread of the bare loop takes at a time.
const CHUNK: usize = 64;

#[derive(Debug, Args)]
pub(crate) struct OverheadArgs {
    /// Overhead: board size
    #[arg(long, default_value_t = 16)]
    n: u32,
    /// Overhead: rounds; each runs both loops, one after the other
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    #[command(flatten)]
    counting: CountingArgs,
}

pub(super) async fn run(args: &OverheadArgs) -> Result<(), Failure> {
    let rows = suggested_rows(args.n);
    let (mut bare, mut farm) = (Vec::new(), Vec::new());
    for _ in 0..args.rounds {
        let begun = Instant::now();
        let total = bare_loop(args, rows)?;
        bare.push(begun.elapsed().as_secs_f64());

        let count = LocalCount {
            n: args.n,
            rows: Some(rows),
            threads: args.counting.threads(),
            backend: args.counting.backend(),
            ledger: None,
        };
        let begun = Instant::now();
        let counted = count.run(Progress::new(false, false), std::future::pending()).await?;
        farm.push(begun.elapsed().as_secs_f64());
        if counted.job.total != total {
            return Err(anyhow::anyhow!("the two totals differ").into());
        }
    }
    let (bare_best, farm_best) = (best(&bare), best(&farm));
    output::print(format!(
        "N={} by rows M={rows}, {} threads, {}: best of {} rounds\n\
         bare loop     {bare_best:.4} s\n\
         queens count  {farm_best:.4} s   {:+.2}%  (median of the rounds' ratios {:+.2}%)",
        args.n,
        args.counting.threads(),
        args.counting.backend(),
        args.rounds,
        100.0 * (farm_best / bare_best - 1.0),
        100.0 * (median_ratio(&farm, &bare) - 1.0),
    ))
}

/// Counts with nothing around the kernels but a shared index, plan and threads included.
fn bare_loop(args: &OverheadArgs, rows: u32) -> Result<u128, Failure> {
    let plan = RowsPlan::new(args.n, rows)?;
    let mut tasks = Tasks::new();
    plan.fill(0..plan.len(), &mut tasks);
    let next = AtomicUsize::new(0);
    let count = || {
        let mut kernel = Kernel::new(args.counting.backend(), args.n, rows);
        let mut sum = 0_u128;
        loop {
            let start = next.fetch_add(CHUNK, Ordering::Relaxed);
            if start >= tasks.len() {
                return Ok(sum);
            }
            let chunk = tasks.slice(start..tasks.len().min(start + CHUNK));
            sum += u128::from(kernel.count(chunk)?);
        }
    };
    let sums: Result<Vec<u128>, count::CountError> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..args.counting.threads().get()).map(|_| scope.spawn(count)).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().expect("the kernels do not panic")
        };
        threads.into_iter().map(join).collect()
    });
    Ok(sums.map_err(anyhow::Error::from)?.into_iter().sum())
}

fn best(seconds: &[f64]) -> f64 {
    seconds.iter().copied().fold(f64::INFINITY, f64::min)
}

fn median_ratio(over: &[f64], under: &[f64]) -> f64 {
    let mut ratios: Vec<f64> = over.iter().zip(under).map(|(over, under)| over / under).collect();
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}
