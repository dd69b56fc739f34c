//! The pages, and the streams of changes in them. They are made at most once a second, only for
//! viewers, and shared among all of them.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::get;
use axum::{Extension, Router};
use farm::{Credit, CreditOf, Farm, JobId, JobState, JobView, Principal, Problem, Times};
use futures_util::stream::{self, Stream, StreamExt as _};
use ledger::{LedgerView, unix_ms};
use maud::Markup;
use page::{EndedBefore, History, JobDetail, JobRecord, Page, Part, Past, Reader, Snapshot};
use solve::{Completion, Construction, Rules, Start, complete_until};
use tokio::time::{Interval, MissedTickBehavior};

use super::Web;
use super::api::sent_bundle;
use super::fields::Fields;
use super::login::{self, Caller};
use super::records::{Records, of_job};
use crate::api::Code;
use crate::coordinator::FarmHandle;
use crate::coordinator::fresh::Fresh;
use crate::coordinator::refused::Refused;

/// How often changes are sent to a browser.
const INTERVAL: Duration = Duration::from_secs(1);
/// The most bytes of changes a second, on average, that are sent to a browser. Where more changes,
/// changes are sent less often.
const MOST_BYTES: f64 = 10_000.0;
/// How often the progress of all jobs is noted.
const REMEMBERED: Duration = Duration::from_secs(2);

/// The routes of all pages, each with the stream of what changes in it.
pub(super) fn routes() -> Router<Web> {
    const PAGES: [&str; 6] = ["/", "/jobs/{id}", "/workers", "/owners", "/owner", "/worker"];
    PAGES.into_iter().fold(Router::new(), |routes, page| {
        let live = format!("{}/live", page.trim_end_matches('/'));
        routes.route(page, get(document)).route(&live, get(follow))
    })
}

/// The evidence of a job for a browser, which the API does not know by its cookie. Its first byte
/// may take long.
pub(super) fn downloads(web: &Web) -> Router<Web> {
    let admit = from_fn_with_state(web.clone(), login::admit);
    Router::new().route("/jobs/{id}/bundle", get(bundle)).route_layer(admit)
}

async fn bundle(
    State(web): State<Web>,
    Path(job): Path<String>,
    Extension(Caller { identity, .. }): Extension<Caller>,
) -> Result<Response, Refused> {
    sent_bundle(&web, job_id(&job)?, identity).await
}

/// A page that somebody looks at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum View {
    /// The farm, with a page of the jobs that have not ended, from 0 on, and the latest that have
    /// ended. If a job is named, the ended jobs are those before it.
    Jobs {
        page: usize,
        before: Option<JobId>,
    },
    Job(JobId),
    /// A page of the workers, from 0 on.
    Workers(usize),
    /// A page of what somebody has counted, from 0 on.
    Credits {
        of: CreditOf,
        page: usize,
    },
}

impl<S: Send + Sync> FromRequestParts<S> for View {
    type Rejection = Refused;

    /// The page that an address names. Unknown fields of the query are ignored.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<View, Refused> {
        let fields = Fields::read(parts.uri.query().unwrap_or_default().as_bytes());
        let name = |field| fields.text(field).map(str::to_string);
        let page = fields.number("page").unwrap_or(0);
        let path: Vec<&str> = parts.uri.path().trim_start_matches('/').split('/').collect();
        Ok(match path[..] {
            ["jobs", job, ..] => View::Job(job_id(job)?),
            ["workers", ..] => View::Workers(page),
            ["owners", ..] => View::Credits { of: CreditOf::Owners, page },
            ["owner" | "worker", ..] => {
                let owner = name("owner")
                    .ok_or_else(|| Refused::new(Code::NotFound, "no owner is named"))?;
                let of = match name("machine").zip(name("worker")) {
                    Some((machine, worker)) => CreditOf::Jobs(Principal { owner, machine }, worker),
                    None => CreditOf::Workers(owner),
                };
                View::Credits { of, page }
            }
            _ => View::Jobs { page, before: fields.number("before").map(JobId) },
        })
    }
}

/// The parts of a page that depend on who reads it.
fn own_parts(shown: &Shown, reader: &Reader) -> Vec<Part> {
    match (&shown.view, &shown.job) {
        (View::Jobs { .. }, _) => vec![page::submission(reader)],
        (View::Job(_), Some(job)) => {
            vec![page::actions(job, reader), page::evidence(job, reader)]
        }
        _ => Vec::new(),
    }
}

/// The job of an address. No ledger has a number from 2^63 on.
pub(super) fn job_id(text: &str) -> Result<JobId, Refused> {
    let number = text.parse().ok().filter(|&number| i64::try_from(number).is_ok());
    number.map(JobId).ok_or_else(no_such_job)
}

fn no_such_job() -> Refused {
    Refused::new(Code::NoSuchJob, "there is no such job")
}

async fn document(
    State(web): State<Web>,
    view: View,
    Extension(caller): Extension<Caller>,
) -> Result<Markup, Refused> {
    let shown = web.show.page(view).await?;
    let reader = caller.reader();
    Ok(shown.page.document(&reader, &own_parts(&shown, &reader)))
}

/// A page, and the job that it shows.
struct Shown {
    view: View,
    page: Page,
    job: Option<JobView>,
}

/// A browser that follows a page.
struct Viewer {
    web: Web,
    view: View,
    caller: Caller,
    /// The page that it has, with its own parts. All viewers of a page share it.
    has: Option<(Arc<Shown>, Vec<Part>)>,
    ticks: Interval,
}

async fn follow(
    State(web): State<Web>,
    view: View,
    Extension(caller): Extension<Caller>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refused> {
    web.show.page(view.clone()).await?;
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let viewer = Viewer { web, view, caller, has: None, ticks };
    let changes = stream::unfold(viewer, async |mut viewer| {
        Some((stream::iter(viewer.changed().await?), viewer))
    });
    Ok(Sse::new(changes.flatten()).keep_alive(KeepAlive::default()))
}

impl Viewer {
    /// Waits for the next tick, and returns the events of the parts that have changed since they
    /// were sent. `None` when the coordinator stops or the caller may not see the page any more.
    async fn changed(&mut self) -> Option<Vec<Result<Event, Infallible>>> {
        self.ticks.tick().await;
        if !self.web.still_admits(&self.caller) {
            return None;
        }
        let shown = self.web.show.page(self.view.clone()).await.ok()?;
        let own = own_parts(&shown, &self.caller.reader());
        let has = self.has.as_ref().map(|(shown, own)| (&shown.page, own.as_slice()));
        let changes = shown.page.changes(&own, has);
        if has.is_some() {
            self.ticks.reset_after(pause_after(changes.iter().map(String::len).sum()));
        }
        self.has = Some((shown, own));
        Some(changes.into_iter().map(|change| Ok(Event::default().data(change))).collect())
    }
}

/// How long nothing is sent after changes of this many bytes.
fn pause_after(bytes: usize) -> Duration {
    INTERVAL.max(Duration::from_secs_f64(bytes as f64 / MOST_BYTES))
}

/// The farm as readers see it.
pub(super) struct Show {
    farm: FarmHandle,
    /// What was counted since the coordinator was started.
    past: Arc<Mutex<History>>,
    records: Records<JobId, JobRecord>,
    credits: Records<CreditOf, Vec<Credit>>,
    snapshot: Fresh<(), Arc<Snapshot>>,
    pages: Fresh<View, Arc<Shown>>,
    public: Fresh<(), Arc<str>>,
}

impl Show {
    /// Begins to note the progress of all jobs. Must be called within a runtime.
    pub(super) fn of(farm: FarmHandle) -> Show {
        let past = Arc::default();
        tokio::spawn(remember(farm.clone(), Arc::clone(&past)));
        Show {
            past,
            records: Records::new(farm.ledger_path.clone()),
            credits: Records::new(farm.ledger_path.clone()),
            farm,
            snapshot: Fresh::default(),
            pages: Fresh::default(),
            public: Fresh::default(),
        }
    }

    /// The page of a view. It fails if there is no such job.
    async fn page(&self, view: View) -> Result<Arc<Shown>, Refused> {
        self.pages.get(view.clone(), self.farm.changes(), self.render(view)).await
    }

    /// The page for everybody, which names these owners. However many strangers ask, it is made
    /// once a second.
    pub(super) async fn public(&self, named: &[String]) -> Result<Arc<str>, Refused> {
        let made = async {
            let snapshot = self.snapshot().await?;
            let credits = || self.credits.of(CreditOf::Owners, LedgerView::credits);
            let credits = (!named.is_empty()).then(credits).flatten();
            Ok::<_, Refused>(page::public(&snapshot, &credits, named).into_string().into())
        };
        self.public.get((), 0, made).await
    }

    async fn snapshot(&self) -> Result<Arc<Snapshot>, Refused> {
        let snapshot = async {
            let overview = self.farm.look(|farm| farm.overview()).await?;
            Ok(Arc::new(Snapshot { overview, unix_ms: unix_ms() }))
        };
        self.snapshot.get((), self.farm.changes(), snapshot).await
    }

    async fn render(&self, view: View) -> Result<Arc<Shown>, Refused> {
        let snapshot = &self.snapshot().await?;
        let mut shown_job = None;
        let page = match &view {
            &View::Jobs { page, before } => {
                let earlier = match before {
                    None => None,
                    Some(before) => Some(self.ended_before(before).await?),
                };
                let past = self.past(None, snapshot, Times::default());
                page::jobs(snapshot, past.as_ref(), page, earlier.as_ref())
            }
            View::Workers(page) => page::workers(snapshot, *page),
            &View::Job(id) => {
                let seen = self.farm.look(move |farm| farm.job(id).zip(farm.map(id)));
                let (view, map) = seen.await?.ok_or_else(no_such_job)?;
                let cells = map.cells.clone();
                let record = self.records.of(id, move |look, &job| of_job(look, job, &cells));
                let history = self.past(Some(id), snapshot, view.times);
                let is_done = view.state == JobState::Done && view.counted > 0;
                let placement = is_done.then(|| placement(view.spec.plan.problem)).flatten();
                let detail = JobDetail { view, map, record, history, placement };
                let page = page::job(&detail, snapshot);
                shown_job = Some(detail.view);
                page
            }
            &View::Credits { ref of, page } => {
                let credits = self.credits.of(of.clone(), LedgerView::credits);
                if credits.as_ref().is_some_and(|credits| credits.is_empty())
                    && !is_here(snapshot, of)
                {
                    return Err(Refused::new(
                        Code::NotFound,
                        "nobody of this name has counted anything",
                    ));
                }
                match of {
                    CreditOf::Owners => page::owners(snapshot, &credits, page),
                    CreditOf::Workers(owner) => page::owner(snapshot, owner, &credits, page),
                    CreditOf::Jobs(principal, name) => {
                        page::worker(snapshot, principal, name, &credits, page)
                    }
                }
            }
        };
        Ok(Arc::new(Shown { view, page, job: shown_job }))
    }

    /// What was counted of a job, or by the farm, up to its end or to now.
    fn past(&self, job: Option<JobId>, now: &Snapshot, times: Times) -> Option<Past> {
        let past = self.past.lock().expect("nobody panics while holding it");
        past.of(job, now.unix_ms, times)
    }

    /// The latest jobs that have ended, before this one.
    async fn ended_before(&self, before: JobId) -> Result<EndedBefore, Refused> {
        let ended = move |farm: &Farm| -> Vec<JobView> {
            farm.jobs(..before, JobState::is_over).rev().take(Farm::ENDED_SHOWN).collect()
        };
        Ok(EndedBefore { before, jobs: self.farm.look(ended).await? })
    }
}

/// The columns of the queens of a placement, row by row, if one is found soon. It is always the
/// same one.
fn placement(problem: Problem) -> Option<Vec<u32>> {
    /// The longest search, in steps of about a millisecond.
    const LONGEST: u32 = 10;
    let n = problem.n();
    let (rules, given): (Rules, Vec<_>) = match problem {
        Problem::Total { .. } | Problem::Fundamental { .. } => {
            return Construction::new(n).ok().map(|it| it.columns().collect());
        }
        Problem::Toroidal { .. } => {
            return Construction::toroidal(n).ok().map(|it| it.columns().collect());
        }
        Problem::Superqueens { .. } => (Rules::Superqueens, Vec::new()),
        Problem::Completions(given) => (Rules::Plain, given.queens().collect()),
    };
    let start = Start::with_rules(n, rules, &given).ok()?;
    let mut steps = 0..LONGEST;
    match complete_until(&start, 0, || steps.next().is_none()) {
        Completion::Found(placement) => Some(placement.columns().to_vec()),
        Completion::Impossible | Completion::Undecided => None,
    }
}

/// Whether the owner or the worker of a page is connected or, of an owner, has had jobs. The page
/// of all owners always exists.
fn is_here(Snapshot { overview, .. }: &Snapshot, of: &CreditOf) -> bool {
    let mut workers = overview.workers.iter().map(|worker| &worker.provenance);
    match of {
        CreditOf::Owners => true,
        CreditOf::Workers(owner) => {
            overview.owners.iter().any(|known| known.owner == *owner)
                || workers.any(|worker| worker.principal.owner == *owner)
        }
        CreditOf::Jobs(principal, name) => {
            workers.any(|worker| worker.principal == *principal && worker.worker == *name)
        }
    }
}

/// Notes the progress of all jobs again and again, for as long as the event loop lives.
async fn remember(farm: FarmHandle, past: Arc<Mutex<History>>) {
    let mut ticks = tokio::time::interval(REMEMBERED);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Ok(progress) = farm.take_progress().await else { return };
        let look = farm.look(|farm| (farm.workers(), farm.job_ids().collect()));
        let Ok((workers, jobs)) = look.await else { return };
        let mut past = past.lock().expect("nobody panics while holding it");
        past.note(unix_ms(), &progress, workers, &jobs);
    }
}

#[cfg(test)]
mod tests {
    use board::squares::Square;

    use super::*;

    #[test]
    fn one_placement_of_each_problem_is_found_and_it_is_always_the_same() {
        let given = Problem::from_text("completions a1,e2", 8).expect("it is a problem");
        for problem in [
            Problem::Total { n: 1 },
            Problem::Total { n: 32 },
            Problem::Fundamental { n: 8 },
            Problem::Toroidal { n: 7 },
            Problem::Superqueens { n: 12 },
            given,
        ] {
            let columns = placement(problem).unwrap_or_else(|| panic!("none of {problem}"));
            let queens = (0..).zip(&columns).map(|(row, &column)| Square { column, row });
            let queens: Vec<Square> = queens.collect();
            assert_eq!(queens.len(), problem.n() as usize);
            for (at, &queen) in queens.iter().enumerate() {
                assert!(!queens[..at].iter().any(|&other| problem.attack(other, queen)));
            }
            assert!(problem.given().is_none_or(|it| it.queens().all(|it| queens.contains(&it))));
            assert_eq!(placement(problem), Some(columns));
        }
        for n in [2, 3] {
            assert_eq!(placement(Problem::Total { n }), None);
        }
        assert_eq!(placement(Problem::Toroidal { n: 8 }), None);
        assert_eq!(placement(Problem::Superqueens { n: 9 }), None);
    }

    #[test]
    fn who_looks_on_is_sent_ten_kilobytes_a_second_at_most() {
        let pauses = [0, 9_999, 25_000].map(|bytes| pause_after(bytes).as_millis());
        assert_eq!(pauses, [1_000, 1_000, 2_500]);
    }
}
