//! A farm for tests. Its ledger writes at once, or when a test flushes it, and its workers are mere
//! sessions.

use farm::{
    Answer, AuditPolicy, AuditScope, Change, CheckedCount, Config, CoordinatorMessage, Effect,
    Event, Farm, Hello, Holding, Hours, JobId, JobSpec, JobState, KernelName, Known, Lease,
    LeaseId, LeaseKey, LeaseKind, LeaseToken, LedgerCommand, Method, Millis, Origin, Plan,
    Principal, Problem, Provenance, Range, Refusal, Report, Request, RequestId, Restored,
    SessionId, Shard, Submission, TaskCounts, Verdict, WorkerMessage,
};
use ledger::{CheckedLedger, Ledger};

/// A farm with its ledger and the messages that it has sent.
pub struct Scene {
    pub farm: Farm,
    pub now: u64,
    /// All effects for workers and clients, the latest last.
    pub sent: Vec<Effect>,
    /// The number of these effects that the workers of a test have read.
    pub seen: usize,
    pub commands: Vec<LedgerCommand>,
    /// Whether writes wait for [`flush`](Scene::flush).
    pub slow_disk: bool,
    waiting: Vec<Event>,
    ledger: Ledger,
}

pub const CONFIG: Config = Config {
    lease_ms: 10_000,
    lease_ttl_ms: 60_000,
    grace_ms: 3_000,
    probe_tasks: 4,
    max_jobs: 100,
    max_jobs_per_owner: 60,
};

pub const AUDIT_ALL: AuditPolicy = AuditPolicy {
    share_ppm: AuditPolicy::ALL,
    seed: 1,
    by_reference: false,
    across: AuditScope::Machines,
};

/// The owner of all workers that join without another one.
pub const OWNER: &str = "rack7";
const KEY: [u8; 32] = [3; 32];

/// The state from which a farm starts that opens the ledger for the `epoch`th time.
fn restored(ledger: &Ledger, epoch: u64) -> Restored {
    Restored { epoch, ..ledger.read_back().expect("the rows fit together") }
}

pub fn empty_ledger() -> Ledger {
    CheckedLedger::in_memory().and_then(CheckedLedger::begin).expect("SQLite needs nothing for it")
}

/// A farm with a job of `tasks` tasks, and its worker w1 with this credit.
pub fn at_work(tasks: u64, credit: u64) -> (Scene, JobId, SessionId) {
    let mut scene = Scene::new();
    let job = scene.submit(tasks, 0);
    let worker = scene.join("w1", credit);
    (scene, job, worker)
}

impl Scene {
    pub fn new() -> Scene {
        Scene::over(empty_ledger(), 1)
    }

    /// A farm that starts from the state of a ledger, which is opened for the `epoch`th time.
    pub fn over(ledger: Ledger, epoch: u64) -> Scene {
        let restored = restored(&ledger, epoch);
        let key = LeaseKey::new(KEY);
        Scene {
            farm: Farm::restore(CONFIG, key, Millis(0), restored, |_, _| Known::nothing()),
            now: 0,
            sent: Vec::new(),
            seen: 0,
            commands: Vec::new(),
            slow_disk: false,
            waiting: Vec::new(),
            ledger,
        }
    }

    /// Handles one event and everything that follows from it.
    pub fn act(&mut self, event: Event) {
        let mut events = vec![event];
        while !events.is_empty() {
            for effect in self.farm.step(Millis(self.now), events.remove(0)) {
                match effect {
                    Effect::Ledger(asker, command) => {
                        let at_ms = i64::try_from(self.now).expect("tests are short");
                        let execute = || self.ledger.execute(&command, at_ms);
                        let is_look_up = command.is_look_up();
                        let answer = match is_look_up {
                            true => execute(),
                            false => self.ledger.in_one_go(execute),
                        };
                        let answer = answer.expect("the farm asks for what fits the rows");
                        if !is_look_up {
                            self.commands.push(command.clone());
                        }
                        let event = Event::Ledger { asker, command, answer, at_ms };
                        match self.slow_disk && !is_look_up {
                            true => self.waiting.push(event),
                            false => events.push(event),
                        }
                    }
                    effect => self.sent.push(effect),
                }
            }
        }
    }

    /// Handles a request, and returns the number of the job in its answer or the refusal.
    pub fn ask(&mut self, request: Event) -> Result<JobId, Refusal> {
        let before = self.sent.len();
        self.act(request);
        self.sent[before..].iter().find_map(answered).expect("it is answered at once")
    }

    /// Makes all writes durable.
    pub fn flush(&mut self) {
        for answer in std::mem::take(&mut self.waiting) {
            self.act(answer);
        }
    }

    /// The coordinator crashes, and another one starts from the durable state.
    pub fn restart(&mut self) {
        self.restart_knowing(&Known::nothing());
    }

    /// Starts another coordinator, for which `known` holds for the counts of every job.
    pub fn restart_knowing(&mut self, known: &Known) {
        let now = Millis(self.now);
        let restored = restored(&self.ledger, 2);
        // The ledger keeps nothing about an owner without hours.
        let hours = |farm: &Farm| -> Vec<_> {
            let owners = farm.owners().into_iter();
            let known = owners.filter(|it| it.hours != Hours::default());
            known.map(|it| (it.owner, it.hours)).collect()
        };
        let taken = hours(&self.farm);
        let is_durable = self.waiting.is_empty();
        let key = LeaseKey::new(KEY);
        self.farm = Farm::restore(CONFIG, key, now, restored, |_, _| known.clone());
        assert!(!is_durable || hours(&self.farm) == taken, "{taken:?} was taken");
        self.waiting.clear();
        self.tick(self.now);
    }

    pub fn tick(&mut self, now: u64) {
        self.now = now;
        self.act(Event::Tick);
    }

    pub fn submit(&mut self, tasks: u64, priority: i32) -> JobId {
        self.submit_spec(JobSpec { priority, ..spec(plan(tasks)) }, None, Known::nothing())
    }

    /// Submits a job that is audited completely.
    pub fn submit_audited(&mut self, tasks: u64) -> JobId {
        self.submit_spec(spec(plan(tasks)), Some(AUDIT_ALL), Known::nothing())
    }

    pub fn submit_spec(
        &mut self,
        spec: JobSpec,
        audit: Option<AuditPolicy>,
        known: Known,
    ) -> JobId {
        let submission = Submission { spec, audit, known: known.into() };
        self.submitted(asked(RequestId(7), Request::Submit(vec![submission])))
    }

    /// The number of the job that is added by this event.
    pub fn submitted(&mut self, submission: Event) -> JobId {
        self.act(submission);
        self.farm.jobs(.., |_| true).next_back().expect("it was submitted").id
    }

    /// Adds a worker of one thread. The number of its session is the one after the `w` of its name.
    pub fn join(&mut self, worker: &str, credit: u64) -> SessionId {
        let number = worker[1..].parse().expect("w1, w2, …");
        self.join_as(SessionId(number), OWNER, hello(worker, credit));
        SessionId(number)
    }

    /// Adds a worker of `threads` threads.
    pub fn join_with(&mut self, worker: &str, threads: u32) -> SessionId {
        let hello = Hello { threads, ..hello(worker, 1_000) };
        let session = SessionId(hello.instance);
        self.join_as(session, OWNER, hello);
        session
    }

    /// Begins a session of a worker with the credential of `owner`.
    pub fn join_as(&mut self, session: SessionId, owner: &str, hello: Hello) {
        self.act(Event::Joined { session, owner: owner.into(), is_trusted: false, hello });
    }

    /// Sends a report with a token which proves that its range was leased to the usual owner.
    pub fn report(&mut self, session: SessionId, report: Report) -> Option<Verdict> {
        self.report_as_is(session, proven(report, OWNER))
    }

    /// Sends a report with the token that it has.
    pub fn report_as_is(&mut self, session: SessionId, report: Report) -> Option<Verdict> {
        let before = self.sent.len();
        self.act(Event::Said(session, WorkerMessage::Report(report)));
        self.sent[before..].iter().find_map(verdict)
    }

    /// Reports a whole lease with a count of 1 per task and `us_per_task` of time.
    pub fn finish(
        &mut self,
        session: SessionId,
        lease: &Lease,
        us_per_task: u64,
    ) -> Option<Verdict> {
        let busy_us = us_per_task * lease.range.len();
        self.now += busy_us / 1_000;
        self.report_as_is(session, Report { busy_us, ..report_of(lease, lease.range) })
    }

    /// All leases of a session so far.
    pub fn leases(&self, to: SessionId) -> Vec<Lease> {
        self.leases_since(0, to)
    }

    /// The leases of a session among the effects from number `seen` on.
    pub fn leases_since(&self, seen: usize, to: SessionId) -> Vec<Lease> {
        let lease = |effect: &Effect| match effect {
            Effect::Tell(session, CoordinatorMessage::Lease(lease)) if *session == to => {
                Some(*lease)
            }
            _ => None,
        };
        self.sent[seen..].iter().filter_map(lease).collect()
    }

    pub fn last_lease(&self, to: SessionId) -> Lease {
        *self.leases(to).last().expect("something was leased")
    }

    pub fn revoked(&self, lease: LeaseId) -> bool {
        self.sent
            .iter()
            .any(|e| matches!(e, Effect::Tell(_, CoordinatorMessage::Revoke(l)) if *l == lease))
    }

    pub fn state(&self, job: JobId) -> (JobState, u128) {
        let job = self.farm.job(job).expect("it exists");
        (job.state, job.counted)
    }
}

pub fn plan(tasks: u64) -> Plan {
    total(8, tasks)
}

/// A plan for all placements of `n` queens, with any number of tasks.
pub fn total(n: u32, tasks: u64) -> Plan {
    Plan { problem: Problem::Total { n }, method: Method::Rows { rows: 2 }, tasks }
}

pub fn range(start: u64, end: u64) -> Range {
    Range::new(start, end).expect("not empty")
}

pub fn hello(worker: &str, credit: u64) -> Hello {
    let instance = worker[1..].parse().expect("w1, w2, …");
    Hello {
        worker: worker.into(),
        machine: worker.into(),
        build: "1.0".into(),
        backend: "portable".into(),
        instance,
        threads: 1,
        credit,
        holding: Vec::new(),
        methods: Vec::new(),
    }
}

/// A request of a client of the owner "lab".
pub fn asked(request: RequestId, ask: Request) -> Event {
    Event::Asked(request, "lab".into(), ask)
}

/// A client's request to change a job.
pub fn change(request: RequestId, job: JobId, change: Change) -> Event {
    asked(request, Request::Change(job, change))
}

pub fn audit(policy: AuditPolicy) -> Change {
    Change::Audit { policy, narrows: true }
}

/// The answer to a client: the number of a job, or the refusal.
pub fn answered(effect: &Effect) -> Option<Result<JobId, Refusal>> {
    match effect {
        Effect::Reply(_, Ok(Answer::Jobs(jobs))) => Some(Ok(jobs[0].id)),
        Effect::Reply(_, Ok(Answer::Job(job))) => Some(Ok(job.id)),
        Effect::Reply(_, Err(refusal)) => Some(Err(*refusal)),
        _ => None,
    }
}

/// The effect that says that a change of trust is durable and that no other principal is
/// distrusted.
pub fn noted(request: RequestId) -> Effect {
    Effect::Reply(request, Ok(Answer::Distrusted(Vec::new())))
}

/// A job of a plan, without an owner or a key.
pub fn spec(plan: Plan) -> JobSpec {
    JobSpec { origin: Origin::default(), plan, shard: Shard::ALL, priority: 0 }
}

/// A submission by this owner, with a key if there is one.
pub fn submission_by(
    owner: &str,
    key: Option<&str>,
    plan: Plan,
    audit: Option<AuditPolicy>,
) -> Event {
    let origin = Origin { owner: owner.into(), key: key.map(Into::into) };
    let (spec, known) = (JobSpec { origin, ..spec(plan) }, Known::nothing().into());
    asked(RequestId(7), Request::Submit(vec![Submission { spec, audit, known }]))
}

pub fn kernel(name: &str) -> KernelName {
    KernelName::new(name).expect("there is such a kernel")
}

/// The checked count of `range`, in which every task counts 1, and the first one `more` in
/// addition.
pub fn checked_count(plan: Plan, range: Range, more: u64) -> CheckedCount {
    let count = |ordinal| 1 + if ordinal == range.start() { more } else { 0 };
    let plan = plan.fingerprint();
    let add =
        |checked_count: CheckedCount, ordinal| checked_count.with(plan, ordinal, count(ordinal));
    (range.start()..range.end()).try_fold(CheckedCount::EMPTY, add).expect("it is small")
}

/// The provenance of the counts of a worker that joins with the usual owner.
pub fn provenance(worker: &str) -> Provenance {
    let principal = Principal { owner: OWNER.into(), machine: worker.into() };
    Provenance { principal, worker: worker.into(), build: "1.0".into() }
}

/// The report with a token which proves that the farm has leased its range to `owner`.
pub fn proven(report: Report, owner: &str) -> Report {
    let token = LeaseToken { range: report.range, ..report.token };
    let leased = Holding { token, ..Holding::of_report(&report) };
    Report { token: LeaseKey::new(KEY).sign(&leased, owner), ..report }
}

/// The report as the answer to a request for a recount.
pub fn asked_again(report: Report) -> Report {
    Report { token: LeaseToken { kind: LeaseKind::Recount, ..report.token }, ..report }
}

/// A report with a count of 1 per task and no lease.
pub fn report(job: JobId, plan: Plan, range: Range) -> Report {
    Report {
        job,
        fingerprint: plan.fingerprint(),
        lease: LeaseId(0),
        token: LeaseToken::new(range, LeaseKind::Count, [0; 16]),
        range,
        checked_count: checked_count(plan, range, 0),
        task_counts: TaskCounts::default(),
        kernel: kernel("portable"),
        busy_us: 1_000 * range.len(),
    }
}

/// A report of a part of a lease with a count of 1 per task.
pub fn report_of(lease: &Lease, part: Range) -> Report {
    Report { lease: lease.id, token: lease.token, ..report(lease.job, lease.plan, part) }
}

/// Reports a recount of the lease with the kernel `name`.
pub fn recount(scene: &mut Scene, session: SessionId, lease: Lease, name: &str) -> Option<Verdict> {
    let of = report_of(&lease, lease.range);
    scene.report_as_is(session, Report { kernel: kernel(name), ..of })
}

/// Counts all leases of a worker correctly.
pub fn work(scene: &mut Scene, session: SessionId) {
    let mut done = scene.leases(session).len() - 1;
    while let Some(&lease) = scene.leases(session).get(done) {
        let name = if lease.recount.is_some() { "reference" } else { "portable" };
        recount(scene, session, lease, name);
        done += 1;
    }
}

/// The numbers of a job's ranges that wait for an audit and that were confirmed.
pub fn audits(scene: &Scene, job: JobId) -> (u64, u64) {
    let view = scene.farm.job(job).expect("it exists");
    (view.audits_wanted, view.audits_agreed)
}

fn verdict(effect: &Effect) -> Option<Verdict> {
    match effect {
        Effect::Tell(_, CoordinatorMessage::Ack(ack)) => Some(ack.verdict),
        _ => None,
    }
}
