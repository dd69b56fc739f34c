//! The simulated world, which handles one event after the other.

use std::collections::BTreeMap;

use farm::{Farm, RequestId};
use testkit::{Random, mix};

use crate::agenda::{Agenda, Happening};
use crate::coordinator::Clock;
use crate::coverage::Coverage;
use crate::disk::Disk;
use crate::ledger::Ledger;
use crate::model::Model;
use crate::network::{Network, Via};
use crate::scenario::{ClientRequest, Scenario};
use crate::truth::Truths;
use crate::worker::Worker;

/// One of this many worlds has its ledger in a file.
const FILE: u64 = 10;

/// One of this many worlds has long tasks. Of these worlds every second one is calm.
const LONG: u64 = 8;

pub struct World {
    pub traced: bool,
    pub random: Random,
    pub scenario: Scenario,
    pub agenda: Agenda,
    pub network: Network,
    pub ledger: Ledger,
    /// Whether the bundles of its ledger are read in the end.
    pub exports: bool,
    pub model: Model,
    pub truths: Truths,
    pub coverage: Coverage,
    /// `None` while the coordinator is down.
    pub farm: Option<Farm>,
    pub epoch: u64,
    pub clock: Clock,
    pub farm_wakes_at: Option<u64>,
    pub workers: Vec<Worker>,
    /// The latest number of a process of each owner. Numbers identify only the processes of one
    /// owner.
    pub instances: BTreeMap<String, u64>,
    pub requests: u64,
    /// Submissions without an answer. The client repeats them.
    pub unanswered: BTreeMap<RequestId, ClientRequest>,
    pub wishes_to_come: usize,
    /// The time at which the faults ended, in ms.
    pub quiet_since: Option<u64>,
}

impl World {
    pub fn new(seed: u64, traced: bool) -> World {
        World::of(seed, traced, seed % FILE == FILE - 1)
    }

    /// A world whose ledger is in a file and is not replaced.
    pub fn with_file(seed: u64) -> World {
        World::of(seed, false, true)
    }

    fn of(seed: u64, traced: bool, keeps_file: bool) -> World {
        let mut random = Random::new(mix(seed));
        let mut scenario = Scenario::of(&mut random);
        if seed % LONG == LONG - 3 {
            scenario.lengthen(&mut random, seed % (2 * LONG) < LONG);
        }
        scenario.is_copied &= !keeps_file;
        let disk = if keeps_file || scenario.is_copied { Disk::file() } else { Disk::memory() };
        if traced {
            println!("{scenario:#?}");
        }
        let mut world = World {
            traced,
            random,
            agenda: Agenda::default(),
            network: Network::default(),
            ledger: Ledger::new(disk, scenario.league.owners),
            exports: keeps_file,
            model: Model::new(scenario.league.clone(), scenario.is_calm),
            truths: Truths::default(),
            coverage: Coverage::default(),
            farm: None,
            epoch: 0,
            clock: Clock::default(),
            farm_wakes_at: None,
            workers: scenario.workers.iter().cloned().map(Worker::new).collect(),
            instances: BTreeMap::new(),
            requests: 0,
            unanswered: BTreeMap::new(),
            wishes_to_come: 0,
            quiet_since: None,
            scenario,
        };
        world.agenda.plan(0, Happening::FarmStarts);
        for worker in 0..world.workers.len() {
            let at = world.random.below(500);
            world.agenda.plan(at, Happening::WorkerStarts { worker });
        }
        for (at, wanted) in world.scenario.requests.clone() {
            world.ask(at, wanted);
        }
        world.agenda.plan(0, Happening::Fault);
        world.agenda.plan(world.scenario.chaos_ms, Happening::Quiesce);
        world
    }

    /// Runs the whole history.
    ///
    /// # Panics
    ///
    /// Panics if anything is wrong.
    pub fn live(mut self) -> Coverage {
        self.run();
        self.coverage
    }

    pub fn bundles(mut self) -> blake3::Hash {
        self.run();
        crate::bundles::hash(&self.ledger.disk.evidence())
    }

    fn run(&mut self) {
        let is_conspiracy = self.scenario.league.conspires();
        self.coverage.conspiracies += u64::from(is_conspiracy);
        self.coverage.leagues += u64::from(self.scenario.league.owners == 1);
        while !self.is_over() {
            if is_conspiracy
                && self.quiet_since.is_some_and(|since| self.agenda.now > since + 60_000)
            {
                break; // The remaining workers may disagree for ever.
            }
            let happening = self.agenda.next().expect("a world that is not over goes on");
            self.happen(happening);
            self.check_progress();
        }
        if !is_conspiracy {
            self.judge();
        }
        self.coverage.with_file += u64::from(self.ledger.disk.is_file());
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Up { session, serial, message } => self.up(session, serial, message),
            Happening::Down { session, serial, effect } => self.down(session, serial, effect),
            Happening::FarmLosesSession { session } => self.farm_loses(session),
            Happening::WorkerLosesSession { session } => self.worker_loses(session),
            Happening::WorkerStarts { worker } => self.worker_starts(worker),
            Happening::WorkerConnects { worker, life } => self.worker_connects(worker, life),
            Happening::WorkerWakes { worker, life } => self.worker_wakes(worker, life),
            Happening::Counted { worker, life, thread } => self.counted(worker, life, thread),
            Happening::Unhang { worker, life } => self.unhang(worker, life),
            Happening::Fault => self.inject_fault(),
            Happening::FarmWakes { epoch } => self.farm_wakes(epoch),
            Happening::FarmStarts => self.farm_starts(),
            Happening::Commit { epoch } => self.commit(epoch),
            Happening::Answer { epoch } => self.deliver_answer(epoch),
            Happening::Asked { wanted, request } => self.requested(request, wanted),
            Happening::Quiesce => self.quiesce(),
            Happening::Look => self.look(),
        }
    }

    /// Plans a client's request.
    pub fn ask(&mut self, at: u64, wanted: ClientRequest) {
        self.requests += 1;
        self.wishes_to_come += 1;
        self.agenda.plan(at, Happening::Asked { wanted, request: RequestId(self.requests) });
    }

    /// The current time plus a random duration, both ends included.
    pub fn soon(&mut self, least_ms: u64, most_ms: u64) -> u64 {
        self.agenda.now + self.random.scaled(least_ms, most_ms)
    }

    pub fn trace(&self, what: impl FnOnce() -> String) {
        if self.traced {
            println!("{:>8}  {}", self.agenda.now, what());
        }
    }

    /// The network, and the parts of the world that sending needs.
    pub fn network(&mut self) -> (&mut Network, Via<'_>) {
        let via = Via {
            faults: &self.scenario.faults,
            random: &mut self.random,
            agenda: &mut self.agenda,
            coverage: &mut self.coverage,
        };
        (&mut self.network, via)
    }
}
