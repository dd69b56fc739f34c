//! `queens scrub`: whether ledgers are sound.

use std::path::PathBuf;

use clap::Args;
use ledger::{LedgerFault, ScrubReport};
use serde_json::json;

use super::show::plural;
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(super) struct ScrubArgs {
    /// The ledgers to read; a coordinator may go on with them meanwhile
    #[arg(required = true)]
    ledgers: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Reads all ledgers, also after one that is damaged.
pub(super) fn scrub(args: &ScrubArgs) -> Result<(), Failure> {
    let mut failure = None;
    for path in &args.ledgers {
        let file = path.display().to_string();
        let (object, line) = match ledger::scrub(path) {
            Ok(ScrubReport { jobs, ranges, audits, disputes }) => (
                json!({
                    "file": file, "jobs": jobs, "ranges": ranges, "audits": audits, "disputes": disputes,
                    "damage": null,
                }),
                format!(
                    "{file}: {jobs} job{}, {ranges} accepted range{}, {audits} second counts, {disputes} counts in disputes: \
                     sound",
                    plural(jobs, "s"),
                    plural(ranges, "s"),
                ),
            ),
            Err(LedgerFault::Content(damage)) => {
                let said = (json!({ "file": file, "damage": damage }), format!("{file}: {damage}"));
                failure.get_or_insert(LedgerFault::Content(damage).at(Some(path)).into());
                said
            }
            Err(fault) => return Err(fault.at(Some(path)).into()),
        };
        output::print(if args.json { object.to_string() } else { line })?;
    }
    failure.map_or(Ok(()), Err)
}
