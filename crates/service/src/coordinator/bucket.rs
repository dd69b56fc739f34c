//! Points that time earns, up to a bound.

use std::time::Duration;

use tokio::time::Instant;

/// An account of points that earns a fixed number a second. It may be overdrawn.
#[derive(Debug)]
pub(super) struct Bucket {
    points: i64,
    /// The time up to which it has earned.
    at: Instant,
    per_second: i64,
    most: i64,
}

impl Bucket {
    /// A bucket that has `points` now, earns `per_second`, and keeps at most `most`.
    pub(super) fn new(points: i64, per_second: i64, most: i64, now: Instant) -> Bucket {
        Bucket { points, at: now, per_second, most }
    }

    /// The points that it has at this time.
    pub(super) fn points(&mut self, now: Instant) -> i64 {
        let time = now.duration_since(self.at).as_secs_f64();
        let earned = (self.per_second as f64 * time) as i64;
        // A fraction of a point is not lost: it counts from `at` on the next time.
        self.at += Duration::from_secs_f64(earned as f64 / self.per_second as f64);
        self.add(earned);
        self.points
    }

    /// Adds points.
    pub(super) fn add(&mut self, points: i64) {
        self.points = self.points.saturating_add(points).min(self.most);
    }

    /// Takes points away, more than there are if need be.
    pub(super) fn spend(&mut self, points: i64) {
        self.points = self.points.saturating_sub(points);
    }

    /// How long it takes until it has `points`.
    pub(super) fn time_until(&mut self, points: i64, now: Instant) -> Duration {
        let missing = points.saturating_sub(self.points(now)).max(0);
        Duration::from_secs_f64(missing as f64 / self.per_second as f64)
    }

    /// Whether it has as many points as it can keep.
    pub(super) fn is_full(&mut self, now: Instant) -> bool {
        self.points(now) >= self.most
    }
}
