//! A job that is removed leaves a sound ledger.

use super::*;

/// A ledger of a job that was cancelled, of which three ranges were counted twice, and one is in dispute.
fn ledger_of_a_cancelled_job(path: &Path) -> Ledger {
    let ledger = ledger_in(path);
    let dispute = |start| {
        LedgerCommand::Dispute(
            report(interval(start, start + 10), 8),
            Provenance { principal: principal("c"), worker: "c".into(), build: "1".into() },
        )
    };
    ledger.apply(&[range(10, 20, 1), range(20, 30, 1)]).expect("it is written");
    ledger.db.execute_batch(CONFIRM_ALL).expect("it is SQL");
    ledger.apply(&[range(30, 40, 1), dispute(30), dispute(0)]).expect("it is written");
    ledger.apply(&[state(JobState::Cancelled)]).expect("it is written");
    ledger
}

#[test]
fn nothing_but_the_number_of_a_removed_job_is_left() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("ledger.db");
    let ledger = ledger_of_a_cancelled_job(&path);
    ledger.db.execute_batch("UPDATE jobs SET state = 'done', total = '1'").expect("it is SQL");
    ledger.apply(&[LedgerCommand::Remove(JOB)]).expect("it is over");

    for table in ["jobs", "ranges", "audits", "disputes", "audit_policies", "changes"] {
        let rows = |row: &rusqlite::Row<'_>| row.get::<_, u32>(0);
        let left = ledger.db.query_row(&format!("SELECT count(*) FROM {table}"), [], rows);
        assert_eq!(left, Ok(0), "{table}");
    }
    let was = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
    let was = ledger.db.query_row("SELECT state, total FROM removed", [], was);
    assert_eq!(was, Ok(("done".into(), "1".into())));
    ledger.close().expect("it can be closed");
    let ledger = open(&path).expect("it is sound");
    assert_eq!(ledger.restored.last_job, JOB.0);
}
