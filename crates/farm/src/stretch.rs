//! What a worker counts of one lease without a gap, whatever the number of its reports.
//!
//! ```text
//!   lease      [                                    )
//!   reports    [  1  )[  2  )         [  3  )           each with its own count and signature
//!   then 4                   [   4   )                  its stretch is all of them: one count, one signature
//!   rows       [              one                )      instead of four
//! ```
//!
//! A worker that reports every minute for a month would leave a row of the ledger, with a signature that is as long as the
//! rest of it, for every minute. Only who has signed the parts can sign their sum. Therefore each report also says what
//! it and the reports around it count together, and the ledger keeps that alone, where the rows say the same
//! (`rules/join.rs`). A stretch that nobody heard of, or that is wrong, costs nothing but room.

use crate::{Digest, Range, Signature};

/// What a worker counts of one lease without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The ordinals, among them those of the report that says so.
    pub range: Range,
    /// Their sum of weight x count.
    pub count: u64,
    /// The digest of their counts.
    pub digest: Digest,
    /// The signature of that statement, if its worker signs.
    pub signature: Option<Signature>,
}

impl Stretch {
    /// A report says no more of them: one for each doubling of 128 reports of a lease, and the longest.
    pub const MOST: usize = 8;
}
