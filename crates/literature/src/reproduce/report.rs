//! Writes reproduced figures as a table, JSON and a page.

use std::fmt::Write;

use serde_json::{Value, json};
use vectors::{Figure, Source};

use super::Line;
use super::machine::Machine;
use super::verdict::Verdict;

/// The header of the table.
pub const HEAD: &str =
    "figure                  the source's value    ours                  verdict";

/// A line of the table, followed by a line with the reason if there is one.
#[must_use]
pub fn row(line: &Line) -> String {
    let Line { figure, ours, verdict } = line;
    let says = said(figure);
    let row = format!("{:<22}  {says:<20}  {ours:<20}  {}", figure.name, verdict.words());
    match reason(line) {
        Some(why) => format!("{row}\n    {why}"),
        None => row,
    }
}

/// The value of the source.
fn said(figure: &Figure) -> String {
    format!("{}{}", if figure.at_most { "at most " } else { "" }, figure.says)
}

/// The reason why the values differ, if they do and it is known.
fn reason(line: &Line) -> Option<&'static str> {
    let why = line.figure.why.as_deref();
    why.filter(|_| line.verdict != Verdict::Agrees)
}

/// The number of figures with each verdict.
#[must_use]
pub fn summary(lines: &[Line]) -> String {
    let having = |wanted: fn(&Line) -> bool| lines.iter().filter(|line| wanted(line)).count();
    let explained = having(|line| line.verdict == Verdict::Explained);
    let measured = having(|line| line.verdict == Verdict::Differs && !line.is_fault());
    format!(
        "{} figures: {} agree, {explained} differ for a known reason, {measured} that were measured differ, \
         {} contradict their source",
        lines.len(),
        having(|line| line.verdict == Verdict::Agrees),
        having(Line::is_fault),
    )
}

/// A line as a JSON object. Values are strings, because some are placements and some exceed 2^53.
#[must_use]
pub fn json(line: &Line) -> Value {
    let Line { figure, ours, verdict } = line;
    let Source { author, year, place, .. } = figure.source();
    json!({
        "figure": figure.name,
        "author": author,
        "year": year,
        "place": place,
        "claim": figure.claim,
        "command": format!("queens {}", figure.run),
        "source_value": said(figure),
        "ours": ours,
        "verdict": verdict.words(),
        "exact": figure.within.is_none(),
        "reason": reason(line),
    })
}

/// A page for readers: the figures and their sources.
#[must_use]
pub fn markdown(lines: &[Line], machine: &Machine) -> String {
    let mut page = head(machine);
    page += "\n| figure | what it is | source | its value | ours |\n|---|---|---|---|---|\n";
    for line in lines {
        let figure = line.figure;
        let row =
            [&figure.name, &figure.claim, &figure.source().name, &said(figure), &compared(line)];
        let _ = writeln!(page, "| {} |", row.map(|cell| cell.replace('|', "\\|")).join(" | "));
    }
    for line in lines {
        if let Some(why) = reason(line) {
            let _ = writeln!(page, "\n`{}`: {why}", line.figure.name);
        }
    }
    page + &sources(lines)
}

/// Our value beside the source's, with the verdict where they do not agree.
fn compared(Line { figure, ours, verdict }: &Line) -> String {
    match verdict {
        Verdict::Agrees if *ours == said(figure) => "same".into(),
        Verdict::Agrees => ours.clone(),
        verdict => format!("{ours}, {}", verdict.words()),
    }
}

fn head(machine: &Machine) -> String {
    let Machine { date, processor, processors, backend, load } = machine;
    let shared = if machine.was_shared() {
        format!("shared with other programs (load {load:.1} at the start)")
    } else {
        format!("otherwise idle (load {load:.1} at the start)")
    };
    format!(
        "# Figures of the literature, reproduced\n\n\
         `queens reproduce --markdown docs/REPRODUCED.md` wrote this page on {date}, on {processor}, \
         {processors} processors, {shared}, counting loop {backend}. `queens reproduce --only FIGURE --json` prints \
         the command that prints a figure. A figure with a decimal point is measured, and agrees within the factor \
         that `vectors/sources.json` names.\n"
    )
}

fn sources(lines: &[Line]) -> String {
    let mut named: Vec<&Source> = Vec::new();
    for line in lines {
        let source = line.figure.source();
        if !named.iter().any(|it| it.name == source.name) {
            named.push(source);
        }
    }
    named.iter().fold(
        "\n## Sources\n\n".to_string(),
        |text, Source { name, author, year, place }| {
            let year = year.map_or_else(String::new, |year| format!(" ({year})"));
            format!("{text}- {name}: {author}{year}. {place}.\n")
        },
    )
}
