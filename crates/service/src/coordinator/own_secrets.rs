//! The secrets that a coordinator keeps in the folder beside its ledger for itself and its own workers.

use std::path::PathBuf;

use ledger::{CredentialChange, Ledger, LedgerFault, Role};

use super::credentials::{ADMIN_OWNER, Known, status};
use crate::error::ServiceError;
use crate::{JoinFile, KeyFolder, Token};

/// The files with the token of whoever runs the farm, which allows everything.
#[derive(Default)]
pub struct OwnFiles {
    /// The file with the token alone.
    pub token: PathBuf,
    /// The file with the join string, if the coordinator serves TLS.
    pub join: Option<JoinFile>,
}

impl OwnFiles {
    /// Puts a new token into the files.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SecretFile`], if one of them cannot be written. Then the call is to be repeated.
    pub(super) fn renew(&self) -> Result<Token, ServiceError> {
        let token = Token::random();
        token.replace(&self.token)?;
        self.join.as_ref().map(|join| join.write(&token)).transpose()?;
        Ok(token)
    }
}

/// The file of the key that seals loans.
const LOANS: &str = "loans";

/// The key with which the coordinator of a ledger seals its loans, from the folder of its secrets.
///
/// # Errors
///
/// [`ServiceError::SecretFile`], if the key cannot be read or made.
pub fn loan_key(keys: &KeyFolder) -> Result<farm::LoanKey, ServiceError> {
    let bytes = keys.read_or_make(LOANS, || rand::random::<[u8; 32]>().to_vec())?;
    let bytes = bytes.try_into().map_err(|_| ServiceError::SecretFile {
        path: keys.path(LOANS),
        reason: "it must hold 32 bytes; remove it, and workers count anew what they hold".into(),
    })?;
    Ok(farm::LoanKey::new(bytes))
}

/// A secret of the role `role` for whoever runs the farm: a worker's for their workers, or a viewer's for what watches the
/// farm by `/metrics`. It is in the folder of secrets, and made when it is first asked for; the ledger knows its hash.
///
/// # Errors
///
/// [`ServiceError::SecretFile`], if the secret cannot be read or made, or was revoked;
/// [`ServiceError::Ledger`], if the ledger cannot be read or written.
pub fn role_token(keys: &KeyFolder, ledger: &Ledger, role: Role) -> Result<Token, ServiceError> {
    // Requests of what watches are counted apart.
    let owner = if role == Role::Viewer { "monitor" } else { ADMIN_OWNER };
    let token = keys.token(role.name())?;
    let path = keys.path(role.name());
    let at_ledger = |fault: LedgerFault| fault.at(ledger.path());
    let known: Known = ledger.credentials().map_err(at_ledger)?.into_iter().collect();
    match known.by_hash(&token.hash()) {
        None => {
            let credential = known.next(&token, owner, role, None);
            ledger.change_credential(&CredentialChange::Add(credential)).map_err(at_ledger)?;
        }
        Some(credential) if status(credential).is_some() => {
            let reason = format!(
                "it is token {}, which was revoked; remove the file, and a new secret is made",
                credential.id
            );
            return Err(ServiceError::SecretFile { path, reason });
        }
        Some(_) => {}
    }
    Ok(token)
}
