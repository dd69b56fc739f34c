//! All histories of tiny farms, by breadth-first search over the states of the core.
//!
//! ```text
//!   state = the farm, the rows that are durable, what is on its way between them,
//!           what each worker was leased, and how many faults are left
//!   event = the ledger's next write or answer, a wait until the farm's next deadline,
//!           a session that begins, breaks or is replaced, a report, a crash of the coordinator
//! ```
//!
//! A worker reports whatever it was leased, at any time after, in any of its sessions, right or
//! wrong if it may lie, and again if faults are left. This includes every order and every loss of
//! messages. The ledger is the real one: a state names its rows, and the ledger is asked only once
//! what a command does to them.
//!
//! What must hold: a total is the sum of the durable rows, which are disjoint, so that no range is
//! counted twice; nothing is acknowledged that is not durable; nothing is settled against the
//! counts of two independent workers; no job ends with a wrong total; and from every state, once
//! the faults have ended, the job ends with the right one, so that no range is lost.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt::Write;
use std::rc::Rc;
use std::time::Instant;

use farm::{
    Asker, AuditPolicy, AuditScope, Change, Config, CoordinatorMessage, Dismissal, Effect, Event,
    Farm, Hello, Holding, JobId, JobSpec, JobState, Known, Lease, LeaseId, LeaseKey, LedgerAnswer,
    LedgerCommand, Method, Millis, Origin, Plan, Problem, Report, Request, RequestId, Restored,
    SessionId, Shard, TaskCounts, Verdict, WorkerMessage,
};
use ledger::{CheckedLedger, Ledger, LedgerFault};
use testkit::Random;

use crate::scenario::kernel;
use crate::snapshot::JobSnapshot;
use crate::truth::{Truth, Truths};

const KEY: LeaseKey = LeaseKey::new([8; 32]);
const JOB: JobId = JobId(1);
/// A job ends within this many events if there are no faults.
const SOON: usize = 200;

/// A tiny farm. The first of its workers may lie, if any may.
struct Tiny {
    tasks: u64,
    /// The owner of each worker.
    owners: &'static [&'static str],
    audit: Option<AuditScope>,
    may_lie: bool,
    /// How many faults a history has at most.
    faults: u32,
}

#[derive(Clone)]
struct State {
    farm: Farm,
    now: u64,
    epoch: u64,
    /// The durable rows that the farm knows.
    rows: usize,
    /// What the ledger was asked for. Some of it may be durable; only a crash shows how much.
    queue: VecDeque<(Asker, LedgerCommand)>,
    workers: Vec<Worker>,
    /// How many faults may still happen.
    left: u32,
    /// How it was reached.
    history: Vec<Next>,
}

#[derive(Clone, Debug, Default)]
struct Worker {
    session: Option<SessionId>,
    sessions: u64,
    /// How many earlier processes of it have died.
    deaths: u64,
    is_distrusted: bool,
    /// What it was leased.
    leases: BTreeMap<LeaseId, Leased>,
}

#[derive(Clone, Copy, Debug)]
struct Leased {
    lease: Lease,
    is_reported: bool,
    /// Whether it is neither acknowledged nor revoked.
    is_held: bool,
}

#[derive(Clone, Copy, Debug)]
enum Next {
    /// The ledger has done the oldest thing that it was asked for.
    Answer,
    Wait,
    /// The coordinator is killed. Before that, so many commands became durable.
    Crash(usize),
    Join(usize),
    Break(usize),
    Die(usize),
    Report(usize, LeaseId, bool),
}

/// The rows that a ledger may have, each with commands that lead to them.
struct Rows {
    ledger: Ledger,
    known: Vec<(Vec<LedgerCommand>, Restored)>,
    numbers: HashMap<String, usize>,
    after: HashMap<(usize, String), (usize, LedgerAnswer)>,
}

impl Rows {
    fn new() -> Rows {
        let ledger = CheckedLedger::in_memory().and_then(CheckedLedger::begin);
        let (known, numbers, after) = Default::default();
        let mut rows = Rows { ledger: ledger.expect("it is empty"), known, numbers, after };
        rows.after_all(Vec::new());
        rows
    }

    /// What a command makes of these rows, and its answer.
    fn after(&mut self, rows: usize, command: &LedgerCommand) -> (usize, LedgerAnswer) {
        let key = (rows, format!("{command:?}"));
        if let Some(known) = self.after.get(&key) {
            return known.clone();
        }
        let commands = self.known[rows].0.iter().chain([command]).cloned().collect();
        let (after, answer) = self.after_all(commands);
        let known = (if command.is_look_up() { rows } else { after }, answer.expect("one each"));
        self.after.insert(key, known.clone());
        known
    }

    fn after_all(&mut self, commands: Vec<LedgerCommand>) -> (usize, Option<LedgerAnswer>) {
        let (mut answer, mut read) = (None, None);
        let undone = self.ledger.in_one_go(|| {
            for command in &commands {
                answer = Some(self.ledger.execute(command, 0)?);
            }
            let restored = self.ledger.read_back()?;
            let jobs = restored.jobs.iter().map(|job| JobSnapshot::of(&self.ledger, job.stored.id));
            read = Some((format!("{:?}", jobs.collect::<Vec<_>>()), restored));
            Err::<(), _>(LedgerFault::Busy)
        });
        let (text, restored) = read.unwrap_or_else(|| panic!("{commands:?}: {undone:?}"));
        let number = *self.numbers.entry(text).or_insert_with(|| {
            self.known.push((commands, restored));
            self.known.len() - 1
        });
        (number, answer)
    }

    /// How many tasks of the job are counted, and their sum.
    fn counted(&self, rows: usize) -> (u64, u128) {
        let jobs = &self.known[rows].1.jobs;
        jobs.first().map_or((0, 0), |job| (job.accepted.len(), job.counted))
    }
}

/// A search through all histories of a farm.
struct Search<'a> {
    tiny: &'a Tiny,
    plan: Plan,
    truth: Rc<Truth>,
    rows: Rows,
}

impl Search<'_> {
    fn start(&mut self, restored: Restored, now: u64) -> Farm {
        let config = Config {
            lease_ms: 10_000,
            lease_ttl_ms: 60_000,
            grace_ms: 3_000,
            probe_tasks: 1,
            max_jobs: 1,
            max_jobs_per_owner: 1,
        };
        Farm::restore(config, KEY, Millis(now), restored, |_, _| Known::nothing())
    }

    /// A farm with one job, to which no worker has come.
    fn first(&mut self) -> State {
        let policy = |across| AuditPolicy {
            share_ppm: AuditPolicy::ALL,
            seed: 1,
            by_reference: false,
            across,
        };
        let spec =
            JobSpec { origin: Origin::default(), plan: self.plan, shard: Shard::ALL, priority: 0 };
        let known = Known::nothing().into();
        let job = farm::Submission { spec, audit: self.tiny.audit.map(policy), known };
        let mut state = State {
            farm: self.start(Restored { epoch: 1, ..Restored::default() }, 0),
            now: 0,
            epoch: 1,
            rows: 0,
            queue: VecDeque::new(),
            workers: vec![Worker::default(); self.tiny.owners.len()],
            left: self.tiny.faults,
            history: Vec::new(),
        };
        let submit = Event::Asked(RequestId(1), "lab".into(), Request::Submit(vec![job]));
        self.step(&mut state, submit);
        self.settle_down(&mut state);
        state
    }

    fn nexts(&self, state: &State, left: u32) -> Vec<Next> {
        let mut nexts = Vec::new();
        nexts.extend((!state.queue.is_empty()).then_some(Next::Answer));
        nexts.extend((left > 0 && state.farm.next_wakeup().is_some()).then_some(Next::Wait));
        let crashes = (0..=state.queue.len()).filter(|_| left > 0);
        nexts.extend(crashes.map(Next::Crash));
        for (number, worker) in state.workers.iter().enumerate() {
            let joins = !worker.is_distrusted
                && (worker.session.is_none() || left > 0)
                && (number == 0 || state.workers[number - 1].sessions > 0 || self.tiny.may_lie);
            nexts.extend(joins.then_some(Next::Join(number)));
            if worker.session.is_none() {
                continue;
            }
            nexts.extend((left > 0).then_some(Next::Break(number)));
            nexts.extend((left > 0).then_some(Next::Die(number)));
            for (&lease, leased) in &worker.leases {
                if !leased.is_reported || left > 0 {
                    nexts.push(Next::Report(number, lease, false));
                    let lies = number == 0 && self.tiny.may_lie;
                    nexts.extend(lies.then_some(Next::Report(number, lease, true)));
                }
            }
        }
        nexts
    }

    fn go(&mut self, state: &mut State, next: Next) {
        match next {
            Next::Answer => {
                let (asker, command, answer) = self.write(state);
                self.step(state, Event::Ledger { asker, command, answer, at_ms: 0 });
            }
            Next::Wait => {
                state.left = state.left.saturating_sub(1);
                state.now = state.farm.next_wakeup().expect("it waits for something").0;
                self.step(state, Event::Tick);
            }
            Next::Crash(durable) => {
                state.left -= 1;
                state.epoch += 1;
                (0..durable).for_each(|_| drop(self.write(state)));
                state.queue.clear();
                state.workers.iter_mut().for_each(|worker| worker.session = None);
                let restored = self.rows.known[state.rows].1.clone();
                state.farm = self.start(Restored { epoch: state.epoch, ..restored }, state.now);
                self.step(state, Event::Tick);
            }
            Next::Join(number) => self.join(state, number),
            Next::Break(number) => {
                state.left -= 1;
                self.leave(state, number);
            }
            Next::Die(number) => {
                state.left -= 1;
                let worker = &mut state.workers[number];
                worker.leases.clear();
                worker.deaths += 1;
                self.leave(state, number);
            }
            Next::Report(number, lease, lies) => self.report(state, number, lease, lies),
        }
    }

    fn write(&mut self, state: &mut State) -> (Asker, LedgerCommand, LedgerAnswer) {
        let (asker, command) = state.queue.pop_front().expect("it was asked for something");
        let (rows, answer) = self.rows.after(state.rows, &command);
        state.rows = rows;
        (asker, command, answer)
    }

    fn leave(&mut self, state: &mut State, number: usize) {
        let session = state.workers[number].session.take().expect("it has one");
        self.step(state, Event::Left(session));
    }

    /// A worker connects, perhaps before the coordinator knows that its session broke.
    fn join(&mut self, state: &mut State, number: usize) {
        let worker = &mut state.workers[number];
        state.left -= u32::from(worker.session.is_some());
        worker.sessions += 1;
        let session = SessionId(1_000 * state.epoch + 100 * number as u64 + worker.sessions);
        worker.session = Some(session);
        let held = worker.leases.values().filter(|leased| leased.is_held);
        let name = format!("w{number}");
        let hello = Hello {
            worker: name.clone(),
            machine: name,
            build: "1".into(),
            backend: String::new(),
            instance: 100 * number as u64 + worker.deaths,
            threads: 1,
            credit: 1,
            holding: held.map(|leased| Holding::of_lease(&leased.lease)).collect(),
            methods: Vec::new(),
        };
        let owner = self.tiny.owners[number].into();
        self.step(state, Event::Joined { session, owner, is_trusted: false, hello });
    }

    fn report(&mut self, state: &mut State, number: usize, lease: LeaseId, lies: bool) {
        let worker = &mut state.workers[number];
        let leased = worker.leases.get_mut(&lease).expect("it was leased");
        let again = std::mem::replace(&mut leased.is_reported, true);
        state.left = state.left.saturating_sub(u32::from(again));
        let Lease { range, recount, .. } = leased.lease;
        let count = match lies {
            true => self.truth.lie(range, &mut Random::new(1)),
            false => self.truth.checked_count(range),
        };
        let kernel = kernel(if recount.is_some() { "reference" } else { "portable" });
        let count = count.expect("it is small");
        let report = Report::new(&leased.lease, range, count, TaskCounts::default(), kernel, 0);
        let session = worker.session.expect("it is connected");
        self.step(state, Event::Said(session, WorkerMessage::Report(report)));
    }

    fn step(&mut self, state: &mut State, event: Event) {
        for effect in state.farm.step(Millis(state.now), event) {
            match effect {
                Effect::Tell(session, message) => self.tell(state, session, message),
                Effect::Dismiss(session, reason) => {
                    assert_ne!(reason, Dismissal::Unproven, "it was leased what it reports");
                    for worker in &mut state.workers {
                        let is_its = worker.session == Some(session);
                        worker.is_distrusted |= is_its && reason == Dismissal::Distrusted;
                        worker.session = worker.session.filter(|_| !is_its);
                    }
                }
                Effect::Ledger(asker, command) => {
                    if let LedgerCommand::Settle { report, wrong, .. } = &command {
                        let right = self.truth.checked_count(report.range).expect("it is small");
                        assert_eq!(report.checked_count, right, "two others counted otherwise");
                        assert!(wrong.iter().all(|it| it.machine.as_deref() == Some("w0")));
                    }
                    state.queue.push_back((asker, command));
                }
                _ => {}
            }
        }
        let Some(job) = state.farm.job(JOB) else { return };
        assert_eq!((job.tasks_done, job.counted), self.rows.counted(state.rows), "the sum");
        if job.state == JobState::Done {
            assert_eq!(Some(job.counted), self.total(), "the total");
        }
    }

    fn total(&self) -> Option<u128> {
        Some(self.truth.total(&self.plan.ordinals(Shard::ALL)))
    }

    fn tell(&mut self, state: &mut State, session: SessionId, message: CoordinatorMessage) {
        if let CoordinatorMessage::Ack(ack) = &message {
            let accepted = &self.rows.known[state.rows].1.jobs[0].accepted;
            let is_kept = !matches!(ack.verdict, Verdict::Superseded | Verdict::Obsolete);
            assert!(!is_kept || accepted.contains(ack.range), "{ack:?} is not durable");
        }
        let mut workers = state.workers.iter_mut();
        let Some(worker) = workers.find(|worker| worker.session == Some(session)) else { return };
        match message {
            CoordinatorMessage::Lease(lease) => {
                let leased = Leased { lease, is_reported: false, is_held: true };
                worker.leases.insert(lease.id, leased);
            }
            CoordinatorMessage::Revoke(id) => {
                let leased = worker.leases.get_mut(&id).filter(|leased| !leased.is_reported);
                leased.into_iter().for_each(|leased| leased.is_held = false);
            }
            CoordinatorMessage::Ack(ack) => {
                let of_ack = worker.leases.values_mut().filter(|it| it.lease.range == ack.range);
                of_ack.for_each(|leased| leased.is_held &= !leased.is_reported);
            }
            _ => {}
        }
    }

    /// Lets the ledger do all that it was asked for.
    fn settle_down(&mut self, state: &mut State) {
        while !state.queue.is_empty() {
            self.go(state, Next::Answer);
        }
    }

    /// Whether nothing happens any more without a fault. Every history comes to such a state when
    /// the faults end.
    fn is_quiet(&self, state: &State) -> bool {
        self.nexts(state, 0).is_empty()
    }

    /// Without faults and lies, the job ends soon. No worker is missing, and each reports again
    /// what is not acknowledged when nothing else happens.
    fn end(&mut self, mut state: State) {
        state.left = 0;
        for _ in 0..SOON {
            self.settle_down(&mut state);
            if state.farm.job(JOB).expect("it was submitted").state == JobState::Done {
                return;
            }
            if !state.farm.job(JOB).expect("it is there").failed_first.is_empty() {
                let resume = Request::Change(JOB, Change::Resume);
                self.step(&mut state, Event::Asked(RequestId(2), "lab".into(), resume));
            }
            let workers = || state.workers.iter().enumerate().filter(|(_, it)| !it.is_distrusted);
            let away = workers().find(|(_, it)| it.session.is_none()).map(|it| Next::Join(it.0));
            let open = |it: &Leased| it.is_held && !it.is_reported;
            let owed = workers().find_map(|(number, worker)| {
                let id = *worker.leases.iter().find(|(_, it)| open(it))?.0;
                Some(Next::Report(number, id, false))
            });
            match away.or(owed) {
                Some(next) => self.go(&mut state, next),
                None => {
                    let leases = state.workers.iter_mut().flat_map(|it| it.leases.values_mut());
                    leases.for_each(|leased| leased.is_reported = false);
                    let waits = state.farm.next_wakeup().is_some();
                    self.go(&mut state, if waits { Next::Wait } else { continue });
                }
            }
        }
        panic!("the job does not end: {:#?}", state.farm);
    }
}

/// The hash of all in a state that decides what can follow.
fn hash(state: &State) -> [u8; 32] {
    let State { farm, now, epoch, rows, queue, workers, left, history: _ } = state;
    let mut text = String::with_capacity(1 << 15);
    write!(text, "{now} {epoch} {rows} {queue:?} {workers:?} {left} {farm:?}")
        .expect("it has room");
    // What the farm has done is not part of what it does.
    let stats = text.rfind(" stats: Stats {").expect("the farm counts what it does");
    let end = stats + text[stats..].find('}').expect("its numbers have an end");
    let mut hasher = blake3::Hasher::new();
    hasher.update(&text.as_bytes()[..stats]).update(&text.as_bytes()[end..]);
    *hasher.finalize().as_bytes()
}

/// Visits every state of a farm.
fn explore(tiny: &Tiny) {
    let begun = Instant::now();
    let problem = Problem::Total { n: 8 };
    let plan = Plan { problem, method: Method::Rows { rows: 2 }, tasks: tiny.tasks };
    let truth = Truths::default().of(&plan);
    let mut search = Search { tiny, plan, truth, rows: Rows::new() };
    let first = search.first();
    let mut seen = HashSet::from([hash(&first)]);
    let mut wave = vec![first];
    let mut depth = 0;
    let mut quiet = 0;
    while !wave.is_empty() {
        depth += 1;
        let mut following = Vec::new();
        for state in wave {
            let nexts = search.nexts(&state, state.left);
            for next in nexts {
                let mut state = state.clone();
                let history: Vec<Next> = state.history.iter().copied().chain([next]).collect();
                let _printed = OnPanic(&history);
                search.go(&mut state, next);
                if seen.insert(hash(&state)) {
                    if search.is_quiet(&state) {
                        quiet += 1;
                        search.end(state.clone());
                    }
                    following.push(State { history: history.clone(), ..state });
                }
            }
        }
        wave = following;
    }
    println!(
        "{} states, {quiet} of them quiet, {} ledgers, at most {depth} events, {:.1} s",
        seen.len(),
        search.rows.known.len(),
        begun.elapsed().as_secs_f64()
    );
}

/// Prints the history that led to a panic.
struct OnPanic<'a>(&'a [Next]);

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("the history: {:?}", self.0);
        }
    }
}

#[test]
fn two_workers_count_each_of_three_ranges_once() {
    explore(&Tiny { tasks: 3, owners: &["a", "b"], audit: None, may_lie: false, faults: 1 });
}

#[test]
fn two_workers_check_each_other() {
    let audit = Some(AuditScope::Machines);
    explore(&Tiny { tasks: 1, owners: &["a", "a"], audit, may_lie: false, faults: 1 });
}

#[test]
fn two_of_three_owners_settle_against_the_third() {
    let audit = Some(AuditScope::Owners);
    explore(&Tiny { tasks: 1, owners: &["a", "b", "c"], audit, may_lie: true, faults: 1 });
}

#[test]
#[ignore = "it takes minutes: `.ci/nightly simulation`"]
fn larger_farms_have_no_history_that_fails() {
    let (two, three): (&[_], &[_]) = (&["a", "b"], &["a", "b", "c"]);
    let audit = Some(AuditScope::Owners);
    explore(&Tiny { tasks: 2, owners: two, audit: None, may_lie: false, faults: 2 });
    explore(&Tiny { tasks: 2, owners: two, audit, may_lie: false, faults: 1 });
    explore(&Tiny { tasks: 1, owners: two, audit, may_lie: false, faults: 2 });
    explore(&Tiny { tasks: 1, owners: three, audit: None, may_lie: false, faults: 2 });
}
