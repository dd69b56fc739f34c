//! Limits what the requests of a client may cost, so that a client that asks for much does not slow the
//! others down.
//!
//! Each connection has a budget of points. A request waits until the budget is not empty, and then costs what
//! its answer does: every job that is told of, every change that becomes durable, every second in which a
//! plan was made. Time earns points. Unlike a worker that floods, a client that has to wait is not dismissed:
//! a connection has few requests at a time, and those wait.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::MutexGuard;
use tokio::time::Instant;

/// Points that a connection earns per second.
const PER_SECOND: i64 = 128 << 10;
/// The most points that a connection can save, and those of a new one: enough for a list of 2,000 jobs.
const MOST: i64 = 128 << 10;
/// Points that each request costs: 256 of them a second.
const REQUEST: i64 = 512;
/// Points that a job in an answer costs: a connection is told of 2,048 jobs a second.
const JOB: i64 = 64;
/// Points that a change of the ledger costs: 16 of them a second.
const CHANGE: i64 = 8 << 10;
/// Points that an audit costs, because the ledger looks at each of the job's rows.
const AUDIT: i64 = 64 << 10;
/// Points that a second of planning costs: a quarter of a second's earnings, because a connection has only
/// one plan made at a time.
const PLANNING_SECOND: i64 = PER_SECOND / 4;

/// What a request costs in addition to [`REQUEST`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Cost {
    /// Jobs in an answer.
    Jobs(usize),
    /// A change of the ledger.
    Change,
    /// An audit of a job.
    Audit,
    /// The time in which a plan was made, and a change of the ledger.
    Submission(Duration),
}

impl Cost {
    fn points(self) -> i64 {
        match self {
            Cost::Jobs(jobs) => JOB.saturating_mul(i64::try_from(jobs).unwrap_or(i64::MAX)),
            Cost::Change => CHANGE,
            Cost::Audit => AUDIT,
            Cost::Submission(planning) => {
                CHANGE + (PLANNING_SECOND as f64 * planning.as_secs_f64()) as i64
            }
        }
    }
}

/// The budget of one connection, shared by all of its requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Budget(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    account: Mutex<Account>,
    /// Held while a plan is made for the connection.
    planning: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct Account {
    points: i64,
    at: Instant,
}

impl Default for Account {
    fn default() -> Account {
        Account { points: MOST, at: Instant::now() }
    }
}

impl Budget {
    /// Waits until the budget is not empty, and pays for a request from it.
    pub(super) async fn begin_request(&self) {
        loop {
            let wait = self.change(|account| match account.missing() {
                None => {
                    account.points -= REQUEST;
                    None
                }
                wait => wait,
            });
            match wait {
                None => return,
                Some(wait) => tokio::time::sleep(wait).await,
            }
        }
    }

    /// Pays for what a request has cost.
    pub(super) fn spend(&self, cost: Cost) {
        self.change(|account| account.points = account.points.saturating_sub(cost.points()));
    }

    /// The connection's turn to have a plan made: one at a time.
    pub(super) async fn planning(&self) -> MutexGuard<'_, ()> {
        self.0.planning.lock().await
    }

    fn change<T>(&self, change: impl FnOnce(&mut Account) -> T) -> T {
        let mut account = self.0.account.lock().expect("nobody panics while holding it");
        account.earn(Instant::now());
        change(&mut account)
    }
}

impl Account {
    fn earn(&mut self, now: Instant) {
        let earned = (PER_SECOND as f64 * now.duration_since(self.at).as_secs_f64()) as i64;
        // A fraction of a point is not lost: it counts from `at` on the next time.
        if earned > 0 {
            self.points = self.points.saturating_add(earned).min(MOST);
            self.at = now;
        }
    }

    /// How long it takes until the account is not empty any more; `None` if it is not.
    fn missing(&self) -> Option<Duration> {
        let missing = 1 - self.points;
        (missing > 0).then(|| Duration::from_secs_f64(missing as f64 / PER_SECOND as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of jobs that lists of `page` jobs tell of in ten seconds, asked for by `streams` requests at
    /// a time.
    async fn listed(streams: usize, page: usize) -> usize {
        let budget = Budget::default();
        let end = Instant::now() + Duration::from_secs(10);
        let asking = (0..streams).map(|_| {
            let budget = budget.clone();
            tokio::spawn(async move {
                let mut jobs = 0;
                loop {
                    budget.begin_request().await;
                    if Instant::now() >= end {
                        return jobs;
                    }
                    budget.spend(Cost::Jobs(page));
                    jobs += page;
                }
            })
        });
        let mut jobs = 0;
        for asking in asking.collect::<Vec<_>>() {
            jobs += asking.await.expect("it does not panic");
        }
        jobs
    }

    #[tokio::test(start_paused = true)]
    async fn lists_cost_by_their_size_however_many_are_asked_for_at_a_time() {
        for streams in [1, 64] {
            let jobs = listed(streams, 256).await;
            assert!((18_000..26_000).contains(&jobs), "{streams} at a time: {jobs} jobs");
        }
        assert!(listed(64, 1).await < 2_600, "a request costs something, too");
    }

    #[tokio::test(start_paused = true)]
    async fn who_asks_now_and_then_never_waits() {
        let budget = Budget::default();
        for _ in 0..100 {
            let begun = Instant::now();
            budget.begin_request().await;
            budget.spend(Cost::Submission(Duration::from_millis(10)));
            assert_eq!(begun.elapsed(), Duration::ZERO);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_plan_that_took_long_is_paid_for_afterwards() {
        let budget = Budget::default();
        budget.spend(Cost::Submission(Duration::from_secs(20)));
        let begun = Instant::now();
        budget.begin_request().await;
        let waited = begun.elapsed();
        assert!((3..6).contains(&waited.as_secs()), "{waited:?}");
    }
}
