//! A ledger in memory, as small as the stage needs it: rows, disputes, and whom not to believe.

use std::collections::{BTreeMap, BTreeSet};

use farm::{
    AuditPolicy, Author, Claim, Found, IntervalSet, JobId, JobState, KernelName, Plan, Range,
    Record, Report, Restored, RestoredJob, Slice, Spent, Tally, Unaudited, Withdrawn,
};

#[derive(Default)]
pub struct Ledger {
    jobs: BTreeMap<JobId, (Plan, Slice, Option<AuditPolicy>)>,
    cancelled: BTreeSet<JobId>,
    distrusted: BTreeSet<String>,
    /// By job and start.
    rows: BTreeMap<(JobId, u64), Row>,
    /// Who voted on what, those who counted the rows not included.
    disputes: BTreeMap<(JobId, Range), Vec<String>>,
}

struct Row {
    range: Range,
    tally: Tally,
    worker: String,
    kernel: KernelName,
    busy_us: u64,
    check: Check,
}

/// What is known of a second count.
#[derive(PartialEq)]
enum Check {
    None,
    Wanted,
    Confirmed(String),
    Settled,
}

/// What the farm is to hear of a record.
pub enum Answer {
    Written,
    Noted { wanted: u64 },
    Settled { withdrawn: Vec<Withdrawn> },
}

impl Ledger {
    pub fn keep(&mut self, record: &Record) -> Answer {
        match record {
            Record::Range { report, author, audit } => {
                self.add(report, author, if *audit { Check::Wanted } else { Check::None });
            }
            Record::Audit { job, policy } => {
                let (plan, _, noted) = self.jobs.get_mut(job).expect("it was submitted here");
                *noted = Some(*policy);
                let plan = *plan;
                for row in self.of(*job).filter(|row| row.check == Check::None) {
                    if policy.chooses(plan.fingerprint(), row.range) {
                        row.check = Check::Wanted;
                    }
                }
                return Answer::Noted { wanted: self.wanted(*job) };
            }
            Record::Confirm { report, author } => {
                let row = self.rows.get_mut(&(report.job, report.range.start()));
                let row = row.filter(|row| row.range == report.range).expect("only rows");
                assert!(row.check == Check::Wanted, "confirmed without need: {report:?}");
                row.check = Check::Confirmed(author.worker.clone());
            }
            Record::Dispute { report, author } => {
                let votes = self.disputes.entry((report.job, report.range)).or_default();
                votes.push(author.worker.clone());
            }
            Record::Settle { report, author, wrong } => {
                self.distrusted.extend(wrong.iter().cloned());
                let inside = |range: Range| range.intersect(report.range) == Some(range);
                self.rows.retain(|&(job, _), row| job != report.job || !inside(row.range));
                self.disputes.remove(&(report.job, report.range));
                self.add(report, author, Check::Settled);
                return Answer::Settled { withdrawn: self.withdraw(report.job, wrong) };
            }
            Record::Job { job, plan, slice, audit, .. } => {
                self.jobs.insert(*job, (*plan, *slice, *audit));
            }
            Record::State { job, state: JobState::Cancelled } => drop(self.cancelled.insert(*job)),
            Record::State { .. } | Record::Done { .. } => {}
        }
        Answer::Written
    }

    pub fn compare(&self, job: JobId, range: Range) -> Found {
        let keys = (job, range.start())..(job, range.end());
        let rows: Vec<_> = self.rows.range(keys).map(|(_, row)| row).collect();
        let tiled: u64 = rows.iter().map(|row| row.range.len()).sum();
        if tiled != range.len() {
            return Found::Unaligned;
        }
        let first = rows[0];
        let alone = rows.iter().all(|row| row.worker == first.worker);
        let alike = rows.iter().all(|row| row.kernel == first.kernel);
        let claims = rows.iter().map(|row| row.tally.claim());
        Found::Exactly {
            claim: claims.reduce(|a, b| a.join(b).expect("it is small")).expect("some rows"),
            worker: if alone { first.worker.clone() } else { String::new() },
            kernel: if alike { first.kernel } else { KernelName::default() },
        }
    }

    pub fn find(&self, job: JobId, most: usize) -> Vec<Unaudited> {
        let disputed = |range: Range| {
            self.disputes.keys().any(|(of, other)| *of == job && other.intersect(range).is_some())
        };
        let rows = self.rows.iter().filter(|((of, _), _)| *of == job).map(|(_, row)| row);
        let waits = rows.filter(|row| row.check == Check::Wanted && !disputed(row.range));
        let unaudited = |row: &Row| Unaudited {
            range: row.range,
            worker: row.worker.clone(),
            kernel: row.kernel,
        };
        waits.map(unaudited).take(most).collect()
    }

    /// For the next farm: jobs that run, without disputes.
    pub fn restored(&mut self) -> Restored {
        assert!(self.disputes.is_empty(), "the stage restarts without disputes");
        let jobs: Vec<_> = self.jobs.clone().into_iter().collect();
        let job = |(id, (plan, slice, audit))| RestoredJob {
            id,
            plan,
            slice,
            priority: 0,
            thread_memory: 0,
            state: JobState::Running,
            accepted: self.of(id).map(|row| row.range).collect(),
            total: self.of(id).map(|row| u128::from(row.tally.count)).sum(),
            spent: self.spent(id, plan.tasks),
            disputes: Vec::new(),
            audit,
            audits_wanted: self.wanted(id),
            audits_agreed: self.agreed(id),
        };
        let jobs = jobs.into_iter().map(job).collect();
        Restored { epoch: 2, jobs, distrusted: self.distrusted.clone() }
    }

    fn spent(&mut self, id: JobId, tasks: u64) -> Spent {
        let mut spent = Spent::new(tasks);
        self.of(id).for_each(|row| spent.add(row.range, row.busy_us));
        spent
    }

    fn of(&mut self, job: JobId) -> impl Iterator<Item = &mut Row> {
        self.rows.iter_mut().filter(move |((of, _), _)| *of == job).map(|(_, row)| row)
    }

    fn wanted(&mut self, job: JobId) -> u64 {
        self.of(job).filter(|row| row.check == Check::Wanted).count() as u64
    }

    fn agreed(&mut self, job: JobId) -> u64 {
        self.of(job).filter(|row| matches!(row.check, Check::Confirmed(_))).count() as u64
    }

    fn add(&mut self, report: &Report, author: &Author, check: Check) {
        let Report { job, range, tally, kernel, .. } = *report;
        let worker = author.worker.clone();
        let row = Row { range, tally, worker, kernel, busy_us: report.busy_us, check };
        self.rows.insert((job, range.start()), row);
    }

    /// What nobody has confirmed of those who were wrong.
    fn withdraw(&mut self, settled: JobId, wrong: &[String]) -> Vec<Withdrawn> {
        let cancelled = self.cancelled.clone();
        for (_, row) in self.rows.iter_mut().filter(|((job, _), _)| !cancelled.contains(job)) {
            if matches!(&row.check, Check::Confirmed(by) if wrong.contains(by)) {
                row.check = Check::Wanted;
            }
        }
        let rows = &self.rows;
        let within = |job, range: Range| rows.range((job, range.start())..(job, range.end()));
        let closed: BTreeSet<(JobId, Range)> = self
            .disputes
            .extract_if(.., |&(job, range), votes| {
                let mut counters = within(job, range).map(|(_, row)| &row.worker);
                let is_part = |name: &String| wrong.contains(name);
                !cancelled.contains(&job) && (counters.any(is_part) || votes.iter().any(is_part))
            })
            .map(|(key, _)| key)
            .collect();
        let is_gone = |&(job, _): &(JobId, u64), row: &mut Row| {
            let disputed =
                |(of, range): &(JobId, Range)| *of == job && range.intersect(row.range).is_some();
            let unconfirmed = matches!(row.check, Check::None | Check::Wanted);
            let is_theirs = unconfirmed && wrong.contains(&row.worker);
            !cancelled.contains(&job) && (is_theirs || closed.iter().any(disputed))
        };
        let gone: Vec<_> = self.rows.extract_if(.., is_gone).collect();
        let mut jobs: BTreeSet<JobId> = self.rows.keys().map(|&(job, _)| job).collect();
        jobs.extend(gone.iter().map(|((job, _), _)| *job).chain([settled]));
        jobs.retain(|job| !cancelled.contains(job));
        let withdrawn = jobs.into_iter().map(|job| {
            let lost = || gone.iter().filter(|((of, _), _)| *of == job).map(|(_, row)| row);
            let claims = lost().map(|row| row.tally.claim());
            Withdrawn {
                job,
                ranges: lost().map(|row| row.range).collect::<IntervalSet>(),
                total: claims.fold(Claim::default(), |a, b| a.join(b).expect("small")).count,
                audits_wanted: self.wanted(job),
                audits_agreed: self.agreed(job),
            }
        });
        withdrawn.collect()
    }
}
