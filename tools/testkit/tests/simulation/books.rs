//! The state of jobs, sessions and leases in the model.

use std::collections::{BTreeMap, BTreeSet};

use farm::{
    AuditPolicy, AuditScope, Check, DisputeState, Distrusted, Fingerprint, IntervalSet, JobId,
    JobSpec, JobState, LeaseId, Principal, Provenance, Range, Row, Vote,
};

use crate::rows::Rows;
use crate::snapshot::JobSnapshot;

/// A process of a worker: its owner and its instance.
pub type Process = (String, u64);

/// The model's state of a job.
pub struct Book {
    pub fingerprint: Fingerprint,
    /// The ordinals of its shard.
    pub ordinals: IntervalSet,
    pub policy: Option<AuditPolicy>,
    pub priority: i32,
    pub state: JobState,
    /// For each ordinal: whether it is accepted, or a command for it is in the ledger's queue.
    pub claimed: Vec<bool>,
    /// For each ordinal: the latest lease of it, unless that is a recount.
    pub holder: Vec<Option<LeaseId>>,
    /// For each lease: the ordinals that were leased again meanwhile. The first worker may still
    /// count them.
    pub overtaken: BTreeMap<LeaseId, BTreeSet<usize>>,
    /// Number of ordinals that are neither claimed nor leased.
    pub free: u64,
    /// For each ordinal that is not counted: the processes that crashed with it, by their owners
    /// and instances.
    pub attempts: BTreeMap<usize, Vec<Process>>,
    /// Ordinals that are failed, which are not leased.
    pub failed: BTreeSet<usize>,
    /// The rows, as they were reported to the farm.
    pub rows: Rows,
    /// The votes in each dispute.
    pub disputes: BTreeMap<Range, Vec<Vote>>,
    /// The ranges that are counted again, and their leases.
    pub recounts: BTreeMap<Range, LeaseId>,
    /// Confirmations and requests for audits in the ledger's queue.
    pub confirming: BTreeSet<Range>,
    pub asked: usize,
    /// Whether the end of the job is durable but not yet reported.
    pub ended: bool,
}

/// The model's state of a session.
pub struct Seat {
    pub provenance: Provenance,
    /// Whether its count settles a dispute alone.
    pub is_trusted: bool,
    pub instance: u64,
    pub credit: u64,
    pub draining: bool,
    pub outstanding: u64,
    pub leases: BTreeMap<LeaseId, Held>,
    /// Whether it has missed a deadline and reported nothing since. Other workers are then
    /// preferred.
    pub late: bool,
}

/// The model's state of a lease.
pub struct Held {
    pub job: JobId,
    /// The range that contains it.
    pub hull: Range,
    pub whole: bool,
    /// Number of tasks that are still expected, never 0.
    pub open: u64,
    /// Whether a report for it has arrived.
    pub reported: bool,
}

impl Seat {
    /// The owner of the process, and the owner's number for it.
    pub fn process(&self) -> (String, u64) {
        (self.provenance.principal.owner.clone(), self.instance)
    }

    /// Whether it has nothing to do, and takes work.
    pub fn is_idle(&self) -> bool {
        self.outstanding == 0 && self.credit > 0 && !self.draining
    }
}

impl Book {
    pub fn new(spec: &JobSpec, policy: Option<AuditPolicy>) -> Book {
        let JobSpec { plan, shard, priority, .. } = spec;
        let tasks = plan.tasks as usize;
        let ordinals = plan.ordinals(*shard);
        Book {
            fingerprint: plan.fingerprint(),
            free: ordinals.len(),
            ordinals,
            policy,
            priority: *priority,
            state: JobState::Running,
            claimed: vec![false; tasks],
            holder: vec![None; tasks],
            overtaken: BTreeMap::new(),
            attempts: BTreeMap::new(),
            failed: BTreeSet::new(),
            rows: Rows::default(),
            disputes: BTreeMap::new(),
            recounts: BTreeMap::new(),
            confirming: BTreeSet::new(),
            asked: 0,
            ended: false,
        }
    }

    pub fn restored(stored: &JobSnapshot) -> Book {
        let mut book = Book::new(&stored.job.spec, stored.job.policy);
        book.state = stored.job.state;
        book.rows = Rows::of(&stored.rows);
        for counted in stored.rows.values() {
            let range = counted.row.range;
            ordinals(range).for_each(|ordinal| book.claimed[ordinal] = true);
            book.free -= range.len();
        }
        let open = stored.evidence.iter().filter(|(_, state)| *state == DisputeState::Open);
        for (row, _) in open {
            let rows = &book.rows;
            let votes = book.disputes.entry(row.range).or_insert_with(|| {
                vec![rows.vote(row.range).expect("only what rows tile is disputed")]
            });
            let principal = row.provenance.principal.clone();
            votes.push(Vote { principal, result: row.checked_count.result() });
        }
        book
    }

    /// The scope in which second counts must differ.
    pub fn across(&self) -> AuditScope {
        self.policy.map(|policy| policy.across).unwrap_or_default()
    }

    /// Whether it has its total, and no audit waits.
    pub fn is_complete(&self) -> bool {
        self.is_covered() && self.rows.wanted == 0
    }

    /// Whether all of it is counted, and nothing is disputed.
    pub fn is_covered(&self) -> bool {
        self.rows.tasks == self.ordinals.len() && self.disputes.is_empty()
    }

    pub fn is_frozen(&self, range: Range) -> bool {
        self.disputes.keys().any(|other| other.intersect(range).is_some())
    }

    /// The accepted range, if it waits for an audit.
    pub fn unaudited(&self, range: Range) -> Option<&Row> {
        let counted = self.rows.get(range).filter(|counted| counted.check == Check::Wanted);
        let is_free = !self.is_frozen(range) && !self.confirming.contains(&range);
        counted.filter(|_| is_free).map(|counted| &counted.row)
    }

    /// Whether a range is still to be counted again.
    pub fn wants_again(&self, range: Range) -> bool {
        self.disputes.contains_key(&range) || self.unaudited(range).is_some()
    }

    /// Whether all of it is accepted or in the ledger's queue.
    pub fn has_claimed(&self, range: Range) -> bool {
        ordinals(range).all(|ordinal| self.claimed[ordinal])
    }

    /// Invalidates accepted ranges, and ends the disputes in which a distrusted principal has
    /// voted.
    pub fn withdraw(&mut self, ranges: &IntervalSet, distrusted: &Distrusted) -> Vec<Range> {
        let gone: Vec<Range> =
            ranges.iter().flat_map(|r| self.rows.overlapping(r)).map(|row| row.range).collect();
        for range in gone {
            assert!(ranges.contains(range), "only whole rows are invalidated: {range}");
            self.rows.take(range);
            ordinals(range).for_each(|ordinal| self.claimed[ordinal] = false);
            self.free += range.len();
        }
        let is_wrong = |vote: &Vote| distrusted.includes(&vote.principal);
        let over = self
            .disputes
            .extract_if(.., |&range, votes| ranges.intersects(range) || votes.iter().any(is_wrong));
        over.map(|(range, _)| range).collect()
    }

    /// Whether a machine that is not trusted may vote on a disputed range. Each machine has one
    /// vote. Each owner has two votes once another owner has voted.
    pub fn has_vote(&self, range: Range, principal: &Principal) -> bool {
        let votes = &self.disputes[&range];
        let own = votes.iter().filter(|vote| vote.principal.owner == principal.owner);
        let is_alone = own.clone().count() == votes.len();
        own.clone().all(|vote| vote.principal != *principal) && (is_alone || own.count() < 2)
    }

    /// Whether an ordinal of a lease is still expected.
    pub fn expects(&self, ordinal: usize, lease: LeaseId) -> bool {
        let is_overtaken = |of: &BTreeSet<usize>| of.contains(&ordinal);
        self.holder[ordinal] == Some(lease) || self.overtaken.get(&lease).is_some_and(is_overtaken)
    }

    /// Frees `range` from all leases, or only from `lease`. Returns the lease of each ordinal that
    /// was freed.
    pub fn free(&mut self, range: Range, lease: Option<LeaseId>) -> Vec<LeaseId> {
        let mut freed = Vec::new();
        for (&id, overtaken) in &mut self.overtaken {
            if lease.is_none_or(|lease| lease == id) {
                let gone = overtaken.extract_if(ordinals(range), |_| true);
                freed.extend(gone.map(|_| id));
            }
        }
        for ordinal in ordinals(range) {
            let holder = &mut self.holder[ordinal];
            if holder.is_some() && (lease.is_none() || *holder == lease) {
                freed.extend(holder.take());
                self.free += u64::from(!self.claimed[ordinal]);
            }
        }
        freed
    }
}

pub fn ordinals(range: Range) -> std::ops::Range<usize> {
    range.start() as usize..range.end() as usize
}
