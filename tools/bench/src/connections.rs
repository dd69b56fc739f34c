//! Measures many workers at once over TLS: how soon their reports are acknowledged, and the
//! coordinator's memory.
//!
//! ```text
//!   this process ──starts──► a coordinator, and crowds of workers in processes of their own
//!                ◄──"here"── each crowd, once all of its workers have sessions
//!                ──"begin"─► each crowd, once all crowds have sessions
//!                ◄──times─── each crowd, at the end
//! ```
//!
//! The workers count nothing. Each waits for the time of a task, and reports when the real state
//! machine of a worker says so, at the pace that the coordinator sets.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use service::Endpoint;

use crate::crowd::{Crowd, Habits};
use crate::farm::{PLAN, submit};
use crate::print;
use crate::process::{Coordinator, processor_seconds, this_program};

/// The most workers in one process. Each is an open file.
const CROWD: u32 = 8_000;

#[derive(Debug, Args)]
pub(crate) struct ConnectionsArgs {
    /// Number of workers. Each is an open file of the coordinator, whose number the system bounds
    /// (`ulimit -Hn`)
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    workers: u32,
    /// The time of a task, milliseconds; each takes between half and one and a half of it
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..=600_000))]
    task_ms: u64,
    /// How long the workers work before they are measured, seconds
    #[arg(long, default_value_t = 60)]
    warm_up: u64,
    /// How long they are measured, seconds
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=36_000))]
    seconds: u64,
    /// Have the workers report every second, whichever interval the coordinator sets
    #[arg(long)]
    unpaced: bool,
    /// The folder of the temporary ledger, on the disk that is measured
    #[arg(long, default_value = ".", value_name = "FOLDER")]
    folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CrowdArgs {
    #[arg(long)]
    join: PathBuf,
    #[arg(long)]
    workers: u32,
    #[arg(long)]
    task_ms: u64,
    #[arg(long)]
    warm_up: u64,
    #[arg(long)]
    seconds: u64,
    #[arg(long)]
    unpaced: bool,
}

/// Measures once, and prints the result.
pub(crate) async fn run(args: ConnectionsArgs) -> Result<()> {
    let coordinator = Coordinator::start(&args.folder, true).await?;
    submit(&coordinator, PLAN, None).await?;
    let empty = coordinator.memory_mib();
    let begun = Instant::now();
    let mut crowds = Vec::new();
    let mut left = args.workers;
    while left > 0 {
        let workers = left.min(CROWD);
        crowds.push(Members::start(&args, &coordinator, workers)?);
        left -= workers;
    }
    for crowd in &mut crowds {
        ensure!(crowd.line()? == "here", "a crowd did not connect");
    }
    print(format!(
        "{} workers have their sessions over TLS after {:.1} s; the coordinator has {} for that",
        args.workers,
        begun.elapsed().as_secs_f64(),
        mib(coordinator.memory_mib().zip(empty).map(|(now, empty)| now - empty))
    ))?;

    let processor = || processor_seconds(coordinator.id());
    crowds.iter_mut().try_for_each(|crowd| crowd.say("begin"))?;
    tokio::time::sleep(Duration::from_secs(args.warm_up)).await;
    let (before, measured) = (processor(), Instant::now());
    let mut waits: Vec<u64> = Vec::new();
    for crowd in &mut crowds {
        waits.extend(serde_json::from_str::<Vec<u64>>(&crowd.line()?)?);
    }
    let seconds = measured.elapsed().as_secs_f64();
    waits.sort_unstable();
    ensure!(!waits.is_empty(), "nothing was acknowledged: give it more --seconds");
    let at = |share: f64| waits[((waits.len() - 1) as f64 * share) as usize] as f64 / 1e3;
    print(format!(
        "{:.0} acknowledgements a second for {} s; half of them come within {:.1} ms, 99% within {:.1} ms, all within \
         {:.1} ms",
        waits.len() as f64 / args.seconds as f64,
        args.seconds,
        at(0.5),
        at(0.99),
        at(1.0)
    ))?;
    print(format!(
        "the coordinator has {} in all, and takes {:.2} processors",
        mib(coordinator.memory_mib()),
        (processor() - before) / seconds
    ))
}

/// A crowd in its own process. Dropping the value ends the process.
struct Members {
    child: Child,
    output: BufReader<ChildStdout>,
    input: ChildStdin,
}

impl Members {
    fn start(args: &ConnectionsArgs, coordinator: &Coordinator, workers: u32) -> Result<Members> {
        let join = coordinator.join_file().context("it serves TLS")?;
        let mut command = this_program()?;
        command.args(["crowd", "--join"]).arg(join);
        let numbers = [
            ("--workers", workers.into()),
            ("--task-ms", args.task_ms),
            ("--warm-up", args.warm_up),
            ("--seconds", args.seconds),
        ];
        for (name, number) in numbers {
            command.args([name, &number.to_string()]);
        }
        command.args(args.unpaced.then_some("--unpaced"));
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("a crowd cannot be started")?;
        let output = BufReader::new(child.stdout.take().context("it is piped")?);
        let input = child.stdin.take().context("it is piped")?;
        Ok(Members { child, output, input })
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        ensure!(line.ends_with('\n'), "a crowd ended early");
        Ok(line.trim_end().into())
    }

    fn say(&mut self, word: &str) -> Result<()> {
        Ok(writeln!(self.input, "{word}")?)
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a crowd in its own process.
pub(crate) async fn serve(args: CrowdArgs) -> Result<()> {
    let endpoint = Endpoint::join_file(args.join);
    let task = Duration::from_millis(args.task_ms);
    let habits = Habits { is_paced: !args.unpaced };
    let mut crowd = Crowd::connect(endpoint, args.workers, task, habits).await?;
    print("here")?;
    let begin = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map(|_| line)
    });
    ensure!(begin.await??.trim_end() == "begin", "the benchmark ended before it began to measure");
    crowd.work_for(Duration::from_secs(args.warm_up)).await?;
    drop(crowd.take_waits());
    crowd.work_for(Duration::from_secs(args.seconds)).await?;
    print(serde_json::to_string(&crowd.take_waits())?)
}

fn mib(memory: Option<f64>) -> String {
    memory.map_or_else(|| "unknown memory".into(), |mib| format!("{mib:.0} MiB"))
}
