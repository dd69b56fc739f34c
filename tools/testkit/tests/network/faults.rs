//! What goes wrong, when, and for how long.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use turmoil::Sim;

use super::places::Places;
use super::tally::Tally;

/// What goes wrong.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// Something befalls the link between two hosts.
    Link(LinkFault, String, String),
    /// The host's process dies, and another one takes its place. What is on its disk stays.
    Crash(String),
}

/// What befalls a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkFault {
    /// Nothing passes: what is sent is lost.
    Partition,
    /// What the first of its hosts sends is lost.
    OneWay,
    /// Nothing arrives until the link is released; then everything does.
    Hold,
    /// Every message takes seconds.
    Latency,
}

/// The client's host.
pub(super) const CLIENT: &str = "client";

/// One fault. Times are since the beginning.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    pub(super) begins: Duration,
    pub(super) ends: Duration,
}

/// The time in which faults begin and end, milliseconds.
pub(super) const TROUBLE_MS: std::ops::Range<u64> = 2_000..32_000;

impl Fault {
    pub(super) fn draw(random: &mut StdRng, workers: &[String], places: &[&str]) -> Fault {
        let begins = random.random_range(TROUBLE_MS);
        // Half of them are short: over before anybody's patience is.
        let longest = if random.random_bool(0.5) { 1_000 } else { 25_000 };
        let ends = (begins + random.random_range(50..longest)).min(TROUBLE_MS.end);
        let kind = match random.random_range(0..7) {
            0 => Kind::Crash(workers.choose(random).expect("there are workers").clone()),
            1 => Kind::Crash(place(random, places)),
            _ => Kind::draw_link(random, workers, places),
        };
        let [begins, ends] = [begins, ends].map(Duration::from_millis);
        Fault { kind, begins, ends }
    }

    pub(super) fn begin(&self, sim: &mut Sim<'_>) {
        match &self.kind {
            Kind::Link(LinkFault::Partition, one, other) => {
                sim.partition(one.as_str(), other.as_str())
            }
            Kind::Link(LinkFault::OneWay, from, to) => {
                sim.partition_oneway(from.as_str(), to.as_str());
            }
            Kind::Link(LinkFault::Hold, one, other) => sim.hold(one.as_str(), other.as_str()),
            Kind::Link(LinkFault::Latency, one, other) => set_latency(sim, one, other, SLOW_MS),
            Kind::Crash(host) => sim.crash(host.as_str()),
        }
    }

    /// Mends it. Faults may overlap: the first that ends mends those like it.
    pub(super) fn end(&self, sim: &mut Sim<'_>) {
        match &self.kind {
            Kind::Link(LinkFault::Partition | LinkFault::OneWay, one, other) => {
                sim.repair(one.as_str(), other.as_str());
            }
            Kind::Link(LinkFault::Hold, one, other) => sim.release(one.as_str(), other.as_str()),
            Kind::Link(LinkFault::Latency, one, other) => set_latency(sim, one, other, QUICK_MS),
            Kind::Crash(host) => revive(sim, host),
        }
    }

    /// Counts it when it begins.
    pub(super) fn count(&self, tally: &mut Tally, places: &Places) {
        let place = |host: &str| places.iter().find(|place| place.name == host);
        let count = match &self.kind {
            Kind::Crash(host) => match place(host) {
                None => &mut tally.worker_crashes,
                Some(place) if place.is_serving() => &mut tally.coordinator_crashes,
                Some(_) => &mut tally.standby_crashes,
            },
            Kind::Link(LinkFault::Hold, ..) => &mut tally.holds,
            Kind::Link(LinkFault::Latency, ..) => &mut tally.latencies,
            Kind::Link(LinkFault::OneWay, ..) => &mut tally.one_way_partitions,
            Kind::Link(LinkFault::Partition, one, other) => {
                match [one, other].map(|host| place(host)) {
                    [Some(_), Some(_)] => &mut tally.standby_partitions,
                    _ if [one, other].iter().any(|host| *host == CLIENT) => {
                        &mut tally.client_partitions
                    }
                    _ => &mut tally.worker_partitions,
                }
            }
        };
        *count += 1;
    }
}

impl Kind {
    /// A fault of a link to one of the places: from a worker, from the client, or from another place.
    fn draw_link(random: &mut StdRng, workers: &[String], places: &[&str]) -> Kind {
        let faults = [
            LinkFault::Partition,
            LinkFault::OneWay,
            LinkFault::OneWay,
            LinkFault::Hold,
            LinkFault::Latency,
        ];
        let fault = *faults.choose(random).expect("there are faults");
        let mut ends = match (random.random_range(0..6), places) {
            (0, _) => [CLIENT.into(), place(random, places)],
            (1 | 2, [_, _, ..]) => two_places(random, places),
            _ => {
                [workers.choose(random).expect("there are workers").clone(), place(random, places)]
            }
        };
        if random.random_bool(0.5) {
            ends.reverse();
        }
        let [one, other] = ends;
        Kind::Link(fault, one, other)
    }
}

fn two_places(random: &mut StdRng, places: &[&str]) -> [String; 2] {
    places.sample_array(random).expect("there are two at least").map(String::from)
}

fn place(random: &mut StdRng, places: &[&str]) -> String {
    (*places.choose(random).expect("there are places")).into()
}

/// How long a message takes.
pub(super) const QUICK_MS: u64 = 20;
const SLOW_MS: u64 = 3_000;

fn set_latency(sim: &Sim<'_>, one: &str, other: &str, ms: u64) {
    sim.set_link_latency(one, other, Duration::from_millis(ms));
}

/// Starts the host's process if none is there.
pub(super) fn revive(sim: &mut Sim<'_>, host: &str) {
    if !sim.is_host_running(host) {
        sim.bounce(host);
    }
}
