//! From which job a worker is served: jobs of higher priority first, and of one priority those of
//! the owner that has the least of what is leased and was counted lately.
//!
//! ```text
//!   priority 5   ada ─ 7, 9                  of one owner in the order of their numbers
//!   priority 0   ada ─ 1, 4    bob ─ 2       the owner with the lowest turn first
//! ```
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

/// Jobs of which something may be leased: by priority, owner and number.
#[derive(Debug, Default)]
pub(super) struct Turns(BTreeMap<Reverse<i32>, BTreeMap<String, BTreeSet<JobId>>>);

impl Turns {
    pub(super) fn insert(&mut self, priority: i32, owner: &str, id: JobId) {
        self.0.entry(Reverse(priority)).or_default().entry(owner.into()).or_default().insert(id);
    }

    /// Whether it was there.
    pub(super) fn remove(&mut self, priority: i32, owner: &str, id: JobId) -> bool {
        let Some(level) = self.0.get_mut(&Reverse(priority)) else { return false };
        let Some(jobs) = level.get_mut(owner) else { return false };
        let was_there = jobs.remove(&id);
        if jobs.is_empty() {
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

    /// The jobs of which something may be leased, in the order in which this session is to be
    /// leased of them.
    pub(super) fn in_turn(&self, id: SessionId) -> impl Iterator<Item = JobId> + '_ {
        let session = &self.sessions[&id];
        let latest = session.leases.last().and_then(|&lease| self.leases.get(lease));
        let stays = latest.map(|lease| self.owner_of(lease.job));
        let lease_ms = STAY_LEASES * self.pace.lease_ms(&self.config);
        let stay_ns = u128::from(lease_ms) * u128::from(session.seen.threads) * 1_000_000;
        let turn = move |owner: &str| {
            let ahead = if stays == Some(owner) { stay_ns } else { 0 };
            self.accounts[owner].turn(self.now).saturating_sub(ahead)
        };
        self.queue.0.values().flat_map(move |level| {
            // There may be a thousand of them, and mostly something of the first can be leased.
            let of = |(owner, jobs): (&String, _)| Reverse((turn(owner), first(jobs), jobs));
            let mut owners: BinaryHeap<_> = level.iter().map(of).collect();
            std::iter::from_fn(move || owners.pop())
                .flat_map(|Reverse((_, _, jobs))| jobs.iter().copied())
        })
    }

    fn owner_of(&self, job: JobId) -> &str {
        &self.jobs[&job].spec.origin.owner
    }

    /// Jobs of which something may be leased to anybody, in no particular order.
    pub(super) fn leasable(&self) -> impl Iterator<Item = JobId> + '_ {
        self.queue.0.values().flat_map(BTreeMap::values).flatten().copied()
    }

    /// Notes that `tasks` tasks that were leased to a session are no longer with it: they have come
    /// back, or their lease has ended.
    pub(super) fn release_time(&mut self, id: SessionId, job: JobId, tasks: u64, task_ns: u64) {
        if tasks == 0 {
            return;
        }
        let ns = u128::from(tasks) * u128::from(task_ns);
        if let Some(session) = self.sessions.get_mut(&id) {
            session.let_go(job, tasks, ns);
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
fn first(jobs: &BTreeSet<JobId>) -> JobId {
    *jobs.first().expect("no owner stands in a queue without a job")
}
