//! How far jobs have come and when, for rates and for charts.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use farm::{Farm, JobId, Progress};
use ledger::{LedgerFault, Look, unix_ms};
use page::{History, Load, Span};
use tokio::time::{Instant, MissedTickBehavior};

use crate::coordinator::HubHandle;

/// How often the farm is asked how far its jobs have come.
const INTERVAL: Duration = Duration::from_secs(2);
/// Rates are those of so many intervals.
const WINDOW: usize = 5;

/// What is remembered of jobs, the time before the coordinator was started included.
#[derive(Clone, Default)]
pub(super) struct Past(Arc<Mutex<Remembered>>);

#[derive(Default)]
struct Remembered {
    history: History,
    /// The latest moments, each with the tasks of jobs that were done since the one before.
    moments: VecDeque<(Instant, Vec<(JobId, u64)>)>,
}

impl Past {
    /// Remembers from now on, for as long as the hub lives. Must be called within a runtime.
    pub(super) fn follow(hub: HubHandle) -> Past {
        let past = Past::default();
        let remembering = past.clone();
        tokio::spawn(async move {
            // What was done until now is read from the ledger.
            if hub.look(Farm::take_progress).await.is_err() {
                return;
            }
            remembering.note(Instant::now(), unix_ms(), &[]);
            if let Some(ledger) = hub.ledger_path().map(Path::to_path_buf) {
                let until_ms = unix_ms();
                let reading = tokio::task::spawn_blocking(move || read(&ledger, until_ms));
                match reading.await {
                    Ok(Ok(history)) => remembering.lock().history = history,
                    Ok(Err(fault)) => {
                        tracing::warn!(%fault, "charts do not show what was counted before: the ledger cannot be looked at")
                    }
                    Err(_) => return,
                }
            }
            let mut ticks = tokio::time::interval(INTERVAL);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let Ok(progress) = hub.look(Farm::take_progress).await else { return };
                remembering.note(Instant::now(), unix_ms(), &progress);
            }
        });
        past
    }

    /// Tasks per second of the jobs of which any were accepted lately.
    pub(super) fn rates(&self) -> BTreeMap<JobId, f64> {
        let remembered = self.lock();
        let moments = &remembered.moments;
        let (Some((begun, _)), Some((ended, _))) = (moments.front(), moments.back()) else {
            return BTreeMap::new();
        };
        let seconds = ended.duration_since(*begun).as_secs_f64();
        let mut rates = BTreeMap::new();
        if seconds > 0.0 {
            for &(job, tasks) in moments.iter().skip(1).flat_map(|(_, done)| done) {
                *rates.entry(job).or_default() += tasks as f64 / seconds;
            }
        }
        rates
    }

    /// What was done for a job when, up to now.
    pub(super) fn of(&self, job: JobId, unix_ms: i64) -> Option<(Span, Vec<Load>)> {
        self.lock().history.of(job, unix_ms)
    }

    fn note(&self, now: Instant, unix_ms: i64, progress: &[Progress]) {
        let mut remembered = self.lock();
        let Remembered { history, moments } = &mut *remembered;
        for &Progress { job, tasks, workers } in progress {
            history.add(job, unix_ms, Load { tasks, workers: workers as u64 });
        }
        history.forget(unix_ms);
        moments.push_back((now, progress.iter().map(|it| (it.job, it.tasks)).collect()));
        if moments.len() > WINDOW + 1 {
            moments.pop_front();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock().expect("nobody panics while holding it")
    }
}

/// What a ledger tells of the time before: all of it in one pass, the finest slots of which make the coarser ones.
fn read(ledger: &Path, until_ms: i64) -> Result<History, LedgerFault> {
    let length = |span: Span| span.slots() * span.slot_ms();
    let from_ms = until_ms - Span::ALL.into_iter().map(length).max().unwrap_or(0);
    let mut history = History::default();
    Look::open(ledger)?.history((from_ms, until_ms), Span::Hours.slot_ms(), |slot| {
        let load = Load { tasks: slot.tasks, workers: slot.workers };
        for span in Span::ALL {
            if slot.at_ms >= until_ms - length(span) {
                history.add_to(span, slot.job, slot.at_ms, load);
            }
        }
    })?;
    Ok(history)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(tasks: u64) -> [Progress; 1] {
        [Progress { job: JobId(1), tasks, workers: 3 }]
    }

    #[tokio::test(start_paused = true)]
    async fn a_rate_is_that_of_the_latest_seconds() {
        let past = Past::default();
        let begun = Instant::now();
        assert!(past.rates().is_empty());
        for second in 0..100 {
            let tasks = if second < 50 { 1_000 } else { 10 };
            past.note(begun + Duration::from_secs(second), 0, &new(tasks));
        }
        assert_eq!(past.rates(), BTreeMap::from([(JobId(1), 10.0)]));
        for second in 100..110 {
            past.note(begun + Duration::from_secs(second), 0, &[]);
        }
        assert!(past.rates().is_empty(), "nothing new is no rate");
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_done_is_remembered_with_its_workers() {
        let past = Past::default();
        past.note(Instant::now(), 0, &[]);
        assert_eq!(past.of(JobId(1), 0), None);
        past.note(Instant::now(), 1, &new(7));
        let (_, loads) = past.of(JobId(1), 10_000).expect("seven tasks are news");
        assert_eq!(loads, [Load { tasks: 7, workers: 3 }]);
    }
}
