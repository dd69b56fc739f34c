//! Tests of results that others check: audits by other workers, and bundles for strangers.

use std::fs;
use std::path::PathBuf;

use rusqlite::Connection;
use serde_json::Value;

use crate::object;
use crate::support::process::{Outcome, queens, run, wait_until};
use crate::support::{Farm, Scratch};

#[test]
fn a_certified_job_ends_when_two_workers_have_counted_it() {
    let farm = Farm::new("", "--report-ms 0");
    let _coordinator = farm.start_coordinator();
    let _first = farm.start_worker();
    farm.client(&["submit", "11", "--certified"]).success();

    wait_until("all of it is counted once", || {
        let job = status(&farm);
        job["percent"] == 100.0 && job["audits_wanted"].as_u64() > Some(0)
    });
    let args = farm.client(&["jobs", "1"]).success();
    assert!(args.contains("it waits for a worker on another machine to count"), "{args}");
    assert!(args.contains("`queens audit 1 --withdraw`"), "{args}");

    let _second = farm.start_worker();
    assert_eq!(farm.client(&["watch", "1"]).success(), format!("{}\n", vectors::total(11)));
    let job = status(&farm);
    assert_eq!((&job["audits_wanted"], &job["audit_share"]), (&0.into(), &1.0.into()));
    let same = "SELECT count(*) FROM ranges r LEFT JOIN audits a ON a.job = r.job AND a.first = r.first \
                WHERE a.first IS NULL OR a.worker = r.worker OR a.kernel = r.kernel \
                OR a.count <> r.count OR a.digest <> r.digest";
    assert_eq!(number(&farm, same), 0);
    assert_eq!(number(&farm, "SELECT count(*) FROM audits"), job["audits_agreed"]);
}

#[test]
fn a_done_job_can_be_audited_by_search() {
    let farm = Farm::new("", "--report-ms 0");
    let _coordinator = farm.start_coordinator();
    let _workers = [farm.start_worker(), farm.start_worker()];
    farm.client(&["submit", "12", "--method", "halves", "--wait"]).success();

    let said = farm.client(&["audit", "1", "--all", "--method", "rows"]).success();

    assert!(said.contains("queens jobs 1"), "{said}");
    wait_until("all of it is counted again", || {
        let job = status(&farm);
        assert_eq!(job["total"], vectors::total(12).to_string(), "{job}");
        job["audits_wanted"] == 0
    });
    let searched = "SELECT count(*) FROM audits WHERE kernel <> 'search'";
    assert_eq!(number(&farm, searched), 0);
    assert!(number(&farm, "SELECT count(*) FROM audits") > 0);
    assert_eq!(farm.client(&["watch", "1"]).success(), format!("{}\n", vectors::total(12)));
}

#[test]
fn an_impossible_audit_leaves_a_job_done_and_is_withdrawn() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let _only = farm.start_worker();
    let total = format!("{}\n", vectors::total(11));
    assert_eq!(farm.client(&["submit", "11", "--wait"]).success(), total);

    // The answer says at once that no worker can do it, and what would help.
    let said = farm.client(&["audit", "1", "--all"]).success();
    let helps = ["a worker on another machine", "no machine checks itself", "--withdraw"];
    assert!(helps.iter().all(|help| said.contains(help)), "{said}");
    // The job stays done in every output.
    let job = status(&farm);
    assert_eq!(
        (&job["state"], &job["total"]),
        (&"done".into(), &vectors::total(11).to_string().into())
    );
    assert_eq!(job["audits_stranded"], job["audits_wanted"]);
    let list = farm.client(&["jobs"]).success();
    assert!(list.contains("to be counted again") && list.contains(total.trim()), "{list}");
    let watched = farm.client(&["watch", "1"]);
    assert!(watched.stderr.contains("job 1 is done, "), "{}", watched.stderr);
    assert_eq!(watched.success(), total);
    farm.client(&["cancel", "1"]).refusal(4, &["job 1 is done"]);

    // An audit of no ranges withdraws nothing, and names the command that does.
    farm.client(&["audit", "1", "--fraction", "0%"]).refusal(2, &["of nothing", "--withdraw"]);
    assert_eq!(status(&farm)["audits_wanted"], job["audits_wanted"]);
    let said = farm.client(&["audit", "1", "--withdraw"]).success();
    assert!(said.contains("nothing is counted again any more"), "{said}");
    let job = status(&farm);
    assert_eq!((&job["state"], &job["audits_wanted"]), (&"done".into(), &0.into()));
    farm.client(&["audit", "1", "--withdraw", "--all"]).usage("cannot be used with");
}

#[test]
fn audits_that_make_no_sense_are_refused() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    farm.client(&["audit", "7"]).refusal(4, &["no job 7", "queens jobs"]);
    let job = farm.submit(12, 3, 0).to_string();
    farm.client(&["cancel", &job]).success();
    farm.client(&["audit", &job]).refusal(4, &["cancelled"]);
    farm.client(&["audit", &job, "--fraction", "2"]).usage("between 0 and 1");
    farm.client(&["audit", &job, "--fraction", "some"]).usage("between 0 and 1");
    farm.client(&["audit", &job, "--all", "--fraction", "1"]).usage("cannot be used with");
    farm.client(&["submit", "8", "--certified", "--audit", "0.1"]).usage("cannot be used with");
}

#[test]
fn a_bundle_is_checked_without_a_coordinator() {
    let bundle = Bundle::of_an_audited_job();

    let shown = bundle.verify(&["--all"]).success();

    for text in [
        &format!("total     {}\n", vectors::total(10)),
        "every range was counted again here",
        "known     the published value is",
        "known     all placements come in orbits of eight",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let sample = object(&bundle.verify(&["--sample", "1", "--seed", "5", "--json"]).success());
    let total = Value::from(vectors::total(10).to_string());
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

    let by_reference = bundle.verify(&["--backend", "reference", "--seed", "1", "--json"]);
    assert_eq!(object(&by_reference.success())["recounted_by"], "reference");
    let search = bundle.verify(&["--backend", "search"]);
    search.refusal(2, &["--backend search is for bundles by halves"]);
    bundle.verify(&["--backend", "gpu"]).usage("--backend");
}

/// `verify/corpus` has a bundle for each kind of damage. These are those that it lacks, and texts
/// that a terminal must not obey.
#[test]
fn changed_and_missing_bundles_are_refused() {
    let bundle = Bundle::of_an_audited_job();
    let text = fs::read_to_string(bundle.path()).expect("it is there");
    let author = text.lines().nth(2).expect("it follows the header and a policy");
    let changed = |text: String| {
        let copy = bundle.scratch.new_file("bundle");
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

    let nowhere = bundle.scratch.path("no/such/file").display().to_string();
    let ledger = bundle.farm.ledger().display().to_string();
    for (args, code, reason) in [
        (&["export", "1", bundle.path(), "--ledger", &ledger][..], 10, "is there already"),
        (&["export", "2", "other", "--ledger", &ledger], 4, "no job 2"),
        (&["export", "1", "other", "--ledger", &nowhere], 10, "cannot open"),
        (&["verify", &nowhere], 2, "cannot read the bundle"),
    ] {
        run(&mut queens(args)).refusal(code, &[reason]);
    }
}

/// A bundle of a certified count of N = 10, beside its farm.
struct Bundle {
    farm: Farm,
    scratch: Scratch,
    path: PathBuf,
}

impl Bundle {
    fn of_an_audited_job() -> Bundle {
        let farm = Farm::new("", "--report-ms 0");
        let coordinator = farm.start_coordinator();
        let workers = [farm.start_worker(), farm.start_worker()];
        farm.client(&["submit", "10", "--rows", "3", "--certified", "--wait"]).success();
        let scratch = Scratch::new();
        let path = scratch.path("ten.bundle");
        // The export works while the coordinator runs.
        let args = ["export", "1", path.to_str().expect("it is text"), "--ledger"];
        let said = run(queens(&args).arg(farm.ledger())).success();
        assert!(said.contains("second counts"), "{said}");
        drop((workers, coordinator));
        Bundle { farm, scratch, path }
    }

    fn path(&self) -> &str {
        self.path.to_str().expect("it is text")
    }

    fn verify(&self, args: &[&str]) -> Outcome {
        run(queens(&["verify", self.path()]).args(args))
    }
}

fn status(farm: &Farm) -> Value {
    object(&farm.client(&["jobs", "1", "--json"]).success())
}

fn number(farm: &Farm, query: &str) -> i64 {
    let db = Connection::open(farm.ledger()).expect("SQLite opens it");
    db.query_row(query, [], |row| row.get(0)).expect("there is one")
}
