//! Credentials: who may use the coordinator, and for what.
//!
//! ```text
//!   request ──bearer──► Gate ──hash──► Credentials ──► Identity { owner, role } ──► handler: is that enough?
//! ```
//!
//! A session that began with a credential ends when the credential does.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, RwLock, RwLockReadGuard};
use std::time::{Duration, UNIX_EPOCH};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use farm::AuditScope;
use ledger::{Credential, Role, unix_ms};
use tonic::{Extensions, Status};

use super::FarmHandle;
use super::identity::{Identity, LOCAL_OWNER};
use super::limits::{Admission, Rates, machine, requests};
use super::metrics::Meters;
use super::refused::Refused;
use crate::api::Code;
use crate::error::CoordinatorGone;
use crate::{JoinString, ServiceError, Token};

/// The owner of the coordinator's own token and of the operator's workers. All of them have one
/// owner, so that their counts are no second opinion about each other.
pub(crate) const ADMIN_OWNER: &str = "admin";

/// The number of the coordinator's own token among the credentials. It is no credential of the
/// ledger.
const OWN: u64 = 0;

/// All credentials of a coordinator. Clones share them.
#[derive(Clone)]
pub struct Credentials {
    /// Where the coordinator's own token is kept; `None` where access is open.
    own: Option<Arc<OwnFiles>>,
    known: Arc<RwLock<ByHash>>,
}

/// The credentials of the ledger, those that have ended included, and the coordinator's own token:
/// by the hashes of their secrets.
type ByHash = HashMap<[u8; 32], Credential>;

/// The files with the operator's token, which allows everything.
#[derive(Default)]
pub struct OwnFiles {
    /// The file with the token alone.
    pub token: PathBuf,
    /// The file with the join string, and that string, if the coordinator serves TLS.
    pub join: Option<(PathBuf, JoinString)>,
}

impl OwnFiles {
    /// Puts a new token into the files. After an error it is to be called again.
    fn renew(&self) -> Result<Token, ServiceError> {
        let token = Token::random();
        token.replace(&self.token)?;
        if let Some((path, join)) = &self.join {
            JoinString { token: token.clone(), ..join.clone() }.write(path)?;
        }
        Ok(token)
    }

    /// The credential that stands for the coordinator's own token. It is as old as the file.
    fn credential(&self, token: &Token) -> Credential {
        let own = new_credential([], token, ADMIN_OWNER, Role::Admin);
        let written = std::fs::metadata(&self.token).and_then(|file| file.modified()).ok();
        let since_1970 = written.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let created_at_ms = since_1970.map_or(own.created_at_ms, |it| it.as_millis() as i64);
        Credential { id: OWN, created_at_ms, ..own }
    }
}

/// A credential that does not expire, with a number that none of `known` has.
pub(crate) fn new_credential<'a>(
    known: impl IntoIterator<Item = &'a Credential>,
    token: &Token,
    owner: &str,
    role: Role,
) -> Credential {
    Credential {
        id: known.into_iter().map(|known| known.id).max().unwrap_or(0) + 1,
        owner: owner.into(),
        role,
        hash: *token.hash().as_bytes(),
        created_at_ms: unix_ms(),
        expires_at_ms: None,
        revoked_at_ms: None,
    }
}

impl Credentials {
    /// The credentials of a ledger, and the coordinator's own token with its files. Without such a
    /// token, everybody who can connect is an admin.
    pub fn new(own: Option<(Token, OwnFiles)>, mut known: Vec<Credential>) -> Credentials {
        let own = own.map(|(token, files)| {
            known.push(files.credential(&token));
            Arc::new(files)
        });
        let known = known.into_iter().map(|credential| (credential.hash, credential)).collect();
        Credentials { own, known: Arc::new(RwLock::new(known)) }
    }

    /// The identity that belongs to a secret. The hash of the secret is looked up, so that the time
    /// of the look-up says nothing about the secrets that exist.
    pub(super) fn identify(&self, secret: Option<&[u8]>) -> Result<Identity, Refused> {
        let hash = secret.map(blake3::hash);
        let known = self.known();
        let of = |owner: &str, role, credential| Identity { owner: owner.into(), role, credential };
        match hash.and_then(|hash| known.get(hash.as_bytes())) {
            Some(found) => match status(found) {
                None => Ok(of(&found.owner, found.role, hash)),
                Some(why) => {
                    Err(Refused::new(Code::Unauthenticated, format!("this credential {why}")))
                }
            },
            None if self.are_needless() => Ok(of(LOCAL_OWNER, Role::Admin, None)),
            None => Err(Refused::new(
                Code::Unauthenticated,
                match secret.map(str::from_utf8) {
                    None => "a token is missing: show it as `Authorization: Bearer TOKEN`".into(),
                    Some(shown) => match shown.ok().map(Token::new) {
                        Some(Ok(_)) => "the token is wrong: no credential has it".into(),
                        Some(Err(error)) => format!("the token is malformed: {error}"),
                        None => "the token is malformed: it is no text".into(),
                    },
                },
            )),
        }
    }

    /// Makes a credential. Returns it with its secret, once it is durable.
    pub(super) async fn create(
        &self,
        farm: &FarmHandle,
        owner: &str,
        role: Role,
        lifetime: Option<Duration>,
    ) -> Result<(Token, Credential), CoordinatorGone> {
        let token = Token::random();
        let credential = {
            let mut known = self.known.write().expect("nobody panics while holding it");
            let mut credential = new_credential(known.values(), &token, owner, role);
            credential.expires_at_ms = lifetime.map(|lifetime| {
                let lifetime_ms = i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX);
                credential.created_at_ms.saturating_add(lifetime_ms)
            });
            // Nobody can use the credential before it is durable, because nobody knows its secret
            // yet.
            known.insert(credential.hash, credential.clone());
            credential
        };
        farm.write_credential(credential.clone()).await?;
        Ok((token, credential))
    }

    /// Revokes a credential, and ends the sessions that began with it. Returns it once the
    /// revocation is durable; `None` if there is no such credential. If it is the coordinator's own
    /// token, a new token is written to its files.
    pub(super) async fn revoke(
        &self,
        farm: &FarmHandle,
        id: u64,
    ) -> Result<Option<Credential>, ServiceError> {
        let revoked = {
            let mut known = self.known.write().expect("nobody panics while holding it");
            let found = known.values_mut().find(|credential| credential.id == id);
            let Some(credential) = found else { return Ok(None) };
            let revoked_at_ms = Some(credential.revoked_at_ms.unwrap_or_else(unix_ms));
            let revoked = Credential { revoked_at_ms, ..credential.clone() };
            match self.own.as_ref().filter(|_| id == OWN) {
                Some(files) => {
                    let renewed = files.credential(&files.renew()?);
                    known.insert(renewed.hash, renewed);
                    known.remove(&revoked.hash);
                }
                None => *credential = revoked.clone(),
            }
            revoked
        };
        if id != OWN {
            farm.write_credential(revoked.clone()).await?;
        }
        Ok(Some(revoked))
    }

    /// All credentials, the oldest first.
    pub(super) fn list(&self) -> Vec<Credential> {
        let mut all: Vec<Credential> = self.known().values().cloned().collect();
        all.sort_by_key(|credential| credential.id);
        all
    }

    /// The default scope of audits: between owners as soon as two of them may count.
    pub(super) fn across(&self) -> AuditScope {
        let known = self.known();
        let counts = |credential: &&Credential| {
            let is_worker = matches!(credential.role, Role::Worker | Role::TrustedWorker);
            is_worker && status(credential).is_none()
        };
        let owners = known.values().filter(counts).map(|credential| &credential.owner);
        if owners.collect::<BTreeSet<_>>().len() >= 2 {
            AuditScope::Owners
        } else {
            AuditScope::Machines
        }
    }

    /// Completes within a second after the identity's credential has expired or was revoked, with a
    /// status that says so.
    pub(super) async fn ended(&self, identity: &Identity) -> Refused {
        while self.still_allow(identity) {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        Refused::new(
            Code::Unauthenticated,
            "the credential has expired or was revoked; ask the farm's operator for another one",
        )
    }

    fn known(&self) -> RwLockReadGuard<'_, ByHash> {
        self.known.read().expect("nobody panics while holding it")
    }

    /// Whether access is open: then a request without a credential has all rights.
    #[must_use]
    pub fn are_needless(&self) -> bool {
        self.own.is_none()
    }

    /// Whether the identity's credential is still valid.
    pub(super) fn still_allow(&self, identity: &Identity) -> bool {
        let known = self.known();
        let is_valid = |hash: blake3::Hash| {
            known.get(hash.as_bytes()).is_some_and(|found| status(found).is_none())
        };
        identity.credential.is_none_or(is_valid)
    }
}

/// Why a credential is not valid; `None` if it is.
pub(crate) fn status(credential: &Credential) -> Option<&'static str> {
    let has_expired = credential.expires_at_ms.is_some_and(|at_ms| at_ms <= unix_ms());
    match credential.revoked_at_ms {
        Some(_) => Some("was revoked; ask the farm's operator for another one"),
        None if has_expired => Some("has expired; ask the farm's operator for another one"),
        None => None,
    }
}

/// Identifies the sender of each request before any handler runs.
#[derive(Clone)]
pub(super) struct Gate {
    pub(super) credentials: Credentials,
    requests: Rates<String>,
    meters: Meters,
    /// The rate of lines of the log about wrong credentials.
    lines: Rates<()>,
}

impl Gate {
    pub(super) fn new(credentials: Credentials, meters: Meters) -> Gate {
        Gate { credentials, requests: requests(), meters, lines: Rates::new(1, 1) }
    }

    /// The identity that belongs to a secret, which came from the address `peer`. Wrong secrets are
    /// counted, and logged with a line a second at most.
    pub(super) fn identify(
        &self,
        secret: Option<&[u8]>,
        peer: IpAddr,
    ) -> Result<Identity, Refused> {
        let known = self.credentials.identify(secret);
        if let (Some(_), Err(refused)) = (secret, &known) {
            let so_far = self.meters.wrong_credentials.inc() + 1;
            if self.lines.allow(&()) {
                tracing::warn!(%peer, so_far, reason = refused.reason, "a wrong credential was shown");
            }
        }
        known
    }

    /// Admits a request and its connection. A request that changes something waits until the rate
    /// of its owner's requests allows it; what is only read costs the coordinator the same for one
    /// reader and for many. The handler finds the identity in the request's extensions.
    pub(super) async fn admit(
        &self,
        identity: Identity,
        method: &Method,
        extensions: &mut Extensions,
    ) {
        let admission = admission(extensions);
        admission.grant();
        // Where access is open, all clients have the same owner, so they are told apart by their
        // addresses.
        let asker = match identity.credential {
            Some(_) => identity.owner.clone(),
            None => machine(admission.peer).to_string(),
        };
        extensions.insert(identity);
        if *method != Method::GET {
            self.requests.wait(&asker).await;
        }
    }
}

/// The connection that a request with these extensions came by.
pub(super) fn admission(extensions: &Extensions) -> &Admission {
    extensions.get().expect("every connection has one")
}

/// Admits the sessions of workers that show a credential, or need none. A session is one request
/// for as long as it lasts, and no rate limits it, so that all workers of an owner may come back at
/// once.
pub(super) async fn admit(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    let admission = admission(request.extensions());
    match gate.identify(bearer(request.headers()), admission.peer) {
        Ok(identity) => {
            admission.grant();
            request.extensions_mut().insert(identity);
            next.run(request).await
        }
        Err(refused) => Status::from(refused).into_http(),
    }
}

/// The secret in an `authorization` header. The name of the scheme has no case (RFC 9110).
pub(super) fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    const SCHEME: &[u8] = b"bearer ";
    let shown = headers.get(header::AUTHORIZATION)?.as_bytes();
    let (scheme, secret) = shown.split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then(|| secret.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::credential;

    #[test]
    fn audits_are_across_owners_as_soon_as_two_owners_may_count() {
        let revoked = Credential { revoked_at_ms: Some(1), ..credential(4, "d", Role::Worker) };
        let mine = Credential { owner: "owner 1".into(), ..credential(2, "b", Role::Worker) };
        let mut known = vec![credential(1, "a", Role::Worker), mine, revoked];
        known.push(credential(3, "c", Role::Submitter));
        let across = |known: &[Credential]| Credentials::new(None, known.into()).across();
        assert_eq!(across(&known), AuditScope::Machines);
        known.push(credential(5, "e", Role::TrustedWorker));
        assert_eq!(across(&known), AuditScope::Owners);
    }

    #[test]
    fn a_credential_is_shown_by_a_scheme_without_case_and_what_is_wrong_with_it_is_said() {
        const SECRET: &str = "0123456789abcdef";
        let secret = |shown: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, shown.parse().expect("it is a header"));
            bearer(&headers).map(<[u8]>::to_vec)
        };
        for scheme in ["Bearer ", "bearer ", "BEARER ", "bEaReR  "] {
            assert_eq!(secret(&format!("{scheme}{SECRET}")), Some(SECRET.into()), "{scheme}");
        }
        for other in ["Basic 0123456789abcdef", "Bearer", "Bearers 0123", "bear", ""] {
            assert_eq!(secret(other), None, "{other}");
        }

        let own = Token::random();
        let files = OwnFiles { token: "token".into(), join: None };
        let guarded = Credentials::new(Some((own, files)), Vec::new());
        for (shown, reason) in [
            (None, "missing"),
            (Some(SECRET), "the token is wrong: no credential has it"),
            (Some(""), "malformed: it is empty"),
            (Some("0123456789abcde"), "malformed: it has 15 characters"),
            (Some("0123 456789abcdef"), "malformed: its character 5 is a blank"),
            (Some("queens\t0123456789"), "malformed: its character 7, \\t,"),
        ] {
            let refused = guarded.identify(shown.map(str::as_bytes)).expect_err("it is refused");
            assert!(refused.reason.contains(reason), "{shown:?}: {}", refused.reason);
        }
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
        let credentials = Credentials::new(Some((own.clone(), OwnFiles::default())), known);
        let who = |secret: &[u8]| credentials.identify(Some(secret)).map(|who| who.owner).ok();

        assert_eq!(who(b"good").as_deref(), Some("owner 1"));
        assert_eq!(who(b"soon").as_deref(), Some("owner 3"));
        assert_eq!(who(own.secret().as_bytes()).as_deref(), Some(ADMIN_OWNER));
        for wrong in [&b"late"[..], b"gone", b"goo", b"", b"good "] {
            assert_eq!(who(wrong), None, "{wrong:?}");
        }
        assert!(credentials.identify(None).is_err());
        assert!(Credentials::new(None, Vec::new()).identify(None).is_ok());
    }
}
