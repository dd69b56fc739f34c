//! Checks the leases that the farm makes.

use farm::{JobId, JobState, Lease, LeaseKind, Range, Recount, SessionId};

use super::{Leased, Model};
use crate::books::{Book, Held, Seat, ordinals};
use crate::coverage::Coverage;
use crate::ledger::Ledger;
use crate::scenario::LONG_N;

impl Model {
    pub(super) fn assign(
        &mut self,
        session: SessionId,
        lease: &Lease,
        ledger: &Ledger,
        coverage: &mut Coverage,
    ) {
        let Lease { id: lease, job, plan, fingerprint, range, recount, token } = *lease;
        let whole = recount.is_some();
        assert!(lease.0 > self.last_lease, "lease {lease} was leased before");
        self.last_lease = lease.0;
        let owner = self.seats[&session].provenance.principal.owner.clone();
        self.leased.insert(lease, Leased { owner, job, range, kind: token.kind });
        assert_eq!((token.range, token.kind == LeaseKind::Recount), (range, whole), "{lease:?}");
        let durable = ledger.jobs.get(&job).expect("only a durable job is leased");
        assert_eq!((plan, fingerprint), (durable.plan, durable.fingerprint));
        assert!(range.end() <= plan.tasks, "{range} is not in {plan}");
        let seat = self.seats.get(&session).expect("only a session that is there is leased to");
        if !whole {
            self.books[&job].check_attempts(ordinals(range));
        }
        let overtakes = self.books[&job].holder[ordinals(range)].iter().any(Option::is_some);
        if !whole && overtakes {
            self.check_overtaking(seat, job, ordinals(range));
            coverage.overtaken += 1;
        }
        let seat = self.seats.get_mut(&session).expect("it was found");
        assert!(!seat.draining, "{session} is draining");
        let alone = whole && seat.outstanding == 0 && seat.credit > 0;
        seat.outstanding += range.len();
        assert!(
            seat.outstanding <= seat.credit || alone,
            "{} of {} leased to {session}: {lease:?}",
            seat.outstanding,
            seat.credit
        );
        seat.leases
            .insert(lease, Held { job, hull: range, whole, open: range.len(), reported: false });
        let book = self.books.get_mut(&job).expect("a job that the farm knows to be durable");
        let is_audited = book.state == JobState::Done && recount.is_some();
        assert!(book.state == JobState::Running || is_audited, "leased of job {job}");
        assert!(book.ordinals.contains(range), "{range} is not in the shard");
        if let Some(recount) = recount {
            let other = book.recounts.insert(range, lease);
            assert!(other.is_none(), "{lease:?} is counted again under {other:?} already");
            return check_recount(seat, book, range, recount, coverage);
        }
        let priority = book.priority;
        for ordinal in ordinals(range) {
            assert!(!book.claimed[ordinal], "{ordinal} of job {job} is accepted, and leased again");
            match book.holder[ordinal].replace(lease) {
                Some(holder) => drop(book.overtaken.entry(holder).or_default().insert(ordinal)),
                None => book.free -= 1,
            }
        }
        let is_tail = book.free == 0;
        if overtakes {
            return;
        }
        if plan.problem.n() == LONG_N {
            coverage.long_leases += 1;
            for ordinal in ordinals(range) {
                let is_first = self.long_leased.insert((job, ordinal));
                assert!(
                    is_first || !self.is_calm || self.in_tail.contains(&job),
                    "nothing was lost, and {ordinal} of job {job} is leased again: {lease:?}"
                );
            }
        }
        if is_tail {
            self.in_tail.insert(job);
        }
        let seat = &self.seats[&session];
        let late = seat.late;
        let is_patient = |seat: &Seat| !seat.late && seat.is_idle();
        let patient = self.seats.values().any(is_patient);
        assert!(!late || !patient, "{session} missed a deadline, and is served first: {lease:?}");
        let mut earlier = self.books.iter().filter(|(_, book)| book.priority > priority);
        let earlier = earlier.find(|(_, book)| book.waits());
        assert!(earlier.is_none(), "job {} comes first: {lease:?}", earlier.expect("some").0);
    }
}

impl Model {
    /// Checks a lease of tasks that another worker has already. The worker that gets the lease must
    /// be idle, and no other work may be left for it.
    fn check_overtaking(&self, seat: &Seat, job: JobId, mut range: std::ops::Range<usize>) {
        let book = &self.books[&job];
        assert_eq!(
            seat.outstanding, 0,
            "{range:?} of job {job} is leased twice, to a worker that has other work"
        );
        let is_held = |ordinal: usize| book.holder[ordinal].is_some();
        assert!(range.clone().all(is_held), "{range:?} of job {job}");
        let own = range.find(|&ordinal| seat.leases.keys().any(|&id| book.expects(ordinal, id)));
        assert_eq!(own, None, "it has it already, of job {job}");
        let other = self.books.values().find(|book| book.waits());
        assert!(other.is_none(), "of job {job}, while another waits");
    }
}

/// Checks that a recount is by a worker that has not counted the range before, and that it asks for
/// another kernel.
fn check_recount(
    seat: &Seat,
    book: &Book,
    range: Range,
    recount: Recount,
    coverage: &mut Coverage,
) {
    let principal = &seat.provenance.principal;
    if book.disputes.contains_key(&range) {
        assert!(
            seat.is_trusted || book.has_vote(range, principal),
            "{principal} has voted on {range}"
        );
        return;
    }
    coverage.audits_leased += 1;
    let row = book.unaudited(range).expect("only what waits for it is counted again");
    let is_apart = row.provenance.principal.is_apart_from(principal, book.across());
    assert!(is_apart, "it would agree with itself");
    let by_reference = book.policy.is_some_and(|policy| policy.by_reference);
    assert_eq!(recount, Recount { unlike: row.kernel, by_reference });
}
