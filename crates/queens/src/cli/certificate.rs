//! `queens certificate`: all subtotals of a board, of which anybody can have some counted again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use board::MethodChoice;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use evidence::certificate::{
    self, Certificate, CertificateEffort, CertificateError, Course, Opened, Opening, Scope,
};
use farm::Slice;
use serde_json::json;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tokio_stream::StreamExt;

use super::args::{CountingArgs, share};
use super::shard::{Shard, with_shard};
use super::signal::requests_to_stop;
use crate::failure::Failure;
use crate::output;
use crate::progress::{ProgressArgs, while_tasks_are_done};

const EXAMPLES: &str = "\
Examples:
  queens certificate write 18 q18.certificate
  queens certificate open q18.certificate --beacon 4f2c9a71
  queens certificate write 22 'q22-{shard}.certificate' --shard auto
  queens certificate join q22-*.certificate --into q22.certificate.zst";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CertificateArgs {
    #[command(subcommand)]
    command: CertificateCommand,
}

#[derive(Debug, Subcommand)]
enum CertificateCommand {
    /// Count all subtotals of a board, or of a part of its tasks, into a file
    Write(WriteArgs),
    /// Make one certificate of those of all parts
    Join(JoinArgs),
    /// Check a certificate, and count a random subtotal of each task again
    Open(OpenArgs),
}

#[derive(Debug, Args)]
struct WriteArgs {
    /// Board size, 4 to 29
    n: u32,
    /// The file to write; if it has the beginning of the same certificate, that is finished. `{shard}` in its name
    /// stands for the part, as 3-of-64
    certificate: PathBuf,
    /// Count only this part of the tasks, as in 3/64; `auto` and `auto/64` take the part from the task of an array that a
    /// scheduler has started, as for `queens count` [default: all tasks]
    #[arg(long, value_name = "INDEX/PARTS", env = "QUEENS_SHARD")]
    shard: Option<Shard>,
    /// Stop after this time, as in 90s or 1h30m; the same command goes on from there (exit code 75) [default: no limit]
    #[arg(long, value_name = "DURATION", env = "QUEENS_TIME_LIMIT", value_parser = humantime::parse_duration)]
    time_limit: Option<Duration>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    counting: CountingArgs,
    #[command(flatten)]
    progress: ProgressArgs,
}

#[derive(Debug, Args)]
struct JoinArgs {
    /// The certificates of all parts, in any order
    #[arg(required = true)]
    parts: Vec<PathBuf>,
    /// The file to write; it must not exist yet. It is compressed by zstd if its name ends in .zst
    #[arg(long, value_name = "FILE", env = "QUEENS_INTO")]
    into: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct OpenArgs {
    /// The certificate
    certificate: PathBuf,
    /// Decides what is drawn, together with the certificate's name: a public random value from after the day on which the
    /// name was published, so that nobody could choose it [default: a random value, which is printed]
    #[arg(long, value_name = "VALUE", value_parser = NonEmptyStringValueParser::new())]
    beacon: Option<String>,
    /// Open only this share of the tasks, drawn at random: 0.1 is a tenth
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = share)]
    share: u32,
    /// Open only this part of the tasks, as in 3/64, so that machines can share the work [default: all tasks]
    #[arg(long, value_name = "INDEX/PARTS", env = "QUEENS_SHARD")]
    shard: Option<Shard>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    counting: CountingArgs,
    #[command(flatten)]
    progress: ProgressArgs,
}

pub(super) async fn run(args: CertificateArgs) -> Result<(), Failure> {
    match args.command {
        CertificateCommand::Write(args) => write(args).await,
        CertificateCommand::Join(args) => {
            let joined = certificate::join(&args.parts, &args.into)?;
            print_written(&joined, &args.into, args.json)
        }
        CertificateCommand::Open(args) => open(args).await,
    }
}

async fn write(args: WriteArgs) -> Result<(), Failure> {
    let slice = slice(args.shard)?;
    let path = with_shard(&args.certificate, slice)?;
    if path.extension().is_some_and(|end| end == "zst") {
        return Err(Failure::Usage(format!(
            "a certificate that is being written is not compressed: leave out .zst, and let `queens certificate join FILE \
             --into {}` compress it when it is done",
            path.display()
        )));
    }
    let scope = Scope::new(args.n, slice.unwrap_or(Slice::ALL))?;
    let effort = effort(&args.counting)?;
    let what = format!("N={}", args.n);
    let file = path.clone();
    let written = until_stopped(args.time_limit, args.progress, what, move |course| {
        certificate::write(&file, &scope, effort, course)
    });
    match written.await {
        Ok(written) => print_written(&written, &path, args.json),
        Err(CertificateError::Stopped { tasks: 0, .. }) => Err(Failure::Stopped(format!(
            "stopped while {} was read, which keeps what is counted",
            path.display()
        ))),
        Err(CertificateError::Stopped { done, tasks }) => Err(Failure::Stopped(format!(
            "stopped after {done} of {tasks} tasks, and {} keeps them",
            path.display()
        ))),
        Err(error) => Err(error.into()),
    }
}

fn print_written(written: &Certificate, path: &Path, json: bool) -> Result<(), Failure> {
    let Certificate { scope, total, name } = written;
    let is_whole = scope.slice.is_all();
    let total = is_whole.then(|| total.to_string());
    if json {
        return output::print(json!({
            "certificate": path.display().to_string(),
            "n": scope.plan.problem.n(),
            "shard": scope.slice.to_string(),
            "tasks": scope.tasks(),
            "total": total,
            "name": name.to_string(),
        }));
    }
    let first = match total {
        Some(total) => format!("total     {total}"),
        None => format!(
            "part      {} of {}, {} tasks; `queens certificate join` joins the parts",
            scope.slice,
            scope.plan,
            scope.tasks()
        ),
    };
    output::print(format!("{first}\nname      {name}"))
}

async fn open(args: OpenArgs) -> Result<(), Failure> {
    let slice = slice(args.shard)?.unwrap_or(Slice::ALL);
    let value = args.beacon.unwrap_or_else(|| format!("{:032x}", rand::random::<u128>()));
    let effort = effort(&args.counting)?;
    let (file, drawn_by) = (args.certificate.clone(), value.clone());
    let opened = until_stopped(None, args.progress, "opened".into(), move |course| {
        let opening = Opening { value: &drawn_by, share_ppm: args.share, slice };
        certificate::open(&file, opening, effort, course)
    });
    let opened = match opened.await {
        Err(CertificateError::Stopped { tasks: 0, .. }) => {
            return Err(Failure::Interrupted(format!(
                "interrupted while {} was read",
                args.certificate.display()
            )));
        }
        Err(CertificateError::Stopped { done, tasks }) => {
            return Err(Failure::Interrupted(format!(
                "interrupted after {done} of {tasks} subtotals, all as stated; --shard INDEX/PARTS divides the work"
            )));
        }
        opened => opened?,
    };
    let Opened { certificate, subtotals, tasks } = &opened;
    let all = tasks * board::halves::Class::COUNT as u64;
    let odds = opened.fewer_wrong_than();
    let is_whole = certificate.scope.slice.is_all();
    let total = is_whole.then(|| certificate.total.to_string());
    if args.json {
        return output::print(json!({
            "certificate": args.certificate.display().to_string(),
            "n": certificate.scope.plan.problem.n(),
            "shard": certificate.scope.slice.to_string(),
            "total": total,
            "name": certificate.name.to_string(),
            "beacon": value,
            "of_shard": slice.to_string(),
            "tasks": tasks,
            "subtotals": all,
            "opened": subtotals,
            "fewer_wrong_than": odds,
            "backend": effort.backend.name(),
        }));
    }
    let first = match total {
        Some(total) => format!("total     {total}"),
        None => format!("part      {} of {}", certificate.scope.slice, certificate.scope.plan),
    };
    let of_part = if slice.is_all() { String::new() } else { format!(", part {slice}") };
    let odds = match odds {
        Some(odds) => format!("with 95% confidence fewer than {odds} of {all} subtotals are wrong"),
        None => "too few to say how many of the others are wrong".into(),
    };
    output::print(format!(
        "{first}\nname      {}\nopened    a subtotal each of {subtotals} of {tasks} tasks{of_part}, drawn by \"{}\" and \
         counted by {}: all as stated\ncertain   {odds}",
        certificate.name,
        output::visible(&value),
        effort.backend
    ))
}

fn slice(shard: Option<Shard>) -> Result<Option<Slice>, Failure> {
    shard.map(|shard| shard.slice(|name| std::env::var(name).ok())).transpose()
}

fn effort(counting: &CountingArgs) -> Result<CertificateEffort, Failure> {
    let backend = counting.tested_backend([MethodChoice::Halves])?;
    Ok(CertificateEffort { threads: counting.threads(), backend, memory: counting.memory() })
}

/// How long whoever was asked to stop may take to write down what is counted. A read that hangs is not waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Counts on threads, while progress is shown, until it is done, somebody asks to stop or the time is over.
async fn until_stopped<T: Send + 'static>(
    time_limit: Option<Duration>,
    progress: ProgressArgs,
    what: String,
    count: impl FnOnce(&Arc<Course>) -> Result<T, CertificateError> + Send + 'static,
) -> Result<T, CertificateError> {
    let mut stops = requests_to_stop(time_limit);
    let course = Arc::new(Course::default());
    let shown = course.clone();
    let counting = spawn_blocking(move || {
        while_tasks_are_done(progress, &what, || shown.so_far(), || count(&shown))
    });
    tokio::pin!(counting);
    let ended = tokio::select! {
        ended = &mut counting => ended,
        Some(()) = stops.next() => {
            course.stop();
            let (done, tasks) = course.so_far();
            let ended = timeout(PATIENCE, counting).await;
            ended.unwrap_or(Ok(Err(CertificateError::Stopped { done, tasks })))
        }
    };
    ended.expect("a panic ends the process")
}
