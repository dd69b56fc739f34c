//! Limits what the requests of a client may cost, so that a client that asks for much does not slow the
//! others down.
//!
//! Each connection has a budget of points. A request waits until the budget is not empty, and then costs what
//! its answer does: every job that is told of and every change that becomes durable. Time earns points. Unlike
//! a worker that floods, a client that has to wait is not dismissed: a connection has few requests at a time,
//! and those wait.
//!
//! Plans are made for a connection one at a time, and after each there is a rest that is in proportion to the
//! time that it took.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::MutexGuard;
use tokio::time::Instant;

/// Points that a connection earns per second.
const PER_SECOND: i64 = 128 << 10;
/// The most points that a connection can save, and those of a new one: enough for what a person asks for.
const MOST: i64 = 64 << 10;
/// Points that a request costs: 64 of them a second.
const REQUEST: i64 = 2 << 10;
/// Points that a look at a watched job costs: as many as a connection can have watch four times a second.
const LOOK: i64 = 512;
/// Points that a job in an answer costs: a connection is told of about 1,000 jobs a second.
const JOB: i64 = 128;
/// Points that a change of the ledger costs: seven of them a second.
const CHANGE: i64 = 16 << 10;
/// Points that an audit costs, because the ledger looks at each of the job's rows.
const AUDIT: i64 = 64 << 10;
/// The rest after a plan, as a multiple of the time that it took.
const REST: u32 = 10;

/// What a request costs in addition to [`REQUEST`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Cost {
    /// Jobs in an answer.
    Jobs(usize),
    /// A change of the ledger.
    Change,
    /// An audit of a job.
    Audit,
}

impl Cost {
    fn points(self) -> i64 {
        match self {
            Cost::Jobs(jobs) => JOB.saturating_mul(i64::try_from(jobs).unwrap_or(i64::MAX)),
            Cost::Change => CHANGE,
            Cost::Audit => AUDIT,
        }
    }
}

/// The budget of one connection, shared by all of its requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Budget(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    account: Mutex<Account>,
    /// Held by the first of the requests that wait, so that the others need not look at the clock again and
    /// again.
    first: tokio::sync::Mutex<()>,
    /// Held while a plan is made for the connection.
    planning: tokio::sync::Mutex<Rest>,
}

/// The time before which no further plan is made for a connection.
#[derive(Debug, Default)]
pub(super) struct Rest(Option<Instant>);

impl Rest {
    /// Measures the making of a plan, until the returned value is dropped, however it ends.
    pub(super) fn work(&mut self) -> Work<'_> {
        Work { rest: self, begun: Instant::now() }
    }
}

/// A plan is being made.
pub(super) struct Work<'a> {
    rest: &'a mut Rest,
    begun: Instant,
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        let now = Instant::now();
        let earlier = self.rest.0.map_or(now, |until| until.max(now));
        self.rest.0 = Some(earlier + REST * now.duration_since(self.begun));
    }
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
        self.pay(REQUEST).await;
    }

    /// Waits until the budget is not empty, and pays for a look at a watched job.
    pub(super) async fn begin_look(&self) {
        self.pay(LOOK).await;
    }

    async fn pay(&self, points: i64) {
        let _first = self.0.first.lock().await;
        loop {
            let wait = self.change(|account| match account.missing() {
                None => {
                    account.points -= points;
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

    /// The connection's turn to have a plan made: one at a time, and after the rest that the one before
    /// demands.
    pub(super) async fn planning(&self) -> MutexGuard<'_, Rest> {
        let rest = self.0.planning.lock().await;
        if let Some(until) = rest.0 {
            tokio::time::sleep_until(until).await;
        }
        rest
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
            assert!((9_000..13_000).contains(&jobs), "{streams} at a time: {jobs} jobs");
        }
        assert!(listed(64, 1).await < 700, "a request costs something, too");
    }

    #[tokio::test(start_paused = true)]
    async fn who_asks_now_and_then_never_waits() {
        let budget = Budget::default();
        for _ in 0..50 {
            let begun = Instant::now();
            budget.begin_request().await;
            budget.spend(Cost::Change);
            assert_eq!(begun.elapsed(), Duration::ZERO);
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_whose_plans_take_long_rests_and_may_ask_for_other_things() {
        let budget = Budget::default();
        let second = Duration::from_secs(1);
        let mut rest = budget.planning().await;
        {
            // A client that cancels its request pays, too.
            let _work = rest.work();
            tokio::time::sleep(second).await;
        }
        drop(rest);

        let begun = Instant::now();
        budget.begin_request().await;
        assert_eq!(begun.elapsed(), Duration::ZERO);
        let _rest = budget.planning().await;
        assert!(begun.elapsed() >= REST * second, "{:?}", begun.elapsed());
    }
}
