//! Who may use the coordinator, and what for.
//!
//! ```text
//!   request ──bearer──► Gate ──hash──► Credentials ──► Identity { owner, role } ──► handler: is that enough?
//! ```
//!
//! A session that began with a credential ends when the credential does.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use ledger::{Credential, CredentialChange, Role, unix_ms};
use tokio::sync::watch;
use tonic::service::Interceptor;
use tonic::{Request, Status};

use super::HubHandle;
use super::listen::Admission;
use crate::error::HubGone;
use crate::{KeyFolder, Token};

/// The owner of whoever can connect where no credential is needed, and of the worker of a count without a
/// server.
pub const LOCAL_OWNER: &str = "local";
/// The owner of the coordinator's own token.
const ADMIN_OWNER: &str = "admin";

/// Who is admitted besides those with a credential.
#[derive(Clone)]
pub enum Access {
    /// Whoever shows this token, as an admin.
    Token(Token),
    /// Whoever can connect, as an admin.
    Open,
}

/// Who a request comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Who answers for it.
    pub owner: String,
    /// What is allowed.
    pub role: Role,
    /// The credential's number; `None` for the coordinator's own token and for open access.
    pub credential: Option<u64>,
}

/// What a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// To count.
    Count,
    /// To see jobs.
    See,
    /// To submit and change jobs.
    Change,
    /// To decide who may do what, and who is believed.
    Decide,
}

impl Identity {
    fn has(&self, right: Right) -> bool {
        match self.role {
            Role::Admin => true,
            Role::Submitter => matches!(right, Right::See | Right::Change),
            Role::Viewer => right == Right::See,
            Role::Worker => right == Right::Count,
        }
    }

    /// Refuses a request for which the role does not suffice.
    ///
    /// # Errors
    ///
    /// A status that says what would.
    pub fn require(&self, right: Right) -> Result<(), Status> {
        if self.has(right) {
            return Ok(());
        }
        let wanted = match right {
            Right::Count => "a worker",
            Right::See => "a viewer or a submitter",
            Right::Change => "a submitter",
            Right::Decide => "an admin",
        };
        let role = self.role.name();
        Err(Status::permission_denied(format!(
            "this credential is a {role}'s, and this needs that of {wanted}; ask whoever runs the farm for one"
        )))
    }
}

/// All credentials of a coordinator.
#[derive(Clone)]
pub struct Credentials {
    shared: Arc<Shared>,
}

struct Shared {
    /// BLAKE3 of the coordinator's own token; `None` where access is open.
    own: Option<blake3::Hash>,
    known: RwLock<HashMap<[u8; 32], Credential>>,
    changed: watch::Sender<()>,
}

impl Credentials {
    /// Those of a ledger, and what `access` adds.
    #[must_use]
    pub fn new(access: &Access, known: Vec<Credential>) -> Credentials {
        let own = match access {
            Access::Token(token) => Some(token.hash()),
            Access::Open => None,
        };
        let known = known.into_iter().map(|credential| (credential.hash, credential)).collect();
        let (known, changed) = (RwLock::new(known), watch::Sender::new(()));
        Credentials { shared: Arc::new(Shared { own, known, changed }) }
    }

    /// Who shows this secret. The time that a comparison of hashes takes says nothing about the secret.
    fn identify(&self, secret: Option<&[u8]>) -> Result<Identity, Status> {
        let hash = secret.map(blake3::hash);
        let known = self.shared.known.read().expect("nobody panics while holding it");
        if let Some(credential) = hash.and_then(|hash| known.get(hash.as_bytes())) {
            let Credential { id, owner, role, .. } = credential;
            return match status(credential) {
                None => Ok(Identity { owner: owner.clone(), role: *role, credential: Some(*id) }),
                Some(why) => Err(Status::unauthenticated(format!("this credential {why}"))),
            };
        }
        let of =
            |owner: &str| Identity { owner: owner.into(), role: Role::Admin, credential: None };
        match self.shared.own {
            None => Ok(of(LOCAL_OWNER)),
            Some(own) if hash == Some(own) => Ok(of(ADMIN_OWNER)),
            Some(_) => Err(Status::unauthenticated("the token is wrong or missing")),
        }
    }

    /// Makes a credential. Returns it with its secret, once it is durable.
    ///
    /// # Errors
    ///
    /// [`HubGone`], if the coordinator is stopping.
    pub async fn create(
        &self,
        hub: &HubHandle,
        owner: &str,
        role: Role,
        lifetime: Option<Duration>,
    ) -> Result<(Token, Credential), HubGone> {
        let (token, now) = (Token::random(), unix_ms());
        let lifetime_ms = lifetime.map(|time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
        let credential = {
            let mut known = self.shared.known.write().expect("nobody panics while holding it");
            let credential = Credential {
                id: known.values().map(|credential| credential.id).max().unwrap_or(0) + 1,
                owner: owner.into(),
                role,
                hash: *token.hash().as_bytes(),
                created_at_ms: now,
                expires_at_ms: lifetime_ms.map(|ms| now.saturating_add(ms)),
                revoked_at_ms: None,
            };
            // Nobody knows the secret before it is durable, so that nobody can use it.
            known.insert(credential.hash, credential.clone());
            credential
        };
        hub.change_credential(CredentialChange::Add(credential.clone())).await?;
        Ok((token, credential))
    }

    /// Revokes a credential, and ends the sessions that began with it. Returns it once that is durable;
    /// `None` if there is no such credential.
    ///
    /// # Errors
    ///
    /// [`HubGone`], if the coordinator is stopping.
    pub async fn revoke(&self, hub: &HubHandle, id: u64) -> Result<Option<Credential>, HubGone> {
        let at_ms = unix_ms();
        let revoked = {
            let mut known = self.shared.known.write().expect("nobody panics while holding it");
            let found = known.values_mut().find(|credential| credential.id == id);
            found.map(|credential| {
                credential.revoked_at_ms.get_or_insert(at_ms);
                credential.clone()
            })
        };
        if revoked.is_some() {
            self.shared.changed.send_replace(());
            hub.change_credential(CredentialChange::Revoke { id, at_ms }).await?;
        }
        Ok(revoked)
    }

    /// All credentials, the oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<Credential> {
        let known = self.shared.known.read().expect("nobody panics while holding it");
        let mut all: Vec<Credential> = known.values().cloned().collect();
        all.sort_by_key(|credential| credential.id);
        all
    }

    /// Completes when the identity's credential has expired or is revoked.
    pub async fn ended(&self, identity: &Identity) {
        /// How often expiry is looked at.
        const INTERVAL: Duration = Duration::from_secs(1);
        let Some(id) = identity.credential else { return std::future::pending().await };
        let mut changed = self.shared.changed.subscribe();
        while self.is_valid(id) {
            tokio::select! {
                _ = changed.changed() => {}
                () = tokio::time::sleep(INTERVAL) => {}
            }
        }
    }

    fn is_valid(&self, id: u64) -> bool {
        let known = self.shared.known.read().expect("nobody panics while holding it");
        known.values().any(|credential| credential.id == id && status(credential).is_none())
    }
}

/// Why a credential is not valid; `None` if it is.
fn status(credential: &Credential) -> Option<&'static str> {
    let has_expired = credential.expires_at_ms.is_some_and(|at_ms| at_ms <= unix_ms());
    match credential.revoked_at_ms {
        Some(_) => Some("was revoked; ask whoever runs the farm for another one"),
        None if has_expired => Some("has expired; ask whoever runs the farm for another one"),
        None => None,
    }
}

/// Finds out who a request comes from before any handler runs.
#[derive(Clone)]
pub(super) struct Gate(pub(super) Credentials);

impl Interceptor for Gate {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let given = request.metadata().get("authorization");
        let secret = given.and_then(|given| given.as_bytes().strip_prefix(b"Bearer "));
        let identity = self.0.identify(secret)?;
        if let Some(admission) = request.extensions().get::<Admission>() {
            admission.grant();
        }
        request.extensions_mut().insert(identity);
        Ok(request)
    }
}

/// Who a request that has passed the gate comes from.
pub(super) fn identity<T>(request: &Request<T>) -> Identity {
    request.extensions().get::<Identity>().expect("it has passed the gate").clone()
}

/// The key with which the coordinator of a ledger seals its loans, from the folder of its secrets.
///
/// # Errors
///
/// [`crate::ServiceError::SecretFile`], if the key cannot be read or made.
pub fn loan_key(keys: &KeyFolder) -> Result<farm::LoanKey, crate::ServiceError> {
    const NAME: &str = "loans";
    let bytes = keys.read_or_make(NAME, || rand::random::<[u8; 32]>().to_vec())?;
    let bytes = bytes.try_into().map_err(|_| crate::ServiceError::SecretFile {
        path: keys.path(NAME),
        reason: "it must hold 32 bytes; remove it, and workers count anew what they hold".into(),
    })?;
    Ok(farm::LoanKey::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credential(id: u64, secret: &str, role: Role) -> Credential {
        Credential {
            id,
            owner: format!("owner {id}"),
            role,
            hash: *blake3::hash(secret.as_bytes()).as_bytes(),
            created_at_ms: 0,
            expires_at_ms: None,
            revoked_at_ms: None,
        }
    }

    #[test]
    fn each_role_has_its_rights_and_no_others() {
        let allowed = |role| {
            let identity = Identity { owner: "o".into(), role, credential: None };
            let all = [Right::Count, Right::See, Right::Change, Right::Decide];
            all.map(|right| identity.require(right).is_ok())
        };
        assert_eq!(allowed(Role::Admin), [true; 4]);
        assert_eq!(allowed(Role::Submitter), [false, true, true, false]);
        assert_eq!(allowed(Role::Viewer), [false, true, false, false]);
        assert_eq!(allowed(Role::Worker), [true, false, false, false]);
    }

    #[test]
    fn who_shows_a_valid_secret_is_known_and_nobody_else() {
        let now = unix_ms();
        let expired =
            Credential { expires_at_ms: Some(now - 1), ..credential(2, "late", Role::Worker) };
        let coming = Credential {
            expires_at_ms: Some(now + 1_000_000),
            ..credential(3, "soon", Role::Viewer)
        };
        let revoked = Credential { revoked_at_ms: Some(now), ..credential(4, "gone", Role::Admin) };
        let known = vec![credential(1, "good", Role::Worker), expired, coming, revoked];
        let own = Token::random();
        let credentials = Credentials::new(&Access::Token(own.clone()), known);
        let who = |secret: &[u8]| credentials.identify(Some(secret)).map(|who| who.credential).ok();

        assert_eq!(who(b"good"), Some(Some(1)));
        assert_eq!(who(b"soon"), Some(Some(3)));
        assert_eq!(who(&own.bearer().as_bytes()["Bearer ".len()..]), Some(None));
        for wrong in [&b"late"[..], b"gone", b"goo", b"", b"good "] {
            assert_eq!(who(wrong), None, "{wrong:?}");
        }
        assert!(credentials.identify(None).is_err());
        assert!(Credentials::new(&Access::Open, Vec::new()).identify(None).is_ok());
    }
}
