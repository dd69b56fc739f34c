//! Secrets: the token that a worker or client shows to the coordinator, the join string, which
//! contains one, the keys that a coordinator keeps beside its ledger, and the files of all these.

mod files;
mod join_string;
mod keys;

use std::path::Path;

pub(crate) use self::files::read_or_make;
pub use self::files::write_file;
pub use self::join_string::{HostPort, HostPortError, JoinString, JoinStringError};
pub use self::keys::{
    KeyFolder, lease_key, note_keys, require_keys, role_token, write_monitor_folder,
};
use crate::ServiceError;

/// A text without what editors and copying leave around it: blanks, ends of lines and a byte order
/// mark.
fn bare(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
}

/// A secret that workers and clients show to the coordinator.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Reads the token from the file `path`.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Secret`] if the file does not exist, if other users can read it, or if it
    /// does not hold one line of at least 16 visible ASCII characters.
    pub fn read(path: &Path) -> Result<Token, ServiceError> {
        let text = files::read(path)?.ok_or_else(|| files::missing(path))?;
        Token::new(bare(&String::from_utf8_lossy(&text))).ok_or_else(|| {
            let reason = "it must hold one line of at least 16 printable characters";
            ServiceError::secret_file(path, reason)
        })
    }

    /// Reads the token from the file `path`. If there is no such file, it is made with a new token,
    /// and only its owner can read it.
    ///
    /// Errors are those of [`Token::read`], except that the file may be missing.
    pub fn read_or_make(path: &Path) -> Result<Token, ServiceError> {
        files::read_or_make(path, || Token::random().line())?;
        Token::read(path)
    }

    /// Writes it to the file `path` and replaces the file that is there.
    pub(crate) fn replace(&self, path: &Path) -> Result<(), ServiceError> {
        files::replace(path, &self.line())
    }

    fn line(&self) -> Vec<u8> {
        format!("{}\n", self.0).into_bytes()
    }

    /// The token with this secret. `None` if the secret has fewer than 16 characters, or others
    /// than visible ASCII ones.
    pub fn new(secret: &str) -> Option<Token> {
        let is_token = secret.len() >= 16 && secret.chars().all(|c| c.is_ascii_graphic());
        is_token.then(|| Token(secret.into()))
    }

    /// A new random token of 256 bits.
    pub fn random() -> Token {
        Token(blake3::Hash::from_bytes(rand::random()).to_hex().to_string())
    }

    /// BLAKE3 of the token, by which a coordinator knows it.
    pub fn hash(&self) -> blake3::Hash {
        blake3::hash(self.0.as_bytes())
    }

    /// The token itself.
    pub fn secret(&self) -> &str {
        &self.0
    }
}
