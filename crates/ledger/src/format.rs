//! How a file says that it is a ledger of this program, and of which format.

use rusqlite::Connection;

use super::LedgerFault;

/// "QNSL". SQLite keeps it at the place where the command `file` looks for it.
const APPLICATION_ID: i32 = 0x514e_534c;
/// The format that this program writes and reads: what `schema.sql` says.
const FORMAT: i32 = 1;

/// Makes a new database a ledger of this format, without rows.
pub(super) fn create(db: &Connection) -> Result<(), LedgerFault> {
    db.execute_batch(include_str!("schema.sql"))?;
    db.pragma_update(None, "application_id", APPLICATION_ID)?;
    Ok(db.pragma_update(None, "user_version", FORMAT)?)
}

/// Refuses databases that are not ledgers of this format.
///
/// # Errors
///
/// [`LedgerFault::Content`] if it is another kind of database, [`LedgerFault::Version`] if it has another format.
pub(super) fn check(db: &Connection) -> Result<(), LedgerFault> {
    let number = |name| db.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    if number("application_id")? != APPLICATION_ID {
        return Err(LedgerFault::Content("it is a database, but not a ledger".into()));
    }
    match number("user_version")? {
        FORMAT => Ok(()),
        other => Err(LedgerFault::Version(format!(
            "its format is {other}, and this program reads format {FORMAT}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::tests::ledger_in;
    use crate::{CheckedLedger, Evidence};

    #[test]
    fn a_ledger_of_another_format_is_refused_by_its_number_and_stays_as_it_is() {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.path().join("ledger.db");
        ledger_in(&path).close().expect("it can be closed");
        for other in [0, FORMAT + 1] {
            let db = Connection::open(&path).expect("it is there");
            db.pragma_update(None, "user_version", other).expect("it can be written");
            drop(db);
            let before = std::fs::read(&path).expect("it is there");
            let faults = [
                CheckedLedger::open_again(&path).expect_err("it has another format"),
                Evidence::open(&path).expect_err("it has another format"),
            ];
            for fault in faults {
                let said = fault.to_string();
                assert!(said.contains(&format!("its format is {other},")), "{said}");
                assert!(matches!(fault, LedgerFault::Version(_)), "{fault:?}");
            }
            assert!(std::fs::read(&path).expect("it is there") == before, "no byte has changed");
        }
    }
}
