//! Tests of peers that are absent, have another version, or are broken.

use std::convert::Infallible;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response as AnyResponse};
use board::PlanIndex;
use farm::{LeaseId, Method, Plan, Problem, TasksBlock};
use service::wire::v1;
use service::wire::v1::farm_service_server::FarmService;
use service::wire::v1::work_response::Message;
use tokio::runtime::Runtime;
use tokio_stream::StreamExt;
use tonic::{Request, Response, Status, Streaming};

use crate::support::fake_farm::{Answers, serve};
use crate::support::process::{Outcome, queens, run};
use crate::support::{Farm, at_once};

#[test]
fn clients_wait_for_a_coordinator_that_is_just_being_started() {
    const LATE: Duration = Duration::from_millis(700);
    let commands = ["jobs", "workers", "token list", "submit 8", "submit 8 --wait", "jobs --all"];
    at_once(commands, |command| {
        let farm = Farm::new("", "");
        let args: Vec<&str> = command.split(' ').collect();
        std::thread::scope(|scope| {
            let client = scope.spawn(|| farm.client(&args));
            std::thread::sleep(LATE);
            let _coordinator = farm.start_coordinator();
            let _worker = farm.start_worker();
            let outcome = client.join().expect("it does not panic");
            let says_so = outcome.stderr.contains("waiting for the coordinator at");
            assert_eq!(says_so, command.ends_with("--wait"), "{outcome:?}");
            outcome.success();
        });
    });
}

#[test]
fn a_client_waits_for_a_coordinator_that_reads_its_ledger_and_says_what_it_does() {
    // An answer as a coordinator gives it before its ledger is read.
    let (_early, url) = answering(|_| StatusCode::SERVICE_UNAVAILABLE.into_response());
    let refused = run(&mut queens(&["jobs", "--coordinator", &url]));
    refused.refusal(5, &["does not serve now: it reads its ledger"]);
}

/// Serves HTTP with these answers to paths of the API, as long as the runtime is there. Returns it
/// and the URL.
fn answering(
    answer: impl Fn(&str) -> AnyResponse + Clone + Send + Sync + 'static,
) -> (Runtime, String) {
    let runtime = Runtime::new().expect("threads can be started");
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    let routes = axum::Router::new().fallback(async move |uri: Uri| {
        answer(uri.path().strip_prefix("/api/v1").unwrap_or_default())
    });
    runtime.spawn(axum::serve(listener, routes).into_future());
    (runtime, url)
}

/// A hostile coordinator must not make a client take memory without a bound.
#[test]
fn a_client_takes_no_answer_that_has_no_end() {
    let farm = Farm::new("", "");
    let coordinator = farm.start_coordinator();
    farm.client(&["submit", "16"]).success();
    let job = farm.client(&["jobs", "--json"]).success();
    coordinator.stop();
    let endless = |status, piece: &'static [u8]| {
        let pieces = std::iter::repeat_with(move || Ok::<_, Infallible>(piece));
        (status, Body::from_stream(tokio_stream::iter(pieces))).into_response()
    };
    let pages = Arc::new(AtomicU64::new(0));
    let answers = move |is_circle: bool| {
        let (job, pages, long) = (job.clone(), pages.clone(), " ".repeat(60_000_000));
        move |path: &str| match path {
            "/openapi.json" => ().into_response(),
            "/workers" => endless(StatusCode::OK, &[b' '; 1 << 14]),
            "/tokens" => endless(StatusCode::CONFLICT, &[b' '; 1 << 14]),
            "/jobs/1" => job.clone().into_response(),
            "/jobs/1/events" => endless(StatusCode::OK, &[b':'; 1 << 14]),
            "/jobs" if is_circle => r#"{"jobs": [], "next": 7}"#.into_response(),
            "/jobs" => {
                let next = pages.fetch_add(1, Ordering::Relaxed);
                format!("{{\"jobs\": [], \"next\": {next}{long}}}").into_response()
            }
            _ => StatusCode::NOT_FOUND.into_response(),
        }
    };
    for (is_circle, command, reason) in [
        (false, "workers", "an answer has more than 67108864 bytes"),
        (false, "token list", "an answer has more than 67108864 bytes"),
        (false, "watch 1", "an event has no end"),
        (true, "jobs", "the page after job 7 follows itself"),
        (false, "jobs", "an answer has more than 2843"),
    ] {
        let (_runtime, url) = answering(answers(is_circle));
        let args: Vec<&str> = command.split(' ').chain(["--coordinator", &url]).collect();
        run(&mut queens(&args)).refusal(12, &[reason]);
    }
}

#[test]
fn workers_wait_for_a_coordinator() {
    let farm = Farm::new("", "");
    let [mut stopped, mut worker] = [farm.start_worker(), farm.start_worker()];
    [&mut stopped, &mut worker].into_iter().for_each(|it| it.wait_for_line("no coordinator"));
    stopped.stop();

    let _coordinator = farm.start_coordinator();

    let total = farm.client(&["submit", "10", "--wait"]).success();
    assert_eq!(total, format!("{}\n", testkit::vectors::total(10)));
}

#[test]
fn an_address_that_cannot_be_listened_on_is_refused() {
    let busy = TcpListener::bind("127.0.0.1:0").expect("some port is free");
    let busy = busy.local_addr().expect("it is bound").to_string();
    let farm = Farm::new("--tls", "");
    for (address, reason) in
        [(busy.as_str(), "the port is in use"), ("192.0.2.1:7410", ""), ("nowhere", "")]
    {
        let refused = run(&mut farm.coordinator_at(address));
        refused.refusal(11, &[address, reason, "--listen"]);
    }
    for name in ["", "-keys"] {
        let path = format!("{}{name}", farm.ledger().display());
        assert!(!Path::new(&path).exists(), "{path} is made for nothing");
    }
}

#[test]
fn a_worker_leaves_a_coordinator_with_which_it_cannot_work() {
    let protocol = "the worker speaks version 2 of the protocol, the coordinator version 3";
    let refused = |status: Status, code, way_out: &str| {
        worker_at(Err(status), &[]).refusal(code, &[way_out]);
    };
    refused(Status::failed_precondition(protocol), 12, protocol);
    refused(Status::unimplemented(""), 12, "refuses this worker");
    refused(Status::unauthenticated(""), 6, "--token-file");

    let mut other_tasks = lease();
    other_tasks.plan.as_mut().expect("it has one").fingerprint = vec![0; 32];
    let refused = worker_at(Ok(vec![Message::Lease(other_tasks)]), &[]);
    refused.refusal(12, &["fingerprint", "total N=8 by rows M=2", "enumerate tasks alike"]);
}

/// A wrong or malicious coordinator must not cause an internal fault in a worker.
#[test]
fn a_worker_leaves_a_coordinator_that_sends_impossible_tasks() {
    let colours = Plan { problem: Problem::Total { n: 8 }, method: Method::Colours, tasks: 42 };
    let torus =
        Plan { problem: Problem::Toroidal { n: 7 }, method: Method::Rows { rows: 2 }, tasks: 42 };
    let of = |plan: Plan| v1::Lease { plan: Some((&plan).into()), ..lease() };
    let again =
        |unlike: &str, by_reference| Some(v1::Recount { unlike: unlike.into(), by_reference });
    let masks = |down: u32| v1::Tasks { down: vec![down; 3], ..tasks() };
    let cases = [
        // The records are: no queens, queens beyond the board, too many queens.
        (lease(), tasks()),
        (lease(), masks(0b11 << 31)),
        (lease(), masks(0b111)),
        (lease(), v1::Tasks { left: vec![u32::MAX; 3], ..masks(0b11) }),
        (v1::Lease { recount: again("avx2", false), ..lease() }, masks(0b111)),
        // The records are splits: of too few rows, beyond the board, and with a diagonal.
        (of(colours), masks(0b111)),
        (of(colours), masks(0b1_0000_0111)),
        (v1::Lease { recount: again("avx2", true), ..of(colours) }, masks(0b111)),
        (of(colours), v1::Tasks { left: vec![1; 3], ..masks(0b1111) }),
        (of(torus), masks(0xfff)),
    ];
    let refused = |answer: Vec<Message>, words: &[&str]| {
        worker_at(Ok(answer), &["--credit", "10"]).refusal(12, words);
    };
    for (lease, tasks) in cases {
        let answer = vec![Message::Lease(lease), Message::Tasks(tasks)];
        refused(answer, &["tasks that its plan does not have", "another coordinator"]);
    }

    // The blocks of tasks are: out of order, longer than the lease, and with weights that no
    // symmetry gives.
    let late = v1::Tasks { start: 1, ..tasks() };
    refused(vec![Message::Lease(lease()), Message::Tasks(late)], &["[1, 4)", "[0, 3) was due"]);
    let too_many = v1::Tasks { left: vec![0; 4], ..tasks() };
    refused(vec![Message::Lease(lease()), Message::Tasks(too_many)], &["different lengths"]);
    let weightless = v1::Tasks { weight: vec![0; 3], ..masks(0b11) };
    refused(vec![Message::Lease(lease()), Message::Tasks(weightless)], &["`weight`"]);

    // The leases are: a range beyond the plan, and leases without an end.
    let beyond = v1::OrdinalRange { start: 40, end: 43 };
    let beyond = v1::Lease { range: Some(beyond), ..lease() };
    refused(vec![Message::Lease(beyond)], &["`range`", "[40, 43)"]);
    let leases: Vec<Message> =
        (1..100).map(|id| Message::Lease(v1::Lease { id, ..lease() })).collect();
    refused(leases, &["more than 10 ranges without their tasks"]);

    // Leases without an end are counted, and no report is acknowledged.
    let colours =
        Plan { problem: Problem::Total { n: 8 }, method: Method::Colours, tasks: 1 << 20 };
    let counted = (0..9_000).flat_map(|at| {
        let (id, start) = (at + 1, 3 * at);
        let range = Some(v1::OrdinalRange { start, end: start + 3 });
        let lease = v1::Lease { id, range, plan: Some((&colours).into()), ..lease() };
        [Message::Lease(lease), Message::Tasks(v1::Tasks { lease: id, start, ..masks(0b1111) })]
    });
    refused(counted.collect(), &["acknowledges none of the reports"]);
}

#[test]
fn a_recount_beyond_the_credit_of_a_worker_is_counted() {
    // Given a recount in three blocks, followed by a message that ends any worker
    let (problem, method) = (Problem::Total { n: 12 }, Method::Rows { rows: 3 });
    let enumeration = PlanIndex::new(problem, method).expect("such a plan exists");
    let tasks = enumeration.len();
    let plan = Plan { problem, method, tasks };
    let range = Some(v1::OrdinalRange { start: 0, end: tasks });
    let again = Some(v1::Recount { unlike: "portable".into(), by_reference: false });
    let recount = v1::Lease { plan: Some((&plan).into()), range, recount: again, ..lease() };
    let block = |start: u64, end: u64| {
        let tasks = enumeration.tasks(start..end).expect("it is of the plan");
        Message::Tasks(TasksBlock { lease: LeaseId(1), start, tasks }.into())
    };
    let (a, b) = (tasks / 3, 2 * tasks / 3);
    let end = Message::Lease(v1::Lease { plan: None, ..lease() });
    let answer = vec![Message::Lease(recount), block(0, a), block(a, b), block(b, tasks), end];

    // When it is sent to a worker that holds one task at a time
    let ended = worker_at(Ok(answer), &["--credit", "1"]);

    // Then the worker reaches that message.
    ended.refusal(12, &["lacks its field `plan`"]);
}

#[test]
fn a_worker_whose_leases_are_void_counts_none_of_their_tasks_on() {
    // Given a coordinator that leases a task which takes years, and disowns it in the next session
    let url = serve(Disowning(AtomicU64::new(0)));

    // Then the worker is idle, and leaves.
    let options = ["--threads", "1", "--exit-when-idle", "100ms", "--report-ms", "100"];
    let outcome = run(queens(&["worker", "--log", "warn", "--coordinator", &url]).args(options));

    assert!(outcome.stderr.contains("is void"), "{outcome:?}");
    outcome.success();
}

struct Disowning(AtomicU64);

#[tonic::async_trait]
impl FarmService for Disowning {
    type WorkStream = Answers;

    async fn work(
        &self,
        _: Request<Streaming<v1::WorkRequest>>,
    ) -> Result<Response<Self::WorkStream>, Status> {
        let welcome = Message::Welcome(v1::Welcome { leases_in_ms: 0 });
        let (problem, method) = (Problem::Total { n: 32 }, Method::Prefixes { rows: 1 });
        let enumeration = PlanIndex::new(problem, method).expect("such a plan exists");
        let plan = Plan { problem, method, tasks: enumeration.len() };
        let tasks = enumeration.tasks(0..3).expect("it is of the plan");
        let lease = Message::Lease(v1::Lease { plan: Some((&plan).into()), ..lease() });
        let tasks = Message::Tasks(TasksBlock { lease: LeaseId(1), start: 0, tasks }.into());
        let said = |messages: Vec<Message>| {
            messages.into_iter().map(|message| Ok(v1::WorkResponse { message: Some(message) }))
        };
        let answers: Answers = match self.0.fetch_add(1, Ordering::Relaxed) {
            0 => {
                let void = tokio_stream::once(()).then(|()| async {
                    // The worker has begun to count meanwhile.
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    Err(Status::aborted("nothing was leased"))
                });
                Box::pin(tokio_stream::iter(said(vec![welcome, lease, tasks])).chain(void))
            }
            _ => Box::pin(tokio_stream::iter(said(vec![welcome])).chain(tokio_stream::pending())),
        };
        Ok(Response::new(answers))
    }
}

/// Three tasks of a small plan.
fn lease() -> v1::Lease {
    let plan =
        Plan { problem: Problem::Total { n: 8 }, method: Method::Rows { rows: 2 }, tasks: 42 };
    v1::Lease {
        id: 1,
        job: 1,
        plan: Some((&plan).into()),
        range: Some(v1::OrdinalRange { start: 0, end: 3 }),
        token: vec![0; 33],
        recount: None,
    }
}

fn tasks() -> v1::Tasks {
    let masks = || vec![0; 3];
    v1::Tasks {
        lease: 1,
        start: 0,
        left: masks(),
        down: masks(),
        right: masks(),
        weight: vec![1; 3],
    }
}

/// Runs a worker against a coordinator that answers its first message with these, or ends the
/// session.
fn worker_at(answer: Result<Vec<Message>, Status>, options: &[&str]) -> Outcome {
    let url = serve(Fake(answer));
    run(queens(&["worker", "--log", "error", "--coordinator", &url]).args(options))
}

struct Fake(Result<Vec<Message>, Status>);

#[tonic::async_trait]
impl FarmService for Fake {
    type WorkStream = Answers;

    async fn work(
        &self,
        request: Request<Streaming<v1::WorkRequest>>,
    ) -> Result<Response<Self::WorkStream>, Status> {
        let mut reports = request.into_inner();
        tokio::spawn(async move { while reports.next().await.is_some() {} });
        let answers = self.0.clone()?.into_iter();
        let answers = answers.map(|message| Ok(v1::WorkResponse { message: Some(message) }));
        let answers = tokio_stream::iter(answers).chain(tokio_stream::pending());
        Ok(Response::new(Box::pin(answers)))
    }
}
