//! Tests of strangers with a credential against a real coordinator: what they may do, report and
//! claim.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use board::PlanIndex;
use count::{Backend, Kernel};
use serde_json::Value;
use service::Endpoint;

use tokio::runtime::Runtime;
use tonic::metadata::MetadataValue;
use tonic::{Code, Request, Status};
use wire::v1;
use wire::v1::client_service_client::ClientServiceClient;
use wire::v1::farm_service_client::FarmServiceClient;
use wire::v1::work_request::Message;
use wire::v1::work_response;

use crate::access::{connect, hello, in_time, report, talk, token};
use crate::support::Farm;
use crate::support::guarded::Guarded;
use crate::support::liar::Liar;
use crate::support::process::wait_until;

/// Runs one session with a secret: it sends `messages`, and then listens until the session ends.
/// Returns the messages that arrived.
pub(crate) async fn session(
    farm: &Farm,
    secret: Option<&str>,
    messages: Vec<Message>,
    listen: Duration,
) -> (Vec<work_response::Message>, Option<Status>) {
    let mut client = FarmServiceClient::new(connect(farm).await);
    let mut request = Request::new(talk(messages));
    if let Some(secret) = secret {
        let bearer = MetadataValue::try_from(format!("Bearer {secret}")).expect("it is text");
        request.metadata_mut().insert("authorization", bearer);
    }
    let mut reported = Vec::new();
    let mut answers = match in_time(client.work(request)).await {
        Ok(answers) => answers.into_inner(),
        Err(status) => return (reported, Some(status)),
    };
    loop {
        match tokio::time::timeout(listen, answers.message()).await {
            Ok(Ok(Some(v1::WorkResponse { message }))) => reported.extend(message),
            Ok(Ok(None)) | Err(_) => return (reported, None),
            Ok(Err(status)) => return (reported, Some(status)),
        }
    }
}

pub(crate) const LONG: Duration = Duration::from_secs(20);
pub(crate) const SHORT: Duration = Duration::from_millis(500);

pub(crate) fn first_lease(reported: &[work_response::Message]) -> v1::Lease {
    let lease = |message: &work_response::Message| match message {
        work_response::Message::Lease(lease) => Some(lease.clone()),
        _ => None,
    };
    reported.iter().find_map(lease).expect("something was leased")
}

/// A report of the whole lease, in which no task has a solution.
pub(crate) fn zero(lease: &v1::Lease) -> v1::Report {
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

#[test]
fn a_session_that_was_leased_nothing_cannot_end_a_job() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let job = farm.submit(10, 3, 0);
    let text = farm.client(&["jobs", "1", "--json"]).success();
    let status: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let fingerprint = status["fingerprint"].as_str().expect("it is text");
    let fingerprint = blake3::Hash::from_hex(fingerprint).expect("it is hexadecimal");
    let fingerprint = fingerprint.as_bytes().to_vec();
    let all = v1::OrdinalRange { start: 0, end: status["tasks"].as_u64().expect("a number") };
    let made_up = farm::LeaseToken {
        range: farm::Range::new(all.start, all.end).expect("it has tasks"),
        kind: farm::LeaseKind::Count,
        mac: [42; 16],
    };
    let token = made_up.to_bytes().to_vec();
    let lie = v1::Report { job, fingerprint, range: Some(all), token, ..report() };

    let idle = v1::Hello { credit: 0, ..hello() };
    let messages =
        vec![Message::Hello(idle), Message::Report(v1::Report { count: 42, residue: 42, ..lie })];
    let (_, end) =
        Runtime::new().expect("it starts").block_on(session(&farm, None, messages, LONG));

    assert_eq!(end.map(|status| status.code()), Some(Code::Aborted));
    let _worker = farm.start_worker();
    let total = farm.client(&["watch", "1"]).success();
    assert_eq!(total, format!("{}\n", vectors::total(10)));
}

#[test]
fn task_counts_are_kept_only_if_wanted_and_if_they_add_up() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    farm.client(&["submit", "10", "--method", "halves"]).success();
    let runtime = Runtime::new().expect("it starts");
    let say = |instance, messages: Vec<Message>| {
        let hello = v1::Hello { credit: 1, instance, memory: 1 << 30, ..hello() };
        let messages = [Message::Hello(hello)].into_iter().chain(messages).collect();
        runtime.block_on(session(&farm, None, messages, SHORT))
    };
    let report = zero(&first_lease(&say(1, Vec::new()).0));
    let tasks = |report: &v1::Report| {
        let range = report.range.expect("it is there");
        (range.end - range.start) as usize
    };
    for lie in [vec![1; tasks(&report)], vec![0; tasks(&report) + 1]] {
        let lie = v1::Report { task_counts: lie, ..report.clone() };
        let (reported, end) = say(2, vec![Message::Report(lie)]);
        let end = end.expect("it is sent away");
        assert_eq!(end.code(), Code::InvalidArgument, "{reported:?}");
        assert!(end.message().contains("with the counts of its tasks"), "{end}");
    }
    assert!(farm.snapshot().jobs[&1].rows.is_empty());

    let kept = || -> i64 {
        let db = rusqlite::Connection::open(farm.ledger()).expect("it is there");
        let query = "SELECT count(*) FROM ranges WHERE task_counts NOT NULL";
        db.query_row(query, [], |row| row.get(0)).expect("it is a number")
    };
    let honest = v1::Report { task_counts: vec![0; tasks(&report)], ..report };
    say(3, vec![Message::Report(honest)]);
    wait_until("the count to be durable", || kept() == 1);
    farm.client(&["cancel", "1"]).success();

    // The task counts of a plan of many short tasks are not kept, even if a worker reports them.
    farm.submit(10, 3, 0);
    let report = zero(&first_lease(&say(4, Vec::new()).0));
    let reported = v1::Report { task_counts: vec![0; tasks(&report)], ..report };
    say(5, vec![Message::Report(reported)]);
    wait_until("the count to be durable", || !farm.snapshot().jobs[&2].rows.is_empty());
    assert_eq!(kept(), 1);
}

#[test]
fn a_hello_with_foreign_leases_is_refused_without_delay() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let job = farm.submit(10, 3, 0);
    let holding = v1::Holding {
        lease: 1,
        job,
        fingerprint: vec![0; 32],
        range: Some(v1::OrdinalRange { start: 0, end: 1 }),
        token: token(),
    };
    let greedy = v1::Hello { credit: u64::MAX, holding: vec![holding], ..hello() };

    let runtime = Runtime::new().expect("it starts");
    let (reported, end) =
        runtime.block_on(session(&farm, None, vec![Message::Hello(greedy)], LONG));

    assert_eq!(end.map(|status| status.code()), Some(Code::Aborted));
    assert!(reported.iter().all(|message| !matches!(message, work_response::Message::Lease(_))));
    let _worker = farm.start_worker();
    farm.client(&["watch", "1"]).success();
}

#[test]
fn a_token_is_of_no_use_to_another_owner() {
    let guarded = Guarded::new();
    let ((_, holder), (_, thief)) =
        (guarded.create("worker", "rack7"), guarded.create("worker", "rack8"));
    guarded.client("admin", &["submit", "10", "--method", "rows", "--rows", "3"]).success();
    let runtime = Runtime::new().expect("it starts");
    let say = |secret: &str, messages, listen| {
        runtime.block_on(session(&guarded.farm, Some(secret), messages, listen))
    };
    let idle = v1::Hello { credit: 1, ..hello() };
    let (reported, _) = say(&holder, vec![Message::Hello(idle)], SHORT);
    let lease = first_lease(&reported);

    let idle = v1::Hello { credit: 0, instance: 2, ..hello() };
    let stolen = vec![Message::Hello(idle.clone()), Message::Report(zero(&lease))];
    let (_, end) = say(&thief, stolen.clone(), LONG);
    assert_eq!(end.map(|status| status.code()), Some(Code::Aborted));

    // The owner of the lease may still report it, in any session.
    let (reported, end) = say(&holder, stolen, SHORT);
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
    guarded.client(&submitter, &["submit", "10"]).success();

    for token in [&viewer, &submitter] {
        guarded.client(token, &["jobs"]).success();
        guarded.client(token, &["workers"]).success();
        let args = ["worker", "--log", "error", "--threads", "1"];
        guarded.client(token, &args).refusal(6, &["needs that of a worker"]);
    }
    let changes = [&["cancel", "1"][..], &["pause", "1"], &["priority", "1", "5"], &["audit", "1"]];
    for args in changes.into_iter().chain([&["submit", "8"][..]]) {
        guarded.client(&viewer, args).refusal(6, &["a viewer's", "needs that of a submitter"]);
        guarded.client(&worker, args).refusal(6, &["a worker's", "needs that of a submitter"]);
    }
    guarded.client(&submitter, &["priority", "1", "11"]).refusal(6, &["is for admins only"]);
    for args in ["jobs", "workers"] {
        guarded.client(&worker, &[args]).refusal(6, &["a viewer or a submitter"]);
    }
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
fn the_sessions_of_a_credential_end_with_it() {
    let guarded = Guarded::new();
    let (token, _) = guarded.create("worker", "rack7");
    let mut worker = guarded.start_worker(&token);
    worker.wait_for_line("the coordinator welcomes this worker");

    let listed = guarded.client("admin", &["token", "list"]).success();
    assert!(listed.contains("rack7") && listed.contains("for ever"), "{listed}");
    guarded.client("admin", &["token", "revoke", "1"]).success();
    assert_eq!(worker.wait().code(), Some(6));
    assert!(worker.said().contains("revoked"), "{}", worker.said());
    guarded.client("admin", &["token", "revoke", "9"]).refusal(4, &["no token 9"]);
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
fn a_worker_reads_its_secret_again_from_its_file() {
    let guarded = Guarded::new();
    let [(token, first), (_, next)] = [(); 2].map(|()| guarded.create("worker", "rack7"));
    guarded.write(&token, &first);
    let mut worker = guarded.start_worker(&token);
    worker.wait_for_line("the coordinator welcomes this worker");
    guarded.write(&token, &next);

    guarded.client("admin", &["token", "revoke", "1"]).success();

    worker.wait_for_line("its file has changed since");
    let total = guarded.client("admin", &["submit", "11", "--wait"]).success();
    assert_eq!(total, format!("{}\n", vectors::total(11)));
    guarded.client("admin", &["token", "revoke", "2"]).success();
    assert_eq!(worker.wait().code(), Some(6));
}

#[test]
fn the_watches_of_a_credential_end_with_it() {
    let guarded = Guarded::new();
    guarded.client("admin", &["submit", "10"]).success();
    let (_, secret) = guarded.create("viewer", "rack7");
    Runtime::new().expect("it starts").block_on(async {
        let mut jobs = ClientServiceClient::new(connect(&guarded.farm).await);
        let mut request = Request::new(v1::JobRequest { job: 1 });
        let bearer = MetadataValue::try_from(format!("Bearer {secret}")).expect("it is text");
        request.metadata_mut().insert("authorization", bearer);
        let mut watch = in_time(jobs.watch(request)).await.expect("it may look").into_inner();
        in_time(watch.message()).await.expect("it runs").expect("it is shown");

        guarded.client("admin", &["token", "revoke", "1"]).success();

        let end = in_time(watch.message()).await.expect_err("it may look no more");
        assert_eq!(end.code(), Code::Unauthenticated, "{end}");
    });
}

#[test]
fn across_owners_the_machines_of_one_owner_confirm_nothing() {
    let guarded = Guarded::new();
    let ((one, _), (two, _)) =
        (guarded.create("worker", "rack7"), guarded.create("worker", "rack8"));
    guarded.client("admin", &["submit", "11", "--certified", "--across", "owners"]).success();
    let _own = [guarded.start_worker(&one), guarded.start_worker(&one)];
    wait_until("all of it is counted once", || guarded.job()["percent"] == 100.0);
    std::thread::sleep(Duration::from_millis(500));
    let job = guarded.job();
    assert_eq!((&job["state"], &job["audits_agreed"]), (&"running".into(), &0.into()));

    let _other = guarded.start_worker(&two);
    let total = guarded.client("admin", &["watch", "1"]).success();
    assert_eq!(total, format!("{}\n", vectors::total(11)));
    assert_eq!(guarded.job()["audit_across"], "owners");
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

    let args = ["trust", "--revoke", &machine, "--reason", "its fan is broken"];
    assert!(guarded.client("admin", &args).success().contains("distrusted"));

    assert_eq!(worker.wait().code(), Some(14));
    assert_eq!(guarded.job()["state"], "running", "nobody else has confirmed its counts");
    let listed = guarded.client("admin", &["workers"]).success();
    assert!(listed.contains(&format!("distrusted: {machine}")), "{listed}");
    let options = format!("--machine {}", known["machine"].as_str().expect("it is text"));
    let file = guarded.scratch.path(&token).display().to_string();
    let again = || guarded.farm.start_worker_with(&format!("{options} --token-file {file}"));
    assert_eq!(again().wait().code(), Some(14));

    let args = ["trust", &machine, "--reason", "it has a new fan", "--json"];
    let json = guarded.client("admin", &args).success();
    assert!(json.contains("\"trusted\":true,\"still_distrusted\":[]"), "{json}");
    let _worker = again();
    let total = guarded.client("admin", &["watch", "1"]).success();
    assert_eq!(total, format!("{}\n", vectors::total(10)));
    guarded.client("admin", &["trust", "a/b c", "--reason", "none"]).usage("OWNER/MACHINE");
}

#[test]
fn two_invented_machines_cannot_dispute_a_done_job() {
    // Given two machines that a stranger has invented. Each was leased all tasks of a job
    let guarded = Guarded::with("--lease-ms 200 --lease-ttl-ms 400");
    let (_, secret) = guarded.create("worker", "mallory");
    let honest = guarded.create("worker", "rack7").0;
    guarded.client("admin", &["submit", "8", "--rows", "1"]).success();
    let runtime = Runtime::new().expect("it starts");
    let talk = |machine: &str, credit, report: Option<v1::Report>| {
        let name = v1::Hello { machine: machine.into(), worker: machine.into(), ..hello() };
        let mut messages = vec![Message::Hello(v1::Hello { credit, ..name })];
        messages.extend(report.map(Message::Report));
        runtime.block_on(session(&guarded.farm, Some(&secret), messages, SHORT)).0
    };
    let lies = ["m1", "m2"].map(|machine| (machine, zero(&first_lease(&talk(machine, 100, None)))));
    assert_eq!(lies[0].1.range, lies[1].1.range);

    // When both contradict the count after the job is done
    let _worker = guarded.start_worker(&honest);
    let watched = || guarded.client("admin", &["watch", "1"]).success();
    let total = format!("{}\n", vectors::total(8));
    assert_eq!(watched(), total);
    for (machine, lie) in lies {
        let reported = talk(machine, 0, Some(lie));
        let verdict = reported.iter().find_map(|message| match message {
            work_response::Message::Ack(ack) => Some(ack.verdict.clone()),
            _ => None,
        });
        assert_eq!(verdict, Some("superseded".into()), "{reported:?}");
    }

    // Then nothing has changed, and nobody is distrusted.
    assert_eq!((&guarded.job()["state"], watched()), (&"done".into(), total));
    assert_eq!(guarded.job()["disputes"], 0);
    let workers = guarded.client("admin", &["workers"]).success();
    assert!(workers.contains(" rack7 ") && !workers.contains("distrusted"), "{workers}");
}

/// The count of each task of a plan.
fn counts(plan: &farm::Plan) -> Vec<u64> {
    let index = PlanIndex::new(plan.problem, plan.method).expect("it is a plan");
    let kernel = Kernel::new(Backend::Reference, plan.problem.n(), plan.method);
    let mut counts = Vec::new();
    let counted = kernel.expect("there is such a kernel").count_each_of_range(
        &index,
        0..index.len(),
        |count| counts.push(count),
    );
    counted.expect("the tasks are right");
    counts
}

/// A machine that reports 8 too many for each task of a recount.
fn liar_in_recounts(guarded: &Guarded, token: &str, name: &str) -> Liar {
    let token_file = Some(guarded.scratch.path(token));
    let endpoint = Endpoint::new(&guarded.farm.url(), token_file);
    let mut known = HashMap::new();
    Liar::start(endpoint, name, move |lease, task| {
        let counts = known.entry(lease.fingerprint).or_insert_with(|| counts(&lease.plan));
        counts[task as usize] + if lease.recount.is_some() { 8 } else { 0 }
    })
}

#[test]
fn invented_machines_of_one_owner_change_nothing_of_others() {
    // Given a certified job of the administrator, counted by three honest owners
    let guarded = Guarded::with("--lease-ms 20 --lease-ttl-ms 2000");
    let honest = ["rack7", "rack8", "rack9"].map(|owner| guarded.create("worker", owner).0);
    let workers = honest.each_ref().map(|token| guarded.start_worker(token));
    let submit = |token: &str, n: &str, options: &[&str]| {
        let args = ["submit", n, "--method", "rows", "--rows", "3", "--certified"];
        guarded.client(token, &[&args, options].concat()).success()
    };
    assert_eq!(submit("admin", "11", &["--wait"]), format!("{}\n", vectors::total(11)));
    assert_eq!(guarded.job()["audit_across"], "owners", "nobody has asked otherwise");

    let listed = || -> Vec<Value> {
        let text = guarded.client("admin", &["workers", "--json"]).success();
        text.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect()
    };

    // When one owner with credentials of both roles orders audits between machines, and its 30
    // invented machines report 8 too many for each task of a recount
    let (submitter, _) = guarded.create("submitter", "mallory");
    let (token, _) = guarded.create("worker", "mallory");
    let liars: Vec<Liar> =
        (0..30).map(|number| liar_in_recounts(&guarded, &token, &format!("m{number}"))).collect();
    wait_until("all to be there", || listed().len() == 33);
    let first = submit(&submitter, "12", &["--across", "machines"]);
    wait_until("counts to be disputed", || guarded.farm.snapshot().disputes >= 5);
    let during = submit("admin", "10", &["--wait"]);

    // Then no honest machine is distrusted, the done job stays done, and another job that is
    // submitted meanwhile has its total.
    assert_eq!(during, format!("{}\n", vectors::total(10)));
    for mut worker in workers {
        assert!(worker.is_running(), "{}", worker.said());
    }
    let distrusted = || -> Vec<String> {
        let owner = |line: &Value| line["distrusted"].as_str().map(String::from);
        listed().iter().filter_map(owner).collect()
    };
    wait_until("a liar to be found out", || !distrusted().is_empty());
    let distrusted = distrusted();
    assert!(distrusted.iter().all(|owner| owner == "mallory"), "{distrusted:?}");
    let job = guarded.job();
    assert_eq!((&job["state"], &job["audits_wanted"]), (&"done".into(), &0.into()));
    let db = rusqlite::Connection::open(guarded.farm.ledger()).expect("it is there");
    let changes = "SELECT count(*) FROM changes WHERE job = 1 AND state = 'done'";
    let changes: i64 = db.query_row(changes, [], |row| row.get(0)).expect("it is a number");
    assert_eq!(changes, 1, "it was done, once and for all");
    drop(liars);
    guarded.client("admin", &["cancel", first.trim()]);
}

#[test]
fn a_trusted_worker_decides_between_two_owners() {
    // Given an honest owner that has counted a job, and a second owner that contradicts it with two
    // machines
    let guarded = Guarded::with("--lease-ms 20 --lease-ttl-ms 2000");
    let [honest, liar] = ["rack7", "mallory"].map(|owner| guarded.create("worker", owner).0);
    let args = ["submit", "10", "--method", "rows", "--rows", "3", "--certified"];
    guarded.client("admin", &args).success();
    let mut worker = guarded.start_worker(&honest);
    wait_until("all of it is counted once", || guarded.job()["percent"] == 100.0);
    let _liars = ["m1", "m2"].map(|name| liar_in_recounts(&guarded, &liar, name));

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

#[test]
fn a_reinstatement_names_the_decisions_that_still_stand() {
    let guarded = Guarded::new();
    let decide = |args: &[&str]| {
        guarded.client("admin", &[args, &["--reason", "a trial"]].concat()).success()
    };
    decide(&["trust", "--revoke", "rack7/node1"]);
    decide(&["trust", "--revoke", "rack8/node1"]);
    decide(&["trust", "--revoke", "rack7"]);

    let machine = decide(&["trust", "rack7/node1"]);
    assert!(machine.contains("what was decided about rack7 still stands"), "{machine}");
    decide(&["trust", "--revoke", "rack7/node1"]);
    let owner = decide(&["trust", "rack7"]);
    assert!(owner.contains("what was decided about rack7/node1 still stands"), "{owner}");
    let last = decide(&["trust", "rack7/node1"]);
    assert!(last.contains("rack7/node1 is trusted again"), "{last}");
}
