//! Measures what clients and readers cost: requests, streams of events, a whole command, the page.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use service::api::Submit;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::process::{Coordinator, queens};
use crate::print;

/// Jobs in the list that is asked for, and those of a farm that is full.
const LISTED: usize = 100;
const FULL: usize = 1_000;
/// Streams of events that are held open.
const STREAMS: usize = 1_000;

#[derive(Debug, Args)]
pub(crate) struct ApiBenchArgs {
    /// How long requests are sent and the page is looked at, seconds each
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// How often the whole command is measured; the median is shown
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    commands: u32,
    /// The folder of the temporary ledgers, on the disk that is measured
    #[arg(long, default_value = ".", value_name = "FOLDER")]
    folder: PathBuf,
}

pub(crate) async fn run(args: ApiBenchArgs) -> Result<()> {
    let farm = Coordinator::start(&args.folder, false).await?;
    submit(&farm, LISTED).await?;
    requests(&farm, args.seconds).await?;
    streams(&farm).await?;
    submit(&farm, FULL - LISTED).await?;
    let mut worker = queens()?
        .args(["worker", "--threads", "1", "--log", "error"])
        .arg("--coordinator")
        .arg(farm.address())
        .stdin(Stdio::null())
        .spawn()?;
    // The first job is being counted, and the others wait.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let page = readers(&farm, args.seconds).await;
    worker.kill()?;
    worker.wait()?;
    page?;
    commands(&args).await
}

/// Adds jobs that take longer than the measurement.
async fn submit(farm: &Coordinator, jobs: usize) -> Result<()> {
    let job = Submit { n: 22, method: Some("rows".into()), rows: Some(4), ..Submit::default() };
    for _ in 0..jobs {
        farm.submit(&job).await?;
    }
    Ok(())
}

/// Asks for a list of jobs over and over, by four connections that stay open.
async fn requests(farm: &Coordinator, seconds: u64) -> Result<()> {
    let (begun, busy) = (Instant::now(), farm.processor_seconds());
    let end = begun + Duration::from_secs(seconds);
    let ask = |address: String| async move {
        let mut connection = Connection::open(&address).await?;
        let mut answers = 0_u64;
        while Instant::now() < end {
            connection.get("/api/v1/jobs", "").await?;
            answers += 1;
        }
        anyhow::Ok(answers)
    };
    let asking = [(); 4].map(|()| tokio::spawn(ask(farm.address().into())));
    let mut answers = 0;
    for asking in asking {
        answers += asking.await??;
    }
    let rate = answers as f64 / begun.elapsed().as_secs_f64();
    let busy = farm.processor_seconds().zip(busy).map(|(now, before)| now - before);
    let of_one = busy.map_or("-".into(), |busy| format!("{:.0}", answers as f64 / busy));
    print(format!("requests/s, {LISTED} jobs in each answer        {rate:>10.0}"))?;
    print(format!("the same for a second of the coordinator   {of_one:>10}"))
}

/// Holds streams of events open that nothing is sent on.
async fn streams(farm: &Coordinator) -> Result<()> {
    let before = farm.memory_mib();
    let mut open = Vec::new();
    for stream in 0..STREAMS {
        let mut connection = Connection::open(farm.address()).await?;
        connection.ask(&format!("/api/v1/jobs/{}/events", stream % LISTED + 1), "").await?;
        connection.hear(b"\n\n").await?;
        open.push(connection);
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let more = farm.memory_mib().zip(before).map(|(now, before)| format!("{:.1}", now - before));
    let whole = farm.memory_mib().map_or("-".into(), |mib| format!("{mib:.1}"));
    print(format!(
        "{STREAMS} idle streams of events, MiB            {:>10}",
        more.unwrap_or("-".into())
    ))?;
    print(format!("the coordinator with them, MiB             {whole:>10}"))
}

/// Sizes of what readers get of a farm with many jobs, of which one is counted.
async fn readers(farm: &Coordinator, seconds: u64) -> Result<()> {
    let mut connection = Connection::open(farm.address()).await?;
    for path in ["/", "/jobs/1", "/metrics", "/api/v1/jobs?limit=1000"] {
        let plain = connection.get(path, "").await?;
        let gzip = connection.get(path, "Accept-Encoding: gzip\r\n").await?;
        print(format!("{path:<24} {plain:>9} bytes, {gzip:>7} by gzip"))?;
    }
    let mut viewer = Connection::open(farm.address()).await?;
    viewer.ask("/live", "").await?;
    // What is sent first is the whole page.
    let first = viewer.count(Duration::from_secs(2)).await?;
    let more = viewer.count(Duration::from_secs(seconds)).await?;
    let rate = more as f64 / seconds as f64 / 1e3;
    print(format!("a viewer of the live page: {first} bytes at first, then {rate:.1} kB/s"))
}

/// A small job from the command to its total, with a worker that waits for it.
async fn commands(args: &ApiBenchArgs) -> Result<()> {
    let farm = Coordinator::start(&args.folder, false).await?;
    let mut worker = queens()?
        .args(["worker", "--log", "error", "--coordinator"])
        .arg(farm.address())
        .stdin(Stdio::null())
        .spawn()?;
    let mut took = Vec::new();
    for turn in 0..=args.commands {
        let begun = Instant::now();
        let done = queens()?
            .args(["submit", "12", "--wait", "--quiet", "--coordinator"])
            .arg(farm.address())
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()?;
        anyhow::ensure!(done.stdout == b"14200\n", "the total is {:?}", done.stdout);
        // The worker joins while the first one waits.
        took.extend((turn > 0).then(|| begun.elapsed()));
    }
    worker.kill()?;
    worker.wait()?;
    took.sort_unstable();
    let ms = took[took.len() / 2].as_secs_f64() * 1e3;
    print(format!("queens submit 12 --wait, median of {}, ms    {ms:>10.1}", took.len()))
}

/// A connection by HTTP/1.1 that stays open.
struct Connection(TcpStream, Vec<u8>);

impl Connection {
    async fn open(address: &str) -> Result<Connection> {
        Ok(Connection(TcpStream::connect(address).await?, Vec::new()))
    }

    async fn ask(&mut self, path: &str, headers: &str) -> Result<()> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        Ok(self.0.write_all(request.as_bytes()).await?)
    }

    /// Asks, and returns the length of the answer's body as it is transferred.
    async fn get(&mut self, path: &str, headers: &str) -> Result<usize> {
        self.ask(path, headers).await?;
        let head = self.hear(b"\r\n\r\n").await?;
        let head = String::from_utf8(head)?.to_lowercase();
        anyhow::ensure!(head.starts_with("http/1.1 200"), "{path}: {head}");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if let Some(length) = length {
            let length = length.parse()?;
            while self.1.len() < length {
                self.more().await?;
            }
            self.1.drain(..length);
            return Ok(length);
        }
        let mut length = 0;
        loop {
            let chunk = self.hear(b"\r\n").await?;
            let chunk = usize::from_str_radix(String::from_utf8(chunk)?.trim(), 16)?;
            while self.1.len() < chunk + 2 {
                self.more().await?;
            }
            self.1.drain(..chunk + 2);
            length += chunk;
            if chunk == 0 {
                return Ok(length);
            }
        }
    }

    /// Takes what comes up to these bytes.
    async fn hear(&mut self, end: &[u8]) -> Result<Vec<u8>> {
        loop {
            if let Some(at) = self.1.windows(end.len()).position(|bytes| bytes == end) {
                return Ok(self.1.drain(..at + end.len()).collect());
            }
            self.more().await?;
        }
    }

    async fn more(&mut self) -> Result<()> {
        let read = self.0.read_buf(&mut self.1).await?;
        anyhow::ensure!(read > 0, "the connection ended");
        Ok(())
    }

    /// How many bytes come within a time.
    async fn count(&mut self, time: Duration) -> Result<usize> {
        let end = Instant::now() + time;
        let before = self.1.len();
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            match timeout(left, self.more()).await {
                Ok(read) => read.context("the page is not live any more")?,
                Err(_) => break,
            }
        }
        Ok(self.1.len() - before)
    }
}
