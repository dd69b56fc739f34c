//! `queens plan`: estimates what a count will take, before it runs.

use std::collections::BTreeMap;
use std::time::Duration;

use board::{Cut, MethodChoice};
use bytesize::ByteSize;
use clap::Args;
use farm::Plan;
use serde::Serialize;

use super::args::{CountingArgs, CutArgs};
use super::local_methods::LocalMethod;
use super::problem::ProblemArgs;
use super::tools::PROGRAM;
use super::{show, unique_plan};
use crate::failure::Failure;
use crate::output;
use crate::progress::{ProgressArgs, clock, while_time_passes};
use executor::{Effort, Estimate, Estimated, Fit, fit, provenance};

const EXAMPLES: &str = "\
Examples:
  queens plan 24
  queens plan 26 --problem fundamental --method unique   the 277 jobs of the MC# project

By --method unique the sizes of jobs are estimated by random descents, in queens placed.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct PlanArgs {
    /// Board size, 0 to 32; with given queens to 64
    n: u32,
    #[command(flatten)]
    problem: ProblemArgs,
    #[command(flatten)]
    pub(super) cut: CutArgs,
    #[command(flatten)]
    counting: CountingArgs,
    /// Count a sample of the tasks for so long, to estimate the total and the time; 0: no estimate
    #[arg(long, value_name = "SECONDS", default_value_t = 5, env = "QUEENS_SECONDS")]
    seconds: u64,
    /// Decides which tasks are drawn [default: a random seed]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    progress: ProgressArgs,
}

#[derive(Serialize)]
struct PlanJson {
    problem: &'static str,
    n: u32,
    method: &'static str,
    #[serde(flatten)]
    parameter: BTreeMap<&'static str, u32>,
    /// The given squares, for completions.
    #[serde(skip_serializing_if = "Option::is_none")]
    given: Option<String>,
    fingerprint: String,
    tasks: u64,
    thread_memory_bytes: u64,
    memory_bytes: u64,
    threads: usize,
    #[serde(flatten)]
    estimate: Option<EstimateJson>,
}

/// Estimates of the sum over all tasks and of the time of one thread. Errors are for 95% confidence.
#[derive(Serialize)]
struct EstimateJson {
    /// A decimal string, like all counts.
    estimate: String,
    estimate_error: String,
    core_seconds: f64,
    core_seconds_error: f64,
    longest_task_seconds: f64,
    tasks_counted: u64,
    /// Of so many blocks of a task's join one was counted; 1 if tasks were counted in full.
    blocks_per_draw: u32,
    /// Every task was counted, and the estimate is the total.
    exact: bool,
    backend: &'static str,
    /// The program and the machine, as in the evidence of counts.
    build: String,
    /// A decimal string, because it may exceed 2^53.
    seed: String,
}

pub(super) fn run(args: &PlanArgs) -> Result<(), Failure> {
    let problem = args.problem.problem(args.n)?;
    let seed = args.seed.unwrap_or_else(rand::random);
    if args.cut.local()? == Some(LocalMethod::Unique) && problem.counts_orbits() {
        return unique_plan::run(args.n, args.seconds, seed, args.json);
    }
    let choice = args.cut.choice()?.unwrap_or(MethodChoice::suggested(problem));
    let method = choice.for_problem(problem);
    let cut = Cut::new(problem, method)?;
    let plan = Plan { problem, method, tasks: cut.len() };
    let (wanted, memory) = (args.counting.threads(), args.counting.memory());
    let Fit { threads, bytes: thread_memory } = fit(plan, wanted, memory)?;
    let effort = Effort {
        plan,
        backend: args.counting.backend(),
        threads: threads.get(),
        memory: thread_memory,
        time: Duration::from_secs(args.seconds),
        seed,
    };
    if args.json {
        let json = PlanJson {
            problem: plan.problem.name(),
            n: args.n,
            method: method.name(),
            parameter: method.parameter().into_iter().collect(),
            given: show::given(&problem),
            fingerprint: plan.fingerprint().to_string(),
            tasks: plan.tasks,
            thread_memory_bytes: thread_memory,
            memory_bytes: memory,
            threads: threads.get(),
            estimate: args.estimated(effort, cut)?.map(|it| estimate_json(&it, effort)),
        };
        return output::print(serde_json::to_string(&json).map_err(anyhow::Error::from)?);
    }
    output::print(format!("plan      {plan}\ntasks     {}", plan.tasks))?;
    match thread_memory {
        0 => output::print("memory    a few MiB a thread"),
        _ => output::print(format!(
            "memory    at most {} a thread, of {} that may be used",
            ByteSize(thread_memory).display().iec(),
            ByteSize(memory).display().iec(),
        )),
    }?;
    output::print(format!("threads   {threads} of {wanted}"))?;
    match args.estimated(effort, cut)? {
        Some(estimated) => output::print(text(&estimated, effort)),
        None if args.seconds == 0 => Ok(()),
        None => output::print(no_estimate(plan, args.seconds)),
    }
}

impl PlanArgs {
    /// The estimate from a sample of the tasks; `None` if none is wanted or the time was too short.
    fn estimated(&self, effort: Effort, cut: Cut) -> Result<Option<Estimated>, Failure> {
        if self.seconds == 0 {
            return Ok(None);
        }
        count::self_test(effort.backend)?;
        let wanted = self.progress.is_wanted();
        let estimated = while_time_passes(wanted, "sample", effort.time, || effort.estimate(cut));
        Ok(estimated.map_err(anyhow::Error::from)?)
    }
}

fn estimate_json(estimated: &Estimated, effort: Effort) -> EstimateJson {
    let Estimated {
        total,
        core_seconds,
        longest_task_seconds,
        tasks_counted,
        blocks_per_draw,
        is_exact,
    } = *estimated;
    EstimateJson {
        estimate: format!("{:.0}", total.value),
        estimate_error: format!("{:.0}", total.error.ceil()),
        core_seconds: core_seconds.value,
        core_seconds_error: core_seconds.error,
        longest_task_seconds,
        tasks_counted,
        blocks_per_draw: blocks_per_draw.get(),
        exact: is_exact,
        backend: effort.backend.name(),
        build: provenance(PROGRAM),
        seed: effort.seed.to_string(),
    }
}

fn text(estimated: &Estimated, Effort { plan, backend, seed, .. }: Effort) -> String {
    let Estimated {
        total,
        core_seconds,
        longest_task_seconds,
        tasks_counted,
        blocks_per_draw,
        is_exact,
    } = *estimated;
    let part = match blocks_per_draw.get() {
        1 => String::new(),
        every => format!(", 1 of {every} blocks of each"),
    };
    let what =
        if plan.problem.counts_orbits() { "placements before symmetry" } else { "placements" };
    let (estimate, hours) = match is_exact {
        true => {
            (format!("{:.0} {what}, exact: all tasks were counted", total.value), String::new())
        }
        false => (
            format!(
                "{:.4e} {what} +- {} (95%), from {tasks_counted} tasks{part}, seed {seed}",
                total.value,
                percent(total)
            ),
            format!(" +- {} (95%)", percent(core_seconds)),
        ),
    };
    format!(
        "estimate  {estimate}\n\
         time      {:.3} core-hours{hours}: {} of one thread, by {backend} on this machine\n\
         longest   {longest_task_seconds:.3} s for a task, of those counted",
        core_seconds.value / 3600.0,
        clock(core_seconds.value),
    )
}

/// Why there is no estimate after so many seconds.
fn no_estimate(plan: Plan, seconds: u64) -> String {
    let Plan { problem, method, .. } = plan;
    let halves = match problem.sums_all_placements() && problem.n() > board::halves::MAX_N {
        true => format!(
            "; tasks of halves are estimated from parts of them, but it goes up to N = {}",
            board::halves::MAX_N
        ),
        false => String::new(),
    };
    format!(
        "estimate  none: a few tasks of {} take longer than {seconds} s here; give more with --seconds{halves}",
        method.name()
    )
}

/// The error of an estimate as a percentage of its value.
fn percent(Estimate { value, error }: Estimate) -> String {
    if error == 0.0 { "0%".into() } else { format!("{:.2}%", 100.0 * error / value) }
}

#[cfg(test)]
mod tests {
    use board::{Method, Problem};

    use super::*;

    #[test]
    fn boards_beyond_halves_are_told_why_nothing_is_estimated() {
        let of =
            |n, method| no_estimate(Plan { problem: Problem::Total { n }, method, tasks: 1 }, 20);
        let largest = board::halves::MAX_N;
        let ring = of(largest + 1, Method::Ring { width: 2 });
        assert!(ring.contains("tasks of ring take longer than 20 s"), "{ring}");
        assert!(ring.ends_with(&format!("up to N = {largest}")), "{ring}");
        assert!(of(largest, Method::Halves).ends_with("--seconds"));
    }
}
