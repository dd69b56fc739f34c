//! What goes wrong, when, and for how long.

use std::fmt;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use turmoil::Sim;

use super::hosts::COORDINATOR;

/// A kind of fault. All but the restart of the coordinator befall one worker or its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Nothing passes: what is sent is lost.
    Partition,
    /// What the worker sends is lost.
    DeafCoordinator,
    /// What the coordinator sends is lost.
    DeafWorker,
    /// Nothing arrives until the link is released; then everything does.
    Hold,
    /// Every message takes seconds.
    Latency,
    /// The worker dies, and another one takes its place.
    WorkerCrash,
    /// The coordinator dies, and comes back with its ledger.
    CoordinatorCrash,
}

impl Kind {
    const ALL: [Kind; 7] = [
        Kind::Partition,
        Kind::DeafCoordinator,
        Kind::DeafWorker,
        Kind::Hold,
        Kind::Latency,
        Kind::WorkerCrash,
        Kind::CoordinatorCrash,
    ];
}

/// One fault. Times are since the beginning.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    kind: Kind,
    worker: String,
    pub(super) begins: Duration,
    pub(super) ends: Duration,
}

/// The time in which faults begin and end, milliseconds.
pub(super) const TROUBLE_MS: std::ops::Range<u64> = 2_000..32_000;

impl Fault {
    pub(super) fn draw(random: &mut StdRng, workers: &[String]) -> Fault {
        let begins = random.random_range(TROUBLE_MS);
        // Half of them are short: over before anybody's patience is.
        let longest = if random.random_bool(0.5) { 1_000 } else { 25_000 };
        let ends = (begins + random.random_range(50..longest)).min(TROUBLE_MS.end);
        Fault {
            kind: *Kind::ALL.choose(random).expect("there are kinds"),
            worker: workers.choose(random).expect("there are workers").clone(),
            begins: Duration::from_millis(begins),
            ends: Duration::from_millis(ends),
        }
    }

    pub(super) fn begin(&self, sim: &mut Sim<'_>) {
        let worker = self.worker.as_str();
        match self.kind {
            Kind::Partition => sim.partition(worker, COORDINATOR),
            Kind::DeafCoordinator => sim.partition_oneway(worker, COORDINATOR),
            Kind::DeafWorker => sim.partition_oneway(COORDINATOR, worker),
            Kind::Hold => sim.hold(worker, COORDINATOR),
            Kind::Latency => set_latency(sim, worker, SLOW_MS),
            Kind::WorkerCrash => sim.crash(worker),
            Kind::CoordinatorCrash => sim.crash(COORDINATOR),
        }
    }

    /// Mends it. Faults may overlap: the first that ends mends those like it.
    pub(super) fn end(&self, sim: &mut Sim<'_>) {
        let worker = self.worker.as_str();
        match self.kind {
            Kind::Partition | Kind::DeafCoordinator | Kind::DeafWorker => {
                sim.repair(worker, COORDINATOR);
            }
            Kind::Hold => sim.release(worker, COORDINATOR),
            Kind::Latency => set_latency(sim, worker, QUICK_MS),
            Kind::WorkerCrash => revive(sim, worker),
            Kind::CoordinatorCrash => revive(sim, COORDINATOR),
        }
    }
}

/// How long a message takes.
pub(super) const QUICK_MS: u64 = 20;
const SLOW_MS: u64 = 3_000;

fn set_latency(sim: &Sim<'_>, worker: &str, ms: u64) {
    sim.set_link_latency(worker, COORDINATOR, Duration::from_millis(ms));
}

fn revive(sim: &mut Sim<'_>, host: &str) {
    if !sim.is_host_running(host) {
        sim.bounce(host);
    }
}

/// How many faults began, by kind.
#[derive(Debug, Default)]
pub(super) struct Tally([u64; Kind::ALL.len()]);

impl Tally {
    pub(super) fn count(&mut self, fault: &Fault) {
        self.0[fault.kind as usize] += 1;
    }

    pub(super) fn add(&mut self, other: &Tally) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, fired)| *sum += fired);
    }

    pub(super) fn has_every_kind(&self) -> bool {
        self.0.iter().all(|&fired| fired > 0)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = Kind::ALL.iter().zip(self.0);
        let kinds: Vec<String> = kinds.map(|(kind, fired)| format!("{kind:?} {fired}")).collect();
        f.write_str(&kinds.join(", "))
    }
}
