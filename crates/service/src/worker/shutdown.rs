//! When a worker leaves by itself.

use std::time::Duration;

use tokio::time::Instant;

/// How long before its time limit a worker begins to hand back. It waits a few seconds for the
/// tasks that are being counted, and needs some time to send its last reports.
const MARGIN: Duration = Duration::from_secs(6);

/// When a worker leaves without being asked to; by default never.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeaveRules {
    /// It leaves when it has had nothing to do for this time, while there was a coordinator that
    /// could lease something.
    pub when_idle: Option<Duration>,
    /// It has left when this time has passed since its start.
    pub time_limit: Option<Duration>,
    /// It leaves when there was no coordinator for this time.
    pub without_coordinator: Option<Duration>,
}

/// What decides when a worker leaves: the rules, and since when each of their conditions holds.
#[derive(Debug)]
pub(super) struct Shutdown {
    rules: LeaveRules,
    /// When it hands back what it has not counted.
    hand_back_at: Option<Instant>,
    /// When the coordinator can lease something; `None` without one.
    leases_at: Option<Instant>,
    /// Since when it has nothing to do, while there is a coordinator that could lease something.
    idle_since: Option<Instant>,
    /// Since when there is no coordinator.
    alone_since: Option<Instant>,
}

impl Shutdown {
    pub(super) fn new(rules: LeaveRules, now: Instant) -> Shutdown {
        let until_back = |limit: Duration| limit.saturating_sub(MARGIN.min(limit / 2));
        Shutdown {
            rules,
            hand_back_at: rules.time_limit.and_then(|limit| now.checked_add(until_back(limit))),
            leases_at: None,
            idle_since: None,
            alone_since: Some(now),
        }
    }

    /// A session began, in which something can be leased after this time.
    pub(super) fn welcomed(&mut self, now: Instant, leases_in: Duration) {
        // A coordinator that names a time beyond all bounds leases nothing that this worker could
        // wait for.
        let leases_at = now.checked_add(leases_in).unwrap_or(now);
        (self.leases_at, self.alone_since, self.idle_since) = (Some(leases_at), None, None);
    }

    /// A session ended.
    pub(super) fn alone(&mut self, now: Instant) {
        let since = self.alone_since.unwrap_or(now);
        (self.leases_at, self.alone_since, self.idle_since) = (None, Some(since), None);
    }

    /// Notes whether the worker has anything to do. It is not idle before the coordinator can
    /// lease.
    pub(super) fn occupied(&mut self, now: Instant, is_busy: bool) {
        let from = self.leases_at.filter(|_| !is_busy);
        self.idle_since = from.map(|leases_at| self.idle_since.unwrap_or(now.max(leases_at)));
    }

    /// Why it is time to hand back. `None` if it is not.
    pub(super) fn reason(&self, now: Instant) -> Option<&'static str> {
        let is_past = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if is_past(self.hand_back_at) {
            Some("the time limit is near")
        } else if is_past(self.idle_until()) {
            Some("there was nothing to do for long enough")
        } else {
            None
        }
    }

    /// When [`Shutdown::reason`] must be asked again at the latest.
    pub(super) fn next_look(&self) -> Option<Instant> {
        self.hand_back_at.into_iter().chain(self.idle_until()).min()
    }

    /// When the worker gives up, if it may and there is no coordinator.
    pub(super) fn gives_up_at(&self) -> Option<Instant> {
        self.alone_since?.checked_add(self.rules.without_coordinator?)
    }

    fn idle_until(&self) -> Option<Instant> {
        self.idle_since?.checked_add(self.rules.when_idle?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn idleness_counts_only_while_there_is_a_coordinator() {
        let now = Instant::now();
        let (idle, alone) = (Some(5 * SECOND), Some(20 * SECOND));
        let rules =
            LeaveRules { when_idle: idle, without_coordinator: alone, ..LeaveRules::default() };
        let mut shutdown = Shutdown::new(rules, now);
        assert_eq!((shutdown.reason(now + 9 * SECOND), shutdown.next_look()), (None, None));
        assert_eq!(shutdown.gives_up_at(), Some(now + 20 * SECOND), "from its start on");

        shutdown.welcomed(now + 10 * SECOND, Duration::ZERO);
        shutdown.occupied(now + 10 * SECOND, false);
        shutdown.occupied(now + 13 * SECOND, false);
        assert_eq!(shutdown.gives_up_at(), None);
        assert!(shutdown.reason(now + 15 * SECOND).is_some(), "since the first of these looks");

        shutdown.alone(now + 14 * SECOND);
        shutdown.alone(now + 16 * SECOND);
        assert_eq!(shutdown.reason(now + 20 * SECOND), None);
        assert_eq!(shutdown.gives_up_at(), Some(now + 34 * SECOND));
    }

    #[test]
    fn a_worker_is_idle_only_once_the_coordinator_can_lease() {
        let now = Instant::now();
        let rules = LeaveRules { when_idle: Some(2 * SECOND), ..LeaveRules::default() };
        let mut shutdown = Shutdown::new(rules, now);
        shutdown.occupied(now, false);
        assert_eq!(shutdown.next_look(), None, "nobody has welcomed it");

        shutdown.welcomed(now, 10 * SECOND);
        shutdown.occupied(now, false);
        shutdown.occupied(now + 9 * SECOND, false);
        assert_eq!(shutdown.next_look(), Some(now + 12 * SECOND));
        assert_eq!(shutdown.reason(now + 11 * SECOND), None);
        assert!(shutdown.reason(now + 12 * SECOND).is_some());

        shutdown.occupied(now + 12 * SECOND, true);
        shutdown.occupied(now + 13 * SECOND, false);
        assert_eq!(shutdown.reason(now + 14 * SECOND), None, "it was busy meanwhile");
        shutdown.welcomed(now, Duration::MAX);
        shutdown.occupied(now, false);
        assert!(shutdown.reason(now + 2 * SECOND).is_some(), "no time at all is waited for");
    }
}
