//! Sessions that earlier versions of the program have had with each other, and that this one must still understand from
//! either end.
//!
//! ```text
//!   earlier worker ◄──► recorder ◄──► earlier coordinator        once, when a version is about to become an earlier one
//!                          └──► tests/sessions/VERSION.txt    each message as hexadecimal digits
//!
//!   its worker's messages        ──► this coordinator            both jobs must be done, with the right totals
//!   its coordinator's messages   ──► this worker                 its reports must cover both jobs and add up
//! ```
//!
//! ```text
//!   RECORDED=path/to/earlier/queens SESSION=$PWD/crates/queens/tests/sessions/VERSION.txt \
//!     cargo test -p queens --test cli -- --ignored earlier_versions::record
//! ```
//!
//! A report counts by the proof of its loan, which the coordinator knows by its key: all of them are of one key. The
//! recorder hides the ledger's identity from the worker, because signatures are of one ledger, and the test's is another.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use farm::{IntervalSet, Report};
use prost::Message as _;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Request, Response, Status, Streaming};
use wire::v1::farm_service_client::FarmServiceClient;
use wire::v1::farm_service_server::FarmService;
use wire::v1::{self, work_request, work_response};

use crate::attackers::session;
use crate::support::fake_farm::{Answers, serve};
use crate::support::process::{Process, queens, wait_until, without_settings};
use crate::support::{Farm, Scratch};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sessions");
/// The key of the loans of all sessions.
const KEY: [u8; 32] = [9; 32];
/// The sizes of the two jobs of each session, and how they are submitted.
const JOBS: [(u32, &str); 2] = [(8, "submit 8 --rows 2"), (10, "submit 10 --method halves")];

/// What was said in a session, in order.
#[derive(Clone, Debug)]
enum Said {
    ByWorker(v1::WorkRequest),
    ByCoordinator(v1::WorkResponse),
}

impl Said {
    fn line(&self) -> String {
        match self {
            Said::ByWorker(message) => format!("worker {}", hex::encode(message.encode_to_vec())),
            Said::ByCoordinator(message) => {
                format!("coordinator {}", hex::encode(message.encode_to_vec()))
            }
        }
    }

    fn read(line: &str) -> Said {
        let (who, bytes) = line.split_once(' ').expect("a speaker and a message");
        let bytes = hex::decode(bytes).expect("they are hexadecimal digits");
        match who {
            "worker" => Said::ByWorker(v1::WorkRequest::decode(&*bytes).expect("it is a message")),
            "coordinator" => {
                Said::ByCoordinator(v1::WorkResponse::decode(&*bytes).expect("it is a message"))
            }
            other => panic!("nobody is called {other}"),
        }
    }
}

/// All recorded sessions, by the names of their files.
fn recorded() -> Vec<(PathBuf, Vec<Said>)> {
    let files = fs::read_dir(FOLDER).expect("there are sessions");
    let paths = files.map(|file| file.expect("it can be read").path());
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("it is a text");
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let said = lines.map(Said::read).collect();
        (path, said)
    };
    let all: Vec<_> = paths.map(read).collect();
    assert!(!all.is_empty(), "there are sessions");
    all
}

/// Puts the key of the sessions in its place.
fn use_key(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let folder = path.parent().expect("keys have a folder");
    fs::create_dir_all(folder).expect("it can be made");
    fs::set_permissions(folder, PermissionsExt::from_mode(0o700)).expect("it is ours");
    fs::write(path, KEY).expect("it can be written");
    fs::set_permissions(path, PermissionsExt::from_mode(0o600)).expect("it is ours");
}

#[test]
fn this_coordinator_understands_workers_of_earlier_versions() {
    for (path, said) in recorded() {
        let farm = Farm::new("", "");
        use_key(&farm.key("loans"));
        let _coordinator = farm.start_coordinator();
        for (_, submit) in JOBS {
            farm.client(&submit.split(' ').collect::<Vec<_>>()).success();
        }
        let by_worker = said.into_iter().filter_map(|said| match said {
            Said::ByWorker(v1::WorkRequest { message }) => message,
            Said::ByCoordinator(_) => None,
        });
        let messages: Vec<work_request::Message> = by_worker.collect();
        let runtime = Runtime::new().expect("it starts");
        let listen = Duration::from_secs(2);
        let (_, end) = runtime.block_on(session(&farm, None, messages, listen));
        assert!(end.is_none(), "{}: {end:?}", path.display());
        for ((n, _), job) in JOBS.into_iter().zip(["1", "2"]) {
            let total = farm.client(&["status", job, "--json"]).success();
            let status: serde_json::Value = serde_json::from_str(&total).expect("it is JSON");
            assert_eq!(status["total"], vectors::total(n).to_string(), "{}", path.display());
        }
    }
}

/// What a worker has reported so far.
#[derive(Debug, Default)]
struct Reported {
    ranges: [IntervalSet; JOBS.len()],
    counts: [u64; JOBS.len()],
}

/// Says what a coordinator has said before any of it was counted, and acknowledges every report.
struct Replay {
    said: Vec<v1::WorkResponse>,
    reported: Arc<Mutex<Reported>>,
}

#[tonic::async_trait]
impl FarmService for Replay {
    type WorkStream = Answers;

    async fn work(
        &self,
        request: Request<Streaming<v1::WorkRequest>>,
    ) -> Result<Response<Answers>, Status> {
        let reported = self.reported.clone();
        let acks = request.into_inner().filter_map(move |message| {
            let work_request::Message::Report(report) = message.ok()?.message? else { return None };
            let Report { job, fingerprint, range, tally, .. } =
                report.try_into().expect("this worker's reports are sound");
            assert!(tally.is_sound());
            let mut reported = reported.lock().expect("nobody panics while holding it");
            let at = job.0 as usize - 1;
            assert!(!reported.ranges[at].intersects(range), "{range} is reported once");
            reported.ranges[at].insert(range);
            reported.counts[at] += tally.count;
            let ack = v1::Ack {
                job: job.0,
                fingerprint: fingerprint.0.to_vec(),
                range: Some(v1::OrdinalRange { start: range.start(), end: range.end() }),
                verdict: v1::Verdict::Accepted.into(),
            };
            let message = Some(work_response::Message::Ack(ack));
            Some(Ok(v1::WorkResponse { message }))
        });
        let before = tokio_stream::iter(self.said.clone()).map(Ok);
        Ok(Response::new(Box::pin(before.chain(acks))))
    }
}

#[test]
fn this_worker_understands_coordinators_of_earlier_versions() {
    for (path, said) in recorded() {
        let said = said.into_iter().filter_map(|said| match said {
            Said::ByCoordinator(answer) => Some(answer),
            Said::ByWorker(_) => None,
        });
        // What follows from reports comes when they do.
        let is_first = |answer: &v1::WorkResponse| {
            use work_response::Message;
            !matches!(answer.message, Some(Message::Ack(_) | Message::Revoke(_)))
        };
        let said: Vec<v1::WorkResponse> = said.filter(is_first).collect();
        let mut tasks = [0; JOBS.len()];
        for answer in &said {
            if let Some(work_response::Message::Loan(loan)) = &answer.message {
                let range = loan.range.expect("a loan has a range");
                tasks[loan.job as usize - 1] += range.end - range.start;
            }
        }
        let reported = Arc::new(Mutex::new(Reported::default()));
        let url = serve(Replay { said, reported: reported.clone() });
        let farm = Farm::new("", "--report-ms 0");
        let _worker = farm.start_worker_by(&["--coordinator", &url]);
        wait_until("all that was lent to be reported", || {
            let reported = reported.lock().expect("nobody panics while holding it");
            reported.ranges.each_ref().map(IntervalSet::len) == tasks
        });
        let reported = reported.lock().expect("nobody panics while holding it");
        let totals = JOBS.map(|(n, _)| vectors::total(n));
        assert_eq!(reported.counts.map(u128::from), totals, "{}", path.display());
    }
}

/// Stands between a worker and its coordinator, and writes down what both say.
struct Recorder {
    coordinator: Channel,
    said: Arc<Mutex<Vec<Said>>>,
}

#[tonic::async_trait]
impl FarmService for Recorder {
    type WorkStream = Answers;

    async fn work(
        &self,
        request: Request<Streaming<v1::WorkRequest>>,
    ) -> Result<Response<Answers>, Status> {
        let (sender, forwarded) = mpsc::channel(64);
        let said = self.said.clone();
        let mut from_worker = request.into_inner();
        tokio::spawn(async move {
            while let Some(Ok(message)) = from_worker.next().await {
                said.lock().expect("nobody panics").push(Said::ByWorker(message.clone()));
                let _ = sender.send(message).await;
            }
        });
        let mut client = FarmServiceClient::new(self.coordinator.clone());
        let answers = client.work(ReceiverStream::new(forwarded)).await?.into_inner();
        let said = self.said.clone();
        Ok(Response::new(Box::pin(answers.map(move |answer| {
            let mut answer = answer?;
            if let Some(work_response::Message::Welcome(welcome)) = &mut answer.message {
                welcome.ledger.clear();
            }
            said.lock().expect("nobody panics").push(Said::ByCoordinator(answer.clone()));
            Ok(answer)
        }))))
    }
}

/// Records a session of the program in the variable `RECORDED`, or of this one, into the file in `SESSION`.
#[test]
#[ignore = "it records what later versions have to understand"]
fn record() {
    let file = std::env::var("SESSION").expect("SESSION names the file to write");
    let program = std::env::var("RECORDED").ok();
    let program = |words: &[&str]| match &program {
        Some(program) => without_settings(Command::new(program), words),
        None => queens(words),
    };
    let (scratch, farm) = (Scratch::new(), Farm::new("", ""));
    use_key(&farm.key("loans"));
    let ledger = farm.ledger().display().to_string();
    let address = farm.address();
    let mut coordinator = program(&["coordinator", "--listen", &address, "--ledger", &ledger]);
    let mut coordinator = Process::start(&mut coordinator, scratch.new_file("log"));
    coordinator.wait_for_line("coordinator serves");
    for (_, submit) in JOBS {
        farm.client(&submit.split(' ').collect::<Vec<_>>()).success();
    }
    let said = Arc::new(Mutex::new(Vec::new()));
    let runtime = Runtime::new().expect("it starts");
    let channel = Channel::from_shared(farm.url()).expect("it is a URL");
    let channel = runtime.block_on(channel.connect()).expect("it serves");
    let url = serve(Recorder { coordinator: channel, said: said.clone() });
    let mut worker = program(&["worker", "--threads", "1", "--coordinator", &url]);
    worker.env("QUEENS_MACHINE", "node1");
    let _worker = Process::start(&mut worker, scratch.new_file("log"));
    for job in ["1", "2"] {
        farm.client(&["watch", job]).success();
    }
    let version = program(&["--version"]).output().expect("it tells its version").stdout;
    let version = String::from_utf8(version).expect("it is a text");
    let mut text: String = version.lines().take(2).map(|line| format!("# {line}\n")).collect();
    for said in &*said.lock().expect("nobody panics") {
        text += &(said.line() + "\n");
    }
    fs::write(file, text).expect("it can be written");
}
