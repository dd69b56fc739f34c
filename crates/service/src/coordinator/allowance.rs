//! Limits what a connection may cost, so that a worker that floods the coordinator does not slow the
//! others down.
//!
//! Each connection has an account of points. Every byte that is read costs a point, and every message
//! costs some more. Time earns points, and each accepted count earns back what its report cost. A
//! connection without points is not read from, so that TCP holds its worker up; if it stays so for too
//! long, it is dismissed.
//!
//! ```text
//!   bytes ──► connection: spend ──► messages ──► session: spend ──► hub
//!                  ▲ waits while empty                                │
//!                  └───────────────── earn ◄── pump ◄── "accepted" ◄──┘
//! ```
//!
//! What requests of clients cost beyond their bytes is paid from the connection's [`Budget`].

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use super::budget::Budget;

/// Points that a connection earns per second: enough for 128 KiB, or for five hundred useless messages.
const PER_SECOND: i64 = 128 << 10;
/// Points of a new connection: enough for a handshake and a Hello.
const START: i64 = 16 << 10;
/// The most points that a connection can save: enough for everything that a worker may send again after
/// its coordinator was restarted.
const MOST: i64 = 2 << 20;
/// Points that an empty account must have again before the connection is read from.
const LEAST: i64 = 4 << 10;
/// Points that a message costs in addition to its bytes.
const MESSAGE: i64 = 256;
/// Points that a session costs in addition to the bytes of its Hello.
const SESSION: i64 = 4 << 10;
/// Points that an accepted count earns: more than its report cost.
const ACCEPTED: i64 = 512;
/// How long an account may stay empty before the connection is dismissed.
const PATIENCE: Duration = Duration::from_secs(10);

/// The account of one connection, shared by all of its sessions.
#[derive(Clone, Debug)]
pub struct Allowance {
    account: Arc<Mutex<Account>>,
    budget: Budget,
}

#[derive(Debug)]
struct Account {
    points: i64,
    at: Instant,
    /// The time since which the account has not been filled up to [`START`] again.
    empty_since: Option<Instant>,
}

/// The account of a connection was empty for too long.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Flood;

impl Default for Allowance {
    fn default() -> Self {
        let account = Account { points: START, at: Instant::now(), empty_since: None };
        Allowance { account: Arc::new(Mutex::new(account)), budget: Budget::default() }
    }
}

impl Allowance {
    /// Pays for bytes that were read.
    pub(super) fn spend_bytes(&self, bytes: usize) {
        self.lock().points -= i64::try_from(bytes).unwrap_or(i64::MAX);
    }

    /// Pays for a session that is about to begin.
    pub(super) fn spend_session(&self) {
        self.lock().points -= SESSION;
    }

    /// Pays for a message that is about to be handled.
    pub(super) fn spend_message(&self) {
        self.lock().points -= MESSAGE;
    }

    /// The budget of the connection's requests.
    pub(super) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Earns the points of a count that was accepted or is needed to settle a dispute.
    pub(super) fn earn(&self) {
        let mut account = self.lock();
        account.points = (account.points + ACCEPTED).min(MOST);
    }

    /// How long to wait before more is read; `None` if no wait is needed.
    pub(super) fn pause(&self) -> Result<Option<Duration>, Flood> {
        self.lock().pause(Instant::now())
    }

    fn lock(&self) -> MutexGuard<'_, Account> {
        self.account.lock().expect("nobody panics while holding it")
    }
}

impl Account {
    fn pause(&mut self, now: Instant) -> Result<Option<Duration>, Flood> {
        let earned = PER_SECOND as f64 * now.duration_since(self.at).as_secs_f64();
        // A fraction of a point is not lost: it counts from `at` on the next time.
        if earned >= 1.0 {
            self.points = (self.points + earned as i64).min(MOST);
            self.at = now;
        }
        if self.points >= START {
            self.empty_since = None;
        }
        if self.points > 0 {
            return Ok(None);
        }
        let since = *self.empty_since.get_or_insert(now);
        if now.duration_since(since) > PATIENCE {
            return Err(Flood);
        }
        let missing = (LEAST - self.points) as f64;
        Ok(Some(Duration::from_secs_f64(missing / PER_SECOND as f64)))
    }
}

/// How often each address has connected recently. Addresses that connect too often must wait, or are
/// refused.
#[derive(Debug)]
pub(super) struct Visits {
    /// How many connections an address may make at once.
    at_once: u32,
    /// For each address, the time at which its visits will be forgotten.
    settled: HashMap<IpAddr, Instant>,
}

impl Visits {
    /// Time after which one visit is forgotten.
    const EACH: Duration = Duration::from_millis(20);
    /// The longest wait. A waiting connection occupies a place, so a longer one is refused instead.
    const LONGEST: Duration = Duration::from_secs(3);
    /// The number of known addresses above which those without recent visits are removed.
    const MOST: usize = 16_384;

    pub(super) fn new(at_once: u32) -> Visits {
        Visits { at_once, settled: HashMap::new() }
    }

    /// Records a visit. Returns how long it must wait, or `None` if it is refused.
    pub(super) fn delay(&mut self, address: IpAddr) -> Option<Duration> {
        let now = Instant::now();
        if self.settled.len() > Visits::MOST {
            self.settled.retain(|_, settled| *settled > now);
        }
        let settled = self.settled.entry(address).or_insert(now);
        let after = (*settled).max(now) + Visits::EACH;
        let delay = after.duration_since(now).saturating_sub(Visits::EACH * self.at_once);
        (delay <= Visits::LONGEST).then(|| {
            *settled = after;
            delay
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn account() -> Account {
        Account { points: START, at: Instant::now(), empty_since: None }
    }

    #[test]
    fn a_flood_is_held_up_and_then_dismissed() {
        let (mut account, begun) = (account(), Instant::now());
        let (mut now, mut messages) = (begun, 0);
        let dismissed = loop {
            match account.pause(now) {
                Ok(None) => {
                    account.points -= MESSAGE;
                    messages += 1;
                }
                Ok(Some(pause)) => now += pause,
                Err(Flood) => break now - begun,
            }
        };
        assert!((PATIENCE..PATIENCE + 2 * SECOND).contains(&dismissed), "after {dismissed:?}");
        let per_second = messages as f64 / dismissed.as_secs_f64();
        let expected = (PER_SECOND / MESSAGE) as f64;
        assert!((0.9..1.1).contains(&(per_second / expected)), "{per_second} messages a second");
    }

    #[test]
    fn counts_that_are_accepted_cost_nothing() {
        let allowance = Allowance::default();
        for _ in 0..100_000 {
            allowance.spend_bytes(120);
            allowance.spend_message();
            allowance.earn();
            assert_eq!(allowance.pause(), Ok(None));
        }
    }

    #[test]
    fn a_pause_long_enough_is_followed_by_a_fresh_start() {
        let (mut account, begun) = (account(), Instant::now());
        for second in 0..60 {
            let now = begun + SECOND * second;
            account.pause(now).expect("it is not empty all the time");
            account.points = -1;
            account.pause(now).expect("it was not empty before");
        }
    }

    #[test]
    fn who_connects_too_often_waits_and_others_do_not() {
        let [busy, other] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(IpAddr::from);
        let mut visits = Visits::new(100);
        let delays: Vec<Option<Duration>> = (0..1_000).map(|_| visits.delay(busy)).collect();
        assert!(delays[..100].iter().all(|delay| *delay == Some(Duration::ZERO)));
        let waits = |delay: &Option<Duration>| delay.is_some_and(|delay| delay > Duration::ZERO);
        assert!(delays[150..230].iter().all(waits), "{:?}", delays[229]);
        assert!(delays[600..].iter().any(Option::is_none), "nobody waits for ever");
        assert_eq!(visits.delay(other), Some(Duration::ZERO));
    }
}
