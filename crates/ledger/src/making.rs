//! Makes a new ledger, and refuses to where an earlier one was lost.
//!
//! A ledger is made under another name and gets its own when it is whole. So a file without a byte
//! is never a ledger that has just begun, and an absent one with something of a ledger beside it
//! was lost: whoever began a new one there would hide the loss, and SQLite would take the log of
//! the lost ledger for a part of the new one.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use super::backup::Unfinished;
use super::place::{self, LOGS, with_suffix};
use super::planted::Use;
use super::{LedgerFault, LedgerLock, Result, format};

/// The ends of the names of what is left beside a ledger that was lost: the logs of SQLite, the
/// lock of a process that was killed, and the keys with which it was served.
const REMAINS: [&str; 4] = [LOGS[0], LOGS[1], "-lock", "-keys"];

/// Makes a new ledger in the file `path` if there is none. With `anew`, an earlier one may have
/// been lost there: its file has no byte, or is missing while something of it is there. Its logs
/// then get names that end in `.lost`.
///
/// # Errors
///
/// [`LedgerFault::Lost`], if an earlier ledger was lost there. With `anew` an error of the kind
/// `AlreadyExists`, if there is a ledger.
pub fn make_ledger(path: &Path, anew: bool) -> Result<()> {
    place::check_name(path, Use::Writes)?;
    let file = place::behind_links(path, |_| Ok(()))?;
    let is_there = match fs::metadata(&file) {
        Ok(there) if there.len() > 0 => true,
        Ok(_) if !anew => return Err(LedgerFault::emptied()),
        Ok(_) | Err(_) => false,
    };
    if is_there && anew {
        let text = "it is there, and --new is for one that was lost: leave --new out, or name another file";
        return Err(std::io::Error::new(std::io::ErrorKind::AlreadyExists, text).into());
    }
    if is_there {
        return Ok(());
    }
    let canonical = place::canonical(path);
    LedgerLock::refuse_held(path)?;
    // The keys are beside the name by which the ledger was served, which may be a link.
    let names = [&canonical, path].into_iter();
    let mut left = names.flat_map(|name| REMAINS.map(|suffix| with_suffix(name, suffix)));
    if !anew && let Some(left) = left.find(|left| left.symlink_metadata().is_ok()) {
        let text = format!("there is no file, and {} of an earlier one is there", left.display());
        return Err(LedgerFault::Lost(text));
    }
    let unfinished = with_suffix(&file, &format!(".new-{}", std::process::id()));
    let unfinished = Unfinished::new(unfinished)?;
    make(&unfinished.0)?;
    let _lock = LedgerLock::of(path)?;
    if fs::metadata(&file).is_ok_and(|there| there.len() > 0) {
        // Another process has made it meanwhile.
        return Ok(());
    }
    for suffix in LOGS {
        let log = with_suffix(&canonical, suffix);
        if log.symlink_metadata().is_ok() {
            fs::rename(&log, with_suffix(&log, ".lost"))?;
        }
    }
    // The memory that processes shared says nothing without them.
    let _ = fs::remove_file(with_suffix(&canonical, "-shm"));
    fs::rename(&unfinished.0, &file)?;
    Ok(place::sync_folder_of(&file)?)
}

/// Writes a ledger without rows into a new file for its owner only.
fn make(file: &Path) -> Result<()> {
    place::private().create_new(true).open(file)?;
    let db = Connection::open(file)?;
    db.pragma_update(None, "page_size", format::PAGE_BYTES)?;
    db.pragma_update(None, "synchronous", "FULL")?;
    let transaction = db.unchecked_transaction()?;
    format::create(&transaction)?;
    transaction.commit()?;
    Ok(db.close().map_err(|(_, error)| error)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ledger_in, range, read, scratch};
    use crate::{CheckedLedger, check_file};

    #[test]
    fn an_emptied_or_lost_ledger_is_not_begun_anew_unless_that_is_asked_for() {
        for left in [None, Some("-wal"), Some("-journal"), Some("-lock"), Some("-keys")] {
            let (_folder, path) = scratch();
            match left {
                None => fs::write(&path, ""),
                Some("-keys") => fs::create_dir(with_suffix(&path, "-keys")),
                Some(left) => fs::write(with_suffix(&path, left), "what is left"),
            }
            .expect("it can be made");
            for opened in [CheckedLedger::open(&path).map(drop), make_ledger(&path, false)] {
                assert!(matches!(opened, Err(LedgerFault::Lost(_))), "{left:?}: {opened:?}");
            }
            let is_empty = || fs::metadata(&path).map_or(0, |file| file.len()) == 0;
            assert!(is_empty() && left.is_none_or(|left| with_suffix(&path, left).exists()));

            make_ledger(&path, true).expect("it is asked for");
            assert_eq!(read(&ledger_in(&path))[0].counted, 7, "{left:?}");
            make_ledger(&path, true).expect_err("there is a ledger");
        }
    }

    #[test]
    fn the_log_of_a_lost_ledger_is_set_aside_and_is_no_part_of_a_new_one() {
        let (folder, path) = scratch();
        ledger_in(&path).close().expect("it can be closed");
        let ledger = crate::tests::open(&path).expect("it is sound");
        ledger.apply(&[range(30, 40, 1)]).expect("it is written");
        drop(ledger);
        let log = fs::read(place::log(&path)).expect("it is left");
        fs::remove_file(&path).expect("it is there");
        let copy = crate::Draft::begin(&path).map(drop).expect_err("the log would be a part of it");
        assert!(copy.to_string().contains("-wal is there"), "{copy}");
        let merged = crate::join_ledgers(&[folder.path().to_owned()], &path);
        merged.expect_err("it is a folder");

        make_ledger(&path, true).expect("it is asked for");
        assert_eq!(check_file(&path).expect("it is sound"), crate::Contents::default());
        let lost = with_suffix(&place::log(&path), ".lost");
        assert!(fs::read(lost).expect("it is kept") == log);
    }

    #[test]
    fn a_ledger_that_cannot_be_made_leaves_no_file() {
        let (folder, path) = scratch();
        let blocking = with_suffix(&path, &format!(".new-{}", std::process::id()));
        fs::create_dir(&blocking).expect("it can be made");
        make_ledger(&path, false).expect_err("its place is taken");
        assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 1);
    }
}
