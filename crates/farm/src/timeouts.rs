//! Recounts that did not come back although their workers said all the time that they were getting
//! on.
//!
//! Such a range may take long, or its worker may lie. So the next lease of it lasts twice as long.
//! For as long as the last worker kept the range, it is another owner's turn, or another machine's
//! where only one owner counts. So no worker holds a range for ever while others could count it,
//! and a range that takes long is counted at last.

use std::collections::BTreeMap;

use crate::{Millis, Party, Principal, Range};

/// What is known of a job's ranges that took too long. It is not durable.
#[derive(Debug, Default)]
pub(crate) struct Timeouts(BTreeMap<Range, Timeout>);

#[derive(Debug)]
struct Timeout {
    times: u32,
    /// The party that kept it last.
    party: Party,
    until: Millis,
}

impl Timeouts {
    /// The most ranges that are remembered.
    const MOST: usize = 1_024;
    /// The most times that the time is doubled.
    const DOUBLINGS: u32 = 6;

    /// A recount was kept too long by `party`, whose turn it is again at the time `until`.
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

    /// Whether it is another party's turn than this principal's.
    pub(crate) fn sets_back(&self, range: Range, principal: &Principal, now: Millis) -> bool {
        self.0.get(&range).is_some_and(|late| now < late.until && late.party.includes(principal))
    }

    /// The range was counted.
    pub(crate) fn counted(&mut self, range: Range) {
        self.0.remove(&range);
    }
}
