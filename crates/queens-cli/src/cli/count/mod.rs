//! `queens count`: one command for four ways of counting a board.
//!
//! A farm in this process counts what a method cuts into tasks (`farm`). Only a farm can keep its
//! work in a ledger. Some methods make no tasks (`methods`), some boards are counted by one plain
//! search (`search`), and `--by-column` is a count of several boards (`columns`).

mod columns;
mod farm;
mod methods;
pub(super) mod search;

use std::fmt::Display;
use std::io::{IsTerminal, stdout};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use board::{MAX_N, PlanError, Problem};
use clap::Args;
use serde_json::{Value, json};
use tokio_stream::{Stream, StreamExt};

use self::search::Search;
use super::options::{
    BackendChoice, CountingArgs, MethodArgs, MethodName, duration, memory, sizes,
};
use super::problem::ProblemArgs;
use super::rules::BlockedArgs;
use super::shard::ShardOption;
use super::signal::stops;
use crate::failure::{Failure, usage};
use crate::progress::{LOG_TARGET, ProgressArgs, Took, grouped};
use crate::{output, stderr};

#[derive(Clone, Debug, Args)]
pub(super) struct CountArgs {
    /// Board size, 0 to 32, or sizes as in 18..22
    ///
    /// With given queens or --blocked squares, N may be up to 10000. From 65 on, a plain search on
    /// one thread counts them. With --ranks, N is at most 64. A drawn board says its own.
    #[arg(value_parser = sizes, required_unless_present = "board")]
    n: Option<RangeInclusive<u32>>,
    #[command(flatten)]
    problem: ProblemArgs,
    #[command(flatten)]
    blocked: BlockedArgs,
    /// Fill only the first M ranks [default: all]
    ///
    /// The count is of placements of M queens on a board of M ranks and N files.
    #[arg(hide_short_help = true, long, value_name = "M")]
    ranks: Option<u32>,
    /// Count up to the square's symmetries
    ///
    /// With `--problem superqueens` or `toroidal`; without a problem it is `--problem fundamental`.
    #[arg(hide_short_help = true, long)]
    fundamental: bool,
    /// Print a count for each file of the first queen
    ///
    /// The counts begin with file a (A059963), and are printed instead of their sum.
    #[arg(hide_short_help = true, long,
          conflicts_with_all = ["given", "board", "fundamental", "method", "rows", "no_mirror", "ledger", "shard", "stats"])]
    by_column: bool,
    #[command(flatten)]
    method_args: MethodArgs,
    #[command(flatten)]
    counting: CountingArgs,
    /// With `states`: the most memory to take, as in 500MiB or 2GiB [default: 1GiB]
    #[arg(hide_short_help = true, long, value_name = "SIZE", value_parser = memory)]
    memory: Option<u64>,
    /// Keep the work in a file, and go on from it
    ///
    /// `{shard}` in its name stands for the shard, as 3-of-64 [default: nothing is kept].
    #[arg(long, value_name = "FILE")]
    pub(super) ledger: Option<PathBuf>,
    /// Begin a new ledger where one was lost: it is empty, or its log or lock is there without it
    #[arg(hide_short_help = true, long, requires = "ledger")]
    new: bool,
    /// Count this shard only, as in 3/64
    ///
    /// It goes into a ledger, and `queens merge` joins the shards. `auto/64` takes the shard from
    /// the task of the array that Slurm, PBS, LSF, Grid Engine, Kubernetes, HyperQueue or HTCondor
    /// has started [default: all tasks].
    #[arg(long, value_name = "INDEX/SHARDS", env = "QUEENS_SHARD")]
    shard: Option<ShardOption>,
    /// Stop after this time, as in 90s or 00:50:00
    ///
    /// With --ledger the same command goes on from there (exit code 75) [default: no limit].
    #[arg(long, value_name = "DURATION", env = "QUEENS_TIME_LIMIT", value_parser = duration)]
    time_limit: Option<Duration>,
    /// Print one JSON object instead of the total
    ///
    /// Of several sizes, it is one object a line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    progress: ProgressArgs,
    #[arg(skip)]
    log_is_json: bool,
    /// Print a table on standard error
    ///
    /// With `--problem fundamental` it is the census by symmetry, with `states` and `forced` the
    /// cost of the count.
    #[arg(hide_short_help = true, long)]
    stats: bool,
}

/// How a board is counted without a farm.
enum Alone {
    Search(Search),
    Method(MethodName),
    Columns,
}

/// The result of one board.
struct Counted {
    /// The JSON object, besides what the other fields say.
    object: Value,
    total: u128,
    /// The table that --stats prints.
    table: String,
    threads: usize,
    took: Took,
}

impl Counted {
    fn print(self, args: &CountArgs, n: u32) -> Result<Took, Failure> {
        let Counted { object, total, table, threads, took } = self;
        if args.stats {
            stderr::print(table);
        }
        let numbers =
            json!({"total": total.to_string(), "seconds": took.seconds, "threads": threads});
        let text = if stdout().is_terminal() { grouped(total) } else { total.to_string() };
        args.print(n, text, output::with(object, numbers))?;
        Ok(took)
    }
}

impl CountArgs {
    /// The problem on a board of size `n`.
    fn asked(&self, n: u32) -> Result<Problem, Failure> {
        match self.problem.problem(n)? {
            Problem::Total { n } if self.fundamental => Ok(Problem::Fundamental { n }),
            Problem::Completions(_) if self.fundamental => usage(
                "completions are not counted up to symmetry: leave out --fundamental, or --given and --board",
            ),
            problem => Ok(problem),
        }
    }

    /// How the board of size `n` is counted without a farm; `None` if a farm counts it.
    fn alone(&self, n: u32) -> Result<Option<Alone>, Failure> {
        let search = self.problem.search(n, self.blocked.squares(n)?, self.ranks)?;
        let alone = match (search, self.method_args.local()?) {
            (Some(search), _) => Alone::Search(search),
            (None, Some(method)) => Alone::Method(method),
            (None, None) if self.by_column => Alone::Columns,
            (None, None) => return Ok(None),
        };
        if let Some(BackendChoice::Devices(_)) = self.counting.backend {
            return usage(
                "such a count is made by the processor alone: leave out --backend, or QUEENS_BACKEND in the environment",
            );
        }
        Ok(Some(alone))
    }

    /// Refuses options that have no meaning together.
    fn check(&self, largest: u32) -> Result<(), Failure> {
        if self.are_many() && self.ledger.is_some() {
            return usage("a ledger is for one board: leave out --ledger, or give one size");
        }
        if self.shard.is_some() && self.ledger.is_none() {
            return usage(
                "the shard that --shard or QUEENS_SHARD names is kept in a ledger: add --ledger FILE, or leave out the shard",
            );
        }
        if self.memory.is_some() && self.method_args.local()? != Some(MethodName::States) {
            return usage("--memory is for --method states: other methods take some MiB a thread");
        }
        // A board that is too large is refused before smaller ones are counted.
        let (given, n) = (&self.problem.given, largest);
        if n > MAX_N && !given.is_given() && !self.blocked.is_given() && self.ranks.is_none() {
            return Err(PlanError::BoardTooLarge { n }.into());
        }
        Ok(())
    }

    fn are_many(&self) -> bool {
        self.n.as_ref().is_some_and(|sizes| sizes.start() < sizes.end())
    }

    /// Prints the result of the board of size `n` as JSON or as text, which names the board if
    /// there are several.
    fn print(&self, n: u32, text: String, json: impl Display) -> Result<(), Failure> {
        match (self.json, self.are_many()) {
            (true, _) => output::print(json),
            (false, true) => output::print(format_args!("{n} {text}")),
            (false, false) => output::print(text),
        }
    }

    /// Prints a text about the count on standard error, except with --quiet.
    fn report(&self, text: impl Display) {
        match (self.progress.quiet, self.log_is_json) {
            (true, _) => {}
            (false, false) => stderr::print(format_args!("{text}\n")),
            (false, true) => tracing::info!(target: LOG_TARGET, "{text}"),
        }
    }

    /// Warns that the count may never end, if the board is larger than any that has ever been
    /// counted.
    fn warn_of_no_end(&self, n: u32, free: usize) {
        const LARGEST_COUNTED: usize = 27;
        if n > MAX_N && free > LARGEST_COUNTED {
            self.report(format_args!(
                "N={n}: {free} rows are free, and no board with so many has ever been counted: this may never end"
            ));
        }
    }
}

/// Counts one board, or several, the smallest first.
pub(super) async fn run(mut args: CountArgs, log_is_json: bool) -> Result<(), Failure> {
    args.log_is_json = log_is_json;
    // The clock is read before the timer starts. Otherwise a stop by the timer could seem to come
    // before the end of the time.
    let begun = Instant::now();
    let mut stops = stops(args.time_limit);
    let sizes = args.problem.given.sizes(args.n.as_ref())?;
    args.check(*sizes.end())?;
    let mut all: Option<Took> = None;
    for n in sizes {
        let is_over = || args.time_limit.is_some_and(|limit| begun.elapsed() >= limit);
        let of_many = if args.are_many() { format!("N={n} ") } else { String::new() };
        let limit = |text| format!("the time limit is over: {of_many}{text}");
        let took = count(&args, n, &mut stops).await.map_err(|failure| match failure {
            Failure::Interrupted(text) if is_over() => Failure::Interrupted(limit(text)),
            Failure::Stopped(text) if is_over() => Failure::Stopped(limit(text)),
            failure => failure,
        })?;
        all = Some(all.map_or(took.clone(), |before| before.and(took)));
    }
    if let Some(took) = all {
        args.report(&took);
    }
    Ok(())
}

/// Counts the board of size `n`, and prints the result.
async fn count(
    args: &CountArgs,
    n: u32,
    mut stops: impl Stream<Item = ()> + Unpin,
) -> Result<Took, Failure> {
    let Some(alone) = args.alone(n)? else { return farm::count(args, n, stops).await };
    let counted = async {
        match alone {
            Alone::Search(search) => search::count(args, search).await,
            Alone::Method(method) => methods::count(args, n, method).await,
            Alone::Columns => columns::count(args, n).await,
        }
    };
    tokio::select! {
        took = counted => took,
        Some(()) = stops.next() => Err(Failure::Interrupted(
            "stopped, and nothing is kept, because this count has no ledger".into(),
        )),
    }
}
