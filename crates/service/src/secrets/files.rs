//! Files that are written whole: secrets, and others. Only their owner and their group may read a
//! secret, and a reader never finds half of a file.
//!
//! A regular file is replaced in one step, and the new one gets the owner of the old one where the
//! system allows it. If the name is a link, the link stays, and the file that it leads to is
//! replaced or made. A pipe or a device is written to.

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
    let file = evidence::open_file(path)?;
    check_mode(&file.metadata()?, path)?;
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
        os::open_to_write(path).and_then(|mut file| file.write_all(contents))
    } else {
        draft(path, contents, true).and_then(|(file, place)| Ok(file.persist(place).map(drop)?))
    };
    replaced.map_err(|error| ServiceError::secret_file(path, error))
}

/// Writes `contents`, which are no secret, to the file at `path`, all of it or nothing. A new file
/// has the mode of any new file, and an existing one keeps its own. The error does not name the
/// file.
pub fn write_file(path: &Path, contents: &[u8]) -> io::Result<()> {
    if is_pipe_or_device(path) {
        return fs::write(path, contents);
    }
    let (file, place) = draft(path, contents, false)?;
    Ok(file.persist(place).map(drop)?)
}

fn is_pipe_or_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|before| !before.is_file() && !before.is_dir())
}

/// The error about a secret file that is not there.
pub(super) fn missing(path: &Path) -> ServiceError {
    ServiceError::secret_file(path, "No such file or directory")
}

/// A new, durable file with these contents beside the file that it is to replace, and the path of
/// that file, which is `path` with its links followed. The new file is removed if the value is
/// dropped.
fn draft(path: &Path, contents: &[u8], is_secret: bool) -> io::Result<(NamedTempFile, PathBuf)> {
    let place = behind_links(path)?;
    let mut builder = tempfile::Builder::new();
    if !is_secret {
        os::let_others_read(&mut builder);
    }
    let file = builder.prefix(".queens-").tempfile_in(folder_of(&place));
    // The text of the error would name the temporary file.
    let mut file = file.map_err(|error| match error.kind() {
        ErrorKind::NotFound => io::Error::new(ErrorKind::NotFound, "its folder is not there"),
        kind => kind.into(),
    })?;
    if let Ok(before) = fs::metadata(&place) {
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
}
