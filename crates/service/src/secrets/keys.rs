//! The secrets that a coordinator keeps in the folder beside its ledger for itself and its own
//! workers, and what it writes for a monitoring system.

use std::fs;
use std::path::{Path, PathBuf};

use ledger::{Ledger, LedgerFault, LedgerView, Role};

use super::{Token, files};
use crate::ServiceError;
use crate::coordinator::{ADMIN_OWNER, new_credential, status};
use crate::os::{self, check_mode, check_owner};
use crate::tls::Authority;

/// The file of the key that signs leases.
const LEASES: &str = "leases";

/// The folder of secrets beside a ledger: `farm.db-keys` for `farm.db`. Nothing in it is needed to
/// check a count, so that a ledger can be backed up and published without it. It belongs to the
/// process's user or to root, and other users cannot enter it.
#[derive(Clone, Debug)]
pub struct KeyFolder(PathBuf);

impl KeyFolder {
    /// The file of the coordinator's own token, where no other one is named.
    pub const OWN_TOKEN: &str = "token";
    /// The file of its join string, where no other one is named.
    pub const JOIN: &str = "join";

    /// The folder for the ledger at `ledger`. It is made when the first secret is.
    pub fn beside(ledger: &Path) -> KeyFolder {
        KeyFolder(ledger::with_suffix(ledger, "-keys"))
    }

    /// The path of the secret `name`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Makes the folder if there is none, and returns the path of the secret `name`. It fails if
    /// other users can enter the folder, or if another user owns it or a link on the way to it.
    pub fn with_folder(&self, name: &str) -> Result<PathBuf, ServiceError> {
        let is_private = || {
            files::behind_own_links(&self.0)?;
            os::make_folder(&self.0)?;
            let folder = fs::metadata(&self.0)?;
            check_owner(&folder)?;
            check_mode(&folder, &self.0)
        };
        is_private().map_err(|error| ServiceError::secret_file(&self.0, error))?;
        Ok(self.path(name))
    }
}

/// Fails if a coordinator of this ledger would make a new authority or a new token of its own
/// although the ledger was served with others. Workers and clients would not recognise the
/// coordinator any more, or would be refused. Without TLS there is no authority, and there is a
/// token only if `token_file` names one.
pub fn require_keys(
    ledger: &Path,
    keys: &KeyFolder,
    has_tls: bool,
    token_file: Option<&Path>,
) -> Result<(), ServiceError> {
    let own = token_file.map_or_else(|| keys.path(KeyFolder::OWN_TOKEN), Path::to_owned);
    let mut lost = vec![
        (Authority::FILE, keys.path(Authority::FILE), has_tls),
        (KeyFolder::OWN_TOKEN, own, has_tls || token_file.is_some()),
    ];
    lost.retain(|(_, path, is_wanted)| *is_wanted && matches!(path.try_exists(), Ok(false)));
    if lost.is_empty() {
        return Ok(());
    }
    let noted = LedgerView::open(ledger).and_then(|look| look.keys());
    let noted = noted.map_err(|fault| fault.at(Some(ledger)))?;
    lost.retain(|(lost, ..)| noted.iter().any(|name| name == lost));
    if lost.is_empty() {
        return Ok(());
    }
    let lost: Vec<_> = lost.iter().map(|(_, path, _)| path.display().to_string()).collect();
    Err(ServiceError::Secret(format!(
        "the ledger {} was served with keys, and lacks {}: restore that from a copy, or name the file that has the token \
         with --token-file, or start once with --new-keys; then workers and clients need new join strings, or the new token",
        ledger.display(),
        lost.join(" and ")
    )))
}

/// Notes in a ledger with which files of the folder of keys it is served, so that a later start
/// finds out if one is lost. With `has_token`, the coordinator's own token is noted even if it is
/// in another file.
pub fn note_keys(ledger: &Ledger, keys: &KeyFolder, has_token: bool) -> Result<(), ServiceError> {
    let [worker, viewer] = [Role::Worker, Role::Viewer].map(Role::name);
    let mut all = vec![Authority::FILE, KeyFolder::OWN_TOKEN, LEASES, worker, viewer];
    all.retain(|name| keys.path(name).exists() || (has_token && *name == KeyFolder::OWN_TOKEN));
    Ok(ledger.note_keys(&all).map_err(|fault| fault.at(ledger.path()))?)
}

/// Whether the ledger was served with the file `name` of the folder of keys, and that file is not
/// there any more.
fn is_lost(keys: &KeyFolder, ledger: &Ledger, name: &str) -> Result<bool, ServiceError> {
    let noted = ledger.keys().map_err(|fault| fault.at(ledger.path()))?;
    Ok(noted.iter().any(|noted| noted == name) && !keys.path(name).exists())
}

/// The key with which the coordinator of a ledger signs its leases, from the folder of its secrets.
pub fn lease_key(keys: &KeyFolder, ledger: &Ledger) -> Result<farm::LeaseKey, ServiceError> {
    if is_lost(keys, ledger, LEASES)? {
        tracing::warn!(
            file = %keys.path(LEASES).display(),
            "the key of the leases is lost, and a new one is made: what workers hold is counted again"
        );
    }
    let path = keys.with_folder(LEASES)?;
    let bytes = files::read_or_make(&path, || rand::random::<[u8; 32]>().to_vec())?;
    let bytes = bytes.try_into().map_err(|_| {
        let reason = "it must hold 32 bytes; remove it, and workers count anew what they hold";
        ServiceError::secret_file(&path, reason)
    })?;
    Ok(farm::LeaseKey::new(bytes))
}

/// A secret of the role `role` for the operator: a worker's for the operator's workers, or a
/// viewer's for a monitoring system that reads `/metrics`. It is a file in the folder of secrets.
/// It is made when it is needed for the first time, and again after it was revoked. The ledger has
/// its hash.
pub fn role_token(keys: &KeyFolder, ledger: &Ledger, role: Role) -> Result<Token, ServiceError> {
    // Requests of a monitoring system are counted apart.
    let owner = if role == Role::Viewer { "monitor" } else { ADMIN_OWNER };
    if is_lost(keys, ledger, role.name())? {
        tracing::warn!(
            file = %keys.path(role.name()).display(),
            "the {}'s token in the folder of keys is lost, and a new one is made: what has the old one is admitted until \
             `queens token revoke` ends that token of the owner {owner}",
            role.name()
        );
    }
    let path = keys.with_folder(role.name())?;
    let mut token = Token::read_or_make(&path)?;
    let at_ledger = |fault: LedgerFault| fault.at(ledger.path());
    let known = ledger.credentials().map_err(at_ledger)?;
    let found = known.iter().find(|credential| credential.hash == *token.hash().as_bytes());
    if let Some(credential) = found {
        if status(credential).is_none() {
            return Ok(token);
        }
        token = Token::random();
        token.replace(&path)?;
        tracing::warn!(
            file = %path.display(),
            "the {}'s token in the folder of keys was revoked (token {}), and a new one is made: the old one stays refused",
            role.name(),
            credential.id
        );
    }
    let credential = new_credential(&known, &token, owner, role);
    ledger.add_credential(&credential).map_err(at_ledger)?;
    Ok(token)
}

/// Writes what Prometheus needs to read the metrics of a coordinator into `folder`, which is made
/// if there is none: the secret `token` of a viewer and, if the coordinator serves TLS, the
/// certificate `authority` as PEM.
pub fn write_monitor_folder(
    folder: &Path,
    token: &Token,
    authority: Option<&str>,
) -> Result<(), ServiceError> {
    os::make_folder(folder).map_err(|error| ServiceError::secret_file(folder, error))?;
    if let Some(authority) = authority {
        files::replace(&folder.join("authority.pem"), authority.as_bytes())?;
    }
    files::replace(&folder.join("token"), token.secret().as_bytes())
}
