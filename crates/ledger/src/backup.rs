//! Copies a ledger, which another process may use meanwhile.
//!
//! A copy is made by SQLite's online backup within one transaction, so that it is the ledger as it
//! was at one moment. The copy gets its final name only after it is on disk and was checked like a
//! ledger that is opened. It never replaces a file.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::backup::Progress;

use super::place::{self, BESIDE};
use super::planted::{Use, check_planted};
use super::{Contents, Result, check_file, looking};

/// An unfinished ledger, in a file beside its final place. Dropping it removes the file, and also
/// the files that SQLite and the lock have put beside the file.
#[derive(Debug)]
pub(crate) struct Unfinished(pub(crate) PathBuf);

impl Unfinished {
    /// Names the file `path`. If another process has left a file there, this function removes that
    /// file. It fails if that is another user's.
    pub(crate) fn new(path: PathBuf) -> Result<Unfinished> {
        let unfinished = Unfinished(path);
        unfinished.remove();
        check_planted(&unfinished.0, Use::Writes)?;
        Ok(unfinished)
    }

    fn remove(&self) {
        for suffix in BESIDE.iter().chain(&[""]) {
            let _ = fs::remove_file(place::with_suffix(&self.0, suffix));
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.remove();
    }
}

/// A copy that is being made, in a file beside its final place that only its owner may read.
/// Dropping it removes the file.
#[derive(Debug)]
pub struct Draft {
    file: Unfinished,
    /// The final path of the file.
    to: PathBuf,
}

impl Draft {
    /// Begins a copy that will become the file `to`. Until then the copy is the file `to.draft`. A
    /// draft that another process has left is removed.
    ///
    /// # Errors
    ///
    /// [`LedgerFault::File`](crate::LedgerFault::File), if the file `to` exists already, or if the
    /// draft cannot be made.
    pub fn begin(to: &Path) -> Result<Draft> {
        refuse_existing(to)?;
        place::check_name(to, Use::Writes)?;
        place::refuse_log(to)?;
        let file = Unfinished::new(place::with_suffix(to, ".draft"))?;
        place::private().create_new(true).open(&file.0)?;
        Ok(Draft { file, to: to.to_path_buf() })
    }

    /// Fills the copy with what the ledger in `from` holds at one moment.
    ///
    /// # Errors
    ///
    /// [`LedgerFault`](crate::LedgerFault), if `from` cannot be read, if it is no ledger, or if the
    /// copy does not fit on this disk.
    pub fn copy_from(&self, from: &Path) -> Result<()> {
        looking::check_header(from)?;
        let source = looking::reader(from)?;
        // The copy is made in one transaction. Otherwise SQLite would begin it anew after every
        // write to the ledger.
        source.execute_batch("BEGIN; SELECT 1 FROM sqlite_schema")?;
        source.backup(rusqlite::MAIN_DB, &self.file.0, None::<fn(Progress)>)?;
        let copy = Connection::open(&self.file.0)?;
        copy.pragma_update(None, "journal_mode", "DELETE")?;
        Ok(copy.close().map_err(|(_, error)| error)?)
    }

    /// The path of the draft.
    pub fn path(&self) -> &Path {
        &self.file.0
    }

    /// The file, to be written to.
    pub fn open(&self) -> io::Result<File> {
        OpenOptions::new().write(true).open(&self.file.0)
    }

    /// Checks the copy as a ledger, waits until it is on disk, and gives it its final name. Returns
    /// what the copy holds, and its size in bytes.
    ///
    /// # Errors
    ///
    /// [`LedgerFault`](crate::LedgerFault), if the copy is not a sound ledger, or if a file of the
    /// final name exists by now.
    pub fn finish(self) -> Result<(Contents, u64)> {
        let contents = check_file(&self.file.0)?;
        // The file is opened for writing, because Windows syncs only such files to disk.
        let file = self.open()?;
        file.sync_all()?;
        let bytes = file.metadata()?.len();
        refuse_existing(&self.to)?;
        fs::rename(&self.file.0, &self.to)?;
        place::sync_folder_of(&self.to)?;
        Ok((contents, bytes))
    }
}

fn refuse_existing(to: &Path) -> io::Result<()> {
    // A symbolic link counts as a file, even if its target does not exist.
    if to.symlink_metadata().is_ok() {
        Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            format!("{} is there already; a copy replaces no file", to.display()),
        ))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::CheckedLedger;
    use crate::tests::{ledger_in, range, read, scratch};

    fn copy_ledger(from: &Path, to: &Path) -> Result<(Contents, u64)> {
        let draft = Draft::begin(to)?;
        draft.copy_from(from)?;
        draft.finish()
    }

    fn files(folder: &TempDir) -> Vec<String> {
        let files = fs::read_dir(folder.path()).expect("it is there");
        let name = |file: io::Result<fs::DirEntry>| file.expect("it is there").file_name();
        let mut names: Vec<String> =
            files.map(|file| name(file).into_string().expect("it is text")).collect();
        names.sort();
        names
    }

    #[test]
    fn a_ledger_in_use_is_copied_as_it_is_at_one_moment_into_one_file_that_is_never_replaced() {
        let (folder, path) = scratch();
        let copy = folder.path().join("copy.db");
        let ledger = ledger_in(&path);
        ledger.apply(&[range(30, 40, 3)]).expect("it is written");
        let made = copy_ledger(&path, &copy).expect("it can be copied");
        ledger.apply(&[range(40, 50, 4)]).expect("the ledger goes on");

        assert_eq!(made.0.jobs, 1);
        let (before, fault) = (fs::read(&copy).expect("it is there"), copy_ledger(&path, &copy));
        assert_eq!(made.1, before.len() as u64);
        let fault = fault.expect_err("it is there").to_string();
        assert!(fault.contains("replaces no file"), "{fault}");
        assert!(fs::read(&copy).expect("it is there") == before);
        let is_ours = |name: &String| !name.contains("copy.db-") && !name.contains("draft");
        assert!(files(&folder).iter().all(is_ours), "one file");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&copy).expect("it is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let restored = CheckedLedger::open(&copy).and_then(CheckedLedger::begin);
        let restored = restored.expect("it is whole");
        let (here, there) = (read(&ledger), read(&restored));
        assert_eq!(here[0].counted, there[0].counted + 4);
    }

    #[test]
    fn a_damaged_ledger_makes_no_copy() {
        let (folder, path) = scratch();
        let copy = folder.path().join("copy.db");
        let ledger = ledger_in(&path);
        ledger.db.execute("UPDATE counts SET count = '77'", []).expect("it is SQL");
        let fault = copy_ledger(&path, &copy).expect_err("a row was altered").to_string();
        assert!(fault.contains("was altered"), "{fault}");
        assert!(!files(&folder).iter().any(|name| name.contains("copy")), "{:?}", files(&folder));

        copy_ledger(&folder.path().join("missing.db"), &copy).expect_err("there is none");
        assert!(!copy.exists() && !folder.path().join("missing.db").exists());
    }
}
