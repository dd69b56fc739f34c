//! Tests that `docs/JSON.md` has exactly the fields that are printed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use crate::support::process::{queens, run};
use crate::support::{Farm, Scratch};

/// Fields whose parts are names of owners, kernels or the like.
const BY_NAME: [&str; 3] = ["owners", "kernels", "builds"];

/// Commands that need no farm, by the title of the section about them.
const LOCAL: [(&str, &[&str]); 7] = [
    (
        "count",
        &[
            "count 8 --given a1",
            "count 8 --given a1 --blocked b3 --ranks 5",
            "count 5 --by-column",
            "count 10 --rows 2",
            "count 6 --problem fundamental",
            "count 6 --method states",
            "count 6 --method forced",
            "count 6 --method unique --problem fundamental",
        ],
    ),
    (
        "solve, list",
        &[
            "solve 8",
            "solve 8 --given a1 --stats --limit-seconds 1m",
            "list 6 --numbered",
            "solve 8 --random",
        ],
    ),
    ("check", &["check 2 4 1 3"]),
    (
        "plan",
        &[
            "plan 8 --given a1",
            "plan 10 --rows 2 --seconds 1s",
            "plan 5 --tasks",
            "plan 8 --method unique --problem fundamental",
        ],
    ),
    ("bench", &["bench --n 8 --sample-ms 1ms --backend portable"]),
    ("compare", &["compare 5"]),
    ("reproduce", &["reproduce --quick --only forced"]),
];

/// The sections that a farm and its ledgers print.
const OF_A_FARM: &str =
    "Jobs, workers, tokens; trust; jobs --health; export; verify; merge; backup";

/// The fields that each section of the page names.
fn page() -> BTreeMap<String, BTreeSet<String>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/JSON.md");
    let text = fs::read_to_string(path).expect("it is text");
    let fields = |section: &str| -> BTreeSet<String> {
        let cells = section.lines().filter_map(|line| line.strip_prefix("- `")?.split(": ").next());
        let names = cells.flat_map(|cell| cell.split('`').step_by(2).map(String::from));
        names.filter(|name| !name.is_empty()).collect()
    };
    let sections = text.split("\n## ").skip(1);
    sections.map(|text| (text.lines().next().expect("a title").into(), fields(text))).collect()
}

/// Records the fields of an object, and whether each of them has a content.
fn note(value: &Value, path: &str, fields: &mut BTreeMap<String, bool>) {
    match value {
        Value::Object(parts) => {
            for (name, part) in parts {
                let is_empty = part.is_null() || part.as_array().is_some_and(Vec::is_empty);
                let path = format!("{path}{name}");
                *fields.entry(path.clone()).or_default() |= !is_empty;
                if !BY_NAME.contains(&path.as_str()) {
                    let dot = if part.is_array() { "[]." } else { "." };
                    note(part, &format!("{path}{dot}"), fields);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| note(item, path, fields)),
        _ => {}
    }
}

/// Asserts that a section names the fields of these lines. It may also name parts of fields that
/// are empty in all lines.
fn assert_names(title: &str, lines: &[String]) {
    let mut printed = BTreeMap::new();
    for line in lines {
        let object = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        note(&object, "", &mut printed);
    }
    let named = &page()[title];
    let unnamed: Vec<&String> = printed.keys().filter(|field| !named.contains(*field)).collect();
    assert!(unnamed.is_empty(), "docs/JSON.md, `{title}`, lacks {unnamed:?}");
    let may_be = |field: &str| {
        let whole = field.match_indices(['.', '[']).map(|(end, _)| &field[..end]);
        printed.contains_key(field) || whole.into_iter().any(|it| printed.get(it) == Some(&false))
    };
    let stale: Vec<&String> = named.iter().filter(|field| !may_be(field)).collect();
    assert!(stale.is_empty(), "docs/JSON.md, `{title}`, names {stale:?}, which nothing prints");
}

/// Asserts that lines are objects of this name in the description of the API, with some `more`
/// fields.
fn assert_are(name: &str, more: &[&str], lines: &[String]) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let described = fs::read_to_string(path).expect("it is text");
    let described: Value = serde_json::from_str(&described).expect("it is JSON");
    let mut fields: BTreeSet<String> = more.iter().map(|field| (*field).into()).collect();
    let mut parts = vec![&described["components"]["schemas"][name]];
    while let Some(part) = parts.pop() {
        fields.extend(part["properties"].as_object().into_iter().flat_map(|it| it.keys().cloned()));
        parts.extend(part["allOf"].as_array().into_iter().flatten());
        let of = part["$ref"].as_str().and_then(|name| name.strip_prefix('#'));
        parts.extend(of.map(|of| described.pointer(of).expect("it is described")));
    }
    assert!(!lines.is_empty());
    for line in lines {
        let object: Value = serde_json::from_str(line).expect("an object");
        let object = object.as_object().expect("an object");
        assert_eq!(object.keys().cloned().collect::<BTreeSet<_>>(), fields, "{name}: {line}");
    }
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(String::from).collect()
}

#[test]
fn the_page_names_what_local_commands_print() {
    for (title, commands) in LOCAL {
        let printed = commands.iter().flat_map(|command| {
            let args: Vec<&str> = command.split(' ').chain(["--json"]).collect();
            lines(&run(&mut queens(&args)).success())
        });
        assert_names(title, &printed.collect::<Vec<_>>());
    }
}

#[test]
fn the_page_names_what_a_farm_and_its_ledgers_print() {
    let (farm, scratch) = (Farm::new("", "--report-ms 0"), Scratch::new());
    let _coordinator = farm.start_coordinator();
    let worker = farm.start_worker();
    let path = |name: &str| scratch.path(name).to_str().expect("it is text").to_owned();
    let client = |args: &str| {
        let args: Vec<&str> = args.split(' ').chain(["--json"]).collect();
        lines(&farm.client(&args).success())
    };

    // A job is the same object in every output.
    let submitted = client("submit 12 --rows 3 --certified");
    let views = ["jobs", "jobs 1", "pause 1", "resume 1", "priority 1 5", "audit 1 --all"];
    let mut jobs: Vec<String> = views.iter().flat_map(|args| client(args)).collect();
    client("audit 1 --withdraw");
    jobs.extend(client("watch 1"));
    jobs.extend(submitted);
    assert_are("Job", &[], &jobs);

    let bundle = path("bundle");
    assert_names("export", &client(&format!("export 1 {bundle}")));
    let verified = run(&mut queens(&["verify", &bundle, "--json"])).success();
    assert_names("verify", &lines(&verified));
    let (copy, other) = (path("copy.db"), path("other.db"));
    let copied = client(&format!("backup {copy}"));
    let of_ledgers = |args: &[&str]| lines(&run(&mut queens(args)).success());
    let checked = of_ledgers(&["backup", "--check", &copy, "--json"]);
    assert_eq!(copied, checked, "a copy is told as a check of it");
    assert_names("backup", &checked);
    let count = ["count", "8", "--problem", "fundamental", "--ledger", &other];
    of_ledgers(&count);
    let into = path("merged.db");
    assert_names("merge", &of_ledgers(&["merge", &other, "--into", &into, "--json"]));

    let created = client("token create --role viewer --owner lab");
    assert_are("Token", &[], &client("token list"));
    assert_are("Token", &["secret", "join"], &created);
    assert_names("jobs --health", &client("jobs --health"));
    let listed = client("workers");
    drop(worker);
    assert_names("trust", &client("trust local/elsewhere --revoke --reason test"));
    assert_are("Worker", &[], &listed);
    assert_names("Jobs, workers, tokens", &client("workers"));
}

#[test]
fn every_section_of_the_page_is_tested() {
    let titles: BTreeSet<String> = page().into_keys().collect();
    let of_a_farm = OF_A_FARM.split("; ");
    let run = LOCAL.iter().map(|(title, _)| *title).chain(of_a_farm).map(String::from).collect();
    assert_eq!(titles, run);
}
