//! A [`Row`] in SQLite: the columns that the tables of ranges, audits and disputes have in common.

use farm::{
    Check, CheckedCount, Digest, DisputeState, JobId, KernelName, LeaseId, Principal, Provenance,
    Range, Row,
};
use rusqlite::{Statement, ToSql, params};

use super::{LedgerFault, Result};

/// The columns of such a row as they are stored, in the order of [`execute`].
pub(super) const STORED: &str = "first, past, count, residue, digest, kernel, owner, machine, worker, build, lease, busy_us, checksum";

/// The columns that [`read_row`] wants to see: as they are stored, but with the text of the build
/// instead of its id.
pub(super) const COLUMNS: &str = "first, past, count, residue, digest, kernel, owner, machine, worker, \
    (SELECT text FROM builds WHERE id = build), lease, busy_us, checksum";

/// How many columns [`STORED`] and [`COLUMNS`] name: the first one after them has this number.
pub(super) const WIDTH: usize = 13;

/// How a row is added to `table`: its job, [`STORED`], and the columns `own`.
pub(super) fn insert(table: &str, own: &[&str]) -> String {
    let names = format!("job, {STORED}, {}", own.join(", "));
    let places = vec!["?"; 1 + WIDTH + own.len()].join(", ");
    format!("INSERT INTO {table} ({names}) VALUES ({places})")
}

/// Executes what [`insert`] made, for a row whose build has the id `build`, and with `own` as the values of its own columns.
pub(super) fn execute(
    insert: &mut Statement<'_>,
    job: JobId,
    row: &Row,
    build: i64,
    own: &[&dyn ToSql],
) -> Result<(), rusqlite::Error> {
    let Row { range, checked_count, kernel, provenance, lease, busy_us } = row;
    let columns = params![
        signed(job.0),
        signed(range.start()),
        signed(range.end()),
        checked_count.count.to_string(),
        signed(checked_count.residue),
        checked_count.digest.to_string(),
        kernel.as_str(),
        provenance.principal.owner,
        provenance.principal.machine,
        provenance.worker,
        build,
        signed(lease.0),
        i64::try_from(*busy_us).unwrap_or(i64::MAX),
        checksum(job, row),
    ];
    for (column, value) in columns.iter().chain(own).enumerate() {
        insert.raw_bind_parameter(column + 1, value)?;
    }
    insert.raw_execute()?;
    Ok(())
}

/// [`COLUMNS`] of one of several tables.
pub(super) fn columns_of(table: &str) -> String {
    let column = |name| match name {
        "build" => format!("(SELECT text FROM builds WHERE id = {table}.build)"),
        name => format!("{table}.{name}"),
    };
    STORED.split(", ").map(column).collect::<Vec<_>>().join(", ")
}

/// A row of `job` from the columns [`COLUMNS`], which begin with number `at`, if it still says what was written.
pub(super) fn read_row(job: JobId, columns: &rusqlite::Row<'_>, at: usize) -> Result<Row> {
    let (first, past) = (unsigned(columns, at)?, unsigned(columns, at + 1)?);
    let (count, digest): (String, String) = (columns.get(at + 2)?, columns.get(at + 4)?);
    let kernel: String = columns.get(at + 5)?;
    let fault = || LedgerFault::Content(format!("the row [{first}, {past}) = {count} is no count"));
    let checked_count = CheckedCount {
        count: count.parse().map_err(|_| fault())?,
        residue: unsigned(columns, at + 3)?,
        digest: digest.parse::<Digest>().map_err(|_| fault())?,
    };
    let range = Range::new(first, past).ok_or_else(fault)?;
    let row = Row {
        range,
        checked_count,
        kernel: KernelName::new(&kernel).ok_or_else(|| unknown_kernel(job, first, &kernel))?,
        provenance: Provenance {
            principal: Principal { owner: columns.get(at + 6)?, machine: columns.get(at + 7)? },
            worker: columns.get(at + 8)?,
            build: columns.get(at + 9)?,
        },
        lease: LeaseId(unsigned(columns, at + 10)?),
        busy_us: unsigned(columns, at + 11)?,
    };
    if columns.get::<_, i64>(at + 12)? != checksum(job, &row) || !checked_count.is_sound() {
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

fn unknown_kernel(job: JobId, first: u64, name: &str) -> LedgerFault {
    LedgerFault::Version(format!(
        "job {job} has a count at ordinal {first} by a kernel named {name:?}, which it does not have"
    ))
}

/// The checks, by their numbers in the column `audit`.
pub(super) const CHECKS: [Check; 3] = [Check::NotChosen, Check::Wanted, Check::Agreed];

/// The states of disputes, by their numbers in the column `state`.
pub(super) const STATES: [DisputeState; 3] =
    [DisputeState::Open, DisputeState::Settled, DisputeState::TakenBack];

/// Reads the number that stands for one of these.
pub(super) fn read_one<T: Copy>(all: &[T], columns: &rusqlite::Row<'_>, at: usize) -> Result<T> {
    let number = unsigned(columns, at)?;
    let one = usize::try_from(number).ok().and_then(|place| all.get(place).copied());
    one.ok_or_else(|| LedgerFault::Content(format!("the unknown check or state {number}")))
}

/// A number that is never negative.
pub(super) fn unsigned(row: &rusqlite::Row<'_>, column: usize) -> Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value)
        .map_err(|_| LedgerFault::Content(format!("{value} where no negative number can be")))
}

/// Ids and ordinals as SQLite stores them; all of ours are far below 2^63.
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).expect("ids and ordinals stay below 2^63")
}
