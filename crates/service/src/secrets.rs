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

/// Why a text is no token. The error does not repeat the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TokenError(String);

impl Token {
    /// The least number of its characters.
    const LEAST: usize = 16;

    /// Reads the token from the file `path`.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Secret`] if the file does not exist, if other users can read it or may have
    /// planted it, or if it holds no token.
    pub fn read(path: &Path) -> Result<Token, ServiceError> {
        let text = files::read(path)?.ok_or_else(|| files::missing(path))?;
        Token::new(bare(&String::from_utf8_lossy(&text)))
            .map_err(|error| ServiceError::secret_file(path, error))
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

    /// The token with this secret, which has at least 16 characters, all of them visible ASCII
    /// ones.
    pub fn new(secret: &str) -> Result<Token, TokenError> {
        let lines = secret.lines().count();
        let length = secret.chars().count();
        let wrong = secret.chars().zip(1..).find(|(sign, _)| !sign.is_ascii_graphic());
        Err(TokenError(match wrong {
            _ if secret.is_empty() => "it is empty".into(),
            _ if lines > 1 => format!("it has {lines} lines, and a token is one line"),
            Some((' ', at)) => format!("its character {at} is a blank"),
            Some((sign, at)) => {
                format!(
                    "its character {at}, {}, is none of ASCII that is seen",
                    sign.escape_default()
                )
            }
            None if length < Token::LEAST => {
                format!("it has {length} characters, and a token has at least {}", Token::LEAST)
            }
            None => return Ok(Token(secret.into())),
        }))
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
