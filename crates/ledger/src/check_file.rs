//! Checks a whole ledger.
//!
//! SQLite checks the structure of the file. Then each row is read and compared with its checksum,
//! and all rows are summed again. This begins with what every opening of a ledger does, so that
//! what stops a start is found here. Opening a ledger checks less, because it has to be quick: it
//! does not read second counts, settled disputes and the counts of single tasks, and does not
//! compare indices with their tables.

use std::path::Path;

use farm::EvidenceRecord;

use super::{Evidence, LedgerFault, Result};

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
/// [`LedgerFault`], if the ledger cannot be read, or if it is damaged. The fault names the first
/// damage that was found.
pub fn check_file(path: &Path) -> Result<Contents> {
    let evidence = Evidence::open(path)?;
    evidence.0.check_structure("integrity_check")?;
    let mut report = Contents { jobs: evidence.jobs().len() as u64, ..Contents::default() };
    for job in evidence.jobs() {
        evidence.for_each(job.stored.id, |record| {
            match record {
                EvidenceRecord::Range { .. } => report.ranges += 1,
                EvidenceRecord::Audit { .. } => report.audits += 1,
                EvidenceRecord::Dispute { .. } => report.disputes += 1,
                EvidenceRecord::Policy { .. } | EvidenceRecord::Trust(_) => {}
            }
            Ok::<(), LedgerFault>(())
        })?;
    }
    Ok(report)
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
        let claim =
            copies(2, "open", "first = 32") + "UPDATE counts SET lease = lease + 1 WHERE place = 2";
        for (harm, word, is_found_on_opening) in [
            ("UPDATE counts SET count = '2' WHERE first = 20", "ordinal 20 that was altered", true),
            (
                "UPDATE counts SET standing = 'agreed' WHERE first = 20",
                "1 ranges are said to be confirmed",
                true,
            ),
            (
                "UPDATE counts SET kernel = 'abacus' WHERE first = 20",
                "ordinal 20 by a kernel",
                true,
            ),
            (
                "UPDATE counts SET task_counts = zeroblob(7) WHERE first = 20",
                "[20, 22) were altered",
                false,
            ),
            ("UPDATE jobs SET total = '1', state = 'done'", "job 1", true),
            ("UPDATE jobs SET total = '1'", "job 1", true),
            ("UPDATE jobs SET state = 'asleep'", "unknown state", true),
            ("DELETE FROM jobs", "rows of jobs", true),
            (&claim, "ordinal 32 that was altered", true),
            (&second, "0 ranges are said to be confirmed", true),
            (&format!("{second}{other}"), "[32, 34) is said to be confirmed, and is not", false),
        ] {
            let (checked, opened) = after(harm);
            let damage = checked.expect_err(harm).to_string();
            assert!(damage.contains(word), "{word}: {damage}");
            let found = opened.err().map(|fault| fault.to_string());
            assert_eq!(found.is_some(), is_found_on_opening, "{harm}: {found:?}");
            assert!(found.is_none_or(|found| found.contains(word)), "{harm}");
        }
    }
}
