//! The counts of the single tasks of an accepted range: a column of its row.
//!
//! Rows are usually read without this column. The digest of a row serves as its checksum. If the
//! column is empty, only the sum of the row is known.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use farm::{Range, TaskCounts};

use super::Result;

/// The value of the column: eight bytes for each count, in little-endian order.
pub(super) fn bytes(counts: &TaskCounts) -> Option<Vec<u8>> {
    let bytes = || counts.as_slice().iter().flat_map(|count| count.to_le_bytes()).collect();
    (!counts.are_omitted()).then(bytes)
}

/// The counts of a range from a column; `None` if they were altered.
pub(super) fn read(
    columns: &rusqlite::Row<'_>,
    at: usize,
    range: Range,
) -> Result<Option<TaskCounts>> {
    let Some(bytes) = columns.get_ref(at)?.as_blob_or_null().map_err(rusqlite::Error::from)? else {
        return Ok(Some(TaskCounts::default()));
    };
    let (counts, rest) = bytes.as_chunks::<8>();
    let counts: Vec<u64> = counts.iter().map(|&count| u64::from_le_bytes(count)).collect();
    let are_all = rest.is_empty() && counts.len() as u64 == range.len();
    Ok(are_all.then(|| TaskCounts::new(&counts)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use farm::{
        AuditScope, CheckedCount, EvidenceRecord, Ground, LeaseId, LedgerCommand, Method, Plan,
        Problem, Report,
    };
    use tempfile::TempDir;

    use super::*;
    use crate::tests::{
        JOB, audit, everything, interval, job_of, kernel, principal, provenance, scratch,
    };
    use crate::{CheckedLedger, Draft, Evidence, Ledger, LedgerFault, check_file, join_ledgers};

    fn plan() -> Plan {
        Plan { problem: Problem::Total { n: 8 }, method: Method::Colours, tasks: 12 }
    }

    /// A report of a range. The count of each task is 10 plus its ordinal plus `more`.
    fn report(first: u64, past: u64, more: u64) -> Report {
        let (range, fingerprint) = (interval(first, past), plan().fingerprint());
        let counts: Vec<u64> = (first..past).map(|at| 10 + at + more).collect();
        let with = |sum: CheckedCount, (at, &count)| sum.with(fingerprint, at, count);
        let checked_count = (first..past).zip(&counts).try_fold(CheckedCount::EMPTY, with);
        let (checked_count, task_counts) =
            (checked_count.expect("it is small"), TaskCounts::new(&counts));
        let lease = LeaseId(1 + first);
        let of_another_plan = crate::tests::report(range, 0);
        Report { fingerprint, lease, checked_count, task_counts, ..of_another_plan }
    }

    fn accept(report: Report, machine: &str) -> LedgerCommand {
        LedgerCommand::Accept { report, provenance: provenance(machine), audit: false }
    }

    /// A ledger that has executed these commands, each in its own transaction.
    fn ledger_of(path: &Path, commands: impl IntoIterator<Item = LedgerCommand>) -> Ledger {
        let ledger = CheckedLedger::open(path).and_then(CheckedLedger::begin).expect("it opens");
        for command in std::iter::once(job_of(plan())).chain(commands) {
            ledger.apply(&[command]).expect("it fits the rows");
        }
        ledger
    }

    /// The task counts of each row.
    fn reported(path: &Path) -> Result<Vec<Vec<u64>>, LedgerFault> {
        let (evidence, mut all) = (Evidence::open(path)?, Vec::new());
        evidence.for_each(JOB, |record| {
            if let EvidenceRecord::Range { task_counts, .. } = record {
                all.push(task_counts.as_slice().to_vec());
            }
            Ok::<(), LedgerFault>(())
        })?;
        Ok(all)
    }

    #[test]
    fn a_lease_becomes_one_row_if_all_of_it_tells_what_each_task_counts_or_none() {
        let (_folder, path) = scratch();
        let told = |at| Report { lease: LeaseId(1), ..report(at, at + 1, 0) };
        let untold = |at| Report { task_counts: TaskCounts::default(), ..told(at) };
        let reports = [told(1), told(0), told(3), told(2), told(6), untold(7), untold(8)];
        drop(ledger_of(&path, reports.map(|report| accept(report, "a"))));
        let rows = reported(&path).expect("it is sound");
        assert_eq!(rows, [vec![10, 11, 12, 13], vec![16], vec![]]);
        check_file(&path).expect("it is sound");
    }

    #[test]
    fn counts_that_were_altered_are_noticed_and_lost_ones_are_omitted() {
        let other = format!("x'{:016X}'", 99_u64.swap_bytes());
        let other = format!("CAST({other} || substr(task_counts, 9) AS BLOB)");
        for (harm, is_noticed) in [
            (other.as_str(), true),
            ("substr(task_counts, 2)", true),
            ("substr(task_counts, 9)", true),
            ("zeroblob(0)", true),
            ("NULL", false),
        ] {
            let (folder, path) = scratch();
            let ledger = ledger_of(&path, [accept(report(0, 3, 0), "a")]);
            let harm = format!("UPDATE counts SET task_counts = {harm}");
            ledger.db.execute_batch(&harm).expect("it is SQL");
            drop(ledger);
            let copied = Draft::begin(&folder.path().join("copy")).and_then(|draft| {
                draft.copy_from(&path)?;
                draft.finish()
            });
            assert_eq!(copied.is_err(), is_noticed, "a copy is sound or is none");
            for fault in [reported(&path).err(), check_file(&path).err()] {
                let fault = fault.map(|fault| fault.to_string());
                assert_eq!(fault.is_some(), is_noticed, "{harm}: {fault:?}");
                assert!(fault.is_none_or(|fault| fault.contains("[0, 3) were altered")), "{harm}");
            }
        }
    }

    /// The session checks that reported task counts add up to the digest, before the ledger gets
    /// them. A worker that chooses its counts freely can still find other counts with the same
    /// digest.
    #[test]
    fn they_go_with_their_row_with_trust_and_if_a_second_count_tells_others() {
        let party = principal("a").party(AuditScope::Machines);
        let dispute = LedgerCommand::Dispute(report(3, 6, 0), provenance("b"));
        let settle = LedgerCommand::Settle {
            report: report(3, 6, 0),
            provenance: provenance("c"),
            wrong: vec![party.clone()],
            ground: Ground::OwnMachines,
        };
        let settled = [accept(report(0, 3, 0), "a"), accept(report(3, 6, 7), "a"), dispute, settle];
        let policy = everything(1, false);
        let audit = audit(JOB, policy, "lab");
        let twice = |task_counts| {
            let second = Report { kernel: kernel("portable"), task_counts, ..report(0, 3, 0) };
            let confirm = LedgerCommand::Confirm(second, provenance("b"));
            vec![accept(report(0, 3, 0), "a"), audit.clone(), confirm]
        };
        let distrust = LedgerCommand::Trust { party, trusted: false, reason: "it lies".into() };
        for (done, expected) in [
            (settled.to_vec(), [vec![13, 14, 15]]),
            (twice(report(0, 3, 0).task_counts), [vec![10, 11, 12]]),
            (twice(TaskCounts::default()), [vec![10, 11, 12]]),
            (twice(TaskCounts::new(&[11, 10, 12])), [vec![]]),
            // The row stays, because its sum was confirmed.
            ([twice(TaskCounts::default()), vec![distrust]].concat(), [vec![]]),
        ] {
            let (_folder, path) = scratch();
            drop(ledger_of(&path, done));
            assert_eq!(reported(&path).expect("it is sound"), expected);
        }
    }

    #[test]
    fn a_joined_ledger_has_those_of_its_parts() {
        let folder = TempDir::new().expect("a temporary directory");
        let [one, two, into] = ["one", "two", "into"].map(|name| folder.path().join(name));
        drop(ledger_of(&one, [accept(report(0, 3, 0), "a")]));
        drop(ledger_of(&two, [accept(report(0, 3, 0), "b"), accept(report(5, 7, 0), "b")]));
        join_ledgers(&[one, two], &into).expect("they agree");
        assert_eq!(reported(&into).expect("it is sound"), [vec![10, 11, 12], vec![15, 16]]);
    }
}
