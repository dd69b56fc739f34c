//! What becomes of a ledger's file that is opened again, or was altered.

use super::*;

#[test]
fn a_count_that_was_found_wrong_and_is_accepted_again_is_noticed() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("ledger.db");
    let ledger = ledger_in(&path);
    let keep = "INSERT INTO disputes SELECT job, first, past, count, residue, digest, kernel, owner, machine, worker, \
                build, lease, busy_us, noted_at, checksum, ? FROM ranges";
    ledger.db.execute(keep, [2]).expect("it is SQL");
    drop(ledger);
    let ledger = open(&path).expect("what was taken back may be counted again");
    ledger.db.execute(keep, [1]).expect("it is SQL");
    drop(ledger);
    let ledger = open(&path).expect("whoever is trusted may have been right");
    let party = principal("worker").party(AuditScope::Machines);
    SqlStore(&ledger.db).change_trust(&party, false, None, "it lies").expect("it can be written");
    drop(ledger);
    let ledger = open(&path).expect("it may have been right here, and wrong elsewhere");
    let proof = Some((JOB, interval(0, 10)));
    SqlStore(&ledger.db).change_trust(&party, false, proof, "").expect("it can be written");
    drop(ledger);
    let fault = open(&path).expect_err("it was found wrong").to_string();
    assert!(fault.contains("found wrong, and is accepted again"), "{fault}");
}

#[test]
fn a_range_that_is_said_to_be_confirmed_has_a_second_count() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("ledger.db");
    let ledger = ledger_in(&path);
    ledger.db.execute_batch(CONFIRM_ALL).expect("it is SQL");
    ledger.apply(&[range(10, 20, 1)]).expect("it is written");
    ledger.close().expect("it can be closed");
    for harm in
        ["audit = 0 WHERE first = 0", "audit = 1 WHERE first = 0", "audit = 2 WHERE first = 10"]
    {
        let altered = folder.path().join("altered.db");
        fs::copy(&path, &altered).expect("it can be copied");
        drop(CheckedLedger::open(&altered).expect("it is sound"));
        let db = rusqlite::Connection::open(&altered).expect("it is there");
        db.execute_batch(&format!("UPDATE ranges SET {harm}")).expect("it is SQL");
        drop(db);
        let fault = CheckedLedger::open(&altered).expect_err(harm).to_string();
        assert!(fault.contains("are said to be confirmed"), "{harm}: {fault}");
    }
}

#[test]
fn a_suspended_job_is_suspended_for_its_reason_when_the_ledger_is_opened_again() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("ledger.db");
    let ledger = open(&path).expect("it opens");
    ledger.apply(&[new_job(), range(0, 60, 7), range(60, 100, 5)]).expect("it is written");
    let suspend = |total| {
        let reason = Some("it is no multiple of 8".to_string());
        LedgerCommand::Finish { job: JOB, tasks: 100, total, reason }
    };
    ledger.apply(&[suspend(7)]).expect_err("the total is another");
    ledger.apply(&[suspend(12)]).expect("it is the sum");
    drop(ledger);

    let [job] = read(&CheckedLedger::open(&path).and_then(CheckedLedger::begin).expect("it opens"));

    assert_eq!((job.state, job.total), (JobState::Suspended, 12));
    assert_eq!(job.suspended.as_deref(), Some("it is no multiple of 8"));
}

#[test]
fn every_opening_has_its_own_number() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("ledger.db");
    for epoch in 1..=3 {
        let ledger = open(&path).expect("it opens");
        assert_eq!(ledger.restored.epoch, epoch);
        assert!(matches!(CheckedLedger::open(&path), Err(LedgerFault::Locked)), "one at a time");
    }
}

/// What a stranger may have put into a ledger, and what is said of it.
const PLANTED: [(&str, &str); 6] = [
    (
        "ALTER TABLE trust RENAME TO hidden; CREATE VIEW trust AS \
         WITH RECURSIVE ever(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM ever) SELECT x FROM ever",
        "no part of a ledger",
    ),
    (
        "CREATE TRIGGER more AFTER INSERT ON epochs BEGIN DELETE FROM ranges; END",
        "its trigger \"more\" is no part",
    ),
    ("CREATE TABLE more (x CHECK (x > 0))", "its table \"more\" is no part"),
    ("CREATE TABLE _litestream_lock (id INTEGER, more)", "is no part"),
    ("DROP INDEX ranges_to_audit", "its index \"ranges_to_audit\" is missing"),
    ("UPDATE ranges SET kernel = CAST(zeroblob(2000000) AS TEXT)", "too big"),
];

#[test]
fn a_ledger_with_more_or_larger_things_than_ours_is_refused() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("ledger.db");
    ledger_in(&path).close().expect("it can be closed");
    for (planted, said) in PLANTED {
        let altered = folder.path().join("altered.db");
        fs::copy(&path, &altered).expect("it can be copied");
        let db = rusqlite::Connection::open(&altered).expect("it is there");
        db.execute_batch(planted).expect("it is SQL");
        drop(db);
        let faults = [
            CheckedLedger::open(&altered).expect_err(planted).to_string(),
            Evidence::open(&altered).expect_err(planted).to_string(),
            scrub(&altered).expect_err(planted).to_string(),
        ];
        assert!(faults.iter().all(|fault| fault.contains(said)), "{planted}: {faults:?}");
    }
}

#[test]
fn a_ledger_that_litestream_replicates_is_a_ledger() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("ledger.db");
    ledger_in(&path).close().expect("it can be closed");
    let db = rusqlite::Connection::open(&path).expect("it is there");
    let its = "CREATE TABLE IF NOT EXISTS _litestream_lock (id INTEGER);
               CREATE TABLE IF NOT EXISTS _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER);";
    db.execute_batch(its).expect("it is SQL");
    drop(db);
    open(&path).expect("it is sound");
}

/// Whatever bit of the file a bad disk turns: the ledger is refused and left alone, or it says
/// the same as before.
#[test]
fn a_flipped_bit_never_becomes_another_count() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("ledger.db");
    let ledger = open(&path).expect("it opens");
    ledger.apply(&[new_job()]).expect("it is written");
    for start in 0..40 {
        ledger.apply(&[range(start, start + 1, 1000 * start)]).expect("it is written");
    }
    let known = what_counts(ledger.read_back().expect("it can be read").jobs);
    ledger.close().expect("it can be closed");
    let sound = fs::read(&path).expect("it can be read");
    let used = (0..sound.len()).filter(|&at| sound[at] != 0);

    let mut refused = 0;
    for at in used.step_by(23) {
        let mut bytes = sound.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&path, &bytes).expect("it can be written");
        match CheckedLedger::open(&path) {
            Ok(ledger) => {
                assert_eq!(what_counts(ledger.jobs().to_vec()), known, "byte {at}");
            }
            Err(_) => {
                refused += 1;
                assert!(fs::read(&path).expect("it can be read") == bytes, "byte {at}: changed");
            }
        }
        remove(&path, &["-wal", "-shm", "-journal"]);
    }
    assert!(refused > 0);
}

/// What a total rests on, once a farm goes on from it.
fn what_counts(jobs: Vec<RestoredJob>) -> Vec<(JobId, Plan, JobState, u64, u128)> {
    let farm = Farm::restore(
        config(),
        key(),
        Millis(0),
        Restored { epoch: 1, jobs, ..Restored::default() },
        |_, _| farm::Known::nothing(),
    );
    let jobs = farm.jobs(.., |_| true);
    jobs.map(|job| (job.id, job.spec.plan, job.state, job.tasks_done, job.counted)).collect()
}

fn remove(path: &Path, suffixes: &[&str]) {
    for suffix in suffixes {
        let _ = fs::remove_file(format!("{}{suffix}", path.display()));
    }
}
