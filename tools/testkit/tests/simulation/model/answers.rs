//! Checks the answers to workers and clients.

use std::fmt;

use farm::{
    Answer, Change, DisputeState, Event, JobId, JobState, LeaseId, LedgerAnswer, LedgerCommand,
    Provenance, Range, Refusal, RequestId, Verdict, WorkerMessage,
};

use super::Model;
use crate::books::ordinals;
use crate::coverage::Coverage;
use crate::ledger::Ledger;
use crate::rows::{cover, vote};
use crate::scenario::ClientRequest;

impl Model {
    /// Checks that a vote is acknowledged, and so may be forgotten, only when it is durable.
    fn check_vote(&self, event: &Event, job: JobId, range: Range, ledger: &Ledger) {
        let Provenance { principal, .. } = self.reporter(event);
        let Some(voted) = self.books[&job].disputes.get(&range) else { return };
        if voted.iter().any(|vote| vote.principal == principal) {
            let known = ledger.stored(job);
            let stored = vote(&known.rows, range);
            let counted = stored.is_some_and(|vote| vote.principal == principal);
            let mut evidence = known.evidence.iter();
            let durable = counted
                || evidence.any(|(row, state)| {
                    *state == DisputeState::Open
                        && row.range == range
                        && row.provenance.principal == principal
                });
            assert!(durable, "{principal}'s vote on {range} is not durable");
        }
    }

    pub(super) fn ack(
        &mut self,
        event: &Event,
        job: JobId,
        range: Range,
        verdict: Verdict,
        ledger: &Ledger,
        coverage: &mut Coverage,
    ) {
        let what = fmt::from_fn(|f| write!(f, "{verdict:?} for {range} of job {job} on {event:?}"));
        let book = self.books.get_mut(&job);
        match verdict {
            Verdict::Accepted => {
                coverage.accepted += 1;
                assert!(ledger.accepted.contains(&(job, range)), "not durable: {what}");
            }
            Verdict::Agreed => {
                coverage.agreed += 1;
                match event {
                    Event::Ledger {
                        command: LedgerCommand::Compare(report, _),
                        answer: LedgerAnswer::Compared(Some(result)),
                        ..
                    } => {
                        assert_eq!(*result, report.checked_count.result(), "they differ: {what}");
                        assert!(cover(&ledger.rows_in(job, range), range), "not durable: {what}");
                    }
                    Event::Ledger { command: LedgerCommand::Confirm(report, _), .. } => {
                        assert_eq!((report.job, report.range), (job, range), "{what}");
                        assert!(ledger.confirmed.contains(&(job, range)), "not durable: {what}");
                    }
                    _ => panic!("unasked: {what}"),
                }
            }
            Verdict::Superseded => {
                coverage.superseded += 1;
                let known = book.expect("a job that exists");
                assert!(ordinals(range).any(|ordinal| known.claimed[ordinal]), "useful: {what}");
                self.check_vote(event, job, range, ledger);
                if let Event::Said(session, WorkerMessage::Report(report)) = event
                    && self.seats[session].leases.contains_key(&report.lease)
                {
                    let freed = self.book(job).free(range, Some(report.lease));
                    self.no_longer_outstanding(&freed);
                }
            }
            Verdict::Disputed => {
                assert!(ledger.evidence.contains(&(job, range)), "not durable: {what}");
            }
            Verdict::Obsolete => {
                coverage.obsolete += 1;
                assert!(book.is_none_or(|b| b.state == JobState::Cancelled), "wanted: {what}");
            }
            Verdict::Foreign => {
                let Event::Said(_, WorkerMessage::Report(report)) = event else {
                    panic!("unasked: {what}")
                };
                assert_ne!(report.fingerprint, ledger.jobs[&job].fingerprint, "{what}");
            }
            Verdict::Invalid => {
                let Event::Said(_, WorkerMessage::Report(report)) = event else {
                    panic!("unasked: {what}")
                };
                let is_part = self.books[&job].ordinals.contains(range);
                assert!(!is_part || !report.checked_count.is_sound(), "{what}");
            }
        }
    }

    pub(super) fn no_longer_outstanding(&mut self, leases: &[LeaseId]) {
        for lease in leases {
            let mut seats = self.seats.values_mut();
            let seat = seats.find(|seat| seat.leases.contains_key(lease)).expect("it is leased");
            seat.outstanding -= 1;
            let held = seat.leases.get_mut(lease).expect("it was found");
            held.open -= 1;
            if held.open == 0 {
                seat.leases.remove(lease);
            }
        }
    }

    pub(super) fn reply(
        &mut self,
        request: RequestId,
        answer: Result<&Answer, Refusal>,
        ledger: &Ledger,
        coverage: &mut Coverage,
    ) {
        let (wanted, named) = self.requests.remove(&request).expect("one answer to a question");
        let withdraws = matches!(
            &wanted,
            ClientRequest::Change(_, Change::Audit { policy, .. }) if policy.is_none()
        );
        let state = match wanted {
            ClientRequest::Submit(submission) => {
                let Ok(Answer::Jobs(jobs)) = answer else {
                    panic!("every plan is welcome: {answer:?}")
                };
                let durable = ledger.jobs[&jobs[0].id].plan;
                assert_eq!(durable, submission.plan, "the job is not durable");
                return;
            }
            ClientRequest::Change(_, Change::Audit { .. }) => "audited",
            ClientRequest::Change(_, Change::Priority(_)) => "prioritised",
            ClientRequest::Change(_, Change::Pause) => JobState::Paused.name(),
            ClientRequest::Change(_, Change::Resume) => JobState::Running.name(),
            ClientRequest::Change(_, Change::Cancel) => JobState::Cancelled.name(),
        };
        match answer {
            Ok(Answer::Jobs(_) | Answer::Distrusted(_) | Answer::Drained(_)) => {
                panic!("nobody asks for it")
            }
            Ok(Answer::Job(view)) => {
                let job = view.id;
                assert_eq!(Some(job), named, "the answer is about another job");
                coverage.audits_asked += u64::from(state == "audited");
                let reported = self.reported_states.entry((job, state)).or_default();
                *reported += 1;
                let durable = ledger.states.get(&(job, state)).copied().unwrap_or(0);
                assert!(*reported <= durable, "{state} of job {job} is not durable");
            }
            Err(Refusal::TooManyJobs(..) | Refusal::TooManyOfOwner(..) | Refusal::KeyTaken(_)) => {
                panic!("only a submission can be refused so")
            }
            Err(Refusal::NotOver(..) | Refusal::Proof(_) | Refusal::Unsettled(_)) => {
                panic!("no client removes a job")
            }
            Err(Refusal::NoSuchJob(job)) => assert!(!self.books.contains_key(&job)),
            Err(Refusal::Suspended(job)) => {
                let book = &self.books[&job];
                let is_covered = book.ordinals.iter().all(|range| book.has_claimed(range));
                // An audit of a suspended job cannot be withdrawn.
                let is_refused = state != "audited" || withdraws;
                assert!(is_covered && is_refused, "job {job} is not suspended");
            }
            Err(Refusal::Over(job, _)) => {
                let book = &self.books[&job];
                // Its end may be in the ledger's queue, and so may a command that reopens it.
                let is_covered = book.ordinals.iter().all(|range| book.has_claimed(range));
                let is_done = is_covered && state != "audited";
                assert!(book.state == JobState::Cancelled || is_done, "job {job} is not over");
            }
        }
    }
}
