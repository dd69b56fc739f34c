//! `queens backup`: copies a ledger, from its file or from a running farm, or checks whether one is
//! sound.

use std::io::Write;
use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use clap::Args;
use ledger::{Contents, Draft, LedgerFault};
use serde_json::{Value, json};

use super::client::{Client, ClientArgs};
use super::show::plural;
use crate::failure::Failure;
use crate::{output, stderr};

#[derive(Debug, Args)]
pub(super) struct BackupArgs {
    /// The file to write, which must not be there yet
    #[arg(required_unless_present = "check")]
    to: Option<PathBuf>,
    /// Copy this ledger, which may be in use, instead of asking a coordinator
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Copy nothing: read all of this ledger, which may be in use, and say whether it is sound
    #[arg(long, value_name = "FILE", conflicts_with_all = ["to", "from"])]
    pub(super) check: Option<PathBuf>,
    #[command(flatten)]
    client: ClientArgs,
}

pub(super) async fn backup(args: BackupArgs) -> Result<(), Failure> {
    if let Some(file) = &args.check {
        return check(file, args.client.json);
    }
    let to = args.to.as_ref().expect("it is required without --check");
    let cannot_write = |fault: LedgerFault| match fault {
        LedgerFault::File(error) => Failure::output(to.display(), error),
        other => other.at(Some(to)).into(),
    };
    let draft = Draft::begin(to).map_err(cannot_write)?;
    match &args.from {
        Some(from) => draft.copy_from(from).map_err(|fault| fault.between(Some(from), Some(to)))?,
        None => receive(&args, &draft).await?,
    }
    let (contents, bytes) = draft.finish().map_err(cannot_write)?;
    if args.client.json {
        return output::print(object(to, &contents, bytes));
    }
    stderr::print(format_args!("{}\n", sentence(&contents, bytes)));
    output::print(to.display())
}

/// Reads a whole ledger, and fails at the first damage.
fn check(file: &Path, json: bool) -> Result<(), Failure> {
    let fault = |fault: LedgerFault| fault.at(Some(file));
    let contents = ledger::check_file(file).map_err(fault)?;
    let bytes = ledger::file_bytes(file).map_err(|error| fault(error.into()))?;
    if json {
        return output::print(object(file, &contents, bytes));
    }
    let name = farm::visible(&file.display().to_string());
    output::print(format_args!("{name}: {}", sentence(&contents, bytes)))
}

fn object(file: &Path, contents: &Contents, bytes: u64) -> Value {
    let Contents { jobs, ranges, audits, disputes } = contents;
    json!({
        "file": file.display().to_string(), "bytes": bytes,
        "jobs": jobs, "ranges": ranges, "audits": audits, "disputes": disputes,
    })
}

/// The sentence about a ledger that was read and is sound.
fn sentence(contents: &Contents, bytes: u64) -> String {
    let Contents { jobs, ranges, audits, disputes } = *contents;
    format!(
        "{jobs} job{}, {ranges} accepted range{}, {audits} second count{}, {disputes} count{} in \
         disputes, {}; all of it was read and is sound",
        plural(jobs, "s"),
        plural(ranges, "s"),
        plural(audits, "s"),
        plural(disputes, "s"),
        ByteSize(bytes).display().iec()
    )
}

/// Fills the draft with what the coordinator sends.
async fn receive(args: &BackupArgs, draft: &Draft) -> Result<(), Failure> {
    let mut client = Client::connect(&args.client.coordinator).await?;
    let cannot_write = |error: std::io::Error| Failure::output(draft.path().display(), error);
    let mut file = draft.open().map_err(cannot_write)?;
    client.receive("/ledger", |data| file.write_all(data).map_err(cannot_write)).await
}
