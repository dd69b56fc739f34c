//! Tests ledger files that are opened again or were altered.

use super::*;

#[test]
fn a_count_that_was_found_wrong_and_is_accepted_again_is_noticed() {
    let (_folder, path) = scratch();
    let ledger = ledger_in(&path);
    ledger.db.execute_batch(&copies(2, "taken_back", "true")).expect("it is SQL");
    drop(ledger);
    let ledger = open(&path).expect("what was taken back may be counted again");
    ledger.db.execute_batch(&copies(3, "settled", "true")).expect("it is SQL");
    drop(ledger);
    let ledger = open(&path).expect("whoever is trusted may have been right");
    let party = principal("worker").party(AuditScope::Machines);
    Store::of(&ledger.db).change_trust(&party, false, None, "it lies").expect("it can be written");
    drop(ledger);
    let ledger = open(&path).expect("it may have been right here, and wrong elsewhere");
    let proof = Some((JOB, interval(0, 10)));
    Store::of(&ledger.db).change_trust(&party, false, proof, "").expect("it can be written");
    drop(ledger);
    let fault = open(&path).expect_err("it was found wrong").to_string();
    assert!(fault.contains("found wrong, and is accepted again"), "{fault}");
}

/// SQL that a stranger may have run on a ledger, and a part of the message that refuses the ledger.
const PLANTED: [(&str, &str); 8] = [
    ("PRAGMA user_version = 0", "its format is 0,"),
    ("PRAGMA user_version = 99", "its format is 99,"),
    (
        "ALTER TABLE trust RENAME TO hidden; CREATE VIEW trust AS \
         WITH RECURSIVE ever(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM ever) SELECT x FROM ever",
        "no part of a ledger",
    ),
    (
        "CREATE TRIGGER more AFTER INSERT ON epochs BEGIN DELETE FROM counts; END",
        "its trigger \"more\" is no part",
    ),
    ("CREATE TABLE more (x CHECK (x > 0))", "its table \"more\" is no part"),
    ("CREATE TABLE _litestream_lock (id INTEGER, more)", "is no part"),
    ("DROP INDEX counts_to_audit", "its index \"counts_to_audit\" is missing"),
    ("UPDATE counts SET kernel = CAST(zeroblob(2000000) AS TEXT)", "larger than any"),
];

#[test]
fn a_ledger_of_another_format_or_with_more_or_larger_things_is_refused_and_not_changed() {
    let (folder, path) = scratch();
    ledger_in(&path).close().expect("it can be closed");
    for (planted, said) in PLANTED {
        let altered = folder.path().join("altered.db");
        fs::copy(&path, &altered).expect("it can be copied");
        let db = rusqlite::Connection::open(&altered).expect("it is there");
        db.execute_batch(planted).expect("it is SQL");
        drop(db);
        let before = fs::read(&altered).expect("it is there");
        let faults = [
            CheckedLedger::open(&altered).expect_err(planted).to_string(),
            Evidence::open(&altered).expect_err(planted).to_string(),
            check_file(&altered).expect_err(planted).to_string(),
        ];
        assert!(faults.iter().all(|fault| fault.contains(said)), "{planted}: {faults:?}");
        assert!(fs::read(&altered).expect("it is there") == before, "{planted}: it has changed");
    }
}

/// SQLite checks the constraints of a table only in a file that it may write.
#[test]
fn a_count_with_a_standing_that_does_not_fit_its_place_is_refused_by_whoever_reads_it() {
    let (folder, path) = scratch();
    ledger_in(&path).close().expect("it can be closed");
    for harm in ["standing = 'beyond doubt'", "standing = 'settled'", "place = 1", "place = 2"] {
        let altered = folder.path().join("altered.db");
        fs::copy(&path, &altered).expect("it can be copied");
        let db = rusqlite::Connection::open(&altered).expect("it is there");
        let update = format!("PRAGMA ignore_check_constraints = true; UPDATE counts SET {harm}");
        db.execute_batch(&update).expect("it is SQL");
        drop(db);
        let fault = CheckedLedger::open(&altered).expect_err(harm).to_string();
        assert!(fault.contains("CHECK constraint failed"), "{harm}: {fault}");
        let fault = check_file(&altered).expect_err(harm).to_string();
        assert!(fault.contains("standing"), "{harm}: {fault}");
    }
}

#[test]
fn a_ledger_with_what_litestream_and_sqlite_add_is_a_ledger_and_every_opening_has_its_own_number() {
    let (_folder, path) = scratch();
    ledger_in(&path).close().expect("it can be closed");
    let db = rusqlite::Connection::open(&path).expect("it is there");
    let its = "CREATE TABLE IF NOT EXISTS _litestream_lock (id INTEGER);
               CREATE TABLE IF NOT EXISTS _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER);
               ANALYZE";
    db.execute_batch(its).expect("it is SQL");
    drop(db);
    for epoch in 2..=3 {
        assert_eq!(open(&path).expect("it is sound").restored.epoch, epoch);
    }
}

/// Whatever bit of the file a bad disk turns: the ledger is refused and left alone, or it says
/// the same as before.
#[test]
fn a_flipped_bit_never_becomes_another_count() {
    let (_directory, path) = scratch();
    let ledger = open(&path).expect("it opens");
    ledger.apply(&[new_job()]).expect("it is written");
    for start in 0..40 {
        ledger.apply(&[range(start, start + 1, 1000 * start)]).expect("it is written");
    }
    let known = what_counts(&ledger.read_back().expect("it can be read").jobs);
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
                assert_eq!(what_counts(ledger.jobs()), known, "byte {at}");
            }
            Err(_) => {
                refused += 1;
                assert!(fs::read(&path).expect("it can be read") == bytes, "byte {at}: changed");
            }
        }
        for suffix in ["-wal", "-shm", "-journal"] {
            let _ = fs::remove_file(with_suffix(&path, suffix));
        }
    }
    assert!(refused > 0);
}

/// The parts of the jobs on which a total rests.
fn what_counts(jobs: &[RestoredJob]) -> Vec<(JobId, Plan, JobState, u128, IntervalSet)> {
    let what = |job: &RestoredJob| {
        (job.stored.id, job.stored.spec.plan, job.stored.state, job.counted, job.accepted.clone())
    };
    jobs.iter().map(what).collect()
}

#[test]
fn nothing_but_the_number_of_a_removed_job_is_left() {
    let (_folder, path) = scratch();
    // Given: three ranges that were counted twice, and one in dispute.
    let ledger = ledger_in(&path);
    let dispute =
        |start| LedgerCommand::Dispute(report(interval(start, start + 10), 8), provenance("c"));
    ledger.apply(&[range(10, 20, 1), range(20, 30, 1)]).expect("it is written");
    ledger.db.execute_batch(&confirm_all()).expect("it is SQL");
    ledger.apply(&[range(30, 40, 1), dispute(30), dispute(0)]).expect("it is written");
    ledger.apply(&[change(Change::Cancel)]).expect("it is written");
    ledger.db.execute_batch("UPDATE jobs SET state = 'done', total = '1'").expect("it is SQL");
    ledger.apply(&[LedgerCommand::Remove(JOB)]).expect("it is over");

    for table in ["jobs", "counts", "audit_policies", "changes"] {
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

/// A row is smaller than a page, so that a report changes one page if it is joined to its
/// neighbour.
#[test]
fn a_report_that_continues_a_row_writes_one_small_page_to_the_log() {
    const FRAME_HEADER: u64 = 24;
    let (_folder, path) = scratch();
    let ledger = ledger_in(&path);
    let mut parts = (20..).map(|first| {
        let whole = interval(20, 100);
        let part = report(interval(first, first + 1), 1);
        let lease = LeaseId((1 << 40) + whole.start());
        let provenance = provenance("worker");
        LedgerCommand::Accept { report: Report { lease, ..part }, provenance, audit: false }
    });
    let mut log_bytes_after_the_next_part = || {
        ledger.apply(&[parts.next().expect("there is no end")]).expect("it is written");
        fs::metadata(with_suffix(&path, "-wal")).expect("the ledger is in use").len()
    };
    let mut before = log_bytes_after_the_next_part();
    for _ in 0..20 {
        let after = log_bytes_after_the_next_part();
        assert_eq!(after - before, FRAME_HEADER + 2048);
        before = after;
    }
    let rows = ledger.rows_in(JOB, interval(0, 100)).expect("it can be read");
    assert_eq!(rows.len(), 2, "the parts are one row");
}

/// Earlier builds of the program made ledgers with larger pages.
#[test]
fn a_ledger_with_pages_of_another_size_is_served() {
    let (_folder, path) = scratch();
    ledger_in(&path).close().expect("it can be closed");
    let page_bytes = |path: &Path| {
        let db = rusqlite::Connection::open(path).expect("it is there");
        db.pragma_query_value(None, "page_size", |row| row.get::<_, i64>(0)).expect("it is known")
    };
    assert_eq!(page_bytes(&path), 2048);
    let db = rusqlite::Connection::open(&path).expect("it is there");
    db.execute_batch("PRAGMA page_size = 4096; VACUUM").expect("it is SQL");
    drop(db);

    let ledger = open(&path).expect("it is a ledger");
    ledger.apply(&[range(10, 20, 5)]).expect("it is written");
    assert_eq!(read(&ledger)[0].counted, 12);
    ledger.close().expect("it can be closed");
    assert_eq!(page_bytes(&path), 4096);
}

#[test]
fn the_evidence_of_a_job_is_that_of_the_whole_ledger_and_each_of_its_rows_is_checked() {
    let (_folder, path) = scratch();
    let ledger = ledger_in(&path);
    ledger.apply(&[range(30, 40, 1), audit(JOB, everything(1, false), OWNER)]).expect("it is new");
    let of_all = Evidence::open(&path).expect("it is sound");
    let of_job = || JobEvidence::open(&path, JOB).expect("it can be read").expect("it is there");
    assert_eq!(of_job().job(), &of_all.jobs()[0].stored);
    let mut all = Vec::new();
    let noted = of_all.for_each(JOB, |record| {
        all.push(format!("{record:?}"));
        Ok::<(), LedgerFault>(())
    });
    noted.expect("it is sound");
    assert_eq!(all.len(), 3);
    let records = || {
        let mut records = Vec::new();
        of_job().for_each(|record| {
            records.push(format!("{record:?}"));
            Ok::<(), LedgerFault>(())
        })?;
        Ok::<_, LedgerFault>(records)
    };
    assert_eq!(records().expect("it is sound"), all);
    assert!(JobEvidence::open(&path, JobId(2)).expect("it can be read").is_none());

    ledger.db.execute_batch("UPDATE counts SET count = '9' WHERE first = 30").expect("it is SQL");
    let fault = records().expect_err("it was altered").to_string();
    assert!(fault.contains("a row at ordinal 30 that was altered"), "{fault}");
    ledger.db.execute_batch("PRAGMA user_version = 99").expect("it is SQL");
    assert!(matches!(JobEvidence::open(&path, JOB), Err(LedgerFault::Version(_))));
}

/// On two machines that share a disk without locks, both hold the lock and write the same file.
#[test]
fn a_coordinator_ends_at_its_next_write_once_another_one_has_begun() {
    for other in [
        "INSERT INTO epochs VALUES (99, 0, '1', 5)",
        "UPDATE epochs SET opening = opening + 1",
        "DELETE FROM epochs",
    ] {
        let (_folder, path) = scratch();
        let ledger = ledger_in(&path);
        let before = read(&ledger);
        rusqlite::Connection::open(&path).and_then(|db| db.execute_batch(other)).expect(other);
        let key = ledger.note_keys(&["token"]);
        for written in [ledger.apply(&[range(30, 40, 1)]).map(drop), key] {
            assert!(matches!(written, Err(LedgerFault::Taken)), "{other}: {written:?}");
        }
        assert_eq!(read(&ledger), before, "{other}");
        assert!(matches!(ledger.close(), Err(LedgerFault::Taken)), "{other}: not its files");
        let next = open(&path).expect("its content is sound");
        next.apply(&[range(30, 40, 1)]).expect("it is the only one");
    }
}

/// A ledger may come from elsewhere, and have any number in any column. It is refused, or used
/// without a panic, whatever is done with it.
#[test]
fn any_number_in_any_column_is_refused_or_does_no_harm() {
    let (folder, path) = scratch();
    let ledger = ledger_in(&path);
    let dispute = LedgerCommand::Dispute(report(interval(0, 10), 8), provenance("c"));
    ledger.apply(&[audit(JOB, everything(1, false), OWNER), dispute]).expect("it is written");
    ledger.apply(&[change(Change::Pause)]).expect("it is written");
    ledger.db.execute_batch(&copies(1, "second", "true")).expect("it is SQL");
    ledger.note_keys(&["token"]).expect("it is written");
    let credential = Credential {
        id: 1,
        owner: OWNER.into(),
        role: Role::Worker,
        hash: [1; 32],
        created_at_ms: 1,
        expires_at_ms: Some(2),
        revoked_at_ms: None,
    };
    ledger.add_credential(&credential).expect("it is written");
    let party = principal("x").party(AuditScope::Machines);
    let store = Store::of(&ledger.db);
    store.change_trust(&party, false, Some((JOB, interval(0, 10))), "").expect("it is written");
    let columns = "SELECT m.name, c.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c
                   WHERE m.type = 'table' AND c.type = 'INTEGER'";
    let columns: Vec<(String, String)> =
        store.all(columns, [], |row| Ok((row.get(0)?, row.get(1)?))).expect("it is SQL");
    assert!(columns.len() > 40, "{columns:?}");
    ledger.close().expect("it can be closed");

    for (table, column) in columns {
        for number in [i64::MIN, i64::MAX] {
            let altered = folder.path().join("altered.db");
            fs::copy(&path, &altered).expect("it can be copied");
            let db = rusqlite::Connection::open(&altered).expect("it is there");
            let update = format!("UPDATE OR IGNORE {table} SET {column} = {number}");
            db.execute_batch("PRAGMA foreign_keys = false; PRAGMA ignore_check_constraints = true")
                .and_then(|()| db.execute_batch(&update))
                .unwrap_or_else(|error| panic!("{update}: {error}"));
            drop(db);
            let found = check_file(&altered).map(drop);
            let opened = open(&altered).map(|mut ledger| use_all(&mut ledger));
            if let Err(fault) = &opened {
                let fault = fault.to_string();
                assert!(
                    found.is_err(),
                    "the start fails and the check does not: {update}: {fault}"
                );
            }
            for suffix in ["", "-wal", "-shm"] {
                let _ = fs::remove_file(with_suffix(&altered, suffix));
            }
        }
    }
}

/// Does with a ledger what a coordinator does. What it is asked for may fail.
fn use_all(ledger: &mut Ledger) {
    let path = ledger.path().expect("it has a file").to_owned();
    let _ = ledger.credentials();
    for of in [CreditOf::Owners, CreditOf::Workers(OWNER.into())] {
        let _ = LedgerView::open(&path).and_then(|view| view.credits(&of));
    }
    let _ = LedgerView::open(&path).and_then(|view| view.incidents(JOB));
    for command in [
        change(Change::Resume),
        change(Change::Priority(1)),
        range(30, 40, 1),
        LedgerCommand::NoteCounted(JOB),
        change(Change::Cancel),
        LedgerCommand::Remove(JOB),
    ] {
        let _ = ledger.apply(&[command]);
    }
    let mut farm =
        Farm::restore(config(), key(), Millis(0), ledger.take_restored(), |_, _| Known::nothing());
    let _ = farm.step(Millis(1), Event::Tick);
    let _ = farm.step(Millis(100_000), Event::Tick);
}

#[test]
fn a_value_that_no_ledger_has_is_found_by_the_check_and_stops_the_start() {
    let (folder, path) = scratch();
    let ledger = ledger_in(&path);
    let credential = Credential {
        id: 1,
        owner: OWNER.into(),
        role: Role::Worker,
        hash: [1; 32],
        created_at_ms: 1,
        expires_at_ms: None,
        revoked_at_ms: None,
    };
    ledger.add_credential(&credential).expect("it is written");
    ledger.note_keys(&["token"]).expect("it is written");
    let party = principal("x").party(AuditScope::Machines);
    Store::of(&ledger.db).change_trust(&party, false, None, "it lies").expect("it is written");
    ledger.close().expect("it can be closed");
    for harm in [
        "UPDATE credentials SET id = 9223372036854775807",
        "INSERT INTO removed SELECT 9223372036854775807, '', problem, n, method, parameter, state, total, 1 FROM jobs",
        "PRAGMA foreign_keys = false; UPDATE jobs SET id = 9223372036854775807;
         UPDATE counts SET job = 9223372036854775807",
        "INSERT INTO counts SELECT job, first, past, 9223372036854775807, count, residue, digest, kernel, owner,
             machine, worker, build, lease, busy_us, noted_at, checksum, 'settled', NULL FROM counts",
        "UPDATE credentials SET role = 'emperor'",
        "UPDATE credentials SET hash = x'00'",
        "UPDATE credentials SET hash = zeroblob(33)",
        "UPDATE credentials SET owner = 'a' || char(27) || '[31m'",
        "UPDATE credentials SET owner = 'a' || char(0)",
        "UPDATE jobs SET owner = 'ow' || char(10) || 'ner'",
        "UPDATE jobs SET key = 'a b'",
        "UPDATE jobs SET reason = char(7)",
        "UPDATE trust SET machine = 'no de'",
        "UPDATE trust SET reason = 'x' || char(13)",
        "UPDATE trust SET reason = CAST(zeroblob(2000000) AS TEXT)",
        "UPDATE counts SET task_counts = zeroblob(2000000)",
        "UPDATE keys SET name = char(27)",
        "UPDATE epochs SET build = replace(hex(zeroblob(1000000)), '0', 'x')",
    ] {
        let altered = folder.path().join("altered.db");
        fs::copy(&path, &altered).expect("it can be copied");
        let db = rusqlite::Connection::open(&altered).and_then(|db| db.execute_batch(harm));
        db.unwrap_or_else(|error| panic!("{harm}: {error}"));
        let before = fs::read(&altered).expect("it is there");
        for fault in [check_file(&altered).map(drop), CheckedLedger::open(&altered).map(drop)] {
            assert!(matches!(fault, Err(LedgerFault::Content(_))), "{harm}: {fault:?}");
        }
        assert!(fs::read(&altered).expect("it is there") == before, "{harm}: it has changed");
    }
}

/// The header says how SQLite opens the file: as one that it may not write, or by another log.
#[test]
fn any_byte_of_the_header_that_stops_a_start_is_damage_to_the_check_too() {
    let (folder, path) = scratch();
    ledger_in(&path).close().expect("it can be closed");
    let sound = fs::read(&path).expect("it is there");
    let mut wrong = Vec::new();
    for at in 0..100 {
        for byte in [0, 1, 2, 3, 0x7f, 0xff, sound[at] ^ 1, sound[at] ^ 0x40] {
            if byte == sound[at] {
                continue;
            }
            let altered = folder.path().join(format!("{at}-{byte}.db"));
            let mut bytes = sound.clone();
            bytes[at] = byte;
            fs::write(&altered, bytes).expect("it can be written");
            let checked = check_file(&altered).map(drop);
            let opened = open(&altered).map(drop);
            let is_damage = |found: &Result<(), LedgerFault>| {
                matches!(found, Err(LedgerFault::Content(_) | LedgerFault::Version(_)))
            };
            if !(checked.is_ok() && opened.is_ok() || is_damage(&checked) && is_damage(&opened)) {
                wrong.push(format!("byte {at} = {byte}: {checked:?}, {opened:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
