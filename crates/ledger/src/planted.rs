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
//!
//! In a user namespace, as a container of Apptainer has, Linux shows one number for all users whom
//! the namespace does not know, often root among them. Two files with that number may be of two
//! users, so that it is never the number of an allowed one. A process that has this number itself
//! cannot tell its own files from theirs, and trusts none.

#[cfg(unix)]
use std::fmt;
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
    let ledger = match usage {
        Use::Reads => fs::metadata(&file).ok(),
        Use::Writes => {
            check(&file, None, false)?;
            None
        }
    };
    let check_beside = |suffix| check(&with_suffix(&file, suffix), ledger.as_ref(), true);
    BESIDE.into_iter().try_for_each(check_beside)
}

/// Refuses a file in a folder that all users may write to, if its owner is neither allowed nor has
/// `also`. There need not be a file. If it is beside a ledger, it must have one name.
#[cfg(unix)]
fn check(file: &Path, also: Option<&Metadata>, is_beside: bool) -> io::Result<()> {
    let Some(folder) = shared_folder_of(file) else { return Ok(()) };
    let found = match fs::symlink_metadata(file) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let of_folder = rustix::process::geteuid().is_root().then_some(&folder);
    let mut allowed = also.into_iter().chain(of_folder);
    let reason = match owner_elsewhere(&found) {
        Some(owner) if !allowed.any(|other| owner.owns(other)) => {
            format!("{owner} owns {}", file.display())
        }
        _ if is_beside && found.nlink() > 1 => {
            format!("{} has {} names", file.display(), found.nlink())
        }
        _ => return Ok(()),
    };
    Err(io::Error::other(format!(
        "{reason}, and all users may make files in its folder: use a folder of yours"
    )))
}

/// The folder of a file, if all users may write to it.
#[cfg(unix)]
fn shared_folder_of(file: &Path) -> Option<Metadata> {
    fs::metadata(folder_of(file)).ok().filter(|folder| folder.mode() & 0o002 != 0)
}

/// An owner of a file who is not known to be this process's user or root.
#[cfg(unix)]
#[derive(Clone, Copy, Debug)]
pub struct OtherOwner {
    uid: u32,
    /// Whether the number is that of one user.
    is_known: bool,
}

#[cfg(unix)]
impl OtherOwner {
    /// Whether this user certainly owns another file, too.
    pub fn owns(self, file: &Metadata) -> bool {
        self.is_known && self.uid == file.uid()
    }
}

#[cfg(unix)]
impl fmt::Display for OtherOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uid = self.uid;
        match self.is_known {
            true => write!(f, "user {uid}"),
            false if uid == rustix::process::geteuid().as_raw() => write!(
                f,
                "one of the users who all are user {uid} in this container, as this process is (run it as another user),"
            ),
            false => write!(f, "root or another user, who all are user {uid} in this container,"),
        }
    }
}

/// The owner of a file, unless that is known to be this process's user or root.
#[cfg(unix)]
pub fn owner_elsewhere(found: &Metadata) -> Option<OtherOwner> {
    let uid = found.uid();
    let is_known = !stands_for_unknown_users(uid);
    let is_trusted = is_known && [0, rustix::process::geteuid().as_raw()].contains(&uid);
    (!is_trusted).then_some(OtherOwner { uid, is_known })
}

/// Whether Linux shows this number for all users whom this process's user namespace does not know.
/// The first namespace knows all.
#[cfg(unix)]
fn stands_for_unknown_users(uid: u32) -> bool {
    const ALL: &str = "4294967295";
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    read("/proc/sys/kernel/overflowuid").trim() == uid.to_string()
        && read("/proc/self/uid_map").split_whitespace().nth(2) != Some(ALL)
}

#[cfg(not(unix))]
pub(crate) fn check_planted(_: &Path, _: Use) -> io::Result<()> {
    Ok(())
}
