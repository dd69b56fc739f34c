//! Which session is leased which range, how large, and for how long.
//!
//! ```text
//!   a session ─┬─ missed a deadline ──► rests, and then comes after all others
//!              ├─ holds as many tasks as its credit allows ──► nothing
//!              ├─ a job has work, by turns ─┬─ a range that waits for another count ──► recount
//!              │                            └─ free ordinals ─────────────────────────► count
//!              │       ... and the session still holds half of what it should ──► nothing, until it has counted that
//!              ├─ holds nothing, and another session's range would be back sooner by it ──► overtake
//!              └─ otherwise ──► refused: it looks again once something is new
//! ```
//!
//! A worker holds about `lease_ms` worth of work, by the speed that the farm saw. If a job takes
//! long, the worker holds more of it, so that the ledger has fewer rows ([`Pace`](crate::Pace)),
//! but at most a 256th of its share. The share of a worker is half of the free tasks, times its
//! part of all workers' speed. The share of a worker that is alone is all of the free tasks. No
//! worker holds more than its share, so that leases become smaller towards the end of a job and all
//! workers finish together. A worker is leased more when half of what it should hold is left.
//!
//! Before the speed of a worker on a job is known, the worker gets a probe. Afterwards it never
//! gets more than twice what it was seen to count. What it says of its threads and its credit
//! therefore gains it nothing.
//!
//! **One rule of overtaking.** Each leased range is *due* when its session should have counted it,
//! by the speed that was seen of the session. An idle session whose speed is known, and for which
//! nothing else is left, is leased the end of such a range as well, if it would bring it back
//! sooner by the time of one lease. If a range is late, or if its session has never counted, nobody
//! knows when the range will be back, and any other session is taken to be sooner. Thus the tail of
//! a job is leased twice, whether a worker is slow, hangs or is gone, and no worker decides alone
//! when a job ends. The first report counts, and the other lease is revoked.
//!
//! There may be many idle workers. A worker for which there is nothing is *refused*. The farm looks
//! again for work for it only once something new can be leased.

use super::{Farm, existing};
use crate::lease::{LeaseTime, OpenLease};
use crate::session::Session;
use crate::{
    AuditScope, CoordinatorMessage, Holding, IntervalSet, JobId, Lease, LeaseId, LeaseKind,
    LeaseToken, Millis, Range, Recount, SessionId,
};

/// What a session may be leased next.
enum Work {
    /// An accepted range once more, as a whole.
    Recount(Range, Recount),
    /// Free ordinals.
    Count,
    /// The end of what another session has, from this ordinal on.
    Overtake(u64),
}

/// The size of a worker's probe is for at most this many threads, whatever the worker says of its
/// threads.
const UNSEEN_THREADS: u64 = 64;
/// No worker holds more of a job than this many times the tasks that it was seen to count of it.
/// The first tasks of a plan may be a hundred times as cheap as the others.
const GROWTH: u64 = 2;

/// A lease that is longer than `lease_ms` has at most the worker's share of the free tasks, divided
/// by this.
const LONG: u128 = 256;

/// A lease lives without a report for at least this many times the average time of a task. The
/// longest task of `colours` takes up to 3.5 times the average, which is rounded up to four. The
/// other factor of four is for tasks that a thread got earlier and may have to finish first.
const LONGEST_TASKS: u64 = 4 * 4;

/// A lease is not cut into more parts than this, so that no part is too short.
const MOST_PARTS: u128 = 200;

impl Farm {
    /// Leases to a session that has just sent something: at once, or after all others if it missed
    /// a deadline.
    pub(super) fn serve(&mut self, id: SessionId) {
        if self.sessions.get(&id).is_some_and(|session| session.seen.missed > 0) {
            self.idle.insert(id);
        } else {
            self.feed(id);
        }
    }

    /// Leases to one session until it has enough or nothing is left.
    fn feed(&mut self, id: SessionId) {
        self.stop_waiting(id);
        if self.sessions.get(&id).is_some_and(|session| session.rests_until > Some(self.now)) {
            self.idle.insert(id);
            return;
        }
        while self.sessions.get(&id).is_some_and(|session| session.room() > 0) {
            let Some((job, work)) = self.next_work(id) else {
                self.refused.insert(id);
                return;
            };
            let is_leased = match work {
                Work::Recount(range, recount) => self.recount(id, job, range, recount),
                Work::Count => self.count(id, job),
                Work::Overtake(start) => self.overtake(id, job, start),
            };
            if !is_leased {
                return;
            }
        }
    }

    /// Takes a session out of those that wait for something to do.
    pub(super) fn stop_waiting(&mut self, id: SessionId) {
        self.idle.remove(&id);
        self.refused.remove(&id);
    }

    /// Leases to all that wait, as something may have become leasable.
    pub(super) fn serve_idle(&mut self) {
        while self.wakeups.first().is_some_and(|&at| at <= self.now) {
            self.wakeups.pop_first();
            self.idle.append(&mut self.refused);
        }
        self.wake_refused();
        let mut idle: Vec<SessionId> = self.idle.iter().copied().collect();
        idle.sort_by_key(|id| self.sessions[id].seen.missed);
        idle.into_iter().for_each(|id| self.feed(id));
        // What others were just leased may be slow enough to be overtaken: that is for the next
        // step.
        let finds_nothing = |&id| self.waiting_work(id).is_none();
        debug_assert!(
            self.refused.iter().all(finds_nothing),
            "a session waits for what it could be leased"
        );
    }

    /// Lets refused sessions look again: all of them if something new can be leased, otherwise
    /// those that may overtake another session.
    fn wake_refused(&mut self) {
        let lease_ms = self.pace.lease_ms(&self.config);
        for id in self.leasable().collect::<Vec<_>>() {
            let job = existing(&mut self.jobs, id);
            if job.take_offered() {
                self.idle.append(&mut self.refused);
            }
            // No session is faster than one that takes no time.
            if job.to_overtake(self.now, lease_ms, 0).is_some() {
                let is_faster = |session: &&SessionId| self.to_overtake(id, **session).is_some();
                let faster: Vec<SessionId> =
                    self.refused.iter().filter(is_faster).copied().collect();
                self.idle.extend(faster);
            }
        }
    }

    /// What a session is leased next, and of which job. `None` if there is nothing for the session.
    fn next_work(&self, id: SessionId) -> Option<(JobId, Work)> {
        let overtaken = || {
            let start = |job| Some((job, Work::Overtake(self.to_overtake(job, id)?)));
            self.in_turn(id).find_map(start)
        };
        self.waiting_work(id).or_else(overtaken)
    }

    /// Work that no other session has, from the first job in the session's turn that has such work.
    fn waiting_work(&self, id: SessionId) -> Option<(JobId, Work)> {
        let session = &self.sessions[&id];
        self.in_turn(id).find_map(|job| {
            let recount = self.recount_for(job, session);
            let recount = recount.map(|(range, recount)| Work::Recount(range, recount));
            Some((job, recount.or_else(|| self.may_start(job).then_some(Work::Count))?))
        })
    }

    /// Whether free ordinals of a job may be leased.
    fn may_start(&self, id: JobId) -> bool {
        self.lease_from <= self.now && !self.jobs[&id].pool.is_empty()
    }

    /// The first ordinal of a leased range that this session should count as well. `None` if it
    /// should overtake nobody.
    fn to_overtake(&self, job_id: JobId, id: SessionId) -> Option<u64> {
        let (session, job) = (&self.sessions[&id], &self.jobs[&job_id]);
        let is_idle = session.seen.tasks == 0 && self.lease_from <= self.now;
        let rate = job.costs.speed_of(id).tasks_per_kilosecond().filter(|_| is_idle)?;
        job.to_overtake(self.now, self.pace.lease_ms(&self.config), 1_000_000 / rate)
    }

    /// A range that waits for another count and that this session may count. The range is leased as
    /// a whole. Disputed ranges that nobody counts again yet come first, if the session may decide
    /// them; a trusted session may decide any of them. A range that exceeds every worker's credit
    /// goes to an idle worker.
    fn recount_for(&self, id: JobId, session: &Session) -> Option<(Range, Recount)> {
        let (job, principal) = (&self.jobs[&id], session.principal());
        let may = |range| !job.timeouts.sets_back(range, principal, self.now);
        let disputed = job.disputes.iter().find(|&(&range, dispute)| {
            let waits = dispute.recount.is_none() && !dispute.settling;
            let is_heard = session.is_trusted || dispute.hears(principal);
            waits && is_heard && session.has_room_for_recount(range.len()) && may(range)
        });
        if let Some((&range, dispute)) = disputed {
            return Some((range, Recount { unlike: dispute.kernel, by_reference: false }));
        }
        let by_reference = job.policy.is_some_and(|policy| policy.by_reference);
        let (range, unlike) = job.audits.for_session(session, job.across(), may)?;
        Some((range, Recount { unlike, by_reference }))
    }

    /// Leases a range that waits for another count. Returns `false` if the session holds enough for
    /// now. A disputed range is leased even then.
    fn recount(&mut self, id: SessionId, job_id: JobId, range: Range, recount: Recount) -> bool {
        let is_disputed = self.jobs[&job_id].disputes.contains_key(&range);
        if !is_disputed && self.held_as_of(id, job_id) > self.wanted_tasks(id, job_id, u64::MAX) / 2
        {
            return false;
        }
        let (lease, ttl_ms) = (self.lease_id(), self.ttl_ms(id, job_id));
        let job = existing(&mut self.jobs, job_id);
        match job.disputes.get_mut(&range) {
            Some(dispute) => dispute.recount = Some(lease),
            None => job.audits.assign(range, lease),
        }
        let term = LeaseTime::of_recount(self.now, ttl_ms, job.timeouts.factor(range));
        self.lease(id, lease, job_id, range, Some(recount), term);
        true
    }

    /// Leases free ordinals. Returns `false` if the session holds enough for now.
    fn count(&mut self, id: SessionId, job_id: JobId) -> bool {
        let wanted = self.wanted_tasks(id, job_id, self.jobs[&job_id].pool.len());
        let held = self.held_as_of(id, job_id);
        if held > wanted / 2 {
            return false;
        }
        let tasks = self.in_one_piece(id, job_id, wanted - held);
        let expected_ms = self.expected_ms(id, job_id, held + tasks);
        let term = LeaseTime::of_count(self.now, self.ttl_ms(id, job_id), expected_ms);
        let (now, lease) = (self.now, self.lease_id());
        let job = existing(&mut self.jobs, job_id);
        let range = job.assign(id, tasks, lease, now.after(expected_ms.unwrap_or(0)));
        self.lease(id, lease, job_id, range.expect("the job has free ordinals"), None, term);
        true
    }

    /// Leases to an idle session the end of the leased range that starts at the ordinal `start` and
    /// that another session already has.
    fn overtake(&mut self, id: SessionId, job_id: JobId, start: u64) -> bool {
        let wanted = self.wanted_tasks(id, job_id, self.jobs[&job_id].leased_tasks);
        let tasks = self.in_one_piece(id, job_id, wanted);
        let expected_ms = self.expected_ms(id, job_id, tasks);
        let term = LeaseTime::of_count(self.now, self.ttl_ms(id, job_id), expected_ms);
        let (now, lease) = (self.now, self.lease_id());
        let due = now.after(expected_ms.expect("only sessions of known speed overtake"));
        let lease_ms = self.pace.lease_ms(&self.config);
        let range =
            existing(&mut self.jobs, job_id).overtake(start, tasks, lease, now, due, lease_ms);
        self.lease(id, lease, job_id, range, None, term);
        true
    }

    /// How long a session takes to count this many tasks of a job, ms. `None` before its speed is
    /// known.
    fn expected_ms(&self, id: SessionId, job: JobId, tasks: u64) -> Option<u64> {
        let rate = self.jobs[&job].costs.speed_of(id).tasks_per_kilosecond()?;
        Some(tasks.saturating_mul(1_000_000) / rate)
    }

    /// All work that a session holds, of whatever job, converted to tasks of this job.
    fn held_as_of(&self, id: SessionId, job: JobId) -> u64 {
        self.sessions[&id].held_as_of(job, self.task_ns(id, job))
    }

    /// The largest number of tasks, at most `tasks`, that a session may be leased in one piece.
    fn in_one_piece(&self, id: SessionId, job: JobId, tasks: u64) -> u64 {
        tasks.min(self.sessions[&id].room()).min(self.piece(id, job))
    }

    /// How many tasks a session should hold while it works on a job; at least 1. All sessions
    /// together share `pool` tasks of the job.
    fn wanted_tasks(&self, id: SessionId, job_id: JobId, pool: u64) -> u64 {
        let (session, job) = (&self.sessions[&id], &self.jobs[&job_id]);
        let threads = session.seen.threads;
        let Some(rate) = job.costs.speed_of(id).tasks_per_kilosecond() else {
            return self.probe_tasks(threads);
        };
        let lease = u128::from(rate) * u128::from(self.pace.lease_ms(&self.config)) / 1_000_000;
        let pool = u128::from(pool);
        let share = match self.sessions.len() {
            1 => pool,
            _ => pool * u128::from(rate) / (2 * u128::from(job.costs.rate.max(rate).max(1))),
        };
        let long = u128::from(rate) * u128::from(self.pace.long_lease_ms(&self.config)) / 1_000_000;
        let lease = lease.max(long.min(share / LONG));
        let tasks = lease.min(share).min(u128::from(Lease::MOST_TASKS));
        let tasks = u64::try_from(tasks).expect("it is at most MOST_TASKS");
        tasks.max(threads.into()).min(job.costs.speed_of(id).counted.saturating_mul(GROWTH))
    }

    /// The most tasks that a session is leased in one piece.
    fn piece(&self, id: SessionId, job_id: JobId) -> u64 {
        let (session, job) = (&self.sessions[&id], &self.jobs[&job_id]);
        let rate = u128::from(job.costs.speed_of(id).tasks_per_kilosecond().unwrap_or(0));
        let shortest =
            rate * u128::from(self.pace.lease_ms(&self.config)) / (MOST_PARTS * 1_000_000);
        let shortest = u64::try_from(shortest).unwrap_or(u64::MAX);
        let threads = u64::from(session.seen.threads);
        job.scheduler.piece.max(shortest).max(threads)
    }

    fn lease(
        &mut self,
        session: SessionId,
        lease: LeaseId,
        job: JobId,
        range: Range,
        recount: Option<Recount>,
        term: LeaseTime,
    ) {
        if recount.is_none() {
            self.begin(job);
        }
        self.assign(session, lease, job, range, recount.is_some(), term);
        let spec = &self.jobs[&job].spec;
        let ns = u128::from(range.len()) * u128::from(self.task_ns(session, job));
        self.queue.note_lease(spec.priority, &spec.origin.owner, job, self.next_lease, ns);
        let (plan, fingerprint) = (self.jobs[&job].spec.plan, self.jobs[&job].fingerprint);
        let kind = if recount.is_some() { LeaseKind::Recount } else { LeaseKind::Count };
        let token = LeaseToken::new(range, kind, [0; 16]);
        let mut lease = Lease { id: lease, job, plan, fingerprint, range, token, recount };
        let owner = &self.sessions[&session].principal().owner;
        lease.token = self.key.sign(&Holding::of_lease(&lease), owner);
        self.tell(session, CoordinatorMessage::Lease(lease));
    }

    /// Notes that a session holds `range` for this term, under a new or an adopted lease.
    pub(super) fn assign(
        &mut self,
        session_id: SessionId,
        lease: LeaseId,
        job: JobId,
        range: Range,
        recount: bool,
        term: LeaseTime,
    ) {
        self.end_wait(job, 1_000);
        let task_ns = self.task_ns(session_id, job);
        let new = OpenLease {
            session: session_id,
            job,
            open: IntervalSet::new(),
            recount,
            reported: false,
            leased_at: self.now,
            task_ns,
            term,
        };
        // All parts of a lease have the same price, also if the worker brings them back one by one.
        let task_ns = self.leases.assign(lease, range, new).task_ns;
        let ns = u128::from(range.len()) * u128::from(task_ns);
        let session = self.sessions.get_mut(&session_id).expect("only sessions are leased to");
        session.leases.insert(lease);
        session.hold(self.now, job, range.len(), ns);
        self.account_of(job).leased_ns += ns;
    }

    /// Thread time that a task of a job takes a session, nanoseconds. Before the session's speed is
    /// known, its probe is assumed to last as long as an ordinary lease.
    fn task_ns(&self, id: SessionId, job: JobId) -> u64 {
        const NS: u64 = 1_000_000_000_000;
        let (session, job) = (&self.sessions[&id], &self.jobs[&job]);
        match job.costs.speed_of(id).tasks_per_kilosecond() {
            Some(rate) => NS.saturating_mul(session.threads().into()) / rate,
            None => self.pace.lease_ms(&self.config) * 1_000_000 / self.config.probe_tasks.max(1),
        }
    }

    /// How many tasks a session of this many threads is leased before its speed is known.
    fn probe_tasks(&self, threads: u32) -> u64 {
        u64::from(threads).min(UNSEEN_THREADS) * self.config.probe_tasks.max(1)
    }

    /// How long a session's leases of a job live without a report, ms.
    ///
    /// A task is never cut, and nothing is reported of it before its end. Therefore a lease lives
    /// at least [`LONGEST_TASKS`] times as long as this session takes for a task on average. The
    /// task may be of this job or of another job that the session holds tasks of, as it may count
    /// those first. The tasks that the session has counted so far may be unlike the rest of the
    /// plan. Therefore the average is never taken to be less than the plan's estimate, which is
    /// made for slow workers.
    pub(super) fn ttl_ms(&self, id: SessionId, job_id: JobId) -> u64 {
        let session = &self.sessions[&id];
        let task_ms = |job: JobId| {
            let job = &self.jobs[&job];
            job.costs.speed_of(id).task_ms().max(job.known.task_ms)
        };
        let held = session.held().map(|(job, _)| job).chain([job_id]);
        let task_ms = held.map(task_ms).max().unwrap_or(0);
        self.usual_ttl_ms(job_id).max(task_ms.saturating_mul(LONGEST_TASKS))
    }

    /// How long leases of a job live without a report if its tasks are short, ms.
    fn usual_ttl_ms(&self, job: JobId) -> u64 {
        self.pace.lease_ttl_ms(&self.config).saturating_mul(self.jobs[&job].patience)
    }

    /// Until when a session's lease of a job lives if something of it is reported now.
    pub(super) fn deadline(&self, id: SessionId, job: JobId) -> Millis {
        self.now.after(self.ttl_ms(id, job))
    }

    pub(super) fn expire(&mut self) {
        while let Some(id) = self.leases.overdue(self.now) {
            let lease = self.leases.get(id).expect("it is overdue");
            let (session, job, leased_at) = (lease.session, lease.job, lease.leased_at);
            if !lease.reported {
                self.missed(session, job, leased_at);
            } else if lease.recount {
                self.timed_out(id);
            }
            self.stats.leases_expired += 1;
            self.revoke(id);
        }
    }

    /// A recount has not come back in time, although its worker has reported progress. Sessions of
    /// another party are leased the range first, and the next lease of the range has more time.
    fn timed_out(&mut self, id: LeaseId) {
        let lease = self.leases.get(id).expect("callers name leases that exist");
        let (range, held_ms) = (lease.open.iter().next(), self.now.0 - lease.leased_at.0);
        let principal = self.sessions[&lease.session].principal();
        let is_own = |session: &Session| session.principal().owner == principal.owner;
        let is_only_owner = self.sessions.values().all(is_own);
        let job = existing(&mut self.jobs, lease.job);
        // If other owners are connected, the whole owner waits: an owner could invent any number of
        // machines, which would take turns.
        let across = if is_only_owner { job.across() } else { AuditScope::Owners };
        let (party, until) = (principal.party(across), self.now.after(held_ms));
        job.timeouts.note(range.expect("a lease is not empty"), party, until);
        self.wakeups.insert(until);
        // Another range may have been forgotten for this one.
        self.idle.append(&mut self.refused);
    }

    /// The term of a lease is over, and its connected worker has reported nothing of it.
    ///
    /// The worker may hang. Its session rests, so that sessions that are busy now can take the
    /// range, and is then served after all others. If nobody has reported anything of the job
    /// meanwhile, its tasks may instead last longer than its deadlines. The deadlines then grow, as
    /// the job would never end otherwise. They grow once, however many leases missed the same
    /// deadline, because a laptop that slept misses all of its deadlines at once without any long
    /// task.
    fn missed(&mut self, session: SessionId, job_id: JobId, leased_at: Millis) {
        const MAX_PATIENCE: u64 = 64;
        let job = existing(&mut self.jobs, job_id);
        if leased_at >= job.heard_at {
            job.patience = (job.patience * 2).min(MAX_PATIENCE);
            job.heard_at = self.now;
        }
        let rest = self.now.after(self.usual_ttl_ms(job_id));
        self.wakeups.insert(rest);
        let session = self.sessions.get_mut(&session).expect("leases end with it");
        session.rests_until = Some(rest);
        session.seen.missed = session.seen.missed.saturating_add(1);
    }
}
