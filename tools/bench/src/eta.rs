//! Measures how right the time left is that a count is said to take, from its beginning to its end.
//!
//! A count is watched as `queens watch` does it, and what it said is compared with what became of it. Where
//! workers come and go, the truth is what the rest would have taken those who were there at the time: the
//! thread time of the rest, divided by the number of their threads.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Args;
use farm::{JobView, Problem, Slice};
use service::local::LocalCount;
use wire::v1;
use wire::v1::client_service_client::ClientServiceClient;

use crate::args::CountingArgs;
use crate::fleet::Worker;
use crate::print;
use crate::process::Coordinator;

#[derive(Debug, Args)]
pub(crate) struct EtaArgs {
    /// Board sizes
    #[arg(long, value_delimiter = ',', default_value = "17,18,19,20,21",
          value_parser = clap::value_parser!(u32).range(4..=32))]
    n: Vec<u32>,
    /// Workers that come and go: each has one thread, one stays, and the others are there for a part of the time
    #[arg(long)]
    fleet: bool,
    /// Print everything that was said, too: seconds since the beginning, percent, seconds left as said and in
    /// truth, threads
    #[arg(long)]
    trace: bool,
    /// The folder of the temporary ledgers, with --fleet
    #[arg(long, default_value = ".", value_name = "FOLDER")]
    folder: PathBuf,
    #[command(flatten)]
    counting: CountingArgs,
}

/// What was said at one time.
struct Said {
    /// Seconds since the beginning.
    at: f64,
    percent: f64,
    /// Seconds left, if they were told.
    left: Option<f64>,
    /// Threads that counted.
    threads: u32,
}

impl Said {
    fn of(job: &JobView, begun: Instant) -> Said {
        Said {
            at: begun.elapsed().as_secs_f64(),
            percent: job.percent(),
            left: job.seconds_left(),
            threads: job.threads,
        }
    }
}

/// How often a count is looked at.
const INTERVAL: Duration = Duration::from_millis(100);
/// When the later of the two parts of a count begins, of which the table tells.
const LATER: f64 = 60.0;

pub(crate) async fn run(args: EtaArgs) -> Result<()> {
    print(
        "  N  workers     seconds  first said at      said until 60 s: worst, median      later: worst, median",
    )?;
    for &n in &args.n {
        let said = if args.fleet { fleet(n, &args).await? } else { alone(n, &args).await? };
        print(row(n, if args.fleet { "come and go" } else { "alone" }, &said))?;
        if args.trace {
            for (Said { at, percent, left, threads }, truth) in said.iter().zip(truths(&said)) {
                let left = left.map_or_else(|| "-".into(), |left| format!("{left:.2}"));
                print(format!("{at:9.2} {percent:7.2}% {left:>9} {truth:9.2} {threads:3}"))?;
            }
        }
    }
    Ok(())
}

/// One line of the table.
fn row(n: u32, workers: &str, said: &[Said]) -> String {
    let end = said.last().map_or(0.0, |last| last.at);
    let first = said.iter().find(|said| said.left.is_some());
    let first = first.map_or_else(
        || "never".into(),
        |first| format!("{:.1} s, {:.1}%", first.at, first.percent),
    );
    let errors = |later: bool| {
        let of_part = said.iter().zip(truths(said)).filter(|(said, _)| (said.at > LATER) == later);
        let errors = of_part.filter_map(|(said, truth)| {
            // A second is all that can be read.
            Some((said.left? - truth).abs() / truth.max(1.0))
        });
        let mut errors: Vec<f64> = errors.collect();
        errors.sort_by(f64::total_cmp);
        match errors.last() {
            None => "-".into(),
            Some(worst) => {
                format!("{:.0}%, {:.0}%", 100.0 * worst, 100.0 * errors[errors.len() / 2])
            }
        }
    };
    format!(
        "{n:>3}  {workers:<11} {end:>7.1}  {first:<17} {:>30} {:>24}",
        errors(false),
        errors(true)
    )
}

/// What the rest took those who were there, for each time.
fn truths(said: &[Said]) -> Vec<f64> {
    let mut thread_seconds = 0.0;
    let mut truths = vec![0.0; said.len()];
    for (place, pair) in said.windows(2).enumerate().rev() {
        thread_seconds += (pair[1].at - pair[0].at) * f64::from(pair[0].threads.max(1));
        truths[place] = thread_seconds / f64::from(pair[0].threads.max(1));
    }
    truths
}

async fn alone(n: u32, args: &EtaArgs) -> Result<Vec<Said>> {
    let count = LocalCount {
        problem: Problem::Total { n },
        method: None,
        threads: args.counting.threads(),
        backend: args.counting.backend(),
        devices: executor::Devices::default(),
        memory: args.counting.memory(),
        build: executor::BUILD.into(),
        slice: Slice::ALL,
        ledger: None,
    };
    let (begun, mut said) = (Instant::now(), Vec::new());
    let see = |job: &JobView| said.push(Said::of(job, begun));
    let end = count.run(INTERVAL, see, tokio_stream::pending()).await?;
    said.push(Said::of(&end.job, begun));
    Ok(said)
}

/// When the workers are there, as shares of the job that are done.
const STAYS: [(f64, f64); 3] = [(0.0, 100.0), (25.0, 60.0), (50.0, 100.0)];

async fn fleet(n: u32, args: &EtaArgs) -> Result<Vec<Said>> {
    let coordinator = Coordinator::start(&args.folder, false).await?;
    let mut jobs = ClientServiceClient::new(coordinator.endpoint.connect().await?);
    let method = board::MethodChoice::suggested(Problem::Total { n });
    let submit = v1::Submit {
        problem: Some(Problem::Total { n }.into()),
        method: Some(method.into()),
        ..Default::default()
    };
    let job = coordinator.submit(submit).await?.id;
    let mut workers: Vec<Option<Worker>> = STAYS.iter().map(|_| None).collect();
    let (begun, mut said) = (Instant::now(), Vec::new());
    loop {
        let view = JobView::try_from(jobs.get(v1::JobRequest { job: job.0 }).await?.into_inner())?;
        said.push(Said::of(&view, begun));
        for (place, (worker, (from, until))) in workers.iter_mut().zip(STAYS).enumerate() {
            let is_wanted = from <= view.percent() && view.percent() < until;
            match worker {
                None if is_wanted => {
                    let counting = &args.counting;
                    *worker =
                        Some(Worker::start(place, STAYS.len(), &coordinator, counting, |_| ()));
                }
                Some(there) if !is_wanted => there.ask_to_leave(),
                _ => {}
            }
        }
        if view.state.is_at_rest() {
            break;
        }
        tokio::time::sleep(INTERVAL).await;
    }
    for worker in workers.into_iter().flatten() {
        worker.leave().await?;
    }
    if said.len() < 2 {
        bail!("N = {n} was over at once: give a larger board");
    }
    Ok(said)
}
