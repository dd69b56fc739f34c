//! The pages, and the streams of changes in them. They are made at most once a second, only for viewers, and shared among all
//! of them.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::get;
use axum::{Extension, Router};
use farm::{Credit, CreditOf, Farm, JobId, JobState, JobView, Principal};
use futures_util::stream::{self, Stream, StreamExt as _};
use ledger::{LedgerView, unix_ms};
use maud::Markup;
use page::{Credits, EndedBefore, JobDetail, JobRecord, Page, Part, Reader, Snapshot};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Interval, MissedTickBehavior};

use super::Web;
use super::fault::Fault;
use super::fields::Fields;
use super::login::Login;
use super::past::Past;
use super::records::{Records, of_job};
use crate::coordinator::{FarmHandle, Identity, Right};
use crate::error::CoordinatorGone;

/// The most browsers that look on at a time.
const VIEWERS: usize = 1_024;
/// How often changes are sent to a browser.
const INTERVAL: Duration = Duration::from_secs(1);
/// For how long something that was made is shown.
const FRESH: Duration = Duration::from_secs(1);

/// The routes of all pages, each with the stream of what changes in it.
pub(super) fn routes() -> Router<Web> {
    const PAGES: [&str; 6] = ["/", "/jobs/{id}", "/workers", "/owners", "/owner", "/worker"];
    PAGES.into_iter().fold(Router::new(), |routes, page| {
        let live = format!("{}/live", page.trim_end_matches('/'));
        routes.route(page, get(document)).route(&live, get(follow))
    })
}

/// A page that somebody looks at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum View {
    /// The farm, with the jobs that have not ended and the latest that have, or the latest before this job.
    Jobs(Option<JobId>),
    Job(JobId),
    /// A page of the workers, from 0 on.
    Workers(usize),
    Credits(CreditOf),
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
            ["workers", ..] => View::Workers(fields.number("page").unwrap_or(0)),
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

/// A page, and the job that it shows.
struct Shown {
    page: Page,
    job: Option<JobView>,
}

/// A browser that follows a page.
struct Viewer {
    web: Web,
    view: View,
    reader: Reader,
    caller: Caller,
    /// The hash of the latest HTML of each part that was sent to it.
    has: HashMap<&'static str, blake3::Hash>,
    ticks: Interval,
    _seat: OwnedSemaphorePermit,
}

async fn follow(
    State(web): State<Web>,
    view: View,
    caller: Caller,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Fault> {
    page_of(&web, &view).await?;
    let full = |_| Fault::new(StatusCode::SERVICE_UNAVAILABLE, "too many look on already");
    let seat = web.show.0.viewers.clone().try_acquire_owned().map_err(full)?;
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (reader, has) = (reader(&caller), HashMap::new());
    let viewer = Viewer { web, view, reader, caller, has, ticks, _seat: seat };
    let changes = stream::unfold(viewer, async |mut viewer| {
        Some((stream::iter(viewer.changed().await?), viewer))
    });
    Ok(Sse::new(changes.flatten()).keep_alive(KeepAlive::default()))
}

impl Viewer {
    /// After a while, the events of the parts that the browser does not have. They end when the coordinator stops or the
    /// caller may not see the page any more.
    async fn changed(&mut self) -> Option<Vec<Result<Event, Infallible>>> {
        self.ticks.tick().await;
        let (Extension(identity), Extension(login)) = &self.caller;
        if !self.web.still_admits(identity, login) {
            return None;
        }
        let shown = self.web.show.page(self.view.clone()).await.ok()??;
        let own = own_parts(&self.view, &shown, &self.reader);
        let is_new = |part: &&Part| {
            let hash = blake3::hash(part.html.as_bytes());
            self.has.insert(part.id, hash) != Some(hash)
        };
        let changed = shown.page.parts_with(&own).filter(is_new);
        Some(changed.map(|part| Ok(Event::default().data(&part.html))).collect())
    }
}

/// The farm as readers see it.
#[derive(Clone)]
pub(super) struct Show(Arc<Inner>);

struct Inner {
    farm: FarmHandle,
    past: Past,
    records: Records<JobId, JobRecord>,
    credits: Records<CreditOf, Vec<Credit>>,
    snapshot: Fresh<(), Arc<Snapshot>>,
    pages: Fresh<View, Option<Arc<Shown>>>,
    viewers: Arc<Semaphore>,
}

impl Show {
    /// Begins to remember how far jobs come. Must be called within a runtime.
    pub(super) fn of(farm: FarmHandle) -> Show {
        Show(Arc::new(Inner {
            past: Past::follow(farm.clone()),
            records: Records::new(farm.ledger_path.clone()),
            credits: Records::new(farm.ledger_path.clone()),
            farm,
            snapshot: Fresh::default(),
            pages: Fresh::default(),
            viewers: Arc::new(Semaphore::new(VIEWERS)),
        }))
    }

    /// The page of a view; `None` if there is no such job, and nobody who has counted.
    async fn page(&self, view: View) -> Result<Option<Arc<Shown>>, CoordinatorGone> {
        let inner = &self.0;
        let snapshot = inner.snapshot.get((), self.snapshot()).await?;
        // A request for something unknown gets no page of its own, so that many of them take no memory.
        let view = match view {
            View::Workers(page) => View::Workers(page.min(page::last_page_of_workers(&snapshot))),
            View::Job(id) if inner.farm.job(id).await?.is_none() => return Ok(None),
            View::Jobs(Some(before)) if inner.farm.job(before).await?.is_none() => View::Jobs(None),
            View::Job(_) | View::Jobs(..) | View::Credits(_) => view,
        };
        inner.pages.get(view.clone(), self.render(view, &snapshot)).await
    }

    async fn snapshot(&self) -> Result<Arc<Snapshot>, CoordinatorGone> {
        let overview = self.0.farm.look(|farm| farm.overview()).await?;
        Ok(Arc::new(Snapshot { overview, unix_ms: unix_ms() }))
    }

    async fn render(
        &self,
        view: View,
        snapshot: &Snapshot,
    ) -> Result<Option<Arc<Shown>>, CoordinatorGone> {
        let (page, job) = match view {
            View::Jobs(before) => {
                let earlier = match before {
                    None => None,
                    Some(before) => Some(self.ended_before(before).await?),
                };
                let past = self.0.past.of(None, snapshot.unix_ms, None);
                (page::jobs(snapshot, past.as_ref(), earlier.as_ref()), None)
            }
            View::Workers(page) => (page::workers(snapshot, page), None),
            View::Job(id) => {
                let seen = self.0.farm.look(move |farm| farm.job(id).zip(farm.map(id)));
                let Some((view, map)) = seen.await? else { return Ok(None) };
                let cells = map.cells.clone();
                let record = self.0.records.of(id, move |look, &job| of_job(look, job, &cells));
                let history = self.0.past.of(Some(id), snapshot.unix_ms, view.times.ended_at_ms);
                let detail = JobDetail { view, map, record, history };
                (page::job(&detail, snapshot), Some(detail.view))
            }
            View::Credits(of) => {
                let credits = self.0.credits.of(of.clone(), LedgerView::credits);
                let may_be = self.0.farm.ledger_path.is_some() && credits.is_none();
                if !may_be && !is_anybody(snapshot, &of, &credits) {
                    return Ok(None);
                }
                let page = match &of {
                    CreditOf::Owners => page::owners(snapshot, &credits),
                    CreditOf::Workers(owner) => page::owner(snapshot, owner, &credits),
                    CreditOf::Jobs(principal, name) => {
                        page::worker(snapshot, principal, name, &credits)
                    }
                };
                (page, None)
            }
        };
        Ok(Some(Arc::new(Shown { page, job })))
    }

    /// The latest jobs that have ended, before this one.
    async fn ended_before(&self, before: JobId) -> Result<EndedBefore, CoordinatorGone> {
        let ended = move |farm: &mut Farm| -> Vec<JobView> {
            farm.jobs(..before, JobState::is_over).rev().take(Farm::ENDED_SHOWN).collect()
        };
        Ok(EndedBefore { before, jobs: self.0.farm.look(ended).await? })
    }
}

/// Whether those whose counts are wanted are connected, or are known to have counted anything, or
/// own jobs.
fn is_anybody(snapshot: &Snapshot, of: &CreditOf, credits: &Credits) -> bool {
    let is_connected = |is_it: &dyn Fn(&Principal, &str) -> bool| {
        let mut provenances = snapshot.overview.workers.iter().map(|worker| &worker.provenance);
        provenances.any(|provenance| is_it(&provenance.principal, &provenance.worker))
    };
    credits.as_ref().is_some_and(|credits| !credits.is_empty())
        || match of {
            CreditOf::Owners => true,
            CreditOf::Workers(owner) => {
                let mut owners = snapshot.overview.owners.iter();
                is_connected(&|principal, _| principal.owner == *owner)
                    || owners.any(|known| known.owner == *owner)
            }
            CreditOf::Jobs(of, name) => {
                is_connected(&|principal, worker| principal == of && worker == name)
            }
        }
}

/// Values that are made anew when one is asked for that is no longer fresh. Callers that come meanwhile wait for the same one.
struct Fresh<K, V>(Mutex<HashMap<K, (Instant, V)>>);

impl<K, V> Default for Fresh<K, V> {
    fn default() -> Self {
        Fresh(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone> Fresh<K, V> {
    async fn get<E>(&self, key: K, make: impl Future<Output = Result<V, E>>) -> Result<V, E> {
        let mut made = self.0.lock().await;
        let now = Instant::now();
        made.retain(|_, (at, _)| now.duration_since(*at) < FRESH);
        if let Some((_, value)) = made.get(&key) {
            return Ok(value.clone());
        }
        let value = make.await?;
        made.insert(key, (now, value.clone()));
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicU32, Ordering};

    use farm::{Config, LeaseKey};
    use ledger::CheckedLedger;

    use super::*;
    use crate::coordinator::EventLoop;

    #[tokio::test]
    async fn what_nobody_has_is_not_kept() {
        let ledger = CheckedLedger::in_memory().and_then(CheckedLedger::begin);
        let ledger = ledger.expect("there is memory");
        let (farm, handle) = EventLoop::new(Config::default(), LeaseKey::new([0; 32]), ledger);
        tokio::spawn(farm.run());
        let show = Show::of(handle);
        for number in 0..50 {
            assert!(show.page(View::Workers(number)).await.expect("it runs").is_some());
            let job = View::Job(JobId(number as u64));
            assert!(show.page(job).await.expect("it runs").is_none());
        }
        assert_eq!(show.0.pages.0.lock().await.len(), 1, "there is one page of workers");
    }

    #[tokio::test(start_paused = true)]
    async fn a_value_is_made_once_a_second_however_many_ask() {
        let (fresh, made) = (Fresh::default(), AtomicU32::new(0));
        let make = || async { Ok::<_, Infallible>(made.fetch_add(1, Ordering::Relaxed)) };
        for second in 0..3 {
            for _ in 0..200 {
                assert_eq!(fresh.get("page", make()).await, Ok(second));
                tokio::time::sleep(FRESH / 400).await;
            }
            tokio::time::sleep(FRESH).await;
        }
        assert_eq!(fresh.0.lock().await.len(), 1);
        fresh.get("other", make()).await.expect("it cannot fail");
        assert_eq!(fresh.0.lock().await.len(), 1, "what nobody looks at is forgotten");
    }
}
