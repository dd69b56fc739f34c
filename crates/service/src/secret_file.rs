//! Files with secrets. Only their owner and their group may read them, and a reader never finds half of one.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::os::{check_mode, check_owner, make_folder};
use crate::whole_file;
use crate::{ServiceError, Token};

/// The folder of secrets beside a ledger: `farm.db-keys` for `farm.db`. Nothing in it is needed to check a
/// count, so that a ledger can be backed up and published without it. It belongs to the process's user or to root, and
/// other users cannot enter it.
#[derive(Clone, Debug)]
pub struct KeyFolder(PathBuf);

impl KeyFolder {
    /// The file of the coordinator's own token, where no other one is named.
    pub const OWN_TOKEN: &str = "token";

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

    fn create(&self) -> Result<(), ServiceError> {
        let made = make_folder(&self.0)
            .and_then(|()| fs::metadata(&self.0))
            .and_then(|folder| check_owner(&folder).and_then(|()| check_mode(&folder, &self.0)));
        made.map_err(|error| fault(&self.0, &error))
    }
}

/// A text without what editors and copying leave around it: blanks, ends of lines and a byte order mark.
pub(crate) fn bare(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
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
    match whole_file::make(path, &make()) {
        Ok(()) => tracing::debug!(path = %path.display(), "made a new secret"),
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
    let read = file
        .metadata()
        .and_then(|found| check_mode(&found, path))
        .and_then(|()| file.take(MOST_BYTES + 1).read_to_end(&mut contents));
    match read {
        Err(error) => Err(fault(path, &error)),
        Ok(bytes) if bytes as u64 > MOST_BYTES => {
            Err(fault(path, &io::Error::other("it has more than 64 KiB, so that it is no secret")))
        }
        Ok(_) => Ok(Some(contents)),
    }
}

/// Writes the secret file at `path`, in the place of the one that may be there.
///
/// # Errors
///
/// [`ServiceError::SecretFile`], if it cannot be written.
pub(crate) fn replace(path: &Path, contents: &[u8]) -> Result<(), ServiceError> {
    whole_file::replace(path, contents).map_err(|error| fault(path, &error))
}

/// The error about a secret file that is not there.
pub(crate) fn missing(path: &Path) -> ServiceError {
    fault(path, &io::Error::new(io::ErrorKind::NotFound, "No such file or directory"))
}

fn fault(path: &Path, error: &io::Error) -> ServiceError {
    ServiceError::SecretFile { path: path.into(), reason: error.to_string() }
}

/// Writes what Prometheus needs to read a coordinator into `folder`, which is made if there is none: the secret `token` of a
/// viewer and, if the coordinator has an authority of its own, the certificate of that as PEM.
///
/// # Errors
///
/// [`ServiceError::SecretFile`], if the folder or a file cannot be written.
pub fn write_monitor_folder(
    folder: &Path,
    token: &Token,
    authority: Option<&str>,
) -> Result<(), ServiceError> {
    make_folder(folder).map_err(|error| fault(folder, &error))?;
    if let Some(authority) = authority {
        replace(&folder.join("authority.pem"), authority.as_bytes())?;
    }
    replace(&folder.join("token"), token.secret().as_bytes())
}
