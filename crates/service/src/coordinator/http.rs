//! The page of a coordinator and the API of clients, on the port of its gRPC services, over
//! HTTP/1.1 or HTTP/2.
//!
//! ```text
//!   request ──► another site's form? ──► login: who is it, and may they see? ──► handler
//!                                          Authorization: Bearer SECRET
//!                                          or the cookie of a login
//! ```
//!
//! A handler finds its [`Caller`](login::Caller) in the request's extensions, and asks it for any
//! further right.

mod acts;
mod api;
mod fields;
mod login;
mod pages;
mod records;

use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderValue, StatusCode, Version, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use maud::Markup;
use tonic::Status;
use tonic::codegen::http;
use tower_http::compression::CompressionLayer;
use tower_http::csrf::CsrfLayer;
use tower_http::timeout::TimeoutLayer;

use self::login::Logins;
use self::pages::Show;
use super::credentials::Gate;
use super::fresh::Fresh;
use super::job_api::JobApi;
use super::limits::{self, ANSWER_TIMEOUT, Admission, Rates};
use super::metrics::exposition;
use super::refused::Refused;
use crate::api::Code;

/// The longest form, bytes.
const MAX_FORM: usize = 16 << 10;

/// The state of the handlers.
#[derive(Clone)]
struct Web {
    jobs: JobApi,
    gate: Gate,
    show: Arc<Show>,
    logins: Logins,
    /// What was read of the API.
    answers: Arc<Fresh<api::Asked, Bytes>>,
    /// Attempts to log in.
    attempts: Rates<IpAddr>,
    /// The owners that the page for everybody names; `None` without such a page.
    public: Option<Arc<[String]>>,
}

/// All routes. Those of `readers` are only for callers that may see the farm. Must be called within
/// a runtime.
pub(super) fn routes(gate: Gate, jobs: JobApi, public: Option<Arc<[String]>>) -> Router {
    let (show, logins) = (Arc::new(Show::of(jobs.farm.clone())), Logins::default());
    let (answers, attempts) = (Arc::default(), limits::logins());
    let web = Web { jobs, gate, show, logins, answers, attempts, public };
    let readers: Router<Web> = Router::new()
        .merge(pages::routes())
        .merge(acts::routes())
        .route("/metrics", get(metrics))
        .route_layer(from_fn_with_state(web.clone(), login::admit));
    let anybody: Router<Web> = Router::new()
        .route("/login", get(login).post(login::begin))
        .route("/public", get(everybodys))
        .route("/logout", post(login::end))
        .merge(page::assets())
        .fallback(nothing);
    let timely = TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, ANSWER_TIMEOUT);
    readers
        .merge(anybody)
        .merge(api::routes(&web))
        // Streams of events are left as they are, because an event must not wait in a buffer.
        .layer(CompressionLayer::new())
        .layer(timely)
        .merge(api::downloads(&web))
        .merge(pages::downloads(&web))
        .layer(DefaultBodyLimit::max(MAX_FORM))
        .layer(CsrfLayer::new())
        .layer(from_fn(harden))
        .with_state(web)
}

async fn login(State(web): State<Web>) -> Markup {
    page::login(None, web.public.is_some())
}

/// The page for everybody. Without one, its address is unknown.
async fn everybodys(State(web): State<Web>) -> Result<Html<String>, Refused> {
    let owners = web.public.as_ref().ok_or_else(no_such_page)?;
    Ok(Html(web.show.public(owners).await?.to_string()))
}

/// All metrics, in the format that every reader of metrics understands.
async fn metrics(State(web): State<Web>) -> Result<Response, Refused> {
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    Ok((kind, exposition(&web.jobs.farm).await?).into_response())
}

fn no_such_page() -> Refused {
    Refused::new(Code::NotFound, "there is no such page")
}

/// What is said before the ledger is read.
pub(super) const TOO_EARLY: &str = "the coordinator reads its ledger; try again soon";

/// The answer before the ledger is read.
pub(super) fn too_early(path: &str) -> Response {
    let refused = Refused::new(Code::Unavailable, TOO_EARLY);
    if api::is_of_api(path) { refused.problem() } else { refused.into_response() }
}

/// The answer to an unknown address.
async fn nothing(request: Request) -> Response {
    if is_grpc(&request) {
        Status::unimplemented("there is no such service").into_http()
    } else {
        no_such_page().into_response()
    }
}

/// Adds headers that make a browser show an answer and nothing else: it loads nothing from other
/// sites and runs nothing that stands in the page. Over TLS, the browser is to use only TLS for the
/// next month. A refusal becomes a page.
async fn harden(request: Request, next: Next) -> Response {
    const HEADERS: [(header::HeaderName, &str); 6] = [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
             form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    let connection = request.extensions().get::<Admission>();
    let is_encrypted = connection.is_some_and(|connection| connection.is_encrypted);
    let root = page::root(request.uri().path());
    let is_of_api = api::is_of_api(request.uri().path());
    let mut answer = next.run(request).await;
    let refused = answer.extensions_mut().remove::<Refused>();
    if let Some(refused) = refused.or_else(|| bare_refusal(&answer)) {
        answer = if is_of_api {
            refused.problem()
        } else {
            let page = page::fault(answer.status().as_u16(), &refused.reason, &root);
            (answer.status(), page).into_response()
        };
    }
    if is_encrypted {
        let month = HeaderValue::from_static("max-age=2592000");
        answer.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, month);
    }
    for (name, value) in HEADERS {
        answer.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    answer
}

/// The refusal for one by a library, which sends a status, and a plain text at most. `None` for
/// every other answer.
fn bare_refusal(answer: &Response) -> Option<Refused> {
    let kind = answer.headers().get(header::CONTENT_TYPE);
    if kind.is_some_and(|kind| !kind.as_bytes().starts_with(b"text/plain")) {
        return None;
    }
    let (code, reason) = match answer.status() {
        StatusCode::METHOD_NOT_ALLOWED => {
            (Code::WrongMethod, "this address does not answer such a request")
        }
        StatusCode::FORBIDDEN => (
            Code::Forbidden,
            "this was sent from a page of another address than the coordinator's: a proxy has to pass `Host` on as the browser sent it",
        ),
        StatusCode::SERVICE_UNAVAILABLE => {
            (Code::Unavailable, "the coordinator is too busy to answer in time; try again later")
        }
        status if status.is_client_error() => {
            (Code::Malformed, "this request cannot be read: is its address UTF-8?")
        }
        status if status.is_server_error() => (Code::Internal, "the coordinator has a fault"),
        _ => return None,
    };
    Some(Refused::new(code, reason))
}

/// Refuses requests that are not gRPC. A page of another site can make a browser send a form over
/// HTTP/1.1. It can neither do so over HTTP/2 without TLS nor claim that a form is gRPC.
pub(super) async fn only_grpc(request: Request, next: Next) -> Response {
    if is_grpc(&request) {
        return next.run(request).await;
    }
    let text = "this is a gRPC service: it wants HTTP/2 and the content type application/grpc\n";
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, text).into_response()
}

pub(super) fn is_grpc<B>(request: &http::Request<B>) -> bool {
    let kind = request.headers().get(header::CONTENT_TYPE);
    let names_it = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"));
    request.version() == Version::HTTP_2 && names_it
}

#[cfg(test)]
mod tests;
