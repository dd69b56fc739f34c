//! Tests of results that others check: audits by other workers, and bundles for strangers.

use std::fs;

use rusqlite::Connection;
use serde_json::Value;

use crate::object;
use crate::support::process::{queens, run, wait_until};
use crate::support::{Farm, Scratch};

#[test]
fn a_certified_job_ends_when_two_workers_have_counted_it() {
    let farm = Farm::new("", "--report-ms 0");
    let _coordinator = farm.start_coordinator();
    let _first = farm.start_worker();
    farm.client(&["submit", "11", "--certified"]).success();

    wait_until("all of it is counted once", || {
        let job = farm.job(1);
        job["tasks_done"] == job["tasks"] && job["audits_wanted"].as_u64() > Some(0)
    });
    let args = farm.client(&["jobs", "1"]).success();
    assert!(args.contains("it waits for a worker on another machine to count"), "{args}");
    assert!(args.contains("`queens audit 1 --withdraw`"), "{args}");

    let _second = farm.start_worker();
    farm.client(&["watch", "1"]).total(11);
    let job = farm.job(1);
    assert_eq!((&job["audits_wanted"], &job["audit"]["share"]), (&0.into(), &1.0.into()));
    let same = "SELECT count(*) FROM counts r \
                LEFT JOIN counts a ON a.job = r.job AND a.first = r.first AND a.standing = 'second' \
                WHERE r.place = 0 AND (a.first IS NULL OR a.worker = r.worker OR a.kernel = r.kernel \
                OR a.count <> r.count OR a.digest <> r.digest)";
    assert_eq!(number(&farm, same), 0);
    let seconds = "SELECT count(*) FROM counts WHERE standing = 'second'";
    assert_eq!(number(&farm, seconds), job["audits_agreed"]);
}

#[test]
fn a_done_job_can_be_audited_by_the_reference() {
    let farm = Farm::new("", "--report-ms 0");
    let _coordinator = farm.start_coordinator();
    let _workers = [farm.start_worker(), farm.start_worker()];
    farm.client(&["submit", "12", "--method", "colours", "--wait"]).success();

    let said = farm.client(&["audit", "1", "--all", "--backend", "reference"]).success();

    assert!(said.contains("queens jobs 1"), "{said}");
    wait_until("all of it is counted again", || {
        let job = farm.job(1);
        assert_eq!(job["total"], testkit::vectors::total(12).to_string(), "{job}");
        job["audits_wanted"] == 0
    });
    let seconds = "SELECT count(*) FROM counts WHERE standing = 'second'";
    assert_eq!(number(&farm, &format!("{seconds} AND kernel <> 'reference'")), 0);
    assert!(number(&farm, seconds) > 0);
    farm.client(&["watch", "1"]).total(12);
}

#[test]
fn a_bundle_by_colours_is_counted_again_mirrored_or_by_the_reference() {
    // Given a bundle of a count on this machine
    let scratch = Scratch::new();
    let [ledger, bundle] = ["ledger.db", "bundle"].map(|name| scratch.path(name));
    let count = ["count", "12", "--method", "colours", "--backend", "portable", "--ledger"];
    run(queens(&count).arg(&ledger)).total(12);
    run(queens(&["export", "1"]).arg(&bundle).arg("--ledger").arg(&ledger)).success();
    let verify = |backend: &str| {
        run(queens(&["verify", "--all", "--json", "--backend", backend]).arg(&bundle))
    };

    // Then each loop counts the mirrored tasks, and the reference those of the plan
    for (backend, by) in [("portable", "portable mirrored"), ("reference", "reference")] {
        let verified = object(&verify(backend).success());
        assert_eq!((&verified["recounted_by"], &verified["is_exact"]), (&by.into(), &true.into()));
        assert_eq!(verified["tasks_reported"], verified["tasks"], "{verified}");
        assert_eq!(verified["total"], testkit::vectors::total(12).to_string());
    }
}

#[test]
fn an_impossible_audit_leaves_a_job_done_and_is_withdrawn() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let _only = farm.start_worker();
    let total = format!("{}\n", testkit::vectors::total(11));
    assert_eq!(farm.client(&["submit", "11", "--wait"]).success(), total);

    // The answer says at once that no worker can do it, and what would help.
    let said = farm.client(&["audit", "1", "--all"]).success();
    let helps = ["a worker on another machine", "no machine checks itself", "--withdraw"];
    assert!(helps.iter().all(|help| said.contains(help)), "{said}");
    // The job stays done in every output.
    let job = farm.job(1);
    assert_eq!(
        (&job["state"], &job["total"]),
        (&"done".into(), &testkit::vectors::total(11).to_string().into())
    );
    assert_eq!(job["audits_stranded"], job["audits_wanted"]);
    let list = farm.client(&["jobs"]).success();
    assert!(list.contains("to be counted again") && list.contains(total.trim()), "{list}");
    let watched = farm.client(&["watch", "1"]);
    assert!(watched.stderr.contains("job 1 is done, "), "{}", watched.stderr);
    assert_eq!(watched.success(), total);
    farm.client(&["cancel", "1"]).refusal(4, &["job 1 is done"]);
    let scratch = Scratch::new();
    let bundle = scratch.path("bundle").display().to_string();
    farm.client(&["export", "1", &bundle]).success();
    let verified = run(&mut queens(&["verify", &bundle, "--sample", "1"])).success();
    assert!(verified.contains(&format!("total     {total}")), "{verified}");

    // An audit of no ranges withdraws nothing, and names the command that does.
    farm.client(&["audit", "1", "--fraction", "0%"]).refusal(2, &["of nothing", "--withdraw"]);
    assert_eq!(farm.job(1)["audits_wanted"], job["audits_wanted"]);
    let said = farm.client(&["audit", "1", "--withdraw"]).success();
    assert!(said.contains("nothing is counted again any more"), "{said}");
    let job = farm.job(1);
    assert_eq!((&job["state"], &job["audits_wanted"]), (&"done".into(), &0.into()));

    // Other audits make no sense.
    farm.client(&["audit", "7"]).refusal(4, &["no job 7", "queens jobs"]);
    farm.submit(18, 3, 0);
    farm.client(&["cancel", "2"]).success();
    farm.client(&["audit", "2"]).refusal(4, &["cancelled"]);
    for (args, reason) in [
        ("audit 1 --withdraw --all", "cannot be used with"),
        ("audit 1 --all --fraction 1", "cannot be used with"),
        ("submit 8 --certified --audit 0.1", "cannot be used with"),
        ("audit 1 --fraction some", "between 0 and 1"),
    ] {
        farm.client(&args.split(' ').collect::<Vec<_>>()).usage(reason);
    }
}

#[test]
fn a_bundle_is_checked_without_a_coordinator_and_refused_if_it_was_changed() {
    // Given a bundle of a certified count of N = 10, exported while the coordinator runs
    let farm = Farm::new("", "--report-ms 0");
    let coordinator = farm.start_coordinator();
    let workers = [farm.start_worker(), farm.start_worker()];
    farm.client(&["submit", "10", "--rows", "3", "--certified", "--wait"]).success();
    let scratch = Scratch::new();
    let [bundle, ledger, nowhere] =
        [scratch.path("ten.bundle"), farm.ledger().into(), scratch.path("no/such/file")]
            .map(|path| path.display().to_string());
    let said = run(&mut queens(&["export", "1", &bundle, "--ledger", &ledger])).success();
    assert!(said.contains("second counts"), "{said}");
    drop((workers, coordinator));

    let verify = |args: &[&str]| run(queens(&["verify", &bundle]).args(args));
    let shown = verify(&["--all"]).success();

    for text in [
        &format!("total     {}\n", testkit::vectors::total(10)),
        "every range was counted again here",
        "known     the published value is",
        "known     all placements come in orbits of eight",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let sample = object(&verify(&["--sample", "1", "--seed", "5", "--json"]).success());
    let total = Value::from(testkit::vectors::total(10).to_string());
    assert_eq!((&sample["total"], &sample["method"]), (&total, &"rows".into()));
    assert_eq!((&sample["recounted_ranges"], &sample["seed"]), (&1.into(), &"5".into()));
    assert!(sample["builds"][0].as_str().is_some_and(|build| build.contains("/rustc-")));
    // All of it was certified by another machine of the same owner.
    assert!(sample["thread_seconds_of_second_counts"].as_f64() > Some(0.0), "{sample}");
    let confirmed = &sample["confirmed_by_machine"];
    assert_eq!((&confirmed["ranges"], &confirmed["count"]), (&sample["ranges"], &sample["total"]));
    assert_eq!(sample["confirmed_by_owner"]["ranges"], 0);
    assert_eq!(sample["wrong_share_of_total_at_most"], 0.95, "one draw says little");
    assert!(sample["confidence"].as_str().is_some_and(|text| text.contains("95% confidence")));

    let by_reference = verify(&["--backend", "reference", "--seed", "1", "--json"]);
    assert_eq!(object(&by_reference.success())["recounted_by"], "reference");
    verify(&["--backend", "gpu"]).usage("--backend");

    // `verify/corpus` has a bundle for each kind of damage. These are those that it lacks, and
    // texts that a terminal must not obey.
    let text = fs::read_to_string(&bundle).expect("it is there");
    let author = text.lines().nth(2).expect("it follows the header and a policy");
    let changed = |text: String| {
        let copy = scratch.new_file("bundle");
        fs::write(&copy, text).expect("it can be written");
        run(queens(&["verify", "--seconds", "0"]).arg(copy))
    };
    let with = |old: &str, new: &str| {
        assert!(text.contains(old), "{old}: {text}");
        changed(text.replacen(old, new, 1))
    };
    let harmful = r"\u001b[2J";
    for (outcome, reason) in [
        (with(r#""counted":"724""#, r#""counted":"728""#), "add up to"),
        (with(author, &format!("{author}\n{author}")), "has a line already"),
        (changed(String::new()), "it is empty"),
        (
            with(r#"{"range":{"#, &format!(r#"{{"range":{{"{harmful}":"","#)),
            r"unknown field `\u{1b}[2J`",
        ),
        (
            with(r#""kernel":"#, &format!(r#""kernel":"{harmful}","kernel":"#)),
            r#"no kernel of this program is named "\u{1b}[2J""#,
        ),
    ] {
        outcome.refusal(16, &["does not hold", reason]);
    }
    let newer = with(r#""queens_bundle":1"#, r#""queens_bundle":7"#);
    newer.refusal(12, &["cannot tell whether", "its version is 7", "use the version"]);
    run(&mut queens(&["verify", "Cargo.toml"])).refusal(16, &["it is not a bundle"]);

    for (args, code, reason) in [
        (&["export", "1", &bundle, "--ledger", &ledger][..], 10, "is there already"),
        (&["export", "2", "other", "--ledger", &ledger], 4, "no job 2"),
        (&["export", "1", "other", "--ledger", &nowhere], 10, "cannot open"),
        (&["verify", &nowhere], 2, "cannot read the bundle"),
        // It is a file, and its first page is not mapped.
        #[cfg(target_os = "linux")]
        (&["verify", "/proc/self/mem"], 2, "cannot read the bundle"),
    ] {
        run(&mut queens(args)).refusal(code, &[reason]);
    }
}

/// This follows task counts from the counting thread to a stranger's verifier, through workers, the
/// coordinator and its ledger.
#[test]
fn the_evidence_of_a_farm_has_task_counts() {
    // Given a certified job of a coordinator that was killed since
    let farm = Farm::new("", "--report-ms 0");
    let coordinator = farm.start_coordinator();
    let _workers = [farm.start_worker(), farm.start_worker()];
    farm.client(&["submit", "11", "--method", "colours", "--certified", "--wait"]).success();
    coordinator.kill();
    let _coordinator = farm.start_coordinator();
    let scratch = Scratch::new();
    let [far, small, near] = ["far", "small.gz", "near"].map(|name| scratch.path(name));
    let [far, small, near] = [&far, &small, &near].map(|path| path.to_str().expect("it is text"));

    let said = farm.client(&["export", "1", far]).success();
    farm.client(&["export", "1", small]).success();

    // Then the bundles hold, and have the counts of all tasks.
    assert!(said.contains("ranges") && said.contains("name"), "{said}");
    for bundle in [far, small] {
        let verified = run(&mut queens(&["verify", bundle, "--all"]));
        assert!(verified.stderr.starts_with("counts every range again"), "{}", verified.stderr);
        let text = verified.success();
        assert!(text.contains(&format!("total     {}", testkit::vectors::total(11))), "{text}");
        assert!(text.contains("\ntasks     "), "{text}");
    }
    let exact = run(&mut queens(&["verify", far, "--all", "--json"])).success();
    let exact = object(&exact);
    let tasks = farm.snapshot().jobs[&1].tasks;
    assert_eq!((&exact["tasks_reported"], &exact["is_exact"]), (&tasks.into(), &true.into()));
    let sampled = run(&mut queens(&["verify", far, "--seconds", "2m"])).stderr;
    assert!(sampled.contains("for 2m 00s at most (--seconds), on "), "{sampled}");
    let sampled = object(&run(&mut queens(&["verify", far, "--json", "--seed", "1"])).success());
    let single = sampled["recounted_single_tasks"].as_u64();
    assert!(single > Some(0) && sampled["recounted_tasks"].as_u64() <= Some(tasks), "{sampled}");
    // A recount of nothing is no verdict, whatever the reason. What is wrong without it is still
    // told: the tests of damaged bundles ask for no recount.
    for none in [&["--sample", "0"][..], &["--seconds", "0"], &["--seconds", "0", "--json"]] {
        let nothing = run(queens(&["verify", far]).args(none));
        assert!(nothing.stdout.contains("nothing was checked: not one range"), "{nothing:?}");
        assert!(nothing.stdout.contains(&testkit::vectors::total(11).to_string()), "{nothing:?}");
        assert_eq!(nothing.code, Some(15), "{nothing:?}");
        assert!(nothing.stderr.contains("is undecided; give it more --seconds"), "{nothing:?}");
    }
    // A board without tasks has nothing to count, and so has a shard of too few tasks.
    let scratch_ledger = scratch.path("three.db").display().to_string();
    let three = scratch.path("three").display().to_string();
    run(&mut queens(&["count", "3", "--rows", "3", "--ledger", &scratch_ledger])).success();
    run(&mut queens(&["export", "1", &three, "--ledger", &scratch_ledger])).success();
    let shard = scratch.path("shard").display().to_string();
    let shard_ledger = scratch.path("shard.db").display().to_string();
    let count = ["count", "4", "--rows", "1", "--shard", "8/8", "--ledger", &shard_ledger];
    run(&mut queens(&count)).success();
    run(&mut queens(&["export", "1", &shard, "--ledger", &shard_ledger])).success();
    for bundle in [&three, &shard] {
        for effort in ["--seconds=0", "--all"] {
            let nothing = run(&mut queens(&["verify", bundle, effort]));
            assert_eq!(nothing.code, Some(15), "{nothing:?}");
            assert!(nothing.stdout.contains("cannot be told: it has no range"), "{nothing:?}");
            assert!(nothing.stderr.contains("nothing was checked"), "{nothing:?}");
        }
    }

    // The lines are the same as from the ledger itself. Only the time in the header differs.
    run(queens(&["export", "1", near, "--ledger"]).arg(farm.ledger())).success();
    let lines = |path: &str| -> Vec<String> {
        let text = fs::read_to_string(path).expect("it is there");
        text.lines().skip(1).map(String::from).collect()
    };
    assert_eq!(lines(far), lines(near));
    farm.client(&["export", "1", far]).refusal(10, &["is there already"]);
    farm.client(&["export", "7", "other"]).refusal(4, &["no job 7"]);
}

fn number(farm: &Farm, query: &str) -> i64 {
    let db = Connection::open(farm.ledger()).expect("SQLite opens it");
    db.query_row(query, [], |row| row.get(0)).expect("there is one")
}
