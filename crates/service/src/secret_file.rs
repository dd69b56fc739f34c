//! Files with secrets: nobody but their owner and their group may read them, and nobody ever reads half of one.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::{ServiceError, Token};

/// The folder of secrets beside a ledger: `farm.db-keys` for `farm.db`. Nothing in it is needed to check a
/// count, so that a ledger can be backed up and published without it. It belongs to the process's user or to root, and
/// other users cannot enter it.
#[derive(Clone, Debug)]
pub struct KeyFolder(PathBuf);

impl KeyFolder {
    /// The folder for the ledger at `ledger`. It is made when the first secret is.
    #[must_use]
    pub fn beside(ledger: &Path) -> KeyFolder {
        let mut folder = ledger.as_os_str().to_owned();
        folder.push("-keys");
        KeyFolder(folder.into())
    }

    /// The path of the secret `name`.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Reads the secret `name`, or makes it with the contents that `make` returns.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SecretFile`], if the folder or the file cannot be made, or if others may read them.
    pub fn read_or_make(
        &self,
        name: &str,
        make: impl FnOnce() -> Vec<u8>,
    ) -> Result<Vec<u8>, ServiceError> {
        self.create()?;
        read_or_make(&self.path(name), make)
    }

    /// Reads the token `name`, or makes it.
    ///
    /// # Errors
    ///
    /// Those of [`KeyFolder::read_or_make`].
    pub fn token(&self, name: &str) -> Result<Token, ServiceError> {
        self.create()?;
        Token::read_or_make(&self.path(name))
    }

    fn create(&self) -> Result<(), ServiceError> {
        let made = make_folder(&self.0).and_then(|()| self.check());
        made.map_err(|error| fault(&self.0, &error))
    }

    #[cfg(unix)]
    fn check(&self) -> io::Result<()> {
        use std::os::unix::fs::MetadataExt;
        let (folder, own) = (fs::metadata(&self.0)?, rustix::process::geteuid().as_raw());
        if ![0, own].contains(&folder.uid()) {
            return Err(io::Error::other(format!("user {} owns the folder", folder.uid())));
        }
        if folder.mode() & 0o007 != 0 {
            let path = self.0.display();
            let reason = format!("other users may enter the folder; run `chmod o= {path}`");
            return Err(io::Error::other(reason));
        }
        Ok(())
    }

    #[cfg(not(unix))]
    fn check(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads the secret file at `path`, or makes it with the contents that `make` returns.
///
/// # Errors
///
/// [`ServiceError::SecretFile`], if the file cannot be made or read, or if others may read it.
pub(crate) fn read_or_make(
    path: &Path,
    make: impl FnOnce() -> Vec<u8>,
) -> Result<Vec<u8>, ServiceError> {
    if let Some(contents) = read(path)? {
        return Ok(contents);
    }
    let made = draft(path, &make(), OWNER_ONLY)
        .and_then(|draft| draft.persist_noclobber(path).map_err(|error| error.error));
    match made {
        Ok(_) => tracing::debug!(path = %path.display(), "made a new secret"),
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(fault(path, &error)),
    }
    read(path)?.ok_or_else(|| missing(path))
}

/// Reads the secret file at `path`; `None` if there is none.
///
/// # Errors
///
/// [`ServiceError::SecretFile`], if the file cannot be read, is larger than any secret, or if others may read it.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, ServiceError> {
    const MOST_BYTES: u64 = 64 << 10;
    let file = match File::open(path) {
        // The second is what a network file system says of a file that was replaced just now.
        Err(error)
            if [io::ErrorKind::NotFound, io::ErrorKind::StaleNetworkFileHandle]
                .contains(&error.kind()) =>
        {
            return Ok(None);
        }
        opened => opened.map_err(|error| fault(path, &error))?,
    };
    let mut contents = Vec::new();
    let read =
        check_mode(&file, path).and_then(|()| file.take(MOST_BYTES + 1).read_to_end(&mut contents));
    match read {
        Err(error) => Err(fault(path, &error)),
        Ok(bytes) if bytes as u64 > MOST_BYTES => {
            Err(fault(path, &io::Error::other("it has more than 64 KiB, so that it is no secret")))
        }
        Ok(_) => Ok(Some(contents)),
    }
}

/// Writes the file at `path`, which everybody may read, in the place of the one that may be there. A reader
/// finds the old text or the new.
///
/// # Errors
///
/// [`ServiceError::SecretFile`], if it cannot be written.
pub(crate) fn replace_public(path: &Path, contents: &[u8]) -> Result<(), ServiceError> {
    replace_with(path, contents, 0o644)
}

/// Writes the secret file at `path`, in the place of the one that may be there.
///
/// # Errors
///
/// [`ServiceError::SecretFile`], if it cannot be written.
pub(crate) fn replace(path: &Path, contents: &[u8]) -> Result<(), ServiceError> {
    replace_with(path, contents, OWNER_ONLY)
}

fn replace_with(path: &Path, contents: &[u8], mode: u32) -> Result<(), ServiceError> {
    draft(path, contents, mode)
        .and_then(|draft| draft.persist(path).map_err(|error| error.error))
        .map_err(|error| fault(path, &error))?;
    Ok(())
}

/// The error about a secret file that is not there.
pub(crate) fn missing(path: &Path) -> ServiceError {
    fault(path, &io::Error::new(io::ErrorKind::NotFound, "No such file or directory"))
}

fn fault(path: &Path, error: &io::Error) -> ServiceError {
    ServiceError::SecretFile { path: path.into(), reason: error.to_string() }
}

/// The mode of a file that only its owner may read and write.
const OWNER_ONLY: u32 = 0o600;

/// A file beside `path`, on disk, that has its contents and no name to last.
fn draft(path: &Path, contents: &[u8], mode: u32) -> io::Result<tempfile::NamedTempFile> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let mut options = tempfile::Builder::new();
    #[cfg(unix)]
    options.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    let _ = mode;
    let mut draft = options.tempfile_in(folder.unwrap_or(Path::new(".")))?;
    draft.write_all(contents)?;
    draft.as_file().sync_all()?;
    Ok(draft)
}

/// Makes a folder that only its owner can enter, if there is none.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Refuses a secret file that other users can read.
#[cfg(unix)]
fn check_mode(file: &File, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = file.metadata()?.permissions().mode();
    if mode & 0o007 == 0 {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "other users may read it (mode {:o}); run `chmod 600 {}`, or give a container's secret the mode 0440",
        mode & 0o777,
        path.display()
    )))
}

#[cfg(not(unix))]
fn check_mode(_: &File, _: &Path) -> io::Result<()> {
    Ok(())
}
