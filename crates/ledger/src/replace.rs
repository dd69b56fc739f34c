//! A mirror takes the place of an earlier copy, whatever ends the process meanwhile.
//!
//! ```text
//!   FILE, FILE-wal    FILE.incoming, FILE.incoming-log                the earlier copy
//!   FILE, FILE-wal    FILE.incoming, FILE.incoming-log, FILE.whole    the earlier copy
//!   FILE              FILE.incoming, FILE.incoming-log, FILE.whole    no ledger, unless the earlier one was closed
//!   FILE                             FILE.incoming-log, FILE.whole    no ledger
//!   FILE, FILE-wal                                      FILE.whole    the mirror
//!   FILE, FILE-wal                                                    the mirror
//! ```
//!
//! What is no ledger is refused by whoever opens it, and becomes the mirror. An earlier copy that is still there stays,
//! because somebody may have used it since.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::LedgerFault;
use crate::place::{Place, log, private, sync_folder_of, with_suffix};
use crate::takeover::step_down;

/// The file of a mirror that is not whole yet.
pub(crate) const INCOMING: &str = ".incoming";
/// Its log.
pub(crate) const INCOMING_LOG: &str = ".incoming-log";
/// Says that both of them are whole.
const WHOLE: &str = ".whole";

/// One line of the picture after the other. What was done before may be done again.
const STEPS: [fn(&Path) -> io::Result<()>; 6] = [
    |path| private().create(true).truncate(true).open(with_suffix(path, WHOLE)).map(drop),
    |path| match with_suffix(path, INCOMING).try_exists()? {
        // A file without its log is refused, and a log of another file would be worse.
        true => [log(path), with_suffix(path, "-shm")].iter().try_for_each(remove),
        false => Ok(()),
    },
    |path| rename(with_suffix(path, INCOMING), path.into()),
    |path| rename(with_suffix(path, INCOMING_LOG), log(path)),
    step_down,
    |path| remove(&with_suffix(path, WHOLE)),
];

/// The mirror whose two files are on disk takes the place of the copy in the file `path`.
///
/// # Errors
///
/// The system's. [`mend`] goes on later.
pub(crate) fn replace(path: &Path) -> io::Result<()> {
    take(path, &STEPS)
}

/// Goes on where a process was killed within [`replace`]. The lock of the file must be held.
///
/// # Errors
///
/// The system's.
pub(crate) fn mend(path: &Path) -> Result<(), LedgerFault> {
    if !is_half_replaced(path)? {
        return Ok(());
    }
    let is_earlier = path.try_exists()? && with_suffix(path, INCOMING).try_exists()?;
    if is_earlier && Place::check(path).is_ok() {
        return Ok(remove(&with_suffix(path, WHOLE))?);
    }
    Ok(replace(path)?)
}

/// Whether a process was killed within [`replace`], and nobody has mended that.
///
/// # Errors
///
/// The system's, if it cannot tell.
pub(crate) fn is_half_replaced(path: &Path) -> io::Result<bool> {
    with_suffix(path, WHOLE).try_exists()
}

fn take(path: &Path, steps: &[fn(&Path) -> io::Result<()>]) -> io::Result<()> {
    steps.iter().try_for_each(|step| {
        step(path)?;
        // Otherwise a power cut could leave what a later step has done, and not this one.
        sync_folder_of(path)
    })
}

pub(crate) fn remove(path: &PathBuf) -> io::Result<()> {
    unless_done(fs::remove_file(path))
}

fn rename(from: PathBuf, to: PathBuf) -> io::Result<()> {
    unless_done(fs::rename(from, to))
}

fn unless_done(done: io::Result<()>) -> io::Result<()> {
    done.or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })
}

#[cfg(test)]
mod tests {
    use farm::RestoredJob;
    use tempfile::TempDir;

    use super::*;
    use crate::tests::{ledger_in, range, read};
    use crate::{CheckedLedger, Mirror, leads, take_over};

    /// A copy that leads, and a mirror beside it that has more.
    struct Both {
        folder: TempDir,
        copy: PathBuf,
        earlier: [RestoredJob; 1],
        later: [RestoredJob; 1],
    }

    impl Both {
        fn new() -> Both {
            let folder = TempDir::new().expect("a temporary directory");
            let copy = folder.path().join("copy.db");
            let ledger = ledger_in(&folder.path().join("ledger.db"));
            let earlier = read(&ledger);
            drop(ledger);
            Both::put(folder.path(), ["copy.db", "copy.db-wal"]);
            fs::write(with_suffix(&copy, "-leads"), "").expect("it can be written");
            let ledger = CheckedLedger::open_again(&folder.path().join("ledger.db"));
            let ledger = ledger.and_then(CheckedLedger::begin).expect("it is sound");
            ledger.apply(&[range(90, 91, 5)]).expect("it is written");
            let later = read(&ledger);
            drop(ledger);
            Both::put(folder.path(), ["copy.db.incoming", "copy.db.incoming-log"]);
            Both { folder, copy, earlier, later }
        }

        /// The ledger, in two files of these names.
        fn put(folder: &Path, names: [&str; 2]) {
            for (from, to) in ["ledger.db", "ledger.db-wal"].iter().zip(names) {
                fs::copy(folder.join(from), folder.join(to)).expect("it is there");
            }
        }
    }

    #[test]
    fn a_process_that_is_killed_while_it_replaces_a_copy_leaves_one_of_both() {
        let mut replaced = Vec::new();
        for steps in 0..=STEPS.len() {
            for standby in [true, false] {
                let both = Both::new();
                take(&both.copy, &STEPS[..steps]).expect("it can be written");
                let mut led = None;
                if standby {
                    let mirror = Mirror::of(&both.copy).expect("it goes on by itself");
                    led = Some(mirror.led().is_some());
                }
                let is_led = leads(&both.copy).expect("it can tell");
                let jobs = read(&take_over(&both.copy).expect("it is a ledger"));
                let is_later = jobs == both.later;
                assert!(is_later || jobs == both.earlier, "after {steps} steps: {jobs:?}");
                if standby {
                    assert_eq!((led, is_led), (Some(!is_later), !is_later), "after {steps} steps");
                    replaced.push(is_later);
                }
                assert!(!with_suffix(&both.copy, WHOLE).exists());
                drop(both.folder);
            }
        }
        assert_eq!(replaced, [false, false, true, true, true, true, true]);
    }

    #[test]
    fn a_copy_that_is_half_replaced_is_refused_and_says_who_mends_it() {
        for steps in [2, 3] {
            let both = Both::new();
            take(&both.copy, &STEPS[..steps]).expect("it can be written");
            let fault = CheckedLedger::open(&both.copy).expect_err("it is no ledger").to_string();
            assert!(fault.contains("`queens promote"), "after {steps} steps: {fault}");
            assert!(!fault.contains("make an empty"), "after {steps} steps: {fault}");
        }
    }
}
