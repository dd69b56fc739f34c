//! How far jobs have come and when, for charts.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use farm::{Farm, JobId, Progress};
use ledger::{LedgerFault, Look, unix_ms};
use page::{History, Load, Span};
use tokio::time::MissedTickBehavior;

use crate::coordinator::FarmHandle;

/// How often the farm is asked how far its jobs have come.
const INTERVAL: Duration = Duration::from_secs(2);

/// What is remembered of jobs, the time before the coordinator was started included.
#[derive(Clone, Default)]
pub(super) struct Past(Arc<Mutex<History>>);

impl Past {
    /// Remembers from now on, for as long as the event loop lives. Must be called within a runtime.
    pub(super) fn follow(farm: FarmHandle) -> Past {
        let past = Past::default();
        let remembering = past.clone();
        tokio::spawn(async move {
            // What was done until now is read from the ledger.
            if farm.look(Farm::take_progress).await.is_err() {
                return;
            }
            if let Some(ledger) = farm.ledger_path().map(Path::to_path_buf) {
                let until_ms = unix_ms();
                let reading = tokio::task::spawn_blocking(move || read(&ledger, until_ms));
                match reading.await {
                    Ok(Ok(history)) => *remembering.lock() = history,
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
                let seen = farm.look(|farm| (farm.take_progress(), farm.workers()));
                let Ok((progress, workers)) = seen.await else { return };
                remembering.note(unix_ms(), &progress, workers);
            }
        });
        past
    }

    /// What was done for a job when, up to its end or to now.
    pub(super) fn of(&self, job: JobId, unix_ms: i64, ended: Option<i64>) -> Option<page::Past> {
        self.lock().of(job, unix_ms, ended)
    }

    /// What was lately done for all jobs.
    pub(super) fn of_all(&self, span: Span, unix_ms: i64) -> Option<page::Past> {
        self.lock().of_all(span, unix_ms)
    }

    /// Notes how far jobs have come while so many workers were connected.
    fn note(&self, unix_ms: i64, progress: &[Progress], workers: usize) {
        let mut history = self.lock();
        let mut all = Load { placements: 0.0, workers: workers as u64 };
        for &Progress { job, placements, workers } in progress {
            all.placements += placements;
            history.add(Some(job), unix_ms, Load { placements, workers: workers as u64 });
        }
        if all != Load::default() {
            history.add(None, unix_ms, all);
        }
        history.forget(unix_ms);
    }

    fn lock(&self) -> MutexGuard<'_, History> {
        self.0.lock().expect("nobody panics while holding it")
    }
}

/// What a ledger tells of the time before: all of it at once, the finest slots of which make the coarser ones.
fn read(ledger: &Path, until_ms: i64) -> Result<History, LedgerFault> {
    let length = |span: Span| span.slots() * span.slot_ms();
    let from_ms = until_ms - Span::ALL.into_iter().map(length).max().unwrap_or(0);
    let mut history = History::default();
    Look::open(ledger)?.history((from_ms, until_ms), Span::Hours.slot_ms(), |slot| {
        let load = Load { placements: slot.placements, workers: slot.workers };
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

    #[test]
    fn what_was_done_is_remembered_with_its_workers() {
        let past = Past::default();
        past.note(0, &[], 0);
        assert_eq!(past.of_all(Span::Hours, 10_000), None);
        let of = |job, placements| Progress { job: JobId(job), placements, workers: 3 };
        past.note(1, &[of(1, 7.0), of(2, 2.0)], 4);
        let loads = past.of(JobId(1), 10_000, None).expect("seven placements are news").loads;
        assert_eq!(loads, [Load { placements: 7.0, workers: 3 }]);
        let loads = past.of_all(Span::Hours, 10_000).expect("they are news").loads;
        assert_eq!(loads, [Load { placements: 9.0, workers: 4 }]);
    }
}
