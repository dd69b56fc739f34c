//! Files that are written whole: secrets, and others. Only their owner and their group may read a
//! secret, and a reader never finds half of a file.
//!
//! A regular file is replaced in one step, and the new one gets the owner of the old one where the
//! system allows it. If the name is a link, the link stays, and the file that it leads to is
//! replaced or made, unless another user made the link. A pipe or a device is written to.
//!
//! A secret is read or written only where no other user can have planted something in its place:
//!
//! | what | must |
//! |---|---|
//! | the file, the pipe or the device | belong to this process's user or to root |
//! | a file that is read | be regular, and have one name; only its group may read or write it, too |
//! | a pipe | let no others read it |
//! | a link on the way, in a folder to which all users may write | belong to this process's user or to root |
//! | a folder to which all users may write | be sticky, as `/tmp` is, and belong to this process's user or to root |
//!
//! The secrets that Kubernetes and Docker mount are files and links of root. Root may also read a
//! file whose owner has the folder, too: it runs `queens jobs` with the join file of a service. A
//! number that stands for many users, as in a user namespace, is nobody's (`ledger::OtherOwner`).

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use ledger::{behind_links, folder_of};
use tempfile::NamedTempFile;

use crate::ServiceError;
use crate::os::{self, check_mode};

/// Reads the secret file at `path`, or makes it with the contents that `make` returns.
pub(crate) fn read_or_make(
    path: &Path,
    make: impl FnOnce() -> Vec<u8>,
) -> Result<Vec<u8>, ServiceError> {
    if let Some(contents) = read(path)? {
        return Ok(contents);
    }
    let made =
        draft(path, &make(), true).and_then(|(file, place)| Ok(file.persist_noclobber(place)?));
    match made {
        Ok(_) => tracing::debug!(path = %path.display(), "made a new secret"),
        // Another process was faster.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(ServiceError::secret_file(path, error)),
    }
    read(path)?.ok_or_else(|| missing(path))
}

/// Reads the secret file at `path`; `None` if there is none.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, ServiceError> {
    // A network file system reports the second one for a file that was replaced just now.
    const ABSENT: [ErrorKind; 2] = [ErrorKind::NotFound, ErrorKind::StaleNetworkFileHandle];
    match contents(path) {
        Ok(contents) => Ok(Some(contents)),
        Err(error) if ABSENT.contains(&error.kind()) => Ok(None),
        Err(error) => Err(ServiceError::secret_file(path, error)),
    }
}

fn contents(path: &Path) -> io::Result<Vec<u8>> {
    const MOST_BYTES: u64 = 64 << 10;
    let place = behind_own_links(path)?;
    let file = evidence::open_file_itself(&place)?;
    let found = file.metadata()?;
    os::check_secret(&found, &place)?;
    check_mode(&found, path)?;
    let mut contents = Vec::new();
    if file.take(MOST_BYTES + 1).read_to_end(&mut contents)? as u64 > MOST_BYTES {
        return Err(io::Error::other("it has more than 64 KiB, so that it is no secret"));
    }
    Ok(contents)
}

/// Writes `contents` to the file at `path`, all of it or nothing. If the file could be read only by
/// its owner and its group before, both can still read it. Otherwise, and if it is new, only its
/// owner can.
pub(super) fn replace(path: &Path, contents: &[u8]) -> Result<(), ServiceError> {
    let replaced = if is_pipe_or_device(path) {
        behind_own_links(path).and_then(|_| {
            let mut file = os::open_to_write(path)?;
            os::check_stream(&file.metadata()?)?;
            file.write_all(contents)
        })
    } else {
        draft(path, contents, true).and_then(|(file, place)| Ok(file.persist(place).map(drop)?))
    };
    replaced.map_err(|error| ServiceError::secret_file(path, error))
}

/// Writes `contents`, which are no secret, to the file at `path`, all of it or nothing. A new file
/// has the mode of any new file, and an existing one keeps its own. No link that another user made
/// is followed. The error does not name the file.
pub fn write_file(path: &Path, contents: &[u8]) -> io::Result<()> {
    if is_pipe_or_device(path) {
        behind_own_links(path)?;
        return os::open_to_write(path)?.write_all(contents);
    }
    let (file, place) = draft(path, contents, false)?;
    Ok(file.persist(place).map(drop)?)
}

fn is_pipe_or_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|before| !before.is_file() && !before.is_dir())
}

/// The file that `path` names behind all links, also of its folders. It need not exist yet.
///
/// # Errors
///
/// Another user made one of the links, or they lead in a circle.
pub(super) fn behind_own_links(path: &Path) -> io::Result<PathBuf> {
    behind_links(path, os::check_link)
}

/// The error about a secret file that is not there.
pub(super) fn missing(path: &Path) -> ServiceError {
    ServiceError::secret_file(path, "No such file or directory")
}

/// A new, durable file with these contents beside the file that it is to replace, and the path of
/// that file, which is `path` with its links followed. The new file is removed if the value is
/// dropped.
fn draft(path: &Path, contents: &[u8], is_secret: bool) -> io::Result<(NamedTempFile, PathBuf)> {
    let place = behind_own_links(path)?;
    // What is there may be another file a moment later. Only this answer is checked and used.
    let before = fs::symlink_metadata(&place).ok();
    let before = match is_secret {
        true => os::check_replaced(before, &place)?,
        false => before.filter(fs::Metadata::is_file),
    };
    let mut builder = tempfile::Builder::new();
    if !is_secret {
        os::let_others_read(&mut builder);
    }
    let file = builder.prefix(".queens-").tempfile_in(folder_of(&place));
    let mut file = file.map_err(|error| match error.kind() {
        ErrorKind::NotFound => io::Error::new(ErrorKind::NotFound, "its folder is not there"),
        kind => {
            let text = error.to_string();
            // The text goes on with the name of the temporary file.
            io::Error::new(kind, text.split(" at path ").next().unwrap_or_default())
        }
    })?;
    if let Some(before) = before {
        // If the file has got another group, the earlier mode would let that group read it.
        let is_given = os::give(file.as_file(), &before);
        if is_given && (!is_secret || check_mode(&before, &place).is_ok()) {
            file.as_file().set_permissions(before.permissions())?;
        }
    }
    file.write_all(contents)?;
    file.as_file().sync_all()?;
    Ok((file, place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regular_file_is_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("file");
        for text in ["first", "second"] {
            replace(&path, text.as_bytes()).expect("it can be written");
            assert_eq!(fs::read_to_string(&path).expect("it is there"), text);
        }
        let kept = read_or_make(&path, || b"third".into()).expect("it can be read");
        assert_eq!(kept, b"second");
        assert_eq!(fs::read_dir(&folder).expect("it is there").count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_and_modes_that_others_may_read_go() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().expect("a temporary folder");
        let [file, link, next] = ["file", "link", "next"].map(|name| folder.path().join(name));
        symlink("file", &link).expect("links can be made");
        symlink("link", &next).expect("links can be made");
        let mode = || fs::metadata(&file).expect("it is there").permissions().mode() & 0o777;

        // What they name is not there yet.
        replace(&next, b"secret").expect("it can be written");
        assert_eq!((fs::read(&file).expect("it is there"), mode()), (b"secret".to_vec(), 0o600));
        for (before, after) in [(0o640, 0o640), (0o644, 0o600)] {
            fs::set_permissions(&file, fs::Permissions::from_mode(before)).expect("it is ours");
            replace(&next, b"secret").expect("it can be written");
            assert_eq!(mode(), after);
        }
        assert!(link.is_symlink() && next.is_symlink());

        fs::remove_file(&file).expect("it is ours");
        symlink("next", &file).expect("links can be made");
        replace(&link, b"").expect_err("they lead in a circle");
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_written_to_and_stays() {
        use std::os::unix::fs::FileTypeExt as _;
        let device = Path::new("/dev/null");
        replace(device, b"nothing").expect("it takes everything");
        assert!(fs::metadata(device).expect("it is there").file_type().is_char_device());
    }

    /// Another user's number.
    #[cfg(unix)]
    const OTHER: Option<u32> = Some(4_711);

    #[cfg(unix)]
    fn is_root() -> bool {
        let is_root = rustix::process::geteuid().is_root();
        if !is_root {
            println!("left out: only root can give a file to another user");
        }
        is_root
    }

    /// What another user plants in a folder to which all users may write. `ours` is a secret file
    /// of this user there, and `folder/secret` is another. Each case has the name of the secret
    /// that is asked for, why it is refused, and the commands that plant it.
    #[cfg(unix)]
    const PLANTED: [(&str, &str, &str); 10] = [
        ("secret", "user 4711 owns it", "umask 77; echo planted > secret; chown 4711:4711 secret"),
        ("secret", "user 4711 owns it", "umask 27; echo planted > secret; chown 4711:0 secret"),
        ("secret", "user 4711 made the link", "ln -s ours secret; chown -h 4711 secret"),
        // It leads to nothing yet.
        ("secret", "user 4711 made the link", "ln -s nothing secret; chown -h 4711 secret"),
        ("one", "user 4711 made the link", "ln -s two one; ln -s ours two; chown -h 4711 two"),
        ("link/secret", "user 4711 made the link", "ln -s folder link; chown -h 4711 link"),
        ("folder/secret", "chmod +t", "chmod 757 folder"),
        ("folder/secret", "user 4711 owns its folder", "chown 4711 folder; chmod 1777 folder"),
        ("pipe", "user 4711 owns it", "mkfifo -m 600 pipe; chown 4711 pipe"),
        ("pipe", "other users cannot read", "mkfifo -m 644 pipe"),
    ];

    #[cfg(unix)]
    #[test]
    fn what_another_user_may_have_planted_is_neither_read_nor_written() {
        if !is_root() {
            return;
        }
        for (name, reason, plant) in PLANTED {
            let root = tempfile::tempdir().expect("a temporary folder");
            let ours = [root.path().join("ours"), root.path().join("folder/secret")];
            fs::create_dir(root.path().join("folder")).expect("it is new");
            for path in &ours {
                replace(path, b"ours").expect("it is new");
            }
            let plant = format!("chmod 1777 .; {plant}");
            let mut shell = std::process::Command::new("sh");
            let planted = shell.args(["-ec", &plant]).current_dir(&root).status();
            assert!(planted.expect("a shell runs").success(), "{plant}");
            let path = root.path().join(name);
            // Something reads the pipe, so that it could be written to.
            let reader = fs::File::options().read(true).write(true).open(&path);
            for refused in [
                read(&path).map(drop).err(),
                read_or_make(&path, || b"made".into()).map(drop).err(),
                replace(&path, b"written").err(),
            ] {
                let refused = refused.unwrap_or_else(|| panic!("{name}: {reason}")).to_string();
                let is_pipe = refused.contains("no regular file");
                assert!(refused.contains(reason) || is_pipe, "{name}: {reason}: {refused}");
            }
            drop(reader);
            for path in &ours {
                assert_eq!(fs::read(path).expect("it is there"), b"ours", "{name}: {reason}");
            }
            assert!(!root.path().join("nothing").exists());
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_secret_with_two_names_is_not_read_and_the_name_gets_a_new_file() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let [ours, planted] = ["ours", "planted"].map(|name| root.path().join(name));
        replace(&ours, b"ours").expect("it is new");
        fs::hard_link(&ours, &planted).expect("links can be made");
        let refused = read(&planted).expect_err("it has two names").to_string();
        assert!(refused.contains("2 names"), "{refused}");

        replace(&planted, b"new").expect("it is ours");

        assert_eq!(read(&ours).expect("it has one name"), Some(b"ours".into()));
        assert_eq!(read(&planted).expect("it has one name"), Some(b"new".into()));
    }

    /// The name leads by turns to nothing and to another user's file.
    #[cfg(unix)]
    #[test]
    fn a_secret_is_given_to_nobody_who_plants_a_file_while_it_is_written() {
        use std::os::unix::fs::{MetadataExt as _, chown};
        use std::sync::atomic::{AtomicBool, Ordering};
        if !is_root() {
            return;
        }
        let root = tempfile::tempdir().expect("a temporary folder");
        let [path, theirs] = ["secret", "theirs"].map(|name| root.path().join(name));
        fs::write(&theirs, "planted").expect("it is new");
        chown(&theirs, OTHER, OTHER).expect("it needs root");
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    fs::rename(&theirs, &path).expect("it is theirs");
                    fs::rename(&path, &theirs).expect("it is theirs");
                }
            });
            let drafts = (0..2_000).filter_map(|_| draft(&path, b"secret", true).ok());
            let owners: Vec<u32> = drafts
                .map(|(file, _)| file.as_file().metadata().expect("it is open").uid())
                .collect();
            is_over.store(true, Ordering::Relaxed);
            assert!(!owners.is_empty() && owners.iter().all(|owner| *owner == 0), "{owners:?}");
        });
    }

    /// The group of the file that has two names may be another user's choice.
    #[cfg(unix)]
    #[test]
    fn a_new_secret_takes_the_group_of_a_file_with_one_name_only() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt, chown};
        if !is_root() {
            return;
        }
        let root = tempfile::tempdir().expect("a temporary folder");
        let [ours, planted] = ["ours", "planted"].map(|name| root.path().join(name));
        replace(&ours, b"ours").expect("it is new");
        chown(&ours, None, OTHER).expect("it needs root");
        fs::set_permissions(&ours, PermissionsExt::from_mode(0o640)).expect("it is ours");
        let access = |path| {
            let found = fs::metadata(path).expect("it is there");
            (found.gid(), found.mode() & 0o777)
        };
        replace(&ours, b"again").expect("it is ours");
        assert_eq!(access(&ours), (4_711, 0o640));
        fs::hard_link(&ours, &planted).expect("links can be made");
        replace(&planted, b"new").expect("it is ours");
        let (group, mode) = access(&planted);
        assert!(group != 4_711 && mode == 0o600, "{group} {mode:o}");
    }

    #[cfg(unix)]
    #[test]
    fn root_reads_the_secret_of_a_service_in_the_folder_of_that_service() {
        use std::os::unix::fs::chown;
        if !is_root() {
            return;
        }
        let root = tempfile::tempdir().expect("a temporary folder");
        let path = root.path().join("join");
        replace(&path, b"of the service").expect("it is new");
        chown(&path, OTHER, OTHER).expect("it needs root");
        read(&path).expect_err("it lies in a folder of root");
        chown(root.path(), OTHER, OTHER).expect("it needs root");
        assert_eq!(read(&path).expect("it is the service's"), Some(b"of the service".into()));
        replace(&path, b"of root").expect_err("the service could not read it any more");
    }
}
