//! The checksum of a row.
//!
//! SQLite checks the structure of its pages, not their content: if the disk changes a digit of a count,
//! SQLite reads it back without an error.

use farm::{JobId, Row};

/// The first eight bytes of the BLAKE3 hash over the range, the count, the kernel, the provenance and
/// the lease.
pub(super) fn checksum(job: JobId, row: &Row) -> i64 {
    let Row { range, checked_count, kernel, lease, provenance, .. } = row;
    let text = format!(
        "job {job}; range {range}; count {}; residue {}; digest {}; kernel {kernel}; owner {}; \
         machine {}; worker {}; build {}; lease {lease}",
        checked_count.count,
        checked_count.residue,
        checked_count.digest,
        provenance.principal.owner,
        provenance.principal.machine,
        provenance.worker,
        provenance.build
    );
    let hash = blake3::hash(text.as_bytes());
    let (first, _) = hash.as_bytes().split_first_chunk().expect("it has 32 bytes");
    i64::from_le_bytes(*first)
}
