//! Checks a whole ledger: does what every opening of a ledger does, and nothing more.

use std::path::Path;

use super::{Evidence, Result};

/// What a sound ledger holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Jobs.
    pub jobs: u64,
    /// Accepted ranges.
    pub ranges: u64,
    /// Second counts.
    pub audits: u64,
    /// Counts that are kept as evidence of disputes.
    pub disputes: u64,
}

/// Checks the ledger in `path` as it is at one moment. Another process may write the ledger
/// meanwhile.
///
/// # Errors
///
/// [`LedgerFault`](super::LedgerFault), if the ledger cannot be read, or if it is damaged. The fault
/// names the first damage that was found.
pub fn check_file(path: &Path) -> Result<Contents> {
    Ok(Evidence::checked(path)?.contents)
}

#[cfg(test)]
mod tests {
    use farm::Change;

    use super::*;
    use crate::CheckedLedger;
    use crate::tests::{change, copies, ledger_in, range, scratch};

    /// Makes a ledger of 30 ranges, runs the SQL `harm` on it, then checks it and opens it.
    fn after(harm: &str) -> (Result<Contents>, Result<()>) {
        let (_folder, path) = scratch();
        let ledger = ledger_in(&path);
        // Only every second range is accepted, because neighbouring rows would be joined into one.
        let ranges: Vec<_> = (0..29).map(|at| range(11 + 3 * at, 13 + 3 * at, 1)).collect();
        ledger.apply(&ranges).expect("they are written");
        ledger.apply(&[change(Change::Pause)]).expect("it is written");
        ledger.db.pragma_update(None, "foreign_keys", false).expect("it is SQL");
        ledger.db.execute_batch(harm).expect("it is SQL");
        let checked = check_file(&path);
        drop(ledger);
        (checked, CheckedLedger::open(&path).map(drop))
    }

    #[test]
    fn a_sound_ledger_is_read_whole_and_damage_is_found_wherever_it_is() {
        let expected = Contents { jobs: 1, ranges: 30, ..Contents::default() };
        assert_eq!(after("").0.expect("it is sound"), expected);

        let second = copies(1, "second", "first = 32");
        let other = "UPDATE counts SET standing = 'agreed' WHERE first = 50;";
        let [claim, settled] = ["open", "settled"].map(|standing| {
            copies(2, standing, "first = 32")
                + "UPDATE counts SET lease = lease + 1 WHERE place = 2"
        });
        let untrue = second.clone()
            + "UPDATE counts SET standing = 'agreed' WHERE first = 32 AND place = 0;
               UPDATE counts SET count = '9' WHERE place = 1";
        for (harm, word) in [
            ("UPDATE counts SET count = '2' WHERE first = 20", "ordinal 20 that was altered"),
            ("UPDATE counts SET standing = 'agreed' WHERE first = 20", "[20, 22) is said to be"),
            ("UPDATE counts SET kernel = 'abacus' WHERE first = 20", "ordinal 20 by a kernel"),
            (
                "UPDATE counts SET task_counts = zeroblob(7) WHERE first = 20",
                "[20, 22) were altered",
            ),
            ("UPDATE jobs SET total = '1', state = 'done'", "job 1"),
            ("UPDATE jobs SET total = '1'", "job 1"),
            ("UPDATE jobs SET state = 'asleep'", "unknown state"),
            ("DELETE FROM jobs", "rows of jobs"),
            (&claim, "ordinal 32 that was altered"),
            (&settled, "ordinal 32 that was altered"),
            (&untrue, "ordinal 32 that was altered"),
            (&second, "[32, 34) is said to be confirmed, and is not"),
            (&format!("{second}{other}"), "[32, 34) is said to be confirmed, and is not"),
        ] {
            let (checked, opened) = after(harm);
            for found in [checked.map(drop), opened] {
                let damage = found.expect_err(harm).to_string();
                assert!(damage.contains(word), "{word}: {damage}");
            }
        }
    }

    /// An index lacks an entry here, which no row tells.
    #[test]
    fn an_index_that_does_not_fit_its_table_is_found_by_the_check_and_stops_the_start() {
        let (_folder, path) = scratch();
        ledger_in(&path).close().expect("it can be closed");
        let schema = |from: &str, to: &str| {
            format!(
                "PRAGMA writable_schema = true;
                 UPDATE sqlite_schema SET sql = replace(sql, '{from}', '{to}')
                 WHERE name = 'counts_to_audit'"
            )
        };
        for sql in [
            &schema("wanted", "nowhere"),
            "UPDATE counts SET standing = 'wanted'",
            &schema("nowhere", "wanted"),
        ] {
            let db = rusqlite::Connection::open(&path).expect("it is there");
            db.execute_batch(sql).expect("it is SQL");
        }
        for found in [check_file(&path).map(drop), CheckedLedger::open(&path).map(drop)] {
            let damage = found.expect_err("the index lacks the range").to_string();
            assert!(damage.contains("index counts_to_audit"), "{damage}");
        }
    }
}
