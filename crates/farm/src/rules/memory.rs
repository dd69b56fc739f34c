//! A store that lives as long as its process.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::{Select, Store, StoredJob};
use crate::rows::{
    Check, Contradiction, CountedRange, DisputeState, OpenDispute, Row, TrustChange,
};
use crate::{
    AuditPolicy, Distrusted, JobChange, JobId, JobSpec, JobState, Maker, Party, Range, TaskCounts,
};

/// Keeps everything in memory, and knows no times. A count without a file uses it, as tests and simulations do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryStore {
    /// All jobs.
    pub jobs: BTreeMap<JobId, MemoryJob>,
    /// Changes of trust, the newest last, all at the time 0.
    pub trust: Vec<TrustChange>,
    /// The greatest number that a job has or had.
    pub last_job: u64,
}

/// A job with all that is known about it.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryJob {
    /// The job itself.
    pub job: StoredJob,
    /// Its audit policies, the newest last.
    pub policies: Vec<AuditPolicy>,
    /// What was changed of it, and who asked for that, the newest last.
    pub changes: Vec<(JobChange, String)>,
    /// Its accepted ranges, by their first ordinal.
    pub rows: BTreeMap<u64, CountedRange>,
    /// What each task of accepted ranges counts, if that is told, by their first ordinal.
    pub task_counts: BTreeMap<u64, TaskCounts>,
    /// Second counts of accepted ranges, by their first ordinal.
    pub seconds: BTreeMap<u64, Row>,
    /// Counts that are not in the total, the oldest first.
    pub evidence: Vec<(Row, DisputeState)>,
}

impl MemoryStore {
    fn get(&mut self, id: JobId) -> Result<&mut MemoryJob, Contradiction> {
        self.jobs.get_mut(&id).ok_or(Contradiction::NoSuchJob(id))
    }
}

impl MemoryJob {
    /// Removes the first row with all that is known of its range. Returns whether there was one.
    fn remove_first_row(&mut self) -> bool {
        let Some((start, _)) = self.rows.pop_first() else { return false };
        self.seconds.remove(&start);
        self.task_counts.remove(&start);
        true
    }

    fn row(&mut self, range: Range) -> &mut CountedRange {
        let row = self.rows.get_mut(&range.start()).filter(|counted| counted.row.range == range);
        row.expect("the rules name rows that they have seen")
    }
}

/// Removes the first one. Returns whether there was one.
fn remove_first<T>(all: &mut Vec<T>) -> bool {
    let is_one = !all.is_empty();
    all.drain(..usize::from(is_one));
    is_one
}

impl Store for MemoryStore {
    type Fault = Contradiction;

    fn jobs(&mut self) -> Result<Vec<StoredJob>, Contradiction> {
        Ok(self.jobs.values().map(|job| job.job.clone()).collect())
    }

    fn last_job(&mut self) -> Result<u64, Contradiction> {
        Ok(self.last_job)
    }

    fn job(&mut self, id: JobId) -> Result<Option<StoredJob>, Contradiction> {
        Ok(self.jobs.get(&id).map(|job| job.job.clone()))
    }

    fn add_job(&mut self, id: JobId, spec: &JobSpec) -> Result<(), Contradiction> {
        let job = MemoryJob {
            job: StoredJob {
                id,
                spec: spec.clone(),
                state: JobState::Running,
                reason: None,
                total: None,
                seed_told: false,
            },
            policies: Vec::new(),
            changes: Vec::new(),
            rows: BTreeMap::new(),
            task_counts: BTreeMap::new(),
            seconds: BTreeMap::new(),
            evidence: Vec::new(),
        };
        let earlier = self.jobs.insert(id, job);
        assert!(earlier.is_none() && id.0 > self.last_job, "job number {id} was used before");
        self.last_job = id.0;
        Ok(())
    }

    fn set_state(
        &mut self,
        job: JobId,
        state: JobState,
        total: Option<u128>,
    ) -> Result<(), Contradiction> {
        let job = &mut self.get(job)?.job;
        (job.state, job.total, job.reason) = (state, total, None);
        job.seed_told |= state.is_over();
        Ok(())
    }

    fn set_priority(&mut self, job: JobId, priority: i32) -> Result<(), Contradiction> {
        self.get(job)?.job.spec.priority = priority;
        Ok(())
    }

    fn hold(&mut self, job: JobId, reason: &str) -> Result<(), Contradiction> {
        let job = &mut self.get(job)?.job;
        (job.state, job.total, job.reason) = (JobState::Held, None, Some(reason.into()));
        Ok(())
    }

    fn remove_some(&mut self, id: JobId, most: usize) -> Result<bool, Contradiction> {
        let job = self.get(id)?;
        let mut left = most;
        while left > 0 {
            let is_one = remove_first(&mut job.evidence)
                || job.remove_first_row()
                || remove_first(&mut job.policies)
                || remove_first(&mut job.changes);
            if !is_one {
                self.jobs.remove(&id);
                return Ok(true);
            }
            left -= 1;
        }
        job.job.spec.origin.key = None;
        Ok(false)
    }

    fn note(&mut self, job: JobId, change: JobChange, by: &str) -> Result<(), Contradiction> {
        self.get(job)?.changes.push((change, by.into()));
        Ok(())
    }

    fn add_policy(
        &mut self,
        job: JobId,
        policy: AuditPolicy,
        _: &str,
    ) -> Result<(), Contradiction> {
        let job = self.get(job)?;
        job.policies.push(policy);
        job.job.seed_told = false;
        Ok(())
    }

    fn policy(&mut self, job: JobId) -> Result<Option<AuditPolicy>, Contradiction> {
        Ok(self.get(job)?.policies.last().copied())
    }

    fn visit(
        &mut self,
        job: JobId,
        which: Select,
        see: &mut dyn FnMut(CountedRange) -> ControlFlow<()>,
    ) -> Result<(), Contradiction> {
        let job = self.get(job)?;
        let (starts, check) = match which {
            Select::All => (0..u64::MAX, None),
            Select::BeginningIn(range) => (range.start()..range.end(), None),
            Select::With(check) => (0..u64::MAX, Some(check)),
        };
        let rows = job.rows.range(starts).map(|(_, counted)| counted);
        let mut rows = rows.filter(|counted| check.is_none_or(|check| check == counted.check));
        let _ = rows.try_for_each(|counted| see(counted.clone()));
        Ok(())
    }

    fn visit_with_seconds(
        &mut self,
        job: JobId,
        party: Option<&Party>,
        see: &mut dyn FnMut(CountedRange, Option<Maker>),
    ) -> Result<(), Contradiction> {
        let job = self.get(job)?;
        for (start, counted) in &job.rows {
            let second = job.seconds.get(start).map(|row| row.author.maker.clone());
            let is_wanted = match party {
                Some(party) => {
                    let mut makers = second.iter().chain([&counted.row.author.maker]);
                    makers.any(|maker| party.includes(maker))
                }
                None => second.is_some(),
            };
            if is_wanted {
                see(counted.clone(), second);
            }
        }
        Ok(())
    }

    fn last_before(&mut self, job: JobId, ordinal: u64) -> Result<Option<Range>, Contradiction> {
        let last = self.get(job)?.rows.range(..ordinal).next_back();
        Ok(last.map(|(_, counted)| counted.row.range))
    }

    fn count(&mut self, job: JobId, check: Check) -> Result<u64, Contradiction> {
        Ok(self.get(job)?.rows.values().filter(|counted| counted.check == check).count() as u64)
    }

    fn insert(
        &mut self,
        job: JobId,
        counted: &CountedRange,
        task_counts: &TaskCounts,
    ) -> Result<(), Contradiction> {
        let (job, start) = (self.get(job)?, counted.row.range.start());
        job.rows.insert(start, counted.clone());
        if !task_counts.are_untold() {
            job.task_counts.insert(start, task_counts.clone());
        }
        Ok(())
    }

    fn join_rows(
        &mut self,
        id: JobId,
        joined: &CountedRange,
        task_counts: &TaskCounts,
    ) -> Result<(), Contradiction> {
        let (range, job) = (joined.row.range, self.get(id)?);
        let within = range.start()..range.end();
        job.rows.extract_if(within.clone(), |_, _| true).for_each(drop);
        job.task_counts.extract_if(within, |_, _| true).for_each(drop);
        self.insert(id, joined, task_counts)
    }

    fn set_check(&mut self, job: JobId, range: Range, check: Check) -> Result<(), Contradiction> {
        self.get(job)?.row(range).check = check;
        Ok(())
    }

    fn retire(&mut self, id: JobId, range: Range, why: DisputeState) -> Result<(), Contradiction> {
        self.retire_second(id, range, why)?;
        let job = self.get(id)?;
        let row = job.row(range).row.clone();
        job.rows.remove(&range.start());
        job.evidence.push((row, why));
        self.forget_task_counts(id, range)
    }

    fn task_counts(&mut self, job: JobId, range: Range) -> Result<TaskCounts, Contradiction> {
        Ok(self.get(job)?.task_counts.get(&range.start()).cloned().unwrap_or_default())
    }

    fn forget_task_counts(&mut self, job: JobId, range: Range) -> Result<(), Contradiction> {
        self.get(job)?.task_counts.remove(&range.start());
        Ok(())
    }

    fn add_second(&mut self, job: JobId, row: &Row) -> Result<(), Contradiction> {
        self.get(job)?.seconds.insert(row.range.start(), row.clone());
        Ok(())
    }

    fn retire_second(
        &mut self,
        job: JobId,
        range: Range,
        why: DisputeState,
    ) -> Result<(), Contradiction> {
        let job = self.get(job)?;
        let second = job.seconds.remove(&range.start());
        job.evidence.extend(second.map(|row| (row, why)));
        Ok(())
    }

    fn keep_as_second(&mut self, job: JobId, row: &Row) -> Result<(), Contradiction> {
        self.add_second(job, row)
    }

    fn open_disputes(&mut self, job: JobId) -> Result<Vec<OpenDispute>, Contradiction> {
        let mut disputes: BTreeMap<Range, Vec<Row>> = BTreeMap::new();
        let evidence = self.get(job)?.evidence.iter();
        for (row, _) in evidence.filter(|(_, state)| *state == DisputeState::Open) {
            disputes.entry(row.range).or_default().push(row.clone());
        }
        let dispute = |(range, claims)| OpenDispute { range, claims };
        Ok(disputes.into_iter().map(dispute).collect())
    }

    fn add_claim(&mut self, job: JobId, row: &Row) -> Result<(), Contradiction> {
        self.get(job)?.evidence.push((row.clone(), DisputeState::Open));
        Ok(())
    }

    fn close_dispute(&mut self, job: JobId, range: Range) -> Result<(), Contradiction> {
        let open = |(row, state): &&mut (Row, DisputeState)| {
            row.range == range && *state == DisputeState::Open
        };
        let claims = self.get(job)?.evidence.iter_mut().filter(open);
        claims.for_each(|(_, state)| *state = DisputeState::Settled);
        Ok(())
    }

    fn distrust(
        &mut self,
        party: &Party,
        proof: Option<(JobId, Range)>,
        reason: &str,
    ) -> Result<(), Contradiction> {
        let (party, reason) = (party.clone(), reason.into());
        self.trust.push(TrustChange { party, trusted: false, proof, reason, at_ms: 0 });
        Ok(())
    }

    fn trust(&mut self, party: &Party, reason: &str) -> Result<(), Contradiction> {
        let (party, reason) = (party.clone(), reason.into());
        self.trust.push(TrustChange { party, trusted: true, proof: None, reason, at_ms: 0 });
        Ok(())
    }

    fn distrusted(&mut self) -> Result<Distrusted, Contradiction> {
        Ok(Distrusted::after(&self.trust))
    }

    fn proofs(&mut self) -> Result<BTreeSet<JobId>, Contradiction> {
        let proofs = self.trust.iter().filter_map(|change| change.proof);
        Ok(proofs.map(|(job, _)| job).collect())
    }
}
