//! The targets, and their corpus: a few inputs of each kind, so that no run begins with nothing.

use std::fs;
use std::path::Path;

use board::{Method, Problem};
use farm::Plan;
use prost::Message;
use wire::v1::{self, work_request, work_response};

#[test]
fn messages() {
    bolero::check!().for_each(fuzz::messages);
}

#[test]
fn every_message_of_the_services_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    let files = protox::compile(["queens/v1/farm.proto", "queens/v1/client.proto"], [folder]);
    let files = files.expect("they are well-formed");
    let methods = files.file.iter().flat_map(|file| &file.service).flat_map(|s| &s.method);
    for message in methods.flat_map(|method| [method.input_type(), method.output_type()]) {
        let name = message.rsplit('.').next().expect("it has a name");
        assert!(fuzz::READERS.iter().any(|reader| reader.name == name), "READERS lacks {name}");
    }
}

#[test]
#[ignore = "writes into the source tree"]
#[allow(clippy::needless_update, reason = "fields that come later are as they are by default")]
fn corpus() {
    let plan = Plan { problem: Problem::Total { n: 8 }, method: Method::Halves, tasks: 35 };
    let range = || Some(v1::OrdinalRange { start: 3, end: 9 });
    let fingerprint = || plan.fingerprint().0.to_vec();
    let report = v1::Report {
        lease: 1,
        job: 1,
        fingerprint: fingerprint(),
        range: range(),
        count: 7,
        busy_us: 9,
        ..Default::default()
    };
    let holding = v1::Holding {
        lease: 1,
        job: 1,
        fingerprint: fingerprint(),
        range: range(),
        ..Default::default()
    };
    let hello = v1::Hello {
        protocol: wire::PROTOCOL,
        worker: "worker".into(),
        threads: 2,
        holding: vec![holding],
        ..Default::default()
    };
    let lease = v1::Lease {
        id: 1,
        job: 1,
        plan: Some((&plan).into()),
        range: range(),
        ..Default::default()
    };
    let tasks = v1::Tasks {
        lease: 1,
        start: 3,
        left: vec![0, 0],
        down: vec![15, 23],
        right: vec![0, 0],
        weight: vec![2, 2],
        ..Default::default()
    };
    let submission = v1::Submit {
        problem: Some(plan.problem.into()),
        method: Some(board::MethodChoice::Halves.into()),
        ..Default::default()
    };
    let too_large = v1::Submit {
        problem: Some(Problem::Total { n: u32::MAX }.into()),
        method: Some(board::MethodChoice::Rows { rows: None }.into()),
        ..Default::default()
    };
    let job = v1::Job {
        id: 1,
        plan: Some((&plan).into()),
        state: "done".into(),
        counted: "92".into(),
        ..Default::default()
    };
    let ask = |submit| {
        let jobs = v1::Submissions { jobs: vec![submit], ..Default::default() };
        let request = Some(v1::ask_request::Request::Submit(jobs));
        v1::AskRequest { request, ..Default::default() }
    };
    let request = |message| v1::WorkRequest { message: Some(message), ..Default::default() };
    let response = |message| v1::WorkResponse { message: Some(message), ..Default::default() };
    for (name, kind, bytes) in [
        ("hello", "WorkRequest", request(work_request::Message::Hello(hello)).encode_to_vec()),
        ("report", "WorkRequest", request(work_request::Message::Report(report)).encode_to_vec()),
        ("lease", "WorkResponse", response(work_response::Message::Lease(lease)).encode_to_vec()),
        ("tasks", "WorkResponse", response(work_response::Message::Tasks(tasks)).encode_to_vec()),
        ("submission", "AskRequest", ask(submission).encode_to_vec()),
        ("too_large", "AskRequest", ask(too_large).encode_to_vec()),
        ("job", "Job", job.encode_to_vec()),
    ] {
        let kind = fuzz::READERS.iter().position(|reader| reader.name == kind);
        let kind = kind.expect("there is such a kind") as u8;
        write("messages", name, &[&[kind], &bytes[..]].concat());
    }
}

fn write(target: &str, name: &str, input: &[u8]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/__fuzz__").join(target);
    let folder = folder.join("corpus");
    fs::create_dir_all(&folder).expect("the folder can be made");
    fs::write(folder.join(name), input).expect("it can be written");
}
