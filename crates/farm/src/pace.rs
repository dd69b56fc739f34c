//! How often the workers of a large farm report: all of them together about 200 times a second,
//! whatever their number.
//!
//! ```text
//!   workers      report every   leases take        in jobs of weeks   and end without news after
//!     up to 200  second         10 s, as always    64 s               a minute, as always
//!         2,000  10 s           20 s               11 min             a minute
//!        20,000  100 s          200 s              2 h                5 min
//!       120,000  10 min         20 min             11 h               30 min
//! ```
//!
//! The reports about one lease become one row of the ledger (`rules/join.rs` in crate `ledger`). A
//! job that takes long therefore has longer leases, so that it has fewer rows. A worker gets new
//! tasks when half of what it should hold is left, so that one lease is about half as long as the
//! table says and 32 reports become one row.
//!
//! A worker that reports less often loses more if it is killed, so that small farms report often.
//! The interval stays as it is until it is wrong by more than a quarter, so that it is not sent
//! anew whenever a worker comes or goes.

use crate::Config;

/// How long finished parts of a lease are gathered before they are reported, at least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    report_ms: u64,
}

impl Pace {
    /// Each worker of a farm makes the interval longer by this, so that all workers together send
    /// 200 reports a second.
    const PER_WORKER_MS: u64 = 5;
    /// Workers report no more often than this, unless they are configured otherwise.
    const LEAST_MS: u64 = 1_000;
    /// How many reports a worker sends while it counts what it should hold of a job that takes
    /// long.
    const REPORTS: u64 = 64;
    /// The longest interval. If a farm is so large that it would need a longer one, it reports more
    /// often than 200 times a second.
    const LONGEST_MS: u64 = 600_000;

    /// The pace of a farm of this many workers.
    pub fn of(workers: usize) -> Pace {
        let report_ms = (workers as u64).saturating_mul(Self::PER_WORKER_MS);
        Pace { report_ms: report_ms.min(Self::LONGEST_MS) }
    }

    /// The pace with this interval, ms. `None` if it is longer than that of any farm.
    pub fn from_ms(report_ms: u64) -> Option<Pace> {
        (report_ms <= Self::LONGEST_MS).then_some(Pace { report_ms })
    }

    /// The least time between two reports of a lease, ms.
    pub fn report_ms(self) -> u64 {
        self.report_ms
    }

    /// The pace with this many workers. It stays the same unless it is wrong by more than a
    /// quarter.
    #[must_use]
    pub(crate) fn with(self, workers: usize) -> Pace {
        let right = Pace::of(workers);
        let (reported, wanted) = (self.report_ms, right.report_ms);
        let is_near = wanted >= reported - reported / 4 && wanted <= reported + reported / 4;
        if is_near { self } else { right }
    }

    /// How long a worker should be busy with one lease, ms: long enough for two reports.
    pub(crate) fn lease_ms(self, config: &Config) -> u64 {
        config.lease_ms.max(2 * self.report_ms)
    }

    /// How long a worker should be busy with what it holds of a job that takes long, ms: long
    /// enough for many reports, which the ledger keeps as one row.
    pub(crate) fn long_lease_ms(self, config: &Config) -> u64 {
        let reports = Self::REPORTS * self.report_ms.max(Self::LEAST_MS);
        self.lease_ms(config).max(reports)
    }

    /// How long a lease lives without a report, ms.
    pub(crate) fn lease_ttl_ms(self, config: &Config) -> u64 {
        config.lease_ttl_ms.max(3 * self.report_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_farm_of_any_size_reports_about_200_times_a_second() {
        for workers in [1, 200, 2_000, 20_000, 120_000] {
            let seconds = Pace::of(workers).report_ms() as f64 / 1e3;
            assert_eq!(workers as f64 / seconds, 200.0, "{workers}");
        }
        assert_eq!(Pace::of(usize::MAX).report_ms(), 600_000);
        assert_eq!(Pace::of(0).report_ms(), 0);
    }

    #[test]
    fn small_farms_lease_as_configured_and_large_ones_for_longer() {
        let config = Config::default();
        let leased = |workers| {
            let pace = Pace::of(workers);
            [pace.lease_ms(&config), pace.long_lease_ms(&config), pace.lease_ttl_ms(&config)]
        };
        assert_eq!(leased(1), [10_000, 64_000, 60_000]);
        assert_eq!(leased(1_000), [10_000, 320_000, 60_000], "64 reports of a job that takes long");
        assert_eq!(leased(20_000), [200_000, 6_400_000, 300_000]);
        let config = Config { lease_ms: 100_000, ..config };
        assert_eq!(Pace::of(1).long_lease_ms(&config), 100_000, "never shorter than others");
    }

    #[test]
    fn a_farm_that_grows_and_shrinks_is_seldom_told_and_never_far_from_right() {
        let (mut pace, mut reported) = (Pace::default(), 0);
        let sizes = (0..20_000).chain((0..20_000).rev());
        for workers in sizes {
            let next = pace.with(workers);
            reported += u32::from(next != pace);
            pace = next;
            let (is, right) = (pace.report_ms() as f64, Pace::of(workers).report_ms() as f64);
            assert!((is - right).abs() <= right.max(is) / 4.0, "{is} for {workers}");
        }
        assert!((40..100).contains(&reported), "{reported} times");
        assert_eq!(Pace::of(100).with(110), Pace::of(100));
    }
}
