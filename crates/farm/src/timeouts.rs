//! Recounts that did not come back in time although their workers kept saying that they were
//! getting on.
//!
//! The range of such a recount may take long, or the worker may lie. The next lease of the range
//! therefore lasts twice as long. It first goes to another owner, or to another machine if only one
//! owner is connected. The last worker's party has to wait for as long as that worker kept the
//! range. Thus no worker holds a range for ever while others could count it, and a range that takes
//! long is counted in the end.

use std::collections::BTreeMap;

use crate::{Millis, Party, Principal, Range};

/// What is known of a job's ranges that took too long. It is not durable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeouts(BTreeMap<Range, Timeout>);

#[derive(Clone, Debug)]
struct Timeout {
    times: u32,
    /// The party that last kept the range too long.
    party: Party,
    until: Millis,
}

impl Timeouts {
    /// The most ranges that are remembered.
    const MOST: usize = 1_024;
    /// The most times that the time is doubled.
    const DOUBLINGS: u32 = 6;

    /// Notes that `party` kept a recount too long. The party may be leased the range again from the
    /// time `until` on.
    pub(crate) fn note(&mut self, range: Range, party: Party, until: Millis) {
        let times = self.0.remove(&range).map_or(0, |earlier| earlier.times) + 1;
        if self.0.len() == Self::MOST {
            self.0.pop_first();
        }
        self.0.insert(range, Timeout { times, party, until });
    }

    /// How many times as long as usual the next recount of the range may take.
    pub(crate) fn factor(&self, range: Range) -> u64 {
        1 << self.0.get(&range).map_or(0, |timeout| timeout.times.min(Self::DOUBLINGS))
    }

    /// Whether this principal has to wait before it may be leased the range again.
    pub(crate) fn sets_back(&self, range: Range, principal: &Principal, now: Millis) -> bool {
        self.0.get(&range).is_some_and(|late| now < late.until && late.party.includes(principal))
    }

    /// The range was counted.
    pub(crate) fn counted(&mut self, range: Range) {
        self.0.remove(&range);
    }
}
