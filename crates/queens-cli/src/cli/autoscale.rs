//! `queens autoscale`: as many worker jobs in the queue of a batch system as the farm can keep
//! busy.
//!
//! ```text
//!   coordinator ── leasable threads, workers ──┐
//!                                              ├──► decide ──► sbatch, scancel
//!   squeue ── jobs with this farm's comment ───┘
//! ```
//!
//! Nothing is stored. Jobs that an earlier process submitted are recognised by their comments.
//! Running jobs are never ended from here, because workers leave by themselves when they have
//! nothing to do.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use clap::Args;
use farm::WorkerView;
use service::api::Workers;

use super::client::{Client, CoordinatorArgs};
use super::options::in_units;
use super::show::plural;
use super::signal::asked_to_stop;
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(super) struct AutoscaleArgs {
    /// The batch system: slurm
    #[arg(value_parser = ["slurm"])]
    system: String,
    /// The most nodes that work or wait at a time
    #[arg(long, value_name = "NODES", value_parser = clap::value_parser!(u32).range(1..))]
    max_nodes: u32,
    /// The most jobs that wait in the queue at a time
    #[arg(long, value_name = "JOBS", default_value_t = 2,
          value_parser = clap::value_parser!(u32).range(1..))]
    backlog: u32,
    /// A worker leaves after this time without work
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = in_units(1_000, 1..=u64::MAX))]
    idle: u64,
    /// How long a job may take, more than 2m, such as 4h [default: as the batch system says]
    #[arg(long, value_name = "DURATION", value_parser = in_units(1_000, 2 * MARGIN_S + 1..=u64::MAX))]
    time_limit: Option<u64>,
    /// Print what would be done now, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// The workers' join string, if it is not the one by which this command asks
    #[arg(long, value_name = "FILE", env = "QUEENS_WORKER_JOIN_FILE")]
    worker_join_file: Option<PathBuf>,
    /// How long to wait from one look at farm and queue to the next
    #[arg(hide_short_help = true, long, value_name = "DURATION", default_value = "30s",
          value_parser = in_units(1_000, 1..=u64::MAX))]
    every: u64,
    /// Options of sbatch for each job, such as --partition
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<OsString>,
    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

/// How many seconds before the end of its job a worker is asked to stop.
const MARGIN_S: u64 = 60;

/// The number of failures in a row that ends the command.
const MOST_FAILURES: u32 = 3;

#[derive(Clone, Copy, Debug)]
struct Demand {
    /// Threads that the farm could keep busy, besides those of workers that others have started.
    threads: u64,
    /// Threads of one node of this command; 1 until the first one has joined.
    of_a_node: u64,
    /// Whether a node of this command has nothing to do.
    is_any_idle: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Queued {
    running: u32,
    pending: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Submit(u32),
    Withdraw(u32),
    Nothing,
}

/// The next step, with at most `max_nodes` jobs at a time, at most `backlog` of which wait.
fn decide(demand: Demand, queued: Queued, max_nodes: u32, backlog: u32) -> Step {
    let nodes = demand.threads.div_ceil(demand.of_a_node.max(1));
    let nodes = u32::try_from(nodes).unwrap_or(u32::MAX).min(max_nodes);
    let there = queued.running.saturating_add(queued.pending);
    let more = nodes.saturating_sub(there).min(backlog.saturating_sub(queued.pending));
    match there.saturating_sub(nodes).min(queued.pending) {
        // If a node idles although there is work to lease, it cannot count that work, and a further
        // node could not either.
        0 if more == 0 || demand.is_any_idle => Step::Nothing,
        0 => Step::Submit(more),
        surplus => Step::Withdraw(surplus),
    }
}

/// The number of jobs that have failed since the last success.
#[derive(Debug, Default)]
struct History {
    seen: BTreeSet<u64>,
    failures: u32,
}

impl History {
    /// Takes note of jobs that have ended. Each failure counts once. With `counts` false, the jobs
    /// that are in the queue now never count: those that have ended before this process looked for
    /// the first time, and those that run while no coordinator answers.
    fn see(&mut self, jobs: &BTreeMap<u64, State>, counts: bool) {
        self.seen.retain(|job| jobs.contains_key(job));
        for (&job, &state) in jobs {
            let is_over = matches!(state, State::Ended | State::Failed);
            if counts && !is_over {
                continue;
            }
            let is_new = self.seen.insert(job);
            if counts && is_new {
                self.failures = if state == State::Failed { self.failures + 1 } else { 0 };
            }
        }
    }
}

/// A job's state, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Pending,
    Running,
    /// It ended as jobs do: done, out of time, preempted.
    Ended,
    Failed,
    Cancelled,
}

impl State {
    fn of_slurm(state: &str) -> State {
        match state {
            "PENDING" => State::Pending,
            "COMPLETED" | "TIMEOUT" | "PREEMPTED" => State::Ended,
            "FAILED" | "NODE_FAIL" | "BOOT_FAIL" | "OUT_OF_MEMORY" | "DEADLINE" => State::Failed,
            "CANCELLED" | "REVOKED" => State::Cancelled,
            _ => State::Running,
        }
    }
}

/// The queue of Slurm, and how a worker is put into it.
struct Slurm {
    /// The comment of a job, which says to which farm the job belongs.
    comment: String,
    submission: Vec<OsString>,
    /// The variables with the address of the coordinator, for workers.
    environment: Vec<(&'static str, Option<OsString>)>,
}

impl Slurm {
    fn new(args: &AutoscaleArgs) -> Result<Slurm, Failure> {
        let endpoint = args.coordinator.endpoint()?;
        let comment = match endpoint.join_string()? {
            Some(join) => format!("queens:{}", join.pin),
            None => format!("queens:{}", endpoint.url()),
        };
        let program = std::env::current_exe().map_err(anyhow::Error::from)?;
        let program = program.to_string_lossy().replace('\'', r"'\''");
        let mut script = format!(
            "exec srun --cpus-per-task=\"$SLURM_CPUS_ON_NODE\" --cpu-bind=none '{program}' worker --exit-when-idle {}s \
             --give-up-after 5m",
            args.idle
        );
        // Each worker gets a whole node, is asked to stop ahead of the end of its job, and is not
        // put into the queue again.
        let whole = "--parsable --job-name=queens-worker --nodes=1 --ntasks=1 --exclusive --mem=0 --no-requeue \
                     --signal=TERM@60";
        let mut submission: Vec<OsString> = whole.split(' ').map(Into::into).collect();
        if let Some(limit) = args.time_limit {
            submission.push(format!("--time={}", limit / 60).into());
            script.push_str(&format!(" --time-limit {}s", limit - MARGIN_S));
        }
        submission.extend(args.options.iter().cloned());
        submission
            .extend([format!("--comment={comment}"), format!("--wrap={script}")].map(Into::into));
        let environment = args.coordinator.for_workers(args.worker_join_file.as_deref());
        Ok(Slurm { comment, submission, environment: environment.map_err(anyhow::Error::from)? })
    }

    /// The jobs of this farm: those that wait or run, and those that have ended within minutes.
    fn jobs(&self) -> Result<BTreeMap<u64, State>, Failure> {
        let words = ["--me", "--noheader", "--states=all", "--format=%A|%T|%k"];
        let listed = run(Command::new("squeue").args(words))?;
        let job = |line: &str| {
            let (number, rest) = line.split_once('|')?;
            let (state, comment) = rest.split_once('|')?;
            let job = (number.trim().parse().ok()?, State::of_slurm(state));
            (comment.trim_end() == self.comment).then_some(job)
        };
        Ok(listed.lines().filter_map(job).collect())
    }

    fn submit(&self) -> Result<(), Failure> {
        let mut sbatch = Command::new("sbatch");
        for (name, value) in &self.environment {
            match value {
                Some(value) => sbatch.env(name, value),
                None => sbatch.env_remove(name),
            };
        }
        let job = run(sbatch.args(&self.submission))?;
        tracing::info!(job = job.trim(), "submitted");
        Ok(())
    }

    /// Withdraws the newest `number` of the jobs that wait. A job that has begun meanwhile goes on.
    fn withdraw(&self, jobs: &BTreeMap<u64, State>, number: u32) -> Result<(), Failure> {
        let pending = jobs.iter().rev().filter(|(_, state)| **state == State::Pending);
        let newest = pending.take(number as usize).map(|(job, _)| job.to_string());
        let newest: Vec<String> = newest.collect();
        if newest.is_empty() {
            return Ok(());
        }
        run(Command::new("scancel").arg("--state=PENDING").args(&newest))?;
        tracing::info!(jobs = newest.join(","), "withdrawn");
        Ok(())
    }
}

/// Runs a command of the batch system, and returns what it prints.
fn run(command: &mut Command) -> Result<String, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| {
        Failure::BatchSystem(format!(
            "cannot run {name} ({error}): run this command where Slurm's commands are in the PATH, as on a login node"
        ))
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let errors = errors.trim().lines().collect::<Vec<_>>().join("; ");
    Err(Failure::BatchSystem(format!("{name} fails: {errors}")))
}

/// The coordinator's demand, besides the workers in `jobs`.
async fn demand(client: &mut Client, jobs: &BTreeMap<u64, State>) -> Result<Demand, Failure> {
    let Workers { workers, leasable_threads, .. } = client.get("/workers").await?;
    // In a job of Slurm, `queens worker` calls itself slurm-JOB-NODE.
    let job = |worker: &WorkerView| {
        worker.provenance.worker.strip_prefix("slurm-")?.split('-').next()?.parse().ok()
    };
    let is_ours = |worker: &WorkerView| job(worker).is_some_and(|job| jobs.contains_key(&job));
    let (ours, others): (Vec<_>, Vec<_>) = workers.into_iter().partition(is_ours);
    let threads_of_others = others.iter().map(|worker| u64::from(worker.threads)).sum();
    Ok(Demand {
        threads: leasable_threads.saturating_sub(threads_of_others),
        of_a_node: ours.iter().map(|worker| worker.threads.into()).max().unwrap_or(1),
        is_any_idle: ours.iter().any(|worker| worker.tasks == 0),
    })
}

/// Looks at farm and queue until it is asked to stop. An error of the first look ends it. Later,
/// only submissions or jobs that fail three times in a row do.
pub(super) async fn autoscale(args: AutoscaleArgs) -> Result<(), Failure> {
    let mut client = Client::connect(&args.coordinator).await?;
    let queue = Slurm::new(&args)?;
    let mut history = History::default();
    history.see(&queue.jobs()?, false);
    let mut is_first = true;
    let stop = asked_to_stop();
    tokio::pin!(stop);
    loop {
        match look(&args, &mut client, &queue, &mut history).await {
            Ok(()) if args.dry_run => return Ok(()),
            Ok(()) => {}
            Err(failure) if is_first || history.failures >= MOST_FAILURES => return Err(failure),
            Err(failure) => tracing::warn!("{failure}"),
        }
        is_first = false;
        tokio::select! {
            () = &mut stop => return Ok(()),
            () = tokio::time::sleep(Duration::from_secs(args.every)) => {}
        }
    }
}

/// Looks at farm and queue, and does what follows.
async fn look(
    args: &AutoscaleArgs,
    client: &mut Client,
    queue: &Slurm,
    history: &mut History,
) -> Result<(), Failure> {
    let jobs = queue.jobs()?;
    let demand = match demand(client, &jobs).await {
        Ok(demand) => demand,
        Err(failure) => {
            // Without a coordinator the queue stays as it is. Workers that give up meanwhile do not
            // count as failures.
            history.see(&jobs, false);
            client.connect_again().await?;
            return Err(failure);
        }
    };
    history.see(&jobs, true);
    if history.failures >= MOST_FAILURES {
        queue.withdraw(&jobs, u32::MAX)?;
        return Err(Failure::BatchSystem(format!(
            "the last {} jobs have failed: see what they have printed (slurm-*.out), mend it, and run this command \
             again; what waited is withdrawn",
            history.failures
        )));
    }
    let number = |wanted| jobs.values().filter(|state| **state == wanted).count() as u32;
    let queued = Queued { running: number(State::Running), pending: number(State::Pending) };
    let step = decide(demand, queued, args.max_nodes, args.backlog);
    if args.dry_run {
        let Queued { running, pending } = queued;
        let jobs = |number: u32| format!("{number} job{}", plural(number.into(), "s"));
        let what = match step {
            Step::Submit(number) => format!("submit {}", jobs(number)),
            Step::Withdraw(number) => format!("withdraw {}", jobs(number)),
            Step::Nothing => "do nothing".into(),
        };
        return output::print(format_args!(
            "would {what}: the farm could use {} threads; nodes at work: {running}, waiting: {pending}",
            demand.threads
        ));
    }
    match step {
        Step::Submit(number) => (0..number).try_for_each(|_| queue.submit()).or_else(|failure| {
            history.failures += 1;
            if history.failures >= MOST_FAILURES {
                queue.withdraw(&jobs, u32::MAX)?;
            }
            Err(failure)
        }),
        Step::Withdraw(number) => queue.withdraw(&jobs, number),
        Step::Nothing => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORK: Demand = Demand { threads: 100, of_a_node: 8, is_any_idle: false };

    fn queued(running: u32, pending: u32) -> Queued {
        Queued { running, pending }
    }

    #[test]
    fn a_farm_grows_to_what_it_can_keep_busy() {
        assert_eq!(decide(WORK, queued(0, 0), 20, 30), Step::Submit(13));
        assert_eq!(decide(WORK, queued(5, 3), 20, 30), Step::Submit(5));
        assert_eq!(decide(WORK, queued(10, 3), 20, 30), Step::Nothing);
        let unknown = Demand { threads: u64::MAX, of_a_node: 0, ..WORK };
        assert_eq!(decide(unknown, queued(1, 0), 20, 30), Step::Submit(19));
    }

    #[test]
    fn neither_more_nodes_nor_more_jobs_that_wait_than_allowed() {
        assert_eq!(decide(WORK, queued(0, 0), 4, 30), Step::Submit(4));
        assert_eq!(decide(WORK, queued(0, 0), 20, 2), Step::Submit(2));
        assert_eq!(decide(WORK, queued(0, 2), 20, 2), Step::Nothing);
        assert_eq!(decide(WORK, queued(3, 1), 20, 2), Step::Submit(1));
    }

    #[test]
    fn what_waits_is_withdrawn_when_it_is_not_needed() {
        let little = Demand { threads: 9, ..WORK };
        assert_eq!(decide(little, queued(1, 3), 20, 4), Step::Withdraw(2));
        assert_eq!(decide(little, queued(5, 3), 20, 4), Step::Withdraw(3));
        assert_eq!(decide(little, queued(5, 0), 20, 4), Step::Nothing);
        assert_eq!(decide(WORK, queued(3, 3), 4, 9), Step::Withdraw(2));
        let none = Demand { threads: 0, ..WORK };
        assert_eq!(decide(none, queued(0, 1), 20, 4), Step::Withdraw(1));
    }

    #[test]
    fn no_node_is_added_beside_one_that_idles() {
        let idle = Demand { is_any_idle: true, ..WORK };
        assert_eq!(decide(idle, queued(1, 0), 20, 4), Step::Nothing);
        assert_eq!(decide(Demand { threads: 8, ..idle }, queued(1, 2), 20, 4), Step::Withdraw(2));
    }

    #[test]
    fn failures_count_once_and_in_a_row() {
        let mut history = History::default();
        let mut see = |jobs: &[(u64, State)], counts| {
            history.see(&jobs.iter().copied().collect(), counts);
            history.failures
        };
        assert_eq!(see(&[(1, State::Failed)], false), 0, "it ended before");
        assert_eq!(see(&[(1, State::Failed), (2, State::Failed), (3, State::Running)], true), 1);
        assert_eq!(see(&[(2, State::Failed), (3, State::Cancelled)], true), 1);
        assert_eq!(see(&[(4, State::Failed), (5, State::Failed)], true), 3);
        assert_eq!(see(&[(6, State::Ended)], true), 0);
        assert_eq!(see(&[(7, State::Running)], false), 0);
        assert_eq!(see(&[(7, State::Failed)], true), 0, "no coordinator answered while it ran");
    }
}
