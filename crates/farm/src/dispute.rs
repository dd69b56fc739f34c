//! Disputes: contradictory counts of a range, and when they are settled.
//!
//! ```text
//!   two owners count the same ─────────────────────────────► settled: who counts otherwise was wrong
//!   a worker that the operator trusts recounts the range ──► settled by its count alone
//!   only one owner has a part, and two of its machines
//!   count the same, where machines check each other ───────► settled: it is that owner's word about its own machine
//!   anything else ─────────────────────────────────────────► waits, and nobody is distrusted
//! ```

use std::collections::BTreeSet;

use crate::{AuditScope, CountResult, Distrusted, KernelName, LeaseId, Party, Principal, Range};

crate::named! {
    /// Whose counts settled a dispute. Ledgers and bundles store this as the reason why somebody is
    /// distrusted.
    pub enum Ground {
        /// Two owners agreed.
        TwoOwners = "two owners counted otherwise",
        /// A worker whose credential the operator trusts.
        TrustedWorker = "a trusted worker counted otherwise",
        /// Two machines of one owner agreed, and no other owner had counted the range.
        OwnMachines = "two machines of its owner counted otherwise",
    }
}

/// A count of a disputed range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vote {
    /// Who counted. A second opinion must come from somebody else.
    pub principal: Principal,
    /// The result of the count.
    pub result: CountResult,
}

/// A range that was counted with different results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispute {
    /// The kernel that counted the row that the ledger has.
    pub(crate) kernel: KernelName,
    /// Every count that was reported of the range. The first one is that of the row, which the
    /// total includes.
    pub(crate) votes: Vec<Vote>,
    /// The lease under which it is counted again.
    pub(crate) recount: Option<LeaseId>,
    /// Whether the dispute is decided, and its settlement is on its way into the ledger.
    pub(crate) settling: bool,
    /// How many votes are on their way into the ledger.
    pub(crate) unwritten: usize,
}

impl Dispute {
    /// The most machines of one owner that may vote once other owners have voted. The second
    /// machine shows whether the first one is broken. The number is limited because an owner that
    /// lies could invent any number of machines.
    const MACHINES_HEARD: usize = 2;
    /// The most machines that are named in a sentence.
    const NAMED: usize = 8;

    /// A dispute about a row that was counted with this kernel. The first vote is the row's count;
    /// the others contradict it.
    pub fn new(kernel: KernelName, votes: Vec<Vote>) -> Dispute {
        Dispute { kernel, votes, recount: None, settling: false, unwritten: 0 }
    }

    /// Whether a machine may vote whose credential the operator does not specially trust.
    pub(crate) fn hears(&self, principal: &Principal) -> bool {
        let has_voted = self.votes.iter().any(|vote| vote.principal == *principal);
        !has_voted && self.hears_more_of(&principal.owner)
    }

    fn hears_more_of(&self, owner: &str) -> bool {
        let heard = self.votes.iter().filter(|vote| vote.principal.owner == owner).count();
        heard < Self::MACHINES_HEARD || heard == self.votes.len()
    }

    /// Why the `result` of the latest vote is right; `None` if the dispute is not settled by it.
    /// `is_trusted` says whether the operator trusts the worker of that vote. Votes of `distrusted`
    /// parties prove nothing. There may be such a vote, because an audit between owners may doubt a
    /// row of a distrusted party again.
    pub(crate) fn ground(
        &self,
        result: CountResult,
        across: AuditScope,
        is_trusted: bool,
        distrusted: &Distrusted,
    ) -> Option<Ground> {
        let counts = |vote: &&Vote| vote.result == result && !distrusted.includes(&vote.principal);
        let agreeing = || self.votes.iter().filter(counts);
        let owners: BTreeSet<&str> = agreeing().map(|vote| &*vote.principal.owner).collect();
        if owners.len() >= 2 {
            return Some(Ground::TwoOwners);
        }
        if is_trusted {
            return Some(Ground::TrustedWorker);
        }
        let are_two = agreeing().any(|one| {
            agreeing().any(|two| one.principal.is_apart_from(&two.principal, AuditScope::Machines))
        });
        let is_own = across == AuditScope::Machines && self.owners().len() == 1 && are_two;
        is_own.then_some(Ground::OwnMachines)
    }

    /// The parties that are wrong if this `result` is right. They are machines, because one broken
    /// machine says nothing of the owner's others. If owners check each other, however, an owner is
    /// wrong as a whole if at least two of its machines are wrong and none is right, because it
    /// could invent any number of machines. Machines that were `distrusted` before count as wrong
    /// here.
    pub(crate) fn wrong(
        &self,
        result: CountResult,
        across: AuditScope,
        distrusted: &Distrusted,
    ) -> BTreeSet<Party> {
        let (right, wrong): (Vec<_>, Vec<_>) =
            self.votes.iter().partition(|vote| vote.result == result);
        let machine = |vote: &&Vote| vote.principal.party(AuditScope::Machines);
        let machines: BTreeSet<Party> = wrong.iter().map(machine).collect();
        let known: BTreeSet<&Party> = machines.iter().chain(&distrusted.0).collect();
        let party = |vote: &Vote| {
            let is_of_owner = |party: &&&Party| party.owner == vote.principal.owner;
            let is_right =
                right.iter().any(|vote_for| vote_for.principal.owner == vote.principal.owner);
            let is_whole = !is_right && known.iter().filter(is_of_owner).count() >= 2;
            vote.principal.party(if is_whole { across } else { AuditScope::Machines })
        };
        wrong.into_iter().map(party).collect()
    }

    /// A sentence for people: who disagrees, who is asked to settle it, and what an operator can
    /// do.
    pub(crate) fn sentence(&self, range: Range) -> String {
        let principals = self.votes.iter().map(|vote| vote.principal.to_string());
        let principals = principals.take(Self::NAMED).collect::<Vec<_>>().join(", ");
        let heard = self.owners().into_iter().filter(|owner| self.hears_more_of(owner));
        let own = heard.map(|owner| format!("another machine of {owner}"));
        let asked = std::iter::once("another owner".into()).chain(own).take(Self::NAMED);
        let asked: Vec<String> = asked.collect();
        format!(
            "tasks {range} were counted differently by {principals}; asked to settle it is a worker of {}, or one with a trusted \
             credential: `queens token create --role worker --trusted`",
            asked.join(", of ")
        )
    }

    fn owners(&self) -> BTreeSet<&str> {
        self.votes.iter().map(|vote| &*vote.principal.owner).collect()
    }
}
