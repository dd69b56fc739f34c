//! Tests of access to the coordinator: who may connect, which requests are allowed, and how many.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use service::wire::v1;
use service::wire::v1::farm_service_client::FarmServiceClient;
use service::wire::v1::work_request::Message;
use service::wire::v1::work_response;
use service::{Client, Endpoint, wire};
use testkit::vectors;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::metadata::MetadataValue;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

use crate::support::guarded::Guarded;
use crate::support::process::{PATIENCE, Process, run, wait_until};
use crate::support::{Farm, Scratch, assert_private, write_private};

#[test]
fn everybody_may_read_the_totals_of_a_public_farm_and_who_agreed_to_be_named() {
    let guarded = Guarded::with("--public-page --public-owners rack7");
    let [rack7, rack8] = ["rack7", "rack8"].map(|owner| guarded.create("worker", owner).0);
    for worker in [rack7, rack8] {
        let _worker = guarded.start_worker(&worker);
        guarded.client("admin", &["submit", "12", "--wait"]).success();
    }
    let address = guarded.farm.address();
    let mut page = String::new();
    wait_until("the ledger to be read", || {
        page = crate::metrics::page(&address, "/public");
        page.contains(">rack7<") && page.contains("50.0%")
    });
    let total = vectors::total(12).to_string();
    let (thousands, rest) = total.split_at(total.len() - 3);
    assert!(page.contains(&format!(">{thousands}\u{202f}{rest}<")), "{page}");
    for private in ["rack8", "admin", "jobs/"] {
        assert!(!page.contains(private), "{private}: {page}");
    }
}

#[test]
fn a_farm_with_a_token_admits_those_that_have_it_and_nobody_else() {
    let scratch = Scratch::new();
    let token = scratch.path("token");
    let option = format!("--token-file {}", token.display());
    let farm = Farm::new(&option, &option);

    // Given a coordinator that has made its token, in a file that only its owner may read.
    let coordinator = farm.start_coordinator();
    let secret = fs::read_to_string(&token).expect("it was made");
    assert_private(&token);
    assert!(secret.trim().len() >= 32, "it is long");
    let wrong = scratch.path("wrong");
    write_private(&wrong, "0123456789abcdef0123456789abcdef");
    let [token, wrong] = [&token, &wrong].map(|path| path.to_str().expect("the path is text"));

    // Clients and workers that read the same file are admitted.
    let _worker = farm.start_worker();
    let total = farm.client(&["submit", "10", "--wait", "--token-file", token]).success();
    assert_eq!(total, format!("{}\n", testkit::vectors::total(10)));

    // Others are not. Probes need no token.
    for command in ["submit 8", "jobs", "jobs 1", "watch 1", "cancel 1", "pause 1", "worker"] {
        let args: Vec<&str> = command.split(' ').chain(["--log", "error"]).collect();
        let way_out = ["refuses this token", "--token-file"];
        farm.client(&args).refusal(6, &way_out);
        farm.client(&[&args[..], &["--token-file", wrong]].concat()).refusal(6, &way_out);
    }
    assert_eq!(farm.client(&["jobs", "--health"]).success(), "serving\n");

    // A restarted coordinator keeps the token.
    coordinator.stop();
    let coordinator = farm.start_coordinator();
    assert_eq!(fs::read_to_string(token).expect("it is there"), secret);
    farm.client(&["jobs", "--token-file", token]).success();

    // A lost one is not replaced without a word.
    coordinator.stop();
    fs::remove_file(token).expect("it is there");
    for tls in [&[][..], &["--tls"]] {
        let refused = run(farm.coordinator().args(tls));
        refused.refusal(6, &[&format!("lacks {token}: restore"), "--new-keys"]);
        assert!(!Path::new(token).exists(), "nothing is made");
    }
    farm.serve(farm.coordinator().arg("--new-keys")).stop();
    assert_ne!(fs::read_to_string(token).expect("it is there"), secret);
}

#[test]
fn wrong_credentials_are_counted_and_logged_once_a_second() {
    const ATTEMPTS: usize = 40;
    let scratch = Scratch::new();
    let token = scratch.path("token");
    let farm = Farm::new(&format!("--token-file {}", token.display()), "");
    let coordinator = farm.start_coordinator();
    let ask = |secret: &str| {
        let mut stream = std::net::TcpStream::connect(farm.address()).expect("it listens");
        let request = format!(
            "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {secret}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        std::io::read_to_string(stream).expect("it answers")
    };

    let begun = Instant::now();
    for _ in 0..ATTEMPTS {
        assert!(ask("0123456789abcdef").starts_with("HTTP/1.1 401"));
    }
    let seconds = begun.elapsed().as_secs() as usize + 1;

    let reported = ask(fs::read_to_string(&token).expect("it was made").trim());
    let counted = format!("queens_wrong_credentials_total {ATTEMPTS}\n");
    assert!(reported.contains(&counted), "{reported}");
    let said = coordinator.said();
    let lines = said.matches("a wrong credential was shown").count();
    assert!((1..=seconds).contains(&lines), "{lines} lines in {seconds} s: {said}");
    assert!(said.contains("127.0.0.1"), "{said}");
}

#[test]
fn open_access_needs_an_option() {
    let farm = Farm::new("--insecure", "");
    let anywhere = farm.address().replace("127.0.0.1", "0.0.0.0");
    let mut coordinator = Process::start(&mut farm.coordinator_at(&anywhere), farm.new_log());
    coordinator.wait_for_line("coordinator serves");
    farm.client(&["jobs"]).success();
}

/// The tests of the API show that no call of it does.
#[tokio::test]
async fn no_session_begins_without_the_token() {
    let scratch = Scratch::new();
    let token = scratch.path("token");
    let farm = Farm::new(&format!("--token-file {}", token.display()), "");
    let _coordinator = farm.start_coordinator();
    let channel = connect(&farm).await;
    for secret in [None, Some("0123456789abcdef0123456789abcdef")] {
        let hello = vec![Message::Hello(hello())];
        let (_, refused) = session(&channel, secret, hello, PATIENCE).await;
        assert_eq!(refused.map(|status| status.code()), Some(Code::Unauthenticated));
    }
    let file = token.to_str().expect("the path is text");
    assert_eq!(farm.client(&["workers", "--json", "--token-file", file]).success(), "");
}

#[tokio::test]
async fn a_worker_of_another_protocol_is_refused_first() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    farm.submit(8, 2, 0);
    let channel = connect(&farm).await;

    for theirs in [0, wire::PROTOCOL + 1, u32::MAX] {
        // The protocol is checked first. The invalid name would be refused later.
        let other = v1::Hello { protocol: theirs, worker: String::new(), ..hello() };
        let refused = work(&channel, vec![Message::Hello(other)]).await.expect_err("it is refused");

        assert_eq!(refused.code(), Code::FailedPrecondition);
        let both = [
            format!("speaks version {theirs} "),
            format!("coordinator version {}", wire::PROTOCOL),
        ];
        assert!(both.iter().all(|side| refused.message().contains(side)), "{refused}");
        assert!(refused.message().contains("run the same version"), "{refused}");
    }
}

#[tokio::test]
async fn a_worker_that_breaks_the_protocol_is_dismissed() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    let channel = connect(&farm).await;

    let nameless = v1::Hello { worker: String::new(), ..hello() };
    let huge = v1::Hello { worker: "w".repeat(2 << 20), ..hello() };
    let crowd = v1::Hello { threads: u32::MAX, ..hello() };
    let hoarder = v1::Hello { holding: vec![v1::Holding::default(); 10_000], ..hello() };
    let empty = v1::Report { range: Some(v1::OrdinalRange { start: 3, end: 3 }), ..report() };
    let conversations = [
        vec![Message::Credit(1)],
        vec![Message::Hello(nameless)],
        vec![Message::Hello(huge)],
        vec![Message::Hello(crowd)],
        vec![Message::Hello(hoarder)],
        vec![Message::Hello(hello()), Message::Hello(hello())],
        vec![Message::Hello(hello()), Message::Report(empty)],
        vec![Message::Hello(hello()), Message::Report(v1::Report { range: None, ..report() })],
    ];
    for (index, messages) in conversations.into_iter().enumerate() {
        let refused = work(&channel, messages).await.expect_err("it is refused");
        assert_eq!(refused.code(), Code::InvalidArgument, "conversation {index}: {refused}");
    }
}

#[tokio::test]
async fn a_connection_has_at_most_64_streams() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    farm.submit(8, 2, 0);
    let mut jobs = client(&farm, None).await;
    let path = "/jobs/1/events";

    let mut watches = Vec::new();
    for _ in 0..64 {
        watches.push(in_time(jobs.follow(path)).await.expect("there is room"));
    }
    let one_more = tokio::time::timeout(Duration::from_millis(300), jobs.follow(path));
    assert!(one_more.await.is_err(), "it has to wait");

    watches.pop();
    in_time(jobs.follow(path)).await.expect("there is room again");
}

/// Fails if a future takes longer than any request takes on a slow and busy machine.
pub(crate) async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("the coordinator answers in time")
}

pub(crate) async fn connect(farm: &Farm) -> Channel {
    let endpoint = Channel::from_shared(farm.url()).expect("it is a URL");
    in_time(endpoint.connect()).await.expect("the coordinator serves")
}

/// A client of the farm's API that shows the secret in a file.
pub(crate) async fn client(farm: &Farm, token_file: Option<PathBuf>) -> Client {
    let client = Client::connect(Endpoint::new(&farm.url(), token_file));
    in_time(client).await.expect("the coordinator serves")
}

pub(crate) fn hello() -> v1::Hello {
    v1::Hello {
        protocol: wire::PROTOCOL,
        worker: "test".into(),
        machine: "test".into(),
        instance: 1,
        threads: 1,
        ..Default::default()
    }
}

/// A lease token of valid form without a valid signature.
fn token() -> Vec<u8> {
    let range = farm::Range::new(0, 1).expect("it is not empty");
    farm::LeaseToken::new(range, farm::LeaseKind::Count, [0; 16]).bytes.to_vec()
}

pub(crate) fn report() -> v1::Report {
    v1::Report {
        lease: 1,
        job: 1,
        fingerprint: vec![0; 32],
        range: Some(v1::OrdinalRange { start: 0, end: 1 }),
        count: 5,
        residue: 5,
        digest: vec![0; 16],
        kernel: "portable".into(),
        busy_us: 1,
        token: token(),
        task_counts: Vec::new(),
    }
}

/// Sends all `messages` in one session, and waits until it ends.
pub(crate) async fn work(channel: &Channel, messages: Vec<Message>) -> Result<(), Status> {
    session(channel, None, messages, PATIENCE).await.1.map_or(Ok(()), Err)
}

/// Runs one session with a secret: it sends `messages`, and then listens until the session ends or
/// nothing arrives for so long. Returns the messages that arrived, and the reason of the end.
pub(crate) async fn session(
    channel: &Channel,
    secret: Option<&str>,
    messages: Vec<Message>,
    listen: Duration,
) -> (Vec<work_response::Message>, Option<Status>) {
    let (sender, stream) = mpsc::channel(messages.len());
    for message in messages {
        sender.try_send(v1::WorkRequest { message: Some(message) }).expect("there is room");
    }
    let mut request = Request::new(ReceiverStream::new(stream));
    if let Some(secret) = secret {
        let bearer = MetadataValue::try_from(format!("Bearer {secret}")).expect("it is text");
        request.metadata_mut().insert("authorization", bearer);
    }
    let mut reported = Vec::new();
    let mut answers = match in_time(FarmServiceClient::new(channel.clone()).work(request)).await {
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
