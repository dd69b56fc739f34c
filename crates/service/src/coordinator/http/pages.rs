//! The pages, and the streams of changes in them.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use farm::{CreditOf, JobId, Principal};
use futures_util::StreamExt as _;
use maud::Markup;
use page::{Order, Part, Reader, WorkersView};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tokio_stream::Stream;

use super::Web;
use super::fault::Fault;
use super::fields::Fields;
use super::guard::{Guard, Login};
use super::show::{Show, Shown, View, event};
use crate::coordinator::{Identity, Right};

/// How often changes are sent to a browser.
const INTERVAL: Duration = Duration::from_secs(1);
/// How often something is sent although nothing has changed, so that a broken connection is noticed.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// The routes of all pages, each with the stream of what changes in it.
pub(super) fn routes() -> Router<Web> {
    const PAGES: [&str; 6] = ["/", "/jobs/{id}", "/workers", "/owners", "/owner", "/worker"];
    PAGES.into_iter().fold(Router::new(), |routes, page| {
        let live = format!("{}/live", page.trim_end_matches('/'));
        routes.route(page, get(document)).route(&live, get(follow))
    })
}

impl<S: Send + Sync> FromRequestParts<S> for View {
    type Rejection = Fault;

    /// The page that an address names. Unknown fields of the query are ignored.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<View, Fault> {
        let fields = Fields::of_query(parts.uri.query());
        let name = |field| fields.text(field).map(str::to_string);
        let path: Vec<&str> = parts.uri.path().trim_start_matches('/').split('/').collect();
        Ok(match path[..] {
            ["jobs", job, ..] => View::Job(job_id(job)?),
            ["workers", ..] => {
                let order = fields.text("order").and_then(Order::named).unwrap_or_default();
                View::Workers(WorkersView { order, page: fields.number("page").unwrap_or(0) })
            }
            ["owners", ..] => View::Credits(CreditOf::Owners),
            ["owner" | "worker", ..] => {
                let owner = name("owner").ok_or_else(nobody)?;
                View::Credits(match name("machine").zip(name("worker")) {
                    Some((machine, worker)) => CreditOf::Jobs(Principal { owner, machine }, worker),
                    None => CreditOf::Workers(owner),
                })
            }
            _ => View::Jobs(fields.number("before").map(JobId)),
        })
    }
}

/// The identity and the login of a caller.
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

async fn document(State(web): State<Web>, view: View, caller: Caller) -> Result<Markup, Fault> {
    let shown = page_of(&web, &view).await?;
    let reader = reader(&caller);
    let own = own_parts(&view, &shown, &reader);
    Ok(shown.page.document(&reader, &own))
}

/// A browser that follows a page.
struct Viewer {
    show: Show,
    guard: Guard,
    view: View,
    reader: Reader,
    caller: Caller,
    /// The latest event of each part that was sent to it.
    has: Vec<(&'static str, Bytes)>,
    /// When changes are sent to it next.
    next: Instant,
    /// When something was sent to it last.
    heard: Instant,
    _seat: OwnedSemaphorePermit,
}

async fn follow(State(web): State<Web>, view: View, caller: Caller) -> Result<Response, Fault> {
    page_of(&web, &view).await?;
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

/// The changes of a page, until the coordinator stops or the caller may not see it any more.
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
