//! The seals of whole tables: what was decided is what is read.
//!
//! ```text
//!   seals.sum of a table  =  the sum, modulo 2^64, of hash(table, row number, columns) over its rows
//! ```
//!
//! Counts have a checksum in each row ([`seal`](super::seal)). The tables here are those of decisions, in which a row that
//! is missing or is an earlier one does harm too, so that they are sealed as a whole. A sum costs little at each change: the
//! hash of the old row is subtracted from it, and that of the new one is added.
//!
//! Triggers do that, so that no statement can forget it. They are temporary: they belong to a connection of this program
//! and are no part of the file. Whatever alters a table in another way, be it the disk or another program, makes its seal
//! wrong.

use std::iter;

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;

use super::LedgerFault;
use super::seal::checksum;

/// The tables that have a seal.
pub(super) const TABLES: [&str; 11] = [
    "identity",
    "openings",
    "jobs",
    "archive",
    "removed",
    "audit_policies",
    "commitments",
    "changes",
    "disputes",
    "trust",
    "credentials",
];

/// A table as it is, beside its seal.
struct Found {
    /// What the sum was when the table was written.
    sealed: i64,
    sum: i64,
    rows: u64,
}

/// Seals all tables as they are.
pub(super) fn begin(db: &Connection) -> Result<(), LedgerFault> {
    for table in TABLES {
        db.execute("INSERT INTO seals VALUES (?, 0)", [table])?;
        let sum = read(db, table)?.map(|found| found.sum);
        db.execute("UPDATE seals SET sum = ? WHERE name = ?", (sum, table))?;
    }
    Ok(())
}

/// Keeps the seals for whatever is written through this connection from now on.
pub(super) fn keep(db: &Connection) -> Result<(), LedgerFault> {
    type Step = fn(i64, i64) -> i64;
    let steps: [(_, Step); 2] =
        [("with_row", i64::wrapping_add), ("without_row", i64::wrapping_sub)];
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    for (name, step) in steps {
        // Of a sum, the name of a table, and a row of it.
        db.create_scalar_function(name, -1, flags, move |values| {
            let row = (2..values.len()).map(|at| values.get_raw(at));
            Ok(step(values.get(0)?, hash(&values.get::<String>(1)?, row)))
        })?;
    }
    // Otherwise a row that another one replaces goes without a trigger.
    db.pragma_update(None, "recursive_triggers", true)?;
    for table in TABLES {
        let mut columns = db.prepare("SELECT name FROM pragma_table_info(?)")?;
        let columns = columns.query_map([table], |row| row.get(0))?;
        let columns = iter::once(Ok("rowid".to_owned())).chain(columns);
        let columns: Vec<String> = columns.collect::<Result<_, _>>()?;
        let row = |which: &str| {
            let values = columns.iter().map(|name| format!(", {which}.{name}"));
            values.collect::<String>()
        };
        let without_old = format!("without_row(sum, '{table}'{})", row("OLD"));
        let with_new = |sum| format!("with_row({sum}, '{table}'{})", row("NEW"));
        for (event, sum) in [
            ("INSERT", with_new("sum")),
            ("DELETE", without_old.clone()),
            ("UPDATE", with_new(&without_old)),
        ] {
            db.execute_batch(&format!(
                "CREATE TEMP TRIGGER IF NOT EXISTS {event}_{table} AFTER {event} ON main.{table} \
                 BEGIN UPDATE seals SET sum = {sum} WHERE name = '{table}'; END"
            ))?;
        }
    }
    Ok(())
}

/// Reads a table and returns the number of its rows.
///
/// # Errors
///
/// [`LedgerFault::Content`], if the rows are not those that were written.
pub(super) fn check(db: &Connection, table: &str) -> Result<u64, LedgerFault> {
    match read(db, table)? {
        Some(Found { sealed, sum, rows }) if sealed == sum => Ok(rows),
        _ => {
            Err(LedgerFault::Content(format!("its table `{table}` is not what was written to it")))
        }
    }
}

/// Reads a table and its seal, both of the same moment. `None` if it has no seal.
fn read(db: &Connection, table: &str) -> Result<Option<Found>, LedgerFault> {
    let mut statement = db.prepare(&format!(
        "SELECT seals.sum, t.rowid, t.* FROM main.seals LEFT JOIN main.{table} t WHERE seals.name = ?"
    ))?;
    let width = statement.column_count();
    let mut rows = statement.query([table])?;
    let mut found = None;
    while let Some(row) = rows.next()? {
        let found = found.get_or_insert(Found { sealed: row.get(0)?, sum: 0, rows: 0 });
        // A table without rows has one here, of nothing.
        if row.get_ref(1)? != ValueRef::Null {
            let values = (1..width).map(|at| row.get_ref(at)).collect::<Result<Vec<_>, _>>()?;
            found.sum = found.sum.wrapping_add(hash(table, values));
            found.rows += 1;
        }
    }
    Ok(found)
}

/// The hash of a row. Types and lengths tell values apart.
fn hash<'a>(table: &'a str, row: impl IntoIterator<Item = ValueRef<'a>>) -> i64 {
    let mut encoded = Vec::with_capacity(512);
    for value in iter::once(ValueRef::from(table)).chain(row) {
        let mut add = |kind: u8, bytes: &[u8]| {
            encoded.push(kind);
            encoded.extend((bytes.len() as u64).to_le_bytes());
            encoded.extend(bytes);
        };
        match value {
            ValueRef::Null => add(0, &[]),
            ValueRef::Integer(number) => add(1, &number.to_le_bytes()),
            ValueRef::Real(number) => add(2, &number.to_bits().to_le_bytes()),
            ValueRef::Text(text) => add(3, text),
            ValueRef::Blob(bytes) => add(4, bytes),
        }
    }
    checksum(&encoded)
}
