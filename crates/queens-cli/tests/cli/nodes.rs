//! Tests of `queens plan` for nodes whose rates `queens bench` has measured.

use std::fs;

use crate::support::Scratch;
use crate::support::process::{queens, run};

const BENCH: [&str; 9] =
    ["bench", "--n", "10", "--sample-ms", "60s", "--backend", "portable", "--threads", "2"];
const PLAN: [&str; 6] = ["plan", "11", "--backend", "portable", "--seconds", "60"];

#[test]
fn a_plan_estimates_the_time_of_measured_nodes() {
    let scratch = Scratch::new();
    let file = scratch.path("node.json");
    fs::write(&file, run(queens(&BENCH).arg("--json")).success()).expect("it is written");
    let on = format!("{}=40", file.display());
    let nodes = ["--on", &on, "--cores", "3", "--watts", "350,10"];

    let plan = crate::object(&run(queens(&PLAN).args(nodes).arg("--json")).success());
    for (index, name, nodes, threads) in [(0, "node.json", 40, 80), (1, "portable here", 3, 3)] {
        let of = &plan["on"]["nodes"][index];
        assert_eq!((&of["name"], &of["nodes"]), (&name.into(), &nodes.into()), "{plan}");
        assert_eq!(of["threads"], threads, "{plan}");
        assert!(of["kwh"].as_f64() > Some(0.0), "{plan}");
    }
    assert!(plan["on"]["wall_seconds"].as_f64() > Some(0.0), "{plan}");

    let table = run(queens(&PLAN).args(nodes)).success();
    for part in ["40  node.json", "80 threads", "3  portable here", "core-h", "kWh", "wall      "] {
        assert!(table.contains(part), "{part}: {table}");
    }
}

#[test]
fn several_numbers_of_threads_print_how_a_loop_scales() {
    let several =
        ["bench", "--n", "10", "--sample-ms", "60s", "--backend", "portable", "--threads"];
    let table = run(queens(&several).arg("1,2")).success();
    let of = |threads: &str| {
        let cells = table.lines().skip(2).map(|line| line.split_whitespace().collect::<Vec<_>>());
        let mut lines = cells.filter(|cells| cells.contains(&threads));
        lines.next().unwrap_or_else(|| panic!("{threads} threads: {table}"))
    };
    assert!(of("1").contains(&"1.00"), "{table}");
    assert!(of("2").starts_with(&["portable"]), "{table}");
}

#[test]
fn nodes_without_a_rate_are_refused_in_a_sentence() {
    let scratch = Scratch::new();
    let write = |name: &str, text: &str| {
        fs::write(scratch.path(name), text).expect("it is written");
        format!("{}=1", scratch.path(name).display())
    };
    let other = write("other.json", "{\"seconds\": 3}\n");
    let prose = write("prose.txt", "as fast as can be\n");
    let without = write("rows.json", "");
    let refused = |args: &[&str], words: &[&str]| {
        run(queens(&["plan", "16"]).args(args)).refusal(2, words);
    };
    let nowhere = format!("{}=2", scratch.path("nowhere.json").display());
    refused(&["--on", &nowhere], &["cannot read the rates", "queens bench --json"]);
    refused(&["--on", &other], &["is not what `queens bench --json` writes"]);
    refused(&["--on", &prose], &["is not what `queens bench --json` writes"]);
    refused(&["--on", &without], &["no rate of colours", "--sample-ms"]);
    refused(&["--cores", "2", "--watts", "1,2"], &["2 numbers for 1 types"]);
    refused(&["--watts", "1"], &["1 numbers for 0 types"]);
    refused(&["--cores", "2", "--seconds", "0"], &["need a sample"]);
    refused(&["--on", "node.json=0"], &["1 or more"]);
    refused(&["--on", "node.json"], &["FILE=NODES"]);
    refused(&["--cores", "0"], &["--cores"]);
    refused(&["--backend", "mmx"], &["no backend is named"]);
    let unique = ["--problem", "fundamental", "--method", "unique", "--cores", "2"];
    refused(&unique, &["on one thread"]);
}
