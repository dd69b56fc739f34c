//! What is counted again when the coordinator is killed: a board is counted by two workers, and the coordinator killed and
//! started again at intervals.
//!
//! Workers go on with what they hold, keep what they have finished, and take their leases up again. So only what a new
//! coordinator has lent to somebody else before its worker was back is counted twice.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use board::MethodChoice;
use clap::Args;
use farm::{IntervalSet, JobState, JobView, Problem, Report};
use wire::v1;
use wire::v1::client_service_client::ClientServiceClient;

use crate::args::CountingArgs;
use crate::fleet::Worker;
use crate::print;
use crate::process::Coordinator;

/// Workers, each with one thread.
const WORKERS: usize = 2;
/// Between two looks at the job.
const LOOK: Duration = Duration::from_millis(200);

#[derive(Debug, Args)]
pub(crate) struct RestartsArgs {
    /// Size of the board. It should take several intervals
    #[arg(long, default_value_t = 21, value_parser = clap::value_parser!(u32).range(8..=26))]
    n: u32,
    /// Seconds between two kills
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    every: u64,
    /// The folder of the temporary ledger
    #[arg(long, default_value = ".", value_name = "FOLDER")]
    folder: PathBuf,
    #[command(flatten)]
    counting: CountingArgs,
}

/// What was counted, and how much of it more than once.
#[derive(Debug, Default)]
struct Counted {
    ordinals: IntervalSet,
    all_us: f64,
    again_us: f64,
}

impl Counted {
    fn add(&mut self, part: &Report) {
        let Report { range, busy_us, .. } = *part;
        let known: u64 = self.ordinals.within(range).map(farm::Range::len).sum();
        self.all_us += busy_us as f64;
        self.again_us += busy_us as f64 * known as f64 / range.len() as f64;
        self.ordinals.insert(range);
    }
}

pub(crate) async fn run(args: RestartsArgs) -> Result<()> {
    let mut coordinator = Coordinator::start(&args.folder, false).await?;
    let job = submit(&coordinator, args.n).await?;
    let counted = Arc::new(Mutex::new(Counted::default()));
    let workers: Vec<Worker> = (0..WORKERS)
        .map(|place| {
            let counted = counted.clone();
            let see = move |part: &Report| counted.lock().expect("nobody panics").add(part);
            Worker::start(place, WORKERS, &coordinator, &args.counting, see)
        })
        .collect();
    let (mut kills, begun) = (0, Instant::now());
    let mut next = begun + Duration::from_secs(args.every);
    let total = loop {
        tokio::time::sleep(LOOK).await;
        let view = look(&coordinator, job).await?;
        if view.state == JobState::Done {
            break view.counted;
        }
        if Instant::now() >= next {
            coordinator.kill_and_start().await?;
            (kills, next) = (kills + 1, Instant::now() + Duration::from_secs(args.every));
        }
    };
    let seconds = begun.elapsed().as_secs_f64();
    for worker in workers {
        worker.leave().await?;
    }
    ensure!(kills > 0, "N = {} was over before the first kill: give a larger board", args.n);
    let counted = counted.lock().expect("nobody panics");
    let lost_ms = counted.again_us / 1e3 / f64::from(kills);
    print(format!(
        "N = {} is {total} after {seconds:.1} s by {WORKERS} workers, with the coordinator killed {kills} times, every {} s",
        args.n, args.every
    ))?;
    print(format!(
        "{lost_ms:.0} ms of one thread's time were counted again for each kill: {:.2}% of all",
        100.0 * counted.again_us / counted.all_us
    ))
}

async fn submit(coordinator: &Coordinator, n: u32) -> Result<u64> {
    let problem = Problem::Total { n };
    let submit = v1::Submit {
        problem: Some(problem.into()),
        method: Some(MethodChoice::suggested(problem).into()),
        ..Default::default()
    };
    Ok(coordinator.submit(submit).await?.id.0)
}

async fn look(coordinator: &Coordinator, job: u64) -> Result<JobView> {
    let mut jobs = ClientServiceClient::new(coordinator.endpoint.connect().await?);
    Ok(JobView::try_from(jobs.get(v1::JobRequest { job }).await?.into_inner())?)
}
