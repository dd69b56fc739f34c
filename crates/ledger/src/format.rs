//! The format of a ledger: its number, and its tables.
//!
//! A ledger may come from a stranger, so nothing in it may be executed. It must have exactly the
//! tables, the indices and the view that this program makes, and no triggers. Only the tables of
//! Litestream may be added. No row may be larger than the rows that this program writes.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;

use super::{LedgerFault, Result};

/// The text "QNSL". SQLite stores it in the header, where the command `file` looks for it.
const APPLICATION_ID: i32 = 0x514e_534c;
/// The number of the format that this program writes and reads. `schema.sql` defines the format.
const FORMAT: i32 = 1;
/// The size of the largest row that is read or written, in bytes. The counts of the single tasks
/// take at most 32 KiB of a row.
pub(super) const MOST_BYTES: i32 = 1 << 20;
/// The size of a page of a new ledger, in bytes. Every commit writes each page that it changes as a
/// whole to the log, and most commits change a row of some 200 bytes in one to four pages. So half
/// the default of SQLite writes 40% less for single reports. A page of 1 KiB would put every row of
/// more than 230 bytes into a further page. A ledger keeps the size with which it was made.
pub(super) const PAGE_BYTES: i32 = 2048;
/// The tables, indices and views of every ledger.
const SCHEMA: &str = include_str!("schema.sql");
/// What others may add: Litestream its tables, and SQLite's ANALYZE one.
const OF_OTHERS: &str = "CREATE TABLE _litestream_lock (id INTEGER);
                         CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER);
                         ANALYZE";

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);
/// The number of attempts, one second of them, before the log names what the program waits for.
const SILENT: i32 = 20;
/// The largest number of attempts: one minute of them.
const ATTEMPTS: i32 = 1_200;

/// Waits for other programs that read a ledger or have locked it, such as `sqlite3`. SQLite calls
/// this function when it finds the ledger locked, with the number of earlier calls. The function
/// returns whether SQLite shall try again.
pub(super) fn wait_for_others(attempt: i32) -> bool {
    if attempt == SILENT {
        tracing::warn!(
            "waiting for another program that reads the ledger or has locked it, for a minute at most; a reader may be \
             `queens export` or `queens backup`, and a lock is held by `sqlite3` within a transaction"
        );
    }
    sleep(PAUSE);
    attempt < ATTEMPTS
}

/// Protects this program from a harmful file. At worst, such a file gives a wrong answer. This
/// function is called before anything is read from the file.
pub(super) fn distrust(db: &Connection) -> Result<(), rusqlite::Error> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    db.set_limit(Limit::SQLITE_LIMIT_LENGTH, MOST_BYTES)?;
    Ok(())
}

/// Makes a new database a ledger of this format, without rows.
pub(super) fn create(db: &Connection) -> Result<()> {
    db.execute_batch(SCHEMA)?;
    db.pragma_update(None, "application_id", APPLICATION_ID)?;
    Ok(db.pragma_update(None, "user_version", FORMAT)?)
}

/// Refuses other kinds of databases ([`LedgerFault::Content`]) and other formats
/// ([`LedgerFault::Version`]).
pub(super) fn check(db: &Connection) -> Result<()> {
    let number = |name| db.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    if number("application_id")? != APPLICATION_ID {
        return Err(LedgerFault::Content("it is a database, but not a ledger".into()));
    }
    match number("user_version")? {
        FORMAT => check_schema(db),
        other => Err(LedgerFault::Version(format!(
            "its format is {other}, and this program reads format {FORMAT}"
        ))),
    }
}

/// A table, an index, a view or a trigger: its kind, its name, and the SQL that makes it, if there
/// is any. That SQL contains the comments within the statement, so changing one of these comments
/// changes the format.
type Part = (String, String, Option<String>);

/// Refuses tables, indices, views and triggers that this program does not make.
fn check_schema(db: &Connection) -> Result<()> {
    let read = |db: &Connection, most: usize| -> Result<BTreeSet<Part>, rusqlite::Error> {
        let mut query = db.prepare("SELECT type, name, sql FROM sqlite_schema")?;
        let parts = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        parts.take(most).collect()
    };
    let ours = Connection::open_in_memory()?;
    ours.execute_batch(SCHEMA)?;
    let wanted = read(&ours, usize::MAX)?;
    ours.execute_batch(OF_OTHERS)?;
    let allowed = read(&ours, usize::MAX)?;
    // One part more than allowed is enough to find a part that does not belong to a ledger.
    let found = read(db, allowed.len() + 1)?;
    let content = |what: &Part, said: &str| {
        let (kind, name, _) = what;
        let text = format!("its {kind} {name:?} {said}: a ledger has what this program makes");
        Err(LedgerFault::Content(text))
    };
    if let Some(extra) = found.difference(&allowed).next() {
        return content(extra, "is no part of a ledger");
    }
    match wanted.difference(&found).next() {
        Some(missing) => content(missing, "is missing"),
        None => Ok(()),
    }
}
