//! Measures what further worker processes gain: a farm of P workers of one thread each counts boards that are cut
//! after M rows.
//!
//! No worker can finish before its largest task is counted, so the speed-up is at most the sum of all tasks' times by
//! the largest one: a task is the smallest unit of work.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use board::{Cut, Method, Problem, Tasks};
use clap::Args;
use count::{Backend, Kernel};
use executor::Devices;
use farm::{AgentConfig, Hello, JobState};
use service::Endpoint;
use service::worker::{GrpcConnector, LeaveRules, start_executor, work};
use tokio::sync::watch;
use wire::v1;
use wire::v1::client_service_client::ClientServiceClient;

use super::bare::median;
use super::process::{Coordinator, this_program};
use crate::args::available_backend;
use crate::{plot, print};

#[derive(Debug, Args)]
pub(crate) struct SpeedupBenchArgs {
    /// Board size, 8 to 18; smaller ones than 16 are over before the workers have shared them
    #[arg(long, default_value_t = 17, value_parser = clap::value_parser!(u32).range(8..=18))]
    n: u32,
    /// Rows that a task has placed, a table for each
    #[arg(long, value_delimiter = ',', default_value = "1,2,3,4",
          value_parser = clap::value_parser!(u32).range(0..=7))]
    rows: Vec<u32>,
    /// Numbers of worker processes, in ascending order and from 1 on
    #[arg(long, value_delimiter = ',', default_value = "1,2,4",
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    processes: Vec<u32>,
    /// Rounds; each measures every number of processes with every M, and medians are shown
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Counting loop [default: the fastest that this processor has]
    #[arg(long, value_name = "NAME", value_parser = available_backend)]
    backend: Option<Backend>,
    /// Draw the speed-ups into this file, as SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// The folder of the temporary ledgers
    #[arg(long, default_value = ".", value_name = "FOLDER")]
    folder: PathBuf,
}

/// A worker of `speedup`, in a process of its own.
#[derive(Debug, Args)]
pub(crate) struct SpeedupWorkerArgs {
    #[arg(long)]
    coordinator: String,
    #[arg(long, value_parser = available_backend)]
    backend: Backend,
    #[arg(long)]
    name: String,
}

/// How the board is cut, and what its tasks take.
struct Tasked {
    rows: u32,
    tasks: u64,
    /// The largest task's share of the time of all, 0 to 1.
    largest: f64,
    total: u128,
    /// Seconds by the place of the number of processes, of each round.
    seconds: Vec<Vec<f64>>,
}

pub(crate) async fn run(args: SpeedupBenchArgs) -> Result<()> {
    let backend = args.backend.unwrap_or_else(Backend::detect);
    let rising = args.processes.first() == Some(&1) && args.processes.is_sorted_by(|a, b| a < b);
    ensure!(rising, "--processes begins with 1, which the others are compared with, and rises");
    let tasked =
        args.rows.iter().map(|&rows| Tasked::new(args.n, rows, backend, args.processes.len()));
    let mut tasked: Vec<Tasked> = tasked.collect::<Result<_>>()?;
    for _ in 0..args.rounds {
        for (place, &processes) in args.processes.iter().enumerate() {
            let coordinator = Coordinator::start(&args.folder, false).await?;
            let _workers = Workers::start(&coordinator, processes, backend).await?;
            for tasked in &mut tasked {
                let seconds = tasked.measure(&coordinator, args.n).await?;
                tasked.seconds[place].push(seconds);
            }
        }
    }
    print(format!(
        "N={} by rows, {backend}, workers of one thread; medians of {} rounds",
        args.n, args.rounds
    ))?;
    print(
        " M     tasks  largest task  speed-up at most  processes   seconds  speed-up  efficiency",
    )?;
    for tasked in &tasked {
        for (&processes, speedup, seconds) in tasked.speedups(&args.processes) {
            print(format!(
                "{:>2}  {:>8}  {:>11.2}%  {:>16.1}  {processes:>9}  {seconds:>8.3}  {speedup:>8.2}  {:>9.0}%",
                tasked.rows,
                tasked.tasks,
                100.0 * tasked.largest,
                1.0 / tasked.largest,
                100.0 * speedup / f64::from(processes),
            ))?;
        }
    }
    if let Some(path) = args.plot {
        let curve = |tasked: &Tasked| plot::Curve {
            name: format!("M = {}", tasked.rows),
            points: tasked
                .speedups(&args.processes)
                .map(|(&processes, speedup, _)| (f64::from(processes), speedup))
                .collect(),
        };
        let ideal =
            args.processes.iter().map(|&processes| (f64::from(processes), f64::from(processes)));
        let ideal = plot::Curve { name: "ideal".into(), points: ideal.collect() };
        let curves: Vec<plot::Curve> = tasked.iter().map(curve).chain([ideal]).collect();
        let title = format!("N = {}: speed-up by worker processes of one thread", args.n);
        let text = plot::svg(&title, ["worker processes", "speed-up"], &curves)?;
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

impl Tasked {
    /// Counts each task of the plan alone, three times: whatever else the machine does makes it seem larger, and never
    /// smaller.
    fn new(n: u32, rows: u32, backend: Backend, numbers: usize) -> Result<Tasked> {
        let (problem, method) = (Problem::Total { n }, Method::Rows { rows });
        let cut = Cut::new(problem, method)?;
        let mut tasks = Tasks::new();
        cut.fill(0..cut.len(), &mut tasks)?;
        let mut kernel = Kernel::new(backend, n, method)?;
        let (mut total, mut largest, mut sum) = (0, Duration::ZERO, Duration::ZERO);
        for task in 0..tasks.len() {
            let mut least = Duration::MAX;
            let mut count = 0;
            for _ in 0..3 {
                let begun = Instant::now();
                count = kernel.count(tasks.slice(task..task + 1))?;
                least = least.min(begun.elapsed());
            }
            total += u128::from(count);
            (largest, sum) = (largest.max(least), sum + least);
        }
        let largest = largest.as_secs_f64() / sum.as_secs_f64();
        Ok(Tasked { rows, tasks: cut.len(), largest, total, seconds: vec![Vec::new(); numbers] })
    }

    /// Seconds from the submission to the total.
    async fn measure(&self, coordinator: &Coordinator, n: u32) -> Result<f64> {
        /// How often the job is asked for: often enough for tenths of a second, and not so often that it costs.
        const LOOK: Duration = Duration::from_millis(10);
        let mut jobs = ClientServiceClient::new(coordinator.endpoint.connect().await?);
        let rows = v1::RowsRequest { rows: Some(self.rows) };
        let submit = v1::Submit {
            problem: Some(Problem::Total { n }.into()),
            method: Some(v1::submit::Method::Rows(rows)),
            ..Default::default()
        };
        let begun = Instant::now();
        let farm::JobId(job) = coordinator.submit(submit).await?.id;
        loop {
            let view: farm::JobView =
                jobs.get(v1::JobRequest { job }).await?.into_inner().try_into()?;
            if view.state == JobState::Done {
                ensure!(
                    view.counted == self.total,
                    "the farm counted {}, not {}",
                    view.counted,
                    self.total
                );
                return Ok(begun.elapsed().as_secs_f64());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// For each number of processes its speed-up over one, and its seconds.
    fn speedups<'a>(&'a self, processes: &'a [u32]) -> impl Iterator<Item = (&'a u32, f64, f64)> {
        let one = median(&self.seconds[0]);
        processes.iter().zip(&self.seconds).map(move |(processes, seconds)| {
            let seconds = median(seconds);
            (processes, one / seconds, seconds)
        })
    }
}

/// Worker processes. Dropping the value ends them.
struct Workers(Vec<Child>);

impl Workers {
    /// Starts them, and waits until all are connected.
    async fn start(coordinator: &Coordinator, processes: u32, backend: Backend) -> Result<Workers> {
        const TRIES: u32 = 1_000;
        let mut workers = Workers(Vec::new());
        for number in 1..=processes {
            let mut command = this_program()?;
            command.args(["speedup-worker", "--coordinator", coordinator.endpoint.url()]);
            command.args(["--backend", backend.name(), "--name", &format!("w{number}")]);
            workers
                .0
                .push(command.stdin(Stdio::null()).spawn().context("a worker cannot be started")?);
        }
        let mut admin = ClientServiceClient::new(coordinator.endpoint.connect().await?);
        for _ in 0..TRIES {
            match admin.list_workers(v1::ListWorkersRequest {}).await {
                Ok(answer) if answer.get_ref().workers.len() == workers.0.len() => {
                    return Ok(workers);
                }
                // It may still be reading its ledger.
                Err(status) if status.code() != tonic::Code::Unavailable => {
                    return Err(status.into());
                }
                Ok(_) | Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
        anyhow::bail!("the workers did not connect")
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in &mut self.0 {
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }
}

/// Works until the process is killed.
pub(crate) async fn serve(args: SpeedupWorkerArgs) -> Result<()> {
    let one = std::num::NonZero::<usize>::MIN;
    let (executor, parts) = start_executor(one, args.backend, Devices::default(), u64::MAX);
    let config = AgentConfig {
        hello: Hello {
            worker: args.name.clone(),
            machine: args.name,
            build: executor::BUILD.into(),
            backend: args.backend.to_string(),
            instance: rand::random(),
            threads: 1,
            memory: u64::MAX,
            memory_kills: 0,
            credit: 262_144,
            holding: Vec::new(),
        },
        report_ms: 1_000,
        resend_ms: 30_000,
    };
    let endpoint = Endpoint::new(&args.coordinator, None);
    let mut connector = GrpcConnector { endpoint };
    let (_stop, stopping) = watch::channel(false);
    Ok(work(config, LeaveRules::default(), executor, parts, &mut connector, stopping).await?)
}
