//! Measures what a second thread gains: one thread and several count the same tasks, in turn.

use std::num::NonZero;
use std::time::{Duration, Instant};

use clap::Args;
use count::Kernel;
use farm::{Plan, Problem};

use super::bare::{self, best, median_ratio};
use crate::args::{CountingArgs, CutArgs};
use anyhow::{Result, bail};

use crate::print;
use crate::sample::Sample;
use executor::{Fit, fit};

#[derive(Debug, Args)]
pub(crate) struct ThreadsBenchArgs {
    /// Board size, 8 to 26
    #[arg(long, default_value_t = 17, value_parser = clap::value_parser!(u32).range(8..=26))]
    n: u32,
    #[command(flatten)]
    pub(crate) cut: CutArgs,
    /// Rounds; each counts the same tasks by one thread, then by all
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    #[command(flatten)]
    counting: CountingArgs,
}

/// The least time that one thread takes, unless the whole board takes less.
const ROUND: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &ThreadsBenchArgs) -> Result<()> {
    let (n, backend) = (args.n, args.counting.backend());
    let problem = Problem::Total { n };
    let method = args.cut.method(problem)?;
    let plan = Plan { problem, method, tasks: 0 };
    let Fit { threads, bytes } = fit(plan, args.counting.threads(), args.counting.memory())?;
    if threads == NonZero::<usize>::MIN {
        bail!("one thread has nothing to be compared with: give more, or more --memory");
    }
    let mut sample = Sample::new(n, method, backend, bytes)?;
    sample.fit(ROUND)?;
    sample.rest();
    let kernel = || Kernel::of(bytes, backend, problem, method).expect("the plan was made");
    let (mut one, mut all) = (Vec::new(), Vec::new());
    for _ in 0..args.rounds {
        for (threads, seconds) in [(1, &mut one), (threads.get(), &mut all)] {
            let begun = Instant::now();
            bare::count_tasks(sample.tasks(), threads, kernel)?;
            seconds.push(begun.elapsed().as_secs_f64());
        }
    }
    let (one_best, all_best) = (best(&one), best(&all));
    print(format!(
        "N={n} by {method}, {backend}, {:.3}% of the plan: best of {} rounds\n\
         1 thread    {one_best:.4} s\n\
         {threads} threads   {all_best:.4} s   {:.2} x  (median of the rounds' ratios {:.2} x)",
        100.0 * sample.share(),
        args.rounds,
        one_best / all_best,
        median_ratio(&one, &all),
    ))
}
