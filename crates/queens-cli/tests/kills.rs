//! Kills real processes at random instants. Totals stay exact, and no accepted count is repeated.
//!
//! ```text
//! cargo test -p queens-cli --test kills -- --nocapture             # a few kills, in seconds
//! cargo test -p queens-cli --test kills -- --nocapture --ignored   # the full run, in two minutes
//! QUEENS_KILL_SEED=7 cargo test ...                            # the same choices again
//! ```

#[path = "support/mod.rs"]
mod support;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use farm::IntervalSet;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use support::Farm;
use support::ledger::{Job, Snapshot};
use support::log::{self, Entry, Line};
use support::process::{Process, wait_until};

#[test]
fn totals_are_exact_after_a_few_kills() {
    kill_and_check(5, 5, 15);
}

#[test]
#[ignore = "takes two minutes: CI runs it"]
fn totals_are_exact_after_fifty_kills_of_each_kind() {
    kill_and_check(50, 50, 19);
}

/// What the coordinator had not synced is lost or torn when it is killed.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "takes minutes: `.ci/nightly processes`"]
fn totals_are_exact_after_two_hundred_power_cuts() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let shim = folder.path().join("lossy.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/lossy.c");
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]).arg(&shim).arg(source);
    assert!(compiler.arg("-ldl").status().expect("a C compiler").success());
    let mut random = StdRng::seed_from_u64(seed());
    let mut lost = 0;
    // The checks of a farm take the longer, the more often it was killed.
    for _ in 0..4 {
        let farm = Farm::new("--lease-ms 50 --lease-ttl-ms 1000 --grace-ms 50", "--report-ms 10");
        let mut chaos = Chaos::start(farm, Some(shim.clone()));
        chaos.kill(&mut random, 50, 5);
        lost += chaos.lost;
        chaos.finish();
    }
    println!("{lost} sectors were lost");
    assert!(lost > 0, "every write was synced before it was killed");
}

/// In the second half, workers send every report again after a few milliseconds, and a job of size
/// `n` is counted by `colours` beside the others.
fn kill_and_check(coordinator_kills: u32, worker_kills: u32, n: u32) {
    let mut random = StdRng::seed_from_u64(seed());
    for (half, resend_ms) in [(0, 30_000), (1, 10)] {
        let share = |kills: u32| (kills + half) / 2;
        let coordinator_options = "--lease-ms 50 --lease-ttl-ms 1000 --grace-ms 50";
        let worker_options = format!("--report-ms 10 --resend-ms {resend_ms}");
        let mut chaos = Chaos::start(Farm::new(coordinator_options, &worker_options), None);
        if half == 1 {
            chaos.farm.submit_by(n, &["--method", "colours"]);
        }
        // Windows cannot stop a process and continue it later.
        if half == 1 && cfg!(unix) {
            chaos.force_a_duplicate(&mut random);
        }
        chaos.kill(&mut random, share(coordinator_kills), share(worker_kills));
        chaos.finish();
    }
}

fn seed() -> u64 {
    let seed = std::env::var("QUEENS_KILL_SEED").ok().map(|seed| seed.parse().expect("a number"));
    let seed = seed.unwrap_or_else(rand::random);
    println!("QUEENS_KILL_SEED={seed}");
    seed
}

const WORKERS: usize = 3;

/// A farm whose processes are killed, and the traces of the processes.
struct Chaos {
    coordinator: Option<Process>,
    workers: Vec<Process>,
    /// The logs of all workers.
    logs: Vec<PathBuf>,
    /// The moments without a coordinator.
    moments: Vec<Moment>,
    /// Keeps what the coordinator has not synced: `support/lossy.c`.
    shim: Option<PathBuf>,
    /// How many sectors of the ledger were lost.
    lost: u64,
    /// The farm is dropped last, because its folder has the logs of the processes.
    farm: Farm,
}

/// A moment between two lives of the coordinator.
struct Moment {
    /// The length of each worker's log.
    log_bytes: Vec<u64>,
    durable: Snapshot,
}

impl Chaos {
    fn start(farm: Farm, shim: Option<PathBuf>) -> Chaos {
        let (workers, logs, moments) = (Vec::new(), Vec::new(), Vec::new());
        let mut chaos = Chaos { coordinator: None, workers, logs, moments, shim, lost: 0, farm };
        chaos.revive();
        chaos
    }

    /// Stops the coordinator for longer than workers wait before they send a report again. Repeats
    /// this until a worker has received a second acknowledgement of the same count.
    fn force_a_duplicate(&mut self, random: &mut StdRng) {
        wait_until("a report to be acknowledged twice", || {
            self.keep_busy(random);
            let coordinator = self.coordinator.as_ref().expect("it runs");
            coordinator.signal("STOP");
            thread::sleep(Duration::from_millis(50));
            coordinator.signal("CONT");
            self.logs.iter().any(|log| duplicates(&log::read(log)) > 0)
        });
    }

    /// Kills the coordinator and the workers these numbers of times, and restarts each. Sometimes a
    /// worker is killed while there is no coordinator.
    fn kill(&mut self, random: &mut StdRng, mut coordinator: u32, mut workers: u32) {
        while coordinator + workers > 0 {
            self.keep_busy(random);
            sleep_up_to(random, 400);
            let both = random.random_bool(0.2) && coordinator > 0 && workers > 0;
            let first = random.random_range(0..coordinator + workers) < coordinator;
            if first || both {
                self.coordinator.take().expect("it runs").kill();
                self.lost += lose_unsynced(self.farm.ledger(), random);
                coordinator -= 1;
            }
            if !first || both {
                self.workers.swap_remove(random.random_range(0..WORKERS)).kill();
                workers -= 1;
            }
            sleep_up_to(random, 100);
            if self.coordinator.is_none() {
                self.note();
            }
            self.revive();
        }
    }

    /// Submits jobs until at least three are running.
    fn keep_busy(&mut self, random: &mut StdRng) {
        for _ in self.farm.snapshot().running()..3 {
            let (n, rows) = (random.random_range(12..=16), random.random_range(3..=5));
            self.farm.submit(n, rows, random.random_range(-1..=1));
        }
    }

    /// Records the durable state while there is no coordinator, so that everything in the logs
    /// comes from an earlier coordinator.
    fn note(&mut self) {
        let bytes = |log: &PathBuf| log.metadata().expect("workers have logs").len();
        let log_bytes = self.logs.iter().map(bytes).collect();
        self.moments.push(Moment { log_bytes, durable: self.farm.snapshot() });
    }

    fn revive(&mut self) {
        while self.workers.len() < WORKERS {
            let worker = self.farm.start_worker();
            self.logs.push(worker.log().into());
            self.workers.push(worker);
        }
        self.coordinator.get_or_insert_with(|| {
            let mut coordinator = self.farm.coordinator();
            if let Some(shim) = &self.shim {
                let file = self.farm.ledger().canonicalize();
                let file = file.unwrap_or_else(|_| self.farm.ledger().into());
                coordinator.env("LD_PRELOAD", shim).env("LOSSY_FILE", file);
            }
            self.farm.serve(&mut coordinator)
        });
    }

    /// Waits until all jobs are done, stops every process, and checks the traces.
    fn finish(mut self) {
        // A range that three killed workers had has failed, as if it had killed them.
        for (id, job) in self.farm.snapshot().jobs {
            if job.state == "running" {
                self.farm.client(&["resume", &id.to_string()]);
            }
        }
        // On a slow machine, a job may take longer than a test waits, but not a single count.
        let mut before = self.farm.snapshot();
        while before.running() > 0 {
            // Reading a large ledger all the time would slow down the farm.
            thread::sleep(Duration::from_millis(500));
            let mut now = Snapshot::default();
            wait_until("another count to be accepted", || {
                now = self.farm.snapshot();
                now.accepted() > before.accepted() || now.running() == 0
            });
            before = now;
        }
        self.workers.drain(..).for_each(Process::stop);
        self.coordinator.take().expect("it runs").stop();
        self.note();

        let logs: Vec<Vec<Line>> = self.logs.iter().map(|log| log::read(log)).collect();
        let last = &self.moments.last().expect("there is an end").durable;
        last.jobs.values().for_each(assert_exact);
        assert_eq!(last.disputes, 0, "nobody counts wrongly");
        for moment in &self.moments {
            for (id, job) in &moment.durable.jobs {
                last.jobs[id].assert_keeps(job);
            }
            assert_acknowledged_is_durable(moment, &logs);
            logs.iter().flatten().for_each(|line| assert_not_leased_again(&line.entry, moment));
        }
        logs.iter().for_each(|log| assert_not_leased_after_acknowledgement(log));
        let duplicates: usize = logs.iter().map(|log| duplicates(log)).sum();
        println!("{} jobs are exact; {duplicates} duplicates", last.jobs.len());
    }
}

/// Gives sectors of a ledger and its log their old content back by chance, as far as they were not
/// synced. Returns how many these are.
fn lose_unsynced(ledger: &Path, random: &mut StdRng) -> u64 {
    const SECTOR: usize = 512;
    let mut lost = 0;
    for suffix in ["", "-wal"] {
        let file = PathBuf::from(format!("{}{suffix}", ledger.display()));
        let undo = format!("{}.undo", file.display());
        let Ok(records) = std::fs::read(&undo) else { continue };
        std::fs::remove_file(undo).expect("it is there");
        let (mut sectors, mut length, mut rest) = (BTreeMap::new(), None, &records[..]);
        // A record that is not whole was not followed by its write.
        while let Some((head, tail)) = rest.split_at_checked(24) {
            let number = |at: usize| {
                u64::from_le_bytes(head[at..at + 8].try_into().expect("these are eight bytes"))
            };
            let Some((old, tail)) = tail.split_at_checked(number(16) as usize) else { break };
            rest = tail;
            length.get_or_insert(number(8));
            for (sector, old) in old.chunks(SECTOR).enumerate() {
                sectors.entry(number(0) + (sector * SECTOR) as u64).or_insert(old);
            }
        }
        let (Some(length), Ok(mut file)) = (length, File::options().write(true).open(file)) else {
            continue;
        };
        for (at, old) in sectors {
            if random.random_bool(0.5) {
                file.seek(SeekFrom::Start(at)).expect("it is a file");
                file.write_all(old).expect("it can be written");
                lost += 1;
            }
        }
        // What was appended is lost from some place on.
        let now = file.metadata().expect("it is open").len();
        if now > length {
            let kept = random.random_range(length..=now);
            lost += (now - kept).div_ceil(SECTOR as u64);
            file.set_len(kept).expect("it can be cut");
        }
    }
    lost
}

fn sleep_up_to(random: &mut StdRng, ms: u64) {
    thread::sleep(Duration::from_millis(random.random_range(0..=ms)));
}

/// The number of reports that were sent again although they had been accepted.
fn duplicates(log: &[Line]) -> usize {
    log.iter().filter(|line| is_acknowledged_as(&line.entry, &["Agreed"])).count()
}

fn is_acknowledged_as(entry: &Entry, verdicts: &[&str]) -> bool {
    matches!(entry, Entry::Acknowledged { verdict, .. } if verdicts.contains(&verdict.as_str()))
}

fn assert_exact(job: &Job) {
    let expected = testkit::vectors::total(job.n);
    assert!(job.is_tiled(), "every task is accepted once: {job:?}");
    assert_eq!((job.sum(), job.state.as_str()), (expected, "done"));
    assert_eq!(job.total, Some(expected.to_string()));
}

/// Asserts that the ledger holds every count that was acknowledged to a worker as accepted.
fn assert_acknowledged_is_durable(moment: &Moment, logs: &[Vec<Line>]) {
    let accepted: BTreeMap<u64, IntervalSet> =
        moment.durable.jobs.iter().map(|(&id, job)| (id, job.accepted())).collect();
    // Workers that started later have no length here, because they had no log yet.
    for (log, &bytes) in logs.iter().zip(&moment.log_bytes) {
        for Line { entry, .. } in log.iter().take_while(|line| line.end <= bytes) {
            let Entry::Acknowledged { job, range, .. } = entry else { continue };
            assert!(is_acknowledged_as(entry, &["Accepted", "Agreed", "Superseded"]), "{entry:?}");
            let durable =
                is_acknowledged_as(entry, &["Superseded"]) || accepted[job].contains(*range);
            assert!(durable, "acknowledged, and lost: {entry:?}");
        }
    }
}

/// Asserts that a coordinator does not lease ranges that were durable when it started.
fn assert_not_leased_again(entry: &Entry, earlier: &Moment) {
    let Entry::Lease { job, range, epoch } = entry else { return };
    if earlier.durable.epoch < *epoch
        && let Some(job) = earlier.durable.jobs.get(job)
    {
        assert!(!job.accepted().intersects(*range), "counted again: {entry:?}");
    }
}

/// Asserts that ranges are not leased again in a session after their acknowledgement.
fn assert_not_leased_after_acknowledgement(log: &[Line]) {
    let mut acknowledged: BTreeMap<u64, IntervalSet> = BTreeMap::new();
    for Line { entry, .. } in log {
        match entry {
            Entry::Acknowledged { job, range, .. } => {
                if is_acknowledged_as(entry, &["Accepted", "Agreed"]) {
                    acknowledged.entry(*job).or_default().insert(*range);
                }
            }
            Entry::Lease { job, range, .. } => {
                let again = acknowledged.get(job).is_some_and(|known| known.intersects(*range));
                assert!(!again, "counted again after its acknowledgement: {entry:?}");
            }
        }
    }
}
