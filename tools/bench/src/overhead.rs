//! Measures what the farm costs on a laptop: `queens count` against the bare counting loop.

use std::time::{Duration, Instant};

use board::rows::suggested_rows;
use board::{Method, MethodChoice, Problem};
use clap::Args;
use farm::Slice;

use super::bare::{self, best, median_ratio};
use crate::args::CountingArgs;
use anyhow::Result;

use crate::print;
use service::local::LocalCount;

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

pub(crate) async fn run(args: &OverheadArgs) -> Result<()> {
    let rows = suggested_rows(args.n);
    let (mut bare, mut farm) = (Vec::new(), Vec::new());
    for _ in 0..args.rounds {
        let begun = Instant::now();
        let method = Method::Rows { rows };
        let (backend, threads) = (args.counting.backend(), args.counting.threads());
        let total = bare::count(args.n, method, backend, threads.get())?;
        bare.push(begun.elapsed().as_secs_f64());

        let count = LocalCount {
            problem: Problem::Total { n: args.n },
            method: Some(MethodChoice::Rows { rows: Some(rows) }),
            threads,
            backend,
            devices: executor::Devices::default(),
            memory: args.counting.memory(),
            build: executor::BUILD.into(),
            slice: Slice::ALL,
            ledger: None,
        };
        let begun = Instant::now();
        let counted = count.run(Duration::from_secs(1), |_| (), tokio_stream::pending()).await?;
        farm.push(begun.elapsed().as_secs_f64());
        if counted.job.counted != total {
            return Err(anyhow::anyhow!("the two totals differ"));
        }
    }
    let (bare_best, farm_best) = (best(&bare), best(&farm));
    print(format!(
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
