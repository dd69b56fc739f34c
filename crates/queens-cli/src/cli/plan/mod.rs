//! `queens plan`: estimates what a count will take, before it runs, or prints its tasks (`tasks`).

mod tasks;

use std::time::Duration;

use board::{MethodChoice, PlanIndex, Problem};
use clap::Args;
use farm::{Fact, Plan};
use serde::Serialize;
use serde_json::{Value, json};

use super::options::{CountingArgs, MethodArgs, MethodName, in_units};
use super::problem::ProblemArgs;
use super::tools::PROGRAM;
use crate::failure::{Failure, usage};
use crate::output;
use crate::progress::{ProgressArgs, clock, while_time_passes};
use executor::{DeviceSample, Devices, Effort, Estimate, Estimated, provenance};

const EXAMPLES: &str = "\
Examples:
  queens plan 24
  queens plan 26 --seconds 10m                           a narrower estimate, from a longer sample
  queens plan 26 --problem fundamental --method unique   the 277 jobs of the MC# project";

#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct PlanArgs {
    /// Board size, 0 to 32; with given queens to 64
    ///
    /// A drawn board says its own.
    #[arg(required_unless_present = "board")]
    n: Option<u32>,
    #[command(flatten)]
    problem: ProblemArgs,
    #[command(flatten)]
    method_args: MethodArgs,
    #[command(flatten)]
    counting: CountingArgs,
    /// Count a sample for this time; 0 for no estimate
    ///
    /// The sample yields estimates of the total and the time [default: 5s, and 45s from N = 21 on].
    #[arg(long, value_name = "SECONDS",
          value_parser = in_units(1_000, 0..=1_000_000))]
    seconds: Option<u64>,
    /// Print each task of the method rows instead
    ///
    /// Each is a line: left, down and right as numbers, and for how many boards it stands; with
    /// --method prefixes mirror images are tasks, too.
    #[arg(long)]
    tasks: bool,
    /// Decides which tasks are drawn [default: random]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    progress: ProgressArgs,
}

pub(super) fn run(args: &PlanArgs) -> Result<(), Failure> {
    let n = args.problem.given.size(args.n)?;
    let problem = args.problem.problem(n)?;
    if args.method_args.local()? == Some(MethodName::Unique) && problem.counts_orbits() {
        let is_sampled = args.seconds.is_some_and(|seconds| seconds > 0) || args.seed.is_some();
        if is_sampled || args.tasks {
            return usage(
                "--method unique counts on one thread, and no sample is measured: leave out --tasks, \
                 --seconds and --seed",
            );
        }
        return tasks::print_jobs_of_unique(n, args.json);
    }
    if args.tasks {
        if !matches!(problem, Problem::Total { .. }) {
            return usage("--tasks is for the total: leave out --problem and given queens");
        }
        let choice = args.method_args.choice()?.unwrap_or(MethodChoice::Rows { rows: None });
        return tasks::print(n, choice, args.json);
    }
    args.estimate(problem)
}

impl PlanArgs {
    /// Prints the plan of `problem`, and estimates from a sample of it.
    fn estimate(&self, problem: Problem) -> Result<(), Failure> {
        let choice = self.method_args.choice()?.unwrap_or(MethodChoice::suggested(problem));
        let method = choice.for_problem(problem);
        let index = PlanIndex::new(problem, method)?;
        let effort = Effort {
            plan: Plan { problem, method, tasks: index.len() },
            backend: self.counting.backend(),
            threads: self.counting.threads.number(),
            // From N = 21 on, a part of a task can take several seconds.
            time: Duration::from_secs(self.seconds.unwrap_or(if problem.n() <= 20 {
                5
            } else {
                45
            })),
            seed: self.seed.unwrap_or_else(rand::random),
        };
        let devices = self.counting.tested_devices(problem.n())?;
        if !self.json {
            // The head is printed before the sample is counted, which takes a while.
            output::print(head(effort))?;
        }
        let estimated = self.estimated(effort, index)?;
        let devices = self.on_devices(&devices, effort)?;
        match self.json {
            true => output::print(json(effort, estimated.as_ref(), &devices)),
            false => self.print_text(effort, estimated.as_ref(), &devices),
        }
    }

    /// Prints what follows the head.
    fn print_text(
        &self,
        effort: Effort,
        estimated: Option<&Estimated>,
        devices: &[DeviceJson],
    ) -> Result<(), Failure> {
        match estimated {
            Some(estimated) => output::print(text(estimated, effort))?,
            None if effort.time.is_zero() => {}
            None => output::print(format_args!(
                "estimate  none: too few tasks of {} can be measured in {} s here; give more time with --seconds",
                effort.plan.method.name(),
                effort.time.as_secs()
            ))?,
        }
        devices.iter().try_for_each(|DeviceJson { device, seconds, tasks_counted }| {
            output::print(format_args!(
                "device    {:.3} hours: {} of {device}, from {tasks_counted} tasks",
                seconds / 3600.0,
                clock(*seconds)
            ))
        })
    }

    /// The estimate from a sample of the tasks; `None` if none is wanted or the time was too short.
    fn estimated(&self, effort: Effort, index: PlanIndex) -> Result<Option<Estimated>, Failure> {
        if effort.time.is_zero() {
            return Ok(None);
        }
        count::self_test(effort.backend, MethodChoice::all())?;
        let wanted = !self.progress.quiet;
        let estimated = while_time_passes(wanted, "sample", effort.time, || effort.estimate(index));
        Ok(estimated.map_err(anyhow::Error::from)?)
    }

    /// The time that each device takes for the plan by itself, from a sample. Empty if devices do
    /// not count this plan.
    fn on_devices(&self, devices: &Devices, effort: Effort) -> Result<Vec<DeviceJson>, Failure> {
        let n = effort.plan.problem.n();
        if effort.time.is_zero() || !devices.count(effort.plan) {
            return Ok(Vec::new());
        }
        let mut times = Vec::new();
        for device in devices.iter().filter(|device| device.boards().contains(&n)) {
            let sample = DeviceSample::new(device, n, effort.time / 4)?;
            let (seconds, tasks_counted) = (sample.seconds / sample.share, sample.tasks);
            times.push(DeviceJson { device: device.to_string(), seconds, tasks_counted });
        }
        Ok(times)
    }
}

#[derive(Debug, Serialize)]
struct DeviceJson {
    device: String,
    seconds: f64,
    tasks_counted: u64,
}

/// The number of placements as others have published it, and where.
pub(super) fn published(plan: Plan) -> Option<(u128, &'static str)> {
    Fact::of(plan.problem).into_iter().find_map(|fact| match fact {
        Fact::Published { value, source } => Some((value, source)),
        _ => None,
    })
}

/// What follows the word "placements" if the problem counts orbits.
fn before_symmetry(plan: Plan) -> &'static str {
    if plan.problem.counts_orbits() { " before symmetry" } else { "" }
}

/// The plan itself, as text.
fn head(Effort { plan, threads, .. }: Effort) -> String {
    let published = published(plan).map_or_else(String::new, |(value, source)| {
        format!("\npublished {value} placements{} ({source})", before_symmetry(plan))
    });
    format!("plan      {plan}\ntasks     {}\nthreads   {threads}{published}", plan.tasks)
}

/// The plan and the estimates as JSON.
fn json(effort: Effort, estimated: Option<&Estimated>, devices: &[DeviceJson]) -> Value {
    let published = published(effort.plan).map(|(value, _)| value.to_string());
    let further = json!({"published": published, "threads": effort.threads, "devices": devices});
    let mut object = output::with(output::json(&effort.plan), further);
    if let Some(estimated) = estimated {
        note_estimate(&mut object, estimated, effort);
    }
    object
}

/// Estimates of the sum over all tasks and of the processor time of one thread, in decimal strings
/// where they may exceed 2^53. Errors are for 95% confidence.
fn note_estimate(object: &mut Value, estimated: &Estimated, effort: Effort) {
    let Estimated { total, is_exact, core_seconds, .. } = *estimated;
    object["estimate"] = total.map(|total| format!("{:.0}", total.value)).into();
    object["estimate_error"] = total.map(|total| format!("{:.0}", total.error.ceil())).into();
    object["exact"] = is_exact.into();
    object["core_seconds"] = core_seconds.value.into();
    object["core_seconds_error"] = core_seconds.error.into();
    object["longest_task_seconds"] = estimated.longest_task_seconds.into();
    object["tasks_counted"] = estimated.tasks_counted.into();
    object["parts_per_draw"] = estimated.parts_per_draw.get().into();
    object["backend"] = effort.backend.name().into();
    object["build"] = provenance(PROGRAM, &Devices::default()).into();
    object["seed"] = effort.seed.to_string().into();
}

fn text(estimated: &Estimated, effort: Effort) -> String {
    let Estimated { total, is_exact, core_seconds, longest_task_seconds, .. } = *estimated;
    let Effort { plan, backend, threads, seed, .. } = effort;
    let placements = format!("placements{}", before_symmetry(plan));
    let tasks = format!("{} tasks", estimated.tasks_counted);
    let from = match estimated.parts_per_draw.get() {
        1 => tasks,
        every => format!("1 of {every} parts of {tasks}"),
    };
    let estimate = match total {
        Some(total) if is_exact => {
            format!("{:.0} {placements}, exact: all tasks were counted", total.value)
        }
        Some(total) => {
            let bar = percent(total);
            format!("{:.4e} {placements} +- {bar} (95%), from {from}, seed {seed}", total.value)
        }
        None => format!(
            "none: {from} were counted and have no placement, seed {seed}; give more time with --seconds"
        ),
    };
    let bar = percent(core_seconds);
    let longest = match estimated.parts_per_draw.get() {
        1 => format!("{longest_task_seconds:.3} s for a task, of those counted"),
        _ => format!("about {longest_task_seconds:.3} s for a task"),
    };
    format!(
        "estimate  {estimate}\n\
         time      {:.3} core-hours +- {bar} (95%): {} of one thread, by {backend} on this machine\n\
         machine   about {} with {threads} of its threads\n\
         longest   {longest}",
        core_seconds.value / 3600.0,
        clock(core_seconds.value),
        clock(core_seconds.value / threads.get() as f64),
    )
}

/// The error of an estimate as a percentage of its value.
fn percent(Estimate { value, error }: Estimate) -> String {
    if error == 0.0 { "0%".into() } else { format!("{:.2}%", 100.0 * error / value) }
}
