//! Limits what connections may cost, so that a worker that floods the coordinator does not slow the others
//! down.
//!
//! Each connection has an account of points. Every byte that is read costs a point, and every message costs
//! some more. Each accepted count earns back what its report cost, and time earns a few points, enough for
//! the signs of life of an honest worker. An empty account is filled from the pool of its payer, which all
//! connections of an owner share. A connection without points is not read from, so that TCP holds its worker
//! up; if it stays so for too long, it is dismissed.
//!
//! ```text
//!   bytes ──► connection: spend ──► messages ──► session: spend ──► hub
//!                  ▲ waits while empty                                │
//!     pool ──fill──┴────────────── earn ◄── pump ◄── "accepted" ◄─────┘
//! ```
//!
//! What requests of clients cost beyond their bytes is paid from the payer's [`super::budget::Budget`].

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use farm::Extras;
use tokio::time::Instant;

use super::bucket::Bucket;

/// Points that a payer earns per second for all of its connections: enough for 128 KiB, or for five hundred
/// useless messages.
const PER_SECOND: i64 = 128 << 10;
/// Points that each connection earns per second besides: enough for pings, and for a sign of life and a
/// recount every second.
const EACH_PER_SECOND: i64 = 1 << 10;
/// Points of a new connection: enough for a handshake and a Hello.
const START: i64 = 16 << 10;
/// The most points that a connection or a pool can save: enough for everything that a worker may send again
/// after its coordinator was restarted.
const MOST: i64 = 2 << 20;
/// Points that an empty account is filled up to before the connection is read from.
const LEAST: i64 = 4 << 10;
/// Points that a message costs in addition to its bytes.
const MESSAGE: i64 = 256;
/// Points that a session costs in addition to the bytes of its Hello.
const SESSION: i64 = 4 << 10;
/// Points that an accepted count earns: more than its report cost, if it said nothing besides.
const ACCEPTED: i64 = 640;
/// Points that it earns besides for each task that the report has told: as many as the bytes of the largest count.
const TOLD: i64 = 10;
/// How long a connection may spend everything at once and wait for more before it is dismissed.
const PATIENCE: Duration = Duration::from_secs(10);
/// A connection that lives on [`LEAST`] points for longer than this does not flood.
const CALM: Duration = Duration::from_secs(1);

/// The account of one connection, shared by all of its sessions.
#[derive(Clone, Debug)]
pub struct Allowance(Arc<Mutex<Account>>);

#[derive(Debug)]
struct Account {
    own: Bucket,
    /// Whoever pays for the connection; `None` before it has shown a credential.
    pool: Option<Pool>,
    /// When it was last filled.
    filled: Instant,
    /// The time since which it was empty again each time within [`CALM`].
    flooding_since: Option<Instant>,
}

/// The points that all connections of one payer earn together.
#[derive(Clone, Debug)]
pub(super) struct Pool(Arc<Mutex<Bucket>>);

/// A connection has flooded the coordinator for too long.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Flood;

impl Default for Allowance {
    fn default() -> Self {
        Allowance(Arc::new(Mutex::new(Account::new(Instant::now()))))
    }
}

impl Default for Pool {
    fn default() -> Pool {
        Pool(Arc::new(Mutex::new(Bucket::new(MOST, PER_SECOND, MOST, Instant::now()))))
    }
}

impl Allowance {
    /// Says who pays from now on. Whoever came first stays.
    pub(super) fn fill_from(&self, pool: &Pool) {
        self.lock().pool.get_or_insert_with(|| pool.clone());
    }

    /// Pays for bytes that were read.
    pub(super) fn spend_bytes(&self, bytes: usize) {
        self.lock().own.spend(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// Pays for a session that is about to begin.
    pub(super) fn spend_session(&self) {
        self.lock().own.spend(SESSION);
    }

    /// Pays for a message that is about to be handled.
    pub(super) fn spend_message(&self) {
        self.lock().own.spend(MESSAGE);
    }

    /// Earns the points of a count that was accepted, was asked for as an audit, or is needed to settle a dispute, and whose
    /// report has said so much besides.
    pub(super) fn earn(&self, extras: Extras) {
        self.lock().own.add(earned(extras));
    }

    /// How long to wait before more is read; `None` if no wait is needed.
    pub(super) fn pause(&self) -> Result<Option<Duration>, Flood> {
        self.lock().pause(Instant::now())
    }

    fn lock(&self) -> MutexGuard<'_, Account> {
        self.0.lock().expect("nobody panics while holding it")
    }
}

impl Account {
    fn new(now: Instant) -> Account {
        let own = Bucket::new(START, EACH_PER_SECOND, MOST, now);
        Account { own, pool: None, filled: now, flooding_since: None }
    }

    fn pause(&mut self, now: Instant) -> Result<Option<Duration>, Flood> {
        let points = self.own.points(now);
        if points > 0 {
            return Ok(None);
        }
        let Some(pool) = &self.pool else {
            // Perhaps the request that shows a credential has been read already.
            let soon = Duration::from_millis(20);
            return Ok(Some(soon));
        };
        if now.saturating_duration_since(self.filled) > CALM {
            self.flooding_since = None;
        }
        let since = *self.flooding_since.get_or_insert(now);
        let wait = pool.take(LEAST - points, now).ok_or(Flood)?;
        if (now + wait).duration_since(since) > PATIENCE {
            return Err(Flood);
        }
        self.own.add(LEAST - points);
        self.filled = now + wait;
        Ok(Some(wait).filter(|wait| !wait.is_zero()))
    }
}

impl Pool {
    /// Takes points, those that time will earn included. Returns when they are earned; `None`, and takes nothing,
    /// if that is too far away.
    fn take(&self, points: i64, now: Instant) -> Option<Duration> {
        let mut bucket = self.lock();
        let wait = bucket.time_until(points, now);
        (wait <= PATIENCE).then(|| {
            bucket.spend(points);
            wait
        })
    }

    /// Whether no connection uses it, and a new pool would be no better.
    pub(super) fn is_as_new(&self, now: Instant) -> bool {
        Arc::strong_count(&self.0) == 1 && self.lock().is_full(now)
    }

    fn lock(&self) -> MutexGuard<'_, Bucket> {
        self.0.lock().expect("nobody panics while holding it")
    }
}

/// The points that an accepted count earns whose report has said so much besides.
fn earned(Extras { told }: Extras) -> i64 {
    let told = i64::try_from(told).unwrap_or(i64::MAX);
    ACCEPTED.saturating_add(told.saturating_mul(TOLD))
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
    use farm::{
        Digest, Fingerprint, JobId, KernelName, LeaseId, LoanKind, LoanProof, Range, Report, Tally,
        TaskCounts, WorkerMessage,
    };
    use prost::Message;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Connections of one payer that each send messages as fast as they may. How many messages all of them got
    /// through in `time`, and when each was dismissed.
    fn flood(connections: usize, time: Duration) -> (i64, Vec<Option<Duration>>) {
        let begun = Instant::now();
        let pool = Pool::default();
        pool.take(MOST, begun).expect("it is full");
        let mut accounts: Vec<Account> = (0..connections).map(|_| Account::new(begun)).collect();
        accounts.iter_mut().for_each(|account| account.pool = Some(pool.clone()));
        let mut ready = vec![begun; connections];
        let mut dismissed = vec![None; connections];
        let mut messages = 0;
        while let Some(next) = (0..connections)
            .filter(|&at| dismissed[at].is_none() && ready[at] < begun + time)
            .min_by_key(|&at| ready[at])
        {
            match accounts[next].pause(ready[next]) {
                Ok(None) => {
                    accounts[next].own.spend(MESSAGE);
                    messages += 1;
                }
                Ok(Some(pause)) => ready[next] += pause,
                Err(Flood) => dismissed[next] = Some(ready[next] - begun),
            }
        }
        (messages, dismissed)
    }

    #[test]
    fn a_flood_is_held_up_and_then_dismissed() {
        let (messages, dismissed) = flood(1, 60 * SECOND);
        let dismissed = dismissed[0].expect("it does nothing but flood");
        assert!((PATIENCE - SECOND..PATIENCE + SECOND).contains(&dismissed), "{dismissed:?}");
        let per_second = messages as f64 / dismissed.as_secs_f64();
        let expected = (PER_SECOND / MESSAGE) as f64;
        assert!((0.9..1.1).contains(&(per_second / expected)), "{per_second} messages a second");
    }

    #[test]
    fn many_connections_of_one_payer_get_little_more_than_one() {
        let time = 5 * SECOND;
        let [(one, _), (many, _)] = [1, 16].map(|connections| flood(connections, time));
        let begins = 15 * START / MESSAGE;
        assert!(many - begins < one + one / 4, "{many} messages instead of {one}");
        let (_, dismissed) = flood(1_000, 2 * SECOND);
        let at_once = dismissed.iter().filter(|time| time.is_some()).count();
        assert!(at_once > 600, "who would wait for too long is dismissed: {at_once}");
    }

    #[test]
    fn who_lives_on_little_is_not_dismissed_beside_a_flood_of_its_owner() {
        let begun = Instant::now();
        let pool = Pool::default();
        pool.take(MOST, begun).expect("it is full");
        let mut account = Account::new(begun);
        account.pool = Some(pool.clone());
        account.own.spend(START);
        for second in 0..3_600 {
            let now = begun + second * SECOND;
            // The flood takes all that the pool has, and will have soon.
            while pool.take(LEAST, now).expect("it is not overdrawn so far") < SECOND / 2 {}
            account.own.spend(EACH_PER_SECOND + LEAST / 4);
            let paused = account.pause(now).expect("it is not a flood");
            assert!(paused.is_none_or(|pause| pause < SECOND), "{paused:?}");
        }
    }

    /// A report of which each number takes as many bytes as it can.
    fn longest_report(told: usize) -> Report {
        let range = Range::new(u64::MAX - 1, u64::MAX).expect("not empty");
        let id = i64::MAX.cast_unsigned();
        let kernels = KernelName::ALL.into_iter();
        Report {
            job: JobId(id),
            fingerprint: Fingerprint([255; 32]),
            lease: LeaseId(id),
            proof: LoanProof { range, kind: LoanKind::Count, seal: [255; 16] },
            range,
            tally: Tally { count: u64::MAX, residue: id, digest: Digest(u128::MAX) },
            task_counts: TaskCounts::new(&vec![u64::MAX; told]),
            kernel: kernels.max_by_key(|name| name.to_string().len()).expect("there are some"),
            busy_us: u64::MAX,
        }
    }

    /// Bytes of the message of a report, with what gRPC adds to it, and HTTP/2 and TLS to each 16 KiB of it.
    fn bytes(report: &Report) -> usize {
        let message = WorkerMessage::Report(report.clone());
        let len = 5 + wire::v1::WorkRequest::from(message).encoded_len();
        len + len.div_ceil(16 << 10) * (9 + 22)
    }

    #[test]
    fn counts_that_are_accepted_cost_nothing() {
        let allowance = Allowance::default();
        for told in [0, 1, TaskCounts::MOST] {
            let report = longest_report(told);
            let (bytes, extras) = (bytes(&report), Extras::of(&report));
            for _ in 0..100_000 {
                allowance.spend_bytes(bytes);
                allowance.spend_message();
                allowance.earn(extras);
            }
            assert_eq!(allowance.pause(), Ok(None), "{told} tasks told");
        }
    }

    #[test]
    fn who_has_shown_no_credential_has_what_it_began_with() {
        let begun = Instant::now();
        let mut account = Account::new(begun);
        account.own.spend(START);
        assert!(matches!(account.pause(begun), Ok(Some(_))));
        account.pool = Some(Pool::default());
        assert_eq!(account.pause(begun), Ok(None));
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
