//! Disputes: who claims what of a range, and when that is settled.

use std::collections::BTreeSet;

use crate::{Claim, KernelName, LeaseId, Vote};

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
    /// Two workers agree; the ledger is being told.
    pub(crate) settling: bool,
    /// How many votes are on their way into the ledger.
    pub(crate) unwritten: usize,
}

impl Dispute {
    pub(crate) fn has_voted(&self, worker: &str) -> bool {
        self.votes.iter().any(|vote| vote.worker == worker)
    }

    /// Whether two different workers make this `claim`. A sum of several workers' counts is nobody's:
    /// a worker that repeats its own wrong share of it must not settle the dispute.
    pub(crate) fn is_settled_by(&self, claim: Claim) -> bool {
        let agreeing = self.votes.iter().filter(|vote| vote.claim == claim);
        let workers = agreeing.map(|vote| vote.worker.as_str()).filter(|name| !name.is_empty());
        workers.collect::<BTreeSet<_>>().len() >= 2
    }

    /// The workers that are wrong if this `claim` is right.
    pub(crate) fn wrong(&self, claim: Claim) -> Vec<String> {
        let wrong = self.votes.iter().filter(|vote| vote.claim != claim && !vote.worker.is_empty());
        wrong.map(|vote| vote.worker.clone()).collect()
    }
}
