//! The pages themselves, and how browsers hear of what changes in them.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use farm::JobId;
use futures_util::StreamExt as _;
use page::{Order, Part, Reader, WorkersView};
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tokio_stream::Stream;

use super::Web;
use super::fault::Fault;
use super::guard::{Guard, Login};
use super::show::{Show, Shown, View, event};
use crate::coordinator::budget::{Budget, Share};
use crate::coordinator::{HubHandle, Identity, Right};

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
}

async fn jobs(web: State<Web>, caller: Caller) -> Result<Response, Fault> {
    document(&web, View::Jobs, &caller).await
}

async fn jobs_live(web: State<Web>, caller: Caller) -> Result<Response, Fault> {
    follow(&web, View::Jobs, caller).await
}

async fn job(web: State<Web>, job: Path<String>, caller: Caller) -> Result<Response, Fault> {
    document(&web, View::Job(job_id(&job)?), &caller).await
}

async fn job_live(web: State<Web>, job: Path<String>, caller: Caller) -> Result<Response, Fault> {
    follow(&web, View::Job(job_id(&job)?), caller).await
}

async fn workers(web: State<Web>, of: Query<Which>, caller: Caller) -> Result<Response, Fault> {
    document(&web, of.view(), &caller).await
}

async fn workers_live(
    web: State<Web>,
    of: Query<Which>,
    caller: Caller,
) -> Result<Response, Fault> {
    follow(&web, of.view(), caller).await
}

/// Which workers are to be shown. Words that mean nothing are ignored.
#[derive(Deserialize)]
struct Which {
    #[serde(default)]
    order: String,
    #[serde(default)]
    page: String,
}

impl Which {
    fn view(&self) -> View {
        let order = Order::named(&self.order).unwrap_or_default();
        View::Workers(WorkersView { order, page: self.page.parse().unwrap_or(0) })
    }
}

/// Who asks, by which login, and what pays for it.
pub(super) type Caller = (Extension<Identity>, Extension<Login>, Extension<Budget>);

fn reader((Extension(identity), Extension(login), _): &Caller) -> Reader {
    Reader {
        owner: identity.owner.clone(),
        role: identity.role.name(),
        logged_in: login.0.is_some(),
        submits: identity.require(Right::Change).is_ok(),
        decides: identity.require(Right::Decide).is_ok(),
    }
}

/// The parts of a page that depend on who reads it.
fn own_parts(view: View, shown: &Shown, reader: &Reader) -> Vec<Part> {
    match (view, &shown.job) {
        (View::Jobs, _) => vec![page::submission(reader)],
        (View::Job(_), Some(job)) => vec![page::actions(job, reader)],
        (View::Job(_) | View::Workers(_), _) => Vec::new(),
    }
}

/// The job of an address.
pub(super) fn job_id(text: &str) -> Result<JobId, Fault> {
    text.parse().map(JobId).map_err(|_| no_such_job())
}

fn no_such_job() -> Fault {
    Fault::not_found("there is no such job")
}

async fn document(web: &Web, view: View, caller: &Caller) -> Result<Response, Fault> {
    let shown = web.show.page(view).await?.ok_or_else(no_such_job)?;
    let reader = reader(caller);
    let own = own_parts(view, &shown, &reader);
    Ok(shown.page.document(&reader, &own).into_response())
}

/// A browser that looks on.
struct Viewer<V> {
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
    /// One among all, and one among those of whoever pays for it.
    _seats: (OwnedSemaphorePermit, OwnedSemaphorePermit),
    _counted: V,
}

async fn follow(web: &Web, view: View, caller: Caller) -> Result<Response, Fault> {
    web.show.page(view).await?.ok_or_else(no_such_job)?;
    let full = || Fault::new(StatusCode::SERVICE_UNAVAILABLE, "too many look on already");
    let seats = (web.show.seat().ok_or_else(full)?, seat_of(&caller)?);
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
        _seats: seats,
        _counted: HubHandle::meters(&web.hub).viewer(),
    };
    let events = Body::from_stream(changes(viewer));
    Ok(([(header::CONTENT_TYPE, "text/event-stream")], events).into_response())
}

fn seat_of((_, _, Extension(budget)): &Caller) -> Result<OwnedSemaphorePermit, Fault> {
    let too_many = || {
        let most = Share::Seats.most();
        let text = format!("{most} browsers look on already with credentials of the same owner");
        Fault::new(StatusCode::TOO_MANY_REQUESTS, text)
    };
    budget.take(Share::Seats, 1).ok_or_else(too_many)
}

/// What changes, until the coordinator stops or the caller may not see it any more.
fn changes<V>(viewer: Viewer<V>) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let news = futures_util::stream::unfold(viewer, async |mut viewer| {
        let news = viewer.news().await?;
        Some((futures_util::stream::iter(news.into_iter().map(Ok)), viewer))
    });
    news.flatten()
}

impl<V> Viewer<V> {
    /// The next events: one for each part that has changed, or a comment.
    async fn news(&mut self) -> Option<Vec<Bytes>> {
        loop {
            tokio::time::sleep_until(self.next).await;
            self.next = Instant::now() + INTERVAL;
            let (Extension(identity), Extension(login), Extension(budget)) = &self.caller;
            budget.begin_look().await;
            if !self.guard.still_admits(identity, login) {
                return None;
            }
            let shown = self.show.page(self.view).await.ok()??;
            let own = own_parts(self.view, &shown, &self.reader);
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

#[cfg(test)]
mod tests {
    use farm::{Config, LoanKey};
    use ledger::{CheckedLedger, Role};

    use super::*;
    use crate::coordinator::budget::Cost;
    use crate::coordinator::credentials::Gate;
    use crate::coordinator::payers::Payers;
    use crate::coordinator::{Access, Credentials, Hub};

    /// A browser that looks on at an empty farm.
    async fn viewer() -> Viewer<()> {
        let ledger = CheckedLedger::in_memory().and_then(CheckedLedger::begin);
        let ledger = ledger.expect("there is memory");
        let (hub, handle) = Hub::new(Config::default(), LoanKey::new([0; 32]), ledger);
        tokio::spawn(hub.run());
        let gate = Gate {
            credentials: Credentials::new(&Access::Open, Vec::new()),
            payers: Payers::default(),
        };
        let identity = Identity { owner: "ann".into(), role: Role::Viewer, credential: None };
        let caller = (Extension(identity), Extension(Login(None)), Extension(Budget::default()));
        let show = Show::of(handle);
        Viewer {
            _seats: (show.seat().expect("it is the first"), seat_of(&caller).expect("so is it")),
            show,
            guard: Guard::new(gate),
            view: View::Jobs,
            reader: reader(&caller),
            caller,
            has: Vec::new(),
            next: Instant::now(),
            heard: Instant::now(),
            _counted: (),
        }
    }

    #[tokio::test]
    async fn nobody_has_all_seats() {
        let caller = viewer().await.caller;
        let show = viewer().await.show;
        let rest: Vec<_> = std::iter::repeat_with(|| show.seat()).map_while(|seat| seat).collect();
        let own = std::iter::repeat_with(|| seat_of(&caller)).take(rest.len());
        let own: Vec<_> = own.map_while(Result::ok).collect();
        assert!(own.len() < rest.len(), "{} of {}", own.len(), rest.len());
    }

    #[tokio::test(start_paused = true)]
    async fn every_look_is_paid_and_who_cannot_pay_waits() {
        let mut viewer = viewer().await;
        let Extension(budget) = viewer.caller.2.clone();
        let begun = Instant::now();
        viewer.news().await.expect("all parts come first");
        assert_eq!(begun.elapsed(), Duration::ZERO, "a new budget suffices");

        // Given an owner who has asked for ten audits at once, and owes for several seconds
        (0..10).for_each(|_| budget.spend(Cost::Audit));
        viewer.has.clear();
        viewer.next = Instant::now();
        let begun = Instant::now();
        viewer.news().await.expect("all parts are sent again");
        assert!(begun.elapsed() > Duration::from_secs(3), "{:?}", begun.elapsed());
    }
}
