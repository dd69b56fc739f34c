//! `queens scrub`: reads whole ledgers and says what is damaged.

use std::path::PathBuf;

use clap::Args;
use ledger::{ScrubReport, scrub};
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

/// # Errors
///
/// [`Failure::LedgerDamaged`], if something is damaged, once all ledgers were read; and whatever keeps a ledger from
/// being read.
pub(super) fn run(args: &ScrubArgs) -> Result<(), Failure> {
    let mut failure = None;
    for path in &args.ledgers {
        let report = scrub(path).map_err(|fault| fault.at(Some(path)))?;
        let ScrubReport { jobs, ranges, audits, disputes, damages, damaged } = &report;
        let file = path.display().to_string();
        if args.json {
            output::print(json!({
                "file": file, "jobs": jobs, "ranges": ranges, "audits": audits, "disputes": disputes,
                "damaged": damaged, "damages": damages,
            }))?;
        } else {
            output::print(format_args!(
                "{file}: {jobs} job{}, {ranges} accepted range{}, {audits} second counts, {disputes} counts in disputes: {}",
                plural(*jobs, "s"),
                plural(*ranges, "s"),
                if *damaged == 0 { "sound".into() } else { format!("{damaged} are damaged") }
            ))?;
            damages
                .iter()
                .try_for_each(|damage| output::print(format_args!("{file}: {damage}")))?;
        }
        if *damaged > 0 {
            let reason = format!(
                "{damaged} of its rows or jobs are damaged; the list is on standard output"
            );
            failure.get_or_insert(Failure::damaged_ledger(path, &reason));
        }
    }
    failure.map_or(Ok(()), Err)
}
