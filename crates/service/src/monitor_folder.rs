//! The folder with what Prometheus needs to read a coordinator.

use std::path::Path;

use crate::{ServiceError, Token, os, secret_file};

/// The secret of a viewer, for `authorization.credentials_file`.
const TOKEN: &str = "token";
/// The certificate of the coordinator's authority as PEM, for `tls_config.ca_file`.
const AUTHORITY: &str = "authority.pem";

/// Writes the secret `token`, and the certificate `authority` as PEM if the coordinator has an authority of its
/// own, into `folder`, which is made if there is none.
///
/// # Errors
///
/// [`ServiceError::SecretFile`], if the folder or a file cannot be written.
pub fn write_monitor_folder(
    folder: &Path,
    token: &Token,
    authority: Option<&str>,
) -> Result<(), ServiceError> {
    os::make_folder(folder).map_err(|error| ServiceError::SecretFile {
        path: folder.into(),
        reason: error.to_string(),
    })?;
    if let Some(authority) = authority {
        secret_file::replace(&folder.join(AUTHORITY), authority.as_bytes())?;
    }
    secret_file::replace(&folder.join(TOKEN), token.secret().as_bytes())
}
