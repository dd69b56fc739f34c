//! Tests of impossible totals: their jobs are suspended, and are not reported as done.

use serde_json::Value;
use service::Endpoint;
use service::worker::LinkEnd;

use crate::support::liar::Liar;
use crate::support::process::{queens, run};
use crate::support::{Farm, Scratch};

#[test]
fn a_worker_that_counts_42_does_not_make_42_a_total() {
    // Given: a worker that is leased all of N = 16, and reports 42.
    let farm = Farm::new("", "");
    let coordinator = farm.start_coordinator();
    let endpoint = Endpoint::new(&farm.url(), None);
    let liar = Liar::start(endpoint, "liar", |_, ordinal| if ordinal == 0 { 42 } else { 0 });

    // When a client waits for the total
    let waited = farm.client(&["submit", "16", "--wait"]);

    // Then the wait ends without a total, and the message has the reason and advice.
    assert_eq!((waited.code, waited.stdout.as_str()), (Some(17), ""), "{}", waited.stderr);
    let right = testkit::vectors::total(16).to_string();
    for word in ["comes to 42", &right, "OEIS A000170", "`queens audit 1 --all`"] {
        assert!(waited.stderr.contains(word), "{word}: {}", waited.stderr);
    }
    farm.client(&["watch", "1"]).refusal(17, &["job 1 is suspended", "`queens cancel 1`"]);
    let status = farm.client(&["jobs", "1"]).success();
    assert!(status.contains("state     suspended"), "{status}");
    let jobs = farm.client(&["jobs"]).success();
    assert!(jobs.contains("job 1 is suspended: the total comes to 42"), "{jobs}");
    assert!(!jobs.contains("done"), "{jobs}");
    let suspended = farm.job(1);
    assert_eq!((&suspended["state"], &suspended["total"]), (&"suspended".into(), &Value::Null));
    assert!(suspended["suspended"].as_str().is_some_and(|reason| reason.contains("42")));
    for change in [&["pause", "1"][..], &["resume", "1"], &["audit", "1", "--withdraw"]] {
        farm.client(change).refusal(4, &["job 1 is suspended", "queens audit 1"]);
    }

    let metrics = crate::metrics::get(&farm.address());
    for line in [
        "queens_job_state{job_id=\"1\",state=\"suspended\"} 1\n",
        "queens_job_state{job_id=\"1\",state=\"running\"} 0\n",
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
    // The state is in the ledger and is reported to every client, even after a restart.
    drop(liar);
    drop(coordinator);
    let scratch = Scratch::new();
    let [ledger, bundle, merged] =
        [farm.ledger().into(), scratch.path("bundle"), scratch.path("merged.db")]
            .map(|path| path.display().to_string());
    run(&mut queens(&["export", "1", &bundle, "--ledger", &ledger])).success();
    let verified = run(&mut queens(&["verify", &bundle, "--sample", "0"]));
    assert_eq!(verified.code, Some(13), "{verified:?}");
    assert!(verified.stdout.contains("\nunfinished: the job is suspended; 42 are"));
    assert!(verified.stderr.contains("its job is suspended and has no total"), "{verified:?}");
    let joined = run(&mut queens(&["merge", &ledger, "--into", &merged]));
    assert_eq!((joined.code, joined.stdout.as_str()), (Some(17), ""), "{}", joined.stderr);
    for ledger in [&ledger, &merged] {
        let count = run(&mut queens(&["count", "16", "--ledger", ledger]));
        count.refusal(17, &["comes to 42", ledger, "`queens audit JOB --all`"]);
    }
    let _coordinator = farm.start_coordinator();
    assert_eq!(farm.job(1)["suspended"], suspended["suspended"]);

    // An audit then leads to the right total.
    farm.client(&["audit", "1", "--all"]).success();
    let _honest = [farm.start_worker(), farm.start_worker()];
    assert_eq!(farm.client(&["watch", "1"]).success(), format!("{right}\n"));
}

#[test]
fn an_impossible_count_ends_the_session_and_changes_nothing() {
    let farm = Farm::new("", "");
    let mut coordinator = farm.start_coordinator();
    farm.submit(14, 3, 0);
    let liar = Liar::start(Endpoint::new(&farm.url(), None), "liar", |_, _| u64::MAX);

    coordinator.wait_for_line("its tasks cannot count so much");

    let end = liar.end();
    assert!(matches!(&end, LinkEnd::Refused(_)), "{end:?}");
    let job = farm.job(1);
    assert_eq!((&job["state"], &job["tasks_done"]), (&"running".into(), &0.into()));
}
