//! `queens count` by a farm in this process.

use std::io::{IsTerminal, stderr};
use std::num::NonZero;
use std::path::Path;
use std::time::{Duration, Instant};

use board::{MethodChoice, Problem};
use count::{Answer, Answering, Variant};
use executor::provenance;
use farm::{JobView, Shard};
use service::local::{LocalCount, LocalResult};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio_stream::{Stream, StreamExt};

use super::{CountArgs, Counted};
use crate::advice::{quoted, typed};
use crate::answer;
use crate::cli::plan::published;
use crate::cli::shard::with_shard;
use crate::cli::show;
use crate::cli::tools::PROGRAM;
use crate::failure::{Failure, usage};
use crate::output;
use crate::progress::{Progress, Took, clock, erase};

/// Counts the tasks of a board, and prints the result.
pub(super) async fn count(
    args: &CountArgs,
    n: u32,
    mut stops: impl Stream<Item = ()> + Unpin,
) -> Result<Took, Failure> {
    let problem = args.asked(n)?;
    let counts_orbits = problem.counts_orbits() || args.fundamental;
    if args.stats && !counts_orbits {
        return usage("--stats needs --fundamental, or --method states or forced");
    }
    let count = local_count(args, problem)?;
    let LocalCount { backend, threads, .. } = count;
    let (devices, has_ledger) = (count.devices.clone(), count.ledger.is_some());
    let goes_on = count.ledger.as_deref().is_some_and(Path::exists);
    // An answer up to symmetry needs a search besides the count, which runs at the same time.
    let answering = spawn_blocking(move || Ok(Answering::new(problem, counts_orbits)?));
    let mut progress = Progress::new(!args.progress.quiet, false);
    let interval = progress.interval();
    let (begun, mut is_advised) = (Instant::now(), has_ledger || args.are_many());
    let see = |job: &JobView| {
        let (done, elapsed) = (job.percent() / 100.0, begun.elapsed());
        // The farm's own estimate comes later.
        let linear = || (done > 0.0).then(|| elapsed.as_secs_f64() * (1.0 / done - 1.0));
        let left = job.seconds_left().or_else(linear);
        let left = left.filter(|_| !is_advised && elapsed >= UNTIL_ADVICE);
        is_advised |= left.is_some();
        if let Some(left) = left.filter(|left| *left > LONG_S) {
            erase();
            args.report(advice(n, left));
        }
        progress.show(job);
    };
    let result = count.run(interval, see, &mut stops).await;
    progress.finish();
    let LocalResult { job, seconds } = result?;
    let plan = job.spec.plan;
    let backend = if devices.count(plan) { Variant::DEVICE } else { backend.name() };
    let how = how(&job, backend, threads, counts_orbits);
    let took = Took { seconds, counted: (!goes_on).then_some(job.counted), how };
    if !job.spec.shard.is_all() {
        // Its sum is not printed alone, because it is not a total.
        let text = format!(
            "shard {} of {plan} is counted: {} of all {} tasks; `queens merge` adds the shards up",
            job.spec.shard, job.tasks_done, plan.tasks
        );
        return args.print(n, text, output::json(&job)).map(|()| took);
    }
    let answer = answer(answering, job.counted, has_ledger, stops).await?;
    let mut object = output::with(output::json(&plan), answer::fields(&answer).into());
    object["backend"] = backend.into();
    let (total, table) = (answer.count(), answer::table(&answer));
    Counted { object, total, table, threads: threads.get(), took }.print(args, n)
}

/// After this time the estimate of what is left is good enough for advice.
const UNTIL_ADVICE: Duration = Duration::from_secs(3);
/// A count of more seconds should be kept in a ledger.
const LONG_S: f64 = 300.0;

/// How long a count takes that nothing keeps, and the same command with a ledger.
fn advice(n: u32, left: f64) -> String {
    let typed = typed().map(|word| quoted(&word)).collect::<Vec<_>>().join(" ");
    format!(
        "this takes about {}, and a stop would lose it: `queens {typed} --ledger q{n}.db` keeps what is counted",
        clock(left)
    )
}

/// What the farm is to count, and with which resources.
fn local_count(args: &CountArgs, problem: Problem) -> Result<LocalCount, Failure> {
    let shard = args.shard.map(|shard| shard.shard(|name| std::env::var(name).ok())).transpose()?;
    let ledger = args.ledger.as_deref().map(|path| with_shard(path, shard)).transpose()?;
    let method = args.method_args.choice()?;
    if let Problem::Completions(_) = problem
        && method.is_none_or(|choice| choice.for_problem(problem).cuts(problem))
    {
        args.warn_of_no_end(problem.n(), problem.open_rows().len());
    }
    let devices = args.counting.tested_devices(problem.n())?;
    let methods: Vec<MethodChoice> = match method {
        Some(method) => vec![method],
        // The ledger may be of any method, so all loops are tested.
        None if ledger.is_some() => MethodChoice::all().collect(),
        None => vec![MethodChoice::suggested(problem)],
    };
    Ok(LocalCount {
        problem,
        method,
        threads: args.counting.threads.number(),
        backend: args.counting.tested_backend(methods)?,
        build: provenance(PROGRAM, &devices),
        devices,
        shard: shard.unwrap_or(Shard::ALL),
        ledger,
        anew: args.new,
    })
}

/// How a job was counted, and where its total was published if it was.
fn how(job: &JobView, backend: &str, threads: NonZero<usize>, counts_orbits: bool) -> String {
    let plan = job.spec.plan;
    let (method, s) = (plan.method.name(), show::plural(threads.get() as u64, "s"));
    let how = format!("{method} by {backend}, {threads} thread{s}");
    match published(plan) {
        Some((value, source)) if job.total.is_some() && value == job.counted => {
            let sum = match counts_orbits {
                true => format!("{} before symmetry, ", job.counted),
                false => String::new(),
            };
            // A line of a terminal of 80 columns has no room for more.
            match stderr().is_terminal() {
                true => format!("{how}; {sum}as published"),
                false => format!("{how}; {sum}as published ({source})"),
            }
        }
        _ => how,
    }
}

/// The answer that follows from `counted` placements, once the search that it needs has ended.
async fn answer(
    answering: JoinHandle<Result<Answering, Failure>>,
    counted: u128,
    has_ledger: bool,
    mut stops: impl Stream<Item = ()> + Unpin,
) -> Result<Answer, Failure> {
    tokio::select! {
        found = answering => Ok(found.map_err(anyhow::Error::from)??.answer(counted)?),
        Some(()) = stops.next() => {
            let text = format!(
                "stopped: there are {counted} placements, and the search for those that rotations leave as they are \
                 was not finished"
            );
            Err(match has_ledger {
                true => Failure::Stopped(format!("{text}; the same command goes on from there")),
                false => Failure::Interrupted(text),
            })
        }
    }
}
