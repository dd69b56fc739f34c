//! `/api/v1`: what clients of the farm ask for, as JSON. `docs/API.md` is for their authors, and
//! `docs/openapi.json` has every request and answer.
//!
//! ```text
//!   request ──► Authorization: Bearer ──► handler ──► JobApi ──► the farm
//!                                          │  ▲
//!                 what is read is made once└──┘for all who read it within a second
//! ```

use std::convert::Infallible;
use std::fmt::Display;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{DefaultBodyLimit, FromRequest, FromRequestParts, Path, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use farm::{Change, JobId, JobState, JobView, Refusal, is_name};
use futures_util::stream::{self, Stream};
use ledger::Credential;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{self, OpenApi, RefOr};
use utoipa::{IntoParams, PartialSchema, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::fields::Fields;
use super::pages::job_id;
use super::{Web, no_such_page};
use crate::api::{
    Code, Distrusted, Drained, Jobs, LAST_EVENT, MOST_LISTED, MadeToken, NewToken, OneOrMore,
    Patch, ProblemDetails, ROOT, Submit, Tokens, Trust, Workers,
};
use crate::coordinator::downloads::Download;
use crate::coordinator::refused::Refused;
use crate::coordinator::{Credentials, Identity, Right};

/// The longest body of a request, bytes.
const MAX_BODY: usize = 64 << 10;
/// How many jobs a page has if the client does not say.
const LISTED: usize = 100;

/// Whether an address belongs to the API.
pub(super) fn is_of_api(path: &str) -> bool {
    path.strip_prefix(ROOT).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Everything but files. Must be called within a runtime.
pub(super) fn routes(web: &Web) -> Router<Web> {
    let (routes, described) = described();
    let description = described.to_pretty_json().expect("it is JSON");
    let description =
        move || async move { ([(header::CONTENT_TYPE, "application/json")], description) };
    let public = Router::new().route(&format!("{ROOT}/openapi.json"), get(description));
    guarded(routes, web).merge(public)
}

/// Files, which may take long before their first byte.
pub(super) fn downloads(web: &Web) -> Router<Web> {
    guarded(of_files().split_for_parts().0, web)
}

fn guarded(routes: Router<Web>, web: &Web) -> Router<Web> {
    let admit = from_fn_with_state(web.clone(), admit);
    routes.layer(DefaultBodyLimit::max(MAX_BODY)).route_layer(admit)
}

fn of_json() -> OpenApiRouter<Web> {
    let routes = OpenApiRouter::new()
        .routes(routes!(list, submit))
        .routes(routes!(show, patch, remove))
        .routes(routes!(change))
        .routes(routes!(events))
        .routes(routes!(workers))
        .routes(routes!(drain))
        .routes(routes!(trust))
        .routes(routes!(tokens, create_token))
        .routes(routes!(revoke_token));
    OpenApiRouter::new().nest(ROOT, routes)
}

fn of_files() -> OpenApiRouter<Web> {
    let routes = OpenApiRouter::new().routes(routes!(bundle)).routes(routes!(ledger));
    OpenApiRouter::new().nest(ROOT, routes)
}

/// The routes without those of files, and the description of all of them.
fn described() -> (Router<Web>, OpenApi) {
    let (routes, mut described) = of_json().split_for_parts();
    described.merge(of_files().split_for_parts().1);
    described.info.title = "queens farm".into();
    described.info.version = env!("CARGO_PKG_VERSION").into();
    described.info.description =
        Some("Counts the placements of N queens. docs/API.md begins.".into());
    described.info.license = None;
    described.info.contact = None;
    // Every request may be refused, and every refusal is told in the same way.
    let refused = openapi::Response::builder()
        .description("What went wrong, as RFC 9457 has it")
        .content(
            "application/problem+json",
            openapi::Content::new(Some(openapi::Ref::from_schema_name(ProblemDetails::name()))),
        )
        .build();
    let paths = described.paths.paths.values_mut();
    let operations = paths.flat_map(|path| {
        [&mut path.get, &mut path.post, &mut path.patch, &mut path.delete].into_iter().flatten()
    });
    for operation in operations {
        let answers = &mut operation.responses.responses;
        answers.insert("default".into(), RefOr::T(refused.clone()));
    }
    let components = described.components.get_or_insert_default();
    components.schemas.insert(ProblemDetails::name().into(), ProblemDetails::schema());
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    components.add_security_scheme("token", bearer);
    // A farm on loopback may want no credential.
    let token = SecurityRequirement::new("token", Vec::<String>::new());
    described.security = Some(vec![token, SecurityRequirement::default()]);
    (routes, described)
}

/// Lets those in who show a secret; the handlers ask whether it suffices. No cookie is read, so
/// that no other site can make a browser ask for anything. A handler finds the [`Identity`] in the
/// request's extensions.
async fn admit(State(web): State<Web>, request: Request, next: Next) -> Result<Response, Refused> {
    let (mut parts, body) = request.into_parts();
    let query = Fields::read(parts.uri.query().unwrap_or_default().as_bytes());
    if ["token", "access_token", "secret"].iter().any(|name| query.text(name).is_some()) {
        return Err(Refused::new(
            Code::Malformed,
            "a secret in an address lands in logs: show it in the header `Authorization: Bearer SECRET`, \
             and revoke this one",
        ));
    }
    let identity = web.bearer(&parts)?;
    web.gate.admit(identity, &parts.method, &mut parts.extensions).await;
    Ok(next.run(Request::from_parts(parts, body)).await)
}

/// Who asks for something, and whom it is asked of.
struct Call {
    web: Web,
    identity: Identity,
}

impl FromRequestParts<Web> for Call {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, web: &Web) -> Result<Call, Infallible> {
        let identity = parts.extensions.get().cloned().expect("it was admitted");
        Ok(Call { web: web.clone(), identity })
    }
}

/// The body of a request, as JSON.
struct Json<T>(T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, state: &S) -> Result<Json<T>, Refused> {
        Ok(Json(parsed(&body(request, state).await?)?))
    }
}

/// The bytes of a body that is said to be JSON.
async fn body<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, Refused> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    if !kind.trim().eq_ignore_ascii_case("application/json") {
        let reason = "the body must be JSON, and say so: `Content-Type: application/json`";
        return Err(Refused::new(Code::WrongType, reason));
    }
    Bytes::from_request(request, state).await.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let reason = format!("the body has more than {} KiB", MAX_BODY >> 10);
            Refused::new(Code::TooLarge, reason)
        }
        _ => Refused::new(Code::Malformed, rejection.body_text()),
    })
}

/// Reads JSON: an object, or an array of objects if `T` is one. Text that is no JSON is malformed;
/// JSON that is something else than what is wanted is invalid.
fn parsed<T: DeserializeOwned>(text: &[u8]) -> Result<T, Refused> {
    let refused = |code, why: &dyn Display| {
        Refused::new(code, format!("the body is not what is wanted: {why}"))
    };
    let value = serde_json::from_slice(text).map_err(|error| refused(Code::Malformed, &error))?;
    let parts = match &value {
        Value::Array(parts) => parts.as_slice(),
        whole => std::slice::from_ref(whole),
    };
    // serde takes an array for the fields of a struct in their order.
    if !parts.iter().all(is_object_without_arrays) {
        return Err(refused(
            Code::Invalid,
            &"an object is wanted, and none of its fields is an array",
        ));
    }
    // The text is read again, because a value does not tell that a field came twice.
    serde_json::from_slice(text).map_err(|error| refused(Code::Invalid, &error))
}

fn is_object_without_arrays(value: &Value) -> bool {
    let is_fine = |field: &Value| match field {
        Value::Array(_) => false,
        Value::Object(_) => is_object_without_arrays(field),
        _ => true,
    };
    value.as_object().is_some_and(|fields| fields.values().all(is_fine))
}

/// The job of an address.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
struct Job {
    /// Its number.
    #[param(value_type = u64)]
    job: JobId,
}

impl<S: Send + Sync> FromRequestParts<S> for Job {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Job, Refused> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        let Path(job) = path.map_err(|error| Refused::new(Code::NotFound, error.body_text()))?;
        Ok(Job { job: job_id(&job)? })
    }
}

/// JSON that is shared among its readers.
fn json(bytes: Bytes) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], bytes).into_response()
}

fn bytes(answer: &impl Serialize) -> Result<Bytes, Refused> {
    serde_json::to_vec(answer).map(Bytes::from).map_err(Refused::internal)
}

/// What is read of the farm, and made once for all readers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Asked {
    Jobs(Filter),
    Job(JobId),
    Workers,
}

impl Web {
    /// The answer to a reader.
    async fn read(
        &self,
        by: &Identity,
        asked: Asked,
        make: impl Future<Output = Result<Bytes, Refused>>,
    ) -> Result<Response, Refused> {
        by.require(Right::See)?;
        Ok(json(self.answers.get(asked, self.jobs.farm.changes(), make).await?))
    }
}

/// Which jobs are listed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Filter {
    /// Only jobs in one of these states, with commas between them, as in `running,paused`.
    #[param(
        pattern = "^(running|paused|suspended|done|cancelled)(,(running|paused|suspended|done|cancelled))*$"
    )]
    state: Option<String>,
    /// Only the jobs of this owner.
    owner: Option<String>,
    /// Only jobs of this name.
    name: Option<String>,
    /// Whether the newest come first.
    #[serde(default)]
    newest: bool,
    /// Only jobs that come after the one of this number: `next` of the page before.
    after: Option<u64>,
    /// The most jobs in the answer, 100 unless it is given.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

impl Filter {
    fn states(&self) -> Result<Vec<JobState>, Refused> {
        let Some(names) = &self.state else { return Ok(JobState::ALL.into()) };
        let named = |name| {
            JobState::named(name).ok_or_else(|| {
                let all = JobState::ALL.map(JobState::name).join(", ");
                Refused::new(
                    Code::Malformed,
                    format!("there is no state {name:?}; there are {all}"),
                )
            })
        };
        names.split(',').map(named).collect()
    }

    /// The page of these jobs.
    async fn page(&self, web: &Web) -> Result<Jobs, Refused> {
        let (states, filter) = (self.states()?, self.clone());
        let limit = filter.limit.unwrap_or(LISTED);
        if !(1..=MOST_LISTED).contains(&limit) {
            let reason = format!("a page has 1 to {MOST_LISTED} jobs");
            return Err(Refused::new(Code::Malformed, reason));
        }
        let seen = web.jobs.farm.look(move |farm| -> Vec<JobView> {
            let is_wanted = |view: &JobView| {
                let origin = &view.spec.origin;
                filter.owner.as_ref().is_none_or(|owner| *owner == origin.owner)
                    && filter.name.as_ref().is_none_or(|name| Some(name) == origin.key.as_ref())
            };
            let is_in = move |state: JobState| states.contains(&state);
            // One job more than is listed shows whether more jobs follow.
            if filter.newest {
                let before = JobId(filter.after.unwrap_or(u64::MAX));
                farm.jobs(..before, is_in).rev().filter(is_wanted).take(limit + 1).collect()
            } else {
                let after = JobId(filter.after.unwrap_or(0).saturating_add(1));
                farm.jobs(after.., is_in).filter(is_wanted).take(limit + 1).collect()
            }
        });
        let mut jobs = seen.await?;
        let are_more = jobs.len() > limit;
        jobs.truncate(limit);
        let next = jobs.last().filter(|_| are_more).map(|job| job.id);
        Ok(Jobs { jobs, next })
    }
}

/// The jobs, page by page.
#[utoipa::path(get, path = "/jobs", params(Filter),
    responses((status = OK, description = "A page of jobs", body = Jobs)))]
async fn list(
    Call { web, identity }: Call,
    filter: Result<Query<Filter>, QueryRejection>,
) -> Result<Response, Refused> {
    let Query(filter) = filter.map_err(|error| Refused::new(Code::Malformed, error.body_text()))?;
    let page = async { bytes(&filter.page(&web).await?) };
    web.read(&identity, Asked::Jobs(filter.clone()), page).await
}

/// Adds a job, or 1 to 100 jobs: all of them or, if one is refused, none. They are durable when
/// they are answered. A submission is refused if the tasks of its plan cannot be numbered within 50
/// seconds.
#[utoipa::path(post, path = "/jobs", request_body = OneOrMore<Submit>,
    responses((status = CREATED, description = "What was asked for, in the same order", body = OneOrMore<JobView>)))]
async fn submit(Call { web, identity }: Call, request: Request) -> Result<Response, Refused> {
    let body = body(request, &()).await?;
    // An object and an array are told apart by their beginnings, so that the sentence about a fault
    // is about the one that was meant.
    let is_array = body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    let jobs = if is_array { parsed(&body)? } else { vec![parsed(&body)?] };
    let mut jobs = web.jobs.submit(&identity, jobs).await?;
    let answer = match jobs.pop() {
        Some(job) if !is_array => OneOrMore::One(job),
        last => OneOrMore::More(jobs.into_iter().chain(last).collect()),
    };
    Ok((StatusCode::CREATED, json(bytes(&answer)?)).into_response())
}

/// One job.
#[utoipa::path(get, path = "/jobs/{job}", params(Job),
    responses((status = OK, description = "The job", body = JobView)))]
async fn show(Call { web, identity }: Call, Job { job }: Job) -> Result<Response, Refused> {
    web.read(&identity, Asked::Job(job), async { bytes(&web.jobs.view(job).await?) }).await
}

/// Changes the priority of a job, or has accepted ranges of it counted again, by other machines or
/// owners and other kernels. For its owner, and for admins. A job that is done stays done while it
/// is audited, unless a second count contradicts the first; one that is suspended runs again.
#[utoipa::path(patch, path = "/jobs/{job}", params(Job),
    request_body = Patch, responses((status = OK, description = "The job", body = JobView)))]
async fn patch(
    Call { web, identity }: Call,
    Job { job }: Job,
    Json(patch): Json<Patch>,
) -> Result<Response, Refused> {
    Ok(json(bytes(&web.jobs.patch(&identity, job, patch).await?)?))
}

/// Removes a job that is over, with all of its counts and evidence. No other job gets its number.
/// For its owner, and for admins. The answer is the job as it was.
#[utoipa::path(delete, path = "/jobs/{job}", params(Job),
    responses((status = OK, description = "The job as it was", body = JobView)))]
async fn remove(Call { web, identity }: Call, Job { job }: Job) -> Result<Response, Refused> {
    Ok(json(bytes(&web.jobs.remove(&identity, job).await?)?))
}

/// Says a word to a job. `pause` stops leasing ranges of it until it is resumed. `resume` leases
/// ranges of it again, also its failed tasks. `cancel` ends it without a total; it stays in the
/// list, and repeating the word does no harm. For its owner, and for admins.
#[utoipa::path(post, path = "/jobs/{job}/{word}",
    params(Job, ("word" = String, Path, description = "What is said", pattern = "^(pause|resume|cancel)$")),
    responses((status = OK, description = "The job", body = JobView)))]
async fn change(
    Call { web, identity }: Call,
    Path((job, word)): Path<(String, String)>,
) -> Result<Response, Refused> {
    let change = Change::named(&word).ok_or_else(no_such_page)?;
    Ok(json(bytes(&web.jobs.change(&identity, job_id(&job)?, change).await?)?))
}

/// Follows a job: an event has it as it is now, and further ones come when it has changed, at most
/// a few a second. The stream ends when the job is done, cancelled or removed. The last event of a
/// job that is over has the id `end`, and whoever comes back with that id is told that nothing
/// follows.
#[utoipa::path(get, path = "/jobs/{job}/events",
    params(Job,
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that was received")),
    responses((status = OK, description = "Server-sent events, each with the job as its data", body = JobView, content_type = "text/event-stream"),
        (status = NO_CONTENT, description = "Nothing follows")))]
async fn events(
    Call { web, identity }: Call,
    Job { job }: Job,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    identity.require(Right::See)?;
    let followed = web.jobs.farm.follow(job).await?.ok_or(Refusal::NoSuchJob(job))?;
    let had_the_last = headers.get("last-event-id").is_some_and(|id| id == LAST_EVENT);
    if had_the_last && followed.borrow().state.is_over() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let events = events_of(followed, identity, web.jobs.credentials);
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

/// The job as it is, and again when it has changed, until it is over or the credential ends. A
/// client that reads slowly gets the latest state, and nothing is kept for it.
fn events_of(
    mut followed: watch::Receiver<JobView>,
    identity: Identity,
    credentials: Credentials,
) -> impl Stream<Item = Result<Event, Infallible>> {
    followed.mark_changed();
    stream::unfold(Some(followed), move |followed| {
        let (identity, credentials) = (identity.clone(), credentials.clone());
        async move {
            let mut followed = followed?;
            tokio::select! {
                changed = followed.changed() => changed.ok()?,
                _ = credentials.ended(&identity) => return None,
            }
            let (is_over, data) = {
                let job = followed.borrow_and_update();
                (job.state.is_over(), serde_json::to_string(&*job).ok()?)
            };
            let event = Event::default().data(data);
            let event = if is_over { event.id(LAST_EVENT) } else { event };
            Some((Ok(event), Some(followed).filter(|_| !is_over)))
        }
    })
}

/// The evidence of a job as it is now, in the format of docs/BUNDLE.md, compressed by gzip.
#[utoipa::path(get, path = "/jobs/{job}/bundle", params(Job),
    responses((status = OK, description = "The bundle; `Content-Length` tells its end from a cut", body = Vec<u8>, content_type = "application/gzip")))]
async fn bundle(Call { web, identity }: Call, Job { job }: Job) -> Result<Response, Refused> {
    sent_bundle(&web, job, identity).await
}

/// The answer with the bundle of a job, for those who may see it.
pub(super) async fn sent_bundle(
    web: &Web,
    job: JobId,
    identity: Identity,
) -> Result<Response, Refused> {
    identity.require(Right::See)?;
    let file = web.jobs.downloads.bundle(job).await?;
    Ok(sent(file, "application/gzip", &format!("job-{job}.bundle.gz"), identity, web))
}

/// A copy of the ledger as it is at one moment, while the farm goes on: an SQLite file. It has the
/// hashes of the credentials' secrets, and nothing from the folder of keys beside the ledger. For
/// admins.
#[utoipa::path(get, path = "/ledger",
    responses((status = OK, description = "The copy; `Content-Length` tells its end from a cut", body = Vec<u8>, content_type = "application/vnd.sqlite3")))]
async fn ledger(Call { web, identity }: Call) -> Result<Response, Refused> {
    identity.require(Right::Decide)?;
    tracing::info!(by = identity.owner, "a copy of the ledger is being made");
    let file = web.jobs.downloads.copy().await?;
    Ok(sent(file, "application/vnd.sqlite3", "ledger.db", identity, &web))
}

/// The answer with a file.
fn sent(file: Download, kind: &str, name: &str, identity: Identity, web: &Web) -> Response {
    let length = file.bytes;
    let mut answer = file.body(identity, web.jobs.credentials.clone()).into_response();
    let save_as = format!("attachment; filename=\"{name}\"");
    for (header, value) in [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_LENGTH, &length.to_string()),
        (header::CONTENT_DISPOSITION, &save_as),
    ] {
        let value = HeaderValue::from_str(value).expect("it is a text of visible characters");
        answer.headers_mut().insert(header, value);
    }
    answer
}

/// Who counts, and who is distrusted.
#[utoipa::path(get, path = "/workers", responses((status = OK, description = "All of them", body = Workers)))]
async fn workers(Call { web, identity }: Call) -> Result<Response, Refused> {
    let seen = async {
        let seen = web.jobs.farm.look(|farm| Workers {
            workers: farm.worker_views().collect(),
            distrusted: farm.distrusted().cloned().collect(),
            leasable_threads: farm.leasable_threads(),
        });
        bytes(&seen.await?)
    };
    web.read(&identity, Asked::Workers, seen).await
}

/// Drains the workers of this name: they report what they have, and are leased nothing more until
/// they are started anew. Repeating it does no harm. For their owner, and for admins.
#[utoipa::path(post, path = "/workers/{worker}/drain",
    params(("worker" = String, Path, description = "The name of the workers")),
    responses((status = OK, description = "The workers", body = Drained)))]
async fn drain(
    Call { web, identity }: Call,
    Path(worker): Path<String>,
) -> Result<Response, Refused> {
    let workers = web.jobs.drain(&identity, worker).await?;
    Ok(json(bytes(&Drained { workers })?))
}

/// Distrusts a machine or an owner, or trusts it again. For admins.
#[utoipa::path(post, path = "/trust", request_body = Trust,
    responses((status = OK, description = "Who is still distrusted", body = Distrusted)))]
async fn trust(
    Call { web, identity }: Call,
    Json(trust): Json<Trust>,
) -> Result<Response, Refused> {
    let distrusted = web.jobs.trust(&identity, trust).await?;
    Ok(json(bytes(&Distrusted { distrusted })?))
}

/// All credentials, those that have ended included. For admins.
#[utoipa::path(get, path = "/tokens", responses((status = OK, description = "All of them", body = Tokens)))]
async fn tokens(Call { web, identity }: Call) -> Result<Response, Refused> {
    identity.require(Right::Decide)?;
    Ok(json(bytes(&Tokens { tokens: web.jobs.credentials.list() })?))
}

/// Makes a credential. Its secret is told only here. For admins.
#[utoipa::path(post, path = "/tokens", request_body = NewToken,
    responses((status = CREATED, description = "The credential and its secret", body = MadeToken)))]
async fn create_token(
    Call { web, identity }: Call,
    Json(NewToken { role, owner, lifetime_s }): Json<NewToken>,
) -> Result<Response, Refused> {
    identity.require(Right::Decide)?;
    if !is_name(&owner) || owner.contains('/') {
        return Err(Refused::invalid(
            "the name of an owner has 1 to 128 visible ASCII characters and no slash, which stands between owner \
             and machine",
        ));
    }
    let lifetime = lifetime_s.map(Duration::from_secs);
    let (secret, token) =
        web.jobs.credentials.create(&web.jobs.farm, &owner, role, lifetime).await?;
    let (id, by) = (token.id, identity.owner);
    tracing::info!(id, owner, role = role.name(), by, "token created");
    let answer = bytes(&MadeToken { token, secret: secret.secret().into() })?;
    Ok((StatusCode::CREATED, json(answer)).into_response())
}

/// Ends a credential, and the sessions that began with it. Repeating the request does no harm,
/// except for number 0, which is the coordinator's own token: each request replaces this token by a
/// new one, which the coordinator writes into its files. For admins.
#[utoipa::path(delete, path = "/tokens/{token}", params(("token" = String, Path, description = "Its number")),
    responses((status = OK, description = "The credential", body = Credential)))]
async fn revoke_token(
    Call { web, identity }: Call,
    Path(token): Path<String>,
) -> Result<Response, Refused> {
    identity.require(Right::Decide)?;
    let none = || {
        let reason = format!("there is no token {token}; `queens token list` lists them");
        Refused::new(Code::NoSuchToken, reason)
    };
    let id = token.parse().map_err(|_| none())?;
    let revoked = web.jobs.credentials.revoke(&web.jobs.farm, id).await;
    let revoked = revoked.map_err(|error| Refused::new(Code::Unavailable, error.to_string()))?;
    let credential = revoked.ok_or_else(none)?;
    tracing::info!(id, owner = credential.owner, by = identity.owner, "token revoked");
    Ok(json(bytes(&credential)?))
}
