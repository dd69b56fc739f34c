//! The token: the farm's shared secret.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use crate::ServiceError;

/// A secret that workers and clients show to the coordinator.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    const MIN_LENGTH: usize = 16;

    /// Reads the token from the file `path`.
    ///
    /// # Errors
    ///
    /// [`ServiceError::TokenFile`], if the file cannot be read, holds no token, or can be read by others.
    pub fn read(path: &Path) -> Result<Token, ServiceError> {
        let fault = |reason: String| ServiceError::TokenFile { path: path.into(), reason };
        let text = fs::read_to_string(path).map_err(|error| fault(error.to_string()))?;
        let token = text.trim();
        if token.len() < Self::MIN_LENGTH || !token.chars().all(|c| c.is_ascii_graphic()) {
            let wanted = "it must hold one line of at least 16 printable characters";
            return Err(fault(wanted.into()));
        }
        check_mode(path).map_err(fault)?;
        Ok(Token(token.into()))
    }

    /// Reads the token from the file `path`. If there is no such file, makes a new token that only its owner
    /// can read.
    ///
    /// # Errors
    ///
    /// [`ServiceError::TokenFile`], if the file cannot be made or used.
    pub fn read_or_make(path: &Path) -> Result<Token, ServiceError> {
        match Token::make(path) {
            Ok(()) => tracing::info!(path = %path.display(), "made a new token"),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(ServiceError::TokenFile {
                    path: path.into(),
                    reason: error.to_string(),
                });
            }
        }
        Token::read(path)
    }

    /// The value of the `authorization` header.
    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// Writes a draft beside `path` and links it there, so that nobody ever reads half a token.
    fn make(path: &Path) -> std::io::Result<()> {
        if path.exists() {
            return Err(std::io::ErrorKind::AlreadyExists.into());
        }
        let mut draft = path.as_os_str().to_owned();
        draft.push(format!(".{}", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&draft)?;
        let written = writeln!(file, "{}", hex::encode(rand::random::<[u8; 32]>()))
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::hard_link(&draft, path));
        fs::remove_file(&draft)?;
        written
    }
}

/// Refuses a token file that other users can read.
#[cfg(unix)]
fn check_mode(path: &Path) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(path).map_err(|error| error.to_string())?.permissions().mode();
    match mode & 0o007 {
        0 => Ok(()),
        _ => Err(format!(
            "other users may read it (mode {:o}); run `chmod 600 {}`",
            mode & 0o777,
            path.display()
        )),
    }
}

#[cfg(not(unix))]
fn check_mode(_: &Path) -> Result<(), String> {
    Ok(())
}
