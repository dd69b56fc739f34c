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
//! A worker holds about `lease_ms` worth of work, by the speed that the farm saw. Of a job that
//! takes long it holds more, so that the ledger has fewer rows of it ([`Pace`](crate::Pace)), up to
//! a 256th of its share of what is left. Towards the end of a job it holds less, in proportion to
//! its share of all workers' speed, so that all finish together. It is served again when half of
//! that is left. A worker without company has nobody to leave a share for. Before its speed on a
//! job is known it gets a probe, and then never more than twice what it was seen to count, so that
//! what it says of its threads and its credit gets it nothing.
//!
//! **One rule of overtaking.** Each leased range is *due* when its session should have counted it,
//! by the speed that was seen of the session. A session that has nothing, finds nothing and was
//! seen to count is leased the end of a range, too, if that would come back sooner by a lease's
//! time. Nobody knows when a range will be back that is late, or whose session has never counted:
//! any session would be sooner. Thus the tail of a job is leased twice, whether a worker is slow,
//! hangs or is gone, and no worker decides alone when a job ends. The first report counts, and the
//! other lease is revoked.
//!
//! Idle workers may be many. A worker that found nothing is *refused*, and looks again only once
//! something has become leasable that was not before.

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

/// No lease is larger, so that losing one never costs more than this, whatever a worker says
/// about its speed.
const MAX_LEASE_TASKS: u64 = 1 << 22;
/// Before a worker has counted anything, so many of its threads are trusted.
const UNSEEN_THREADS: u64 = 64;
/// No worker holds more than so many times what it was seen to count of a job. The first tasks of a
/// plan may be a hundred times as cheap as the others.
const GROWTH: u64 = 2;

/// Leases beyond `lease_ms` are not longer than such a part of a worker's share of what is left.
const LONG: u128 = 256;

/// A lease lives without news for at least so many times as long as a task takes on average: four
/// times as long as the longest task, which takes up to 3.5 times the mean by `colours`. Within
/// this time a thread may also have to finish tasks that it got before.
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

    /// Lets refused sessions look again: all of them if something is new, and those that would have
    /// back sooner what another one has.
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

    /// What a session is leased next, and of which job; `None` if there is nothing for it.
    fn next_work(&self, id: SessionId) -> Option<(JobId, Work)> {
        let overtaken = || {
            let start = |job| Some((job, Work::Overtake(self.to_overtake(job, id)?)));
            self.in_turn(id).find_map(start)
        };
        self.waiting_work(id).or_else(overtaken)
    }

    /// Work for a session that nobody has, of the first job in its turn that has some.
    fn waiting_work(&self, id: SessionId) -> Option<(JobId, Work)> {
        let session = &self.sessions[&id];
        self.in_turn(id).find_map(|job| {
            let recount = self.recount_for(job, session);
            let recount = recount.map(|(range, recount)| Work::Recount(range, recount));
            Some((job, recount.or_else(|| self.may_start(job).then_some(Work::Count))?))
        })
    }

    /// Whether something of a job may be leased that was never counted.
    fn may_start(&self, id: JobId) -> bool {
        self.lease_from <= self.now && !self.jobs[&id].pool.is_empty()
    }

    /// The first ordinal of what another session has of a job and this one should count, too.
    fn to_overtake(&self, job_id: JobId, id: SessionId) -> Option<u64> {
        let (session, job) = (&self.sessions[&id], &self.jobs[&job_id]);
        let is_idle = session.seen.tasks == 0 && self.lease_from <= self.now;
        let rate = job.costs.speed_of(id).tasks_per_kilosecond().filter(|_| is_idle)?;
        job.to_overtake(self.now, self.pace.lease_ms(&self.config), 1_000_000 / rate)
    }

    /// A range that waits for being counted again by this worker. It is leased whole. First of all
    /// it is a disputed one that the worker may decide and nobody counts again yet: a trusted one
    /// may in any case. One that exceeds every worker's credit goes to a worker that is idle.
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

    /// Leases a range that waits for another count. `false` if the session has enough for now; a
    /// disputed range does not wait for that.
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

    /// Leases free ordinals. `false` if the session has enough for now.
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

    /// Leases the end of what another session has, from the ordinal `start` on, to one that holds
    /// nothing.
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

    /// How long so many tasks of a job take a session, ms; `None` before its speed is known.
    fn expected_ms(&self, id: SessionId, job: JobId, tasks: u64) -> Option<u64> {
        let rate = self.jobs[&job].costs.speed_of(id).tasks_per_kilosecond()?;
        Some(tasks.saturating_mul(1_000_000) / rate)
    }

    /// All that a session holds, as tasks of one job.
    fn held_as_of(&self, id: SessionId, job: JobId) -> u64 {
        self.sessions[&id].held_as_of(job, self.task_ns(id, job))
    }

    /// As many of these tasks as a session may be leased in one piece.
    fn in_one_piece(&self, id: SessionId, job: JobId, tasks: u64) -> u64 {
        tasks.min(self.sessions[&id].room()).min(self.piece(id, job))
    }

    /// How many tasks a session should hold while it works on a job of which there are `pool` for
    /// all; at least 1.
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
        let tasks = lease.min(share).min(u128::from(MAX_LEASE_TASKS));
        let tasks = u64::try_from(tasks).expect("it is at most MAX_LEASE_TASKS");
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
        let (plan, fingerprint) = (self.jobs[&job].spec.plan, self.jobs[&job].fingerprint);
        let kind = if recount.is_some() { LeaseKind::Recount } else { LeaseKind::Count };
        let token = LeaseToken { range, kind, mac: [0; 16] };
        let mut lease = Lease { id: lease, job, plan, fingerprint, range, token, recount };
        let owner = &self.sessions[&session].principal().owner;
        lease.token = self.key.sign(&Holding::of_lease(&lease), owner);
        self.tell(session, CoordinatorMessage::Lease(lease));
    }

    /// Notes that `range` is with `session` for this term, under a new or an adopted lease.
    pub(super) fn assign(
        &mut self,
        session_id: SessionId,
        lease: LeaseId,
        job: JobId,
        range: Range,
        recount: bool,
        term: LeaseTime,
    ) {
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
        // A lease that is taken up in several parts has one price.
        let task_ns = self.leases.assign(lease, range, new).task_ns;
        let ns = u128::from(range.len()) * u128::from(task_ns);
        let session = self.sessions.get_mut(&session_id).expect("only sessions are leased to");
        session.leases.insert(lease);
        session.hold(job, range.len(), ns);
        self.account_of(job).leased_ns += ns;
    }

    /// Thread time that a task of a job takes a session, nanoseconds. Before its speed is known,
    /// what it is leased first is taken to last as long as other leases.
    fn task_ns(&self, id: SessionId, job: JobId) -> u64 {
        const NS: u64 = 1_000_000_000_000;
        let (session, job) = (&self.sessions[&id], &self.jobs[&job]);
        let threads = session.seen.threads;
        let (ns, tasks) = match job.costs.speed_of(id).tasks_per_kilosecond() {
            Some(rate) => (NS, rate),
            None => (self.pace.lease_ms(&self.config) * 1_000_000, self.probe_tasks(threads)),
        };
        ns.saturating_mul(threads.into()) / tasks.max(1)
    }

    /// What a session of so many threads is leased before its speed is known.
    fn probe_tasks(&self, threads: u32) -> u64 {
        u64::from(threads).min(UNSEEN_THREADS) * self.config.probe_tasks.max(1)
    }

    /// How long a session's leases of a job live without news, ms.
    ///
    /// A task is never cut, and there is no news of it before its end. Therefore the time is at
    /// least [`LONGEST_TASKS`] times as long as a task takes this session on average, of this job
    /// or of another one that it holds tasks of and may count before. What it has counted first may
    /// be unlike the rest of a plan, so that it is never less than by the plan's estimate, which is
    /// for slow workers.
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

    /// The same where tasks are short.
    fn usual_ttl_ms(&self, job: JobId) -> u64 {
        self.pace.lease_ttl_ms(&self.config).saturating_mul(self.jobs[&job].patience)
    }

    /// Until when a session's lease of a job lives of which there is news now.
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

    /// A worker has said that it was getting on with a recount, which has not come back in time.
    /// Others of another party are leased it first, and the next lease of it has more time.
    fn timed_out(&mut self, id: LeaseId) {
        let lease = self.leases.get(id).expect("callers name leases that exist");
        let (range, held_ms) = (lease.open.iter().next(), self.now.0 - lease.leased_at.0);
        let principal = self.sessions[&lease.session].principal();
        let is_own = |session: &Session| session.principal().owner == principal.owner;
        let is_only_owner = self.sessions.values().all(is_own);
        let job = existing(&mut self.jobs, lease.job);
        // An owner could invent any number of machines, which would take turns.
        let across = if is_only_owner { job.across() } else { AuditScope::Owners };
        let (party, until) = (principal.party(across), self.now.after(held_ms));
        job.timeouts.note(range.expect("a lease is not empty"), party, until);
        self.wakeups.insert(until);
        // Another range may have been forgotten for this one.
        self.idle.append(&mut self.refused);
    }

    /// A worker that is there has reported nothing of a lease, all its time long.
    ///
    /// It may hang: it rests, so that sessions which are busy now can take the range, and is then
    /// served after all others. Or, if nobody has reported anything meanwhile, the job's tasks last
    /// longer than its deadlines: these grow, or the job would never end. They grow once, however
    /// many leases missed the same deadline: a laptop that slept is no job of long tasks.
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
