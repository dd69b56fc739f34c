//! Numbers of jobs, sessions, leases and requests. Each is a type of its own, so none is taken for
//! another.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
        )]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

id! {
    /// A submitted plan. Counts from 1 within a ledger and is never used again.
    JobId
    /// One connection of one worker. Never used again while the coordinator lives.
    SessionId
    /// One leasing of one range: (coordinator's epoch << 40) + a counter, so it rises with every
    /// leasing, across restarts too. A late result has another number than a current one.
    LeaseId
    /// A client's question that waits for its answer.
    RequestId
}

impl LeaseId {
    /// The epoch in which it was leased: how often its ledger had been opened.
    pub fn epoch(self) -> u64 {
        self.0 >> 40
    }
}

/// Milliseconds on a clock that never goes back; its zero means nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub u64);

impl Millis {
    /// This moment and `ms` more.
    pub fn after(self, ms: u64) -> Millis {
        Millis(self.0.saturating_add(ms))
    }
}
