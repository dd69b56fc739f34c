//! `queens count`.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use board::{Given, MAX_N, MethodChoice, PlanError, Problem, Square};
use clap::Args;
use count::{Answering, Counting, Variant};
use executor::provenance;
use farm::Slice;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use tokio_stream::{Stream, StreamExt};

use super::local_methods;
use super::options::{
    BackendChoice, CountingArgs, MethodArgs, MethodName, STATES_MEMORY, duration, memory, sizes,
};
use super::plain_search::Search;
use super::plan::published;
use super::problem::ProblemArgs;
use super::rules::BlockedArgs;
use super::shard::{Shard, with_shard};
use super::show;
use super::signal::stops;
use super::tools::PROGRAM;
use crate::answer::{self, check_total};
use crate::failure::{Failure, usage};
use crate::progress::{LOG_TARGET, Progress, ProgressArgs, Took};
use crate::{output, stderr};
use service::local::{LocalCount, LocalResult};

#[derive(Clone, Debug, Args)]
pub(super) struct CountArgs {
    /// Board size, 0 to 32, or sizes as in 18..22
    ///
    /// With given queens or --blocked squares to 10000, but from 65 on by a plain search on one
    /// thread; with --ranks to 64.
    #[arg(value_parser = sizes)]
    n: RangeInclusive<u32>,
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
    /// From the file a on (A059963), instead of their sum.
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
    /// `{shard}` in its name stands for the part, as 3-of-64 [default: nothing is kept].
    #[arg(long, value_name = "FILE")]
    pub(super) ledger: Option<PathBuf>,
    /// Count this part only, as in 3/64
    ///
    /// It goes into a ledger, and `queens merge` joins the parts. `auto/64` takes the part from the
    /// task of the array that Slurm, PBS, LSF, Grid Engine, Kubernetes, HyperQueue or HTCondor has
    /// started [default: all tasks].
    #[arg(long, value_name = "INDEX/PARTS", env = "QUEENS_SHARD")]
    shard: Option<Shard>,
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

pub(super) struct Counted {
    /// The JSON object, besides what the other fields say.
    pub(super) object: Value,
    pub(super) total: u128,
    /// The table that --stats prints.
    pub(super) table: String,
    pub(super) threads: usize,
    pub(super) took: Took,
}

impl Counted {
    fn print(self, args: &CountArgs, n: u32) -> Result<Took, Failure> {
        let Counted { object, total, table, threads, took } = self;
        if args.stats {
            stderr::print(table);
        }
        let total = total.to_string();
        let numbers = json!({"total": total, "seconds": took.seconds, "threads": threads});
        args.print(n, total, show::with(object, numbers))?;
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

    fn are_many(&self) -> bool {
        self.n.start() < self.n.end()
    }

    /// Prints the result of the board of size `n` as JSON or as text, which names the board if there are several.
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

    /// Warns that the count may never end, if the board is larger than any that has ever been counted.
    fn warn_of_no_end(&self, n: u32, free: usize) {
        const LARGEST_COUNTED: usize = 27;
        if n > MAX_N && free > LARGEST_COUNTED {
            self.report(format_args!(
                "N={n}: {free} rows are free, and no board with so many has ever been counted: this may never end"
            ));
        }
    }
}

/// Counts what a farm cannot count.
async fn count_alone(args: &CountArgs, n: u32) -> Result<Option<Took>, Failure> {
    let search = args.problem.search(n, args.blocked.squares(n)?, args.ranks)?;
    let method = args.method_args.local()?;
    if search.is_none() && method.is_none() && !args.by_column {
        return Ok(None);
    }
    if let Some(BackendChoice::Devices(_)) = args.counting.backend {
        return usage(
            "such a count is made by the processor alone: leave out --backend, or QUEENS_BACKEND in the environment",
        );
    }
    if let Some(search) = search {
        return count_by_search(args, search).await.map(Some);
    }
    let Some(method) = method else { return count_by_column(args, n).await.map(Some) };
    if args.ledger.is_some() {
        return Err(method.refuses("no ledger", "--ledger and --shard"));
    }
    let problem = args.asked(n)?;
    let memory = args.memory.unwrap_or(STATES_MEMORY);
    let is_plain = args.method_args.no_mirror;
    let counted = spawn_blocking(move || local_methods::run(method, problem, memory, is_plain));
    let see = || (0.0, format!("by {}, of which no end can be foreseen", method.name()));
    let counted = Progress::during(!args.progress.quiet, n, counted, see).await;
    counted.map_err(anyhow::Error::from)??.print(args, n).map(Some)
}

/// Counts what no farm knows.
async fn count_by_search(args: &CountArgs, search: Search) -> Result<Took, Failure> {
    // Many blocked squares leave little to search, so that colours is not chosen unless it is asked for.
    let is_asked = matches!(args.method_args.choice(), Ok(Some(MethodChoice::Colours)));
    let colours = search.for_colours().filter(|_| is_asked);
    let foreign = [
        (args.method_args.is_given() && colours.is_none(), "--method, --rows and --no-mirror"),
        (args.ledger.is_some(), "--ledger and --shard"),
        (args.stats, "--stats"),
        (args.fundamental, "--fundamental"),
        (args.by_column, "--by-column"),
    ];
    if let Some((_, options)) = foreign.into_iter().find(|(is_given, _)| *is_given) {
        return usage(format!(
            "boards beyond size 64, with --blocked squares, of --ranks, and with given queens of tori and superqueens are \
             counted by one plain search, or with --blocked squares by --method colours for sizes from 4 to 32: leave out \
             {options}"
        ));
    }
    let rows = search.ranks.unwrap_or(search.n) as usize;
    args.warn_of_no_end(search.n, rows.saturating_sub(search.given.len()));
    let (n, threads) = (search.n, args.counting.threads.number().get());
    let backend = || args.counting.tested_backend([MethodChoice::Colours]);
    let colours = match colours {
        Some(given) => Some((given, backend()?, threads)),
        None => None,
    };
    search.count(colours, !args.progress.quiet).await?.print(args, n)
}

/// Counts the placements by the column of the first row's queen, and prints a line of these numbers.
async fn count_by_column(args: &CountArgs, n: u32) -> Result<Took, Failure> {
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
    // The empty board has a placement, and no column.
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

/// Counts one board, or several, the smallest first.
pub(super) async fn run(mut args: CountArgs, log_is_json: bool) -> Result<(), Failure> {
    args.log_is_json = log_is_json;
    // The clock is read before the timer starts, so that a stop by the timer is found to be one.
    let begun = Instant::now();
    let mut stops = stops(args.time_limit);
    if args.are_many() && args.ledger.is_some() {
        return usage("a ledger is for one board: leave out --ledger, or give one size");
    }
    if args.shard.is_some() && args.ledger.is_none() {
        return usage(
            "the part that --shard or QUEENS_SHARD names is kept in a ledger: add --ledger FILE, or leave out the part",
        );
    }
    if args.memory.is_some() && args.method_args.local()? != Some(MethodName::States) {
        return usage("--memory is for --method states: other methods take some MiB a thread");
    }
    // A board that is too large is refused before smaller ones are counted.
    let (given, n) = (&args.problem.given, *args.n.end());
    if n > MAX_N && !given.is_given() && !args.blocked.is_given() && args.ranks.is_none() {
        return Err(PlanError::BoardTooLarge { n }.into());
    }
    let mut all: Option<Took> = None;
    for n in args.n.clone() {
        let is_over = || args.time_limit.is_some_and(|limit| begun.elapsed() >= limit);
        let of_many = if args.are_many() { format!("N={n} ") } else { String::new() };
        let limit = |text| format!("the time limit is over: {of_many}{text}");
        let took = count(args.clone(), n, &mut stops).await.map_err(|failure| match failure {
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

async fn count(
    args: CountArgs,
    n: u32,
    mut stops: impl Stream<Item = ()> + Unpin,
) -> Result<Took, Failure> {
    let alone = tokio::select! {
        took = count_alone(&args, n) => took?,
        Some(()) = stops.next() => {
            return Err(Failure::Interrupted(
                "stopped, and nothing is kept, because this count has no ledger".into(),
            ));
        }
    };
    if let Some(took) = alone {
        return Ok(took);
    }
    let problem = args.asked(n)?;
    let slice = args.shard.map(|shard| shard.slice(|name| std::env::var(name).ok())).transpose()?;
    let ledger = args.ledger.as_deref().map(|path| with_shard(path, slice)).transpose()?;
    let counts_orbits = problem.counts_orbits() || args.fundamental;
    if args.stats && !counts_orbits {
        return usage("--stats needs --fundamental, or --method states or forced");
    }
    let goes_on = ledger.as_deref().is_some_and(Path::exists);
    let method = args.method_args.choice()?;
    if let Problem::Completions(_) = problem
        && method.is_none_or(|choice| choice.for_problem(problem).cuts(problem))
    {
        args.warn_of_no_end(n, problem.open_rows().len());
    }
    let devices = args.counting.tested_devices(problem.n())?;
    let methods: Vec<MethodChoice> = match method {
        Some(method) => vec![method],
        // A ledger may be of any.
        None if ledger.is_some() => MethodChoice::all().collect(),
        None => vec![MethodChoice::suggested(problem)],
    };
    let count = LocalCount {
        problem,
        method,
        threads: args.counting.threads.number(),
        backend: args.counting.tested_backend(methods)?,
        devices: devices.clone(),
        build: provenance(PROGRAM, &devices),
        slice: slice.unwrap_or(Slice::ALL),
        ledger: ledger.clone(),
    };
    let (backend, threads) = (count.backend.name(), count.threads);
    // An answer up to symmetry needs a search besides the count.
    let answering = spawn_blocking(move || Answering::new(problem, counts_orbits));
    let mut progress = Progress::new(!args.progress.quiet, false);
    let interval = progress.interval();
    let result = count.run(interval, |job| progress.show(job), &mut stops).await;
    progress.finish();
    let LocalResult { job, seconds } = result?;
    let plan = job.spec.plan;
    let backend = if devices.count(plan) { Variant::DEVICE } else { backend };
    let mut how = format!(
        "{} by {backend}, {threads} thread{}",
        plan.method.name(),
        show::plural(threads.get() as u64, "s")
    );
    if let Some((_, source)) =
        published(plan).filter(|(value, _)| job.total.is_some() && *value == job.counted)
    {
        let sum = if counts_orbits {
            format!("{} before symmetry, ", job.counted)
        } else {
            String::new()
        };
        how += &format!("; {sum}as published ({source})");
    }
    let took = Took { seconds, counted: (!goes_on).then_some(job.counted), how };
    if !job.spec.slice.is_all() {
        // Its sum is not printed alone, because it is not a total.
        let text = format!(
            "part {} of {plan} is counted: {} of all {} tasks; `queens merge` adds the parts up",
            job.spec.slice, job.tasks_done, plan.tasks
        );
        return args.print(n, text, show::json(&job)).map(|()| took);
    }
    let answer = tokio::select! {
        found = answering => found.map_err(anyhow::Error::from)??.answer(job.counted)?,
        Some(()) = stops.next() => {
            let text = format!(
                "stopped: there are {} placements, and the search for those that rotations leave as they are \
                 was not finished",
                job.counted
            );
            return Err(match ledger {
                Some(_) => Failure::Stopped(format!("{text}; the same command goes on from there")),
                None => Failure::Interrupted(text),
            });
        }
    };
    let mut object = show::with(show::plan(&plan), answer::fields(&answer).into());
    object["backend"] = backend.into();
    let (total, table) = (answer.count(), answer::table(&answer));
    Counted { object, total, table, threads: threads.get(), took }.print(&args, n)
}
