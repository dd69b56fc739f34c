//! Tests of the owners of jobs against a real coordinator: other credentials, the number of jobs of
//! an owner, and repeated submissions.

use std::time::{Duration, Instant};

use farm::JobView;
use serde_json::Value;
use service::Method;
use tokio::runtime::Runtime;

use crate::access::{client, in_time};
use crate::support::Farm;
use crate::support::guarded::Guarded;
use crate::support::process::{Outcome, wait_until};

#[test]
fn only_the_owner_of_a_job_and_an_admin_may_change_it() {
    let guarded = Guarded::new();
    let (lab, _) = guarded.create("submitter", "lab");
    let (guest, _) = guarded.create("submitter", "guest");
    assert_eq!(guarded.client(&lab, &["submit", "12"]).success(), "1\n");
    assert_eq!(guarded.job()["owner"], "lab");
    assert!(guarded.client(&guest, &["jobs"]).success().contains("lab"), "everybody may see it");

    let changes = ["cancel 1", "pause 1", "resume 1", "audit 1 --all", "jobs rm 1"];
    for change in changes {
        let args: Vec<&str> = change.split(' ').collect();
        let refused = guarded.client(&guest, &args);
        refused.refusal(6, &["job 1 is \"lab\"'s", "\"guest\"'s", "an admin"]);
    }
    let job = guarded.job();
    assert_eq!((&job["state"], &job["audit"]), (&"running".into(), &Value::Null));
    guarded.client(&guest, &["cancel", "7"]).refusal(4, &["no job 7"]);

    // Another credential of the job's owner suffices, and so does an admin's.
    let (_, second) = guarded.create("submitter", "lab");
    guarded.write("second", &second);
    guarded.client("second", &["pause", "1"]).success();
    guarded.client("admin", &["resume", "1"]).success();
    guarded.client(&lab, &["cancel", "1"]).success();
    guarded.client(&lab, &["jobs", "rm", "1"]).success();

    // Priorities beyond the range of the role are refused.
    let submit = |token: &str, priority: &str| {
        guarded.client(token, &["submit", "12", "--priority", priority])
    };
    for limit in ["10", "-10"] {
        submit(&lab, limit).success();
        submit("admin", &format!("{limit}000")).success();
        let beyond = limit.replace('0', "1");
        submit(&lab, &beyond).refusal(6, &[&beyond, "for admins only", "from -10 to 10"]);
    }
}

#[test]
fn a_drained_worker_takes_nothing_more_and_only_its_owner_and_an_admin_may_drain_it() {
    let guarded = Guarded::new();
    let [lab, guest] = ["lab", "guest"].map(|owner| guarded.create("submitter", owner).0);
    let (token, _) = guarded.create("worker", "lab");
    let name = "node/7 of lab?".replace(' ', "_");
    let token = guarded.scratch.path(&token).display().to_string();
    let start = |name: &str| {
        let mut worker =
            guarded.farm.start_worker_with(&format!("--token-file {token} --name {name}"));
        worker.wait_for_line("welcomes");
        worker
    };
    let worker = start(&name);

    guarded
        .client(&lab, &["workers", "drain", "nobody"])
        .refusal(4, &["nobody", "`queens workers"]);
    guarded.client(&guest, &["workers", "drain", &name]).refusal(6, &[&name, "only its owner"]);
    for who in [&lab, &lab, "admin"] {
        let said = guarded.client(who, &["workers", "drain", &name]).success();
        assert!(said.starts_with(&format!("worker {name} of lab/")), "{said}");
    }
    let listed = guarded.client(&guest, &["workers", "--json"]).success();
    assert!(listed.contains(r#""draining":true"#), "{listed}");
    assert!(guarded.client(&guest, &["workers"]).success().contains("takes nothing more"));

    // Another one counts the job.
    let _other = start("other");
    guarded.client(&lab, &["submit", "12", "--wait"]).total(12);
    assert!(!worker.said().contains(r#""lease""#), "{}", worker.said());
    // One that is started anew takes work again.
    worker.stop();
    let _again = start(&name);
    wait_until("the one before to be gone", || {
        let listed = guarded.client(&guest, &["workers", "--json"]).success();
        !listed.contains(r#""draining":true"#)
    });
}

#[test]
fn the_number_of_jobs_is_bounded_for_each_owner() {
    let guarded = Guarded::with("--max-jobs-per-owner 2");
    let [(lab, _), (guest, _)] = ["lab", "guest"].map(|owner| guarded.create("submitter", owner));
    let submit = |owner: &str| guarded.client(owner, &["submit", "27"]);
    assert_eq!([submit(&lab), submit(&lab)].map(Outcome::success), ["1\n", "2\n"]);
    submit(&lab).refusal(3, &["limit of jobs that have not ended is 2", "cancel some"]);
    submit(&guest).success();
    guarded.client(&lab, &["cancel", "1"]).success();
    submit(&lab).success();
}

#[test]
fn a_submission_with_a_key_can_be_repeated() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let submit = |name: &str, more: &[&str]| {
        farm.client(&[&["submit", "10", "--name", name], more].concat())
    };
    for _ in 0..2 {
        assert_eq!(submit("nightly", &[]).success(), "1\n");
    }
    assert!(farm.client(&["jobs", "1", "--json"]).success().contains(r#""name":"nightly""#));

    // A waiting client gets the total, even after the job has ended.
    let _worker = farm.start_worker();
    for _ in 0..2 {
        submit("nightly", &["--wait"]).total(10);
    }
    for other in [&["--method", "colours"][..], &["--certified"], &["--problem", "toroidal"]] {
        submit("nightly", other).refusal(3, &["that of job 1", "give another name"]);
    }
    for key in ["", "two words", "caf\u{e9}"] {
        submit(key, &[]).refusal(2, &["--name", "visible ASCII"]);
    }
}

#[test]
fn many_connections_of_one_owner_share_one_rate_limit() {
    let guarded = Guarded::new();
    let [(lab, _), (guest, _)] = ["lab", "guest"].map(|owner| guarded.create("submitter", owner));
    guarded.client(&lab, &["submit", "12"]).success();
    let took = Runtime::new().expect("it starts").block_on(async {
        let begun = Instant::now();
        for _ in 0..10 {
            let mut jobs = client(&guarded.farm, Some(guarded.scratch.path(&lab))).await;
            for _ in 0..40 {
                let paused = jobs.ask::<JobView>(Method::POST, "/jobs/1/pause", None::<&()>);
                in_time(paused).await.expect("it is the owner's job");
            }
        }
        begun.elapsed()
    });
    assert!(took > Duration::from_secs(2), "400 requests took {took:?}");

    let begun = Instant::now();
    guarded.client(&guest, &["submit", "12"]).success();
    assert!(begun.elapsed() < Duration::from_secs(2), "others do not wait: {:?}", begun.elapsed());
}
