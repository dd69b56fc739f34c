//! Disputes: who claims what of a range, and when that is settled.

use std::collections::BTreeSet;

use crate::{Across, Claim, KernelName, LeaseId, Maker, Party, Vote};

/// A range that was counted with different results.
#[derive(Clone, Debug)]
pub(crate) struct Dispute {
    /// What the ledger's rows say, and so the total.
    pub(crate) stored: Claim,
    /// What counted the rows.
    pub(crate) kernel: KernelName,
    /// Everything that was ever claimed, the stored count first.
    pub(crate) votes: Vec<Vote>,
    /// The lease under which it is counted again.
    pub(crate) recount: Option<LeaseId>,
    /// Two parties agree; the ledger is being told.
    pub(crate) settling: bool,
    /// How many votes are on their way into the ledger.
    pub(crate) unwritten: usize,
}

impl Dispute {
    /// Whether this maker's party has voted.
    pub(crate) fn has_voted(&self, maker: &Maker, across: Across) -> bool {
        let makers = self.votes.iter().filter_map(|vote| vote.maker.as_ref());
        makers.into_iter().any(|other| !other.is_apart_from(maker, across))
    }

    /// Whether two different parties make this `claim`. A sum of several makers' counts is nobody's:
    /// who repeats its own wrong share of it must not settle the dispute.
    pub(crate) fn is_settled_by(&self, claim: Claim, across: Across) -> bool {
        self.parties(across, |vote| vote.claim == claim).len() >= 2
    }

    /// The parties that are wrong if this `claim` is right.
    pub(crate) fn wrong(&self, claim: Claim, across: Across) -> BTreeSet<Party> {
        self.parties(across, |vote| vote.claim != claim)
    }

    fn parties(&self, across: Across, wanted: impl Fn(&Vote) -> bool) -> BTreeSet<Party> {
        let votes = self.votes.iter().filter(|vote| wanted(vote));
        votes.filter_map(|vote| vote.maker.as_ref()).map(|maker| maker.party(across)).collect()
    }
}
