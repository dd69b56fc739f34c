//! Files that say where a coordinator is: with a join string, or with the address alone.
//!
//! A coordinator that comes back elsewhere writes its file again, and whoever reads it for every connection
//! finds it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::{JoinString, ServiceError, secret_file};

/// What such a file holds.
pub(crate) enum Whereabouts {
    /// All that is needed, the secret included.
    Join(JoinString),
    /// A URL.
    Url(String),
}

impl Whereabouts {
    /// Reads the file at `path`.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Unreachable`], if there is no such file, because a coordinator may still write it;
    /// [`ServiceError::SecretFile`], if it cannot be read, holds neither a join string nor a URL, or holds a
    /// join string that others can read.
    pub(crate) fn read(path: &Path) -> Result<Whereabouts, ServiceError> {
        let text = fs::read_to_string(path).map_err(|error| match error.kind() {
            // The second is what a network file system says of a file that was replaced just now.
            io::ErrorKind::NotFound | io::ErrorKind::StaleNetworkFileHandle => {
                ServiceError::Unreachable {
                    url: format!("the address in {}", path.display()),
                    reason: "the file does not exist; a coordinator that serves writes it".into(),
                }
            }
            _ => ServiceError::SecretFile { path: path.into(), reason: error.to_string() },
        })?;
        let url = text.trim();
        if ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Ok(Whereabouts::Url(url.into()));
        }
        secret_file::check_mode(path)?;
        text.parse().map(Whereabouts::Join).map_err(|error| ServiceError::SecretFile {
            path: path.into(),
            reason: format!("it holds neither an address with http:// nor a join string: {error}"),
        })
    }
}

/// The file with the address of a coordinator that serves.
#[derive(Debug)]
pub struct AddressFile {
    path: PathBuf,
    text: String,
}

impl AddressFile {
    /// Writes `url` to the file at `path`, in the place of the one that may be there.
    ///
    /// # Errors
    ///
    /// An error of the file system.
    pub fn write(path: &Path, url: &str) -> io::Result<AddressFile> {
        let text = format!("{url}\n");
        secret_file::replace_public(path, text.as_bytes())?;
        Ok(AddressFile { path: path.into(), text })
    }

    /// Removes the file, unless another coordinator has written it meanwhile.
    pub fn remove(self) {
        if fs::read_to_string(&self.path).is_ok_and(|text| text == self.text) {
            let _ = fs::remove_file(&self.path);
        }
    }
}
