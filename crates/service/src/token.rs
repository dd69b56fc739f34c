//! The token: the secret that a worker or client shows to the coordinator.

use std::path::Path;
use std::str::FromStr;

use crate::ServiceError;
use crate::secret_file;

/// A secret that workers and clients show to the coordinator.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    const MIN_LENGTH: usize = 16;

    /// Reads the token from the file `path`.
    pub fn read(path: &Path) -> Result<Token, ServiceError> {
        let text = secret_file::read(path)?.ok_or_else(|| secret_file::missing(path))?;
        secret_file::bare(&String::from_utf8_lossy(&text)).parse().map_err(|TokenError| {
            let reason = "it must hold one line of at least 16 printable characters";
            ServiceError::secret_file(path, reason)
        })
    }

    /// Reads the token from the file `path`. If there is no such file, makes a new token that only its owner
    /// can read.
    pub fn read_or_make(path: &Path) -> Result<Token, ServiceError> {
        secret_file::read_or_make(path, || Token::random().line())?;
        Token::read(path)
    }

    /// Writes it to the file `path` and replaces the file that is there.
    pub(crate) fn replace(&self, path: &Path) -> Result<(), ServiceError> {
        secret_file::replace(path, &self.line())
    }

    fn line(&self) -> Vec<u8> {
        format!("{}\n", self.0).into_bytes()
    }

    /// A new token.
    #[must_use]
    pub fn random() -> Token {
        Token(blake3::Hash::from_bytes(rand::random()).to_hex().to_string())
    }

    /// BLAKE3 of the token, by which a coordinator knows it.
    #[must_use]
    pub fn hash(&self) -> blake3::Hash {
        blake3::hash(self.0.as_bytes())
    }

    /// The token itself.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// The value of the `authorization` header.
    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl FromStr for Token {
    type Err = TokenError;

    fn from_str(secret: &str) -> Result<Token, TokenError> {
        if secret.len() < Self::MIN_LENGTH || !secret.chars().all(|c| c.is_ascii_graphic()) {
            return Err(TokenError);
        }
        Ok(Token(secret.into()))
    }
}

/// A text is no token.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("a token has at least 16 printable characters")]
pub struct TokenError;
