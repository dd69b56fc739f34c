//! `queens export`: evidence of a count, for others to check.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use evidence::{Exported, NewFile};
use farm::{JobId, JobState, Known, Refusal};
use ledger::{Evidence, JobEvidence, LedgerFault, unix_ms};
use serde_json::json;
use tempfile::TempDir;

use super::client::{Client, ClientArgs};
use crate::failure::{Failure, usage};
use crate::output;

#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    /// The job's number
    job: u64,
    /// The file to write, or `-` for standard output; it must not exist yet. It is compressed by
    /// gzip if its name ends in .gz
    bundle: PathBuf,
    /// The ledger that has the job; its coordinator may go on meanwhile [default: the coordinator
    /// is asked]
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    #[command(flatten)]
    client: ClientArgs,
}

pub(super) async fn export(mut args: ExportArgs) -> Result<(), Failure> {
    // The text is complete, and checked if it was downloaded, before any of it is printed.
    let folder = match args.bundle.as_os_str() == "-" {
        true if args.client.json => {
            return usage("--json and `-` both print: leave out one of them");
        }
        true => Some(
            TempDir::with_prefix("queens-export-")
                .map_err(|error| Failure::output("the folder of temporary files", error))?,
        ),
        false => None,
    };
    if let Some(folder) = &folder {
        args.bundle = folder.path().join("bundle");
    }
    let Exported { header, name } = match &args.ledger {
        Some(ledger) => from_ledger(&args, ledger)?,
        None => download(&args).await?,
    };
    if folder.is_some() {
        let copied = File::open(&args.bundle)
            .and_then(|mut bundle| io::copy(&mut bundle, &mut io::stdout().lock()));
        return output::written(copied.and_then(|_| io::stdout().flush()));
    }
    let (file, lines) = (args.bundle.display().to_string(), header.lines);
    if args.client.json {
        return output::print(json!({
            "bundle": file,
            "name": name.to_string(),
            "state": header.state,
            "ranges": lines.ranges,
            "audits": lines.audits,
            "disputes": lines.disputes,
        }));
    }
    output::print(format!(
        "{}: {} ranges, {} second counts, {} disputed counts\nname      {name}",
        farm::visible(&file),
        lines.ranges,
        lines.audits,
        lines.disputes
    ))
}

fn from_ledger(args: &ExportArgs, ledger: &Path) -> Result<Exported, Failure> {
    let job = JobId(args.job);
    let at_ledger = |fault: LedgerFault| fault.at(Some(ledger));
    let evidence = match Evidence::open(ledger) {
        Err(LedgerFault::Content(damage)) => return from_damaged(args, ledger, damage),
        opened => opened.map_err(at_ledger)?,
    };
    let found = evidence.jobs().iter().find(|found| found.stored.id == job);
    let found = found.ok_or(Refusal::NoSuchJob(job))?;
    // This version may know more facts than the one that has ended the job.
    if found.stored.state == JobState::Done
        && let Some(reason) =
            Known::of(&found.stored.spec.plan, found.stored.spec.shard).contradiction(found.counted)
    {
        return Err(Failure::total_suspended(found.stored.spec.plan, &reason, Some(ledger)));
    }
    let exported =
        evidence::export(&found.stored, unix_ms(), &args.bundle, |see| evidence.for_each(job, see));
    exported.map_err(|fault| not_exported(args, ledger, fault))
}

/// Saves a job whose own records are whole from a ledger that is damaged elsewhere.
fn from_damaged(args: &ExportArgs, ledger: &Path, damage: String) -> Result<Exported, Failure> {
    let fault = |fault: LedgerFault| not_exported(args, ledger, fault);
    let Ok(Some(evidence)) = JobEvidence::open(ledger, JobId(args.job)) else {
        return Err(fault(LedgerFault::Content(damage)));
    };
    let exported =
        evidence::export(evidence.job(), unix_ms(), &args.bundle, |see| evidence.for_each(see));
    let exported = exported.map_err(fault)?;
    tracing::warn!(
        %damage,
        "the ledger is damaged, but not where it has this job: check the bundle with `queens verify`"
    );
    Ok(exported)
}

fn not_exported(args: &ExportArgs, ledger: &Path, fault: LedgerFault) -> Failure {
    match fault {
        // The ledger is open already, so the file that fails is the bundle.
        LedgerFault::File(error) => Failure::output(args.bundle.display(), error),
        fault => fault.at(Some(ledger)).into(),
    }
}

/// Fetches the bundle of a job from a coordinator, and checks that it does not contradict itself.
async fn download(args: &ExportArgs) -> Result<Exported, Failure> {
    let bundle = &args.bundle;
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => Failure::Incompatible(format!(
            "what the coordinator sent is no compressed text ({error}); ask for it again"
        )),
        _ => Failure::output(bundle.display(), error),
    };
    let mut client = Client::connect(&args.client.coordinator).await?;
    let mut file = NewFile::begin_from_gzip(bundle).map_err(failed)?;
    let path = format!("/jobs/{}/bundle", args.job);
    client.receive(&path, |data| file.write_all(data).map_err(failed)).await?;
    let file = file.complete().map_err(failed)?;
    let checked = file.check();
    let checked = checked.map_err(|error| Failure::bundle(bundle, format_args!("{error:#}")))?;
    file.keep().map_err(failed)?;
    Ok(Exported { header: checked.header, name: checked.name })
}
