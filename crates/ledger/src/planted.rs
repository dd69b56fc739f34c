//! What another user of the machine may have planted in the place of a ledger, or beside it.
//!
//! In a folder such as `/tmp`, all users make files, and SQLite takes what it finds beside a ledger
//! for a part of it. Whoever makes `FILE-wal` or `FILE-journal` beforehand writes the ledger.
//! Therefore the owners of these files are checked in a folder that all users may write to:
//!
//! | a command that | the owner of | must be |
//! |---|---|---|
//! | writes | the ledger, each file beside it, each link to it | this process's user or root; for root also the owner of the folder |
//! | reads | each file beside the ledger | one of these, or the owner of the ledger |
//!
//! A file beside the ledger must also have one name. The folder need not be sticky: whoever
//! replaces a file there shows the own number, and volumes of containers have the mode 0777. In
//! other folders nothing is checked, because there are file systems that show other owners than the
//! real ones.

#[cfg(unix)]
use std::fs::{self, Metadata};
use std::io;
#[cfg(unix)]
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

#[cfg(unix)]
use super::place::{BESIDE, behind_links, folder_of, with_suffix};

/// What a command does with a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Reads,
    Writes,
}

/// Refuses the ledger at `path`, which need not be there, if another user may have planted it or a
/// file beside it.
#[cfg(unix)]
pub(crate) fn check_planted(path: &Path, usage: Use) -> io::Result<()> {
    let check_link = |link: &Path| match usage {
        Use::Reads => Ok(()),
        Use::Writes => check(link, None, false),
    };
    let file = behind_links(path, check_link)?;
    let owner = match usage {
        Use::Reads => fs::metadata(&file).ok().map(|ledger| ledger.uid()),
        Use::Writes => {
            check(&file, None, false)?;
            None
        }
    };
    BESIDE.iter().try_for_each(|suffix| check(&with_suffix(&file, suffix), owner, true))
}

/// Refuses a file in a folder that all users may write to, if its owner is neither allowed nor
/// `also`. There need not be a file. If it is beside a ledger, it must have one name.
#[cfg(unix)]
fn check(file: &Path, also: Option<u32>, is_beside: bool) -> io::Result<()> {
    let Some(folder) = shared_folder_of(file) else { return Ok(()) };
    let found = match fs::symlink_metadata(file) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let of_folder = rustix::process::geteuid().is_root().then(|| folder.uid());
    let reason = match owner_elsewhere(&found) {
        Some(owner) if ![also, of_folder].contains(&Some(owner)) => {
            format!("user {owner} owns {}", file.display())
        }
        _ if is_beside && found.nlink() > 1 => {
            format!("{} has {} names", file.display(), found.nlink())
        }
        _ => return Ok(()),
    };
    Err(io::Error::other(format!("{reason}, and all users may make files in its folder")))
}

/// The folder of a file, if all users may write to it.
#[cfg(unix)]
fn shared_folder_of(file: &Path) -> Option<Metadata> {
    fs::metadata(folder_of(file)).ok().filter(|folder| folder.mode() & 0o002 != 0)
}

/// The owner of a file, if that is neither this process's user nor root.
#[cfg(unix)]
pub fn owner_elsewhere(found: &Metadata) -> Option<u32> {
    let owner = found.uid();
    (![0, rustix::process::geteuid().as_raw()].contains(&owner)).then_some(owner)
}

#[cfg(not(unix))]
pub(crate) fn check_planted(_: &Path, _: Use) -> io::Result<()> {
    Ok(())
}
