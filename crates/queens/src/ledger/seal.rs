//! A row's own checksum.
//!
//! SQLite checks that its pages hang together, not what they say: a digit of a count that the disk
//! turns into another one would be read back as a count.

use farm::{JobId, Range};

/// The first eight bytes of BLAKE3 over what an accepted range is, and who says so.
pub(super) fn seal(job: JobId, range: Range, count: u128, lease: u64, worker: &str) -> i64 {
    let text = format!("job {job}; range {range}; count {count}; lease {lease}; worker {worker}");
    let hash = blake3::hash(text.as_bytes());
    let (first, _) = hash.as_bytes().split_first_chunk().expect("it has 32 bytes");
    i64::from_le_bytes(*first)
}
