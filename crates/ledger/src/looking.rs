//! Opens a ledger for reading only. Nothing in its folder changes by that, not even a file of
//! SQLite's beside it, because a damaged or lost ledger must stay as it was found.
//!
//! ```text
//!   FILE-wal   FILE-shm    how it is read
//!   there      there       with the memory that processes share, which is only read
//!   there      missing     nobody has it open: with the log, whose index is in memory of our own
//!   missing    any         as one file; if its header names a log, as a file that nobody changes
//! ```

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::format::{distrust, wait_for_others};
use super::place::{check_locks, check_name, log, with_suffix};
use super::planted::Use;
use super::{LedgerFault, Result};

/// SQLite's file system without locks. A connection of it that is exclusive needs no shared memory
/// to read a log.
const WITHOUT_LOCKS: &std::ffi::CStr = if cfg!(windows) { c"win32-none" } else { c"unix-none" };

/// What the header of a ledger says that is written and read with a write-ahead log.
const WITH_LOG: [u8; 2] = [2, 2];

/// How a ledger can be read without a change in its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// With other processes that may write it.
    Shared,
    /// With a log that nobody uses.
    Alone,
    /// Without a log, although the header names one.
    Immutable,
    /// As a single file.
    Single,
}

impl Way {
    fn of(path: &Path) -> Result<Way> {
        let file = path.canonicalize()?;
        if file.metadata()?.len() == 0 {
            return Err(LedgerFault::emptied());
        }
        Ok(match (log(&file).exists(), with_suffix(&file, "-shm").exists()) {
            (true, true) => Way::Shared,
            (true, false) => Way::Alone,
            (false, _) if ways_of_header(&file)? == WITH_LOG => Way::Immutable,
            (false, _) => Way::Single,
        })
    }
}

/// Opens the file `path` for reading. The file must exist, and may come from a stranger. The
/// connection waits for programs that have locked the file.
pub(super) fn reader(path: &Path) -> Result<Connection> {
    check_name(path, Use::Reads)?;
    let way = Way::of(path)?;
    if way == Way::Single {
        // Nobody writes it, so that no locks of this process end here.
        check_locks(&File::open(path)?)?;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let uri = |options: &str| uri(&std::path::absolute(path)?, options);
    let mut db = match way {
        Way::Shared => Connection::open_with_flags(uri("readonly_shm=1")?, flags)?,
        Way::Alone => Connection::open_with_flags_and_vfs(uri("")?, flags, WITHOUT_LOCKS)?,
        Way::Immutable => Connection::open_with_flags(uri("immutable=1")?, flags)?,
        Way::Single => Connection::open_with_flags(uri("")?, flags)?,
    };
    // Without this, SQLite would move the log into the file when it closes the file.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    distrust(&db)?;
    db.busy_handler(Some(wait_for_others))?;
    if way == Way::Alone {
        db.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    }
    Ok(db)
}

/// The URI by which SQLite opens the file at this absolute path. The path must be text.
fn uri(path: &Path, options: &str) -> Result<String> {
    let text = path.to_str().ok_or_else(|| {
        std::io::Error::other("its path is no text of Unicode: name it by a link that is")
    })?;
    // Paths of Windows begin with a letter and have other separators.
    let text = if cfg!(windows) { format!("/{}", text.replace('\\', "/")) } else { text.into() };
    let mut uri = String::from("file://");
    for byte in text.bytes() {
        match byte {
            b'/' | b':' | b'.' | b'-' | b'_' => uri.push(byte.into()),
            _ if byte.is_ascii_alphanumeric() => uri.push(byte.into()),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    Ok(format!("{uri}?{options}"))
}

/// How the header of a ledger says that the file is written and read: 1 is without a write-ahead
/// log, and 2 with one. A file that is being written must not be asked, because closing it would
/// end the locks that SQLite has on it in this process.
fn ways_of_header(path: &Path) -> std::io::Result<[u8; 2]> {
    let mut header = [0; 20];
    match File::open(path).and_then(|mut file| file.read_exact(&mut header)) {
        Ok(()) if header.starts_with(b"SQLite format 3\0") => Ok([header[18], header[19]]),
        // SQLite reports what is wrong with a file that is another or too short. A ledger that does
        // not exist is new.
        Ok(()) => Ok([1, 1]),
        Err(error) if [ErrorKind::NotFound, ErrorKind::UnexpectedEof].contains(&error.kind()) => {
            Ok([1, 1])
        }
        Err(error) => Err(error),
    }
}

/// Looks at the header of a ledger that has no log beside it, before SQLite opens the ledger.
///
/// It warns if the header names a log. The ledger may be an incomplete copy that was made while the
/// original was in use. It may also be complete: another program may have moved the log into the
/// file, or Litestream may have restored it.
///
/// # Errors
///
/// [`LedgerFault::Content`], if SQLite does not know how to write such a file. It would take the
/// file for one that it may only read.
pub(super) fn check_header(path: &Path) -> Result<()> {
    check_name(path, Use::Reads)?;
    let file: PathBuf = path.canonicalize()?;
    if log(&file).exists() {
        return Ok(());
    }
    match ways_of_header(&file)? {
        WITH_LOG => tracing::warn!(
            ledger = %path.display(),
            "the ledger was not closed by its coordinator, and has no log beside it: if it was copied while it was in use, the \
             latest counts and decisions are missing. Counts are counted again; see which jobs, credentials and decisions \
             about trust are there"
        ),
        [written, _] if written > WITH_LOG[0] => {
            let text = format!("its header names an unknown way to write it, {written}");
            return Err(LedgerFault::Content(text));
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;
    use crate::tests::{JOB, ledger_in, range, scratch};
    use crate::{Draft, Evidence, JobEvidence, LedgerFault, LedgerView, check_file, join_ledgers};

    /// The name of each file in a folder, with its bytes and its mode.
    fn all_of(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32)> {
        let files = fs::read_dir(folder).expect("it is there");
        let read = |file: std::io::Result<fs::DirEntry>| {
            let path = file.expect("it is there").path();
            #[cfg(unix)]
            let mode = std::os::unix::fs::MetadataExt::mode(&path.metadata().expect("it is there"));
            #[cfg(not(unix))]
            let mode = 0;
            let bytes = fs::read(&path).expect("it can be read");
            (path, (bytes, mode))
        };
        files.map(read).collect()
    }

    /// Looks at a ledger in all ways, each of which must find `ranges` ranges, or fail if it is
    /// `None`. Nothing may change.
    #[track_caller]
    fn looks(path: &Path, ranges: Option<u64>) {
        let folder = path.parent().expect("it is in a folder");
        // Making and removing a file changes the time of the folder.
        let changed_at = || folder.metadata().and_then(|it| it.modified()).expect("it is there");
        let before = (all_of(folder), changed_at());
        let elsewhere = tempfile::tempdir().expect("a temporary directory");
        let of_job = |path: &Path| -> Result<u64> {
            let mut ranges = 0;
            let job = JobEvidence::open(path, JOB)?.expect("it is there");
            job.for_each(|record| {
                ranges += u64::from(matches!(record, farm::EvidenceRecord::Range { .. }));
                Ok::<(), LedgerFault>(())
            })?;
            Ok(ranges)
        };
        let viewed = || {
            let mut ranges = 0;
            LedgerView::open(path)?.ranges(JOB, |_, _, _| {
                ranges += 1;
                std::ops::ControlFlow::Continue(())
            })?;
            Ok(ranges)
        };
        let copied = || {
            let draft = Draft::begin(&elsewhere.path().join("copy.db"))?;
            draft.copy_from(path)?;
            Ok(draft.finish()?.0.ranges)
        };
        let merged = || {
            let into = elsewhere.path().join("merged.db");
            join_ledgers(&[path.to_owned()], &into).map_err(|error| error.fault)?;
            Ok(check_file(&into)?.ranges)
        };
        let evidence = || Ok(Evidence::open(path)?.jobs()[0].accepted.iter().count() as u64);
        let found: [(&str, Result<u64>); 6] = [
            ("check", check_file(path).map(|found| found.ranges)),
            ("copy", copied()),
            ("evidence", evidence()),
            ("evidence of a job", of_job(path)),
            ("merge", merged()),
            ("view", viewed()),
        ];
        for (how, found) in found {
            assert_eq!(found.as_ref().ok(), ranges.as_ref(), "{how}: {found:?}");
        }
        let after = (all_of(folder), changed_at());
        assert!(after == before, "something has changed: {:?}", after.0.keys());
    }

    /// Copies a ledger and these files beside it into a folder of its own.
    fn copy_with(path: &Path, beside: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let (folder, copy) = scratch();
        for suffix in beside.iter().chain(&[""]) {
            fs::copy(with_suffix(path, suffix), with_suffix(&copy, suffix)).expect("it is there");
        }
        (folder, copy)
    }

    #[test]
    fn whoever_looks_at_a_ledger_changes_nothing_in_its_folder() {
        let (_folder, path) = scratch();
        ledger_in(&path).close().expect("it can be closed");
        looks(&path, Some(1));

        let ledger = crate::tests::open(&path).expect("it is sound");
        ledger.apply(&[range(30, 40, 1)]).expect("it is written");
        // Its process was killed, or it was copied, with all files beside it or with some.
        let (_killed, killed) = copy_with(&path, &["-wal", "-shm"]);
        looks(&killed, Some(2));
        let (_killed, without_index) = copy_with(&path, &["-wal"]);
        looks(&without_index, Some(2));
        let (_killed, alone) = copy_with(&path, &[]);
        looks(&alone, Some(1));
        let (_killed, with_index) = copy_with(&path, &["-shm"]);
        looks(&with_index, Some(1));
        // Another process may go on.
        assert_eq!(check_file(&path).expect("it is sound").ranges, 2);
        let merged = join_ledgers(std::slice::from_ref(&path), &with_suffix(&path, ".merged"));
        let fault = merged.expect_err("it is in use").fault;
        assert!(matches!(fault, LedgerFault::Locked), "{fault}");

        for emptied in [&killed, &without_index, &alone] {
            fs::write(emptied, "").expect("it can be written");
            looks(emptied, None);
        }
    }

    #[test]
    fn a_path_with_signs_that_mean_something_in_a_uri_names_its_file() {
        let (folder, _) = scratch();
        for name in ["a b.db", "50%20?x=1.db", "#1.db", "ü:&=.db"] {
            let path = folder.path().join(name);
            ledger_in(&path).close().expect("it can be closed");
            assert_eq!(check_file(&path).expect(name).ranges, 1);
        }
    }
}
