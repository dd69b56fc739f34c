//! The file of a ledger, as the file system knows it.
//!
//! SQLite goes on with the file that it has opened, whatever its name has come to mean: counts would be
//! acknowledged that are lost with the process. Therefore the file behind the name is compared before every
//! commit, and at intervals.
//!
//! While a ledger is in use, its latest rows are in a second file, `FILE-wal`. Without that one it is an older
//! state of the ledger, or nothing. A ledger that was closed is a single file, and says so: its header does not
//! name the write-ahead log.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::LedgerFault;
use crate::replace::is_half_replaced;

/// A ledger's file, by its name and by what the file system calls it.
#[derive(Debug)]
pub(crate) struct Place {
    /// The name that it was opened by.
    name: PathBuf,
    /// The name without symbolic links, beside which SQLite keeps its files.
    path: PathBuf,
    identity: Identity,
    /// Whether the ledger is written, so that SQLite keeps its latest rows beside it.
    has_log: bool,
}

/// What tells a file from all others: its device and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity(u64, u64);

impl Place {
    /// Refuses a file that is no ledger of one's own, before anything opens it.
    ///
    /// # Errors
    ///
    /// [`LedgerFault::Place`], if the file has several names, is the ledger of a process that has not closed it
    /// and lacks its `FILE-wal`, or has the `FILE-wal` of another one.
    pub(crate) fn check(path: &Path) -> Result<(), LedgerFault> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let path = &path.canonicalize()?;
        let names = names(&file.metadata()?);
        if names > 1 {
            return Err(LedgerFault::Place(format!(
                "the file has {names} names (hard links), under each of which a coordinator could use it: \
                 remove the other names, or copy it"
            )));
        }
        let mut header = [0; 100];
        match file.read_exact(&mut header) {
            Ok(()) => {}
            // Too short for a database: SQLite will say so, or it is new.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        let names_log = header[18..20] == [2, 2];
        if holds_rows(&log(path)) && header[18..20] == [1, 1] {
            // SQLite would write it into the ledger all the same.
            return Err(LedgerFault::Place(format!(
                "it was closed, so that {log} beside it has nothing of it, and may be of another file that had its \
                 name: move that log away",
                log = log(path).display()
            )));
        }
        if names_log && !log(path).exists() && !says_closed(path)? {
            if is_half_replaced(path)? {
                return Err(LedgerFault::Place(format!(
                    "a later copy was about to take its place when its stand-by was killed: `queens promote {path}` goes on \
                     with the later one, and `queens standby`, started again with it, follows",
                    path = path.display()
                )));
            }
            return Err(LedgerFault::Place(format!(
                "it was not closed by its coordinator, and its latest rows, which are in {log}, are missing: \
                 put that file beside it too. Nothing is missing if its coordinator was killed while it started \
                 or stopped, or if another program has opened it since: make an empty {log} then",
                log = log(path).display()
            )));
        }
        Ok(())
    }

    /// Makes the file, readable by its owner only, if there is none.
    pub(crate) fn make(path: &Path) -> Result<(), LedgerFault> {
        match private().create_new(true).open(path) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The place of a ledger that was opened.
    pub(crate) fn of(path: &Path) -> Result<Place, LedgerFault> {
        let identity = identity(&std::fs::metadata(path)?);
        Ok(Place { name: path.to_path_buf(), path: path.canonicalize()?, identity, has_log: false })
    }

    /// From now on the ledger is written.
    pub(crate) fn begin_writing(&mut self) {
        self.has_log = true;
    }

    /// Refuses a ledger without a write-ahead log, after SQLite was asked to begin one. If a call to the disk fails meanwhile,
    /// SQLite goes on without, and says nothing of it.
    ///
    /// # Errors
    ///
    /// [`LedgerFault::File`], if there is none.
    pub(crate) fn check_log(&self) -> Result<(), LedgerFault> {
        if self.log().exists() {
            return Ok(());
        }
        let text = "its write-ahead log cannot be begun: the disk fails or is full";
        Err(std::io::Error::other(text).into())
    }

    /// Whether the write-ahead log has anything in it.
    pub(crate) fn has_rows_in_log(&self) -> bool {
        holds_rows(&self.log())
    }

    /// Where SQLite keeps the latest rows.
    pub(crate) fn log(&self) -> PathBuf {
        log(&self.path)
    }

    /// The name that the ledger was opened by.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    /// Whether the name still means the file that was opened, and only this name does.
    ///
    /// # Errors
    ///
    /// [`LedgerFault::Gone`], if not. What `db`, the open ledger, holds is written to another file then.
    pub(crate) fn look(&self, db: &Connection) -> Result<(), LedgerFault> {
        let what = match std::fs::metadata(&self.name) {
            Ok(file) if identity(&file) != self.identity => "another file has taken its name",
            Ok(file) if names(&file) > 1 => "it was given a second name (a hard link)",
            Ok(_) if self.has_log && !log(&self.path).exists() => "its write-ahead log was removed",
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => "it was removed or renamed",
            Err(error) => return Err(error.into()),
        };
        let rescued = self.rescue(db).map_err(|fault| fault.to_string());
        Err(LedgerFault::Gone { what, rescued })
    }

    /// Writes all that the open ledger holds to a file beside its name, or to the folder for temporary files.
    fn rescue(&self, db: &Connection) -> Result<PathBuf, LedgerFault> {
        let last = "SELECT coalesce(max(epoch), 0) FROM openings";
        let epoch: i64 = db.query_row(last, [], |row| row.get(0))?;
        let elsewhere = std::env::temp_dir().join(self.path.file_name().unwrap_or_default());
        let to = |path: &Path| write_to(db, path, &format!(".rescued-{epoch}"));
        to(&self.path).or_else(|_| to(&elsewhere))
    }
}

/// Writes all that a database holds to a new file, whose name is that of `path`, a suffix and, if there is such a
/// file, a number.
fn write_to(db: &Connection, path: &Path, suffix: &str) -> Result<PathBuf, LedgerFault> {
    const ATTEMPTS: u32 = 100;
    let made = (0..ATTEMPTS).find_map(|attempt| {
        let number = if attempt == 0 { String::new() } else { format!("-{attempt}") };
        let path = with_suffix(path, &format!("{suffix}{number}"));
        match private().create_new(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => None,
            made => Some(made.map(|_| path)),
        }
    });
    let path = made.ok_or_else(|| std::io::Error::from(ErrorKind::AlreadyExists))??;
    let name = path.to_str().ok_or_else(|| std::io::Error::from(ErrorKind::InvalidFilename));
    let written =
        name.map_err(LedgerFault::from).and_then(|name| Ok(db.execute("VACUUM INTO ?", [name])?));
    match written {
        Ok(_) => {
            File::open(&path)?.sync_all()?;
            Ok(path)
        }
        Err(fault) => {
            // Half of it must not look like all of it.
            let _ = std::fs::remove_file(&path);
            Err(fault)
        }
    }
}

/// Whether a file that names a write-ahead log, and lacks it, is a whole ledger all the same: its coordinator was killed
/// while it started or closed it.
///
/// # Errors
///
/// [`LedgerFault::Sqlite`], if it cannot be read.
fn says_closed(path: &Path) -> Result<bool, LedgerFault> {
    // SQLite looks for no log of a file that cannot change.
    let name = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let db = Connection::open_with_flags(format!("file:{name}?immutable=1"), flags)?;
    match db.query_row("SELECT is_closed FROM identity", [], |row| row.get(0)) {
        // Some of its pages may be in the log alone.
        Err(error) if LedgerFault::is_damage(&error) => Ok(false),
        is_closed => Ok(is_closed?),
    }
}

fn holds_rows(log: &Path) -> bool {
    std::fs::metadata(log).is_ok_and(|log| log.len() > 0)
}

/// Whether a name still means the file that was opened by it.
///
/// # Errors
///
/// The system's.
pub(crate) fn names_file(path: &Path, file: &File) -> std::io::Result<bool> {
    match std::fs::metadata(path) {
        Ok(named) => Ok(identity(&named) == identity(&file.metadata()?)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Where SQLite keeps the latest rows.
pub(crate) fn log(path: &Path) -> PathBuf {
    with_suffix(path, "-wal")
}

pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Waits until the names in the folder of `path` are on disk.
pub(crate) fn sync_folder_of(path: &Path) -> std::io::Result<()> {
    // Other systems cannot open a folder.
    if cfg!(unix) {
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

/// A file for its owner only.
pub(crate) fn private() -> OpenOptions {
    let mut options = File::options();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(unix)]
fn identity(file: &std::fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    Identity(file.dev(), file.ino())
}

#[cfg(unix)]
fn names(file: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(file)
}

/// Without numbers for files, only a missing file is noticed.
#[cfg(not(unix))]
fn identity(_: &std::fs::Metadata) -> Identity {
    Identity(0, 0)
}

#[cfg(not(unix))]
fn names(_: &std::fs::Metadata) -> u64 {
    1
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::tests::{ledger_in, range, read};
    use crate::{CheckedLedger, Ledger, history};

    fn open(path: &Path) -> Result<Ledger, LedgerFault> {
        CheckedLedger::open_again(path)?.begin()
    }

    fn scratch() -> (TempDir, PathBuf) {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.path().join("ledger.db");
        (folder, path)
    }

    /// What the ledger knows is in the file that its fault names.
    #[track_caller]
    fn is_rescued(ledger: &Ledger, what: &str) {
        let before = read(ledger);
        match ledger.serve(&[]) {
            Err(LedgerFault::Gone { what: said, rescued: Ok(rescued) }) => {
                assert_eq!(said, what);
                let rescued = CheckedLedger::open_again(&rescued).expect("it is a sound ledger");
                assert_eq!(rescued.jobs(), before);
                assert!(!before.is_empty());
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_file_that_is_removed_replaced_or_shared_while_it_is_in_use_is_noticed() {
        let (_folder, path) = scratch();
        is_rescued(&removed(&path), "it was removed or renamed");

        let (_folder, path) = scratch();
        let ledger = removed(&path);
        fs::write(&path, "another").expect("it can be written");
        is_rescued(&ledger, "another file has taken its name");

        let (folder, path) = scratch();
        let ledger = ledger_in(&path);
        fs::hard_link(&path, folder.path().join("other.db")).expect("it can have two names");
        is_rescued(&ledger, "it was given a second name (a hard link)");

        let (_folder, path) = scratch();
        let ledger = ledger_in(&path);
        fs::remove_file(log(&path)).expect("it is there");
        is_rescued(&ledger, "its write-ahead log was removed");
    }

    #[test]
    fn a_ledger_that_is_gone_when_it_is_closed_is_rescued() {
        let (_folder, path) = scratch();
        let ledger = removed(&path);
        fs::write(log(&path), "of another ledger").expect("it can be written");
        match ledger.close() {
            Err(LedgerFault::Gone { rescued: Ok(rescued), .. }) => {
                assert_eq!(
                    CheckedLedger::open_again(&rescued).expect("it is sound").jobs().len(),
                    1
                );
            }
            other => panic!("{other:?}"),
        }
        assert!(log(&path).exists(), "it belongs to somebody else");
    }

    #[test]
    fn a_closed_ledger_is_refused_beside_the_log_of_another_one() {
        let (folder, path) = scratch();
        let closed = folder.path().join("closed.db");
        ledger_in(&closed).close().expect("it can be closed");
        let ledger = removed(&path);
        is_rescued(&ledger, "it was removed or renamed");
        drop(ledger);
        fs::rename(&closed, &path).expect("it is there");

        let before = fs::read(&path).expect("it is there");
        let fault = open(&path).expect_err("SQLite would write the log into it");
        assert!(fault.to_string().contains("move that log away"), "{fault}");
        assert!(fs::read(&path).expect("it is there") == before, "not a byte has changed");

        fs::remove_file(log(&path)).expect("it is there");
        open(&path).expect("it is whole without the log");
    }

    #[cfg(unix)]
    #[test]
    fn a_ledger_can_be_named_by_a_symbolic_link() {
        let (folder, path) = scratch();
        let link = folder.path().join("link.db");
        ledger_in(&path).close().expect("it can be closed");
        std::os::unix::fs::symlink(&path, &link).expect("it can have a link");
        let ledger = open(&link).expect("it is a ledger");
        ledger.serve(&[]).expect("nothing has changed");
        drop(ledger);
        let ledger = open(&link).expect("it is whole, in two files");
        fs::remove_file(&link).expect("it is there");
        fs::write(&link, "another").expect("it can be written");
        is_rescued(&ledger, "another file has taken its name");
    }

    fn removed(path: &Path) -> Ledger {
        let ledger = ledger_in(path);
        fs::remove_file(path).expect("it is there");
        ledger
    }

    #[test]
    fn a_copy_without_its_log_is_refused_unless_the_ledger_was_closed() {
        let (folder, path) = scratch();
        let copy = folder.path().join("copy.db");
        let ledger = ledger_in(&path);
        fs::copy(&path, &copy).expect("it can be copied");
        let fault = open(&copy).expect_err("its log is missing").to_string();
        assert!(fault.contains("copy.db-wal, are missing"), "{fault}");
        fs::copy(log(&path), log(&copy)).expect("it can be copied");
        assert_eq!(read(&open(&copy).expect("it is whole")), read(&ledger));

        ledger.close().expect("it can be closed");
        let alone = folder.path().join("alone.db");
        fs::copy(&path, &alone).expect("it can be copied");
        open(&alone).expect("it is whole");
    }

    /// A ledger is several files while it is closed, and its process may be killed between any two of them.
    #[test]
    fn a_ledger_that_was_killed_while_it_was_closed_or_started_is_whole() {
        let (_folder, path) = scratch();
        let ledger = ledger_in(&path);
        history::note_closing(&ledger.db).expect("it is written");
        ledger.db.pragma(None, "wal_checkpoint", "TRUNCATE", |_| Ok(())).expect("it is written");
        drop(ledger);
        fs::remove_file(log(&path)).expect("it is there");

        let ledger = open(&path).expect("it is whole");
        assert_eq!(read(&ledger)[0].id, farm::JobId(1));
        drop(ledger);
        fs::remove_file(log(&path)).expect("it is there");
        let fault = open(&path).expect_err("it was in use again").to_string();
        assert!(fault.contains("are missing"), "{fault}");
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

    #[test]
    fn a_file_of_two_names_and_a_database_without_tables_are_refused() {
        let (folder, path) = scratch();
        ledger_in(&path).close().expect("it can be closed");
        fs::hard_link(&path, folder.path().join("other.db")).expect("it can have two names");
        let fault = open(&path).expect_err("it has two names").to_string();
        assert!(fault.contains("2 names"), "{fault}");

        let bare = folder.path().join("bare.db");
        let db = Connection::open(&bare).expect("it opens");
        db.execute_batch("CREATE TABLE t (x); DROP TABLE t").expect("it is SQL");
        drop(db);
        let fault = open(&bare).expect_err("it has no tables").to_string();
        assert!(fault.contains("no tables"), "{fault}");
    }

    #[cfg(unix)]
    #[test]
    fn a_new_ledger_is_its_owners_only() {
        use std::os::unix::fs::PermissionsExt;
        let (_folder, path) = scratch();
        let _ledger = ledger_in(&path);
        for file in [log(&path), path] {
            let mode = fs::metadata(file).expect("it is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}
