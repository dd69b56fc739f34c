//! `queens plan`: what a count will take, before anything runs.

use std::collections::BTreeMap;

use board::{Cut, MethodChoice};
use bytesize::ByteSize;
use clap::Args;
use farm::Plan;
use serde::Serialize;

use super::count::{CountingArgs, CutArgs, given};
use super::problem::ProblemArgs;
use crate::failure::Failure;
use crate::memory::{Fit, fit};
use crate::output;

#[derive(Debug, Args)]
pub(super) struct PlanArgs {
    /// Board size, 0 to 32; with given queens to 64
    n: u32,
    #[command(flatten)]
    problem: ProblemArgs,
    #[command(flatten)]
    pub(super) cut: CutArgs,
    #[command(flatten)]
    counting: CountingArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct PlanJson {
    problem: &'static str,
    n: u32,
    method: &'static str,
    #[serde(flatten)]
    parameter: BTreeMap<&'static str, u32>,
    /// Squares, with completions.
    #[serde(skip_serializing_if = "Option::is_none")]
    given: Option<String>,
    fingerprint: String,
    tasks: u64,
    thread_memory_bytes: u64,
    memory_bytes: u64,
    threads: usize,
}

pub(super) fn run(args: &PlanArgs) -> Result<(), Failure> {
    let problem = args.problem.problem(args.n)?;
    let choice = args.cut.choice()?.unwrap_or(MethodChoice::suggested(problem));
    let method = choice.for_problem(problem);
    let tasks = Cut::new(problem, method)?.len();
    let plan = Plan { problem, method, tasks };
    let (wanted, memory) = (args.counting.threads(), args.counting.memory());
    let Fit { threads, bytes: thread_memory } = fit(plan, wanted, memory)?;
    if args.json {
        let json = PlanJson {
            problem: plan.problem.name(),
            n: args.n,
            method: method.name(),
            parameter: method.parameter().into_iter().collect(),
            given: given(&problem),
            fingerprint: plan.fingerprint().to_string(),
            tasks,
            thread_memory_bytes: thread_memory,
            memory_bytes: memory,
            threads: threads.get(),
        };
        return output::print(serde_json::to_string(&json).map_err(anyhow::Error::from)?);
    }
    output::print(format!("plan      {plan}\ntasks     {tasks}"))?;
    match thread_memory {
        0 => output::print("memory    a few MiB a thread"),
        _ => output::print(format!(
            "memory    at most {} a thread, of {} that may be used",
            ByteSize(thread_memory).display().iec(),
            ByteSize(memory).display().iec(),
        )),
    }?;
    output::print(format!("threads   {threads} of {wanted}"))
}
