//! A row's own checksum.
//!
//! SQLite checks that its pages hang together, not what they say: a digit of a count that the disk
//! turns into another one would be read back as a count.

use farm::{JobId, Row};

/// The first eight bytes of BLAKE3 over what was counted, by what, and who says so.
pub(super) fn seal(job: JobId, row: &Row) -> i64 {
    let Row { range, tally, kernel, lease, author, .. } = row;
    let text = format!(
        "job {job}; range {range}; count {}; residue {}; digest {}; kernel {kernel}; worker {}; \
         build {}; lease {lease}",
        tally.count, tally.residue, tally.digest, author.worker, author.build
    );
    let hash = blake3::hash(text.as_bytes());
    let (first, _) = hash.as_bytes().split_first_chunk().expect("it has 32 bytes");
    i64::from_le_bytes(*first)
}
