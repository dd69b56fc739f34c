//! A job that is removed some rows at a time leaves a sound ledger each time.

use super::*;

/// A ledger of a job that was cancelled, of which three ranges were counted twice, and one is in dispute.
fn ledger_of_a_cancelled_job(path: &Path) -> Ledger {
    let ledger = ledger_in(path);
    let claim = |start| LedgerCommand::Dispute {
        report: report(interval(start, start + 10), 8),
        author: Author { maker: maker("c"), worker: "c".into(), build: "1".into() },
    };
    ledger.apply(&[range(10, 20, 1), range(20, 30, 1)]).expect("it is written");
    ledger.db.execute_batch(CONFIRM_ALL).expect("it is SQL");
    ledger.apply(&[range(30, 40, 1), claim(30), claim(0)]).expect("it is written");
    ledger.apply(&[state(JobState::Cancelled)]).expect("it is written");
    ledger
}

#[test]
fn a_ledger_is_sound_whenever_the_removal_of_a_job_breaks_off() {
    for most in 1..=12 {
        let folder = TempDir::new().expect("a temporary folder");
        let path = folder.path().join("ledger.db");
        ledger_of_a_cancelled_job(&path).close().expect("it can be closed");
        let mut steps = 0;
        loop {
            let ledger = open(&path).expect("it is sound");
            let remove = LedgerCommand::Remove { job: JOB, most };
            let answers = ledger.apply(&[remove]).expect("it is over");
            ledger.close().expect("it can be closed");
            let report = crate::scrub(&path).expect("it can be read");
            assert!(report.damages.is_empty(), "{most} at a time, step {steps}: {report:?}");
            steps += 1;
            if answers == [LedgerAnswer::Removed(Removal::Gone)] {
                break;
            }
        }
        let db = rusqlite::Connection::open(&path).expect("it is there");
        for table in ["jobs", "ranges", "audits", "disputes", "changes"] {
            let rows = |row: &rusqlite::Row<'_>| row.get::<_, u32>(0);
            let left = db.query_row(&format!("SELECT count(*) FROM {table}"), [], rows);
            assert_eq!(left, Ok(0), "{table}, {most} at a time");
        }
        assert!(steps >= 7 / most, "{steps} steps of {most}");
    }
}
