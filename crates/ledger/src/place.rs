//! The file of a ledger, as the file system knows it.
//!
//! SQLite keeps using the file that it has opened, even if the name was removed or leads to another
//! file. Counts that are acknowledged then would be lost when the process ends. Therefore the file
//! behind the name is compared with the open one before every commit, and at intervals.
//!
//! While a ledger is in use, its latest rows are in a second file, `FILE-wal`. A ledger that was
//! closed is a single file, whose header does not name the log.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::planted::{Use, check_planted};
use super::{LedgerFault, Result};

/// A ledger's file, by its name and by what the file system calls it.
#[derive(Debug)]
pub(crate) struct Place {
    /// The name that it was opened by.
    name: PathBuf,
    identity: Identity,
}

/// The identity of a file: its device and its number there.
type Identity = (u64, u64);

impl Place {
    /// The place of a ledger that was opened.
    pub(crate) fn of(path: &Path) -> Result<Place> {
        let identity = identity(&std::fs::metadata(path)?);
        Ok(Place { name: path.to_path_buf(), identity })
    }

    /// The name that the ledger was opened by.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    /// Fails with [`LedgerFault::Gone`] if the name no longer means the file that was opened.
    pub(crate) fn look(&self) -> Result<()> {
        match std::fs::metadata(&self.name) {
            Ok(file) if identity(&file) == self.identity => Ok(()),
            Ok(_) => Err(LedgerFault::Gone("another file has taken its name")),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(LedgerFault::Gone("it was removed or renamed"))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Refuses a ledger whose log or memory that processes share is another user's. SQLite has both
    /// open by now, and another user may have planted them after the first check. If they are there
    /// and pass, they are the open ones, because nobody else can have made the files of this user.
    pub(crate) fn check_open(&self) -> Result<()> {
        let file = canonical(&self.name);
        for suffix in ["-wal", "-shm"] {
            fs::symlink_metadata(with_suffix(&file, suffix))?;
        }
        Ok(check_planted(&self.name, Use::Writes)?)
    }
}

/// The longest name of a file that file systems have, in bytes.
const LONGEST_NAME: usize = 255;

/// Refuses a path that cannot be the file of a ledger, before anything is made. Such paths are
/// folders, pipes and devices, also where a file beside the ledger would be, names that SQLite
/// would take for a database in memory or a URI, files in a folder that does not exist, and what
/// another user may have planted. The refusal is a [`LedgerFault::File`].
pub(crate) fn check_name(path: &Path, usage: Use) -> Result<()> {
    let name = path.as_os_str().as_encoded_bytes();
    let is_separator = |byte: &u8| std::path::is_separator(char::from(*byte));
    let length = path.file_name().map_or(0, |name| name.len());
    let is_no_file = |path: &Path| path.metadata().is_ok_and(|there| !there.is_file());
    let canonical = canonical(path);
    let reason = if path.is_dir() || name.last().is_some_and(is_separator) {
        "it is a folder: name a file in it"
    } else if is_no_file(path) {
        "it is a pipe or a device: name a file"
    } else if BESIDE.iter().any(|suffix| is_no_file(&with_suffix(&canonical, suffix))) {
        // Opening it might never end.
        "a folder, a pipe or a device is where a file beside it would be (-wal, -journal, -shm or -lock)"
    } else if name == b":memory:" || name.starts_with(b"file:") {
        "SQLite does not take this for the name of a file: have ./ before it, if it is one"
    } else if length + "-journal".len() > LONGEST_NAME {
        "its name is too long: SQLite needs eight letters behind it"
    } else {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        // A folder that this process may not read may still exist.
        let is_missing = |folder: &&Path| match folder.metadata() {
            Ok(there) => !there.is_dir(),
            Err(error) => matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
        };
        return match folder.filter(is_missing) {
            None => Ok(check_planted(path, usage)?),
            Some(folder) => {
                let text = format!("there is no folder {}", folder.display());
                Err(std::io::Error::other(text).into())
            }
        };
    };
    Err(std::io::Error::other(reason).into())
}

/// The ends of the names of the files beside a ledger.
pub(crate) const BESIDE: [&str; 4] = ["-wal", "-journal", "-shm", "-lock"];

/// The ends of the names of files that SQLite takes for a part of a ledger.
pub(crate) const LOGS: [&str; 2] = ["-wal", "-journal"];

/// The path of the file in which SQLite keeps the latest rows.
pub(crate) fn log(path: &Path) -> PathBuf {
    with_suffix(path, "-wal")
}

/// The path of the file beside this one, with this ending after the whole name.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The folder in which a file is.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
}

/// The file that `path` names behind all links, also of its folders. It need not exist yet. Each
/// link is passed to `check`.
///
/// # Errors
///
/// The links lead in a circle, or `check` refuses one.
pub fn behind_links(
    path: &Path,
    mut check: impl FnMut(&Path) -> std::io::Result<()>,
) -> std::io::Result<PathBuf> {
    /// Linux follows this many links.
    const MOST: u32 = 40;
    let parts_of = |path: &Path| -> Vec<PathBuf> {
        path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect()
    };
    let mut links = 0;
    // The last part comes first.
    let mut left = parts_of(path);
    let mut place = PathBuf::new();
    while let Some(part) = left.pop() {
        let next = place.join(&part);
        let Ok(named) = fs::read_link(&next) else {
            place = next;
            continue;
        };
        check(&next)?;
        links += 1;
        if links > MOST {
            return Err(std::io::Error::other("its links lead in a circle"));
        }
        left.extend(parts_of(&named));
    }
    Ok(place)
}

/// The canonical path of the file that `path` names behind all links. Neither the file nor its
/// folder has to exist yet.
pub fn canonical(path: &Path) -> PathBuf {
    // Nothing can be written where links lead in a circle.
    let Ok(place) = behind_links(path, |_| Ok(())).and_then(std::path::absolute) else {
        return path.into();
    };
    match (place.canonicalize(), place.parent(), place.file_name()) {
        (Ok(place), ..) => place,
        (_, Some(folder), Some(name)) => canonical(folder).join(name),
        // The path ends with `..` after a folder that does not exist.
        (_, Some(folder), None) => folder_of(&canonical(folder)).into(),
        _ => place,
    }
}

/// Whether `name` leads to this open file. The name is opened, because NFS answers other questions
/// about a name from its cache.
pub(crate) fn is_named(file: &File, name: &Path) -> std::io::Result<bool> {
    let identity_of = |file: &File| Ok(identity(&file.metadata()?));
    match File::open(name).and_then(|named| identity_of(&named)) {
        Ok(named) => Ok(identity_of(file)? == named),
        Err(error) => match error.kind() {
            ErrorKind::NotFound | ErrorKind::StaleNetworkFileHandle => Ok(false),
            _ => Err(error),
        },
    }
}

/// Fails with [`LedgerFault::FileSystem`] if the file system has no locks of the kind that SQLite
/// takes. SQLite would take that for a lock of another program. The file must not be a ledger that
/// this process has open, because its locks would end when `file` is closed.
#[cfg(unix)]
pub(crate) fn check_locks(file: &File) -> Result<()> {
    use rustix::fs::{FlockOperation, fcntl_lock};
    use rustix::io::Errno;
    match fcntl_lock(file, FlockOperation::NonBlockingLockShared) {
        // Somebody holds a lock, so there are locks.
        Ok(()) | Err(Errno::AGAIN | Errno::ACCESS | Errno::INTR) => {
            let _ = fcntl_lock(file, FlockOperation::NonBlockingUnlock);
            Ok(())
        }
        Err(error) => Err(no_locks(&error.into())),
    }
}

#[cfg(not(unix))]
pub(crate) fn check_locks(_: &File) -> Result<()> {
    Ok(())
}

/// The fault of a file system that answers to a lock with this error.
pub(crate) fn no_locks(error: &std::io::Error) -> LedgerFault {
    LedgerFault::FileSystem(format!("it has no locks: {error}"))
}

/// Waits until the names in the folder of `path` are on disk.
pub(crate) fn sync_folder_of(path: &Path) -> std::io::Result<()> {
    // Other systems cannot open a folder.
    if cfg!(unix) {
        File::open(folder_of(path))?.sync_all()?;
    }
    Ok(())
}

/// Refuses to put a file of SQLite's at `path` if the log of an earlier one is beside it, because
/// SQLite would take that log for a part of the new file.
pub(crate) fn refuse_log(path: &Path) -> std::io::Result<()> {
    let left = LOGS.map(|suffix| with_suffix(&canonical(path), suffix));
    match left.iter().find(|log| log.symlink_metadata().is_ok()) {
        None => Ok(()),
        Some(log) => Err(std::io::Error::new(
            ErrorKind::AlreadyExists,
            format!(
                "{} is there, with the latest rows of an earlier ledger: move it away",
                log.display()
            ),
        )),
    }
}

/// A file for its owner only, and no link to one.
pub(crate) fn private() -> OpenOptions {
    let mut options = File::options();
    options.write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
    }
    options
}

#[cfg(unix)]
fn identity(file: &std::fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    (file.dev(), file.ino())
}

/// Windows does not allow anyone to remove or rename a file that SQLite has open, so nothing has to
/// be compared.
#[cfg(not(unix))]
fn identity(_: &std::fs::Metadata) -> Identity {
    (0, 0)
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::tests::{ledger_in, open, range, read, scratch};
    #[cfg(unix)]
    use crate::{CheckedLedger, Ledger};

    #[cfg(unix)]
    #[track_caller]
    fn is_gone(ledger: &Ledger, what: &str) {
        match ledger.apply(&[range(30, 40, 1)]) {
            Err(LedgerFault::Gone(said)) => assert_eq!(said, what),
            other => panic!("{other:?}"),
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_removed_or_replaced_while_it_is_in_use_stops_the_writer() {
        let (_folder, path) = scratch();
        let ledger = ledger_in(&path);
        fs::remove_file(&path).expect("it is there");
        is_gone(&ledger, "it was removed or renamed");

        fs::write(&path, "another").expect("it can be written");
        is_gone(&ledger, "another file has taken its name");
    }

    /// Opening a pipe waits for its writer.
    #[cfg(unix)]
    #[test]
    fn nobody_waits_for_a_pipe_beside_a_ledger() {
        let (_folder, path) = scratch();
        ledger_in(&path).close().expect("it can be closed");
        for suffix in BESIDE {
            let pipe = with_suffix(&path, suffix);
            let made = std::process::Command::new("mkfifo").arg(&pipe).status();
            assert!(made.expect("it runs").success());
            for tried in [
                CheckedLedger::open(&path).map(drop),
                crate::check_file(&path).map(drop),
                crate::LedgerView::open(&path).map(drop),
                crate::JobEvidence::open(&path, crate::tests::JOB).map(drop),
                crate::Evidence::at_rest(&path).map(drop),
                crate::make_ledger(&path, true),
            ] {
                let fault = tried.expect_err("it is no file").to_string();
                assert!(fault.contains("where a file beside it would be"), "{fault}");
            }
            fs::remove_file(&pipe).expect("it is there");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_ledger_can_be_named_by_a_symbolic_link() {
        let (folder, path) = scratch();
        let link = folder.path().join("link.db");
        ledger_in(&path).close().expect("it can be closed");
        let files = fs::read_dir(folder.path()).expect("it is there");
        assert_eq!(files.count(), 1, "a ledger that was closed is one file");
        std::os::unix::fs::symlink(&path, &link).expect("it can have a link");
        let ledger = open(&link).expect("it is a ledger");
        ledger.serve(&[]).expect("nothing has changed");
        drop(ledger);
        let hard = folder.path().join("hard.db");
        fs::hard_link(&path, &hard).expect("it can have a link");
        for name in [&path, &hard] {
            assert!(matches!(open(name), Err(LedgerFault::Linked)), "it has two names");
            crate::Evidence::at_rest(name).expect("it can be read");
        }
        fs::remove_file(&hard).expect("it is there");
        let ledger = open(&link).expect("it is whole, in two files");
        fs::remove_file(&link).expect("it is there");
        fs::write(&link, "another").expect("it can be written");
        is_gone(&ledger, "another file has taken its name");
    }

    #[test]
    fn a_copy_of_a_ledger_in_use_opens_with_its_log_and_without() {
        let (folder, path) = scratch();
        let [copy, alone] = ["copy.db", "alone.db"].map(|name| folder.path().join(name));
        ledger_in(&path).close().expect("it can be closed");
        let ledger = open(&path).expect("it is sound");
        ledger.apply(&[range(30, 40, 1)]).expect("it is written");
        for to in [&copy, &alone] {
            fs::copy(&path, to).expect("it can be copied");
        }
        fs::copy(log(&path), log(&copy)).expect("it can be copied");
        assert_eq!(read(&open(&copy).expect("it is whole")), read(&ledger));

        let [job] = read(&open(&alone).expect("SQLite opens it"));
        assert!(job.counted < read(&ledger)[0].counted, "the latest count was in the log");
    }

    #[test]
    fn a_writer_waits_for_a_program_that_has_locked_the_ledger() {
        let (_folder, path) = scratch();
        let ledger = ledger_in(&path);
        let other = Connection::open(&path).expect("it is there");
        other.execute_batch("BEGIN IMMEDIATE").expect("nobody else has locked it");
        let unlock = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(300));
            other.execute_batch("COMMIT").expect("it is locked");
        });
        let begun = std::time::Instant::now();
        // It reads before it writes.
        ledger.apply(&[range(30, 40, 1)]).expect("it waits");
        assert!(begun.elapsed().as_millis() >= 200, "it was locked");
        unlock.join().expect("it does not panic");
    }

    /// So does Litestream, for as long as it runs.
    #[test]
    fn a_reader_that_stays_holds_up_neither_the_beginning_nor_the_end() {
        let (_folder, path) = scratch();
        ledger_in(&path).close().expect("it can be closed");
        let ledger = open(&path).expect("it is sound");
        let reader = Connection::open(&path).expect("it is there");
        reader.execute_batch("BEGIN; SELECT count(*) FROM counts").expect("it can be read");
        let begun = std::time::Instant::now();
        let before = read(&ledger);
        ledger.close().expect("it stays in two files");
        let ledger = open(&path).expect("it is whole, in two files");
        assert_eq!(read(&ledger), before);
        assert!(begun.elapsed().as_secs() < 10, "it waits for nobody");
    }

    #[cfg(unix)]
    #[test]
    fn a_ledger_that_a_link_names_before_it_is_there_is_its_owners_only_and_has_one_lock() {
        use std::os::unix::fs::PermissionsExt;
        let (folder, path) = scratch();
        let link = folder.path().join("link.db");
        std::os::unix::fs::symlink(&path, &link).expect("it can have a link");
        let _ledger = ledger_in(&link);
        for file in [&log(&path), &with_suffix(&path, "-lock"), &path] {
            let mode = fs::metadata(file).expect("it is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        assert!(matches!(CheckedLedger::open(&path), Err(LedgerFault::Locked)), "it is one ledger");
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_is_not_made_where_a_link_leads() {
        let (folder, path) = scratch();
        let target = folder.path().join("target");
        std::os::unix::fs::symlink(&target, with_suffix(&path, "-lock")).expect("it is new");
        let refused = crate::LedgerLock::of(&path).expect_err("it is a link").to_string();
        assert!(refused.contains("-lock is a link") && !target.exists(), "{refused}");
    }

    /// A process may have opened the file of the lock just before its owner removed it.
    #[cfg(unix)]
    #[test]
    fn a_lock_that_has_lost_its_name_excludes_nobody() {
        let (_folder, path) = scratch();
        let name = with_suffix(&path, "-lock");
        let file = private().create(true).truncate(false).open(&name).expect("a new file");
        assert!(is_named(&file, &name).expect("it can be opened"));
        fs::remove_file(&name).expect("it is there");
        assert!(!is_named(&file, &name).expect("there is none"));
        let _ledger = ledger_in(&path);
        assert!(!is_named(&file, &name).expect("it can be opened"), "another file has it");
        assert!(matches!(CheckedLedger::open(&path), Err(LedgerFault::Locked)));
    }
}
