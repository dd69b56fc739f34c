//! Tests of strangers with a credential against a real coordinator: what they may do, report and
//! claim.

use std::fs;
use std::path::Path;
use std::time::Duration;

use service::Endpoint;
use tokio::runtime::Runtime;
use tonic::metadata::MetadataValue;
use tonic::{Code, Request};
use wire::v1;
use wire::v1::client_service_client::ClientServiceClient;
use wire::v1::work_request::Message;
use wire::v1::work_response;

use crate::access::{connect, hello, report, session, work};
use crate::support::Farm;
use crate::support::guarded::Guarded;
use crate::support::liar::Liar;
use crate::support::process::{PATIENCE, Process, queens, wait_until};

const SHORT: Duration = Duration::from_secs(1);

fn first_lease(reported: &[work_response::Message]) -> v1::Lease {
    let lease = |message: &work_response::Message| match message {
        work_response::Message::Lease(lease) => Some(lease.clone()),
        _ => None,
    };
    reported.iter().find_map(lease).expect("something was leased")
}

/// A report of the whole lease, in which no task has a solution.
fn zero(lease: &v1::Lease) -> v1::Report {
    let plan: farm::Plan = lease.plan.clone().expect("it is there").try_into().expect("it is one");
    let range = lease.range.expect("it is there");
    let add = |checked_count: farm::CheckedCount, task| {
        checked_count.with(plan.fingerprint(), task, 0).expect("it is 0")
    };
    let checked_count = (range.start..range.end).fold(farm::CheckedCount::EMPTY, add);
    v1::Report {
        lease: lease.id,
        job: lease.job,
        fingerprint: plan.fingerprint().0.to_vec(),
        range: Some(range),
        token: lease.token.clone(),
        count: 0,
        residue: 0,
        digest: checked_count.digest.0.to_le_bytes().to_vec(),
        ..report()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_was_leased_nothing_cannot_end_a_job() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let job = farm.submit(10, 3, 0);
    let status = farm.snapshot();
    let range = farm::Range::new(0, status.jobs[&job].tasks).expect("it has tasks");
    let made_up = farm::LeaseToken { range, kind: farm::LeaseKind::Count, mac: [42; 16] };
    let lie = v1::Report {
        job,
        fingerprint: status.jobs[&job].fingerprint.clone(),
        range: Some(v1::OrdinalRange { start: range.start(), end: range.end() }),
        token: made_up.to_bytes().to_vec(),
        count: 42,
        residue: 42,
        ..report()
    };
    let unknown = v1::Report { job: 2, ..lie.clone() };
    let of_another_plan = v1::Report { fingerprint: vec![7; 32], ..lie.clone() };

    let channel = connect(&farm).await;
    for report in [lie, unknown, of_another_plan] {
        let idle = v1::Hello { credit: 0, ..hello() };
        let messages = vec![Message::Hello(idle), Message::Report(report)];
        let refused = work(&channel, messages).await.expect_err("nothing was leased");
        assert_eq!(refused.code(), Code::Aborted);
    }

    assert!(farm.snapshot().jobs[&job].rows.is_empty());
    let _worker = farm.start_worker();
    let total = farm.client(&["watch", "1"]).success();
    assert_eq!(total, format!("{}\n", vectors::total(10)));
}

#[tokio::test(flavor = "multi_thread")]
async fn task_counts_are_kept_only_of_plans_of_long_tasks() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let channel = connect(&farm).await;
    for (job, method, kept) in [(1, "halves", 1), (2, "rows", 0)] {
        farm.client(&["submit", "10", "--method", method]).success();
        let hello = |instance| {
            Message::Hello(v1::Hello { credit: 1, instance, memory: 1 << 30, ..hello() })
        };
        let leased = session(&channel, None, vec![hello(2 * job)], SHORT).await.0;
        let report = zero(&first_lease(&leased));
        let range = report.range.expect("it is there");
        let task_counts = vec![0; (range.end - range.start) as usize];
        let report = Message::Report(v1::Report { task_counts, ..report });

        session(&channel, None, vec![hello(2 * job + 1), report], SHORT).await;

        wait_until("the count to be durable", || !farm.snapshot().jobs[&job].rows.is_empty());
        let db = rusqlite::Connection::open(farm.ledger()).expect("it is there");
        let query = "SELECT count(*) FROM ranges WHERE job = ? AND task_counts NOT NULL";
        let found: i64 = db.query_row(query, [job], |row| row.get(0)).expect("it is a number");
        assert_eq!(found, kept, "{method}");
        farm.client(&["cancel", &job.to_string()]).success();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_of_no_use_to_another_owner() {
    let guarded = Guarded::new();
    let [holder, thief] = ["rack7", "rack8"].map(|owner| guarded.create("worker", owner).1);
    guarded.client("admin", &["submit", "10", "--method", "rows", "--rows", "3"]).success();
    let channel = connect(&guarded.farm).await;
    let idle = vec![Message::Hello(v1::Hello { credit: 1, ..hello() })];
    let lease = first_lease(&session(&channel, Some(&holder), idle, SHORT).await.0);

    let idle = v1::Hello { credit: 0, instance: 2, ..hello() };
    let stolen = vec![Message::Hello(idle), Message::Report(zero(&lease))];
    let (_, end) = session(&channel, Some(&thief), stolen.clone(), PATIENCE).await;
    assert_eq!(end.map(|status| status.code()), Some(Code::Aborted));

    // The owner of the lease may still report it, in any session.
    let (reported, end) = session(&channel, Some(&holder), stolen, SHORT).await;
    let acked = |message: &work_response::Message| match message {
        work_response::Message::Ack(ack) => Some(ack.verdict.clone()),
        _ => None,
    };
    assert!(end.is_none(), "{end:?}");
    assert_eq!(reported.iter().find_map(acked), Some("accepted".into()));
}

#[test]
fn each_role_may_do_its_work_and_nothing_else() {
    let guarded = Guarded::new();
    let (viewer, _) = guarded.create("viewer", "guest");
    let (submitter, _) = guarded.create("submitter", "lab");
    let (worker, _) = guarded.create("worker", "rack7");
    let create = ["token", "create", "--role", "worker", "--trusted", "--owner", "rack7"];
    let secret = guarded.client("admin", &create).success();
    let (judge, _) = guarded.create("worker", "rack8");
    std::fs::write(guarded.scratch.path(&judge), secret).expect("it stays private");
    guarded.client(&submitter, &["submit", "10"]).success();

    for token in [&viewer, &submitter] {
        guarded.client(token, &["jobs"]).success();
        guarded.client(token, &["workers"]).success();
        let args = ["worker", "--log", "error", "--threads", "1"];
        guarded.client(token, &args).refusal(6, &["needs that of a worker"]);
    }
    let changes = ["cancel 1", "pause 1", "priority 1 5", "audit 1", "jobs rm 1", "submit 8"];
    for args in changes.map(|args| args.split(' ').collect::<Vec<_>>()) {
        for (token, whose) in
            [(&viewer, "a viewer's"), (&worker, "a worker's"), (&judge, "worker's")]
        {
            guarded.client(token, &args).refusal(6, &[whose, "needs that of a submitter"]);
        }
    }
    guarded.client(&submitter, &["priority", "1", "11"]).refusal(6, &["is for admins only"]);
    let bundle = guarded.scratch.path("bundle").display().to_string();
    for args in [&["jobs"][..], &["workers"], &["export", "1", &bundle]] {
        for token in [&worker, &judge] {
            guarded.client(token, args).refusal(6, &["a viewer or a submitter"]);
        }
    }
    assert!(!Path::new(&bundle).exists(), "a refusal leaves nothing behind");
    guarded.client(&viewer, &["export", "1", &bundle]).success();
    let create = ["token", "create", "--role", "admin", "--owner", "me"];
    let distrust = ["trust", "--revoke", "rack7", "--reason", "envy"];
    for args in [&create[..], &["token", "list"], &["token", "revoke", "1"], &distrust] {
        for token in [&viewer, &submitter, &worker] {
            guarded.client(token, args).refusal(6, &["needs that of an admin"]);
        }
    }
    let _worker = guarded.start_worker(&worker);
    let total = guarded.client(&viewer, &["watch", "1"]).success();
    assert_eq!(total, format!("{}\n", vectors::total(10)));
}

#[test]
fn the_sessions_and_watches_of_a_credential_end_with_it() {
    let guarded = Guarded::new();
    let (token, _) = guarded.create("worker", "rack7");
    let mut worker = guarded.start_worker(&token);
    worker.wait_for_line("the coordinator welcomes this worker");
    guarded.client("admin", &["submit", "18"]).success();
    let viewer = guarded.create("viewer", "guest").0;
    let args = ["watch", "1", "--json", "--coordinator", &guarded.farm.url(), "--token-file"];
    let mut watch = queens(&args);
    watch.arg(guarded.scratch.path(&viewer));
    let mut watch = Process::start(&mut watch, guarded.farm.new_log());
    watch.wait_for_line("\"job\":1");

    let listed = guarded.client("admin", &["token", "list"]).success();
    assert!(listed.contains("rack7") && listed.contains("for ever"), "{listed}");
    let revoke = |id| guarded.client("admin", &["token", "revoke", id]);
    // When the worker's file has another secret by then, the worker comes back with it.
    guarded.create("worker", "rack7");
    revoke("1").success();
    worker.wait_for_line("its file has changed since");
    let is_back = || worker.said().matches("welcomes this worker").count() == 2;
    wait_until("the worker to come back", is_back);

    revoke("2").success();
    revoke("3").success();
    for mut ended in [worker, watch] {
        assert_eq!(ended.wait().code(), Some(6));
        assert!(ended.said().contains("revoked"), "{}", ended.said());
    }
    revoke("9").refusal(4, &["no token 9"]);
    assert!(guarded.client("admin", &["token", "list"]).success().contains("revoked"));

    // This credential expires.
    let runtime = Runtime::new().expect("it starts");
    let admin = fs::read_to_string(guarded.scratch.path("admin")).expect("it is there");
    let secret = runtime.block_on(async {
        let mut client = ClientServiceClient::new(connect(&guarded.farm).await);
        let (role, owner) = ("worker".into(), "brief".into());
        let mut request = Request::new(v1::CreateTokenRequest { role, owner, lifetime_s: Some(2) });
        let bearer = MetadataValue::try_from(format!("Bearer {}", admin.trim()));
        request.metadata_mut().insert("authorization", bearer.expect("it is text"));
        client.create_token(request).await.expect("it is an admin's").into_inner().secret
    });
    guarded.write("brief", &secret);
    let mut worker = guarded.start_worker("brief");
    assert_eq!(worker.wait().code(), Some(6));
    assert!(worker.said().contains("has expired"), "{}", worker.said());
}

#[test]
fn an_operator_decides_whom_to_trust() {
    let guarded = Guarded::new();
    let (token, _) = guarded.create("worker", "rack7");
    let mut worker = guarded.start_worker(&token);
    guarded.client("admin", &["submit", "10", "--wait"]).success();
    let workers = guarded.client("admin", &["workers", "--json"]).success();
    let known: serde_json::Value = serde_json::from_str(&workers).expect("it is JSON");
    let machine = format!("rack7/{}", known["machine"].as_str().expect("it is text"));

    let decide = |args: &[&str], said: &str| {
        let args = [&["trust"], args, &["--reason", "a trial"]].concat();
        let answer = guarded.client("admin", &args).success();
        assert!(answer.contains(said), "{answer}");
    };
    decide(&["--revoke", &machine], "distrusted");

    assert_eq!(worker.wait().code(), Some(14));
    assert_eq!(guarded.job()["state"], "running", "nobody else has confirmed its counts");
    let listed = guarded.client("admin", &["workers"]).success();
    assert!(listed.contains(&format!("distrusted: {machine}")), "{listed}");
    let options = format!("--machine {}", known["machine"].as_str().expect("it is text"));
    let file = guarded.scratch.path(&token).display().to_string();
    let again = || guarded.farm.start_worker_with(&format!("{options} --token-file {file}"));
    assert_eq!(again().wait().code(), Some(14));

    // A reinstatement names the decisions that still stand.
    decide(&["--revoke", "rack7"], "distrusted");
    decide(&[&machine], "what was decided about rack7 still stands");
    decide(&["--revoke", &machine], "distrusted");
    decide(&["rack7"], &format!("what was decided about {machine} still stands"));
    decide(&[&machine, "--json"], "\"trusted\":true,\"still_distrusted\":[]");
    let _worker = again();
    let total = guarded.client("admin", &["watch", "1"]).success();
    assert_eq!(total, format!("{}\n", vectors::total(10)));
    guarded.client("admin", &["trust", "a/b c", "--reason", "none"]).usage("OWNER/MACHINE");
}

#[test]
fn a_trusted_worker_decides_between_two_owners() {
    // Given an honest owner that has counted a job and confirms nothing of it itself, and a second
    // owner whose two machines report that no task has a solution
    let guarded = Guarded::with("--lease-ms 20 --lease-ttl-ms 2000");
    let [honest, liar] = ["rack7", "mallory"].map(|owner| guarded.create("worker", owner).0);
    let args = ["submit", "10", "--method", "rows", "--rows", "3", "--certified"];
    guarded.client("admin", &args).success();
    let [mut worker, mut second] = [(); 2].map(|()| guarded.start_worker(&honest));
    second.wait_for_line("welcomes this worker");
    wait_until("all of it is counted once", || guarded.job()["percent"] == 100.0);
    std::thread::sleep(SHORT);
    let job = guarded.job();
    assert_eq!((&job["state"], &job["audits_agreed"]), (&"running".into(), &0.into()));
    assert_eq!(job["audit_across"], "owners", "nobody has asked otherwise");
    second.stop();
    let _liars = ["m1", "m2"].map(|name| {
        let token_file = Some(guarded.scratch.path(&liar));
        Liar::start(Endpoint::new(&guarded.farm.url(), token_file), name, |_, _| 0)
    });

    // Then the job waits, nobody is distrusted, and its status says whom it waits for.
    wait_until("a dispute", || guarded.job()["disputed"].is_string());
    let disputed = guarded.client("admin", &["jobs", "1"]).success();
    for asked in ["rack7/", "mallory/m", "a worker of another owner", "--role worker --trusted"] {
        assert!(disputed.contains(asked), "{asked}: {disputed}");
    }
    let listed = || guarded.client("admin", &["workers"]).success();
    assert!(!listed().contains("distrusted"), "{}", listed());

    // When the operator lets a trusted machine decide
    let create = ["token", "create", "--role", "worker", "--trusted", "--owner", "admin"];
    let secret = guarded.client("admin", &create).success();
    guarded.write("judge", &secret);
    let tokens = guarded.client("admin", &["token", "list"]).success();
    assert!(tokens.contains("trusted worker"), "{tokens}");
    let wrong = ["token", "create", "--role", "viewer", "--trusted", "--owner", "admin"];
    guarded.client("admin", &wrong).usage("--trusted is for --role worker");
    let _judge = guarded.start_worker("judge");

    // Then the honest owner stays trusted.
    let total = guarded.client("admin", &["watch", "1"]).success();
    assert_eq!(total, format!("{}\n", vectors::total(10)));
    assert!(listed().contains("distrusted: mallory"), "{}", listed());
    assert!(worker.is_running(), "{}", worker.said());
}
