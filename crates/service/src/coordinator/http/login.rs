//! How a browser logs in and out.

use axum::extract::rejection::FormRejection;
use axum::extract::{Form, FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::Markup;
use serde::Deserialize;

use super::fault::Fault;
use super::guard::{Guard, cookie_name, login_of};
use super::logins::LIFETIME;
use crate::coordinator::Right;

/// The page on which a person logs in.
pub(super) async fn form() -> Markup {
    page::login(None)
}

/// What the form sends.
#[derive(Default, Deserialize)]
pub(super) struct Shown {
    #[serde(default)]
    token: String,
}

/// The cookie of a request, and what a new one would be called.
pub(super) struct Cookie {
    name: &'static str,
    login: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for Cookie {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Cookie, Self::Rejection> {
        Ok(Cookie { name: cookie_name(parts), login: login_of(parts).map(str::to_string) })
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
pub(super) async fn begin(
    State(guard): State<Guard>,
    cookie: Cookie,
    form: Result<Form<Shown>, FormRejection>,
) -> Response {
    // A form that no browser would send shows nothing.
    let Shown { token } = form.map(|Form(shown)| shown).unwrap_or_default();
    let identity = guard.gate.credentials.identify(Some(token.trim().as_bytes()));
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
    ([(header::SET_COOKIE, set)], Redirect::to("/")).into_response()
}

/// Ends a login.
pub(super) async fn end(State(guard): State<Guard>, cookie: Cookie) -> Result<Response, Fault> {
    if let Some(login) = &cookie.login {
        guard.logins.end(login);
    }
    Ok(([(header::SET_COOKIE, cookie.set("", 0))], Redirect::to("/login")).into_response())
}
