//! Signatures: what workers sign, what strangers cannot, and what a bundle says of it.

use std::fs;

use farm::{JobId, LedgerId, LoanKind, PublicKey, Report, Signer, SigningKey, Statement};
use rusqlite::Connection;
use serde_json::Value;
use tokio::runtime::Runtime;
use tonic::Code;
use wire::v1;
use wire::v1::work_request::Message;
use wire::v1::work_response;

use crate::access::hello;
use crate::attackers::{LONG, SHORT, first_loan, session, zero};
use crate::support::process::{queens, run};
use crate::support::{Farm, Scratch};

/// What a worker with this key and machine signs of a report, in the context that it may have changed.
fn signature(
    report: &v1::Report,
    key: &SigningKey,
    machine: &str,
    change: impl Fn(&mut Signer, &mut Report),
    ledger: LedgerId,
) -> Vec<u8> {
    let mut report = Report::try_from(report.clone()).expect("it is one");
    let (job, kind) = (report.job, report.proof.kind);
    let mut signer = Signer { key: key.public(), ledger, job, kind };
    change(&mut signer, &mut report);
    Statement::of(&report, &signer, machine).sign(key).signature.0.to_vec()
}

#[test]
fn a_report_is_signed_by_the_key_of_its_session_or_the_session_ends() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    farm.submit(10, 3, 0);
    let runtime = Runtime::new().expect("it starts");
    let say = |messages, listen| runtime.block_on(session(&farm, None, messages, listen));
    let [key, other] = [1, 2].map(|seed| SigningKey::from_seed(&[seed; 32]));
    let hungry = v1::Hello { credit: 1, ..hello() };
    let (told, _) = say(vec![Message::Hello(hungry)], SHORT);
    let welcome = |message: &work_response::Message| match message {
        work_response::Message::Welcome(welcome) => welcome.ledger.clone().try_into().ok(),
        _ => None,
    };
    let ledger = told.iter().find_map(welcome).map(LedgerId).expect("it says which it has");
    let report = zero(&first_loan(&told));
    let machine = hello().machine;
    let sign = |key, machine, change: fn(&mut Signer, &mut Report)| {
        signature(&report, key, machine, change, ledger)
    };
    let unchanged: fn(&mut Signer, &mut Report) = |_, _| {};

    let named = |key: &SigningKey| key.public().0.to_vec();
    let attacks = [
        ("signed with another's key", named(&key), sign(&other, &machine, unchanged)),
        ("named another's key", named(&other), sign(&key, &machine, unchanged)),
        ("named no key", Vec::new(), sign(&key, &machine, unchanged)),
        ("another machine's", named(&key), sign(&key, "node7", unchanged)),
        ("of another job", named(&key), sign(&key, &machine, |signer, _| signer.job = JobId(2))),
        (
            "of another ledger",
            named(&key),
            sign(&key, &machine, |signer, _| signer.ledger = LedgerId([7; 16])),
        ),
        (
            "of a recount",
            named(&key),
            sign(&key, &machine, |signer, _| signer.kind = LoanKind::Recount),
        ),
        (
            "of another count",
            named(&key),
            sign(&key, &machine, |_, report| report.tally.count += 1),
        ),
        ("no signature", named(&key), vec![0; 64]),
    ];
    for (instance, (attack, key, signature)) in (2..).zip(attacks) {
        let idle = v1::Hello { credit: 0, instance, key, ..hello() };
        let report = v1::Report { signature, ..report.clone() };
        let (_, end) = say(vec![Message::Hello(idle), Message::Report(report)], LONG);
        let end = end.unwrap_or_else(|| panic!("{attack}: the session goes on"));
        assert_eq!(end.code(), Code::Aborted, "{attack}: {end}");
        assert!(end.message().contains("signature"), "{attack}: {end}");
    }
    // The same of its stretch.
    let own = sign(&key, &machine, unchanged);
    let stretch = |signature| {
        let v1::Report { range, count, digest, .. } = report.clone();
        v1::Stretch { range, count, digest, signature }
    };
    let attacks = [
        ("a stretch that nobody signed", own.clone(), stretch(Vec::new())),
        ("a stretch signed by another", own.clone(), stretch(sign(&other, &machine, unchanged))),
        (
            "a stretch of another count",
            own.clone(),
            v1::Stretch { count: 1, ..stretch(own.clone()) },
        ),
        ("only a stretch is signed", Vec::new(), stretch(own.clone())),
    ];
    for (instance, (attack, signature, stretch)) in (20..).zip(attacks) {
        let idle = v1::Hello { credit: 0, instance, key: named(&key), ..hello() };
        let report = v1::Report { signature, stretches: vec![stretch], ..report.clone() };
        let (_, end) = say(vec![Message::Hello(idle), Message::Report(report)], LONG);
        let end = end.unwrap_or_else(|| panic!("{attack}: the session goes on"));
        assert_eq!(end.code(), Code::Aborted, "{attack}: {end}");
        assert!(end.message().contains("signature"), "{attack}: {end}");
    }
    // Nobody can say what it was not lent, nor more than eight things.
    let beyond = v1::OrdinalRange { start: 0, end: u64::MAX };
    let beyond = v1::Stretch { range: Some(beyond), ..stretch(Vec::new()) };
    let nine = vec![stretch(Vec::new()); 9];
    for (instance, stretches) in (30..).zip([vec![beyond], nine]) {
        let idle = v1::Hello { credit: 0, instance, ..hello() };
        let report = v1::Report { stretches, ..report.clone() };
        let (_, end) = say(vec![Message::Hello(idle), Message::Report(report)], LONG);
        assert_eq!(end.map(|status| status.code()), Some(Code::InvalidArgument));
    }
    // What is too short to be a signature is no message of this protocol.
    let idle = v1::Hello { credit: 0, key: named(&key), ..hello() };
    let short = v1::Report { signature: vec![0; 63], ..report.clone() };
    let (_, end) = say(vec![Message::Hello(idle.clone()), Message::Report(short)], LONG);
    assert_eq!(end.map(|status| status.code()), Some(Code::InvalidArgument));

    let right = v1::Report { signature: sign(&key, &machine, unchanged), ..report.clone() };
    let (told, end) = say(vec![Message::Hello(idle), Message::Report(right)], SHORT);
    assert!(end.is_none(), "{end:?}");
    let is_ack =
        |message: &work_response::Message| matches!(message, work_response::Message::Ack(_));
    assert!(told.iter().any(is_ack));
    let db = Connection::open(farm.ledger()).expect("SQLite opens it");
    let query = "SELECT text FROM ranges JOIN signers ON signer = id";
    let signer: String = db.query_row(query, [], |row| row.get(0)).expect("it is signed");
    assert!(signer.starts_with(&key.public().to_string()), "{signer}");
}

/// A certified job, counted by two workers that keep their keys, and its bundle.
struct Vouched {
    farm: Farm,
    scratch: Scratch,
    keys: [String; 2],
    bundle: String,
}

impl Vouched {
    fn new() -> Vouched {
        let farm = Farm::new("", "--report-ms 0");
        let scratch = Scratch::new();
        let _coordinator = farm.start_coordinator();
        let mut keys = [const { String::new() }; 2];
        let mut workers = Vec::new();
        for (number, key) in keys.iter_mut().enumerate() {
            let file = scratch.path(&format!("{number}.key"));
            let file = file.to_str().expect("it is text");
            let mut worker = farm.start_worker_with(&format!("--key-file {file}"));
            worker.wait_for_line("worker starts");
            let said = worker.said();
            let line = said.lines().find(|line| line.contains("worker starts")).expect("a line");
            let line: Value = serde_json::from_str(line).expect("it is JSON");
            *key = line["key"].as_str().expect("it says its key").to_string();
            workers.push(worker);
        }
        farm.client(&["submit", "10", "--rows", "3", "--certified", "--wait"]).success();
        let bundle = scratch.path("ten.bundle").display().to_string();
        let said = farm.client(&["export", "1", &bundle]).success();
        assert!(said.contains("signed by ed25519:"), "{said}");
        drop(workers);
        Vouched { farm, scratch, keys, bundle }
    }

    fn verify(&self, words: &[&str]) -> crate::support::process::Outcome {
        run(queens(&["verify", &self.bundle, "--seconds", "1", "--seed", "1"]).args(words))
    }

    fn json(&self, words: &[&str]) -> Value {
        let text = self.verify(&[words, &["--json"]].concat()).success();
        serde_json::from_str(&text).expect("it is JSON")
    }
}

#[test]
fn a_worker_that_reports_often_leaves_one_row_with_one_signature_of_each_lease() {
    let farm = Farm::new("", "--report-ms 0");
    let scratch = Scratch::new();
    let _coordinator = farm.start_coordinator();
    let _worker = farm.start_worker();
    farm.client(&["submit", "15", "--rows", "4", "--wait"]).success();

    let db = Connection::open(farm.ledger()).expect("SQLite opens it");
    let number = |query| -> i64 { db.query_row(query, [], |row| row.get(0)).expect("a number") };
    let leases = number("SELECT count(DISTINCT lease) FROM ranges");
    assert_eq!(number("SELECT count(*) FROM ranges"), leases, "one row of each lease");
    assert_eq!(number("SELECT max(length(signatures)) FROM ranges"), 64, "one signature");

    let bundle = scratch.path("fifteen.bundle").display().to_string();
    farm.client(&["export", "1", &bundle]).success();
    let said =
        run(&mut queens(&["verify", &bundle, "--seconds", "1", "--seed", "1", "--json"])).success();
    let said: Value = serde_json::from_str(&said).expect("it is JSON");
    assert_eq!(said["ranges"], leases);
    assert_eq!(said["signed"]["by_any_key"]["count"], vectors::total(15).to_string());
}

#[test]
fn verify_says_which_keys_vouch_for_what_and_whom_of_them_the_reader_trusts() {
    let vouched = Vouched::new();
    let Vouched { keys: [one, two], scratch, .. } = &vouched;
    assert_ne!(one, two);
    let said = vouched.json(&[]);
    let (ranges, signed) = (&said["ranges"], &said["signed"]);
    let total = vectors::total(10).to_string();
    for part in ["by_any_key", "by_two_keys"] {
        assert_eq!(signed[part]["count"].as_str(), Some(total.as_str()), "{part}: {signed}");
        assert_eq!(&signed[part]["ranges"], ranges);
    }
    let told: Vec<_> = signed["keys"].as_array().expect("a list").iter().collect();
    let mut names: Vec<&str> = told.iter().filter_map(|key| key["key"].as_str()).collect();
    names.sort_unstable();
    let mut ours = [one.as_str(), two];
    ours.sort_unstable();
    assert_eq!(names, ours);
    assert_eq!(signed["by_trusted_keys"], Value::Null, "nobody was named");

    let file = scratch.path("trusted");
    let path = file.to_str().expect("it is text");
    fs::write(&file, format!("# ours\n\nthe first node  {one}\n")).expect("it can be written");
    let said = vouched.json(&["--keys", path]);
    assert_eq!(said["signed"]["by_trusted_keys"]["count"].as_str(), Some(total.as_str()));
    assert_eq!(said["signed"]["exported_by_trusted"], false);
    let words = vouched.verify(&["--keys", path]).success();
    assert!(words.contains(&format!("by {one}, which is the first node")), "{words}");
    assert!(words.contains(&format!("by {two}, which is not trusted")), "{words}");

    let stranger = SigningKey::from_seed(&[9; 32]).public();
    fs::write(&file, format!("a stranger {stranger}\n")).expect("it can be written");
    let said = vouched.json(&["--keys", path]);
    assert_eq!(said["signed"]["by_trusted_keys"]["count"], "0");
    let wrong_lines = [one.clone(), format!("a {one}\nb {one}"), "a ed25519:12".into()];
    for wrong in wrong_lines {
        fs::write(&file, wrong).expect("it can be written");
        vouched.verify(&["--keys", path]).refusal(2, &["cannot read the keys", "line "]);
    }
    vouched.verify(&["--keys", "no/such/file"]).refusal(2, &["No such file"]);
}

#[test]
fn a_bundle_whose_signatures_were_changed_does_not_hold() {
    let vouched = Vouched::new();
    let text = fs::read_to_string(&vouched.bundle).expect("it is there");
    let last = text.lines().last().expect("a line");
    let signature: Value = serde_json::from_str(last).expect("it is JSON");
    let key = signature["signature"]["key"].as_str().expect("it has a key");
    let key: PublicKey = format!("ed25519:{key}").parse().expect("it is one");
    let said = vouched.json(&[]);
    assert_eq!(said["signed"]["exported_by"].as_str(), Some(key.to_string().as_str()));

    let is_refused = |text: &str, reason: &str| {
        let copy = vouched.scratch.new_file("bundle");
        fs::write(&copy, text).expect("it can be written");
        let words = ["verify", copy.to_str().expect("it is text"), "--seconds", "1", "--seed", "1"];
        run(&mut queens(&words)).refusal(16, &["does not hold", reason]);
    };
    let header = text.lines().next().expect("a line");
    let header: Value = serde_json::from_str(header).expect("it is JSON");
    let exported_at = header["exported_at"].to_string();
    is_refused(&text.replacen(&exported_at, "5", 1), "has not signed the bundle");
    let line = text.lines().find(|line| line.starts_with("{\"statement\"")).expect("it is signed");
    let at = line.len() - 5;
    let digit = if line.as_bytes()[at] == b'0' { "1" } else { "0" };
    let mut other = line.to_string();
    other.replace_range(at..=at, digit);
    is_refused(&text.replacen(line, &other, 1), "has not signed: queens statement");
    // Without the last line, it is a bundle that nobody has signed.
    let copy = vouched.scratch.new_file("bundle");
    fs::write(&copy, text.replace(&format!("{last}\n"), "")).expect("it can be written");
    let words = ["verify", copy.to_str().expect("it is text"), "--seconds", "1", "--seed", "1"];
    let said = run(&mut queens(&words)).success();
    assert!(said.contains("exported  signed by nobody"), "{said}");
}

#[test]
fn a_worker_that_cannot_keep_a_key_signs_with_one_of_its_own_and_says_so() {
    let vouched = Vouched::new();
    let scratch = &vouched.scratch;
    let taken = scratch.path("taken");
    fs::write(&taken, "no folder").expect("it can be written");
    let farm = Farm::new("", "--report-ms 0");
    let _coordinator = farm.start_coordinator();
    let url = farm.url();
    let worker = ["worker", "--coordinator", &url, "--threads", "1", "--exit-when-idle", "1s"];
    let mut command = queens(&worker);
    let said = run(command.env("XDG_STATE_HOME", &taken)).stderr;
    assert!(said.contains("there is no place to keep a key"), "{said}");
    // Whoever names a file wants it used.
    let below = taken.join("key").display().to_string();
    run(&mut queens(&[&worker[..], &["--key-file", &below]].concat())).refusal(6, &["taken"]);
    // The keys beside a ledger sign its bundles; a copy of the ledger without them signs nothing.
    let copy = scratch.path("copy.db");
    let near = scratch.path("near").display().to_string();
    let path = vouched.farm.ledger();
    run(queens(&["backup", copy.to_str().expect("it is text"), "--from"]).arg(path)).success();
    let said = run(queens(&["export", "1", &near, "--ledger"]).arg(&copy)).success();
    assert!(said.contains("signed by nobody"), "{said}");
}
