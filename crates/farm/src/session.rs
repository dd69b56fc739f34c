//! A worker's connection, as the farm sees it.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Sum;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use board::MethodChoice;

use crate::{Hello, JobId, LeaseId, Method, Millis, Principal, Provenance};

/// One connection of one worker.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    /// What people may see of the worker, and what leasing depends on. `rate` and `leased` stay
    /// empty here; [`Session::view`] fills them in.
    pub(crate) seen: WorkerView,
    /// Whether the operator trusts the worker, so that its recount alone settles a dispute.
    pub(crate) is_trusted: bool,
    /// The process at its other end.
    pub(crate) process: Process,
    /// The most tasks that the worker agrees to hold.
    pub(crate) credit: u64,
    /// The methods by which the worker can count. Empty if it knows all.
    methods: Vec<MethodChoice>,
    /// How many tasks of each job the session holds, and the thread time that they were expected to
    /// take, nanoseconds. Jobs with 0 tasks are left out.
    held: BTreeMap<JobId, (u64, u128)>,
    /// The most tasks that it has held at once.
    most_held: u64,
    work: Work,
    /// Whether it began with what was leased to another session, which no longer tells since when.
    pub(crate) came_back: bool,
    /// When it last reported tasks that it held.
    pub(crate) reported_at: Millis,
    /// The session has missed a deadline and is leased nothing until this time, or until it reports
    /// something.
    pub(crate) rests_until: Option<Millis>,
    /// Until this time the session may report a backlog, which the worker counted before it was
    /// connected. Such reports are not used to measure its speed.
    pub(crate) backlog_until: Millis,
    pub(crate) leases: BTreeSet<LeaseId>,
}

/// The thread time in which a session may have counted what it has not reported yet: as long as it
/// holds tasks, as many of its threads can be busy as it holds tasks.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    us: u64,
    /// Until when it is added up.
    until: Millis,
}

/// A worker that comes back sends what it counted meanwhile within this time, milliseconds.
const BACKLOG_MS: u64 = 1_000;

/// A worker process: its owner, and its number. The number is the worker's own choice, so that it
/// distinguishes only processes of one owner.
pub(crate) type Process = (String, u64);

impl Session {
    pub(crate) fn new(owner: String, is_trusted: bool, hello: &Hello, now: Millis) -> Session {
        let process = (owner.clone(), hello.instance);
        let seen = WorkerView {
            provenance: Provenance {
                principal: Principal { owner, machine: hello.machine.clone() },
                worker: hello.worker.clone(),
                build: hello.build.clone(),
            },
            backend: hello.backend.clone(),
            threads: hello.threads.max(1),
            tasks: 0,
            rate: Rate::default(),
            leased: Vec::new(),
            counted: 0,
            heard_at: now,
            missed: 0,
            draining: false,
        };
        Session {
            seen,
            is_trusted,
            process,
            credit: hello.credit,
            methods: hello.methods.clone(),
            held: BTreeMap::new(),
            most_held: 0,
            work: Work::default(),
            came_back: !hello.holding.is_empty(),
            reported_at: Millis(0),
            rests_until: None,
            backlog_until: if hello.holding.is_empty() { now } else { now.after(BACKLOG_MS) },
            leases: BTreeSet::new(),
        }
    }

    /// Who answers for its counts.
    pub(crate) fn principal(&self) -> &Principal {
        &self.seen.provenance.principal
    }

    /// Whether the worker can count by this method.
    pub(crate) fn knows(&self, method: Method) -> bool {
        self.methods.is_empty() || self.methods.iter().any(|known| known.allows(method))
    }

    /// Whether the session may be leased tasks of this method.
    pub(crate) fn may_count(&self, method: Method) -> bool {
        !self.seen.draining && self.knows(method)
    }

    /// What people may see of the worker. The `rate` comes from the jobs that it counts.
    pub(crate) fn view(&self, rate: Rate) -> WorkerView {
        WorkerView { rate, leased: self.held().collect(), ..self.seen.clone() }
    }

    /// Whether the session may be leased a recount of this many tasks. A recount cannot be divided,
    /// so that it may exceed the credit of a session that holds nothing.
    pub(crate) fn has_room_for_recount(&self, tasks: u64) -> bool {
        self.seen.tasks == 0 || tasks <= self.room()
    }

    /// The threads that the farm believes it has: no more than it has held tasks at once, because a
    /// thread counts one task at a time.
    pub(crate) fn threads(&self) -> u32 {
        let most_held = u32::try_from(self.most_held).unwrap_or(u32::MAX);
        self.seen.threads.min(most_held.max(1))
    }

    /// Adds up the thread time in which it may have counted until now.
    fn work_until(&mut self, now: Millis) {
        let ms = now.0.saturating_sub(self.work.until.0);
        let busy = u64::from(self.seen.threads).min(self.seen.tasks);
        let us = ms.saturating_mul(1_000).saturating_mul(busy);
        self.work = Work { us: self.work.us.saturating_add(us), until: now };
    }

    /// How much of the thread time `busy_us` is believed that a count took, as its worker says. It
    /// is at most the thread time since the count was leased, as far as no other count since the
    /// `oldest` lease of the session took it. If the session came back, it is at least what the
    /// job's tasks took on average, for the time in which the worker had another session.
    pub(crate) fn believed_us(
        &mut self,
        now: Millis,
        [oldest, leased_at]: [Millis; 2],
        busy_us: u64,
        average_us: u64,
    ) -> u64 {
        self.work_until(now);
        let threads = u64::from(self.threads());
        let since = |at: Millis| now.0.saturating_sub(at.0).saturating_add(1);
        let most_us = |at| since(at).saturating_mul(1_000).saturating_mul(threads);
        self.work.us = self.work.us.min(most_us(oldest));
        let believed_us = busy_us.min(self.work.us.min(most_us(leased_at)).max(average_us));
        self.work.us = self.work.us.saturating_sub(believed_us);
        believed_us
    }

    /// Notes that the session holds more tasks of a job, which are expected to take `ns` of thread
    /// time.
    pub(crate) fn hold(&mut self, now: Millis, job: JobId, tasks: u64, ns: u128) {
        self.work_until(now);
        if self.seen.tasks == 0 {
            // The clock has milliseconds, and may have shown almost one less.
            self.work.us += 1_000 * u64::from(self.seen.threads).min(tasks);
        }
        self.seen.tasks += tasks;
        self.most_held = self.most_held.max(self.seen.tasks);
        let held = self.held.entry(job).or_default();
        *held = (held.0 + tasks, held.1 + ns);
    }

    /// Notes that the session no longer holds tasks of a job, which were expected to take `ns`.
    pub(crate) fn let_go(&mut self, now: Millis, job: JobId, tasks: u64, ns: u128) {
        self.work_until(now);
        self.seen.tasks -= tasks;
        let held = self.held.get_mut(&job).filter(|held| held.0 >= tasks);
        let held = held.expect("only what is held is let go");
        *held = (held.0 - tasks, held.1 - ns);
        if held.0 == 0 {
            self.held.remove(&job);
        }
    }

    /// The jobs of which it holds tasks, and how many.
    pub(crate) fn held(&self) -> impl Iterator<Item = (JobId, u64)> + '_ {
        self.held.iter().map(|(&job, &(tasks, _))| (job, tasks))
    }

    /// How many tasks of a job take as long as all tasks that the session holds, if one task of the
    /// job takes `task_ns` of thread time.
    pub(crate) fn held_as_of(&self, job: JobId, task_ns: u64) -> u64 {
        let own = self.held.get(&job).map_or(0, |held| held.0);
        let others = self.held.iter().filter(|&(&of, _)| of != job);
        let others = others.map(|(_, held)| held.1).sum::<u128>() / u128::from(task_ns.max(1));
        own.saturating_add(u64::try_from(others).unwrap_or(u64::MAX))
    }

    /// How many more tasks it may be leased.
    pub(crate) fn room(&self) -> u64 {
        if self.seen.draining { 0 } else { self.credit.saturating_sub(self.seen.tasks) }
    }
}

/// What those who run a farm may see of a connected worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Worker)]
pub struct WorkerView {
    /// Who answers for its counts, and its name.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// The counting loop in use, as the worker names it; it may be empty.
    pub backend: String,
    /// Counting threads, as it says.
    pub threads: u32,
    /// Tasks that it was leased and has not reported.
    pub tasks: u64,
    /// How fast it counts what it was leased.
    #[serde(flatten)]
    pub rate: Rate,
    /// What it was leased: tasks that are not reported, by job.
    #[serde(skip)]
    pub leased: Vec<(JobId, u64)>,
    /// Tasks that it has reported in this session.
    pub counted: u64,
    /// When it last reported something, or said that it was getting on; when it joined, if it has
    /// done neither.
    #[serde(skip)]
    pub heard_at: Millis,
    /// Deadlines that it has missed since it last reported something.
    pub missed: u32,
    /// It is leased nothing more: it asked for that, or a client did.
    pub draining: bool,
}

/// How fast something is counted. The rate is 0 while nothing is counted, and before it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Rate {
    /// Tasks per second.
    pub tasks_per_second: f64,
    /// Placements per second: what these tasks count, before symmetry.
    pub placements_per_second: f64,
}

impl Sum for Rate {
    fn sum<I: Iterator<Item = Rate>>(rates: I) -> Rate {
        rates.fold(Rate::default(), |sum, it| Rate {
            tasks_per_second: sum.tasks_per_second + it.tasks_per_second,
            placements_per_second: sum.placements_per_second + it.placements_per_second,
        })
    }
}
