//! What a second thread brings: the same board by one and by several, in turn.

use std::time::Instant;

use board::Method;
use board::ring::suggested_width;
use clap::Args;

use super::bare::{self, best, median_ratio};
use crate::cli::CountingArgs;
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(crate) struct ThreadsBenchArgs {
    /// Board size, 8 to 20; it is counted by ring
    #[arg(long, default_value_t = 17, value_parser = clap::value_parser!(u32).range(8..=20))]
    n: u32,
    /// Rounds; each counts the whole board by one thread, then by all
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    #[command(flatten)]
    counting: CountingArgs,
}

pub(super) fn run(args: &ThreadsBenchArgs) -> Result<(), Failure> {
    let (n, backend) = (args.n, args.counting.backend());
    let method = Method::Ring { width: suggested_width(n) };
    let threads = args.counting.threads().get();
    if threads == 1 {
        return Err(Failure::Usage("one thread has nothing to be compared with: give more".into()));
    }
    let (mut one, mut all) = (Vec::new(), Vec::new());
    for _ in 0..args.rounds {
        for (threads, seconds) in [(1, &mut one), (threads, &mut all)] {
            let begun = Instant::now();
            bare::count(n, method, backend, threads)?;
            seconds.push(begun.elapsed().as_secs_f64());
        }
    }
    let (one_best, all_best) = (best(&one), best(&all));
    output::print(format!(
        "N={n} by {method}, {backend}: best of {} rounds\n\
         1 thread    {one_best:.4} s\n\
         {threads} threads   {all_best:.4} s   {:.2} x  (median of the rounds' ratios {:.2} x)",
        args.rounds,
        one_best / all_best,
        median_ratio(&one, &all),
    ))
}
