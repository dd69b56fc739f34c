//! `queens backup`: copies of a ledger, from its file or from a running farm.

use std::io::Write;
use std::path::PathBuf;

use bytesize::ByteSize;
use clap::Args;
use ledger::{Draft, LedgerFault, ScrubReport};
use serde_json::json;
use wire::v1;

use super::client::{Client, ClientArgs};
use super::show::plural;
use crate::failure::Failure;
use crate::{output, stderr};

#[derive(Debug, Args)]
pub(super) struct BackupArgs {
    /// The file to write, which must not be there yet
    to: PathBuf,
    /// Copy this ledger, which may be in use, instead of asking a coordinator
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    #[command(flatten)]
    client: ClientArgs,
}

pub(super) async fn backup(args: BackupArgs) -> Result<(), Failure> {
    let to = &args.to;
    let cannot_write = |fault: LedgerFault| match fault {
        LedgerFault::File(error) => Failure::output(to.display(), error),
        other => other.at(Some(to)).into(),
    };
    let draft = Draft::begin(to).map_err(cannot_write)?;
    match &args.from {
        Some(from) => draft.copy_from(from).map_err(|fault| fault.between(Some(from), Some(to)))?,
        None => receive(&args, &draft).await?,
    }
    let (ScrubReport { jobs, ranges, .. }, bytes) = draft.finish().map_err(cannot_write)?;
    if args.client.json {
        let file = to.display().to_string();
        return output::print(
            json!({ "file": file, "bytes": bytes, "jobs": jobs, "ranges": ranges }),
        );
    }
    let size = ByteSize(bytes).display().iec();
    stderr::print(format_args!(
        "{jobs} job{} with {ranges} range{}, {size}; all of it was read again and is sound\n",
        plural(jobs, "s"),
        plural(ranges, "s")
    ));
    output::print(to.display())
}

/// Fills the draft with what the coordinator sends.
async fn receive(args: &BackupArgs, draft: &Draft) -> Result<(), Failure> {
    let mut client = Client::connect(&args.client.coordinator).await?;
    let pieces = client.service.backup(v1::BackupRequest {}).await;
    let cannot_write = |error: std::io::Error| Failure::output(draft.path().display(), error);
    let mut file = draft.open().map_err(cannot_write)?;
    client.receive(pieces, |data| file.write_all(data).map_err(cannot_write)).await
}
