//! Updates the model with what the ledger reports to the farm.

use std::collections::BTreeSet;

use farm::{
    AuditScope, Change, Check, CountedRange, DisputeState, Distrusted, JobState, LedgerAnswer,
    LedgerCommand, Party, Row, Withdrawn,
};

use super::Model;
use crate::books::Book;
use crate::coverage::Coverage;
use crate::ledger::Done;
use crate::rows::Rows;
use crate::snapshot::Snapshot;

impl Model {
    /// Notes a command that the ledger reports to the farm.
    pub fn reported(&mut self, done: &Done, coverage: &mut Coverage) {
        match &done.answer {
            LedgerAnswer::Written => self.note_written(done, coverage),
            LedgerAnswer::AuditNoted { wanted, agreed } => {
                let (job, policy) = match &done.command {
                    LedgerCommand::Change { job, change: Change::Audit { policy, .. }, .. } => {
                        (job, Some(policy))
                    }
                    LedgerCommand::Doubt(report, _) => (&report.job, None),
                    other => panic!("{other:?} asks for no audit"),
                };
                let after = done.after.as_ref().expect("it may change any row of the job");
                let rows = &after.jobs[job].rows;
                let book = self.book(*job);
                assert!(book.rows.count_like(rows), "an audit changes no count of job {job}");
                (book.asked, book.rows) = (book.asked - 1, Rows::of(rows));
                let audits = (book.rows.wanted, book.rows.agreed);
                assert_eq!(audits, (*wanted, *agreed), "audits of job {job}");
                let Some(policy) = policy else { return };
                let plan = book.fingerprint;
                let is_forgotten = |counted: &&CountedRange| {
                    counted.check == Check::NotChosen && policy.chooses(plan, counted.row.range)
                };
                assert_eq!(rows.values().find(is_forgotten), None, "{policy:?} chooses it");
                let withdraws = policy.share_ppm == 0 && book.state != JobState::Suspended;
                // A remaining range of a distrusted principal still waits.
                let waits = |counted: &&CountedRange| {
                    let principal = &counted.row.provenance.principal;
                    counted.check == Check::Wanted && !after.distrusted.includes(principal)
                };
                let left = rows.values().find(waits).filter(|_| withdraws);
                assert_eq!(left, None, "{policy:?} leaves what waited");
                coverage.audits_withdrawn += u64::from(withdraws);
                if book.state == JobState::Suspended {
                    book.state = JobState::Running;
                }
            }
            LedgerAnswer::Settled(withdrawn) => {
                let after = done.after.as_ref().expect("it may change any row");
                self.note_settlement(&done.command, withdrawn, after, coverage);
            }
            LedgerAnswer::Compared(_) | LedgerAnswer::AuditsFound(_) => {}
        }
    }

    fn note_written(&mut self, done: &Done, coverage: &mut Coverage) {
        match &done.command {
            LedgerCommand::CreateJob { job, spec, audit } => {
                self.books.insert(*job, Book::new(spec, *audit));
            }
            LedgerCommand::Finish { job, reason: None, .. } => {
                coverage.put_off += u64::from(self.settling);
                let book = self.book(*job);
                book.ended = book.is_complete();
                self.conclude();
            }
            LedgerCommand::Finish { job, .. } => {
                let book = self.book(*job);
                let is_at_rest = book.is_complete() && book.asked == 0;
                if is_at_rest && book.state != JobState::Cancelled {
                    book.state = JobState::Suspended;
                }
            }
            LedgerCommand::Accept { report, provenance, audit } => {
                let check = if *audit { Check::Wanted } else { Check::NotChosen };
                let row = Row::new(report, provenance);
                let rows = &mut self.book(report.job).rows;
                rows.put(CountedRange { row, check });
                rows.join(&done.joined);
            }
            LedgerCommand::Confirm(report, _) => {
                let book = self.book(report.job);
                book.confirming.remove(&report.range);
                let counted = book.rows.take(report.range);
                book.rows.put(CountedRange { check: Check::Agreed, ..counted });
            }
            LedgerCommand::Change { .. }
            | LedgerCommand::NoteBegun(_)
            | LedgerCommand::NoteCounted(_)
            | LedgerCommand::NoteWaited(..)
            | LedgerCommand::Dispute(..) => {}
            LedgerCommand::Doubt(..)
            | LedgerCommand::Settle { .. }
            | LedgerCommand::Trust { .. }
            | LedgerCommand::Remove(..)
            | LedgerCommand::Compare(..)
            | LedgerCommand::FindAudits { .. } => {
                panic!("more is to be reported: {done:?}")
            }
        }
    }

    /// Checks that a settlement reports all rows that it invalidates. No count that rests on the
    /// wrong worker alone may remain.
    fn note_settlement(
        &mut self,
        command: &LedgerCommand,
        withdrawn: &[Withdrawn],
        after: &Snapshot,
        coverage: &mut Coverage,
    ) {
        let LedgerCommand::Settle { report, wrong, .. } = command else {
            panic!("{command:?} ends nothing")
        };
        self.settling = false;
        self.over = BTreeSet::from([(report.job, report.range)]);
        assert!(withdrawn.iter().any(|of| of.job == report.job), "{withdrawn:?}");
        let book = self.book(report.job);
        book.disputes.remove(&report.range).expect("it was disputed");
        let replaced: Vec<_> = book.rows.overlapping(report.range).map(|row| row.range).collect();
        replaced.into_iter().for_each(|range| drop(book.rows.take(range)));
        book.rows.put(after.jobs[&report.job].rows[&report.range.start()].clone());
        for Withdrawn { job, ranges, total, audits_wanted, audits_agreed, .. } in withdrawn {
            let rows = &after.jobs[job].rows;
            let book = self.books.get_mut(job).expect("only jobs that are durable");
            let before = book.rows.total;
            let over = book.withdraw(ranges, &self.distrusted);
            self.over.extend(over.into_iter().map(|range| (*job, range)));
            assert_eq!(before - book.rows.total, *total, "the sum of what goes");
            assert!(book.rows.count_like(rows), "{ranges:?} is not all that goes of job {job}");
            book.rows = Rows::of(rows);
            let audits = (book.rows.wanted, book.rows.agreed);
            assert_eq!(audits, (*audits_wanted, *audits_agreed), "audits of job {job}");
            book.ended &= book.is_covered();
            let is_at_rest = match book.state {
                JobState::Done => book.is_covered(),
                JobState::Suspended => book.is_complete(),
                _ => true,
            };
            if !is_at_rest {
                book.state = JobState::Running;
            }
        }
        for (id, book) in &self.books {
            assert!(book.rows.are(&after.jobs[id].rows), "job {id} was not reported");
        }
        check_nothing_is_left(after);
        check_task_counts(after, coverage);
        self.check_votes(after, wrong);
        self.conclude();
    }

    /// Checks that no vote of a worker that was wrong counts. The first vote in a dispute is its
    /// row. That row may be by a worker who was proven wrong earlier: another worker had confirmed
    /// it, and a later audit among owners doubted it again.
    fn check_votes(&self, after: &Snapshot, wrong: &[Party]) {
        let distrusted = &after.distrusted;
        let now = Distrusted(wrong.iter().cloned().collect());
        let live = self.books.iter().filter(|(_, book)| book.state != JobState::Cancelled);
        for (id, book) in live {
            for votes in book.disputes.values() {
                let (row, claims) = votes.split_first().expect("a dispute is about a row");
                assert!(!now.includes(&row.principal), "still counts in job {id}: {row:?}");
                let claim = claims.iter().find(|claim| distrusted.includes(&claim.principal));
                assert!(claim.is_none(), "still counts in job {id}: {claim:?}");
            }
        }
    }

    /// Ends the jobs whose end is durable, once it is known that their rows stay.
    fn conclude(&mut self) {
        let settling = self.settling;
        for book in self.books.values_mut().filter(|book| book.ended && !settling) {
            (book.ended, book.state) = (false, JobState::Done);
        }
    }
}

/// Checks that reported counts of tasks belong to an accepted row and add up to it.
fn check_task_counts(store: &Snapshot, coverage: &mut Coverage) {
    for (id, job) in &store.jobs {
        let plan = job.job.spec.plan.fingerprint();
        let rows = job.rows.values().map(|counted| &counted.row);
        for row in rows {
            let Some(counts) = job.task_counts.get(&row.range.start()) else { continue };
            assert!(counts.add_up_to(plan, row.range, row.checked_count), "job {id}: {row:?}");
            coverage.rows_reported += 1;
        }
        for start in job.task_counts.keys() {
            assert!(
                job.rows.contains_key(start),
                "job {id} has counts of tasks without a row: {start}"
            );
        }
    }
}

/// Checks that unfinished jobs have no count that rests on a wrong worker alone.
fn check_nothing_is_left(store: &Snapshot) {
    let distrusted = &store.distrusted;
    let is_wrong = |row: &Row| distrusted.includes(&row.provenance.principal);
    let live = store.jobs.iter().filter(|(_, job)| job.job.state != JobState::Cancelled);
    for (id, job) in live {
        // Two machines of one owner may have agreed before other owners were demanded.
        let is_across = job.job.policy.is_some_and(|policy| policy.across == AuditScope::Owners);
        let may_wait = |range| {
            let mut evidence = job.evidence.iter();
            is_across
                && evidence.any(|(row, why)| (row.range, *why) == (range, DisputeState::TakenBack))
        };
        let is_left = |counted: &&CountedRange| match counted.check {
            Check::Agreed => false,
            Check::Wanted if may_wait(counted.row.range) => false,
            Check::Wanted | Check::NotChosen => is_wrong(&counted.row),
        };
        assert_eq!(job.rows.values().find(is_left), None, "still in job {id}");
        let is_void = |(start, second): &(&u64, &Row)| {
            let first = &job.rows[start].row.provenance.principal;
            distrusted.0.iter().any(|party| party.voids(first, &second.provenance.principal))
        };
        assert_eq!(job.seconds.iter().find(is_void), None, "still in job {id}");
        let is_open =
            |(row, state): &&(Row, DisputeState)| *state == DisputeState::Open && is_wrong(row);
        assert_eq!(job.evidence.iter().find(is_open), None, "still in job {id}");
    }
}
