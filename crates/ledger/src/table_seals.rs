//! The seals of whole tables: what was decided is what is read.
//!
//! ```text
//!   seals.sum of a table  =  hash(table, names of columns) + hash(table, row number, values) + …     modulo 2^64
//!                                                            for each row
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
pub(super) const TABLES: [&str; 10] = [
    "identity",
    "openings",
    "jobs",
    "removed",
    "audit_policies",
    "commitments",
    "changes",
    "disputes",
    "trust",
    "credentials",
];

/// Those of them that are read through an index. Rows that it does not find are as good as altered.
const INDEXED: [&str; 3] = ["audit_policies", "commitments", "disputes"];

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
        let columns = columns(db, table)?;
        let row = |which: &str| {
            let values = iter::once("rowid").chain(columns.iter().map(String::as_str));
            values.map(|name| format!(", {which}.{name}")).collect::<String>()
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
/// [`LedgerFault::Content`], if the rows are not those that were written, or an index does not lead to them.
pub(super) fn check(db: &Connection, table: &str) -> Result<u64, LedgerFault> {
    if INDEXED.contains(&table) {
        let query = format!("PRAGMA integrity_check({table})");
        let verdict: String = db.query_row(&query, [], |row| row.get(0))?;
        if verdict != "ok" {
            return Err(LedgerFault::from_check(verdict));
        }
    }
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
    let columns = columns(db, table)?;
    let empty = hash(table, columns.iter().map(|name| ValueRef::from(name.as_str())));
    let width = statement.column_count();
    let mut rows = statement.query([table])?;
    let mut found = None;
    while let Some(row) = rows.next()? {
        let found = found.get_or_insert(Found { sealed: row.get(0)?, sum: empty, rows: 0 });
        // A table without rows has one here, of nothing.
        if row.get_ref(1)? != ValueRef::Null {
            let values = (1..width).map(|at| row.get_ref_unwrap(at));
            found.sum = found.sum.wrapping_add(hash(table, values));
            found.rows += 1;
        }
    }
    Ok(found)
}

/// The names of a table's columns.
fn columns(db: &Connection, table: &str) -> Result<Vec<String>, rusqlite::Error> {
    let mut statement = db.prepare("SELECT name FROM pragma_table_info(?)")?;
    statement.query_map([table], |row| row.get(0))?.collect()
}

/// The hash of a row, or of what else there is about a table. Types and lengths tell values apart.
fn hash<'a>(table: &'a str, values: impl IntoIterator<Item = ValueRef<'a>>) -> i64 {
    let mut encoded = Vec::with_capacity(512);
    for value in iter::once(ValueRef::from(table)).chain(values) {
        let (kind, number, bytes): (u8, u64, &[u8]) = match value {
            ValueRef::Null => (0, 0, &[]),
            ValueRef::Integer(number) => (1, number.cast_unsigned(), &[]),
            ValueRef::Real(number) => (2, number.to_bits(), &[]),
            ValueRef::Text(text) => (3, text.len() as u64, text),
            ValueRef::Blob(bytes) => (4, bytes.len() as u64, bytes),
        };
        encoded.push(kind);
        encoded.extend_from_slice(&number.to_le_bytes());
        encoded.extend_from_slice(bytes);
    }
    checksum(&encoded)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use farm::JobState;
    use tempfile::TempDir;

    use super::*;
    use crate::tests::{ledger_in, state};
    use crate::{CheckedLedger, Draft, Evidence, Ledger, Scrub};

    /// What alters each table, and no count.
    const HARMS: [(&str, &str); 11] = [
        ("identity", "UPDATE identity SET decisions = decisions - 1"),
        ("openings", "UPDATE openings SET build = '7'"),
        ("jobs", "UPDATE jobs SET priority = priority + 1"),
        ("removed", "UPDATE removed SET state = 'cancelled'"),
        ("audit_policies", "UPDATE audit_policies SET share_ppm = share_ppm - 1"),
        ("commitments", "UPDATE commitments SET broken_at = NULL"),
        ("changes", "INSERT INTO changes SELECT * FROM changes"),
        ("disputes", "UPDATE disputes SET state = 1"),
        // Whoever is believed again is not.
        ("trust", "UPDATE trust SET rowid = 9 WHERE rowid = 1"),
        ("credentials", "UPDATE credentials SET revoked_at = NULL"),
        // The same rows would say something else.
        (
            "trust",
            "ALTER TABLE trust RENAME first TO other; ALTER TABLE trust RENAME past TO first;
             ALTER TABLE trust RENAME other TO past;",
        ),
    ];

    /// A ledger with rows in all of these tables.
    fn ledger_with_decisions(path: &Path) -> Ledger {
        let ledger = ledger_in(path);
        ledger.apply(&[state(JobState::Paused)]).expect("it is written");
        let rows = "
            INSERT INTO removed VALUES (7, 'o', 'total', 8, 'rows', 2, 'done', '92', 5);
            INSERT INTO audit_policies VALUES (1, 20000, 5, '9', 0, 'machines', 5, 'o', NULL, NULL);
            INSERT INTO commitments VALUES (1, lower(hex(zeroblob(32))), 'o', 5, 6);
            INSERT INTO disputes SELECT job, first, past, count, residue, digest, kernel, owner, machine, worker,
                build, lease, busy_us, accepted_at, seal, 2, signer, signatures FROM ranges;
            INSERT INTO trust VALUES ('o', 'm', FALSE, NULL, NULL, NULL, 'its memory fails', 5),
                ('o', 'm', TRUE, NULL, NULL, NULL, 'it has a new one', 6);
            INSERT INTO credentials VALUES (1, 'o', 'worker', zeroblob(32), 5, NULL, 6);";
        ledger.db.execute_batch(rows).expect("it is SQL");
        ledger
    }

    #[test]
    fn a_decision_that_was_altered_is_found_wherever_the_ledger_is_read() {
        let folder = TempDir::new().expect("a temporary directory");
        let [sound, path, copy] =
            ["sound.db", "ledger.db", "copy.db"].map(|name| folder.path().join(name));
        ledger_with_decisions(&sound).close().expect("it can be closed");
        let is_harmed = |table: &&str| HARMS.iter().any(|(harmed, _)| harmed == table);
        assert!(TABLES.iter().all(is_harmed));
        for (table, harm) in HARMS {
            fs::copy(&sound, &path).expect("it can be copied");
            drop(CheckedLedger::open_again(&path).expect("it is sound"));
            let altered = Connection::open(&path).and_then(|db| db.execute_batch(harm));
            altered.expect("it is SQL");

            let words = format!("its table `{table}` is not what was written to it");
            let said = CheckedLedger::open_again(&path).expect_err(table).to_string();
            assert_eq!(said, words);
            assert_eq!(Evidence::open(&path).expect_err(table).to_string(), words);
            let draft = Draft::begin(folder.path().join("draft"), &copy).expect("it is new");
            draft.copy_from(&path).expect("it can be read");
            assert_eq!(draft.finish().expect_err(table).to_string(), words);
            let report = Scrub::open(&path).and_then(Scrub::all).expect("it can be read");
            assert_eq!((report.damages, report.damaged), (vec![words], 1));
        }
    }

    #[test]
    fn an_index_that_leads_to_other_rows_is_found() {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.path().join("ledger.db");
        for table in INDEXED {
            let _ = fs::remove_file(&path);
            ledger_with_decisions(&path).close().expect("it can be closed");
            alter_index(&path, table);
            let said = CheckedLedger::open_again(&path).expect_err(table).to_string();
            assert!(said.contains("missing from index"), "{table}: {said}");
        }
    }

    /// The index of a table of one row says that the row is of the job 0, and not 1.
    fn alter_index(path: &Path, table: &str) {
        let db = Connection::open(path).expect("it is there");
        let query = "SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size \
                     WHERE type = 'index' AND tbl_name = ?";
        let (root, size) = db
            .query_row(query, [table], |row| Ok((row.get::<_, u32>(0)?, row.get::<_, u32>(1)?)))
            .expect("it has an index");
        let page = ((root - 1) * size) as usize;
        let mut bytes = fs::read(path).expect("it is there");
        // The place of its only entry, which is: length, length of the header, the type of the first column, …
        let entry = page + usize::from(u16::from_be_bytes([bytes[page + 8], bytes[page + 9]]));
        let (zero, one) = (8, 9);
        assert_eq!(bytes[entry + 2], one);
        bytes[entry + 2] = zero;
        fs::write(path, bytes).expect("it can be written");
    }

    #[test]
    fn whatever_this_program_writes_keeps_the_seals() {
        let folder = TempDir::new().expect("a temporary directory");
        let ledger = ledger_with_decisions(&folder.path().join("ledger.db"));
        let sealed_rows = |table: &&str| check(&ledger.db, table).expect("it is sealed");
        assert_eq!(
            TABLES.iter().map(sealed_rows).collect::<Vec<_>>(),
            [1, 1, 1, 1, 1, 1, 1, 1, 2, 1]
        );
        for change in [
            "UPDATE removed SET job = 8",
            "UPDATE trust SET reason = reason || '!'",
            "DELETE FROM trust WHERE rowid = 1",
            "DELETE FROM credentials",
        ] {
            ledger.db.execute_batch(change).expect("it is SQL");
            assert!(TABLES.iter().all(|table| check(&ledger.db, table).is_ok()), "{change}");
        }
    }

    #[test]
    fn a_table_is_read_as_it_is_at_one_moment() {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.path().join("ledger.db");
        let ledger = ledger_in(&path);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let db = Connection::open(&path).expect("it is there");
                (0..500).find_map(|_| TABLES.iter().find_map(|table| check(&db, table).err()))
            });
            while !reader.is_finished() {
                for change in [JobState::Paused, JobState::Running] {
                    ledger.apply(&[state(change)]).expect("it is written");
                }
            }
            let fault = reader.join().expect("it does not panic");
            assert!(fault.is_none(), "{fault:?}");
        });
    }

    #[test]
    fn rows_that_differ_have_different_hashes() {
        let rows: [&[ValueRef<'_>]; 6] = [
            &[ValueRef::Text(b"1"), ValueRef::Null],
            &[ValueRef::Integer(1), ValueRef::Null],
            &[ValueRef::Blob(b"1"), ValueRef::Null],
            &[ValueRef::Null, ValueRef::Text(b"1")],
            &[ValueRef::Text(b"1"), ValueRef::Text(b"")],
            &[ValueRef::Text(b""), ValueRef::Text(b"1")],
        ];
        let mut hashes: Vec<i64> = ["jobs", "trust"]
            .iter()
            .flat_map(|table| rows.map(|row| hash(table, row.iter().copied())))
            .collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 12);
        // Ledgers of this format have such seals.
        assert_eq!(hash("jobs", rows[5].iter().copied()), -5997404355309713634);
    }
}
