//! What a connection may cost, so that the floods of one are not paid by the others.
//!
//! One purse a connection. Every byte that is read costs a point, every message some more; time
//! earns points, and each count that was accepted earns back what its report cost. Out of points, a
//! connection is not read from, so that TCP holds its worker up; one that stays so is dismissed.
//!
//! ```text
//!   bytes ──► connection: spend ──► messages ──► session: spend ──► hub
//!                  ▲ waits while empty                                │
//!                  └───────────────── earn ◄── pump ◄── "accepted" ◄──┘
//! ```

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

/// Points a second: five hundred messages that lead to nothing, or 128 KiB.
const PER_SECOND: i64 = 128 << 10;
/// A new connection's: enough for a handshake and a Hello.
const START: i64 = 16 << 10;
/// The most that can be saved up: enough for all that a worker may have to say again after its
/// coordinator was restarted.
const MOST: i64 = 2 << 20;
/// What is to be there before an empty purse is used again.
const LEAST: i64 = 4 << 10;
/// What a message costs beside its bytes.
const MESSAGE: i64 = 256;
/// What a session costs, beside its Hello's bytes.
const SESSION: i64 = 4 << 10;
/// What an accepted count earns: more than its report cost.
const ACCEPTED: i64 = 512;
/// How long a connection may go on asking for more than it may have.
const PATIENCE: Duration = Duration::from_secs(10);

/// The purse of one connection, shared by all of its sessions.
#[derive(Clone, Debug)]
pub struct Allowance(Arc<Mutex<Purse>>);

#[derive(Debug)]
struct Purse {
    points: i64,
    at: Instant,
    /// Since when it has never been more than briefly filled.
    empty_since: Option<Instant>,
}

/// A connection has asked for more than it may have, for too long.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Flood;

impl Default for Allowance {
    fn default() -> Self {
        let purse = Purse { points: START, at: Instant::now(), empty_since: None };
        Allowance(Arc::new(Mutex::new(purse)))
    }
}

impl Allowance {
    /// So many bytes were read.
    pub(super) fn spend_bytes(&self, bytes: usize) {
        self.lock().points -= i64::try_from(bytes).unwrap_or(i64::MAX);
    }

    /// A session is about to begin.
    pub(super) fn spend_session(&self) {
        self.lock().points -= SESSION;
    }

    /// A message is about to be handled.
    pub(super) fn spend_message(&self) {
        self.lock().points -= MESSAGE;
    }

    /// A count of it was of use.
    pub(super) fn earn(&self) {
        let mut purse = self.lock();
        purse.points = (purse.points + ACCEPTED).min(MOST);
    }

    /// How long to wait before more is read; `None`: not at all.
    pub(super) fn pause(&self) -> Result<Option<Duration>, Flood> {
        self.lock().pause(Instant::now())
    }

    fn lock(&self) -> MutexGuard<'_, Purse> {
        self.0.lock().expect("nobody panics while holding it")
    }
}

impl Purse {
    fn pause(&mut self, now: Instant) -> Result<Option<Duration>, Flood> {
        let earned = PER_SECOND as f64 * now.duration_since(self.at).as_secs_f64();
        // Less than a point stays to be earned.
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

/// How often each address has connected, lately: who comes and goes all the time waits at the door,
/// or is turned away.
#[derive(Debug)]
pub(super) struct Visits {
    /// How many connections an address may make at once.
    at_once: u32,
    /// When each address would have no visit on its account.
    settled: HashMap<IpAddr, Instant>,
}

impl Visits {
    /// What a visit weighs on its account.
    const EACH: Duration = Duration::from_millis(20);
    /// Nobody holds a place for longer without being read from.
    const LONGEST: Duration = Duration::from_secs(3);
    /// Addresses that may be known before those are forgotten that have nothing on their account.
    const MOST: usize = 16_384;

    pub(super) fn new(at_once: u32) -> Visits {
        Visits { at_once, settled: HashMap::new() }
    }

    /// One more; how long it is to wait. `None`: too long.
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

    fn purse() -> Purse {
        Purse { points: START, at: Instant::now(), empty_since: None }
    }

    #[test]
    fn a_flood_is_held_up_and_then_dismissed() {
        let (mut purse, begun) = (purse(), Instant::now());
        let (mut now, mut messages) = (begun, 0);
        let dismissed = loop {
            match purse.pause(now) {
                Ok(None) => {
                    purse.points -= MESSAGE;
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
        let (mut purse, begun) = (purse(), Instant::now());
        for second in 0..60 {
            let now = begun + SECOND * second;
            purse.pause(now).expect("it is not empty all the time");
            purse.points = -1;
            purse.pause(now).expect("it was not empty before");
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
