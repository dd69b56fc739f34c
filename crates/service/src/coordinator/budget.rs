//! Limits what the requests of a client may cost, so that a client that asks for much does not slow the
//! others down.
//!
//! Each payer has a budget of points for the requests of all of its connections. A request waits until the budget
//! is not empty, and then costs what its answer does: every job that is told of and every change that becomes
//! durable. Time earns points. Unlike a worker that floods, a client that has to wait is not dismissed: a
//! connection has few requests at a time, and those wait.
//!
//! Plans are made for a payer in short turns and in long ones, one of each at a time, and after each there is a rest
//! that is in proportion to the time that it took. Of connections and the like, a payer may occupy only a [`Share`].

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{MutexGuard, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::bucket::Bucket;

/// Points that a budget earns per second.
const PER_SECOND: i64 = 128 << 10;
/// The most points that a budget can save, and those of a new one: enough for what a person asks for.
const MOST: i64 = 64 << 10;
/// Points that a request costs: 64 of them a second.
const REQUEST: i64 = 2 << 10;
/// Points that a look at a watched job costs: enough for 64 watches that look four times a second.
const LOOK: i64 = 512;
/// Points that a job in an answer costs: a payer is told of about 1,000 jobs a second.
const JOB: i64 = 128;
/// Points that a worker in an answer costs.
const WORKER: i64 = 16;
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
    /// Workers in an answer.
    Workers(usize),
    /// A change of the ledger.
    Change,
    /// An audit of a job.
    Audit,
}

impl Cost {
    fn points(self) -> i64 {
        let each =
            |points: i64, number| points.saturating_mul(i64::try_from(number).unwrap_or(i64::MAX));
        match self {
            Cost::Jobs(jobs) => each(JOB, jobs),
            Cost::Workers(workers) => each(WORKER, workers),
            Cost::Change => CHANGE,
            Cost::Audit => AUDIT,
        }
    }
}

/// The budget of one payer, shared by all of its requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Budget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    points: Mutex<Bucket>,
    /// Held by the first of the requests that wait, so that the others need not look at the clock again and
    /// again.
    first: tokio::sync::Mutex<()>,
    /// Held while a plan is made for the payer: in a short turn, and in a long one.
    planning: [tokio::sync::Mutex<Rest>; 2],
    /// What is left of each [`Share`].
    shares: [Arc<Semaphore>; Share::ALL.len()],
}

/// What a payer may only occupy so much of at a time, so that something is left to others.
#[derive(Clone, Copy, Debug)]
pub(super) enum Share {
    /// Connections: three quarters of [`Limits`](super::Limits).
    Connections,
    /// Browsers that look on: three quarters of all.
    Seats,
    /// Bundles that are on their way: one that comes back after its connection broke need not wait until the coordinator
    /// has noticed that, too.
    Exports,
    /// Answers that were not read yet, in units of [`Share::UNREAD_UNIT`].
    Unread,
}

impl Share {
    /// Bytes of answers that are counted together.
    pub(super) const UNREAD_UNIT: usize = 1 << 10;

    const ALL: [Share; 4] = [Share::Connections, Share::Seats, Share::Exports, Share::Unread];

    /// How much of it a payer may occupy.
    pub(super) const fn most(self) -> usize {
        match self {
            Share::Connections => 24_576,
            Share::Seats => 768,
            Share::Exports => 2,
            Share::Unread => 64 << 10,
        }
    }
}

/// How long the making of a plan may take.
#[derive(Clone, Copy, Debug)]
pub(super) enum Turn {
    /// So short that it can always be tried.
    Short,
    /// As long as a client waits.
    Long,
}

impl Default for Shared {
    fn default() -> Shared {
        let points = Mutex::new(Bucket::new(MOST, PER_SECOND, MOST, Instant::now()));
        let shares = Share::ALL.map(|share| Arc::new(Semaphore::new(share.most())));
        Shared { points, first: Default::default(), planning: Default::default(), shares }
    }
}

/// The time before which a payer has no further turn.
#[derive(Debug, Default)]
pub(super) struct Rest(Option<Instant>);

impl Rest {
    fn left(&self, now: Instant) -> Duration {
        self.0.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }

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
            let wait = {
                let mut bucket = self.points();
                let wait = bucket.time_until(1, Instant::now());
                if wait.is_zero() {
                    return bucket.spend(points);
                }
                wait
            };
            tokio::time::sleep(wait).await;
        }
    }

    /// Pays for what a request has cost.
    pub(super) fn spend(&self, cost: Cost) {
        let mut bucket = self.points();
        bucket.points(Instant::now());
        bucket.spend(cost.points());
    }

    /// The payer's turn to have a plan made: one of each length at a time, and after the rest that the one before
    /// demands.
    ///
    /// # Errors
    ///
    /// The length of that rest, if it is longer than `patience`.
    pub(super) async fn turn(
        &self,
        turn: Turn,
        patience: Duration,
    ) -> Result<MutexGuard<'_, Rest>, Duration> {
        let rest = self.0.planning[turn as usize].lock().await;
        let left = rest.left(Instant::now());
        if left > patience {
            return Err(left);
        }
        tokio::time::sleep(left).await;
        Ok(rest)
    }

    /// The payer's turn, if it need not wait for it.
    pub(super) fn turn_now(&self, turn: Turn) -> Option<MutexGuard<'_, Rest>> {
        let rest = self.0.planning[turn as usize].try_lock().ok()?;
        rest.left(Instant::now()).is_zero().then_some(rest)
    }

    /// So much of a share, until what is returned is dropped; `None` if the payer occupies too much of it already.
    pub(super) fn take(&self, share: Share, amount: usize) -> Option<OwnedSemaphorePermit> {
        let amount = u32::try_from(amount).ok()?;
        self.0.shares[share as usize].clone().try_acquire_many_owned(amount).ok()
    }

    /// Whether no request uses it, and a new budget would be no better.
    pub(super) fn is_as_new(&self, now: Instant) -> bool {
        Arc::strong_count(&self.0) == 1
            && Share::ALL
                .iter()
                .all(|&share| self.0.shares[share as usize].available_permits() == share.most())
            && [Turn::Short, Turn::Long].iter().all(|&turn| self.turn_now(turn).is_some())
            && self.points().is_full(now)
    }

    fn points(&self) -> std::sync::MutexGuard<'_, Bucket> {
        self.0.points.lock().expect("nobody panics while holding it")
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

    /// How often so many browsers of one payer look in ten seconds, each once a second unless it has to wait.
    async fn looks(browsers: usize) -> usize {
        let budget = Budget::default();
        let end = Instant::now() + Duration::from_secs(10);
        let looking = (0..browsers).map(|_| {
            let budget = budget.clone();
            tokio::spawn(async move {
                let mut looks = 0;
                loop {
                    budget.begin_look().await;
                    if Instant::now() >= end {
                        return looks;
                    }
                    looks += 1;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            })
        });
        let mut all = 0;
        for looking in looking.collect::<Vec<_>>() {
            all += looking.await.expect("it does not panic");
        }
        all
    }

    #[tokio::test(start_paused = true)]
    async fn two_hundred_browsers_look_every_second_and_more_of_them_share_the_looks() {
        assert_eq!(looks(200).await, 2_000);
        for browsers in [500, 1_024] {
            let looks = looks(browsers).await;
            assert!((2_000..2_800).contains(&looks), "{browsers} browsers: {looks}");
        }
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
    async fn who_submits_plans_that_take_long_rests_and_may_ask_for_other_things() {
        let budget = Budget::default();
        let second = Duration::from_secs(1);
        let patience = Duration::from_secs(60);
        let mut rest = budget.turn(Turn::Long, patience).await.expect("it is the first");
        {
            // A client that cancels its request pays, too.
            let _work = rest.work();
            tokio::time::sleep(second).await;
        }
        drop(rest);

        let begun = Instant::now();
        budget.begin_request().await;
        assert_eq!(begun.elapsed(), Duration::ZERO);
        let too_long =
            budget.turn(Turn::Long, second).await.expect_err("it waits no longer than it says");
        assert!(too_long > second, "{too_long:?}");
        assert!(budget.turn_now(Turn::Long).is_none());
        assert!(budget.turn_now(Turn::Short).is_some(), "short plans do not wait for long ones");
        let _rest = budget.turn(Turn::Long, patience).await.expect("it waits");
        assert!(begun.elapsed() >= REST * second, "{:?}", begun.elapsed());
    }
}
