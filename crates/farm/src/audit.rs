//! Audits: which accepted ranges are counted again, and what still waits for that.
//!
//! ```text
//!   accepted ──chosen──► wanted ──leased to another party, another kernel───► agreed
//!                           ▲                                      │
//!                           └──── the party that agreed was wrong ─┤
//!                                                                  └──► disputed
//! ```
//!
//! The ledger knows all that is wanted. The farm holds a window of it, so that its memory does not grow
//! with the rows.

use std::collections::{BTreeMap, BTreeSet};

use crate::principal::is_second_opinion;
use crate::session::Session;
use crate::{AuditScope, KernelName, LeaseId, Principal, Provenance, Range, Row};

/// What waits for an audit, as far as the farm needs to know.
#[derive(Clone, Debug, Default)]
pub(crate) struct Audits {
    /// Ranges in the ledger that wait.
    pub(crate) wanted: u64,
    /// Audit requests that are on their way into the ledger.
    pub(crate) asked: usize,
    /// The ledger was asked for more.
    pub(crate) finding: bool,
    /// All that waits is here.
    complete: bool,
    waiting: BTreeMap<Range, Waiting>,
    /// Who counted what waits, and how many ranges of it each.
    principals: BTreeMap<Principal, usize>,
    /// Something has begun to wait since it was last looked at.
    is_offered: bool,
    leased: BTreeMap<Range, (LeaseId, Waiting)>,
    /// Ranges that were counted again and that the ledger is looking up: no other worker is leased them
    /// meanwhile.
    comparing: BTreeMap<Range, Waiting>,
    /// Counted again with the same result, on the way into the ledger.
    confirming: BTreeSet<Range>,
    /// Owners whose late counts contradict a range. Theirs is no second opinion about it.
    doubters: BTreeMap<Range, String>,
}

#[derive(Clone, Debug)]
struct Waiting {
    principal: Principal,
    kernel: KernelName,
    /// The latest lease under which it was leased.
    asked: Option<LeaseId>,
    /// Principals that were asked to recount it and did so with the same kernel, so that their counts do not qualify.
    tried: BTreeSet<Principal>,
}

impl Audits {
    /// The most ranges that the farm keeps of a job.
    pub(crate) const WINDOW: usize = 512;

    /// With `wanted` ranges in the ledger, of which none is known.
    pub(crate) fn new(wanted: u64) -> Audits {
        Audits { wanted, complete: wanted == 0, ..Audits::default() }
    }

    /// Whether nothing waits, and nothing is going to.
    pub(crate) fn are_over(&self) -> bool {
        self.wanted == 0 && self.asked == 0
    }

    /// Whether the ledger should be asked for more.
    pub(crate) fn is_short(&self) -> bool {
        !self.complete && !self.finding && self.known() < Audits::WINDOW / 2
    }

    fn known(&self) -> usize {
        self.waiting.len() + self.leased.len() + self.comparing.len()
    }

    /// A range was accepted that is to be counted again.
    pub(crate) fn want(&mut self, row: Row) {
        self.wanted += 1;
        self.complete &= self.known() < Audits::WINDOW;
        if self.complete {
            self.add(row);
        }
    }

    /// The ledger may want other ranges than before: `wanted` of them.
    pub(crate) fn forget(&mut self, wanted: u64) {
        self.wanted = wanted;
        self.complete = false;
    }

    /// What the ledger has found, when asked for [`Audits::WINDOW`].
    pub(crate) fn found(&mut self, rows: Vec<Row>) {
        self.finding = false;
        self.complete = rows.len() < Audits::WINDOW;
        rows.into_iter().for_each(|row| self.add(row));
    }

    fn add(&mut self, row: Row) {
        let Row { range, kernel, provenance: Provenance { principal, .. }, .. } = row;
        let is_under_way = self.leased.contains_key(&range)
            || self.comparing.contains_key(&range)
            || self.confirming.contains(&range);
        if !is_under_way && !self.waiting.contains_key(&range) {
            self.wait(range, Waiting { principal, kernel, asked: None, tried: BTreeSet::new() });
        }
    }

    /// The one way in for what waits.
    fn wait(&mut self, range: Range, waiting: Waiting) {
        *self.principals.entry(waiting.principal.clone()).or_default() += 1;
        self.waiting.insert(range, waiting);
        self.is_offered = true;
    }

    /// The one way out for what waits.
    fn take(&mut self, range: Range) -> Option<Waiting> {
        let waiting = self.waiting.remove(&range)?;
        let ranges = self.principals.get_mut(&waiting.principal).expect("every range is counted");
        *ranges -= 1;
        if *ranges == 0 {
            self.principals.remove(&waiting.principal);
        }
        Some(waiting)
    }

    /// Whether something has begun to wait since this was last asked.
    pub(crate) fn take_offered(&mut self) -> bool {
        std::mem::take(&mut self.is_offered)
    }

    /// Whether another party than this principal's has counted any of what waits. Principals are in the order of their
    /// owners: if the first and the last are of one owner, all are.
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

    /// How many of the ranges that wait none of these workers may count, as far as the farm keeps them; `None` before the
    /// ledger has said which wait.
    pub(crate) fn stranded<'a>(
        &self,
        workers: impl Iterator<Item = &'a Principal> + Clone,
        across: AuditScope,
    ) -> Option<u64> {
        if self.wanted > 0 && self.known() + self.confirming.len() == 0 {
            return None;
        }
        let has_worker = |first: &Principal, tried: &BTreeSet<Principal>| {
            let mut may = workers.clone().filter(|&worker| !tried.contains(worker));
            may.any(|worker| first.is_apart_from(worker, across))
        };
        let nobody = BTreeSet::new();
        let alone = self.principals.iter().filter(|(first, _)| !has_worker(first, &nobody));
        let alone: BTreeMap<&Principal, usize> = alone.map(|(first, &n)| (first, n)).collect();
        // Mostly the same few have tried in vain, and there is one answer for all their ranges.
        let mut tried: BTreeMap<(&Principal, &BTreeSet<Principal>), usize> = BTreeMap::new();
        for waiting in self.waiting.values().filter(|waiting| !waiting.tried.is_empty()) {
            *tried.entry((&waiting.principal, &waiting.tried)).or_default() += 1;
        }
        tried.retain(|(first, by), _| !alone.contains_key(first) && !has_worker(first, by));
        Some(alone.values().chain(tried.values()).map(|&ranges| ranges as u64).sum())
    }

    /// A range that a session may count again, and the kernel that counted it: that of another party. One that exceeds
    /// every worker's credit goes to a worker that is idle. The owner of a late count that contradicts a range is not
    /// asked about it: it could choose by contradicting what it is asked about, and replace a true count.
    pub(crate) fn for_session(
        &self,
        session: &Session,
        across: AuditScope,
        may_be_asked: impl Fn(Range) -> bool,
    ) -> Option<(Range, KernelName)> {
        if !self.has_others(session.principal(), across) {
            return None;
        }
        let may = |(range, waiting): &(&Range, &Waiting)| {
            let fits = session.has_room_for_recount(range.len());
            let principal = session.principal();
            let doubter =
                self.doubters.get(range).filter(|&owner| *owner != waiting.principal.owner);
            fits && may_be_asked(**range)
                && waiting.principal.is_apart_from(principal, across)
                && !waiting.tried.contains(principal)
                && (session.is_trusted || doubter != Some(&principal.owner))
        };
        self.waiting.iter().find(may).map(|(&range, waiting)| (range, waiting.kernel))
    }

    /// One that waits is leased.
    pub(crate) fn assign(&mut self, range: Range, lease: LeaseId) {
        let mut waiting = self.take(range).expect("only what waits is leased");
        waiting.asked = Some(lease);
        self.leased.insert(range, (lease, waiting));
    }

    /// A lease of one is over.
    pub(crate) fn give_back(&mut self, range: Range, lease: LeaseId) {
        if self.leased.get(&range).is_some_and(|&(holder, _)| holder == lease) {
            let (_, waiting) = self.leased.remove(&range).expect("it was found");
            self.wait(range, waiting);
        }
    }

    /// The ledger is asked what it has of a range.
    pub(crate) fn compare(&mut self, range: Range) {
        let waiting = self.take(range);
        self.comparing.extend(waiting.map(|waiting| (range, waiting)));
    }

    /// The ledger has answered.
    pub(crate) fn compared(&mut self, range: Range) {
        if let Some(waiting) = self.comparing.remove(&range) {
            self.wait(range, waiting);
        }
    }

    /// Who counted a range that waits for a recount, leased or not, and with what.
    pub(crate) fn awaited(&self, range: Range) -> Option<(&Principal, KernelName)> {
        let leased = self.leased.get(&range).map(|(_, waiting)| waiting);
        let waiting = leased.or_else(|| self.waiting.get(&range))?;
        Some((&waiting.principal, waiting.kernel))
    }

    /// A late count of `owner` contradicts a range. `false` if that is known, or if there are as many of this owner as the
    /// farm keeps. The bound is for each owner, so that one owner's late counts do not displace another's.
    pub(crate) fn doubt(&mut self, range: Range, owner: &str) -> bool {
        let of_owner = self.doubters.values().filter(|other| *other == owner).count();
        let is_new = of_owner < Audits::WINDOW && !self.doubters.contains_key(&range);
        if is_new {
            self.doubters.insert(range, owner.into());
        }
        is_new
    }

    /// Whether a recount by `principal` with `kernel`, leased as `lease`, confirms the count of `range`: then the
    /// ledger has to note it. A repetition with the kernel that is to be checked is no second opinion. A principal that
    /// has no other kernel is not asked again. A late recount of a row that is no more answers another lease.
    pub(crate) fn confirms(
        &mut self,
        range: Range,
        (principal, kernel): (&Principal, KernelName),
        lease: LeaseId,
        across: AuditScope,
    ) -> bool {
        let leased = self.leased.get_mut(&range).map(|(_, waiting)| waiting);
        let Some(waiting) = leased.or_else(|| self.waiting.get_mut(&range)) else { return false };
        if waiting.kernel == kernel && waiting.asked == Some(lease) {
            waiting.tried.insert(principal.clone());
        }
        is_second_opinion((&waiting.principal, waiting.kernel), (principal, kernel), across)
    }

    /// The confirmation is on its way into the ledger. Returns the lease under which another worker counts the range, too.
    pub(crate) fn confirm(&mut self, range: Range) -> Option<LeaseId> {
        self.take(range);
        self.confirming.insert(range);
        self.leased.remove(&range).map(|(lease, _)| lease)
    }

    /// Whether one that is counted at last is on its way into the ledger.
    pub(crate) fn is_confirming(&self, range: Range) -> bool {
        self.confirming.contains(&range)
    }

    /// The ledger has it.
    pub(crate) fn confirmed(&mut self, range: Range) {
        self.confirming.remove(&range);
        self.doubters.remove(&range);
        self.wanted -= 1;
    }

    /// A range is no longer what it was: disputed, or not accepted any more. Returns the leases under
    /// which parts of it are counted again.
    pub(crate) fn drop(&mut self, gone: impl Fn(Range) -> bool) -> Vec<(Range, LeaseId)> {
        let waiting: Vec<Range> =
            self.waiting.keys().copied().filter(|&range| gone(range)).collect();
        waiting.into_iter().for_each(|range| drop(self.take(range)));
        self.comparing.retain(|&range, _| !gone(range));
        self.doubters.retain(|&range, _| !gone(range));
        let leased = self.leased.extract_if(.., |&range, _| gone(range));
        leased.map(|(range, (lease, _))| (range, lease)).collect()
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
            memory: 0,
            credit: 10,
            holding: Vec::new(),
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
                            provenance: Provenance { principal, ..session.provenance.clone() },
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
