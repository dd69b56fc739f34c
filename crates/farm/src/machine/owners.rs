//! From which job a worker is served: jobs of higher priority first, of one priority those of the
//! owner that has the least of what is leased and was counted lately, and of one owner the job with
//! the least work left.
//!
//! ```text
//!   priority 5   ada ─ 9, 7                  of one owner the job with the least work left first
//!   priority 0   ada ─ 1, 4    bob ─ 2       the owner with the lowest turn first
//! ```
//!
//! One lease in [`SHARE`], by the thread time that is expected of them, goes to the owner's job
//! that has been leased nothing for the longest time. Therefore no job starves behind shorter ones,
//! and a job of which the work was taken to be more than it is shows it.
//!
//! Thus owners take turns and get equal shares of the workers, however many jobs they have. What
//! one owner cannot use, the others get. A worker stays with an owner until this owner is ahead by
//! some leases, because a worker has to make its kernels anew for another job.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::{Farm, existing};
use crate::account::Account;
use crate::{Hours, JobId, OwnerView, Report, SessionId};

/// Leases by which the owner of what a worker holds may be ahead of another before the worker
/// changes.
const STAY_LEASES: u64 = 4;

/// One lease in this many goes to the job that has waited for the longest time. The first leases of
/// a job are short, so that what counts is their thread time.
pub(super) const SHARE: u128 = 16;

/// Jobs of which something may be leased, by priority and owner.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns(BTreeMap<Reverse<i32>, BTreeMap<String, Line>>);

/// The jobs of one priority and owner. All fields but the last hold the same jobs.
#[derive(Clone, Debug, Default)]
struct Line {
    places: BTreeMap<JobId, Place>,
    by_work: BTreeSet<(u32, JobId)>,
    by_lease: BTreeSet<(u64, JobId)>,
    /// Thread time of the leases that are to come before the next one for the job that has waited
    /// for the longest time.
    until_share_ns: u128,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    /// See [`Job::work_left`](crate::job::Job::work_left).
    work: u32,
    /// The number of its latest lease. If it was leased nothing since it came, it is the number of
    /// the lease before it came.
    latest: u64,
}

impl Line {
    fn put(&mut self, id: JobId, place: Place) {
        self.take(id);
        self.places.insert(id, place);
        self.by_work.insert((place.work, id));
        self.by_lease.insert((place.latest, id));
    }

    fn take(&mut self, id: JobId) -> Option<Place> {
        let place = self.places.remove(&id)?;
        self.by_work.remove(&(place.work, id));
        self.by_lease.remove(&(place.latest, id));
        Some(place)
    }

    /// The jobs in the order in which the next lease is to be of them.
    fn in_order(&self) -> impl Iterator<Item = JobId> + '_ {
        let shares = self.until_share_ns == 0;
        let by_lease = self.by_lease.iter().filter(move |_| shares).map(|&(_, id)| id);
        by_lease.chain(self.by_work.iter().filter(move |_| !shares).map(|&(_, id)| id))
    }
}

impl Turns {
    /// Puts a job into its line with this work left, if it is not there. `latest` is the number of
    /// the farm's latest lease.
    pub(super) fn insert(&mut self, priority: i32, owner: &str, id: JobId, work: u32, latest: u64) {
        let line = self.0.entry(Reverse(priority)).or_default().entry(owner.into()).or_default();
        let latest = line.places.get(&id).map_or(latest, |place| place.latest);
        line.put(id, Place { work, latest });
    }

    /// Notes how much work is left of a job, if the job is in a line.
    pub(super) fn note_work(&mut self, priority: i32, owner: &str, id: JobId, work: u32) {
        let Some(line) = self.line_of(priority, owner) else { return };
        if let Some(&place) = line.places.get(&id).filter(|place| place.work != work) {
            line.put(id, Place { work, ..place });
        }
    }

    /// Notes that the lease of this number is of a job and is expected to take this long.
    pub(super) fn note_lease(
        &mut self,
        priority: i32,
        owner: &str,
        id: JobId,
        latest: u64,
        ns: u128,
    ) {
        let Some(line) = self.line_of(priority, owner) else { return };
        line.until_share_ns = match line.until_share_ns {
            0 => ns.saturating_mul(SHARE - 1),
            until => until.saturating_sub(ns),
        };
        if let Some(&place) = line.places.get(&id) {
            line.put(id, Place { latest, ..place });
        }
    }

    fn line_of(&mut self, priority: i32, owner: &str) -> Option<&mut Line> {
        self.0.get_mut(&Reverse(priority))?.get_mut(owner)
    }

    /// The jobs that are served before this one, apart from the turns of other owners. `None` if
    /// owners take turns at its priority, and if it is in no line.
    pub(super) fn before(
        &self,
        priority: i32,
        owner: &str,
        id: JobId,
    ) -> Option<impl Iterator<Item = JobId> + '_> {
        let level = self.0.get(&Reverse(priority)).filter(|level| level.len() == 1)?;
        let line = level.get(owner)?;
        let work = line.places.get(&id)?.work;
        let higher = self.0.range(..Reverse(priority)).flat_map(|(_, level)| level.values());
        let higher = higher.flat_map(|line| line.places.keys().copied());
        Some(higher.chain(line.by_work.range(..(work, id)).map(|&(_, id)| id)))
    }

    /// Whether it was there.
    pub(super) fn remove(&mut self, priority: i32, owner: &str, id: JobId) -> bool {
        let Some(level) = self.0.get_mut(&Reverse(priority)) else { return false };
        let Some(line) = level.get_mut(owner) else { return false };
        let was_there = line.take(id).is_some();
        if line.places.is_empty() {
            level.remove(owner);
        }
        if level.is_empty() {
            self.0.remove(&Reverse(priority));
        }
        was_there
    }
}

impl Farm {
    /// What people see of all owners of jobs, by their names.
    pub fn owners(&self) -> Vec<OwnerView> {
        let mut live: BTreeMap<&str, usize> = BTreeMap::new();
        for job in self.jobs.values().filter(|job| !job.stage.state().is_over()) {
            *live.entry(&job.spec.origin.owner).or_default() += 1;
        }
        let of = |(owner, account): (&String, &Account)| OwnerView {
            owner: owner.clone(),
            hours: account.hours,
            leased_us: account.leased_us(),
            live_jobs: live.get(owner.as_str()).copied().unwrap_or(0),
        };
        self.accounts.iter().map(of).collect()
    }

    /// The jobs of which something may be leased to this session, because its worker knows their
    /// method, in the order in which the session is to be leased of them.
    pub(super) fn in_turn(&self, id: SessionId) -> impl Iterator<Item = JobId> + '_ {
        let session = &self.sessions[&id];
        let latest = session.leases.last().and_then(|&lease| self.leases.get(lease));
        let stays = latest.map(|lease| self.owner_of(lease.job));
        let lease_ms = STAY_LEASES * self.pace.lease_ms(&self.config);
        let stay_ns = u128::from(lease_ms) * u128::from(session.threads()) * 1_000_000;
        let turn = move |owner: &str| {
            let ahead = if stays == Some(owner) { stay_ns } else { 0 };
            self.accounts[owner].turn(self.now).saturating_sub(ahead)
        };
        let jobs = self.queue.0.values().flat_map(move |level| {
            // There may be a thousand of them, and mostly something of the first can be leased.
            let owners = level.iter();
            let owners = owners.map(|(owner, line)| Reverse((turn(owner), first(line), owner)));
            let mut owners: BinaryHeap<_> = owners.collect();
            std::iter::from_fn(move || owners.pop())
                .flat_map(|Reverse((_, _, owner))| level[owner].in_order())
        });
        jobs.filter(|job| session.knows(self.jobs[job].spec.plan.method))
    }

    fn owner_of(&self, job: JobId) -> &str {
        &self.jobs[&job].spec.origin.owner
    }

    /// Jobs of which something may be leased to anybody, in no particular order.
    pub(super) fn leasable(&self) -> impl Iterator<Item = JobId> + '_ {
        let lines = self.queue.0.values().flat_map(BTreeMap::values);
        lines.flat_map(|line| line.places.keys().copied())
    }

    /// Notes that `tasks` tasks that were leased to a session are no longer with it: they have come
    /// back, or their lease has ended.
    pub(super) fn release_time(&mut self, id: SessionId, job: JobId, tasks: u64, task_ns: u64) {
        if tasks == 0 {
            return;
        }
        let ns = u128::from(tasks) * u128::from(task_ns);
        if let Some(session) = self.sessions.get_mut(&id) {
            session.let_go(self.now, job, tasks, ns);
        }
        let leased_ns = &mut self.account_of(job).leased_ns;
        *leased_ns = leased_ns.checked_sub(ns).expect("only what is leased comes back");
    }

    /// A count has become durable, whatever it is good for.
    pub(super) fn spend(&mut self, report: &Report) {
        let (now, hours) = (self.now, Hours::of(report.kernel, report.busy_us));
        let job = existing(&mut self.jobs, report.job);
        job.hours += hours;
        self.account_of(report.job).spend(now, hours);
    }

    pub(super) fn account_of(&mut self, job: JobId) -> &mut Account {
        let owner = &self.jobs[&job].spec.origin.owner;
        self.accounts.get_mut(owner).expect("the owner of a job has an account")
    }

    /// Takes in what is known of an owner before any of its jobs is.
    pub(super) fn open_account(&mut self, owner: &str) -> &mut Account {
        self.accounts.entry(owner.into()).or_default()
    }
}

/// The lowest number: equal owners are served in the order in which they have submitted.
fn first(line: &Line) -> JobId {
    *line.places.keys().next().expect("no owner stands in a queue without a job")
}
