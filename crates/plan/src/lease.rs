//! Leases: ranges of a plan that are assigned to a worker.

use crate::{Fingerprint, JobId, KernelName, LeaseId, Plan, Range};

/// A range leased to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Its number.
    pub id: LeaseId,
    /// The job it belongs to.
    pub job: JobId,
    /// Its plan.
    pub plan: Plan,
    /// The plan's fingerprint.
    pub fingerprint: Fingerprint,
    /// What to count.
    pub range: Range,
    /// The token that every report about the lease carries. It has the same range, and its kind says whether this is a
    /// recount.
    pub token: LeaseToken,
    /// The range was counted before, and must come back as one report. Such a lease may exceed the credit of a worker
    /// that holds nothing else.
    pub recount: Option<Recount>,
}

/// How a range that was counted before is to be counted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recount {
    /// By another kernel than this one.
    pub unlike: KernelName,
    /// By the reference, if the method is `colours`. Other methods have no slower check.
    pub by_reference: bool,
}

/// What a lease is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeaseKind {
    /// A first count.
    Count,
    /// Another count of accepted ordinals, for an audit or a dispute. It must come back as a whole.
    Recount,
}

/// What a worker was leased, and the farm's MAC of it. A worker sends it with every report and holding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseToken {
    /// The whole range that was leased.
    pub range: Range,
    /// What for.
    pub kind: LeaseKind,
    /// Keyed hash over the terms of the lease.
    pub mac: [u8; 16],
}

impl LeaseToken {
    /// Bytes of a token in a message.
    pub const LEN: usize = 33;

    /// Whether it is that of a recount.
    pub fn is_recount(&self) -> bool {
        self.kind == LeaseKind::Recount
    }

    /// The token as it is sent: start, end, kind and mac, numbers lowest byte first.
    pub fn to_bytes(&self) -> [u8; LeaseToken::LEN] {
        let mut bytes = [0; LeaseToken::LEN];
        bytes[..8].copy_from_slice(&self.range.start().to_le_bytes());
        bytes[8..16].copy_from_slice(&self.range.end().to_le_bytes());
        bytes[16] = self.kind as u8;
        bytes[17..].copy_from_slice(&self.mac);
        bytes
    }

    /// The token that was sent as these bytes, if it was one.
    pub fn from_bytes(bytes: [u8; LeaseToken::LEN]) -> Option<LeaseToken> {
        let number = |at: usize| {
            u64::from_le_bytes(bytes[at..at + 8].try_into().expect("these are eight bytes"))
        };
        let kind = match bytes[16] {
            0 => LeaseKind::Count,
            1 => LeaseKind::Recount,
            _ => return None,
        };
        let mac = bytes[17..].try_into().expect("these are sixteen bytes");
        Some(LeaseToken { range: Range::new(number(0), number(8))?, kind, mac })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_comes_back_as_it_was_sent() {
        for kind in [LeaseKind::Count, LeaseKind::Recount] {
            let range = Range::new(10, u64::MAX).expect("not empty");
            let token = LeaseToken { range, kind, mac: [7; 16] };
            assert_eq!(LeaseToken::from_bytes(token.to_bytes()), Some(token));
        }
        assert_eq!(LeaseToken::from_bytes([0; LeaseToken::LEN]), None);
        assert_eq!(LeaseToken::from_bytes([255; LeaseToken::LEN]), None);
    }
}
