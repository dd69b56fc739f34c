//! Identifies the sender of an HTTP request, and admits those who may see the farm.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use tonic::Status;

use super::fault::Fault;
use super::logins::Logins;
use crate::coordinator::credentials::{Gate, admission, bearer};
use crate::coordinator::limits::{Rates, logins};
use crate::coordinator::{Identity, Right};

/// Identifies callers.
#[derive(Clone)]
pub(super) struct Guard {
    pub(super) gate: Gate,
    pub(super) logins: Logins,
    pub(super) attempts: Rates<IpAddr>,
}

/// Lets those in who may see the farm.
pub(super) async fn admit(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let identity = match guard.caller(&parts) {
        Ok(identity) => identity,
        Err(Denied::Stranger(_)) if wants_a_page(&parts) => {
            let login = format!("{}login", page::root(parts.uri.path()));
            return Redirect::to(&login).into_response();
        }
        Err(Denied::Stranger(status)) => return Fault::from(status).into_response(),
        Err(Denied::Name) => {
            return Fault::new(StatusCode::FORBIDDEN, FOREIGN_NAME).into_response();
        }
    };
    if let Err(status) = identity.require(Right::See) {
        return Fault::from(status).into_response();
    }
    let login = login_of(&parts).filter(|login| guard.logins.find(login).is_some());
    let login = Login(login.map(Arc::from));
    parts.extensions.insert(login);
    guard.gate.admit(identity, &mut parts.extensions).await;
    next.run(Request::from_parts(parts, body)).await
}

/// The secret of the login of a request; `None` if it was let in without one.
#[derive(Clone, Debug)]
pub(super) struct Login(pub(super) Option<Arc<str>>);

/// Why a caller is not let in.
#[derive(Debug)]
enum Denied {
    /// They show no credential that is known.
    Stranger(Status),
    /// The request names the farm by a name that anybody may have made.
    Name,
}

/// The answer to a request by a name that anybody may have registered.
const FOREIGN_NAME: &str = "this farm wants no credential, so its page is there only under an address, localhost \
                            or a name without a dot: a site of that name could act in the browser of a person who opens it";

impl Guard {
    pub(super) fn new(gate: Gate) -> Guard {
        Guard { gate, logins: Logins::default(), attempts: logins() }
    }

    /// Whether a caller who was let in would be let in now.
    pub(super) fn still_admits(&self, identity: &Identity, Login(login): &Login) -> bool {
        let goes_on = login.as_ref().is_none_or(|login| self.logins.find(login).is_some());
        goes_on && self.gate.credentials.still_allow(identity)
    }

    /// The identity of a caller: by `Authorization: Bearer`, or else by the cookie of a login.
    fn caller(&self, parts: &Parts) -> Result<Identity, Denied> {
        let credentials = &self.gate.credentials;
        if credentials.are_needless() && !is_own_name(parts) {
            return Err(Denied::Name);
        }
        let secret = parts.headers.get(header::AUTHORIZATION);
        let secret = secret.and_then(|given| bearer(given.as_bytes()));
        let login = login_of(parts).and_then(|login| self.logins.find(login));
        match (secret, login) {
            (None, Some(identity)) if credentials.still_allow(&identity) => Ok(identity),
            _ => {
                let peer = admission(&parts.extensions).peer();
                self.gate.identify(secret, peer).map_err(Denied::Stranger)
            }
        }
    }
}

/// The name of the cookie of a login. Browsers let nobody set one of the first name but this farm, over TLS.
pub(super) fn cookie_name(parts: &Parts) -> &'static str {
    if admission(&parts.extensions).is_encrypted() { "__Host-queens" } else { "queens" }
}

/// The secret of the login that a request belongs to.
pub(super) fn login_of(parts: &Parts) -> Option<&str> {
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

/// Whether the request names the farm by an address, as localhost or by a name without a dot. Any other name may be
/// that of a site that a browser shows, and which its owner has made to lead here.
fn is_own_name(parts: &Parts) -> bool {
    let named = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let Some(host) = parts.uri.host().or(named.map(without_port)) else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']');
    !host.contains('.') || host.ends_with(".localhost") || address.parse::<IpAddr>().is_ok()
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    }
}
