//! Tests of shards of a plan that are counted without a coordinator and then merged.

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use farm::{Change, JobId, JobState, JobView, LedgerCommand};
use ledger::CheckedLedger;
use rusqlite::Connection;

use crate::support::Scratch;
use crate::support::process::{Outcome, program, queens, run, without_settings};
use crate::support::small_disk::SmallDisk;

#[test]
fn shards_that_are_joined_make_the_total() {
    let scratch = Scratch::new();
    let shards: Vec<PathBuf> = (1..=3).map(|index| shard(&scratch, "11", index)).collect();
    let whole = scratch.path("whole.db");

    // Two shards are merged first. The output names the missing ranges, which can be counted or
    // merged later.
    let joined = merge(&shards[..2], &whole);
    assert_eq!((joined.code, joined.stdout.as_str()), (Some(13), ""), "{}", joined.stderr);
    assert!(joined.stderr.contains("tasks are missing: the shards 3/3; count them"), "{joined:?}");
    let copy = scratch.path("copy.db");
    fs::copy(&whole, &copy).expect("it can be copied");
    run(queens(&["count", "11", "--method", "rows", "--ledger"]).arg(&copy)).total(11);

    merge(&shards[2..], &whole).total(11);
    // If all shards are merged once more, nothing changes, and the same counts are no second ones.
    let args = ["merge", "--json", "--into"];
    let again = || crate::object(&run(queens(&args).arg(&whole).args(&shards)).success());
    let copied = again();
    assert_eq!(copied["total"], testkit::vectors::total(11).to_string());
    assert_eq!((&copied["compared"], &copied["left_out"]), (&0.into(), &0.into()));
    assert_eq!(copied["ledgers"], 4);
    fs::remove_file(&shards[0]).expect("it is there");
    let other = ["count", "11", "--rows", "3", "--shard", "1/3", "--backend", "reference"];
    run(queens(&other).arg("--ledger").arg(&shards[0])).success();
    assert!(again()["compared"].as_u64() > Some(0), "it was counted twice");
}

#[test]
#[ignore = "mounts a small file system, which needs root: CI runs it"]
fn read_only_parts_are_joined() {
    let (scratch, disk) = (Scratch::new(), SmallDisk::mount());
    let shards = [1, 2, 3].map(|index| {
        let shard = shard(&scratch, "10", index);
        let place = disk.path(&format!("{index}.db"));
        fs::copy(shard, &place).expect("there is room");
        place
    });
    let mut mount = Command::new("mount");
    run(mount.args(["-o", "remount,ro"]).arg(disk.path(""))).success();
    let whole = scratch.path("whole.db");
    merge(&shards, &whole).total(10);
    let folder = disk.path("");
    merge(std::slice::from_ref(&folder), &whole).success();
    merge(&[whole], &folder.join("new.db")).refusal(10, &["Read-only file system"]);
}

#[test]
fn a_shard_has_a_sum_and_no_total() {
    let scratch = Scratch::new();
    let ledger = shard(&scratch, "9", 2);
    let count = |args: &[&str]| run(queens(&["count", "9", "--rows", "3"]).args(args));
    let ledger = ledger.to_str().expect("it is text");

    let again = count(&["--shard", "2/3", "--ledger", ledger]).success();
    assert!(again.contains("shard 2/3 of total N=9 by rows M=3 is counted"), "{again}");
    let said = crate::object(&count(&["--shard", "2/3", "--ledger", ledger, "--json"]).success());
    assert_eq!(
        (&said["total"], &said["shard"], &said["shards"]),
        (&().into(), &2.into(), &3.into())
    );
    // The shard is complete.
    let job: JobView = serde_json::from_value(said).expect("it is a job");
    assert_eq!((job.state, job.percent()), (JobState::Done, 100.0));
    assert!(job.tasks() < job.spec.plan.tasks, "the plan has more tasks than its shard");

    count(&["--shard", "1/3", "--ledger", ledger])
        .refusal(8, &["holds shard 2/3", "not shard 1/3"]);
    count(&["--ledger", ledger]).refusal(8, &["holds shard 2/3"]);
    count(&["--shard", "2/3"]).usage("--ledger");
    count(&["--shard", "4/3", "--ledger", ledger]).usage("INDEX from 1 to SHARDS");
}

/// Slurm tells the tasks of an array their numbers in this way. The shard's name is in that of its
/// ledger, and a folder stands for the ledgers in it. The counts of a fundamental problem make its
/// answer.
#[test]
fn array_tasks_find_their_parts_and_a_folder_is_merged() {
    let scratch = Scratch::new();
    let folder = scratch.path("shards");
    fs::create_dir(&folder).expect("it can be made");
    let empty = merge(std::slice::from_ref(&folder), &scratch.path("none.db"));
    empty.refusal(10, &["shards", "ends in .db"]);
    let count = |task: &[(&str, &str)]| {
        let problem = ["count", "8", "--problem", "fundamental", "--shard", "auto/2", "--ledger"];
        let mut command = queens(&problem);
        run(command.arg(folder.join("shard-{shard}.db")).envs(task.iter().copied()))
    };

    count(&[("SLURM_ARRAY_TASK_ID", "1"), ("SLURM_ARRAY_TASK_MIN", "1")]).success();
    count(&[("JOB_COMPLETION_INDEX", "1")]).success();
    count(&[]).refusal(2, &["SLURM_ARRAY_TASK_ID", "--shard INDEX/SHARDS"]);

    fs::write(folder.join("notes.txt"), "no ledger").expect("it can be written");
    assert!(folder.join("shard-2-of-2.db").exists());
    let joined = merge(&[folder], &scratch.path("whole.db")).success();
    assert_eq!(joined, format!("{}\n", testkit::vectors::fundamental(8)));
}

/// The machines share no folder: a bundle comes by standard output. Tasks by colours have a count
/// each.
#[test]
fn shards_are_merged_from_bundles_that_were_printed() {
    let scratch = Scratch::new();
    let folder = scratch.path("bundles");
    fs::create_dir(&folder).expect("it can be made");
    let printed = |index: u32| {
        let (ledger, bundle) = (format!("{index}.db"), format!("bundles/{index}.bundle"));
        let (ledger, bundle) = (scratch.path(&ledger), scratch.path(&bundle));
        let shard = format!("{index}/3");
        let args = ["count", "12", "--method", "colours", "--shard", &shard, "--ledger"];
        run(queens(&args).arg(&ledger)).success();
        let export = run(queens(&["export", "1", "-", "--ledger"]).arg(&ledger)).success();
        fs::write(&bundle, export).expect("it can be written");
        (ledger, bundle)
    };
    let (ledger, first) = printed(1);
    let (_, second) = printed(2);
    let whole = scratch.path("whole.db");
    let two = merge(&[first.clone(), second.clone()], &whole);
    assert_eq!((two.code, two.stdout.as_str()), (Some(13), ""), "{}", two.stderr);
    assert!(two.stderr.contains("tasks are missing: the shards 3/3"), "{two:?}");
    let (_, third) = printed(3);
    merge(std::slice::from_ref(&third), &whole).total(12);

    // A bundle and its ledger are copies of one count.
    let args = ["merge", "--json", "--into"];
    let merged = run(queens(&args).arg(scratch.path("copies.db")).arg(&ledger).arg(&folder));
    let merged = crate::object(&merged.success());
    assert_eq!(merged["total"], testkit::vectors::total(12).to_string());
    assert_eq!((&merged["ledgers"], &merged["compared"]), (&4.into(), &0.into()));
    // What was merged is evidence again.
    let again = scratch.path("again.bundle");
    run(queens(&["export", "1"]).arg(&again).arg("--ledger").arg(&whole)).success();
    run(queens(&["verify", "--all"]).arg(&again)).success();

    // Bundles are checked, and faults name them.
    let text = fs::read_to_string(&third).expect("it is text");
    let altered = scratch.path("altered.bundle");
    fs::write(&altered, text.replacen("\"counts\":[\"", "\"counts\":[\"1", 1)).expect("it can");
    let none = scratch.path("none.db");
    merge(&[first.clone(), altered], &none).refusal(16, &["altered.bundle does not hold"]);
    let other = shard(&scratch, "9", 1);
    merge(&[other, first], &none).refusal(8, &["1.bundle", "total N=12"]);
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../verify/corpus");
    let audited = corpus.join("good/audited-across-machines.bundle");
    merge(&[audited], &none).refusal(2, &["has audits", "merge the farm's ledger"]);
    run(queens(&["export", "1", "-", "--json", "--ledger"]).arg(&ledger)).usage("--json");
    assert!(!none.exists());
}

/// Rows of a killed process are only in its log, and must not return after the file was replaced.
#[test]
fn rows_of_a_killed_process_are_merged_and_its_log_removed() {
    let scratch = Scratch::new();
    let whole = scratch.path("whole.db");
    let shards: Vec<PathBuf> = (1..=3).map(|index| shard(&scratch, "9", index)).collect();
    assert_eq!(merge(&shards[..1], &whole).code, Some(13));
    let beside = |end: &str| PathBuf::from(format!("{}{end}", whole.display()));
    let ledger = CheckedLedger::open(&whole).and_then(CheckedLedger::begin);
    let priority =
        LedgerCommand::Change { job: JobId(1), change: Change::Priority(1), by: "me".into() };
    ledger.expect("it opens").apply(&[priority]).expect("it is written");
    assert!(!fs::read(beside("-wal")).expect("it is there").is_empty());

    merge(&shards[1..], &whole).total(9);
    run(queens(&["count", "9", "--rows", "3", "--ledger"]).arg(&whole)).total(9);
}

#[test]
fn contradicting_parts_are_refused_without_a_result() {
    let scratch = Scratch::new();
    let (one, two) = (shard(&scratch, "9", 1), scratch.path("lie.db"));
    fs::copy(&one, &two).expect("it can be copied");
    let whole = scratch.path("whole.db");

    let db = Connection::open(&two).expect("SQLite opens it");
    db.execute("UPDATE counts SET count = count + 1 WHERE first = 0", []).expect("it can");
    drop(db);
    merge(&[one.clone(), two], &whole).refusal(9, &["was altered"]);

    let other = shard(&scratch, "10", 1);
    merge(&[one.clone(), other], &whole).refusal(8, &["total N=10", "total N=9 by rows M=3 like"]);
    let none = scratch.path("none.db");
    merge(&[one, none], &whole).refusal(10, &["none.db"]);
    run(&mut queens(&["merge", "--into", "x"])).usage("<PARTS>");
    assert!(!whole.exists());
}

/// A total that may be empty or a part of one would be taken for a result.
#[cfg(unix)]
#[test]
fn scripts_of_slurm_leave_a_whole_total_or_none() {
    let scratch = Scratch::new();
    // The fake `srun` drops its own options and runs the command here.
    let (bin, srun) = (scratch.path("bin"), scratch.path("bin/srun"));
    fs::create_dir(&bin).expect("it can be made");
    fs::write(&srun, "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\nexec \"$@\"\n")
        .and_then(|()| fs::set_permissions(&srun, PermissionsExt::from_mode(0o755)))
        .and_then(|()| std::os::unix::fs::symlink(program(), bin.join("queens")))
        .expect("they can be made");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("there is a PATH"));
    let script = |name: &str, args: &[&str]| {
        let script = format!("{}/../../deploy/slurm/{name}", env!("CARGO_MANIFEST_DIR"));
        let mut bash = without_settings(Command::new("bash"), &[&[script.as_str()], args].concat());
        bash.current_dir(scratch.path("")).env("PATH", &path).env("SLURM_ARRAY_TASK_ID", "9");
        run(bash.env("SLURM_CPUS_PER_TASK", "1")).code
    };
    let total = || fs::read_to_string(scratch.path("total.txt")).ok();
    let swept = || fs::read_to_string(scratch.path("q9.txt")).ok();
    let whole = Some(format!("{}\n", testkit::vectors::total(9)));

    let [_one, _two] = [1, 2].map(|index| shard(&scratch, "9", index));
    assert_eq!((script("merge.sbatch", &[]), total()), (Some(13), None));
    shard(&scratch, "9", 3);
    assert_eq!((script("merge.sbatch", &[]), total()), (Some(0), whole.clone()));

    assert_eq!((script("sweep.sbatch", &["--rows", "99"]), swept()), (Some(3), None));
    assert_eq!((script("sweep.sbatch", &[]), swept()), (Some(0), whole));
}

/// Counts shard `index` of three shards of a plan by rows.
fn shard(scratch: &Scratch, n: &str, index: u32) -> PathBuf {
    let ledger = scratch.path(&format!("shard-{n}-{index}.db"));
    let shard = format!("{index}/3");
    let args = ["count", n, "--rows", "3", "--shard", &shard, "--ledger"];
    run(queens(&args).arg(&ledger)).success();
    ledger
}

fn merge(shards: &[PathBuf], into: &Path) -> Outcome {
    run(queens(&["merge", "--into"]).arg(into).args(shards))
}
