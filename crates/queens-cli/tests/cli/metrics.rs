//! Tests of `/metrics`: its content, its access, and that docs/METRICS.md lists it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use serde_json::Value;

use crate::support::process::{queens, run, wait_until};
use crate::support::{Farm, Scratch, assert_private};

const PAGE: &str = include_str!("../../../../docs/METRICS.md");

#[test]
fn the_documentation_lists_exactly_the_metrics() {
    // Given: a farm in the middle of a job, whose ledger has been copied.
    let scratch = Scratch::new();
    let farm = Farm::new("", "--report-ms 0");
    let _coordinator = farm.start_coordinator();
    farm.client(&["submit", "20", "--method", "rows"]).success();
    let _worker = farm.start_worker();
    let copy = scratch.path("copy.db").display().to_string();
    farm.client(&["backup", &copy]).success();

    // When it is read
    let mut reported = String::new();
    wait_until("the time left to be known", || {
        reported = get(&farm.address());
        reported.contains("\nqueens_job_remaining_seconds{")
    });

    // Then the documentation lists exactly these metrics, with their labels and meanings.
    check_format(&reported);
    let listed: BTreeSet<String> =
        PAGE.lines().filter(|line| line.starts_with("- `")).map(String::from).collect();
    let rows = rows(&reported);
    let missing: Vec<&String> = rows.difference(&listed).collect();
    let stale: Vec<&String> = listed.difference(&rows).collect();
    assert!(missing.is_empty() && stale.is_empty(), "missing {missing:#?}\nstale {stale:#?}");
}

#[test]
fn the_number_of_series_does_not_grow_with_workers_and_old_jobs() {
    let farm = Farm::new("", "");
    let _coordinator = farm.start_coordinator();
    farm.client(&["submit", "20", "--method", "rows"]).success();
    let _first = farm.start_worker();
    let mut one = String::new();
    wait_until("a worker to count", || {
        one = get(&farm.address());
        value(&one, "queens_workers") == 1.0 && one.contains("\nqueens_job_tasks{job_id=\"1\"}")
    });

    let _others = [farm.start_worker(), farm.start_worker()];
    farm.client(&["submit", "8", "--priority", "9", "--wait"]).success();
    farm.client(&["jobs", "2"]).success();
    wait_until("three workers", || value(&get(&farm.address()), "queens_workers") == 3.0);

    let three = get(&farm.address());
    let lasting = |text: &str| -> BTreeSet<String> {
        // The time left may be unknown, and the second job is among the last that have ended.
        let is_lasting = |line: &&str| {
            let passing = ["queens_job_remaining", "job_id=\"2\""];
            !line.starts_with('#') && !passing.iter().any(|word| line.contains(word))
        };
        let samples = text.lines().filter(is_lasting);
        samples.filter_map(|line| Some(line.rsplit_once(' ')?.0.to_owned())).collect()
    };
    assert_eq!(lasting(&three), lasting(&one));
    assert_eq!(value(&three, "queens_jobs{state=\"done\"}"), 1.0);
    assert_eq!(value(&three, "queens_worker_threads{backend=\"portable\"}"), 3.0);
}

#[test]
fn the_credential_for_prometheus_lasts_and_can_only_read() {
    let scratch = Scratch::new();
    let monitor = scratch.path("monitor");
    let farm = Farm::new(&format!("--tls --monitor-folder {}", monitor.display()), "");
    let coordinator = farm.start_coordinator();
    let [token, authority] = ["token", "authority.pem"].map(|name| monitor.join(name));
    [&monitor, &token, &authority].into_iter().for_each(|path| assert_private(path));
    let read = |path: &Path| fs::read_to_string(path).expect("it is text");
    assert!(!read(&authority).contains("PRIVATE"), "the key stays with the coordinator");

    // The credential is a viewer's.
    let secret = read(&token);
    let join = read(&farm.key("join"));
    let (_, place) = join.trim().rsplit_once('@').expect("an address follows");
    let viewer = format!("queens://{secret}@{place}");
    run(&mut queens(&["jobs", "--join", &viewer])).success();
    run(&mut queens(&["submit", "8", "--join", &viewer])).refusal(6, &["a viewer's"]);

    // It is still valid after a restart, and ends when it is revoked.
    coordinator.stop();
    let coordinator = farm.start_coordinator();
    assert_eq!(read(&token), secret);
    // If its file is lost, there is a new one, and the old one is valid until it is revoked.
    coordinator.stop();
    fs::remove_file(farm.key("viewer")).expect("it was there");
    let coordinator = farm.start_coordinator();
    let warning = "the viewer's token in the folder of keys is lost, and a new one is made";
    assert!(coordinator.said().contains(warning), "{}", coordinator.said());
    assert_ne!(read(&token), secret);
    run(&mut queens(&["jobs", "--join", &viewer])).success();
    for number in ["1", "2"] {
        run(&mut queens(&["token", "revoke", number, "--join", join.trim()])).success();
    }
    run(&mut queens(&["jobs", "--join", &viewer])).refusal(6, &["revoked"]);
    coordinator.stop();
    let coordinator = farm.start_coordinator();
    assert!(coordinator.said().contains("was revoked (token 2)"), "{}", coordinator.said());

    let open = run(&mut Farm::new("--monitor-folder monitor", "").coordinator());
    open.refusal(2, &["--monitor-folder", "--tls or --token-file"]);
}

#[test]
fn alerts_and_dashboard_use_only_existing_metrics() {
    let known: BTreeSet<&str> = PAGE.lines().filter_map(|line| line.split('`').nth(1)).collect();
    let rules = include_str!("../../../../deploy/prometheus/rules.yml");
    let dashboard: Value =
        serde_json::from_str(include_str!("../../../../deploy/prometheus/dashboard.json"))
            .expect("it is JSON");
    let panels = dashboard["panels"].as_array().expect("a list").iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().expect("a list"));
    let queries = targets.map(|target| target["expr"].as_str().expect("a query"));
    let texts: Vec<&str> = queries.chain([rules]).collect();

    let mut asked = BTreeSet::new();
    for text in &texts {
        let args = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for name in args.filter(|word| word.starts_with("queens_")) {
            let histogram = ["_bucket", "_sum", "_count"].map(|end| name.strip_suffix(end));
            let names = histogram.into_iter().flatten().chain([name]);
            assert!(
                names.clone().any(|name| known.contains(name)),
                "{name} is not in docs/METRICS.md"
            );
            asked.insert(name);
        }
    }
    assert!(texts.len() > 20 && asked.len() > 15, "{} queries, {asked:?}", texts.len());
}

#[test]
fn every_alert_is_tested_and_listed() {
    let rules = include_str!("../../../../deploy/prometheus/rules.yml");
    let tests = include_str!("../../../../deploy/prometheus/tests.yml");
    let page = include_str!("../../../../deploy/prometheus/README.md");
    let names: Vec<&str> =
        rules.lines().filter_map(|line| line.split_once("- alert: ")).map(|it| it.1).collect();
    assert!(names.len() >= 9, "{names:?}");
    for name in names {
        for (text, part, problem) in [
            (tests, format!("alertname: {name}, exp_alerts: []"), "is never silent"),
            (tests, format!("alertname: {name}\n        exp_alerts:\n"), "never fires"),
            (page, format!("| `{name}` |"), "is not in the README"),
        ] {
            assert!(text.contains(&part), "{name} {problem}");
        }
    }
}

/// The metrics of a coordinator with open access.
pub(crate) fn get(address: &str) -> String {
    page(address, "/metrics")
}

/// What a coordinator answers to somebody without a credential.
pub(crate) fn page(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it is connected");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it ends well");
    let (head, body) = answer.split_once("\r\n\r\n").expect("it is an answer");
    assert!(head.starts_with("HTTP/1.1 200 "), "{answer}");
    body.into()
}

fn value(text: &str, series: &str) -> f64 {
    let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {series}: {text}"))
}

/// A line of the documentation for each metric in `text`.
fn rows(text: &str) -> BTreeSet<String> {
    let args = |line: &str, kind: &str| -> Option<(String, String)> {
        let (name, args) = line.strip_prefix(kind)?.split_once(' ')?;
        Some((name.into(), args.into()))
    };
    let helps: BTreeMap<_, _> = text.lines().filter_map(|line| args(line, "# HELP ")).collect();
    let kinds = text.lines().filter_map(|line| args(line, "# TYPE "));
    let row = |(name, kind): (String, String)| {
        let sample = if kind == "histogram" { "_count" } else { "" };
        let labels = labels(text, &format!("{name}{sample}"));
        let labels = if labels.is_empty() { labels } else { format!(" ({labels})") };
        format!("- `{name}`{labels}: {}", helps[&name])
    };
    kinds.map(row).collect()
}

/// Checks the rules of Prometheus' text format, version 0.0.4, and those of `promtool check
/// metrics`. Each family appears once and in one piece, with its help and its kind before its
/// samples. Names agree with the kind. Every value is a number. No series appears twice.
fn check_format(text: &str) {
    let (mut family, mut all) = ("", BTreeSet::new());
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("# HELP ") {
            family = head.split_once(' ').expect("a help follows").0;
            assert!(all.insert(format!("the help of {family}")), "{line}");
        } else if let Some(head) = line.strip_prefix("# TYPE ") {
            let (named, kind) = head.split_once(' ').expect("a kind follows");
            assert_eq!(named, family, "help comes first");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", family.ends_with("_total"), "{line}");
            assert!(!family.contains(kind) && !family.ends_with("_ms"), "{line}");
        } else {
            let (series, value) = line.rsplit_once(' ').expect("a value follows");
            assert!(value.parse::<f64>().is_ok() && series.starts_with(family), "{line}");
            assert!(all.insert(series.into()), "{series} is there twice");
        }
    }
    assert!(all.len() > 60, "{text}");
}

/// The names of the labels of a sample. The sample must exist.
fn labels(text: &str, sample: &str) -> String {
    let is_it =
        |line: &&str| line.strip_prefix(sample).is_some_and(|rest| rest.starts_with(['{', ' ']));
    let line = text.lines().find(is_it).unwrap_or_else(|| panic!("no sample of {sample}: {text}"));
    let Some((_, labels)) = line.split_once('{') else { return String::new() };
    let names =
        labels.split("\",").filter_map(|label| Some(format!("`{}`", label.split_once('=')?.0)));
    names.collect::<Vec<_>>().join(", ")
}
