//! Audits: which accepted ranges are counted again, and what still waits for that.
//!
//! ```text
//!   accepted ──chosen──► wanted ──leased to another party, another kernel───► agreed
//!                           ▲                                      │
//!                           └──── the party that agreed was wrong ─┤
//!                                                                  └──► disputed
//! ```
//!
//! The ledger knows all ranges that are wanted. The farm keeps a bounded number of them, so that
//! its memory does not grow with the rows.

use std::collections::{BTreeMap, BTreeSet};

use crate::principal::is_second_opinion;
use crate::session::Session;
use crate::{AuditScope, KernelName, LeaseId, Principal, Provenance, Range, Row};

/// The ranges of a job that wait for an audit, as far as the farm needs to know them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Audits {
    /// How many ranges in the ledger wait for their second count.
    pub(crate) wanted: u64,
    /// How many ranges two parties have counted with the same result.
    pub(crate) agreed: u64,
    /// How many audit requests are on their way into the ledger.
    pub(crate) asked: usize,
    /// Whether the ledger was asked for more waiting ranges and has not answered.
    pub(crate) finding: bool,
    /// Whether all ranges that wait are in `ranges`.
    complete: bool,
    /// The wanted ranges that the farm keeps. Each stays until the ledger has its confirmation.
    ranges: BTreeMap<Range, WaitingRange>,
    /// Who counted the ranges that are kept, and how many of them each principal counted.
    principals: BTreeMap<Principal, usize>,
    /// Whether a range has come free since [`Audits::take_offered`] was last called.
    is_offered: bool,
    /// For each range that a late count contradicts, the owner of that count. This owner is not
    /// asked for the second opinion.
    doubters: BTreeMap<Range, String>,
}

/// A range that waits for its second count.
#[derive(Clone, Debug)]
struct WaitingRange {
    principal: Principal,
    kernel: KernelName,
    step: Step,
    /// The latest lease under which it was leased.
    asked: Option<LeaseId>,
    /// Principals that were asked to recount it and did so with the same kernel, so that their
    /// counts do not qualify.
    tried: BTreeSet<Principal>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Nobody counts the range again yet, so that it can be leased.
    Free,
    Leased,
    /// A count of the range was reported, and the ledger is comparing the counts. No worker is
    /// leased the range meanwhile.
    Comparing,
    /// A second count agreed, and the confirmation is on its way into the ledger.
    Confirming,
}

impl Audits {
    /// The most ranges that the farm keeps of a job.
    pub(crate) const WINDOW: usize = 512;

    /// Audits of a job for which the ledger has `wanted` waiting ranges. The farm knows none of
    /// them yet.
    pub(crate) fn new(wanted: u64, agreed: u64) -> Audits {
        Audits { wanted, agreed, complete: wanted == 0, ..Audits::default() }
    }

    /// Whether nothing waits for an audit, and no audit request is on its way.
    pub(crate) fn are_over(&self) -> bool {
        self.wanted == 0 && self.asked == 0
    }

    /// Whether the ledger should be asked for more waiting ranges.
    pub(crate) fn is_short(&self) -> bool {
        !self.complete && !self.finding && self.ranges.len() < Audits::WINDOW / 2
    }

    /// Notes that an accepted range is to be counted again.
    pub(crate) fn want(&mut self, row: Row) {
        self.wanted += 1;
        self.complete &= self.ranges.len() < Audits::WINDOW;
        if self.complete {
            self.add(row);
        }
    }

    /// Notes new numbers of ranges. The ledger may want other ranges than before, so that it is to
    /// be asked again.
    pub(crate) fn forget(&mut self, wanted: u64, agreed: u64) {
        (self.wanted, self.agreed) = (wanted, agreed);
        self.complete = false;
    }

    /// Adds the rows that the ledger has found when it was asked for [`Audits::WINDOW`] of them.
    pub(crate) fn found(&mut self, rows: Vec<Row>) {
        self.finding = false;
        self.complete = rows.len() < Audits::WINDOW;
        rows.into_iter().for_each(|row| self.add(row));
    }

    fn add(&mut self, row: Row) {
        let Row { range, kernel, provenance: Provenance { principal, .. }, .. } = row;
        self.ranges.entry(range).or_insert_with(|| {
            *self.principals.entry(principal.clone()).or_default() += 1;
            self.is_offered = true;
            WaitingRange {
                principal,
                kernel,
                step: Step::Free,
                asked: None,
                tried: BTreeSet::new(),
            }
        });
    }

    fn remove(&mut self, range: Range) -> Option<WaitingRange> {
        let wanted = self.ranges.remove(&range)?;
        let ranges = self.principals.get_mut(&wanted.principal).expect("every range is counted");
        *ranges -= 1;
        if *ranges == 0 {
            self.principals.remove(&wanted.principal);
        }
        Some(wanted)
    }

    /// Whether a range has come free since the last call.
    pub(crate) fn take_offered(&mut self) -> bool {
        std::mem::take(&mut self.is_offered)
    }

    /// Whether another party than this principal's has counted any of the ranges that are kept. The
    /// principals are in the order of their owners. If the first and the last have the same owner,
    /// all have it.
    fn has_others(&self, principal: &Principal, across: AuditScope) -> bool {
        let mut principals = self.principals.keys();
        let is_apart = |other: &Principal| other.is_apart_from(principal, across);
        match across {
            AuditScope::Machines => principals.any(is_apart),
            AuditScope::Owners => {
                principals.next().is_some_and(is_apart)
                    || principals.next_back().is_some_and(is_apart)
            }
        }
    }

    /// Whether this owner has counted any of the ranges that are kept.
    pub(crate) fn has_any_of(&self, owner: &str) -> bool {
        self.principals.keys().any(|principal| principal.owner == owner)
    }

    /// How many of the free ranges that the farm keeps none of these workers may count, by the
    /// owner that is not asked because its late count contradicts them. `None` before the ledger
    /// has said which ranges wait.
    pub(crate) fn stranded<'a>(
        &self,
        workers: impl Iterator<Item = &'a Session> + Clone,
        across: AuditScope,
    ) -> Option<BTreeMap<Option<&str>, u64>> {
        if self.wanted > 0 && self.ranges.is_empty() {
            return None;
        }
        // Who may count a range follows from its demands. There are few different ones.
        let mut alike: BTreeMap<Demands<'_>, u64> = BTreeMap::new();
        for (range, wanted) in self.ranges.iter().filter(|(_, it)| it.step == Step::Free) {
            *alike.entry(self.demands(range, wanted)).or_default() += 1;
        }
        let mut stranded = BTreeMap::new();
        for (demands, ranges) in alike {
            if !workers.clone().any(|worker| demands.are_met_by(worker, across)) {
                *stranded.entry(demands.doubter).or_default() += ranges;
            }
        }
        Some(stranded)
    }

    fn demands<'a>(&'a self, range: &Range, wanted: &'a WaitingRange) -> Demands<'a> {
        let doubter = self.doubters.get(range).filter(|&owner| *owner != wanted.principal.owner);
        let WaitingRange { principal: first, tried, .. } = wanted;
        Demands { first, tried, doubter: doubter.map(String::as_str) }
    }

    /// A range of another party that a session may count again, and the kernel that counted it
    /// first. A range that exceeds every worker's credit goes to an idle worker.
    pub(crate) fn for_session(
        &self,
        session: &Session,
        across: AuditScope,
        may_be_asked: impl Fn(Range) -> bool,
    ) -> Option<(Range, KernelName)> {
        let principal = session.principal();
        if !self.has_others(principal, across) {
            return None;
        }
        let may = |(range, wanted): &(&Range, &WaitingRange)| {
            wanted.step == Step::Free
                && session.has_room_for_recount(range.len())
                && may_be_asked(**range)
                && self.demands(range, wanted).are_met_by(session, across)
        };
        self.ranges.iter().find(may).map(|(&range, wanted)| (range, wanted.kernel))
    }

    /// Notes that a free range is leased.
    pub(crate) fn assign(&mut self, range: Range, lease: LeaseId) {
        let wanted = self.ranges.get_mut(&range).expect("only what waits is leased");
        assert_eq!(wanted.step, Step::Free, "nobody else counts {range}");
        (wanted.step, wanted.asked) = (Step::Leased, Some(lease));
    }

    /// Notes that a lease of a range is over.
    pub(crate) fn give_back(&mut self, range: Range, lease: LeaseId) {
        self.set_free(range, |wanted| wanted.lease() == Some(lease));
    }

    /// Notes that the ledger is asked to compare a count of a range.
    pub(crate) fn compare(&mut self, range: Range) {
        if let Some(wanted) = self.ranges.get_mut(&range)
            && wanted.step == Step::Free
        {
            wanted.step = Step::Comparing;
        }
    }

    /// Notes that the ledger has compared a count of a range.
    pub(crate) fn compared(&mut self, range: Range) {
        self.set_free(range, |wanted| wanted.step == Step::Comparing);
    }

    fn set_free(&mut self, range: Range, is_over: impl Fn(&WaitingRange) -> bool) {
        if let Some(wanted) = self.ranges.get_mut(&range).filter(|wanted| is_over(wanted)) {
            wanted.step = Step::Free;
            self.is_offered = true;
        }
    }

    /// Who counted a range that is kept, and with which kernel.
    pub(crate) fn awaited(&self, range: Range) -> Option<(&Principal, KernelName)> {
        self.ranges.get(&range).map(|wanted| (&wanted.principal, wanted.kernel))
    }

    /// Notes that a late count of `owner` contradicts a range. Returns `false`, and notes nothing,
    /// if a contradiction of the range is known already, or if the farm keeps [`Audits::WINDOW`] of
    /// this owner. The bound is for each owner, so that one owner's late counts do not displace
    /// another's.
    pub(crate) fn doubt(&mut self, range: Range, owner: &str) -> bool {
        let of_owner = self.doubters.values().filter(|other| *other == owner).count();
        let is_new = of_owner < Audits::WINDOW && !self.doubters.contains_key(&range);
        if is_new {
            self.doubters.insert(range, owner.into());
        }
        is_new
    }

    /// Whether a recount by `principal` with `kernel`, leased as `lease`, confirms the count of
    /// `range`, so that the ledger has to note it. A recount with the kernel that is to be checked
    /// is no second opinion. Its principal is not asked about the range again, because it has no
    /// other kernel. That holds only if the recount answers the latest lease of the range: an
    /// earlier lease may have been about a row that has been replaced since.
    pub(crate) fn confirms(
        &mut self,
        range: Range,
        (principal, kernel): (&Principal, KernelName),
        lease: LeaseId,
        across: AuditScope,
    ) -> bool {
        let Some(wanted) = self.ranges.get_mut(&range) else { return false };
        if wanted.kernel == kernel && wanted.asked == Some(lease) {
            wanted.tried.insert(principal.clone());
        }
        is_second_opinion((&wanted.principal, wanted.kernel), (principal, kernel), across)
    }

    /// Notes that the confirmation of a range is on its way into the ledger. Returns the lease
    /// under which another worker still counts the range, if there is one.
    pub(crate) fn confirm(&mut self, range: Range) -> Option<LeaseId> {
        let wanted = self.ranges.get_mut(&range).expect("it is confirmed by what waits");
        let lease = wanted.lease();
        wanted.step = Step::Confirming;
        lease
    }

    /// Whether the confirmation of a range is on its way into the ledger.
    pub(crate) fn is_confirming(&self, range: Range) -> bool {
        self.ranges.get(&range).is_some_and(|wanted| wanted.step == Step::Confirming)
    }

    /// Notes that the ledger has the confirmation of a range.
    pub(crate) fn confirmed(&mut self, range: Range) {
        self.remove(range);
        self.doubters.remove(&range);
        self.wanted -= 1;
        self.agreed += 1;
    }

    /// Forgets the ranges that `gone` selects, because they are disputed or no longer accepted.
    /// Returns the leases under which they are being counted again. A range whose confirmation is
    /// on its way stays.
    pub(crate) fn drop(&mut self, gone: impl Fn(Range) -> bool) -> Vec<LeaseId> {
        self.doubters.retain(|&range, _| !gone(range));
        let is_gone = |&(&range, wanted): &(&Range, &WaitingRange)| {
            gone(range) && wanted.step != Step::Confirming
        };
        let ranges: Vec<Range> =
            self.ranges.iter().filter(is_gone).map(|(&range, _)| range).collect();
        ranges.into_iter().filter_map(|range| self.remove(range)?.lease()).collect()
    }
}

/// What a range demands of the worker that counts it again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Demands<'a> {
    /// Who counted it first.
    first: &'a Principal,
    /// Who is not asked again.
    tried: &'a BTreeSet<Principal>,
    /// The owner of a late count that contradicts the range. It is not asked for the second
    /// opinion, except for its trusted workers. Otherwise an owner could choose which ranges it is
    /// asked about by contradicting them, and could replace a true count.
    doubter: Option<&'a str>,
}

impl Demands<'_> {
    fn are_met_by(&self, session: &Session, across: AuditScope) -> bool {
        let principal = session.principal();
        self.first.is_apart_from(principal, across)
            && !self.tried.contains(principal)
            && (session.is_trusted || self.doubter != Some(principal.owner.as_str()))
    }
}

impl WaitingRange {
    /// The lease under which the range is being counted again now.
    fn lease(&self) -> Option<LeaseId> {
        self.asked.filter(|_| self.step == Step::Leased)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CheckedCount, Hello, Millis};

    /// A session of a machine of the owner "rack".
    fn session(machine: &str) -> Session {
        let hello = Hello {
            worker: machine.into(),
            machine: machine.into(),
            build: "1.0".into(),
            backend: "portable".into(),
            instance: 1,
            threads: 1,
            credit: 10,
            holding: Vec::new(),
            methods: Vec::new(),
        };
        Session::new("rack".into(), false, &hello, Millis(0))
    }

    #[test]
    fn who_has_counted_all_that_waits_looks_at_none_of_it() {
        let looks = |principals: &[(&str, &str)], across| {
            let (mut audits, session) = (Audits::default(), session("m5"));
            audits.found(
                (0..512)
                    .map(|task| {
                        let (owner, machine) = principals[task % principals.len()];
                        let principal = Principal { owner: owner.into(), machine: machine.into() };
                        Row {
                            range: Range::new(task as u64, task as u64 + 1).expect("not empty"),
                            checked_count: CheckedCount::EMPTY,
                            kernel: KernelName::default(),
                            provenance: Provenance { principal, ..session.seen.provenance.clone() },
                            lease: LeaseId(0),
                            busy_us: 0,
                        }
                    })
                    .collect(),
            );
            let looked_at = std::cell::Cell::new(0);
            let look = |_| {
                looked_at.set(looked_at.get() + 1);
                true
            };
            let found = audits.for_session(&session, across, look);
            (found.is_some(), looked_at.get())
        };
        let own = [("rack", "m5")];
        let others = [("rack", "m1"), ("rack", "m5"), ("rack", "m9")];
        assert_eq!(looks(&own, AuditScope::Machines), (false, 0));
        assert_eq!(looks(&others, AuditScope::Owners), (false, 0));
        assert_eq!(looks(&others, AuditScope::Machines), (true, 1));
        for stranger in ["a", "z"] {
            let principals = [("rack", "m5"), (stranger, "m5")];
            assert_eq!(looks(&principals, AuditScope::Owners), (true, 2), "{stranger}");
        }
    }
}
