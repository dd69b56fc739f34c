//! Remembers the progress of jobs, for charts.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use farm::{Farm, JobId, Progress};
use ledger::unix_ms;
use page::{History, Load};
use tokio::time::MissedTickBehavior;

use crate::coordinator::FarmHandle;

/// How often the farm is asked how far its jobs have come.
const INTERVAL: Duration = Duration::from_secs(2);

/// What is remembered of jobs since the coordinator was started.
#[derive(Clone, Default)]
pub(super) struct Past(Arc<Mutex<History>>);

impl Past {
    /// Remembers from now on, for as long as the event loop lives. Must be called within a runtime.
    pub(super) fn follow(farm: FarmHandle) -> Past {
        let past = Past::default();
        let remembering = past.clone();
        tokio::spawn(async move {
            // Progress from before this moment is dropped.
            if farm.look(Farm::take_progress).await.is_err() {
                return;
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

    /// The history of a job, or of the farm, up to its end or to now.
    pub(super) fn of(
        &self,
        job: Option<JobId>,
        unix_ms: i64,
        ended: Option<i64>,
    ) -> Option<page::Past> {
        self.lock().of(job, unix_ms, ended)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_remembered_with_its_workers() {
        let past = Past::default();
        past.note(0, &[], 0);
        assert_eq!(past.of(None, 10_000, None), None);
        let of = |job, placements| Progress { job: JobId(job), placements, workers: 3 };
        past.note(1, &[of(1, 7.0), of(2, 2.0)], 4);
        let loads = past.of(Some(JobId(1)), 10_000, None).expect("seven placements are news").loads;
        assert_eq!(loads, [Load { placements: 7.0, workers: 3 }]);
        let loads = past.of(None, 10_000, None).expect("they are news").loads;
        assert_eq!(loads, [Load { placements: 9.0, workers: 4 }]);
    }
}
