//! `queens count`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use farm::{JobView, Slice};
use serde::Serialize;
use serde_json::{Map, Value};

use super::args::{CountingArgs, CutArgs};
use super::local_methods::{self, LocalArgs};
use super::problem::ProblemArgs;
use super::show;
use super::signal::asked_to_stop;
use crate::answer::{self, Answering};
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;
use service::local::{LocalCount, LocalResult};

#[derive(Debug, Args)]
pub(super) struct CountArgs {
    /// Board size, 0 to 32; with given queens to 64
    n: u32,
    #[command(flatten)]
    problem: ProblemArgs,
    #[command(flatten)]
    pub(super) cut: CutArgs,
    #[command(flatten)]
    counting: CountingArgs,
    /// Keep the work in this file, and go on from what it holds
    #[arg(long, value_name = "FILE", env = "QUEENS_LEDGER")]
    ledger: Option<PathBuf>,
    /// Count only this part of the tasks, as in 3/64, into a ledger; `queens merge` joins the parts
    #[arg(long, value_name = "INDEX/PARTS", requires = "ledger", env = "QUEENS_SHARD")]
    shard: Option<Slice>,
    /// Print one JSON object instead of the bare total
    #[arg(long)]
    json: bool,
    /// A table on standard error: with `--problem fundamental` the census by symmetry, with `states` and
    /// `forced` what the count took
    #[arg(long)]
    stats: bool,
}

#[derive(Serialize)]
struct CountJson {
    problem: &'static str,
    n: u32,
    method: &'static str,
    #[serde(flatten)]
    parameter: BTreeMap<&'static str, u32>,
    /// Squares, with completions.
    #[serde(skip_serializing_if = "Option::is_none")]
    given: Option<String>,
    total: String,
    #[serde(flatten)]
    census: Map<String, Value>,
    tasks: u64,
    seconds: f64,
    threads: usize,
    backend: &'static str,
}

/// A part of the tasks is counted: its sum is no total, and must not look like one.
fn part_counted(job: &JobView, json: bool) -> Result<(), Failure> {
    if json {
        return output::print(show::json(job));
    }
    output::print(format!(
        "part {} of {} is counted: {} of its {} tasks; `queens merge` adds the parts up",
        job.slice, job.plan, job.tasks_done, job.plan.tasks
    ))
}

pub(super) async fn run(args: CountArgs) -> Result<(), Failure> {
    let problem = args.problem.problem(args.n)?;
    if let Some(method) = args.cut.local()? {
        if args.ledger.is_some() {
            return Err(method.refuses("no ledger", "--ledger (QUEENS_LEDGER) and --shard"));
        }
        let CountArgs { json, stats, .. } = args;
        let memory = args.counting.memory();
        return local_methods::run(method, &LocalArgs { problem, memory, json, stats });
    }
    if args.stats && !problem.counts_orbits() {
        return Err(Failure::Usage(
            "--stats needs --problem fundamental, or --method states or forced".into(),
        ));
    }
    let count = LocalCount {
        problem,
        method: args.cut.choice()?,
        threads: args.counting.threads(),
        backend: args.counting.tested_backend()?,
        memory: args.counting.memory(),
        slice: args.shard.unwrap_or(Slice::ALL),
        ledger: args.ledger,
    };
    let backend = count.backend.name();
    let answering = Answering::begin(problem);
    let mut progress = Progress::new(true, false);
    let interval = progress.interval();
    let result = count.run(interval, |job| progress.show(job), asked_to_stop()).await;
    progress.finish();
    let LocalResult { job, seconds, threads } = result?;
    if !job.slice.is_all() {
        return part_counted(&job, args.json);
    }
    let answer = tokio::select! {
        answer = answering.of(job.total) => answer?,
        () = asked_to_stop() => {
            return Err(Failure::Interrupted(format!(
                "interrupted: there are {} placements, and the search for those that rotations leave \
                 as they are was not finished",
                job.total
            )));
        }
    };
    if args.stats {
        eprint!("{}", answer::table(&answer));
    }
    if !args.json {
        return output::print(answer.count());
    }
    let json = CountJson {
        problem: job.plan.problem.name(),
        n: job.plan.problem.n(),
        method: job.plan.method.name(),
        parameter: job.plan.method.parameter().into_iter().collect(),
        given: show::given(&problem),
        total: job.total.to_string(),
        census: answer::fields(&answer),
        tasks: job.plan.tasks,
        seconds,
        threads: threads.get(),
        backend,
    };
    output::print(serde_json::to_string(&json).map_err(anyhow::Error::from)?)
}
