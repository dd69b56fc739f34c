//! `queens backup`: copies of a ledger, from its file or from a running farm.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use anyhow::Context;
use bytesize::ByteSize;
use clap::Args;
use ledger::{Copy, Draft, LedgerFault, unix_ms};
use serde_json::json;
use wire::v1;

use super::client::{Client, CoordinatorArgs};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(super) struct BackupArgs {
    /// The file to write, which must not be there yet; or a folder, in which the copies are named by their time
    to: PathBuf,
    /// Copy this ledger, which may be in use, instead of asking a coordinator
    #[arg(long, value_name = "FILE", env = "QUEENS_FROM")]
    from: Option<PathBuf>,
    /// Go on, and make a copy again so often, such as `6h`; needs a folder
    #[arg(long, value_name = "DURATION", env = "QUEENS_EVERY", value_parser = humantime::parse_duration)]
    every: Option<Duration>,
    /// How many copies to keep in the folder: older ones that this command has made are removed
    #[arg(long, value_name = "COPIES", env = "QUEENS_KEEP", value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

/// How the names of copies in a folder begin and end. In between is the time, so that their order is that of time.
const NAME: (&str, &str) = ("ledger-", ".db");
/// The name of a copy in a folder that is not whole.
const DRAFT: &str = "ledger.draft";

/// # Errors
///
/// Those of the ledger and of the coordinator. With `--every`, only those of the first copy: later ones are told.
pub(super) async fn run(args: BackupArgs) -> Result<(), Failure> {
    let is_folder = args.to.is_dir();
    if (args.every.is_some() || args.keep.is_some()) && !is_folder {
        return Err(Failure::Usage(format!(
            "--every and --keep are for copies in a folder, and there is no folder {}",
            args.to.display()
        )));
    }
    if args.every.is_some_and(|every| every < Duration::from_secs(1)) {
        return Err(Failure::Usage("--every wants a second at least".into()));
    }
    copy(&args, is_folder).await?;
    let Some(every) = args.every else { return Ok(()) };
    loop {
        tokio::time::sleep(every).await;
        if let Err(failure) = copy(&args, is_folder).await {
            failure.tell();
        }
    }
}

async fn copy(args: &BackupArgs, is_folder: bool) -> Result<(), Failure> {
    let (draft, to) = if is_folder {
        (args.to.join(DRAFT), args.to.join(name_of_now()))
    } else {
        let mut draft = args.to.clone().into_os_string();
        draft.push(".draft");
        (draft.into(), args.to.clone())
    };
    let cannot_write = |fault: LedgerFault| match fault {
        LedgerFault::File(error) => {
            Failure::Output { what: to.display().to_string(), reason: error.to_string() }
        }
        other => other.at(Some(&to)).into(),
    };
    let draft = Draft::begin(draft, &to).map_err(cannot_write)?;
    match &args.from {
        Some(from) => draft.copy_from(from).map_err(|fault| fault.at(Some(from)))?,
        None => receive(args, &draft).await?,
    }
    let Copy { path, bytes, jobs, ranges } = draft.finish().map_err(cannot_write)?;
    if let Some(keep) = args.keep {
        remove_all_but(keep as usize, &args.to)?;
    }
    if args.json {
        let file = path.display().to_string();
        return output::print(
            json!({ "file": file, "bytes": bytes, "jobs": jobs, "ranges": ranges }),
        );
    }
    let size = ByteSize(bytes).display().iec();
    eprintln!("{jobs} jobs with {ranges} ranges, {size}; all of it was read again and is sound");
    output::print(path.display())
}

/// Fills the draft with what the coordinator sends.
async fn receive(args: &BackupArgs, draft: &Draft) -> Result<(), Failure> {
    let mut client = Client::connect(&args.coordinator).await?;
    let answer = client.admin.backup(v1::BackupRequest {}).await;
    let mut pieces = answer.map_err(|status| client.failure(status))?.into_inner();
    let cannot_write = |error: std::io::Error| Failure::Output {
        what: draft.path().display().to_string(),
        reason: error.to_string(),
    };
    let mut file = draft.open().map_err(cannot_write)?;
    let mut hasher = blake3::Hasher::new();
    while let Some(piece) = pieces.message().await.map_err(|status| client.failure(status))? {
        hasher.update(&piece.data);
        file.write_all(&piece.data).map_err(cannot_write)?;
        if !piece.hash.is_empty() {
            return match piece.hash == hasher.finalize().as_bytes() {
                true => Ok(()),
                false => Err(Failure::Incompatible(
                    "the copy of the ledger was altered on its way; make another one".into(),
                )),
            };
        }
    }
    Err(Failure::Incompatible(
        "the coordinator ended its copy of the ledger too early; make another one".into(),
    ))
}

fn name_of_now() -> String {
    let now = UNIX_EPOCH + Duration::from_millis(unix_ms().unsigned_abs());
    // Not every file system allows colons in names.
    let time = humantime::format_rfc3339_seconds(now).to_string().replace(':', "-");
    format!("{}{time}{}", NAME.0, NAME.1)
}

fn is_name(name: &str) -> bool {
    let time = name.strip_prefix(NAME.0).and_then(|name| name.strip_suffix(NAME.1));
    let is_like = |time: &str| {
        let digits_as_nines = time.chars().map(|c| if c.is_ascii_digit() { '9' } else { c });
        digits_as_nines.eq("9999-99-99T99-99-99Z".chars())
    };
    time.is_some_and(is_like)
}

/// Removes the oldest copies in a folder.
fn remove_all_but(keep: usize, folder: &Path) -> Result<(), Failure> {
    let cannot = |error| Failure::Output { what: folder.display().to_string(), reason: error };
    let read = || {
        let mut names = Vec::new();
        for file in fs::read_dir(folder)? {
            names.extend(file?.file_name().into_string().ok().filter(|name| is_name(name)));
        }
        names.sort();
        names.truncate(names.len().saturating_sub(keep));
        names
            .iter()
            .try_for_each(|name| fs::remove_file(folder.join(name)).with_context(|| name.clone()))
    };
    read().map_err(|error: anyhow::Error| cannot(format!("{error:#}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_copies_are_removed_the_oldest_first() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let days = ["2026-11-23T05-41-00Z", "2025-12-31T23-59-59Z", "2026-01-01T00-00-00Z"];
        let copies = days.map(|time| format!("ledger-{time}.db"));
        let others = ["ledger-mine.db", "ledger-2020-01-01T00-00-00Z.db-wal", "x.db", DRAFT];
        for name in copies.iter().map(String::as_str).chain(others) {
            fs::write(folder.path().join(name), name).expect("it can be written");
        }
        remove_all_but(2, folder.path()).expect("they can be removed");
        let is_there = |name: &str| folder.path().join(name).exists();
        assert_eq!(copies.each_ref().map(|name| is_there(name)), [true, false, true]);
        assert_eq!(others.map(is_there), [true; 4]);
        remove_all_but(5, folder.path()).expect("there are fewer");
        assert!(is_there(&copies[2]));
        assert!(is_name(&name_of_now()), "{}", name_of_now());
    }
}
