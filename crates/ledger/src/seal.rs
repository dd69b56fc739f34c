//! The checksum of a row.
//!
//! SQLite checks the structure of its pages, not their content: if the disk changes a digit of a count,
//! SQLite reads it back without an error.

use std::fmt::{self, Write as _};

use farm::{JobId, Row};

/// The checksum over the range, the count, the kernel, the author, the lease, and the
/// signatures if there are any.
pub(super) fn seal(job: JobId, row: &Row) -> i64 {
    let mut text = String::with_capacity(TEXT);
    write_row(&mut text, job, row).expect("text has room");
    checksum(text.as_bytes())
}

/// Bytes that the text of a row with a few signatures does not pass.
const TEXT: usize = 1024;

fn write_row(text: &mut String, job: JobId, row: &Row) -> fmt::Result {
    let Row { range, tally, kernel, lease, author, signatures, .. } = row;
    write!(
        text,
        "job {job}; range {range}; count {}; residue {}; digest {}; kernel {kernel}; owner {}; \
         machine {}; worker {}; build {}; lease {lease}",
        tally.count,
        tally.residue,
        tally.digest,
        author.maker.owner,
        author.maker.machine,
        author.worker,
        author.build
    )?;
    let Some(signatures) = signatures else { return Ok(()) };
    write!(text, "; signer {}", signatures.signer)?;
    signatures.parts.iter().try_for_each(|part| {
        write!(text, "; signature {:?} of {} for {}", part.signature, part.count, part.range)
    })
}

/// The first eight bytes of the BLAKE3 hash.
pub(super) fn checksum(bytes: &[u8]) -> i64 {
    let hash = blake3::hash(bytes);
    let (first, _) = hash.as_bytes().split_first_chunk().expect("it has 32 bytes");
    i64::from_le_bytes(*first)
}
