//! Makes the pages: at most once a second, only for viewers, and shared among all of them.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use farm::{Credit, CreditOf, Farm, JobId, JobState, JobView, Principal};
use ledger::{LedgerView, unix_ms};
use page::{Credits, EndedBefore, JobDetail, JobRecord, Page, Part, Snapshot, WorkersView};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::past::Past;
use super::records::{Records, of_job};
use crate::coordinator::FarmHandle;
use crate::error::CoordinatorGone;

/// For how long something that was made is shown.
const FRESH: Duration = Duration::from_secs(1);
/// The most browsers that look on at a time.
const VIEWERS: usize = 1_024;

/// A page that somebody looks at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum View {
    /// The farm, with the jobs that have not ended and the latest that have, or the latest before this job.
    Jobs(Option<JobId>),
    Job(JobId),
    Workers(WorkersView),
    Credits(CreditOf),
}

/// A page, and the job that it shows.
pub(super) struct Shown {
    pub(super) page: Page,
    pub(super) job: Option<JobView>,
    /// The event that sends each part to a browser, by the part's id. It is made once for all browsers.
    pub(super) events: Vec<(&'static str, Bytes)>,
}

impl Shown {
    fn new(page: Page, job: Option<JobView>) -> Shown {
        let events = page.parts_with(&[]).map(|part| (part.id, event(part))).collect();
        Shown { page, job, events }
    }
}

/// A server-sent event of the HTML standard that has a part as its data.
pub(super) fn event(part: &Part) -> Bytes {
    let mut event = String::with_capacity(part.html.len() + 16);
    for line in part.html.split(['\n', '\r']) {
        event.push_str("data: ");
        event.push_str(line);
        event.push('\n');
    }
    event.push('\n');
    event.into()
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
    pub(super) async fn page(&self, view: View) -> Result<Option<Arc<Shown>>, CoordinatorGone> {
        let inner = &self.0;
        let snapshot = inner.snapshot.get((), self.snapshot()).await?;
        // A request for something unknown gets no page of its own, so that many of them take no memory.
        let view = match view {
            View::Workers(view) => View::Workers(view.within(&snapshot)),
            View::Job(id) if inner.farm.job(id).await?.is_none() => return Ok(None),
            View::Jobs(Some(before)) if inner.farm.job(before).await?.is_none() => View::Jobs(None),
            View::Job(_) | View::Jobs(..) | View::Credits(_) => view,
        };
        inner.pages.get(view.clone(), self.render(view, &snapshot)).await
    }

    /// A place among those who look on; `None` if all are taken.
    pub(super) fn seat(&self) -> Option<OwnedSemaphorePermit> {
        self.0.viewers.clone().try_acquire_owned().ok()
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
        let shown = match view {
            View::Jobs(before) => {
                let earlier = match before {
                    None => None,
                    Some(before) => Some(self.ended_before(before).await?),
                };
                let past = self.0.past.of(None, snapshot.unix_ms, None);
                Shown::new(page::jobs(snapshot, past.as_ref(), earlier.as_ref()), None)
            }
            View::Workers(view) => Shown::new(page::workers(snapshot, view), None),
            View::Job(id) => {
                let seen = self.0.farm.look(move |farm| farm.job(id).zip(farm.map(id)));
                let Some((view, map)) = seen.await? else { return Ok(None) };
                let cells = map.cells.clone();
                let record = self.0.records.of(id, move |look, &job| of_job(look, job, &cells));
                let history = self.0.past.of(Some(id), snapshot.unix_ms, view.times.ended_at_ms);
                let detail = JobDetail { view, map, record, history };
                Shown::new(page::job(&detail, snapshot), Some(detail.view))
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
                Shown::new(page, None)
            }
        };
        Ok(Some(Arc::new(shown)))
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
            let workers = WorkersView { page: number, ..WorkersView::default() };
            assert!(show.page(View::Workers(workers)).await.expect("it runs").is_some());
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
