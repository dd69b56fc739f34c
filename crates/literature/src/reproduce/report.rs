//! Writes reproduced figures as a table and as JSON.

use serde_json::{Value, json};
use vectors::{Figure, Source};

use super::Line;
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
