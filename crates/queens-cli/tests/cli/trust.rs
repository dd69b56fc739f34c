//! Tests of results that others check: audits by other workers, and bundles for strangers.

use std::fs;
use std::path::PathBuf;

use rusqlite::Connection;
use serde_json::Value;

use crate::support::process::{Outcome, Process, queens, run, wait_until};
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

    let args = ["audit", "1", "--all", "--method", "rows"];
    let said = farm.client(&args).success();

    assert!(said.contains("queens jobs 1"), "{said}");
    wait_until("all of it is counted again", || {
        let job = status(&farm);
        assert_eq!(job["total"], vectors::total(12).to_string(), "{job}");
        job["audits_wanted"] == 0
    });
    let searched = "SELECT count(*) FROM audits WHERE kernel <> 'search'";
    assert_eq!(number(&farm, searched), 0);
    assert!(number(&farm, "SELECT count(*) FROM audits") > 0);
    // An audit of no ranges changes nothing.
    let before = status(&farm);
    farm.client(&["audit", "1", "--fraction", "0"]).refusal(2, &["of nothing", "--withdraw"]);
    assert_eq!(status(&farm), before);
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
    assert!(list.contains("being counted again") && list.contains(total.trim()), "{list}");
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

    // An audit that was ordered with the job is withdrawn, too. Then the job is done.
    farm.client(&["submit", "10", "--certified"]).success();
    wait_until("all of it is counted once", || {
        let job = json(&farm.client(&["jobs", "2", "--json"]).success());
        job["percent"] == 100.0 && job["audits_stranded"].as_u64() > Some(0)
    });
    farm.client(&["audit", "2", "--withdraw"]).success();
    let total = format!("{}\n", vectors::total(10));
    assert_eq!(farm.client(&["watch", "2"]).success(), total);
}

#[test]
fn a_waiting_client_learns_why_no_worker_counts_its_job() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let mut waits = queens(&["submit", "9", "--wait"]);
    let mut waiting = Process::start(waits.env("QUEENS_COORDINATOR", farm.url()), farm.new_log());
    waiting.wait_for_line("job 1 waits for a worker: none is connected");
    let _worker = farm.start_worker();
    assert!(waiting.wait().success());
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

    let args = bundle.verify(&["--all"]).success();

    assert!(args.contains(&format!("total     {}", vectors::total(10))), "{args}");
    assert!(args.contains("every range was counted again here"), "{args}");
    assert!(args.contains("known     the published value is"), "{args}");
    assert!(args.contains("known     all placements come in orbits of eight"), "{args}");
    let sample = json(&bundle.verify(&["--sample", "1", "--seed", "5", "--json"]).success());
    assert_eq!(sample["total"], vectors::total(10).to_string());
    assert_eq!((&sample["recounted_ranges"], &sample["seed"]), (&1.into(), &"5".into()));
    assert_eq!(sample["method"], "rows");
    let builds = sample["builds"].as_array().expect("a list");
    assert!(
        builds.iter().all(|build| build.as_str().is_some_and(|build| build.contains("/rustc-")))
    );
    let seconds = |name: &str| sample[name].as_f64().expect("a number");
    assert!(seconds("thread_seconds") > 0.0);
    assert!(seconds("thread_seconds_of_second_counts") > 0.0, "all of it was certified");
    let confirmed = &sample["confirmed_by_machine"];
    assert_eq!(confirmed["ranges"], sample["ranges"], "all of it was certified");
    assert_eq!(confirmed["count"], sample["total"]);
    assert_eq!(sample["confirmed_by_owner"]["ranges"], 0, "by one owner");
    assert_eq!(sample["wrong_share_of_total_at_most"], 0.95, "one draw says little");
    assert!(sample["confidence"].as_str().is_some_and(|text| text.contains("95% confidence")));
    let args = bundle.verify(&["--backend", "reference", "--seed", "1", "--json"]).success();
    assert_eq!(json(&args)["recounted_by"], "reference");
    let search = bundle.verify(&["--backend", "search"]);
    search.refusal(2, &["--backend search is for bundles by halves"]);
    bundle.verify(&["--backend", "gpu"]).usage("--backend");
}

/// A change of one line contradicts other lines. A change that adapts all other lines is found by
/// counting.
#[test]
fn a_changed_bundle_is_refused() {
    let bundle = Bundle::of_an_audited_job();
    // The lines are: the header, a policy, an author, and a range of this author.
    bundle.holds_no_more("differs from the first, although", |lines| {
        lines[3]["range"]["row"]["count"] = "7".into();
    });
    bundle.holds_no_more("one way that a bundle allows", |lines| {
        let count = lines[3]["range"]["row"]["count"].as_str().expect("a number").to_string();
        lines[3]["range"]["row"]["count"] = format!("+{count}").into();
    });
    bundle.holds_no_more("unknown author 7", |lines| lines[3]["range"]["row"]["by"] = 7.into());
    bundle.holds_no_more("has a line already", |lines| {
        let twice = lines[2].clone();
        lines.insert(2, twice);
    });
    bundle.holds_no_more("add up to", |lines| lines[0]["counted"] = "7".into());
    bundle.holds_no_more("begins before", |lines| {
        let twice = lines[3].clone();
        lines.insert(3, twice);
    });
    bundle.holds_no_more("the numbers of lines differ", |lines| drop(lines.pop()));
    bundle.holds_no_more("fingerprint", |lines| lines[0]["n"] = 11.into());
    let newer = bundle.changed(|lines| lines[0]["queens_bundle"] = 7.into());
    newer.refusal(12, &["cannot tell whether", "its version is 7", "use the version"]);
    bundle.holds_no_more("it is empty", |lines| lines.truncate(0));
    bundle.holds_no_more("unknown field", |lines| lines[3]["range"]["colour"] = "red".into());
    bundle.holds_no_more("unknown field `\\u{1b}[2J`", |lines| {
        lines[3]["range"]["\u{1b}[2J"] = "".into();
    });
    bundle.holds_no_more("no kernel of this program is named \"\\u{1b}[2J\"", |lines| {
        lines[2]["author"]["kernel"] = "\u{1b}[2J".into();
    });
}

#[test]
fn missing_jobs_and_files_are_not_exported_or_verified() {
    let bundle = Bundle::of_an_audited_job();
    let export = |args: &[&str]| run(queens(args).arg("--ledger").arg(bundle.farm.ledger()));
    export(&["export", "1", bundle.path()]).refusal(10, &["exists"]);
    export(&["export", "2", "other"]).refusal(4, &["no job 2"]);
    let nowhere = bundle.scratch.path("no/such/file").display().to_string();
    run(&mut queens(&["export", "1", "other", "--ledger", &nowhere])).refusal(10, &["cannot open"]);
    run(&mut queens(&["verify", &nowhere])).refusal(2, &["cannot read the bundle"]);
    run(&mut queens(&["verify", "Cargo.toml"])).refusal(16, &["it is not a bundle"]);
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

    fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.path).expect("it is there");
        text.lines().map(json).collect()
    }

    /// Asserts that a copy with this change is refused for this reason.
    fn holds_no_more(&self, reason: &str, change: impl FnOnce(&mut Vec<Value>)) {
        self.changed(change).refusal(16, &["does not hold", reason]);
    }

    /// Verifies a copy with this change.
    fn changed(&self, change: impl FnOnce(&mut Vec<Value>)) -> Outcome {
        let mut lines = self.lines();
        change(&mut lines);
        // Unchanged lines keep their exact bytes.
        let before = fs::read_to_string(&self.path).expect("it is there");
        let text: Vec<String> = lines
            .iter()
            .map(|line| match before.lines().find(|text| json(text) == *line) {
                Some(text) => format!("{text}\n"),
                None => format!("{line}\n"),
            })
            .collect();
        let copy = self.scratch.new_file("bundle");
        fs::write(&copy, text.concat()).expect("it can be written");
        let args = ["verify", copy.to_str().expect("it is text"), "--seconds", "0"];
        run(&mut queens(&args))
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("it is JSON")
}

fn status(farm: &Farm) -> Value {
    json(&farm.client(&["jobs", "1", "--json"]).success())
}

fn number(farm: &Farm, query: &str) -> i64 {
    let db = Connection::open(farm.ledger()).expect("SQLite opens it");
    db.query_row(query, [], |row| row.get(0)).expect("there is one")
}
