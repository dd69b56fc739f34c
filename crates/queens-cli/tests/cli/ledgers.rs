//! Tests of ledgers that must be refused and stay unchanged.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::support::process::{Outcome, queens, run};
use crate::support::{Farm, Port, Scratch};

#[test]
fn a_ledger_of_another_plan_is_refused_and_keeps_every_byte() {
    let scratch = Scratch::new();
    let ledger = finished(&scratch, "8");
    let before = fs::read(&ledger).expect("it is there");

    count(&["9"], &ledger).refusal(8, &["holds total N=8 by rows M=", "(done)", "not total N=9"]);
    count(&["8", "--rows", "1"], &ledger).refusal(8, &["not total N=8 by rows M=1"]);
    count(&["8", "--method", "colours"], &ledger).refusal(8, &["not total N=8 by colours"]);
    count(&["8", "--shard", "1/2"], &ledger).refusal(8, &["not shard 1/2 of total N=8"]);

    assert!(fs::read(&ledger).expect("it is there") == before);
    count(&["8"], &ledger).total(8);
}

#[test]
fn the_ledger_of_a_farm_is_refused_while_it_serves_and_afterwards() {
    let farm = Farm::new("--tls", "");
    let coordinator = farm.start_coordinator();
    let join = fs::read(farm.key("join")).expect("it was written");
    let args = ["submit", "8..9", "--join-file", &farm.key("join").display().to_string()];
    run(&mut queens(&args)).success();

    count(&["8"], farm.ledger()).refusal(7, &["locked by another process", "name another file"]);
    fs::remove_file(farm.key("token")).expect("it was made");
    let second = run(farm.coordinator_at("127.0.0.1:0").arg("--new-keys"));
    second.refusal(7, &["locked by another process", "name another file"]);
    assert!(fs::read(farm.key("join")).expect("it is there") == join, "nobody is told another");
    assert!(!farm.key("token").exists(), "no key is made beside it");

    coordinator.stop();
    count(&["8"], farm.ledger()).refusal(8, &["holds 2 jobs"]);
}

#[test]
fn a_ledger_that_is_damaged_or_of_another_version_is_refused_and_not_changed() {
    let scratch = Scratch::new();
    let sound = finished(&scratch, "8");
    let bytes = fs::read(&sound).expect("it can be read");
    let ledger = scratch.path("altered.db");
    for (reason, bytes) in [
        ("it is none, or its beginning is damaged", &[0x5a; 8192][..]),
        ("malformed", &bytes[..bytes.len() / 2]),
    ] {
        fs::write(&ledger, bytes).expect("it can be written");
        refuses(9, reason, &ledger);
    }
    let other = scratch.path("recipes.db");
    sql(&other, "CREATE TABLE recipes (name TEXT)");
    refuses(9, "not a ledger", &other);
    for (code, reason, statement) in [
        (9, "was altered", "UPDATE counts SET past = past + 1 WHERE first = 0"),
        (9, "not all of its ranges", "DELETE FROM counts WHERE first = 0"),
        (9, "not the sum", "UPDATE jobs SET total = total + 1"),
        (9, "out of range", "UPDATE counts SET first = -1 WHERE first = 0"),
        (9, "cannot have been opened", "UPDATE epochs SET epoch = 1 << 40"),
        (9, "unknown method", "UPDATE jobs SET method = 'guessing'"),
        (9, "or parameter of it", "UPDATE jobs SET parameter = NULL"),
        (9, "no count", "UPDATE counts SET count = 'many' WHERE first = 0"),
        (12, "its format is 99, and this program reads format 1", "PRAGMA user_version = 99"),
        (12, r#"by a kernel named "a\nb""#, "UPDATE counts SET kernel = 'a\nb' WHERE first = 0"),
        (12, "another way", "UPDATE jobs SET fingerprint = 'of another enumeration'"),
    ] {
        fs::copy(&sound, &ledger).expect("it can be copied");
        sql(&ledger, statement);
        refuses(code, reason, &ledger);
    }
}

#[test]
fn an_invalid_file_name_is_no_ledger_and_leaves_no_file() {
    let scratch = Scratch::new();
    let folder = scratch.path("folder");
    fs::create_dir(&folder).expect("it can be made");
    for (name, reason) in [
        (":memory:", "SQLite does not take this for the name of a file"),
        ("file::memory:?cache=shared", "SQLite does not take this"),
        ("folder", "it is a folder: name a file in it"),
        ("nothing/", "it is a folder"),
        (&"l".repeat(250), "its name is too long"),
        #[cfg(unix)]
        ("/dev/null", "it is a pipe or a device"),
    ] {
        for args in [
            &["count", "8", "--ledger", name][..],
            &["coordinator", "--listen", "127.0.0.1:0", "--ledger", name],
            &["merge", "folder/1.db", "--into", name],
            &["backup", "--check", name],
            &["backup", "copy.db", "--from", name],
            &["export", "1", "bundle", "--ledger", name],
        ] {
            run(queens(args).current_dir(scratch.path(""))).refusal(10, &[reason]);
        }
        assert_eq!(fs::read_dir(scratch.path("")).expect("it is there").count(), 1, "{name}");
    }
    assert_eq!(fs::read_dir(&folder).expect("it is there").count(), 0);
    assert!(!Path::new("/dev/null-lock").exists());
    count(&["8"], &scratch.path("no/folder.db")).refusal(10, &["cannot open", "or made"]);
    let args = ["count", "8", "--ledger", "./:memory:"];
    run(queens(&args).current_dir(scratch.path(""))).success();
    assert!(scratch.path(":memory:").is_file());
}

/// Every line of a log begins with the time, and no line of a check or of a refusal ends within a
/// name.
#[cfg(unix)]
#[test]
fn a_path_with_hidden_characters_is_printed_in_one_line() {
    let scratch = Scratch::new();
    let ledger = scratch.path("a\nqueens: b\u{202e}\u{7f}.db");
    let farm = Farm::new("", "").with_ledger(ledger.clone());
    let coordinator = farm.start_coordinator();
    let said = coordinator.said();
    assert!(said.lines().all(|line| line.starts_with("20")), "{said}");
    assert!(said.contains(r"a\u{a}queens: b\u{202e}\u{7f}.db"), "{said}");
    coordinator.stop();
    let path = ledger.to_str().expect("it is text");
    let checked = run(&mut queens(&["backup", "--check", path])).success();
    assert!(
        checked.trim_end().lines().count() == 1 && checked.contains("a\\u{a}queens"),
        "{checked}"
    );
    fs::write(&ledger, [0x5a; 8192]).expect("it can be written");
    let refused = run(&mut queens(&["backup", "--check", path]));
    refused.refusal(9, &["a\\u{a}queens"]);
}

/// The files in the folder of a test, with their bytes.
fn files(scratch: &Scratch) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = fs::read_dir(scratch.path("")).expect("it is there");
    let paths = files.map(|file| file.expect("it is there").path());
    paths
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), fs::read(path).expect("a file")))
        .collect()
}

#[test]
fn a_lost_ledger_is_found_by_whoever_looks_and_no_other_one_is_begun_in_its_place_by_itself() {
    let scratch = Scratch::new();
    let ledger = scratch.path("ledger.db");
    let name = ledger.to_str().expect("text");
    let [copy, bundle, merged] = ["copy", "bundle", "merged"].map(|name| scratch.path(name));
    let [copy, bundle, merged] = [&copy, &bundle, &merged].map(|path| path.to_str().expect("text"));
    let look: [&[&str]; 4] = [
        &["backup", "--check", name],
        &["backup", "--from", name, copy],
        &["export", "1", bundle, "--ledger", name],
        &["merge", name, "--into", merged],
    ];
    let begin: [&[&str]; 2] = [
        &["count", "8", "--ledger", name],
        &["coordinator", "--listen", "127.0.0.1:0", "--ledger", name],
    ];
    for (emptied, left) in
        [(true, None), (true, Some("-wal")), (false, Some("-wal")), (false, Some("-lock"))]
    {
        for file in files(&scratch).keys() {
            fs::remove_file(file).expect("it is there");
        }
        if emptied {
            fs::write(&ledger, "").expect("it can be written");
        }
        if let Some(left) = left {
            fs::write(format!("{name}{left}"), "the latest rows").expect("it can be written");
        }
        let before = files(&scratch);
        for args in look {
            let code = if emptied { 9 } else { 10 };
            run(&mut queens(args)).refusal(code, &["ledger.db"]);
        }
        for args in begin {
            run(&mut queens(args)).refusal(9, &["is lost", "latest copy", "--new"]);
        }
        assert_eq!(files(&scratch), before, "{emptied} {left:?}");
        run(queens(begin[0]).arg("--new")).total(8);
        run(&mut queens(look[0])).success();
        run(queens(begin[0]).arg("--new")).refusal(10, &["it is there", "leave --new out"]);
        run(&mut queens(begin[0])).total(8);
    }
}

#[test]
fn files_of_a_killed_process_are_not_changed() {
    // Given a damaged ledger whose latest rows are still in the write-ahead log.
    let scratch = Scratch::new();
    let whole = finished(&scratch, "8");
    let ledger = scratch.path("left.db");
    let wal = |path: &Path| PathBuf::from(format!("{}-wal", path.display()));
    let holder = Connection::open(&whole).expect("it opens");
    holder.pragma_update(None, "journal_mode", "WAL").expect("it can");
    holder.execute_batch("UPDATE jobs SET total = total + 1").expect("it is a ledger");
    fs::copy(&whole, &ledger).expect("it can be copied");
    fs::copy(wal(&whole), wal(&ledger)).expect("it is in use");
    let before = (fs::read(&ledger).ok(), fs::read(wal(&ledger)).ok());

    coordinate(&ledger).refusal(9, &["not the sum"]);

    assert_eq!((fs::read(&ledger).ok(), fs::read(wal(&ledger)).ok()), before);
}

/// Asserts that a ledger is refused with this code and reason, and stays as it is.
#[track_caller]
fn refuses(code: i32, reason: &str, ledger: &Path) {
    let before = fs::read(ledger).expect("it can be read");
    let help = if code == 9 { "restore a copy" } else { "the version that made it" };
    let way_out = [reason, help, "another file", &ledger.to_string_lossy()];

    count(&["8"], ledger).refusal(code, &way_out);
    coordinate(ledger).refusal(code, &way_out);

    assert!(fs::read(ledger).expect("it can be read") == before, "{reason}: the file changed");
}

/// The ledger of a finished count.
fn finished(scratch: &Scratch, n: &str) -> PathBuf {
    let ledger = scratch.path("ledger.db");
    count(&[n], &ledger).success();
    ledger
}

fn sql(path: &Path, statement: &str) {
    let db = Connection::open(path).expect("SQLite opens it");
    db.pragma_update(None, "foreign_keys", false).expect("it is SQLite");
    db.execute_batch(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
}

fn count(args: &[&str], ledger: &Path) -> Outcome {
    run(queens(&["count"]).args(args).arg("--ledger").arg(ledger))
}

fn coordinate(ledger: &Path) -> Outcome {
    let port = Port::reserve();
    run(queens(&["coordinator", "--listen", &port.address()]).arg("--ledger").arg(ledger))
}

#[cfg(unix)]
#[test]
fn a_ledger_that_is_taken_away_stops_its_coordinator() {
    let farm = Farm::new("", "");
    let mut coordinator = farm.start_coordinator();
    fs::rename(farm.ledger(), farm.ledger().with_extension("away")).expect("it is there");
    let _ = farm.client(&["submit", "8"]);
    assert_eq!(coordinator.wait().code(), Some(10), "{}", coordinator.said());
    assert!(coordinator.said().contains("latest copy"), "{}", coordinator.said());
}

#[test]
fn a_coordinator_ends_once_another_one_serves_its_ledger_where_locks_do_not_keep_that_out() {
    let farm = Farm::new("", "");
    let mut coordinator = farm.start_coordinator();
    sql(farm.ledger(), "INSERT INTO epochs SELECT max(epoch) + 1, 0, '', 0 FROM epochs");
    let _ = farm.client(&["submit", "8"]);
    assert_eq!(coordinator.wait().code(), Some(20), "{}", coordinator.said());
    assert!(coordinator.said().contains("another coordinator has begun"), "{}", coordinator.said());
}
