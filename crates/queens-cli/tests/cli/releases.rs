//! Tests that this program goes on with what earlier releases wrote and said. Each folder of
//! `tests` is of one release, and the README beside them says how it is made.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost::Message;
use serde_json::{Value, json};
use service::wire::v1;
use service::wire::v1::farm_service_client::FarmServiceClient;
use service::wire::v1::farm_service_server::FarmService;
use service::wire::v1::{work_request, work_response};
use tokio::runtime::Runtime;
use tokio_stream::StreamExt;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Response, Status, Streaming};

use crate::object;
use crate::support::fake_farm::{Answers, serve};
use crate::support::process::{queens, run, wait_until};
use crate::support::{Farm, at_once};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The boards of the jobs: the first is done, the ledger is in the middle of the second, and the
/// third has not begun. Later sessions count the second by rows and the third by colours.
const BOARDS: [u32; 3] = [9, 15, 13];

#[test]
fn a_ledger_of_each_release_is_resumed_to_the_exact_totals() {
    at_once(releases(), |release| {
        let farm = restored(&release);
        let before = farm.snapshot();
        assert_eq!(before.running(), 2, "{release:?}");
        let coordinator = farm.start_coordinator();
        let worker = farm.start_worker();
        assert_exact_totals(&farm);
        let after = farm.snapshot();
        for (id, job) in &after.jobs {
            assert!(job.is_tiled(), "{release:?}");
            job.assert_keeps(&before.jobs[id]);
        }
        worker.stop();
        coordinator.stop();
    });
}

#[test]
fn a_bundle_of_each_release_is_verified_and_keeps_its_name() {
    for release in releases() {
        let bundle = release.join("total.bundle.gz");
        let said = object(&run(queens(&["verify", "--all", "--json"]).arg(&bundle)).success());
        let name = fs::read_to_string(release.join("total.bundle.name")).expect("it is there");
        assert_eq!(said["bundle"], name.trim());
    }
}

#[test]
fn a_worker_of_each_release_is_served() {
    at_once(releases(), |release| {
        // Given the coordinator's ledger from before the conversation
        let farm = restored(&release);
        let coordinator = farm.start_coordinator();

        // When the worker says again what it said to its own coordinator
        let (worker, _) = conversation(&release);
        let is_report = |said: &&v1::WorkRequest| {
            matches!(said.message, Some(work_request::Message::Report(_)))
        };
        let reports = worker.iter().filter(is_report).count();
        assert!(reports > 1, "{release:?}");
        let answers = async {
            let mut client = client(&farm.url()).await;
            let said = tokio_stream::iter(worker).chain(tokio_stream::pending());
            let mut answers = client.work(said).await.expect("it answers").into_inner();
            let mut verdicts = Vec::new();
            while verdicts.len() < reports {
                let answer = answers.next().await.expect("it goes on").expect("it is served");
                if let Some(work_response::Message::Ack(ack)) = answer.message {
                    verdicts.push(ack.verdict);
                }
            }
            verdicts
        };
        let verdicts = Runtime::new().expect("threads can be started").block_on(answers);

        // Then all its counts are accepted, and make the totals.
        assert_eq!(verdicts, vec!["accepted"; reports], "{release:?}");
        assert_exact_totals(&farm);
        coordinator.stop();
    });
}

/// A field that is gone, or has another number or type, would not be written again.
#[test]
fn both_ends_understand_all_that_each_release_said() {
    for release in releases() {
        let (worker, coordinator) = conversation(&release);
        assert!(!worker.is_empty() && !coordinator.is_empty());
        for said in worker {
            farm::WorkerMessage::try_from(said).unwrap_or_else(|e| panic!("{release:?}: {e}"));
        }
        for said in coordinator {
            farm::CoordinatorMessage::try_from(said).unwrap_or_else(|e| panic!("{release:?}: {e}"));
        }
    }
}

/// `.ci/run` has the same check of the protocol, by `buf breaking`.
#[test]
fn the_api_has_all_that_each_release_had() {
    let read = |path: PathBuf| object(&fs::read_to_string(path).expect("it is there"));
    let now = read(Path::new(ROOT).join("docs/openapi.json"));
    for release in releases() {
        let mut lost = Vec::new();
        compare(&read(release.join("openapi.json")), &now, "", &mut lost);
        assert!(lost.is_empty(), "clients of {release:?} would miss:\n{}", lost.join("\n"));
    }
}

#[test]
fn the_comparison_finds_what_clients_would_miss() {
    let old = json!({ "paths": { "/jobs": {
        "parameters": [{ "name": "limit", "required": false }],
        "properties": { "n": { "type": ["integer", "null"], "description": "It is old." } },
        "required": ["n"], "additionalProperties": false,
    } } });
    let lost = |change: fn(&mut Value)| {
        let (mut new, mut lost) = (old.clone(), Vec::new());
        change(&mut new["paths"]["/jobs"]);
        compare(&old, &new, "", &mut lost);
        lost.len()
    };
    assert_eq!(lost(|it| it["properties"]["n"]["description"] = "It is new.".into()), 0);
    assert_eq!(lost(|it| it["properties"]["m"] = json!({ "type": "string" })), 0);
    assert_eq!(lost(|it| it["parameters"] = json!([])), 1);
    assert_eq!(lost(|it| it["parameters"][0]["required"] = true.into()), 1);
    assert_eq!(
        lost(|it| it["parameters"] = json!([
            { "name": "limit", "required": false }, { "name": "m", "required": true },
        ])),
        1
    );
    assert_eq!(lost(|it| it["properties"] = json!({})), 1);
    assert_eq!(lost(|it| it["properties"]["n"]["type"] = json!(["string", "null"])), 1);
    assert_eq!(lost(|it| it["required"] = json!([])), 1);
    assert_eq!(lost(|it| it["required"] = json!(["n", "m"])), 1);
    assert_eq!(lost(|it| *it = Value::Null), 1);
}

#[test]
#[ignore = "writes a folder for each release, as tests/README.md says"]
fn keep_this_release() {
    let release = Path::new(ROOT).join("tests").join(env!("CARGO_PKG_VERSION"));
    let _ = fs::remove_dir_all(&release);
    fs::create_dir_all(release.join("proto/queens/v1")).expect("a new folder");
    for file in ["farm.proto", "plan.proto"].map(|file| Path::new("proto/queens/v1").join(file)) {
        fs::copy(Path::new(ROOT).join(&file), release.join(&file)).expect("it is there");
    }
    let openapi = Path::new(ROOT).join("docs/openapi.json");
    fs::copy(openapi, release.join("openapi.json")).expect("it is there");

    // A bundle of the first job, and a ledger in the middle of the second one.
    let farm = Farm::new("", "--report-ms 50 --name worker");
    let coordinator = farm.start_coordinator();
    let worker = farm.start_worker();
    let [done, by_rows, by_colours] = BOARDS.map(|n| n.to_string());
    farm.client(&["submit", &done, "--wait"]).total(BOARDS[0]);
    let bundle = release.join("total.bundle.gz");
    farm.client(&["export", "1", bundle.to_str().expect("text")]).success();
    let name = object(&run(queens(&["verify", "--json"]).arg(&bundle)).success())["bundle"].clone();
    let name = format!("{}\n", name.as_str().expect("text"));
    fs::write(release.join("total.bundle.name"), name).expect("it can be written");
    farm.client(&["submit", &by_rows, "--rows", "3"]).success();
    wait_until("a part of the job", || !farm.snapshot().jobs[&2].rows.is_empty());
    worker.stop();
    farm.client(&["submit", &by_colours, "--method", "colours"]).success();
    coordinator.stop();
    assert_eq!(farm.snapshot().running(), 2, "a longer job is needed");
    fs::copy(farm.ledger(), release.join("ledger.sqlite")).expect("it is closed");
    fs::copy(farm.key("leases"), release.join("leases")).expect("it is there");

    // A worker that counts the rest.
    let coordinator = farm.start_coordinator();
    let lines = Arc::new(Mutex::new(String::new()));
    let proxy = serve(Proxy { coordinator: farm.url(), lines: lines.clone() });
    let worker = farm.start_worker_by(&["--coordinator", &proxy]);
    assert_exact_totals(&farm);
    worker.stop();
    coordinator.stop();
    let lines = lines.lock().expect("nobody panics with it");
    fs::write(release.join("conversation.jsonl"), lines.as_bytes()).expect("it can be written");
}

/// Collects what an older description of the API has, and a newer one lacks or demands. Texts for
/// people and limits of values are not compared.
fn compare(old: &Value, new: &Value, place: &str, lost: &mut Vec<String>) {
    const TEXTS: [&str; 9] = [
        "info",
        "description",
        "summary",
        "example",
        "operationId",
        "pattern",
        "minimum",
        "maximum",
        "maxItems",
    ];
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, old) in old.iter().filter(|(key, _)| !TEXTS.contains(&key.as_str())) {
                let place = format!("{place}/{key}");
                compare(old, new.get(key).unwrap_or(&Value::Null), &place, lost);
            }
            // A request with other fields is refused, and an answer with more fields is not.
            let is_request = old.get("additionalProperties") == Some(&false.into());
            if let (true, Some(wanted)) = (is_request, new.get("required")) {
                let known = old.get("required").unwrap_or(&Value::Null);
                compare(wanted, known, &format!("{place}/required"), lost);
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            let has = |all: &[Value], one: &Value| {
                all.iter().any(|other| {
                    let mut lost = Vec::new();
                    compare(one, other, "", &mut lost);
                    lost.is_empty()
                })
            };
            let is_gone = |one: &&Value| !has(new, one);
            let is_demanded = |one: &&Value| one["required"] == true && !has(old, one);
            let differ = old.iter().filter(is_gone).chain(new.iter().filter(is_demanded));
            lost.extend(differ.take(1).map(|one| format!("{place}: {one}")));
        }
        _ if old == new => {}
        _ => lost.push(format!("{place}: {old}, now {new}")),
    }
}

/// The folders of the releases.
fn releases() -> Vec<PathBuf> {
    let entries = fs::read_dir(Path::new(ROOT).join("tests")).expect("it is there");
    let paths = entries.map(|entry| entry.expect("it is there").path());
    let releases: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
    assert!(!releases.is_empty());
    releases
}

/// A farm with a copy of the release's ledger and of its key.
fn restored(release: &Path) -> Farm {
    let farm = Farm::new("--grace-ms 50", "");
    fs::copy(release.join("ledger.sqlite"), farm.ledger()).expect("it is there");
    let key = farm.key("leases");
    let folder = key.parent().expect("it is in a folder");
    fs::create_dir(folder).expect("a new folder");
    fs::copy(release.join("leases"), &key).expect("it is there");
    #[cfg(unix)]
    for (path, mode) in [(folder, 0o700), (&key, 0o600)] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(path, mode).expect("it is ours");
    }
    farm
}

#[track_caller]
fn assert_exact_totals(farm: &Farm) {
    for (job, n) in (1..).zip(BOARDS) {
        farm.client(&["watch", &job.to_string()]).total(n);
    }
}

/// What the worker and what the coordinator said in the recorded session.
fn conversation(release: &Path) -> (Vec<v1::WorkRequest>, Vec<v1::WorkResponse>) {
    let lines = fs::read_to_string(release.join("conversation.jsonl")).expect("it is there");
    let (mut worker, mut coordinator) = (Vec::new(), Vec::new());
    for line in lines.lines().map(object) {
        match line["from"].as_str() {
            Some("worker") => worker.push(read(&line)),
            Some("coordinator") => coordinator.push(read(&line)),
            _ => panic!("{line}"),
        }
    }
    (worker, coordinator)
}

/// Reads the message of a line, of which nothing may be lost.
fn read<M: Message + Default>(line: &Value) -> M {
    let text = line["message"].as_str().expect("it is text");
    let bytes = STANDARD.decode(text).expect("it is in base64");
    let message = M::decode(bytes.as_slice()).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert!(message.encode_to_vec() == bytes, "a part is lost: {line}");
    message
}

async fn client(url: &str) -> FarmServiceClient<Channel> {
    let endpoint = Endpoint::new(url.to_owned()).expect("it is a URL");
    FarmServiceClient::new(endpoint.connect().await.expect("the coordinator serves"))
}

/// A coordinator that forwards a session to another one and records it.
struct Proxy {
    coordinator: String,
    lines: Arc<Mutex<String>>,
}

#[tonic::async_trait]
impl FarmService for Proxy {
    type WorkStream = Answers;

    async fn work(
        &self,
        worker: Request<Streaming<v1::WorkRequest>>,
    ) -> Result<Response<Answers>, Status> {
        let mut client = client(&self.coordinator).await;
        let lines = self.lines.clone();
        let said = worker.into_inner().map_while(move |message| {
            let message = message.ok()?;
            record(&lines, "worker", &message);
            Some(message)
        });
        let answers = client.work(said).await?;
        let lines = self.lines.clone();
        let answers = answers
            .into_inner()
            .map(move |message| message.inspect(|message| record(&lines, "coordinator", message)));
        Ok(Response::new(Box::pin(answers)))
    }
}

fn record(lines: &Mutex<String>, from: &str, message: &impl Message) {
    let line = json!({ "from": from, "message": STANDARD.encode(message.encode_to_vec()) });
    *lines.lock().expect("nobody panics with it") += &format!("{line}\n");
}
