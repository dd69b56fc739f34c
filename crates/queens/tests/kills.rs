//! Real processes, killed at random instants: totals stay exact, and nothing that was accepted is
//! counted again.
//!
//! ```text
//! cargo test -p queens --test kills -- --nocapture             # a few kills, in seconds
//! cargo test -p queens --test kills -- --nocapture --ignored   # the full run, in two minutes
//! QUEENS_KILL_SEED=7 cargo test ...                            # the same choices again
//! ```

#[path = "support/mod.rs"]
mod support;
#[path = "../../board/tests/vectors/mod.rs"]
mod vectors;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use farm::IntervalSet;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use support::Farm;
use support::ledger::{Job, Snapshot};
use support::log::{Entry, entries};
use support::process::{Process, wait_until};

#[test]
fn totals_are_exact_after_a_few_kills() {
    kill_and_check(5, 5);
}

#[test]
#[ignore = "takes two minutes: CI runs it"]
fn totals_are_exact_after_fifty_kills_of_coordinator_and_workers() {
    kill_and_check(50, 50);
}

/// Half of the kills happen while every report is sent many times.
fn kill_and_check(coordinator_kills: u32, worker_kills: u32) {
    let seed = std::env::var("QUEENS_KILL_SEED").ok().map(|seed| seed.parse().expect("a number"));
    let seed = seed.unwrap_or_else(rand::random);
    println!("QUEENS_KILL_SEED={seed}");
    let mut random = StdRng::seed_from_u64(seed);
    for (half, resend_ms) in [(0, 30_000), (1, 1)] {
        let share = |kills: u32| (kills + half) / 2;
        let coordinator_options = "--lease-ms 50 --lease-ttl-ms 1000 --grace-ms 50";
        let worker_options = format!("--report-ms 10 --resend-ms {resend_ms}");
        let mut chaos = Chaos::start(Farm::new(coordinator_options, &worker_options));
        chaos.kill(&mut random, share(coordinator_kills), share(worker_kills));
        let agreed = chaos.finish().check();
        assert!(resend_ms > 1 || agreed > 0, "no report was sent twice");
    }
}

const WORKERS: usize = 3;

/// A farm under fire.
struct Chaos {
    farm: Farm,
    begun: Instant,
    coordinator: Option<Process>,
    workers: Vec<Process>,
    kills: Kills,
    evidence: Evidence,
}

#[derive(Default)]
struct Kills {
    coordinator: u32,
    workers: u32,
}

/// What is known afterwards.
#[derive(Default)]
struct Evidence {
    /// What was durable after each kill of the coordinator, and at the end.
    snapshots: Vec<Snapshot>,
    /// The logs of all workers.
    logs: Vec<PathBuf>,
}

impl Chaos {
    fn start(farm: Farm) -> Chaos {
        let mut chaos = Chaos {
            farm,
            begun: Instant::now(),
            coordinator: None,
            workers: Vec::new(),
            kills: Kills::default(),
            evidence: Evidence::default(),
        };
        chaos.revive();
        chaos
    }

    /// Kills the coordinator and the workers so many times, and starts each again. Now and then a
    /// worker dies while there is no coordinator.
    fn kill(&mut self, random: &mut StdRng, mut coordinator: u32, mut workers: u32) {
        while coordinator + workers > 0 {
            self.keep_busy(random);
            sleep_up_to(random, 400);
            let both = random.random_bool(0.2) && coordinator > 0 && workers > 0;
            let first = random.random_range(0..coordinator + workers) < coordinator;
            if first || both {
                self.kill_coordinator();
                coordinator -= 1;
            }
            if !first || both {
                self.kill_worker(random);
                workers -= 1;
            }
            sleep_up_to(random, 100);
            self.revive();
        }
    }

    /// Three jobs at least are always under way.
    fn keep_busy(&mut self, random: &mut StdRng) {
        for _ in self.farm.snapshot().running()..3 {
            let (n, rows) = (random.random_range(12..=16), random.random_range(3..=5));
            self.farm.submit(n, rows, random.random_range(-1..=1));
        }
    }

    fn kill_coordinator(&mut self) {
        self.coordinator.take().expect("it runs").kill();
        self.evidence.snapshots.push(self.farm.snapshot());
        self.kills.coordinator += 1;
    }

    fn kill_worker(&mut self, random: &mut StdRng) {
        self.workers.swap_remove(random.random_range(0..WORKERS)).kill();
        self.kills.workers += 1;
    }

    fn revive(&mut self) {
        while self.workers.len() < WORKERS {
            let worker = self.farm.start_worker();
            self.evidence.logs.push(worker.log().into());
            self.workers.push(worker);
        }
        self.coordinator.get_or_insert_with(|| self.farm.start_coordinator());
    }

    /// Lets the jobs end, and stops everything.
    fn finish(mut self) -> Finished {
        wait_until("all jobs to be done", || self.farm.snapshot().running() == 0);
        self.workers.into_iter().for_each(Process::stop);
        self.coordinator.expect("it runs").stop();
        self.evidence.snapshots.push(self.farm.snapshot());
        let (Kills { coordinator, workers }, elapsed) = (self.kills, self.begun.elapsed());
        println!("{coordinator} kills of the coordinator, {workers} of workers in {elapsed:.1?}");
        Finished { evidence: self.evidence, _farm: self.farm }
    }
}

fn sleep_up_to(random: &mut StdRng, ms: u64) {
    thread::sleep(Duration::from_millis(random.random_range(0..=ms)));
}

/// The end of it, with the files still there.
struct Finished {
    evidence: Evidence,
    _farm: Farm,
}

impl Finished {
    /// Returns how many reports were sent again although they had been accepted.
    fn check(self) -> usize {
        let Evidence { snapshots, logs } = &self.evidence;
        let last = snapshots.last().expect("the last one is always taken");
        last.jobs.values().for_each(assert_exact);
        assert_eq!(last.disputes, 0, "nobody counts wrongly");
        snapshots.iter().for_each(|earlier| assert_kept(earlier, last));
        let entries: Vec<Vec<Entry>> = logs.iter().map(|log| entries(log)).collect();
        entries.iter().for_each(|log| assert_acknowledged_is_durable(log, last));
        entries.iter().for_each(|log| assert_not_lent_after_acknowledgement(log));
        entries.iter().flatten().for_each(|entry| assert_not_lent_once_durable(entry, snapshots));

        let agreed = |entry: &&Entry| matches!(entry, Entry::Acknowledged { verdict, .. } if verdict == "Agreed");
        let agreed = entries.iter().flatten().filter(agreed).count();
        let rows: usize = last.jobs.values().map(|job| job.rows.len()).sum();
        println!("{} jobs in {rows} rows are exact; {agreed} duplicates", last.jobs.len());
        agreed
    }
}

fn assert_exact(job: &Job) {
    let expected = vectors::total(job.n);
    assert!(job.is_tiled(), "every task is accepted once: {job:?}");
    assert_eq!((job.sum(), job.state.as_str()), (expected, "done"));
    assert_eq!(job.total, Some(expected.to_string()));
}

/// What was durable at any time still is, under the same lease.
fn assert_kept(earlier: &Snapshot, last: &Snapshot) {
    for (id, job) in &earlier.jobs {
        for (first, row) in &job.rows {
            assert_eq!(last.jobs[id].rows.get(first), Some(row), "job {id}");
        }
    }
}

fn assert_acknowledged_is_durable(log: &[Entry], last: &Snapshot) {
    for entry in log {
        let Entry::Acknowledged { job, range, verdict } = entry else { continue };
        assert!(matches!(verdict.as_str(), "Accepted" | "Agreed" | "Superseded"), "{entry:?}");
        assert!(last.jobs[job].accepted().contains(*range), "{entry:?}");
    }
}

/// A session keeps the order in which its coordinator decided.
fn assert_not_lent_after_acknowledgement(log: &[Entry]) {
    let mut acknowledged: BTreeMap<u64, IntervalSet> = BTreeMap::new();
    for entry in log {
        match entry {
            Entry::Acknowledged { job, range, verdict } if verdict != "Superseded" => {
                acknowledged.entry(*job).or_default().insert(*range);
            }
            Entry::Loan { job, range, .. } => {
                let again = acknowledged.get(job).is_some_and(|known| known.intersects(*range));
                assert!(!again, "counted again after its acknowledgement: {entry:?}");
            }
            Entry::Acknowledged { .. } => {}
        }
    }
}

/// A coordinator lends nothing that was durable when it began.
fn assert_not_lent_once_durable(entry: &Entry, snapshots: &[Snapshot]) {
    let Entry::Loan { job, range, epoch } = entry else { return };
    let before = snapshots.iter().filter(|snapshot| snapshot.epoch < *epoch);
    for durable in before.filter_map(|snapshot| snapshot.jobs.get(job)) {
        assert!(!durable.accepted().intersects(*range), "counted again: {entry:?}");
    }
}
