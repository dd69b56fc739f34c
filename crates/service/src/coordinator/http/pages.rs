//! The pages themselves, and how browsers hear of what changes in them.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use farm::{CreditOf, JobId, Principal};
use futures_util::StreamExt as _;
use page::{Order, Part, Reader, Span, WorkersView};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tokio_stream::Stream;

use super::Web;
use super::fault::Fault;
use super::fields::Fields;
use super::guard::{Guard, Login};
use super::show::{Show, Shown, View, event};
use crate::coordinator::{Identity, Right};

/// How often a browser hears of what has changed.
const INTERVAL: Duration = Duration::from_secs(1);
/// How often it hears something although nothing has changed, so that a broken connection is noticed.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// The routes of all pages.
pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/", get(jobs))
        .route("/live", get(jobs_live))
        .route("/jobs/{id}", get(job))
        .route("/jobs/{id}/live", get(job_live))
        .route("/workers", get(workers))
        .route("/workers/live", get(workers_live))
        .route("/owners", get(owners))
        .route("/owners/live", get(owners_live))
        .route("/owner", get(credits))
        .route("/owner/live", get(credits_live))
        .route("/worker", get(credits))
        .route("/worker/live", get(credits_live))
}

async fn jobs(web: State<Web>, of: RawQuery, caller: Caller) -> Result<Response, Fault> {
    document(&web, of_jobs(&of), &caller).await
}

async fn jobs_live(web: State<Web>, of: RawQuery, caller: Caller) -> Result<Response, Fault> {
    follow(&web, of_jobs(&of), caller).await
}

async fn job(web: State<Web>, job: Path<String>, caller: Caller) -> Result<Response, Fault> {
    document(&web, View::Job(job_id(&job)?), &caller).await
}

async fn job_live(web: State<Web>, job: Path<String>, caller: Caller) -> Result<Response, Fault> {
    follow(&web, View::Job(job_id(&job)?), caller).await
}

async fn workers(web: State<Web>, of: RawQuery, caller: Caller) -> Result<Response, Fault> {
    document(&web, of_workers(&of), &caller).await
}

async fn workers_live(web: State<Web>, of: RawQuery, caller: Caller) -> Result<Response, Fault> {
    follow(&web, of_workers(&of), caller).await
}

async fn owners(web: State<Web>, caller: Caller) -> Result<Response, Fault> {
    document(&web, View::Credits(CreditOf::Owners), &caller).await
}

async fn owners_live(web: State<Web>, caller: Caller) -> Result<Response, Fault> {
    follow(&web, View::Credits(CreditOf::Owners), caller).await
}

async fn credits(web: State<Web>, of: RawQuery, caller: Caller) -> Result<Response, Fault> {
    document(&web, of_credits(&of)?, &caller).await
}

async fn credits_live(web: State<Web>, of: RawQuery, caller: Caller) -> Result<Response, Fault> {
    follow(&web, of_credits(&of)?, caller).await
}

/// Which jobs are to be shown that have ended, and the time of the chart. Words that mean nothing are ignored.
fn of_jobs(of: &RawQuery) -> View {
    let fields = Fields::of_query(of);
    let span = Span::ALL.into_iter().find(|span| fields.text("span") == Some(span.name()));
    View::Jobs(span.unwrap_or_default(), fields.number("before").map(JobId))
}

/// The owner or the worker whose counts are to be shown.
fn of_credits(of: &RawQuery) -> Result<View, Fault> {
    let fields = Fields::of_query(of);
    let name = |field| fields.text(field).map(str::to_string);
    let owner = name("owner").ok_or_else(nobody)?;
    Ok(View::Credits(match name("machine").zip(name("worker")) {
        Some((machine, worker)) => CreditOf::Jobs(Principal { owner, machine }, worker),
        None => CreditOf::Workers(owner),
    }))
}

/// Which workers are to be shown. Words that mean nothing are ignored.
fn of_workers(of: &RawQuery) -> View {
    let fields = Fields::of_query(of);
    let order = fields.text("order").and_then(Order::named).unwrap_or_default();
    View::Workers(WorkersView { order, page: fields.number("page").unwrap_or(0) })
}

/// Who asks, and by which login.
pub(super) type Caller = (Extension<Identity>, Extension<Login>);

pub(super) fn reader((Extension(identity), Extension(login)): &Caller) -> Reader {
    Reader {
        owner: identity.owner.clone(),
        role: identity.role.name(),
        logged_in: login.0.is_some(),
        submits: identity.require(Right::Change).is_ok(),
        decides: identity.require(Right::Decide).is_ok(),
    }
}

/// The parts of a page that depend on who reads it.
fn own_parts(view: &View, shown: &Shown, reader: &Reader) -> Vec<Part> {
    match (view, &shown.job) {
        (View::Jobs(..), _) => vec![page::submission(reader)],
        (View::Job(_), Some(job)) => vec![page::actions(job, reader)],
        (View::Job(_) | View::Workers(_) | View::Credits(_), _) => Vec::new(),
    }
}

/// The job of an address.
pub(super) fn job_id(text: &str) -> Result<JobId, Fault> {
    text.parse().map(JobId).map_err(|_| no_such_job())
}

fn no_such_job() -> Fault {
    Fault::not_found("there is no such job")
}

fn nobody() -> Fault {
    Fault::not_found("nobody of this name has counted anything here")
}

/// The page of a view.
async fn page_of(web: &Web, view: &View) -> Result<Arc<Shown>, Fault> {
    let none = || if matches!(view, View::Credits(_)) { nobody() } else { no_such_job() };
    web.show.page(view.clone()).await?.ok_or_else(none)
}

async fn document(web: &Web, view: View, caller: &Caller) -> Result<Response, Fault> {
    let shown = page_of(web, &view).await?;
    let reader = reader(caller);
    let own = own_parts(&view, &shown, &reader);
    Ok(shown.page.document(&reader, &own).into_response())
}

/// A browser that looks on.
struct Viewer {
    show: Show,
    guard: Guard,
    view: View,
    reader: Reader,
    caller: Caller,
    /// The events that told it of each part last.
    has: Vec<(&'static str, Bytes)>,
    /// When it is to hear of changes again.
    next: Instant,
    /// When it last heard anything.
    heard: Instant,
    _seat: OwnedSemaphorePermit,
}

async fn follow(web: &Web, view: View, caller: Caller) -> Result<Response, Fault> {
    page_of(web, &view).await?;
    let full = || Fault::new(StatusCode::SERVICE_UNAVAILABLE, "too many look on already");
    let seat = web.show.seat().ok_or_else(full)?;
    let now = Instant::now();
    let viewer = Viewer {
        show: web.show.clone(),
        guard: web.guard.clone(),
        view,
        reader: reader(&caller),
        caller,
        has: Vec::new(),
        next: now,
        heard: now,
        _seat: seat,
    };
    let events = Body::from_stream(changes(viewer));
    Ok(([(header::CONTENT_TYPE, "text/event-stream")], events).into_response())
}

/// What changes, until the coordinator stops or the caller may not see it any more.
fn changes(viewer: Viewer) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let news = futures_util::stream::unfold(viewer, async |mut viewer| {
        let news = viewer.news().await?;
        Some((futures_util::stream::iter(news.into_iter().map(Ok)), viewer))
    });
    news.flatten()
}

impl Viewer {
    /// The next events: one for each part that has changed, or a comment.
    async fn news(&mut self) -> Option<Vec<Bytes>> {
        loop {
            tokio::time::sleep_until(self.next).await;
            self.next = Instant::now() + INTERVAL;
            let (Extension(identity), Extension(login)) = &self.caller;
            if !self.guard.still_admits(identity, login) {
                return None;
            }
            let shown = self.show.page(self.view.clone()).await.ok()??;
            let own = own_parts(&self.view, &shown, &self.reader);
            let changed = self.changed(&shown, &own);
            let now = Instant::now();
            if !changed.is_empty() {
                self.heard = now;
                return Some(changed);
            }
            if now.duration_since(self.heard) >= SIGN_OF_LIFE {
                self.heard = now;
                return Some(vec![Bytes::from_static(b": nothing has changed\n\n")]);
            }
        }
    }

    /// The events of the parts that the browser does not have.
    fn changed(&mut self, shown: &Shown, own: &[Part]) -> Vec<Bytes> {
        let mut changed = Vec::new();
        for (id, shared) in &shown.events {
            let own = own.iter().find(|part| part.id == *id);
            let event = own.map_or_else(|| shared.clone(), event);
            match self.has.iter_mut().find(|(had, _)| had == id) {
                Some((_, had)) if *had == event => continue,
                Some((_, had)) => *had = event.clone(),
                None => self.has.push((id, event.clone())),
            }
            changed.push(event);
        }
        changed
    }
}
