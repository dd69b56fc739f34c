//! A job: which of its ordinals are accepted, leased or free, and what they sum to.
//!
//! ```text
//!   every ordinal of the plan is in exactly one of
//!
//!     pool  ──lease──►  leased(lease)  ──accept──►  accepted         what is on its way into
//!      │▲                │                                        the ledger is, too
//!      │└────release─────┘    (expiry, loss of a session, an unusable result)
//!      ▼
//!     failed                  lost three times with the process that had it, by two owners
//! ```
//!
//! A task may kill its worker process, for lack of memory for instance. A range fails when it was
//! lost three times together with the process that had it, and processes of two owners were lost
//! with it. One owner is enough if no other owner has a worker that may count the range: otherwise
//! an owner could make every job fail. A failed range is named to the operator, and is leased to
//! nobody until a client resumes the job. The losses of a range are forgotten when the range is
//! counted. A process that comes back takes back its own loss, and no other: otherwise a worker
//! could let a deadly task go on killing the workers of others. This rule is a guess that saves
//! workers: harmless tasks that are lost together with a deadly one fail as well. Failures are not
//! durable.
//!
//! Ordinals are accepted whether they are free, leased or failed, because a worker may report what
//! it was leased even when its lease is over.
//!
//! A leased range is *due* when it should be back, by the speed that was seen of its session. If
//! another session is leased the end of the range as well, the earlier lease is *overtaken*: its
//! session goes on, and the first report counts. The rule stands in `machine/leasing.rs`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::audit::Audits;
use crate::costs::Costs;
use crate::dispute::Dispute;
use crate::scheduler::StratumScheduler;
use crate::session::{Process, Rate};
use crate::stage::{Live, Stage};
use crate::timeouts::Timeouts;
use crate::{
    AuditPolicy, AuditScope, Fingerprint, Hours, IntervalSet, JobSpec, Known, LeaseId, Millis,
    Range, SessionId, Times,
};

/// A leased range. Its first ordinal is the key under which it is kept.
#[derive(Clone, Copy, Debug)]
struct Leased {
    end: u64,
    lease: LeaseId,
    /// When the range should be back. If nobody knows, it is the time at which the range was
    /// leased.
    due: Millis,
    /// From when on the range is late, so that nobody knows when it will be back.
    late_at: Millis,
    /// How many earlier leases of the range were overtaken.
    overtaken: u32,
}

impl Leased {
    /// Whether another session, which takes `task_ms` for a task, would bring the range back sooner
    /// by at least the time of one lease.
    fn is_slower_than(self, now: Millis, lease_ms: u64, task_ms: u64) -> bool {
        self.late_at <= now || self.due > now.after(lease_ms.saturating_add(task_ms))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) spec: JobSpec,
    pub(crate) fingerprint: Fingerprint,
    /// The number of tasks in the job's shard of the plan.
    pub(crate) tasks: u64,
    /// What is counted twice.
    pub(crate) policy: Option<AuditPolicy>,
    pub(crate) audits: Audits,
    pub(crate) known: Known,
    pub(crate) stage: Stage,
    pub(crate) times: Times,
    /// The thread time of all durable counts of the job.
    pub(crate) hours: Hours,
    /// For how long any job had a lease when the last lease of this one ended, ms: what that has
    /// grown by since is how long it waits while others are served.
    pub(crate) served_until: u64,
    /// For how long it waited so, ms, as far as the ledger was not told.
    pub(crate) waited_ms: u64,
    /// How many commands about the job the ledger has not answered.
    pub(crate) unanswered: usize,
    pub(crate) tasks_done: u64,
    pub(crate) total: u128,
    pub(crate) disputes: BTreeMap<Range, Dispute>,
    /// Whether something came free, or has begun to wait for another count, since
    /// [`Job::take_offered`] was last called.
    is_offered: bool,
    pub(crate) timeouts: Timeouts,
    /// Deadlines are this many times the configured time: doubled when live workers miss them and
    /// nobody reports anything.
    pub(crate) patience: u64,
    /// When something new of the job was last reported, or its deadlines last grew. Deadlines grow
    /// only when a lease is late that began after this.
    pub(crate) heard_at: Millis,
    /// The free ordinals.
    pub(crate) pool: IntervalSet,
    /// The failed ordinals. Nobody has them, and they are leased to nobody.
    pub(crate) failed: IntervalSet,
    /// The processes that were lost with ordinals that nobody has counted since, the oldest first.
    lost: VecDeque<(Process, IntervalSet)>,
    pub(crate) scheduler: StratumScheduler,
    pub(crate) costs: Costs,
    /// The leased ranges by their first ordinals. They are disjoint.
    leased: BTreeMap<u64, Leased>,
    pub(crate) leased_tasks: u64,
    /// For each leased range, when it is late, and its first ordinal.
    late: BTreeSet<(Millis, u64)>,
    /// Leases of which a part was leased to another session as well, each with the hull of these
    /// parts.
    pub(crate) overtaken: BTreeMap<LeaseId, Range>,
    accepted: IntervalSet,
}

impl Job {
    pub(crate) fn new(spec: JobSpec, policy: Option<AuditPolicy>, known: Known) -> Job {
        let plan = spec.plan;
        let pool = plan.ordinals(spec.shard);
        Job {
            spec,
            fingerprint: plan.fingerprint(),
            tasks: pool.len(),
            policy,
            audits: Audits::new(0, 0),
            known,
            stage: Stage::Live(Live::running(false)),
            times: Times::default(),
            hours: Hours::default(),
            served_until: 0,
            waited_ms: 0,
            unanswered: 0,
            tasks_done: 0,
            total: 0,
            disputes: BTreeMap::new(),
            is_offered: true,
            timeouts: Timeouts::default(),
            patience: 1,
            heard_at: Millis(0),
            pool,
            failed: IntervalSet::new(),
            lost: VecDeque::new(),
            scheduler: StratumScheduler::new(&plan),
            costs: Costs::default(),
            leased: BTreeMap::new(),
            leased_tasks: 0,
            late: BTreeSet::new(),
            overtaken: BTreeMap::new(),
            accepted: IntervalSet::new(),
        }
    }

    /// The ranges that are leased for their first count, each with its latest lease.
    pub(crate) fn leased(&self) -> impl Iterator<Item = (Range, LeaseId)> + '_ {
        self.leased.iter().filter_map(|(&start, it)| Some((Range::new(start, it.end)?, it.lease)))
    }

    /// The ordinals that are accepted or on their way into the ledger.
    pub(crate) fn accepted(&self) -> &IntervalSet {
        &self.accepted
    }

    /// Whether something of the job may be leased: the job runs, or it is done and ranges of it are
    /// still counted again.
    pub(crate) fn is_served(&self) -> bool {
        let is_audited = matches!(self.stage, Stage::Done) && !self.audits.are_over();
        self.stage.is_running() || is_audited
    }

    /// Whether this job gives all that a submission asks for: the same count, checked at least as
    /// well.
    pub(crate) fn answers(&self, wanted: &Job) -> bool {
        let gives = |wanted| self.policy.is_some_and(|policy| policy.gives(wanted));
        let JobSpec { plan, shard, .. } = self.spec;
        (plan, shard) == (wanted.spec.plan, wanted.spec.shard) && wanted.policy.is_none_or(gives)
    }

    pub(crate) fn is_covered(&self) -> bool {
        self.tasks_done == self.tasks
    }

    /// Whether the job can end: everything is counted, and nothing waits for another count.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_covered() && self.disputes.is_empty() && self.audits.are_over()
    }

    /// What must differ between a count and a second opinion about it: the machine, or the owner.
    pub(crate) fn across(&self) -> AuditScope {
        self.policy.map(|policy| policy.across).unwrap_or_default()
    }

    /// Whether a range lies in the job's shard of the plan.
    pub(crate) fn holds(&self, range: Range) -> bool {
        let JobSpec { plan, shard, .. } = self.spec;
        range.end() <= plan.tasks && (shard.is_all() || plan.ordinals(shard).contains(range))
    }

    /// Leases at most `tasks` free ordinals in one piece, from the stratum whose turn it is for the
    /// session.
    pub(crate) fn assign(
        &mut self,
        session: SessionId,
        tasks: u64,
        lease: LeaseId,
        due: Millis,
    ) -> Option<Range> {
        let range = self.scheduler.take(session, &mut self.pool, tasks)?;
        self.note_leased(range, lease, due);
        Some(range)
    }

    /// The first ordinal of the leased range whose end should be leased to another session as well,
    /// which takes `task_ms` for a task. The range that has been late for longest comes first. If
    /// no range is late, it is the one that will be late last. `None` if nothing should be
    /// overtaken.
    pub(crate) fn to_overtake(&self, now: Millis, lease_ms: u64, task_ms: u64) -> Option<u64> {
        const MOST: usize = 1_024;
        if self.overtaken.len() >= MOST {
            return None;
        }
        let late = self.late.range(..=(now, u64::MAX));
        let others = self.late.range((now.after(lease_ms), 0)..).rev();
        let mut starts = late.chain(others).map(|&(_, start)| start);
        starts.find(|start| self.leased[start].is_slower_than(now, lease_ms, task_ms))
    }

    pub(crate) fn next_late(&self, now: Millis) -> Option<Millis> {
        self.late.range((now.after(1), 0)..).next().map(|&(at, _)| at)
    }

    /// Leases once more the last ordinals, at most `tasks`, of the leased range that starts at
    /// `start`. The returned range is late when it is due, but not before a quarter of a lease's
    /// time has passed. Each further time that it is overtaken, this least time doubles.
    pub(crate) fn overtake(
        &mut self,
        start: u64,
        tasks: u64,
        lease: LeaseId,
        now: Millis,
        due: Millis,
        lease_ms: u64,
    ) -> Range {
        const MOST_DOUBLINGS: u32 = 16;
        let leased = self.leased[&start];
        let from = start.max(leased.end.saturating_sub(tasks));
        let range = Range::new(from, leased.end).expect("it is not empty");
        self.take_leased(range, |_| true);
        let least_ms = (lease_ms / 4).saturating_mul(1 << leased.overtaken.min(MOST_DOUBLINGS));
        let late_at = due.max(now.after(least_ms));
        let overtaken = leased.overtaken + 1;
        self.keep_leased(from, Leased { lease, due, late_at, overtaken, ..leased });
        let overtaken = self.overtaken.entry(leased.lease).or_insert(range);
        *overtaken = overtaken.hull(range);
        range
    }

    /// Takes back the loss of a process that has come back. What was lost less than three times
    /// without it has not failed.
    pub(crate) fn came_back(&mut self, process: &Process) {
        let Some(at) = self.lost.iter().position(|(lost, _)| lost == process) else { return };
        let (_, ordinals) = self.lost.remove(at).expect("it was just found");
        for range in ordinals.iter() {
            let mut spared: IntervalSet = self.failed.within(range).collect();
            for part in self.lost_thrice(range) {
                spared.remove(part);
            }
            for part in spared.iter() {
                self.failed.remove(part);
                self.put_back(part);
            }
        }
        self.check();
    }

    /// Leases those ordinals of `range` that are in the pool.
    pub(crate) fn adopt(&mut self, range: Range, lease: LeaseId, due: Millis) -> Vec<Range> {
        let free = self.pool.remove(range);
        free.iter().for_each(|&part| self.note_leased(part, lease, due));
        free
    }

    fn note_leased(&mut self, range: Range, lease: LeaseId, due: Millis) {
        let leased = Leased { end: range.end(), lease, due, late_at: due, overtaken: 0 };
        self.keep_leased(range.start(), leased);
    }

    fn keep_leased(&mut self, start: u64, leased: Leased) {
        self.leased.insert(start, leased);
        self.late.insert((leased.late_at, start));
        self.leased_tasks += leased.end - start;
    }

    /// Puts what `lease` still holds of `range` back into the pool.
    pub(crate) fn release(&mut self, range: Range, lease: LeaseId) {
        let taken = self.take_leased(range, |holder| holder == lease);
        taken.into_iter().for_each(|(_, part)| self.put_back(part));
        self.check();
    }

    /// Accepts `range`, and takes it out of the pool and of all leases. Returns the leases that it
    /// may overlap, each with the part to take out of it. An overtaken lease may hold less than
    /// this part.
    pub(crate) fn accept(&mut self, range: Range) -> Vec<(LeaseId, Range)> {
        assert!(!self.accepted.intersects(range), "accepted ranges must be disjoint: {range}");
        let mut taken = self.take_leased(range, |_| true);
        let overtaken = self.overtaken.iter();
        taken.extend(overtaken.filter_map(|(&id, of)| Some((id, of.intersect(range)?))));
        self.pool.remove(range);
        self.failed.remove(range);
        self.forget_losses(range);
        self.accepted.insert(range);
        self.check();
        taken
    }

    /// Notes that a process was lost with these ordinals. Returns those that fail by this: those
    /// that nobody has now, that were lost for at least the third time, and that another owner
    /// lost, too, unless `is_alone` says that no other owner could count them.
    pub(crate) fn record_loss(
        &mut self,
        process: &Process,
        ordinals: IntervalSet,
        is_alone: impl FnOnce() -> bool,
    ) -> IntervalSet {
        const MOST: usize = 1_024;
        if self.lost.len() == MOST {
            self.lost.pop_front();
        }
        self.lost.push_back((process.clone(), ordinals));
        let (_, ordinals) = self.lost.back().expect("it was just added");
        let mut often: IntervalSet =
            ordinals.iter().flat_map(|range| self.lost_thrice(range)).collect();
        if !often.is_empty() && !is_alone() {
            let others = || self.lost.iter().filter(|((owner, _), _)| *owner != process.0);
            let of_others = |part| others().flat_map(move |(_, lost)| lost.within(part));
            often = often.iter().flat_map(of_others).collect();
        }
        let failed: IntervalSet = often.iter().flat_map(|part| self.pool.remove(part)).collect();
        failed.iter().for_each(|part| self.failed.insert(part));
        self.check();
        failed
    }

    /// The ordinals of `range` that were lost at least three times.
    fn lost_thrice(&self, range: Range) -> Vec<Range> {
        let [mut once, mut twice, mut thrice]: [IntervalSet; 3] = Default::default();
        for part in self.lost.iter().flat_map(|(_, ordinals)| ordinals.within(range)) {
            twice.within(part).for_each(|part| thrice.insert(part));
            once.within(part).for_each(|part| twice.insert(part));
            once.insert(part);
        }
        thrice.iter().collect()
    }

    fn forget_losses(&mut self, range: Range) {
        self.lost.retain_mut(|(_, ordinals)| {
            ordinals.remove(range);
            !ordinals.is_empty()
        });
    }

    /// Forgets all losses, and puts the failed ordinals back into the pool.
    pub(crate) fn forget_attempts(&mut self) {
        self.lost = VecDeque::new();
        let failed = std::mem::take(&mut self.failed);
        failed.iter().for_each(|range| self.pool.insert(range));
        self.is_offered = true;
        self.check();
    }

    fn put_back(&mut self, range: Range) {
        self.is_offered = true;
        self.pool.insert(range);
    }

    pub(crate) fn open_dispute(&mut self, range: Range, dispute: Dispute) {
        self.disputes.insert(range, dispute);
        self.is_offered = true;
    }

    /// Whether something came free, or has begun to wait for another count, since the last call.
    pub(crate) fn take_offered(&mut self) -> bool {
        self.audits.take_offered() | std::mem::take(&mut self.is_offered)
    }

    /// A range is no longer counted again under `lease`.
    pub(crate) fn end_recount(&mut self, range: Range, lease: LeaseId) {
        match self.disputes.get_mut(&range) {
            Some(dispute) if dispute.recount == Some(lease) => {
                dispute.recount = None;
                self.is_offered = true;
            }
            _ => self.audits.give_back(range, lease),
        }
    }

    /// Puts accepted ranges back into the pool, because they must be counted anew.
    pub(crate) fn take_back(&mut self, ranges: &IntervalSet) {
        for range in ranges.iter() {
            assert!(self.accepted.contains(range), "only what was accepted is taken back: {range}");
            self.accepted.remove(range);
            self.pool.insert(range);
        }
        self.is_offered = true;
        self.check();
    }

    fn take_leased(
        &mut self,
        range: Range,
        wanted: impl Fn(LeaseId) -> bool,
    ) -> Vec<(LeaseId, Range)> {
        let from = match self.leased.range(..=range.start()).next_back() {
            Some((&start, leased)) if leased.end > range.start() => start,
            _ => range.start(),
        };
        let overlapping =
            self.leased.extract_if(from..range.end(), |_, leased| wanted(leased.lease));
        let mut taken = Vec::new();
        for (start, leased) in overlapping.collect::<Vec<_>>() {
            let whole = Range::new(start, leased.end).expect("leased ranges are not empty");
            let part = whole.intersect(range).expect("it overlaps");
            self.late.remove(&(leased.late_at, start));
            self.leased_tasks -= whole.len();
            let rest = [Range::new(start, part.start()), Range::new(part.end(), leased.end)];
            for rest in rest.into_iter().flatten() {
                self.keep_leased(rest.start(), Leased { end: rest.end(), ..leased });
            }
            taken.push((leased.lease, part));
        }
        taken
    }

    fn check(&self) {
        assert_eq!(
            self.pool.len() + self.failed.len() + self.leased_tasks + self.accepted.len(),
            self.tasks,
            "free, leased, accepted and failed ordinals must make up the shard of the plan"
        );
    }

    /// How fast these sessions count the job. For a job that is over, how fast it was counted.
    pub(crate) fn rate_with(&self, workers: &[(SessionId, u32)]) -> Rate {
        if !self.stage.state().is_over() {
            return workers.iter().map(|&(session, _)| self.costs.speed_of(session).rate()).sum();
        }
        let seconds = self.times.counting().map_or(f64::INFINITY, |time| time.as_secs_f64());
        let seconds = seconds.max(1e-3);
        Rate {
            tasks_per_second: self.tasks_done as f64 / seconds,
            placements_per_second: self.total as f64 / seconds,
        }
    }

    /// How long `workers`, which are sessions and their threads, take for all free and leased
    /// tasks, microseconds. `None` before at least half of 16 equal blocks of the plan have an
    /// accepted task, and where the costs give no estimate.
    pub(crate) fn us_left(&self, workers: &[(SessionId, u32)]) -> Option<u64> {
        const PARTS: u64 = 16;
        let all = self.spec.plan.tasks;
        let tasks = all.div_ceil(PARTS);
        let part = |part: u64| Range::new(part * tasks, (part + 1) * tasks);
        let is_seen = |&range: &Range| self.accepted.intersects(range);
        let seen = (0..PARTS).filter_map(part).filter(is_seen).count() as u64;
        let left = self.pool.len() + self.leased_tasks;
        self.costs.us_left(left, workers).filter(|_| 2 * seen >= all.div_ceil(tasks))
    }

    /// How much work is left of the job, to a factor of two: the binary digits of the thread time,
    /// in microseconds, that the tasks which are not accepted take by what the others took. Before
    /// any was counted, it is what the plan says.
    ///
    /// No estimate is much better, and workers do not change between jobs of about the same size
    /// with each report.
    pub(crate) fn work_left(&self) -> u32 {
        let us = (self.tasks - self.accepted.len()) as f64 * self.task_us();
        u64::BITS - (us as u64).leading_zeros()
    }

    /// Thread time that a task takes on average, microseconds. Before any was counted, it is what
    /// the plan says.
    pub(crate) fn task_us(&self) -> f64 {
        let plan = &self.spec.plan;
        self.costs.us_per_task().unwrap_or_else(|| plan.usual_us() / plan.tasks as f64)
    }

    /// Forgets what is needed only for counting, but keeps the ranges that wait to be counted
    /// again. Of a job that is over, the farm keeps what lists show of it and where its accepted
    /// ordinals begin and end, but no row. This takes about 2 KiB for a job that is done. A
    /// cancelled job has at most some hundred runs of accepted ordinals, each of which takes 40
    /// bytes more.
    pub(crate) fn rest(&mut self) {
        self.costs = Costs::new(self.costs.all());
        self.scheduler = StratumScheduler::new(&self.spec.plan);
        self.lost = VecDeque::new();
        self.timeouts = Timeouts::default();
        if !self.is_served() {
            drop(self.audits.drop(|_| true));
        }
    }

    pub(crate) fn forget_session(&mut self, session: SessionId) {
        self.costs.forget_session(session);
        self.scheduler.forget_session(session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::OpenLease;
    use crate::{Method, Origin, Plan, Problem, Shard};

    /// A job of 64,000 tasks.
    fn job() -> Job {
        let (problem, method) = (Problem::Total { n: 18 }, Method::Rows { rows: 3 });
        let plan = Plan { problem, method, tasks: 64_000 };
        let spec = JobSpec { origin: Origin::of("lab"), plan, shard: Shard::ALL, priority: 0 };
        Job::new(spec, None, Known::nothing())
    }

    /// A session has counted a range within `ms`.
    fn counted(job: &mut Job, session: SessionId, range: Range, ms: u64) {
        let lease = OpenLease::for_test(session);
        job.accept(range);
        job.costs.measured(Millis(ms), Millis(0), &lease, 1, range.len(), 1.0);
    }

    #[test]
    fn nothing_is_told_before_half_of_the_plan_was_looked_at() {
        let mut job = job();
        for part in 0..8 {
            assert_eq!(job.us_left(&[(SessionId(1), 1)]), None, "{part} parts were seen");
            let range = Range::new(8_000 * part, 8_000 * part + 10).expect("not empty");
            counted(&mut job, SessionId(1), range, 5_000 * (part + 1));
        }
        assert!(job.us_left(&[(SessionId(1), 1)]).is_some());
    }

    #[test]
    fn a_job_that_is_over_keeps_nothing_of_who_counted_it() {
        let mut job = job();
        for session in (0..100).cycle().map(SessionId) {
            let id = LeaseId(session.0);
            let Some(range) = job.assign(session, 10, id, Millis(0)) else { break };
            counted(&mut job, session, range, 1);
        }
        let cost = job.costs.us_per_task();
        job.rest();

        assert_eq!((job.costs.speed_of(SessionId(1)).counted, job.costs.rate), (0, 0));
        assert_eq!(job.costs.us_per_task(), cost, "what was counted is still told");
        assert_eq!(job.accepted().iter().count(), 1, "one range");
        assert!(size_of::<Job>() <= 1_536, "{}", size_of::<Job>());
    }
}
