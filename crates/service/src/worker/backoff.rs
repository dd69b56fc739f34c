//! The time without a coordinator: pauses between attempts, and when they are logged.

use std::time::Duration;

use tokio::time::Instant;

/// The shortest and the longest pause between attempts to connect. Pauses double from the first to
/// the second value. The actual pause is a random time between half and all of that, so that a
/// thousand workers do not return at once.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(4));
/// How often a worker says that it still has no coordinator.
const REMINDER: Duration = Duration::from_secs(60);

/// The attempts to find a coordinator since the first one that failed.
#[derive(Debug)]
pub(super) struct Backoff {
    pause: Duration,
    reported: Option<Instant>,
}

impl Backoff {
    pub(super) fn new() -> Backoff {
        Backoff { pause: BACKOFF.0, reported: None }
    }

    /// A session ended after the time `lasted`. If it was longer than the present pause, the next
    /// pause is the shortest one again. If it was longer than the longest pause, the outage was
    /// over, and the next failure is logged at once. A coordinator that ends sessions sooner would
    /// fill the log.
    pub(super) fn interrupted(&mut self, lasted: Duration) {
        if lasted > self.pause {
            self.pause = BACKOFF.0;
        }
        if lasted > BACKOFF.1 {
            self.reported = None;
        }
    }

    /// An attempt has failed, or a session was lost, for this reason. Returns how long to wait
    /// before the next attempt. Warns at the first time, and then once a minute.
    pub(super) fn next_pause(&mut self, now: Instant, reason: &str) -> Duration {
        if self.reported.is_none_or(|reported| now.duration_since(reported) >= REMINDER) {
            self.reported = Some(now);
            tracing::warn!(reason, "no coordinator: trying again until one answers");
        } else {
            tracing::debug!(reason, "no coordinator");
        }
        let pause = self.pause.mul_f64(rand::random_range(0.5..1.0));
        self.pause = (self.pause * 2).min(BACKOFF.1);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pauses of attempts that all fail, and how often they are logged.
    fn fail(backoff: &mut Backoff, now: &mut Instant, attempts: usize) -> (Vec<Duration>, usize) {
        let (mut pauses, mut reported) = (Vec::new(), 0);
        for _ in 0..attempts {
            let before = backoff.reported;
            let pause = backoff.next_pause(*now, "nobody answers");
            reported += usize::from(backoff.reported != before);
            pauses.push(pause);
            *now += pause;
        }
        (pauses, reported)
    }

    #[test]
    fn pauses_grow_and_an_outage_is_logged_once_and_then_every_minute() {
        let (mut backoff, mut now) = (Backoff::new(), Instant::now());
        let begun = now;
        let (pauses, reported) = fail(&mut backoff, &mut now, 5);
        assert_eq!(reported, 1);
        assert!(pauses[0] <= BACKOFF.0 && pauses[4] >= 8 * BACKOFF.0, "{pauses:?}");

        let (pauses, reported) = fail(&mut backoff, &mut now, 100);
        assert!(pauses.iter().all(|&pause| pause <= BACKOFF.1), "{pauses:?}");
        let minutes = now.duration_since(begun).as_secs() / 60;
        assert!(
            (1..=minutes).contains(&(reported as u64)),
            "{reported} times in {minutes} minutes"
        );
    }

    #[test]
    fn sessions_that_end_at_once_are_no_news_and_long_ones_are() {
        let (mut backoff, mut now) = (Backoff::new(), Instant::now());
        fail(&mut backoff, &mut now, 1);
        backoff.interrupted(Duration::from_millis(300));
        let (pauses, reported) = fail(&mut backoff, &mut now, 1);
        assert_eq!(reported, 0);
        assert!(pauses[0] <= BACKOFF.0, "but the next attempt comes soon");
        backoff.interrupted(Duration::from_secs(5));
        assert_eq!(fail(&mut backoff, &mut now, 1).1, 1);
    }
}
