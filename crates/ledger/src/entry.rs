//! A [`Row`] in SQLite: the columns that the tables of ranges, audits and disputes have in common.

use farm::{CheckedCount, Digest, JobId, KernelName, LeaseId, Principal, Provenance, Range, Row};
use rusqlite::{Statement, ToSql, params};

use super::{LedgerFault, Result};

/// The columns of such a row as they are stored, in the order of [`execute`].
pub(super) const STORED: &str = "job, first, past, count, residue, digest, kernel, owner, machine, worker, build, lease, busy_us, checksum";

/// The columns that [`read_row`] wants to see first: with the text of the build instead of its id.
pub(super) const COLUMNS: &str = "first, past, count, residue, digest, kernel, owner, machine, worker, \
    (SELECT text FROM builds WHERE id = build), lease, busy_us, checksum";

/// How many columns [`COLUMNS`] names: the first one after them has this number.
pub(super) const WIDTH: usize = 13;

/// How a row is added to `table`: [`STORED`], the time, and the columns `own` of this table.
pub(super) fn insert(table: &str, own: &[&str]) -> String {
    let names = [&[STORED, "noted_at"], own].concat().join(", ");
    let places = vec!["?"; names.split(", ").count()].join(", ");
    format!("INSERT INTO {table} ({names}) VALUES ({places})")
}

/// Executes what [`insert`] made, for a row whose build has the id `build`, at this time, and with these values of its own columns.
pub(super) fn execute(
    insert: &mut Statement<'_>,
    job: JobId,
    row: &Row,
    build: i64,
    at_ms: i64,
    own: &[&dyn ToSql],
) -> Result<(), rusqlite::Error> {
    let Row { range, checked_count, kernel, provenance, lease, busy_us } = row;
    let stored = params![
        job.0,
        range.start(),
        range.end(),
        checked_count.count.to_string(),
        checked_count.residue,
        checked_count.digest.to_string(),
        kernel.as_str(),
        provenance.principal.owner,
        provenance.principal.machine,
        provenance.worker,
        build,
        lease.0,
        i64::try_from(*busy_us).unwrap_or(i64::MAX),
        checksum(job, row),
        at_ms,
    ];
    for (column, value) in stored.iter().chain(own).enumerate() {
        insert.raw_bind_parameter(column + 1, value)?;
    }
    insert.raw_execute()?;
    Ok(())
}

/// A row of `job` from the columns [`COLUMNS`], if it still says what was written.
pub(super) fn read_row(job: JobId, columns: &rusqlite::Row<'_>) -> Result<Row> {
    let (first, past): (u64, u64) = (columns.get(0)?, columns.get(1)?);
    let (count, digest): (String, String) = (columns.get(2)?, columns.get(4)?);
    let kernel: String = columns.get(5)?;
    let fault = || LedgerFault::Content(format!("the row [{first}, {past}) = {count} is no count"));
    let checked_count = CheckedCount {
        count: count.parse().map_err(|_| fault())?,
        residue: columns.get(3)?,
        digest: digest.parse::<Digest>().map_err(|_| fault())?,
    };
    let unknown_kernel = || {
        LedgerFault::Version(format!(
            "job {job} has a count at ordinal {first} by a kernel named {kernel:?}, which it does not have"
        ))
    };
    let row = Row {
        range: Range::new(first, past).ok_or_else(fault)?,
        checked_count,
        kernel: KernelName::new(&kernel).ok_or_else(unknown_kernel)?,
        provenance: Provenance {
            principal: Principal { owner: columns.get(6)?, machine: columns.get(7)? },
            worker: columns.get(8)?,
            build: columns.get(9)?,
        },
        lease: LeaseId(columns.get(10)?),
        busy_us: columns.get(11)?,
    };
    if columns.get::<_, i64>(12)? != checksum(job, &row) || !checked_count.is_sound() {
        let text = format!("job {job} has a row at ordinal {first} that was altered");
        return Err(LedgerFault::Content(text));
    }
    Ok(row)
}

/// The checksum of a row: the first eight bytes of the BLAKE3 hash over the range, the count, the kernel, the provenance and
/// the lease. SQLite checks the structure of its pages, not their content: if the disk changes a digit of a count, it
/// reads it back without an error.
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

/// Reads the number that stands for one of these.
pub(super) fn read_one<T: Copy>(all: &[T], columns: &rusqlite::Row<'_>, at: usize) -> Result<T> {
    let number: u32 = columns.get(at)?;
    let one = all.get(number as usize).copied();
    one.ok_or_else(|| LedgerFault::Content(format!("the unknown check or state {number}")))
}
