//! `queens export`: evidence of a count, for others to check.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use evidence::Exported;
use farm::{JobId, JobState, Refusal, RestoredJob};
use ledger::{Evidence, LedgerFault, unix_ms};
use serde_json::json;

use super::client::CoordinatorArgs;
use super::download::download;
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    /// The job's number
    job: u64,
    /// The file to write; it must not exist yet. It is compressed by gzip if its name ends in .gz
    bundle: PathBuf,
    /// The ledger that has the job; its coordinator may go on meanwhile [default: the coordinator
    /// is asked]
    #[arg(long, value_name = "FILE", env = "QUEENS_LEDGER")]
    ledger: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

pub(super) async fn export(args: ExportArgs) -> Result<(), Failure> {
    let Exported { header, name } = match &args.ledger {
        Some(ledger) => from_ledger(&args, ledger)?,
        None => {
            let bundle = download(args.job, &args.bundle, &args.coordinator).await?;
            Exported { header: bundle.header, name: bundle.name }
        }
    };
    if args.json {
        return output::print(json!({
            "bundle": args.bundle.display().to_string(),
            "name": name.to_string(),
            "state": header.state,
            "ranges": header.lines.ranges,
            "audits": header.lines.audits,
            "disputes": header.lines.disputes,
        }));
    }
    output::print(format!(
        "{}: {} ranges, {} second counts, {} disputed counts\nname      {name}",
        args.bundle.display(),
        header.lines.ranges,
        header.lines.audits,
        header.lines.disputes
    ))
}

fn from_ledger(args: &ExportArgs, ledger: &Path) -> Result<Exported, Failure> {
    let job = JobId(args.job);
    let at_ledger = |fault: LedgerFault| fault.at(Some(ledger));
    let evidence = Evidence::open(ledger).map_err(at_ledger)?;
    let known = evidence.jobs().iter().find(|known| known.id == job);
    let known = known.ok_or(Refusal::NoSuchJob(job))?;
    if known.state == JobState::Done {
        check_done(known, ledger)?;
    }
    let exported =
        evidence::export(known, unix_ms(), &args.bundle, |see| evidence.for_each(job, see));
    exported.map_err(|fault| match fault {
        ExportFault::Ledger(fault) => at_ledger(fault).into(),
        ExportFault::Output(error) => Failure::output(args.bundle.display(), error),
    })
}

/// Checks the total of a job that a ledger calls done: facts may have been added since.
fn check_done(job: &RestoredJob, ledger: &Path) -> Result<(), Failure> {
    let reason = known::of(&job.spec.plan, job.spec.slice).contradiction(job.total);
    reason.map_or(Ok(()), |reason| {
        Err(Failure::total_suspended(job.spec.plan, &reason, Some(ledger)))
    })
}

/// The reason why a bundle was not written.
enum ExportFault {
    Ledger(LedgerFault),
    Output(io::Error),
}

impl From<LedgerFault> for ExportFault {
    fn from(fault: LedgerFault) -> ExportFault {
        ExportFault::Ledger(fault)
    }
}

impl From<io::Error> for ExportFault {
    fn from(error: io::Error) -> ExportFault {
        ExportFault::Output(error)
    }
}
