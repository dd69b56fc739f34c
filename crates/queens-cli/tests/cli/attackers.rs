//! Tests of strangers against a real coordinator: what they may do, report, claim and write to a
//! terminal.

use std::fs;
use std::time::Duration;

use ledger::Role;
use service::api::{MadeToken, NewToken};
use service::wire::v1;
use service::wire::v1::work_request::Message;
use service::wire::v1::work_response;
use service::{Endpoint, Method};
use tokio::runtime::Runtime;
use tonic::Code;

use crate::access::{client, connect, hello, in_time, report, session, work};
use crate::object;
use crate::support::Farm;
use crate::support::guarded::Guarded;
use crate::support::liar::Liar;
use crate::support::process::{PATIENCE, Process, queens, run, wait_until};

const SHORT: Duration = Duration::from_secs(1);

/// Texts that clear the screen, set the title of a window, and forge a line of a log.
const HARMFUL: [&str; 3] =
    ["\u{1b}[2J\u{1b}]0;owned\u{7}", "a\n2026-01-01T00:00:00Z  INFO job ended", "\u{9b}31m"];

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
async fn a_lease_is_reported_by_its_owner_with_its_token_and_by_nobody_else() {
    let guarded = Guarded::new();
    let [holder, thief] = ["rack7", "rack8"].map(|owner| guarded.create("worker", owner).1);
    guarded.client("admin", &["submit", "10", "--method", "rows", "--rows", "3"]).success();
    let channel = connect(&guarded.farm).await;
    let idle = vec![Message::Hello(v1::Hello { credit: 1, ..hello() })];
    let lease = zero(&first_lease(&session(&channel, Some(&holder), idle, SHORT).await.0));

    let reported = |report| {
        let idle = v1::Hello { credit: 0, instance: 2, ..hello() };
        vec![Message::Hello(idle), Message::Report(report)]
    };
    let mut made_up = lease.token.clone();
    *made_up.last_mut().expect("it has a signature") ^= 1;
    for (secret, report) in [
        (&thief, lease.clone()),
        (&holder, v1::Report { token: made_up, ..lease.clone() }),
        // The tokens of other programs have another form.
        (&holder, v1::Report { token: vec![7; 33], ..lease.clone() }),
        (&holder, v1::Report { job: 2, ..lease.clone() }),
        (&holder, v1::Report { fingerprint: vec![7; 32], ..lease.clone() }),
    ] {
        let (_, end) = session(&channel, Some(secret), reported(report), PATIENCE).await;
        assert_eq!(end.map(|status| status.code()), Some(Code::Aborted));
    }
    assert!(guarded.farm.snapshot().jobs[&1].rows.is_empty());

    // The owner of the lease may still report it, in any session.
    let (reported, end) = session(&channel, Some(&holder), reported(lease), SHORT).await;
    let acked = |message: &work_response::Message| match message {
        work_response::Message::Ack(ack) => Some(ack.verdict.clone()),
        _ => None,
    };
    assert!(end.is_none(), "{end:?}");
    assert_eq!(reported.iter().find_map(acked), Some("accepted".into()));
}

/// The tests of the API show what each role may do.
#[test]
fn a_role_that_does_not_suffice_leaves_nothing_behind_and_a_copy_has_no_secrets() {
    let guarded = Guarded::new();
    let (viewer, _) = guarded.create("viewer", "guest");
    let (worker, _) = guarded.create("worker", "rack7");
    guarded.client("admin", &["submit", "10"]).success();
    let args = ["worker", "--log", "error", "--threads", "1"];
    guarded.client(&viewer, &args).refusal(6, &["a viewer's", "needs that of a worker"]);
    let [bundle, copy] = ["bundle", "copy.db"].map(|name| guarded.scratch.path(name));
    let export = ["export", "1", bundle.to_str().expect("text")];
    let backup = ["backup", copy.to_str().expect("text")];
    guarded.client(&worker, &export).refusal(6, &["a worker's", "a viewer or a submitter"]);
    guarded.client(&viewer, &backup).refusal(6, &["needs that of an admin"]);
    assert!(!bundle.exists() && !copy.exists());

    guarded.client(&viewer, &export).success();
    guarded.client("admin", &backup).success();
    let copy = fs::read(&copy).expect("it is there");
    for secret in [guarded.farm.key("leases"), guarded.scratch.path("admin")] {
        let secret = fs::read(secret).expect("it is there");
        assert!(!copy.windows(secret.len()).any(|bytes| bytes == secret), "it has no secrets");
    }
    let _worker = guarded.start_worker(&worker);
    guarded.client(&viewer, &["watch", "1"]).total(10);
}

#[test]
fn the_sessions_and_watches_of_a_credential_end_with_it() {
    let guarded = Guarded::new();
    let (token, _) = guarded.create("worker", "rack7");
    // This job is not counted, so that its watch goes on.
    guarded.client("admin", &["submit", "8"]).success();
    guarded.client("admin", &["pause", "1"]).success();
    let mut worker = guarded.start_worker(&token);
    worker.wait_for_line("the coordinator welcomes this worker");
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

    // The log names who made and revoked a credential.
    let (ann, _) = guarded.create("admin", "ann");
    let create = ["token", "create", "--role", "worker", "--owner", "lab"];
    guarded.client(&ann, &create).success();
    guarded.client(&ann, &["token", "revoke", "5"]).success();
    let said = guarded.coordinator.said();
    for event in ["token created", "token revoked"] {
        let line = said.lines().rfind(|line| line.contains(event)).expect("it is logged");
        assert!(line.contains("lab") && line.contains("by=\"ann\""), "{line}");
    }

    // This credential expires.
    let brief = NewToken { role: Role::Worker, owner: "brief".into(), lifetime_s: Some(2) };
    let made: MadeToken = Runtime::new().expect("it starts").block_on(async {
        let mut admin = client(&guarded.farm, Some(guarded.scratch.path("admin"))).await;
        let made = in_time(admin.ask(Method::POST, "/tokens", Some(&brief))).await;
        made.expect("it is an admin's")
    });
    guarded.write("brief", &made.secret);
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
    let known = object(&guarded.client("admin", &["workers", "--json"]).success());
    let machine = format!("rack7/{}", known["machine"].as_str().expect("it is text"));

    let decide = |args: &[&str], said: &str| {
        let args = [&["trust"], args, &["--reason", "a trial"]].concat();
        let answer = guarded.client("admin", &args).success();
        assert!(answer.contains(said), "{answer}");
    };
    decide(&["--revoke", &machine], "distrusted");

    assert_eq!(worker.wait().code(), Some(14));
    let job = guarded.job();
    assert_eq!((&job["state"], &job["workers"]), (&"running".into(), &0.into()));
    assert!(job["waits_for"].is_string(), "nobody else has confirmed its counts: {job}");
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
    guarded.client("admin", &["watch", "1"]).total(10);
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
    wait_until("all of it is counted once", || {
        let job = guarded.job();
        job["tasks_done"] == job["tasks"]
    });
    std::thread::sleep(SHORT);
    let job = guarded.job();
    assert!(job["waits_for"].is_string(), "it waits for another owner: {job}");
    assert_eq!((&job["state"], &job["audits_agreed"]), (&"running".into(), &0.into()));
    assert_eq!(job["audit"]["across"], "owners", "nobody has asked otherwise");
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
    guarded.client("admin", &["watch", "1"]).total(10);
    assert!(listed().contains("distrusted: mallory"), "{}", listed());
    assert!(worker.is_running(), "{}", worker.said());
}

#[tokio::test]
async fn a_worker_cannot_write_to_the_terminal_of_the_coordinator() {
    let farm = Farm::new("", "");
    let coordinator = farm.start_coordinator();
    farm.submit(12, 2, 0);
    let channel = connect(&farm).await;

    for text in HARMFUL {
        let named = Message::Hello(v1::Hello { worker: text.into(), ..hello() });
        let refused = work(&channel, vec![named]).await.expect_err("no worker is called so");
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
        assert!(refused.message().contains("visible ASCII"), "{refused}");

        let report = v1::Report { kernel: text.into(), ..report() };
        let messages = vec![Message::Hello(hello()), Message::Report(report)];
        let refused = work(&channel, messages).await.expect_err("no kernel is called so");
        assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
        assert!(refused.message().contains("which this program does not have"), "{refused}");
    }

    let said = coordinator.said();
    let is_harmless = |c: char| c == '\n' || !c.is_control();
    assert!(said.chars().all(is_harmless), "{said:?}");
    assert!(!said.lines().any(|line| line.starts_with("2026-01-01T00:00:00Z")), "{said}");
    assert!(said.contains("it sent what it must not"), "{said}");
}

#[test]
fn a_worker_with_an_invalid_name_does_not_start() {
    for name in ["", "rack 7", "Zoë", "a\nb"] {
        run(&mut queens(&["worker", "--name", name])).usage("visible ASCII characters");
    }
}
