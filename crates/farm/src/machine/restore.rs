//! A farm from what was durable.

use super::Farm;
use crate::audit::Audits;
use crate::costs::Costs;
use crate::dispute::Dispute;
use crate::job::Job;
use crate::stage::Stage;
use crate::{
    AuditPolicy, Config, Distrusted, Hours, IntervalSet, JobId, JobSpec, JobState, Known, LeaseKey,
    Millis, Pace, Plan, Range, Shard, Spent, Stats, Times,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Everything that a ledger remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// How often the ledger has been opened, this time included; below 2^23.
    pub epoch: u64,
    /// All jobs.
    pub jobs: Vec<RestoredJob>,
    /// The greatest number that a job has or had.
    pub last_job: u64,
    /// The jobs that proved somebody wrong.
    pub proofs: BTreeSet<JobId>,
    /// Parties that are distrusted.
    pub distrusted: Distrusted,
    /// What the jobs of each owner have taken, removed ones included.
    pub hours: BTreeMap<String, Hours>,
}

/// A job as the ledger has it, without its counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredJob {
    /// Its number.
    pub id: JobId,
    /// What was submitted, with its latest priority.
    pub spec: JobSpec,
    /// Where it stands.
    pub state: JobState,
    /// Why it is suspended, if it is.
    pub reason: Option<String>,
    /// When it was submitted, begun, counted, paused and ended.
    pub times: Times,
    /// Its total, once it is done.
    pub total: Option<u128>,
    /// Its newest audit policy, if it has any.
    pub policy: Option<AuditPolicy>,
}

/// A job, as the ledger remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredJob {
    /// The job without its counts.
    pub stored: StoredJob,
    /// The thread time of all its counts.
    pub hours: Hours,
    /// What is accepted.
    pub accepted: IntervalSet,
    /// The sum of the accepted counts.
    pub counted: u128,
    /// How many tasks were counted, and the thread time that they took.
    pub spent: Spent,
    /// What is disputed.
    pub disputes: BTreeMap<Range, Dispute>,
    /// Accepted ranges that wait for their second count.
    pub audits_wanted: u64,
    /// Accepted ranges of which the second count agreed.
    pub audits_agreed: u64,
}

impl Farm {
    /// A farm that goes on where `restored` was left, and that recognizes the leases that it signed
    /// with `key`. `now` is the time, and `known` says what is known of the counts of a job.
    ///
    /// What the farm wants done at once comes out of its first step: make that an
    /// [`crate::Event::Tick`]. Panics if a restored job has accepted ordinals outside its plan or a
    /// dispute without votes.
    pub fn restore(
        config: Config,
        key: LeaseKey,
        now: Millis,
        restored: Restored,
        mut known: impl FnMut(&Plan, Shard) -> Known,
    ) -> Farm {
        assert!(restored.epoch < 1 << 23, "a ledger is opened fewer than 2^23 times");
        let begun =
            |job: &RestoredJob| job.stored.state == JobState::Running && !job.accepted.is_empty();
        let grace_ms = if restored.jobs.iter().any(begun) { config.grace_ms } else { 0 };
        let lease_from = now.after(grace_ms);
        let mut farm = Farm {
            config,
            key,
            now,
            served_ms: 0,
            unix_ms: 0,
            adopts_until: now.after(config.lease_ttl_ms),
            pace: Pace::default(),
            lease_from,
            epoch: restored.epoch,
            jobs: BTreeMap::new(),
            keys: BTreeMap::new(),
            queue: Default::default(),
            accounts: BTreeMap::new(),
            sessions: BTreeMap::new(),
            processes: BTreeMap::new(),
            idle: BTreeSet::new(),
            refused: BTreeSet::new(),
            wakeups: BTreeSet::from([lease_from]),
            leases: Default::default(),
            distrusted: restored.distrusted,
            losses: VecDeque::new(),
            drained: BTreeSet::new(),
            settling: 0,
            coming: BTreeMap::new(),
            submissions: Vec::new(),
            removing: BTreeMap::new(),
            next_job: restored.last_job + 1,
            proofs: restored.proofs,
            next_lease: 0,
            stats: Stats::default(),
            progressed: BTreeMap::new(),
            effects: Vec::new(),
        };
        for (owner, hours) in restored.hours {
            farm.open_account(&owner).hours = hours;
        }
        for job in restored.jobs {
            let known = known(&job.stored.spec.plan, job.stored.spec.shard);
            farm.take_in(job, known);
        }
        farm
    }

    fn take_in(&mut self, job: RestoredJob, known: Known) {
        let id = job.stored.id;
        self.note_key(&job.stored.spec.origin, id);
        self.open_account(&job.stored.spec.origin.owner);
        let job = restore_job(job, known);
        // What is known may have changed since an earlier process ended or suspended it.
        let is_contradicted = job.known.contradiction(job.total).is_some();
        let is_outdated = match job.stage {
            Stage::Done => is_contradicted,
            Stage::Suspended(_) => !is_contradicted,
            _ => false,
        };
        self.jobs.insert(id, job);
        self.requeue(id);
        if is_outdated {
            self.reopen(id);
        }
        // The last result may have become durable and the end of the job not.
        self.finish_if_covered(id);
        self.find_audits(id);
    }
}

fn restore_job(restored: RestoredJob, known: Known) -> Job {
    let StoredJob { id: _, spec, state, reason, times, total: _, policy } = restored.stored;
    let mut job = Job::new(spec, policy, known);
    for range in restored.accepted.iter() {
        assert!(job.holds(range), "{range} is outside of the plan");
        job.accept(range);
    }
    job.tasks_done = restored.accepted.len();
    job.total = restored.counted;
    job.costs = Costs::new(restored.spent);
    job.times = times;
    job.hours = restored.hours;
    job.audits = Audits::new(restored.audits_wanted, restored.audits_agreed);
    for (range, dispute) in restored.disputes {
        job.open_dispute(range, dispute);
    }
    let is_at_rest = match state {
        JobState::Done => job.disputes.is_empty(),
        JobState::Suspended => job.disputes.is_empty() && job.audits.are_over(),
        _ => true,
    };
    let state = if is_at_rest { state } else { JobState::Running };
    let begun = job.times.begun_at_ms.is_some();
    job.stage = Stage::restored(state, reason, begun);
    job
}
