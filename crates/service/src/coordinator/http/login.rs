//! How a browser logs in and out.

use std::net::IpAddr;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::Markup;

use super::fault::Fault;
use super::fields::Fields;
use super::guard::{Guard, cookie_name, login_of};
use super::logins::LIFETIME;
use crate::coordinator::Right;
use crate::coordinator::credentials::admission;
use crate::coordinator::limits::machine;
use crate::join_string::{JoinString, JoinStringError};

/// The page on which a person logs in.
pub(super) async fn form() -> Markup {
    page::login(None)
}

/// The cookie of a request, what a new one would be called, and where the request comes from.
pub(super) struct Cookie {
    peer: IpAddr,
    name: &'static str,
    login: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for Cookie {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Cookie, Self::Rejection> {
        let admission = admission(&parts.extensions);
        let login = login_of(parts).map(str::to_string);
        Ok(Cookie { peer: admission.peer(), name: cookie_name(parts), login })
    }
}

impl Cookie {
    /// The header that has the browser keep `value` for some seconds.
    fn set(&self, value: &str, seconds: u64) -> HeaderValue {
        let secure = if self.name.starts_with("__Host-") { "; Secure" } else { "" };
        let text = format!(
            "{}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}",
            self.name
        );
        HeaderValue::try_from(text).expect("secrets are hexadecimal digits")
    }
}

/// Begins a login, if the credential may see the farm.
pub(super) async fn begin(State(guard): State<Guard>, cookie: Cookie, form: Fields) -> Response {
    if !guard.attempts.allow(&machine(cookie.peer)) {
        let page =
            page::login(Some("too many have tried to log in from this address; wait a second"));
        return (StatusCode::TOO_MANY_REQUESTS, page).into_response();
    }
    // A form that no browser would send shows nothing.
    let secret = match secret_of(form.text("token").unwrap_or_default()) {
        Ok(secret) => secret,
        Err(error) => {
            let page = page::login(Some(&format!("this join string cannot be used: {error}")));
            return (StatusCode::FORBIDDEN, page).into_response();
        }
    };
    let identity = guard.gate.identify(Some(secret.as_bytes()), cookie.peer);
    let identity = match identity.and_then(|who| who.require(Right::See).map(|()| who)) {
        Ok(identity) => identity,
        Err(status) => {
            let page = page::login(Some(status.message()));
            return (StatusCode::FORBIDDEN, page).into_response();
        }
    };
    tracing::info!(
        owner = identity.owner,
        role = identity.role.name(),
        "somebody logged in to the page"
    );
    let secret = guard.logins.begin(identity);
    let set = cookie.set(secret.secret(), LIFETIME.as_secs());
    ([(header::SET_COOKIE, set)], Redirect::to("./")).into_response()
}

/// The secret in what a person has pasted: `queens token create` prints the secret alone or, over TLS, a join string.
fn secret_of(pasted: &str) -> Result<String, JoinStringError> {
    let pasted = pasted.trim();
    if !pasted.starts_with(JoinString::SCHEME) {
        return Ok(pasted.into());
    }
    Ok(pasted.parse::<JoinString>()?.token.secret().into())
}

/// Ends a login.
pub(super) async fn end(State(guard): State<Guard>, cookie: Cookie) -> Result<Response, Fault> {
    if let Some(login) = &cookie.login {
        guard.logins.end(login);
    }
    Ok(([(header::SET_COOKIE, cookie.set("", 0))], Redirect::to("login")).into_response())
}
