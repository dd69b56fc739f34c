//! Identifies the sender of an HTTP request, and admits those who may see the farm: by a bearer's
//! secret, or by the cookie of a login. Logins are gone when the coordinator ends.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use page::Reader;
use tokio::time::Instant;

use super::Web;
use super::fields::Fields;
use crate::Token;
use crate::api::Code;
use crate::coordinator::credentials::{admission, bearer};
use crate::coordinator::limits::machine;
use crate::coordinator::refused::Refused;
use crate::coordinator::{Identity, Right};
use crate::{JoinString, JoinStringError};

/// Lets those in who may see the farm. A handler finds the [`Caller`] in the request's extensions.
pub(super) async fn admit(
    State(web): State<Web>,
    request: Request,
    next: Next,
) -> Result<Response, Refused> {
    let (mut parts, body) = request.into_parts();
    let caller = match web.caller(&parts) {
        Err(refused) if refused.code == Code::Unauthenticated && wants_a_page(&parts) => {
            let login = format!("{}login", page::root(parts.uri.path()));
            return Ok(Redirect::to(&login).into_response());
        }
        caller => caller?,
    };
    let identity = caller.identity.clone();
    identity.require(Right::See)?;
    parts.extensions.insert(caller);
    web.gate.admit(identity, &parts.method, &mut parts.extensions).await;
    Ok(next.run(Request::from_parts(parts, body)).await)
}

/// The sender of a request, who may see the farm.
#[derive(Clone)]
pub(super) struct Caller {
    pub(super) identity: Identity,
    /// The secret of the login; `None` without one.
    login: Option<Arc<str>>,
    /// The options by which their commands reach the coordinator.
    coordinator: String,
}

impl Caller {
    /// The reader as the pages know them.
    pub(super) fn reader(&self) -> Reader {
        Reader {
            owner: self.identity.owner.clone(),
            role: self.identity.role.name(),
            logged_in: self.login.is_some(),
            submits: self.identity.require(Right::Change).is_ok(),
            decides: self.identity.require(Right::Decide).is_ok(),
            coordinator: self.coordinator.clone(),
        }
    }
}

/// The refusal of a request to an open farm under a name that anybody may have registered: see
/// [`is_own_name`].
const FOREIGN_NAME: &str = "this farm wants no credential, so its page is there only under an address, localhost \
                            or a name without a dot: a site of that name could act in the browser of a person who opens it";

impl Web {
    /// Whether a caller who was let in would be let in now.
    pub(super) fn still_admits(&self, Caller { identity, login, .. }: &Caller) -> bool {
        let goes_on = login.as_ref().is_none_or(|login| self.logins.find(login).is_some());
        goes_on && self.gate.credentials.still_allow(identity)
    }

    /// The sender of a request: by `Authorization: Bearer`, or else by the cookie of a login.
    fn caller(&self, parts: &Parts) -> Result<Caller, Refused> {
        let login = login_of(parts);
        let (identity, login) =
            match (bearer(&parts.headers), login.and_then(|login| self.logins.find(login))) {
                (None, Some(identity)) if self.gate.credentials.still_allow(&identity) => {
                    (identity, login.map(Arc::from))
                }
                _ => (self.bearer(parts)?, None),
            };
        let coordinator = options(parts, &identity);
        Ok(Caller { identity, login, coordinator })
    }

    /// The sender of a request by `Authorization: Bearer` alone.
    pub(super) fn bearer(&self, parts: &Parts) -> Result<Identity, Refused> {
        if self.gate.credentials.are_needless() && !is_own_name(parts) {
            return Err(Refused::new(Code::Forbidden, FOREIGN_NAME));
        }
        self.gate.identify(bearer(&parts.headers), admission(&parts.extensions).peer)
    }
}

/// The name of the cookie of a login. Over TLS it begins with `__Host-`: browsers accept such a
/// cookie only from this host itself, and only over TLS.
fn cookie_name(parts: &Parts) -> &'static str {
    if admission(&parts.extensions).is_encrypted { "__Host-queens" } else { "queens" }
}

/// The secret of the login that a request belongs to.
fn login_of(parts: &Parts) -> Option<&str> {
    let name = cookie_name(parts);
    let lines = parts.headers.get_all(header::COOKIE).into_iter();
    let cookies = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split("; "));
    let mut pairs = cookies.filter_map(|cookie| cookie.split_once('='));
    pairs.find(|&(key, _)| key == name).map(|(_, value)| value)
}

fn wants_a_page(parts: &Parts) -> bool {
    let accepted = parts.headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok());
    parts.method == Method::GET && accepted.is_some_and(|kinds| kinds.contains("text/html"))
}

/// Whether the request names the farm by an address, as localhost or by a name without a dot. Any
/// other name may belong to a site that a browser shows and whose owner has directed the name to
/// this farm (DNS rebinding). The pages of that site could then read and change the farm.
fn is_own_name(parts: &Parts) -> bool {
    let Some(authority) = authority(parts) else { return false };
    let host = authority.host();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    !host.contains('.') || host.ends_with(".localhost") || address.parse::<IpAddr>().is_ok()
}

/// The host and the port that a request is addressed to.
fn authority(parts: &Parts) -> Option<Authority> {
    let named = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    parts.uri.authority().cloned().or_else(|| named?.parse().ok())
}

/// The options by which commands of the sender of a request reach the coordinator. Over TLS, a join
/// string has its address.
fn options(parts: &Parts, identity: &Identity) -> String {
    if admission(&parts.extensions).is_encrypted {
        return "--join-file join".into();
    }
    // The text is to be copied into a shell, so that it has nothing that a shell would act on.
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "-.:[]".contains(sign);
    let address = authority(parts).filter(|it| it.as_str().chars().all(is_plain));
    let address = address.map_or("HOST:PORT".into(), |it| match it.port() {
        Some(_) => it.to_string(),
        None => format!("{it}:80"),
    });
    let token = if identity.credential.is_some() { " --token-file token" } else { "" };
    format!("--coordinator http://{address}{token}")
}

/// The header that has the browser keep a cookie for some seconds.
fn cookie(parts: &Parts, value: &str, seconds: u64) -> HeaderValue {
    let name = cookie_name(parts);
    let secure = if name.starts_with("__Host-") { "; Secure" } else { "" };
    let text =
        format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::try_from(text).expect("secrets are hexadecimal digits")
}

/// Begins a login, if the credential may see the farm.
pub(super) async fn begin(State(web): State<Web>, parts: Parts, form: Fields) -> Response {
    let refused = |status: StatusCode, why: &str| {
        (status, page::login(Some(why), web.public.is_some())).into_response()
    };
    let peer = admission(&parts.extensions).peer;
    if !web.attempts.allow(&machine(peer)) {
        let why = "too many have tried to log in from this address; wait a second";
        return refused(StatusCode::TOO_MANY_REQUESTS, why);
    }
    // No browser sends a form without this field, so nothing is explained.
    let secret = match secret_of(form.text("token").unwrap_or_default()) {
        Ok(secret) => secret,
        Err(error) => {
            let why = format!("this join string cannot be used: {error}");
            return refused(StatusCode::FORBIDDEN, &why);
        }
    };
    let identity = web.gate.identify(Some(secret.as_bytes()), peer);
    let identity = match identity.and_then(|who| who.require(Right::See).map(|()| who)) {
        Ok(identity) => identity,
        Err(why) => return refused(StatusCode::FORBIDDEN, &why.reason),
    };
    let (owner, role) = (&identity.owner, identity.role.name());
    tracing::info!(owner, role, "somebody logged in to the page");
    let secret = web.logins.begin(identity);
    let set = cookie(&parts, secret.secret(), LIFETIME.as_secs());
    ([(header::SET_COOKIE, set)], Redirect::to("./")).into_response()
}

/// The secret in what a person has pasted: `queens token create` prints the secret alone, over TLS
/// a join string, or with `--login` a link. Editors may put a byte order mark in front.
fn secret_of(pasted: &str) -> Result<String, JoinStringError> {
    let pasted = pasted.trim_start_matches('\u{feff}').trim();
    let pasted = pasted.split_once("/login#").map_or(pasted, |(_, secret)| secret);
    if !pasted.starts_with(JoinString::SCHEME) {
        return Ok(pasted.into());
    }
    Ok(pasted.parse::<JoinString>()?.token.secret().into())
}

pub(super) async fn end(State(web): State<Web>, parts: Parts) -> impl IntoResponse {
    if let Some(login) = login_of(&parts) {
        web.logins.end(login);
    }
    ([(header::SET_COOKIE, cookie(&parts, "", 0))], Redirect::to("login"))
}

/// How long a login lasts.
const LIFETIME: Duration = Duration::from_hours(12);

/// All logins, by the BLAKE3 hashes of their secrets.
#[derive(Clone, Default)]
pub(super) struct Logins(Arc<Mutex<HashMap<[u8; 32], Begun>>>);

struct Begun {
    identity: Identity,
    begun: Instant,
}

impl Logins {
    /// Begins a login. Returns its secret.
    fn begin(&self, identity: Identity) -> Token {
        let secret = Token::random();
        let mut logins = self.lock();
        logins.retain(|_, login| login.begun.elapsed() < LIFETIME);
        logins.insert(*secret.hash().as_bytes(), Begun { identity, begun: Instant::now() });
        secret
    }

    /// Who logged in with this secret.
    fn find(&self, secret: &str) -> Option<Identity> {
        let logins = self.lock();
        let login = logins.get(blake3::hash(secret.as_bytes()).as_bytes())?;
        (login.begun.elapsed() < LIFETIME).then(|| login.identity.clone())
    }

    /// Ends a login, if there is one with this secret.
    fn end(&self, secret: &str) {
        self.lock().remove(blake3::hash(secret.as_bytes()).as_bytes());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], Begun>> {
        self.0.lock().expect("nobody panics while holding it")
    }
}

#[cfg(test)]
mod tests {
    use ledger::Role;

    use super::*;

    fn viewer(id: u8) -> Identity {
        Identity { owner: "ann".into(), role: Role::Viewer, credential: Some(blake3::hash(&[id])) }
    }

    #[tokio::test(start_paused = true)]
    async fn a_login_lasts_for_its_lifetime_or_until_it_is_ended() {
        let logins = Logins::default();
        let (first, second) = (logins.begin(viewer(1)), logins.begin(viewer(2)));
        assert_eq!(logins.find(first.secret()), Some(viewer(1)));
        assert_eq!(logins.find("no such secret"), None);

        logins.end(first.secret());
        assert_eq!(logins.find(first.secret()), None);
        tokio::time::advance(LIFETIME - Duration::from_secs(1)).await;
        assert_eq!(logins.find(second.secret()), Some(viewer(2)));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(logins.find(second.secret()), None);
    }
}
