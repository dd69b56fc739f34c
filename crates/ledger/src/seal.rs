//! A row's own checksum.
//!
//! SQLite checks that its pages hang together, not what they say: a digit of a count that the disk
//! turns into another one would be read back as a count.

use farm::JobId;

use super::Entry;

/// The first eight bytes of BLAKE3 over what was counted, by what, and who says so.
pub(crate) fn seal(job: JobId, entry: &Entry) -> i64 {
    let Entry { range, tally, kernel, lease, author, .. } = entry;
    let text = format!(
        "job {job}; range {range}; count {}; residue {}; digest {}; kernel {kernel}; worker {}; \
         build {}; lease {lease}",
        tally.count, tally.residue, tally.digest, author.worker, author.build
    );
    let hash = blake3::hash(text.as_bytes());
    let (first, _) = hash.as_bytes().split_first_chunk().expect("it has 32 bytes");
    i64::from_le_bytes(*first)
}
