//! Tests of `queens reproduce`: the figures of the literature.

use vectors::figures;

use crate::support::process::{queens, run};

#[test]
fn every_quick_exact_figure_agrees_or_has_a_reason() {
    let lines = run(&mut queens(&["reproduce", "--quick", "--json"])).success();
    let lines: Vec<_> = lines.lines().map(crate::object).collect();
    let quick = figures().iter().filter(|figure| !figure.slow);
    assert_eq!(lines.len(), quick.clone().count());
    for (line, figure) in lines.iter().zip(quick) {
        assert_eq!(line["figure"], figure.name);
        let is_exact = figure.within.is_none();
        assert_eq!(line["exact"], is_exact);
        let verdict = line["verdict"].as_str().expect("a verdict");
        if is_exact && figure.ours.is_none() {
            assert_eq!(verdict, "agrees", "{line}");
        }
        assert!(verdict == "agrees" || line["reason"].is_string(), "{line}");
    }
}

#[test]
fn one_subject_is_written_as_a_table() {
    let outcome = run(&mut queens(&["reproduce", "--only", "forced,list/87"]));
    assert!(outcome.stderr.contains("7 figures: 7 agree"), "{}", outcome.stderr);
    let table = outcome.success();
    let mut rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    assert!(rows.any(|row| row == ["forced/lines", "592", "592", "agrees"]), "{table}");
    run(&mut queens(&["reproduce", "--only", "force"])).refusal(2, &["force", "mod12, completion"]);
}

#[test]
fn the_page_in_docs_has_every_figure_as_it_is_now() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/REPRODUCED.md");
    let page = std::fs::read_to_string(page).expect("it is in the repository");
    let mut rows = page.lines().filter(|line| line.starts_with("| ") && line.contains('/'));
    for figure in figures() {
        let begins = format!("| {} | {} | {} | ", figure.name, figure.claim, figure.source);
        let row = rows.next().unwrap_or_default();
        assert!(
            row.starts_with(&begins),
            "`tools/reproduced.py target/release/queens` writes the page anew: {begins} is not {row}"
        );
        assert!(row.contains(&format!("{} | ", figure.says)), "{row}");
    }
}
