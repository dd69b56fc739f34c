//! Replaces files as a whole.
//!
//! A regular file is replaced in one step, and keeps its owner, where the system allows it. If the name is a link, the
//! link stays, and what it names is replaced or made. A pipe or a device is written to.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::os;

/// Writes `contents` to the file at `path`, all of it or nothing. Those who could read the file before can read it, if these
/// were only its owner and group; otherwise, and if it is new, its owner alone.
///
/// # Errors
///
/// The system's.
pub(crate) fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    if is_written_to(path) {
        return File::options().write(true).open(path)?.write_all(contents);
    }
    let (file, place) = written(path, contents)?;
    file.persist(place)?;
    Ok(())
}

/// Writes `contents` to a new file at `path` that only its owner can read, all of it or nothing.
///
/// # Errors
///
/// [`ErrorKind::AlreadyExists`], if there is one, and the system's.
pub(crate) fn make(path: &Path, contents: &[u8]) -> io::Result<()> {
    let (file, place) = written(path, contents)?;
    file.persist_noclobber(place)?;
    Ok(())
}

/// A durable [`draft`] with these contents.
fn written(path: &Path, contents: &[u8]) -> io::Result<(NamedTempFile, PathBuf)> {
    let (mut file, place) = draft(path)?;
    file.write_all(contents)?;
    file.as_file().sync_all()?;
    Ok((file, place))
}

/// Whether `path` names a pipe or a device.
fn is_written_to(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|before| !before.is_file() && !before.is_dir())
}

/// A new file to take the place of what `path` names, and where that is. It is removed with the value.
fn draft(path: &Path) -> io::Result<(NamedTempFile, PathBuf)> {
    let place = behind_links(path)?;
    let file = tempfile::Builder::new().prefix(".queens-").tempfile_in(os::folder_of(&place));
    // The text of the error would name the temporary file.
    let file = file.map_err(|error| match error.kind() {
        ErrorKind::NotFound => io::Error::new(ErrorKind::NotFound, "its folder is not there"),
        kind => kind.into(),
    })?;
    if let Ok(before) = fs::metadata(&place) {
        // With another group, the mode of before would let others read it.
        let is_given = os::give(file.as_file(), &before);
        if is_given && os::check_mode(&before, &place).is_ok() {
            file.as_file().set_permissions(before.permissions())?;
        }
    }
    Ok((file, place))
}

/// The file that `path` names behind all links. It need not exist yet.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    /// As many as Linux follows.
    const MOST: usize = 40;
    let mut place = path.to_path_buf();
    for _ in 0..MOST {
        match fs::read_link(&place) {
            Ok(named) => place = os::folder_of(&place).join(named),
            Err(_) => return Ok(place),
        }
    }
    Err(io::Error::other("its links lead in a circle"))
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
        assert_eq!(
            make(&path, b"third").map_err(|error| error.kind()),
            Err(ErrorKind::AlreadyExists)
        );
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
