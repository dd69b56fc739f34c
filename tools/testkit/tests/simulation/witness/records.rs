//! What the ledger is asked for.

use std::collections::BTreeSet;

use farm::{Author, Event, JobState, LedgerCommand, Report, Ticket, Vote};

use super::Witness;
use crate::books::ordinals;
use crate::tally::Tally;

impl Witness {
    pub(super) fn command(
        &mut self,
        event: &Event,
        ticket: Ticket,
        command: &LedgerCommand,
        tally: &mut Tally,
    ) {
        match command {
            LedgerCommand::Compare { job, range } => {
                let Event::Reported { session, report } = event else {
                    panic!("{command:?}: why?")
                };
                assert_eq!((report.job, report.range), (*job, *range));
                self.compares.insert(ticket, (*report, self.seats[session].author()));
            }
            LedgerCommand::FindAudits { job, .. } => {
                assert_ne!(self.books[job].state, JobState::Cancelled, "audits of job {job}");
            }
            LedgerCommand::Accept { report, author, audit } => {
                self.check_author(event, author);
                let book = self.books.get_mut(&report.job).expect("only jobs that are durable");
                let plan = book.fingerprint;
                let chosen = book.policy.is_some_and(|policy| match book.seed_told {
                    true => policy.share_ppm > 0,
                    false => policy.chooses(plan, report.range),
                });
                tally.audited_for_want_of_secrecy += u64::from(chosen && book.seed_told);
                assert_eq!(*audit, chosen, "{:?} on {report:?}", book.policy);
                for ordinal in ordinals(report.range) {
                    assert!(!book.claimed[ordinal], "{ordinal} is accepted twice: {report:?}");
                    book.claimed[ordinal] = true;
                    book.clear(ordinal);
                    book.free -= u64::from(book.holder[ordinal].is_none());
                }
                let freed = book.free(report.range, None);
                self.no_longer_outstanding(&freed);
            }
            LedgerCommand::SetState { job, state } => {
                let asked = match event {
                    Event::Paused { job, .. } => (*job, JobState::Paused),
                    Event::Resumed { job, .. } => (*job, JobState::Running),
                    Event::Cancelled { job, .. } => (*job, JobState::Cancelled),
                    _ => panic!("nobody asked: {command:?}"),
                };
                assert_eq!((*job, *state), asked, "another thing was asked");
                self.book(*job).state = *state;
            }
            LedgerCommand::RequestAudit { job, policy } => {
                let Event::AuditAsked { job: of, policy: asked, .. } = event else {
                    panic!("nobody asked: {command:?}")
                };
                assert_eq!((job, policy), (of, asked), "another thing was asked");
                let book = self.book(*job);
                (book.policy, book.seed_told) = (Some(*policy), false);
                book.asked += 1;
            }
            LedgerCommand::Confirm { report, author } => {
                self.confirms.insert(ticket, *report);
                self.check_author(event, author);
                assert!(!self.settling, "rows may be about to go: {report:?}");
                let book = self.book(report.job);
                let row = book.unaudited(report.range).expect("only what waits, and once");
                assert_eq!(row.tally.claim(), report.tally.claim(), "they differ: {report:?}");
                assert_ne!(row.author.worker, author.worker, "the same worker: {report:?}");
                assert_ne!(row.kernel, report.kernel, "the same kernel: {report:?}");
                book.confirming.insert(report.range);
            }
            LedgerCommand::Dispute { report, author } => {
                self.check_author(event, author);
                assert!(!self.settling, "rows may be about to go: {report:?}");
                self.vote(report, author);
            }
            LedgerCommand::Settle { report, author, wrong } => {
                self.check_author(event, author);
                assert!(!self.settling, "one at a time: {report:?}");
                self.vote(report, author);
                let claim = report.tally.claim();
                let votes = &self.books[&report.job].disputes[&report.range];
                let named = votes.iter().filter(|vote| !vote.worker.is_empty());
                let (right, others): (Vec<_>, Vec<_>) = named.partition(|vote| vote.claim == claim);
                let names = |votes: Vec<&Vote>| -> BTreeSet<String> {
                    votes.into_iter().map(|vote| vote.worker.clone()).collect()
                };
                assert!(names(right).len() >= 2, "two must agree: {votes:?}");
                assert_eq!(names(others), wrong.iter().cloned().collect(), "{votes:?}");
                let mut honest = wrong.iter().filter(|worker| !self.liars.contains(*worker));
                assert_eq!(honest.next(), None, "an honest worker is distrusted: {votes:?}");
                self.distrusted.extend(wrong.iter().cloned());
                self.settling = true;
            }
            LedgerCommand::Finish { job, tasks, total }
            | LedgerCommand::Hold { job, tasks, total, .. } => {
                let book = &self.books[job];
                assert!(book.is_complete(), "job {job} is not done");
                assert_eq!((*tasks, *total), (book.rows.tasks, book.rows.total), "job {job}");
                assert!(!self.settling && book.asked == 0, "job {job} may not be done");
            }
            LedgerCommand::CreateJob { .. } => {}
        }
    }

    fn vote(&mut self, report: &Report, author: &Author) {
        let book = self.book(report.job);
        if matches!(book.state, JobState::Done | JobState::Held) {
            book.state = JobState::Running;
        }
        let worker = &author.worker;
        let vote = Vote { worker: worker.clone(), claim: report.tally.claim() };
        if let Some(votes) = book.disputes.get_mut(&report.range) {
            let voted = votes.iter().any(|vote| vote.worker == *worker);
            assert!(!voted, "{worker} votes twice on {}", report.range);
            votes.push(vote);
        } else {
            // It may contradict itself.
            let stored = book.rows.vote(report.range).expect("only what rows tile");
            book.disputes.insert(report.range, vec![stored, vote]);
        }
    }

    /// A count goes down in the ledger under the name of the worker that told it.
    fn check_author(&self, event: &Event, author: &Author) {
        assert_eq!(self.reporter(event), *author, "whose count is it?");
        assert!(!self.distrusted.contains(&author.worker), "{author:?} is believed again");
    }

    /// Who told the count that this is about.
    pub(super) fn reporter(&self, event: &Event) -> Author {
        match event {
            Event::Reported { session, .. } => self.seats[session].author(),
            Event::Ledger { ticket, .. } => self.compares[ticket].1.clone(),
            _ => panic!("a count comes from a report"),
        }
    }
}
