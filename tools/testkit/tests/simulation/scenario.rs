//! The world that a seed decides: jobs, workers, faults and their rates.

use std::collections::BTreeSet;

use farm::{
    AgentConfig, AuditPolicy, AuditScope, Change, Config, Hello, KernelName, Method, Party, Plan,
    Principal, Problem, Range, Shard,
};
use testkit::{Random, mix};

use crate::truth::HUGE_N;

/// The parameters of a world.
#[derive(Debug)]
pub struct Scenario {
    pub config: Config,
    pub faults: FaultRates,
    pub workers: Vec<Traits>,
    /// The requests of clients, and their times in ms.
    pub requests: Vec<(u64, ClientRequest)>,
    /// The time at which the faults end, in ms.
    pub chaos_ms: u64,
    /// The task that kills workers, if there is one.
    pub deadly: Option<DeadlyTask>,
    /// Whether ranges may be counted twice, because there are enough workers for it.
    pub audited: bool,
    /// The scope in which second counts must differ.
    pub across: AuditScope,
    /// The principals that count wrong.
    pub league: League,
    /// Whether a coordinator may restart from an older copy of the ledger, until the faults end.
    pub is_copied: bool,
    /// Whether nothing is ever lost.
    pub is_calm: bool,
}

/// Faults and their rates. A time is in milliseconds, and is the longest or the mean of random
/// ones.
#[derive(Clone, Debug)]
pub struct FaultRates {
    pub loss_per_mille: u64,
    pub repeat_per_mille: u64,
    pub delay_ms: u64,
    /// Whether messages of a session never overtake each other.
    pub in_order: bool,
    /// The time between two faults of a worker or of its session.
    pub fault_ms: u64,
    /// The number of effects, in a hundred thousand, after which the coordinator crashes.
    pub crash_per_100k: u64,
    pub down_ms: u64,
    pub commit_ms: u64,
    /// The share of the farm's steps in which the clock is wrong.
    pub clock_per_mille: u64,
    /// The share of reports that an altered copy precedes.
    pub nonsense_per_mille: u64,
}

impl FaultRates {
    /// No faults at all.
    pub fn none() -> FaultRates {
        FaultRates {
            loss_per_mille: 0,
            repeat_per_mille: 0,
            delay_ms: 10,
            in_order: true,
            fault_ms: u64::MAX,
            crash_per_100k: 0,
            down_ms: 10,
            commit_ms: 10,
            clock_per_mille: 0,
            nonsense_per_mille: 0,
        }
    }
}

/// The size of the boards with long tasks. They last longer than a lease lives without a report.
pub const LONG_N: u32 = 20;

/// The slowest worker's time for a task of any other job, in microseconds.
const SLOWEST_US: u64 = 20_000;

/// The mean time of the slowest worker for a long task, as a multiple of the time that a lease
/// lives without a report.
const LONG: u64 = 10;

/// The properties of a worker.
#[derive(Clone, Debug)]
pub struct Traits {
    /// The values that it reports about itself.
    pub agent: AgentConfig,
    /// The owner of its credential.
    pub owner: String,
    /// Whether its recount settles a dispute alone.
    pub is_trusted: bool,
    pub us_per_task: u64,
    /// The mean time that it takes for a long task, in microseconds.
    pub us_per_long_task: u64,
    /// Whether it counts leases in the order in which they arrive, as real workers do.
    pub in_order: bool,
    /// Number of tasks that a thread counts at a time.
    pub chunk: u64,
    /// Whether it never continues after it hangs.
    pub hopeless: bool,
    /// The share of its chunks that it counts wrong, or of all tasks if it lies together with
    /// others.
    pub lies_per_mille: u64,
    /// Whether it reports the same wrong counts as the others of its league.
    pub plot: Plot,
    /// The share of its leases that another worker gets, too.
    pub echo_per_mille: u64,
    /// Whether it restarts under another name.
    pub renames: bool,
    /// The kernel with which it counts, unless it is asked for another one.
    pub kernel: KernelName,
    /// Whether it has no other kernel.
    pub stubborn: bool,
    /// Whether its machine kills it, whatever it counts, until the faults end.
    pub is_broken: bool,
}

/// The way in which a worker lies together with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plot {
    /// It does not lie together with others. It may lie alone, as a broken machine does.
    None,
    /// It reports the lies of its league whenever it counts.
    Always,
    /// It reports them in recounts only.
    InRecounts,
}

/// The principals that count wrong in a world.
#[derive(Clone, Debug, Default)]
pub struct League {
    /// Number of owners that lie together, each with several machines. One alone must be found. Two
    /// may succeed.
    pub owners: u64,
    /// Machines that sometimes count wrong, by the names that they have at first.
    liars: BTreeSet<Principal>,
}

impl League {
    fn of(workers: &[Traits], owners: Owners) -> League {
        let liars = workers.iter().filter(|worker| worker.lies_per_mille > 0);
        let principal = |worker: &Traits| Principal {
            owner: worker.owner.clone(),
            machine: worker.agent.hello.machine.clone(),
        };
        League { owners: owners.lying(), liars: liars.map(principal).collect() }
    }

    /// Whether it is right to distrust a principal.
    pub fn may_be_wrong(&self, party: &Party) -> bool {
        let name = |machine: &str| machine.split('.').next().map(String::from);
        let machine = party.machine.as_deref().and_then(name);
        let mut theirs = self.liars.iter().filter(|liar| liar.owner == party.owner);
        self.conspires() || theirs.any(|liar| machine.as_ref().is_none_or(|it| *it == liar.machine))
    }

    /// Whether two owners lie together.
    pub fn conspires(&self) -> bool {
        self.owners >= 2
    }
}

/// A task of each plan that kills the worker that counts it.
#[derive(Clone, Copy, Debug)]
pub struct DeadlyTask {
    /// The task, modulo the number of tasks of the plan.
    task: u64,
    /// Whether it kills until a client sees it and gives the workers another program, and not only
    /// until the faults end.
    pub stays: bool,
}

impl DeadlyTask {
    fn of(random: &mut Random) -> DeadlyTask {
        DeadlyTask { task: random.next_u64(), stays: random.per_mille(700) }
    }

    pub fn kills(self, plan: &Plan, range: Range) -> bool {
        let task = self.task.checked_rem(plan.tasks);
        task.is_some_and(|task| (range.start()..range.end()).contains(&task))
    }
}

/// A request of a client. A job is named by its index among the jobs that exist then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientRequest {
    Submit(Submission),
    Change(u64, Change),
}

/// The parameters of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submission {
    pub plan: Plan,
    pub shard: Shard,
    pub priority: i32,
    pub audit: Option<AuditPolicy>,
}

impl Scenario {
    pub fn of(random: &mut Random) -> Scenario {
        let chaos_ms = random.between(500, 5_000);
        let lying = random.per_mille(250);
        let audited = random.per_mille(400);
        let owners = Owners::of(random, lying && audited);
        let across = owners.across();
        let workers = workers(random, lying, audited, owners);
        Scenario {
            config: Config {
                lease_ms: random.scaled(10, 1_000),
                lease_ttl_ms: random.scaled(100, 2_000),
                grace_ms: if random.per_mille(300) { 0 } else { random.scaled(50, 2_000) },
                probe_tasks: random.between(0, 8),
                ..Config::default()
            },
            faults: faults(random),
            league: League::of(&workers, owners),
            workers,
            requests: requests(random, chaos_ms, audited, across),
            across,
            chaos_ms,
            audited,
            deadly: random.per_mille(200).then(|| DeadlyTask::of(random)),
            is_copied: random.per_mille(300),
            is_calm: false,
        }
    }

    /// Gives the world jobs whose tasks last ten times as long as leases live without news, if a
    /// slow worker counts them. Every second worker is slow. If the world is calm, it has no faults
    /// and no lies.
    pub fn lengthen(&mut self, random: &mut Random, is_calm: bool) {
        self.is_calm = is_calm;
        if is_calm {
            self.faults = FaultRates::none();
            (self.audited, self.is_copied, self.deadly) = (false, false, None);
            self.league = League::default();
            self.requests.retain(|(_, request)| matches!(request, ClientRequest::Submit(_)));
            self.config.probe_tasks = self.config.probe_tasks.min(4);
        }
        let slow_us = 1_000 * self.slow_long_task_ms();
        for (index, worker) in self.workers.iter_mut().enumerate() {
            worker.us_per_task = match index % 2 {
                0 => random.between(SLOWEST_US / 2, SLOWEST_US),
                _ => random.scaled(200, 2_000),
            };
            worker.us_per_long_task = worker.us_per_task * slow_us / SLOWEST_US;
            if is_calm {
                (worker.in_order, worker.is_broken) = (true, false);
                (worker.lies_per_mille, worker.echo_per_mille) = (0, 0);
                worker.plot = Plot::None;
            }
        }
        for (index, (_, request)) in self.requests.iter_mut().enumerate() {
            let ClientRequest::Submit(submission) = request else { continue };
            submission.audit = submission.audit.filter(|_| !is_calm);
            if index == 0 || random.per_mille(300) {
                let tasks =
                    if index == 0 { random.between(50, 100) } else { random.between(2, 20) };
                submission.plan =
                    Plan { problem: Problem::Total { n: LONG_N }, tasks, ..submission.plan };
            }
        }
    }

    /// How long a slow worker takes for a task of a plan on average, in ms; 0 if its tasks are
    /// short.
    pub fn task_ms(&self, plan: &Plan) -> u64 {
        if plan.problem.n() == LONG_N { self.slow_long_task_ms() } else { 0 }
    }

    /// The mean time of a slow worker for a long task, in ms.
    fn slow_long_task_ms(&self) -> u64 {
        LONG * self.config.lease_ttl_ms
    }
}

/// The time for a long task, in thousandths of the mean. The longest task takes 3.5 times the mean.
pub fn long_task_per_mille(ordinal: u64) -> u64 {
    [20, 200, 500, 780, 1_000, 3_500][(mix(ordinal) % 6) as usize]
}

fn faults(random: &mut Random) -> FaultRates {
    // Half of the worlds have sessions like those of TCP: in order, and complete until they break.
    let in_order = random.per_mille(500);
    let often = |random: &mut Random, most: u64| match in_order || random.per_mille(300) {
        true => 0,
        false => random.scaled(1, most),
    };
    FaultRates {
        loss_per_mille: often(random, 150),
        repeat_per_mille: often(random, 150),
        delay_ms: random.scaled(1, 400),
        in_order,
        fault_ms: random.scaled(200, 10_000),
        crash_per_100k: if random.per_mille(300) { 0 } else { random.scaled(10, 1_500) },
        down_ms: random.scaled(1, 2_000),
        commit_ms: random.scaled(1, 300),
        clock_per_mille: if random.per_mille(500) { 0 } else { random.scaled(1, 20) },
        nonsense_per_mille: random.between(0, 5),
    }
}

/// The owners of the workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owners {
    /// One owner has all workers.
    One,
    /// Each worker has its own owner. A lease token that is passed on is stolen.
    Each,
    /// This many owners have two machines each, which lie together. The others are honest, except
    /// for a broken machine. Second counts are by other owners where it matters.
    League(u64),
}

impl Owners {
    fn of(random: &mut Random, may_collude: bool) -> Owners {
        match random.below(6) {
            0..4 if may_collude => Owners::League(if random.per_mille(250) { 2 } else { 1 }),
            0..4 => Owners::One,
            _ => Owners::Each,
        }
    }

    fn across(self) -> AuditScope {
        if self.lying() > 0 { AuditScope::Owners } else { AuditScope::Machines }
    }

    /// Number of owners that lie together.
    fn lying(self) -> u64 {
        if let Owners::League(owners) = self { owners } else { 0 }
    }

    fn of_worker(self, index: u64) -> String {
        match self {
            Owners::One => "one".into(),
            Owners::League(owners) if index < 2 * owners => format!("league{}", index / 2),
            Owners::Each | Owners::League(_) => format!("o{index}"),
        }
    }
}

fn workers(random: &mut Random, lying: bool, audited: bool, owners: Owners) -> Vec<Traits> {
    // A liar is found and outvoted only if three honest workers are present, and if another one
    // counts their ranges again with another kernel.
    let liars = 2 * owners.lying();
    let least = if liars > 0 { liars + 3 } else { 4 };
    let most = least.max(6);
    // This many workers have another kernel. With those that are never distrusted, there are two.
    let pliable = if liars > 0 { least } else { least - 1 };
    let count = if lying || audited { random.between(least, most) } else { random.between(1, 6) };
    // If the operator trusts a worker, one other honest owner is enough.
    let has_judge = audited && random.per_mille(300);
    let is_alone = has_judge && random.per_mille(500);
    let reliable = if audited { 3 } else { 1 };
    let report_ms = random.scaled(1, 500);
    let mut workers: Vec<Traits> = (0..count)
        .map(|index| Traits {
            agent: AgentConfig {
                hello: Hello {
                    worker: format!("w{index}"),
                    machine: format!("w{index}"),
                    build: format!("1.{index}"),
                    backend: "portable".into(),
                    instance: 0,
                    threads: random.between(1, 4) as u32,
                    credit: random.scaled(1, 500),
                    holding: Vec::new(),
                    methods: Vec::new(),
                },
                report_ms: if lying { 0 } else { report_ms },
                resend_ms: random.scaled(50, 2_000),
            },
            owner: match is_alone && index >= liars && index + 1 < count {
                true => owners.of_worker(liars),
                false => owners.of_worker(index),
            },
            is_trusted: has_judge && index + 1 == count,
            us_per_task: random.scaled(200, SLOWEST_US),
            us_per_long_task: 0,
            in_order: false,
            chunk: if lying { 2 } else { random.between(1, 8) },
            hopeless: !lying && index >= reliable && random.per_mille(300),
            lies_per_mille: 0,
            plot: Plot::None,
            echo_per_mille: if lying { 300 } else { 0 },
            renames: random.per_mille(300),
            kernel: random.pick(&[kernel("portable"), kernel("avx512")]),
            stubborn: !has_judge && index >= pliable && random.per_mille(500),
            is_broken: !lying && !audited && index == 5,
        })
        .collect();
    if lying {
        workers[0].lies_per_mille = random.scaled(10, 500);
        workers[0].renames = liars > 0 && random.per_mille(500);
        workers[0].us_per_task = random.scaled(200, 2_000);
        let plot = random.pick(&[Plot::Always, Plot::InRecounts]);
        for index in 0..liars as usize {
            workers[index].lies_per_mille = workers[0].lies_per_mille;
            workers[index].renames = workers[0].renames;
            workers[index].plot = plot;
        }
        if liars > 0 && count > least {
            // One more worker may be broken. It is not trusted.
            workers[liars as usize].lies_per_mille = random.scaled(10, 200);
            workers[liars as usize].renames = false;
        }
    }
    if count > 2 && !lying && !audited && random.per_mille(50) {
        workers[1].agent.hello.credit = 0;
    }
    workers
}

pub fn kernel(name: &str) -> KernelName {
    KernelName::new(name).expect("there is such a kernel")
}

fn requests(
    random: &mut Random,
    chaos_ms: u64,
    audited: bool,
    across: AuditScope,
) -> Vec<(u64, ClientRequest)> {
    let mut requests = Vec::new();
    for index in 0..random.between(1, 4) {
        let at = if index == 0 { 0 } else { random.below(chaos_ms) };
        // If machines lie together, every job is audited, and half of the audits demand other
        // owners.
        let audit = audited && (across == AuditScope::Owners || random.per_mille(700));
        let submission = Submission {
            plan: plan(random),
            shard: shard(random),
            priority: random.between(0, 3) as i32 - 1,
            audit: audit.then(|| {
                let between = some(random, across);
                policy(random, between)
            }),
        };
        requests.push((at, ClientRequest::Submit(submission)));
    }
    if audited {
        for _ in 0..random.below(4) {
            let between = some(random, across);
            let (nth, policy) = (random.below(4), policy(random, between));
            let audit = Change::Audit { policy, narrows: random.per_mille(500) };
            let wanted = ClientRequest::Change(nth, audit);
            requests.push((random.below(chaos_ms), wanted));
        }
    }
    if random.per_mille(400) {
        for _ in 0..random.between(1, 6) {
            let job = random.below(4);
            let priority = random.between(0, 4) as i32 - 2;
            let change = random.pick(&[
                Change::Pause,
                Change::Resume,
                Change::Resume,
                Change::Cancel,
                Change::Priority(priority),
                Change::Priority(priority),
            ]);
            requests.push((random.below(chaos_ms), ClientRequest::Change(job, change)));
        }
    }
    requests
}

/// The demanded scope, or machines.
fn some(random: &mut Random, across: AuditScope) -> AuditScope {
    if random.per_mille(500) { across } else { AuditScope::Machines }
}

/// A random plan. There are so few that two jobs often have the same one.
fn plan(random: &mut Random) -> Plan {
    let n = if random.per_mille(300) { HUGE_N } else { 8 };
    let tasks = match random.below(10) {
        0 => random.between(0, 1),
        1..4 => 100,
        4..9 => random.scaled(2, 800),
        _ => random.between(1_000, 3_000),
    };
    // The counts of single tasks of `colours` are reported.
    let method = if tasks.is_multiple_of(2) { Method::Colours } else { Method::Rows { rows: 3 } };
    Plan { problem: Problem::Total { n }, method, tasks }
}

fn shard(random: &mut Random) -> Shard {
    let of = if random.per_mille(200) { random.between(2, 5) } else { 1 };
    Shard::new(random.between(1, of) as u32, of as u32).expect("it is one of them")
}

pub fn policy(random: &mut Random, across: AuditScope) -> AuditPolicy {
    let share_ppm = match random.below(4) {
        0 => 0,
        1 => random.between(1, u64::from(AuditPolicy::ALL) - 1) as u32,
        _ => AuditPolicy::ALL,
    };
    // Seeds are below 2^63, as they are on the wire, because ledgers store signed integers.
    let (seed, by_reference) = (random.next_u64() >> 1, random.per_mille(500));
    AuditPolicy { share_ppm, seed, by_reference, across }
}
