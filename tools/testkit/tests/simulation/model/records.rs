//! Checks the commands to the ledger.

use std::collections::BTreeSet;

use farm::{
    AuditPolicy, AuditScope, Change, Event, JobId, JobState, LeaseKind, LedgerCommand, Party,
    Provenance, Report, Request, Vote, WorkerMessage,
};

use super::Model;
use crate::books::ordinals;
use crate::coverage::Coverage;

impl Model {
    pub(super) fn command(
        &mut self,
        event: &Event,
        command: &LedgerCommand,
        coverage: &mut Coverage,
    ) {
        match command {
            LedgerCommand::Compare(report, provenance) => {
                let Event::Said(session, WorkerMessage::Report(reported)) = event else {
                    panic!("{command:?}: why?")
                };
                let of = |report: &Report| {
                    (report.job, report.lease, report.range, report.checked_count)
                };
                assert_eq!(of(report), of(reported));
                assert_eq!(*provenance, self.seats[session].provenance, "whose count is it?");
            }
            LedgerCommand::FindAudits { job, .. } => {
                assert_ne!(self.books[job].state, JobState::Cancelled, "audits of job {job}");
            }
            LedgerCommand::Accept { report, provenance, audit } => {
                self.check_provenance(event, provenance);
                let owner = &provenance.principal.owner;
                let is_suspect = self.distrusted.0.iter().any(|party| party.owner == *owner);
                let book = self.books.get_mut(&report.job).expect("only jobs that are durable");
                let plan = book.fingerprint;
                let chosen = book.policy.is_some_and(|policy| {
                    policy.chooses(plan, report.range) || is_suspect && policy.share_ppm > 0
                });
                coverage.of_suspects += u64::from(chosen && is_suspect);
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
            LedgerCommand::NoteBegun(_)
            | LedgerCommand::NoteCounted(_)
            | LedgerCommand::NoteWaited(..) => {}
            LedgerCommand::Change { job, change: Change::Audit { policy, .. }, by } => {
                let (change, who) = asked(event, *job);
                let Change::Audit { policy: wanted, narrows } = change else {
                    panic!("another thing: {change:?}")
                };
                let book = self.book(*job);
                let across = match (wanted.share_ppm, narrows) {
                    // Withdrawing an audit does not change the scope that open disputes demand.
                    (0, _) => book.across(),
                    (_, true) => wanted.across,
                    (_, false) => wanted.across.max(book.across()),
                };
                let wanted = AuditPolicy { across, ..wanted };
                assert_eq!((*policy, by), (wanted, who), "another thing was asked");
                book.policy = Some(*policy);
                book.asked += 1;
            }
            LedgerCommand::Change { job, change, by } => {
                assert_eq!((*change, by), asked(event, *job), "another thing was asked");
                match *change {
                    Change::Priority(priority) => self.book(*job).priority = priority,
                    _ => self.book(*job).state = change.state().expect("it changes the state"),
                }
            }
            LedgerCommand::Confirm(report, provenance) => {
                self.check_provenance(event, provenance);
                assert!(!self.settling, "rows may be about to go: {report:?}");
                let book = self.book(report.job);
                let row = book.unaudited(report.range).expect("only what waits, and once");
                assert_eq!(
                    row.checked_count.result(),
                    report.checked_count.result(),
                    "they differ: {report:?}"
                );
                let is_apart =
                    row.provenance.principal.is_apart_from(&provenance.principal, book.across());
                assert!(is_apart, "the same party: {report:?}");
                assert_eq!(report.token.kind, LeaseKind::Recount, "nobody asked: {report:?}");
                assert_ne!(row.kernel, report.kernel, "the same kernel: {report:?}");
                book.confirming.insert(report.range);
            }
            LedgerCommand::Dispute(report, provenance) => {
                self.check_provenance(event, provenance);
                assert!(!self.settling, "rows may be about to go: {report:?}");
                self.vote(report, provenance);
            }
            LedgerCommand::Settle { report, provenance, wrong, .. } => {
                self.check_provenance(event, provenance);
                assert!(!self.settling, "one at a time: {report:?}");
                self.vote(report, provenance);
                let result = report.checked_count.result();
                let is_trusted = self.is_trusted(provenance);
                let votes = &self.books[&report.job].disputes[&report.range];
                let across = self.books[&report.job].across();
                let (right, others): (Vec<_>, Vec<_>) =
                    votes.iter().partition(|vote| vote.result == result);
                let counts = |vote: &&Vote| !self.distrusted.includes(&vote.principal);
                let right: Vec<_> = right.into_iter().filter(counts).collect();
                let owners = |votes: &[&Vote]| -> BTreeSet<String> {
                    votes.iter().map(|vote| vote.principal.owner.clone()).collect()
                };
                let machines: BTreeSet<_> = right.iter().map(|vote| &vote.principal).collect();
                let right = owners(&right);
                let is_own_word = across == AuditScope::Machines
                    && machines.len() >= 2
                    && owners(&others).is_subset(&right);
                let is_decided = is_trusted || right.len() >= 2 || is_own_word;
                assert!(is_decided, "one owner about another: {votes:?}");
                let machine = |vote: &&Vote| vote.principal.party(AuditScope::Machines);
                let mut known = self.distrusted.0.clone();
                known.extend(others.iter().map(machine));
                let party = |vote: &&Vote| {
                    let owner = &vote.principal.owner;
                    let machines = known.iter().filter(|party| party.owner == *owner).count();
                    let is_whole = machines >= 2 && !right.contains(owner);
                    vote.principal.party(if is_whole { across } else { AuditScope::Machines })
                };
                let expected: BTreeSet<Party> = others.iter().map(party).collect();
                assert_eq!(expected, wrong.iter().cloned().collect(), "{votes:?}");
                let mut honest = wrong.iter().filter(|party| !self.league.may_be_wrong(party));
                assert_eq!(honest.next(), None, "an honest principal is distrusted: {votes:?}");
                coverage.by_trusted += u64::from(is_trusted && right.len() < 2);
                coverage.corrected_by_own += u64::from(is_own_word && right.len() < 2);
                self.distrusted.0.extend(wrong.iter().cloned());
                self.settling = true;
            }
            LedgerCommand::Finish { job, tasks, total, .. } => {
                let book = &self.books[job];
                assert!(book.is_complete(), "job {job} is not done");
                assert_eq!((*tasks, *total), (book.rows.tasks, book.rows.total), "job {job}");
                assert!(!self.settling && book.asked == 0, "job {job} may not be done");
            }
            LedgerCommand::Doubt(report, provenance) => {
                let Event::Ledger { command: LedgerCommand::Compare(compared, _), .. } = event
                else {
                    panic!("{command:?}: why?")
                };
                assert_eq!(report, compared, "another range is doubted");
                assert_eq!(self.reporter(event), *provenance, "whose count is it?");
                let book = self.book(report.job);
                assert!(
                    !matches!(book.state, JobState::Done | JobState::Suspended),
                    "it is over: {report:?}"
                );
                book.asked += 1;
            }
            LedgerCommand::Trust { .. } => unreachable!("no command changes trust"),
            LedgerCommand::Remove(..) => unreachable!("no command removes a job"),
            LedgerCommand::CreateJob { .. } => {}
        }
    }

    fn vote(&mut self, report: &Report, provenance: &Provenance) {
        let is_trusted = self.is_trusted(provenance);
        let book = self.book(report.job);
        if matches!(book.state, JobState::Done | JobState::Suspended) {
            book.state = JobState::Running;
        }
        assert_eq!(report.token.kind, LeaseKind::Recount, "nobody asked: {report:?}");
        let principal = provenance.principal.clone();
        let vote = Vote { principal: principal.clone(), result: report.checked_count.result() };
        if book.disputes.contains_key(&report.range) {
            let may = is_trusted || book.has_vote(report.range, &principal);
            assert!(may, "{principal} has no vote on {}", report.range);
            book.disputes.get_mut(&report.range).expect("it was found").push(vote);
        } else {
            // A worker may contradict itself.
            let stored = book.rows.vote(report.range).expect("only what rows tile");
            book.disputes.insert(report.range, vec![stored, vote]);
        }
    }

    fn is_trusted(&self, provenance: &Provenance) -> bool {
        self.seats.values().any(|seat| seat.is_trusted && seat.provenance == *provenance)
    }

    /// Checks that a count is recorded under the name of the worker that reported it.
    fn check_provenance(&self, event: &Event, provenance: &Provenance) {
        assert_eq!(self.reporter(event), *provenance, "whose count is it?");
        assert!(
            !self.distrusted.includes(&provenance.principal),
            "{provenance:?} is trusted again"
        );
    }

    /// The worker that reported the count of this event.
    pub(super) fn reporter(&self, event: &Event) -> Provenance {
        match event {
            Event::Said(session, WorkerMessage::Report(_)) => {
                self.seats[session].provenance.clone()
            }
            Event::Ledger {
                command: LedgerCommand::Compare(_, provenance) | LedgerCommand::Doubt(_, provenance),
                ..
            } => provenance.clone(),
            _ => panic!("a count comes from a report"),
        }
    }
}

/// The change of a job that a client requests in this event, and the client.
fn asked(event: &Event, job: JobId) -> (Change, &String) {
    match event {
        Event::Asked(_, by, Request::Change(of, change)) if *of == job => (*change, by),
        _ => panic!("no client asked for a change of job {job}: {event:?}"),
    }
}
