//! The comparison as text: a table, JSON and comma-separated values.

use board::{MethodChoice, Problem};
use literature::compare::{Line, Outcome, Why};
use serde::Serialize;

/// The names above the table.
pub(super) const HEAD: &str = " N  algorithm                      total      seconds   range            \
                               nodes  nodes/solution";

/// The names of the comma-separated values.
pub(super) const CSV_HEAD: &str =
    "n,algorithm,total,seconds,slowest_seconds,nodes,nodes_per_solution,default,left_out";

/// A line of the table.
pub(super) fn row(line: &Line) -> String {
    let Cells {
        n,
        algorithm,
        total,
        seconds,
        slowest_seconds,
        nodes,
        nodes_per_solution,
        default,
        left_out,
    } = cells(line);
    if let Some(why) = left_out {
        return format!("{n:>2}  {algorithm:<18}{why:>20}");
    }
    let total = total.unwrap_or_default();
    let range = seconds.zip(slowest_seconds).filter(|(least, most)| most > least);
    let range =
        range.map_or_else(dash, |(least, most)| format!("+{:.0}%", 100.0 * (most / least - 1.0)));
    let mark = if default { "  default" } else { "" };
    let seconds = seconds.map_or_else(dash, |seconds| format!("{seconds:.6}"));
    let nodes = nodes.map_or_else(dash, |nodes| nodes.to_string());
    let each = nodes_per_solution.map_or_else(dash, |nodes| format!("{nodes:.2}"));
    format!(
        "{n:>2}  {algorithm:<18}{total:>18} {seconds:>12} {range:>7} {nodes:>16} {each:>15}{mark}"
    )
}

fn dash() -> String {
    "-".into()
}

/// A line as JSON.
pub(super) fn json(line: &Line) -> serde_json::Result<String> {
    serde_json::to_string(&cells(line))
}

/// All lines as comma-separated values, under a line of names.
pub(super) fn csv(lines: &[Line]) -> String {
    let head = format!("{CSV_HEAD}\n");
    lines.iter().fold(head, |text, line| format!("{text}{}\n", csv_row(line)))
}

/// A line as comma-separated values. No cell has a comma or a quotation mark.
pub(super) fn csv_row(line: &Line) -> String {
    let Cells {
        n,
        algorithm,
        total,
        seconds,
        slowest_seconds,
        nodes,
        nodes_per_solution,
        default,
        left_out,
    } = cells(line);
    let total = total.unwrap_or_default();
    let [seconds, slowest, each] = [seconds, slowest_seconds, nodes_per_solution]
        .map(|cell| cell.map_or_else(String::new, plain));
    let nodes = nodes.map_or_else(String::new, |nodes| nodes.to_string());
    let left_out = left_out.unwrap_or_default();
    format!("{n},{algorithm},{total},{seconds},{slowest},{nodes},{each},{default},{left_out}")
}

fn plain(figure: f64) -> String {
    figure.to_string()
}

/// The cells of a line. Totals are decimal strings, as everywhere in our JSON.
#[derive(Serialize)]
struct Cells {
    n: u32,
    algorithm: &'static str,
    total: Option<String>,
    seconds: Option<f64>,
    slowest_seconds: Option<f64>,
    nodes: Option<u64>,
    nodes_per_solution: Option<f64>,
    /// Whether `queens count` takes it.
    default: bool,
    left_out: Option<&'static str>,
}

fn cells(line: &Line) -> Cells {
    let (n, algorithm) = (line.n, line.algorithm.name());
    let default = MethodChoice::suggested(Problem::Total { n }).name() == algorithm;
    match line.outcome {
        Outcome::LeftOut(why) => Cells {
            n,
            algorithm,
            total: None,
            seconds: None,
            slowest_seconds: None,
            nodes: None,
            nodes_per_solution: None,
            default,
            left_out: Some(words(why)),
        },
        Outcome::Counted { found, seconds, slowest } => {
            let each = |nodes| (found.total > 0).then(|| nodes as f64 / found.total as f64);
            Cells {
                n,
                algorithm,
                total: Some(found.total.to_string()),
                seconds: Some(seconds),
                slowest_seconds: Some(slowest),
                default,
                nodes: found.nodes,
                nodes_per_solution: found.nodes.and_then(each),
                left_out: None,
            }
        }
    }
}

/// Why a board was not counted.
fn words(why: Why) -> &'static str {
    match why {
        Why::Unsuited => "no such cut",
        Why::TooLarge => "left out without --all",
        Why::TooSlow => "left out by --seconds",
        Why::Memory => "left out by --memory",
    }
}
