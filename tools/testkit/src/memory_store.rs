//! A store in memory: the rows of a job in plain maps, to compare a ledger with.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use farm::rules::{Select, Store, StoredJob};
use farm::{
    AuditPolicy, Check, Contradiction, CountedRange, DisputeState, Hours, JobChange, JobId,
    JobSpec, JobState, OpenDispute, Party, Principal, Range, Row, TaskCounts, Times, TrustChange,
};

/// Keeps everything in memory but what is noted for people, and knows no times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryStore {
    /// All jobs.
    pub jobs: BTreeMap<JobId, MemoryJob>,
    /// Changes of trust, the newest last, all at the time 0.
    pub trust: Vec<TrustChange>,
    /// Jobs that were removed: their owners, and what they had taken.
    pub removed: BTreeMap<JobId, (String, Hours)>,
    /// The greatest number that a job has or had.
    pub last_job: u64,
}

/// A job with all that is known about it.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryJob {
    /// The job itself.
    pub job: StoredJob,
    /// Its accepted ranges, by their first ordinal.
    pub rows: BTreeMap<u64, CountedRange>,
    /// The counts of single tasks of accepted ranges, if they are reported, by their first ordinal.
    pub task_counts: BTreeMap<u64, TaskCounts>,
    /// Second counts of accepted ranges, by their first ordinal.
    pub seconds: BTreeMap<u64, Row>,
    /// Counts that are not in the total, the oldest first.
    pub evidence: Vec<(Row, DisputeState)>,
}

impl MemoryStore {
    fn get(&mut self, id: JobId) -> Result<&mut MemoryJob, Contradiction> {
        self.jobs.get_mut(&id).ok_or_else(|| Contradiction::new(id, "is gone"))
    }
}

impl MemoryJob {
    fn row(&mut self, range: Range) -> &mut CountedRange {
        let row = self.rows.get_mut(&range.start()).filter(|counted| counted.row.range == range);
        row.expect("the rules name rows that they have seen")
    }

    /// Where a row begins that has this ordinal, or else the ordinal itself.
    fn start_of(&self, ordinal: u64) -> u64 {
        let before = self.rows.range(..=ordinal).next_back();
        let holds = |(_, counted): &(&u64, &CountedRange)| counted.row.range.end() > ordinal;
        before.filter(holds).map_or(ordinal, |(&start, _)| start)
    }

    /// What its counts took; `None` without any.
    fn hours(&self) -> Option<Hours> {
        let rows = self.rows.values().map(|counted| &counted.row).chain(self.seconds.values());
        let rows = rows.chain(self.evidence.iter().map(|(row, _)| row));
        rows.map(|row| Hours::of(row.kernel, row.busy_us)).reduce(|mut sum, hours| {
            sum += hours;
            sum
        })
    }

    fn retire_second(&mut self, range: Range, why: DisputeState) {
        let second = self.seconds.remove(&range.start());
        self.evidence.extend(second.map(|row| (row, why)));
    }
}

impl Store for MemoryStore {
    type Fault = Contradiction;

    fn jobs(&mut self, only: Option<JobId>) -> Result<Vec<StoredJob>, Contradiction> {
        let numbers = only.map_or(JobId(0)..=JobId(u64::MAX), |id| id..=id);
        Ok(self.jobs.range(numbers).map(|(_, job)| job.job.clone()).collect())
    }

    fn add_job(&mut self, id: JobId, spec: &JobSpec) -> Result<(), Contradiction> {
        let job = StoredJob {
            id,
            spec: spec.clone(),
            state: JobState::Running,
            times: Times::default(),
            reason: None,
            total: None,
            policy: None,
        };
        let (rows, task_counts, seconds) = Default::default();
        let job = MemoryJob { job, rows, task_counts, seconds, evidence: Vec::new() };
        let earlier = self.jobs.insert(id, job);
        assert!(earlier.is_none() && id.0 > self.last_job, "job number {id} was used before");
        self.last_job = id.0;
        Ok(())
    }

    fn change_job(
        &mut self,
        job: &StoredJob,
        _: Option<JobChange>,
        _: &str,
    ) -> Result<(), Contradiction> {
        self.get(job.id)?.job = job.clone();
        Ok(())
    }

    fn remove_job(&mut self, id: JobId) -> Result<(), Contradiction> {
        let whole = self.get(id)?;
        if let Some(hours) = whole.hours() {
            let taken = (whole.job.spec.origin.owner.clone(), hours);
            self.removed.insert(id, taken);
        }
        self.jobs.remove(&id);
        Ok(())
    }

    fn add_policy(
        &mut self,
        job: JobId,
        policy: AuditPolicy,
        _: &str,
    ) -> Result<(), Contradiction> {
        self.get(job)?.job.policy = Some(policy);
        Ok(())
    }

    fn visit(
        &mut self,
        job: JobId,
        which: Select<'_>,
        see: &mut dyn FnMut(CountedRange, Option<Principal>) -> ControlFlow<()>,
    ) -> Result<(), Contradiction> {
        let job = self.get(job)?;
        let starts = match which {
            Select::Overlapping(range) => job.start_of(range.start())..range.end(),
            Select::All | Select::Waiting | Select::By(_) => 0..u64::MAX,
        };
        for (start, counted) in job.rows.range(starts) {
            let second = job.seconds.get(start).map(|row| &row.provenance.principal);
            let is_wanted = match which {
                Select::All | Select::Overlapping(_) => true,
                Select::Waiting => counted.check == Check::Wanted,
                Select::By(party) => {
                    let mut principals =
                        second.into_iter().chain([&counted.row.provenance.principal]);
                    principals.any(|principal| party.includes(principal))
                }
            };
            if is_wanted && see(counted.clone(), second.cloned()).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn count(&mut self, job: JobId, check: Check) -> Result<u64, Contradiction> {
        Ok(self.get(job)?.rows.values().filter(|counted| counted.check == check).count() as u64)
    }

    fn insert(
        &mut self,
        job: JobId,
        counted: &CountedRange,
        task_counts: &TaskCounts,
        instead_of: &[Range],
    ) -> Result<(), Contradiction> {
        let (job, range) = (self.get(job)?, counted.row.range);
        for part in instead_of {
            job.rows.remove(&part.start());
            job.task_counts.remove(&part.start());
        }
        job.rows.insert(range.start(), counted.clone());
        if !task_counts.are_omitted() {
            job.task_counts.insert(range.start(), task_counts.clone());
        }
        Ok(())
    }

    fn task_counts(&mut self, job: JobId, range: Range) -> Result<TaskCounts, Contradiction> {
        Ok(self.get(job)?.task_counts.get(&range.start()).cloned().unwrap_or_default())
    }

    fn forget_task_counts(&mut self, job: JobId, range: Range) -> Result<(), Contradiction> {
        self.get(job)?.task_counts.remove(&range.start());
        Ok(())
    }

    fn set_wanted(&mut self, job: JobId, range: Range, wanted: bool) -> Result<(), Contradiction> {
        let job = self.get(job)?;
        job.retire_second(range, DisputeState::TakenBack);
        job.row(range).check = if wanted { Check::Wanted } else { Check::NotChosen };
        Ok(())
    }

    fn confirm(&mut self, job: JobId, second: &Row) -> Result<(), Contradiction> {
        let job = self.get(job)?;
        job.row(second.range).check = Check::Agreed;
        job.seconds.insert(second.range.start(), second.clone());
        Ok(())
    }

    fn retire(&mut self, id: JobId, range: Range, why: DisputeState) -> Result<(), Contradiction> {
        let job = self.get(id)?;
        job.retire_second(range, why);
        let row = job.row(range).row.clone();
        job.rows.remove(&range.start());
        job.task_counts.remove(&range.start());
        job.evidence.push((row, why));
        Ok(())
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
        for (row, state) in &mut self.get(job)?.evidence {
            if row.range == range && *state == DisputeState::Open {
                *state = DisputeState::Settled;
            }
        }
        Ok(())
    }

    fn change_trust(
        &mut self,
        party: &Party,
        trusted: bool,
        proof: Option<(JobId, Range)>,
        reason: &str,
    ) -> Result<(), Contradiction> {
        let (party, reason) = (party.clone(), reason.into());
        self.trust.push(TrustChange { party, trusted, proof, reason, at_ms: 0 });
        Ok(())
    }

    fn hours(&mut self) -> Result<BTreeMap<JobId, (String, Hours)>, Contradiction> {
        let of = |(&id, job): (&JobId, &MemoryJob)| {
            Some((id, (job.job.spec.origin.owner.clone(), job.hours()?)))
        };
        let mut all: BTreeMap<_, _> = self.jobs.iter().filter_map(of).collect();
        all.extend(self.removed.clone());
        Ok(all)
    }

    fn trust_changes(&mut self) -> Result<Vec<TrustChange>, Contradiction> {
        Ok(self.trust.clone())
    }
}
