//! Files with secrets: nobody but their owner and their group may read them, and nobody ever reads half of one.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::ServiceError;
#[cfg(unix)]
use crate::mounted_secret::is_mounted_secret;

/// The folder of secrets beside a ledger: `farm.db-keys` for `farm.db`. Nothing in it is needed to check a
/// count, so that a ledger can be backed up and published without it.
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
    /// [`ServiceError::SecretFile`], if the folder or the file cannot be made, or if others may read the file.
    pub fn read_or_make(
        &self,
        name: &str,
        make: impl FnOnce() -> Vec<u8>,
    ) -> Result<Vec<u8>, ServiceError> {
        self.create()?;
        read_or_make(&self.path(name), make)
    }

    /// Makes the folder if there is none.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SecretFile`], if it cannot be made.
    pub fn create(&self) -> Result<(), ServiceError> {
        make_folder(&self.0).map_err(|error| fault(&self.0, &error))
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
    if !path.exists() {
        match write_new(path, &make()) {
            Ok(()) => tracing::debug!(path = %path.display(), "made a new secret"),
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(fault(path, &error)),
        }
    }
    read(path)
}

/// Reads the secret file at `path`.
///
/// # Errors
///
/// [`ServiceError::SecretFile`], if the file cannot be read, or if others may read it.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, ServiceError> {
    let contents = fs::read(path).map_err(|error| fault(path, &error))?;
    check_mode(path)?;
    Ok(contents)
}

/// Reads the text in the secret file at `path`.
///
/// # Errors
///
/// [`ServiceError::SecretFile`], if the file cannot be read, holds no text, or if others may read it.
pub(crate) fn read_text(path: &Path) -> Result<String, ServiceError> {
    String::from_utf8(read(path)?)
        .map_err(|_| ServiceError::SecretFile { path: path.into(), reason: "it is no text".into() })
}

/// Writes the file at `path`, which everybody may read, in the place of the one that may be there. A reader
/// finds the old text or the new.
pub(crate) fn replace_public(path: &Path, contents: &[u8]) -> io::Result<()> {
    write_through(path, contents, 0o644, |draft, path| fs::rename(draft, path))
}

/// Writes the secret file at `path`, in the place of the one that may be there.
///
/// # Errors
///
/// [`ServiceError::SecretFile`], if it cannot be written.
pub(crate) fn replace(path: &Path, contents: &[u8]) -> Result<(), ServiceError> {
    write_through(path, contents, OWNER_ONLY, |draft, path| fs::rename(draft, path))
        .map_err(|error| fault(path, &error))
}

fn fault(path: &Path, error: &io::Error) -> ServiceError {
    ServiceError::SecretFile { path: path.into(), reason: error.to_string() }
}

/// Writes a new file, so that a file that exists is whole and is never replaced.
fn write_new(path: &Path, contents: &[u8]) -> io::Result<()> {
    write_through(path, contents, OWNER_ONLY, |draft, path| {
        fs::hard_link(draft, path)?;
        fs::remove_file(draft)
    })
}

/// The mode of a file that only its owner may read and write.
const OWNER_ONLY: u32 = 0o600;

/// Writes a draft with `mode` beside `path`, and calls `publish` with the paths of both.
fn write_through(
    path: &Path,
    contents: &[u8],
    mode: u32,
    publish: fn(&Path, &Path) -> io::Result<()>,
) -> io::Result<()> {
    let mut draft = path.as_os_str().to_owned();
    // In containers every process has the same number.
    draft.push(format!(".{:016x}", rand::random::<u64>()));
    let draft = PathBuf::from(draft);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(not(unix))]
    let _ = mode;
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    let mut file = options.open(&draft)?;
    let written = file
        .write_all(contents)
        .and_then(|()| file.sync_all())
        .and_then(|()| publish(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Makes a folder that only its owner can enter, if there is none.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Refuses a secret file that other users can read, unless they are shut out of where it is mounted.
#[cfg(unix)]
pub(crate) fn check_mode(path: &Path) -> Result<(), ServiceError> {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(path).map_err(|error| fault(path, &error))?.permissions().mode();
    if mode & 0o007 == 0 || is_mounted_secret(path) {
        return Ok(());
    }
    let reason = format!(
        "other users may read it (mode {:o}); run `chmod 600 {}`, or give a container's secret the mode 0440",
        mode & 0o777,
        path.display()
    );
    Err(ServiceError::SecretFile { path: path.into(), reason })
}

#[cfg(not(unix))]
pub(crate) fn check_mode(_: &Path) -> Result<(), ServiceError> {
    Ok(())
}
