//! Reads the logs in which workers describe their sessions.

use std::path::Path;

use farm::Range;
use serde_json::Value;

/// A relevant line of a worker's log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    /// The offset of its end in the log, in bytes.
    pub(crate) end: u64,
    pub(crate) entry: Entry,
}

/// The content of a line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    /// The worker was leased a range.
    Lease { job: u64, range: Range, epoch: u64 },
    /// The coordinator acknowledged a count.
    Acknowledged { job: u64, range: Range, verdict: String },
}

/// Reads a worker's log, in order. The last line may be incomplete.
pub(crate) fn read(log: &Path) -> Vec<Line> {
    let text = std::fs::read_to_string(log).expect("logs are text");
    let mut end = 0;
    let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let lines = lines.filter_map(|line| {
        end += line.len() as u64;
        Some(Line { end, entry: entry(line)? })
    });
    lines.collect()
}

fn entry(line: &str) -> Option<Entry> {
    let line: Value = serde_json::from_str(line).expect("a line of the log is one JSON object");
    let text = |field: &str| line[field].as_str().unwrap_or_else(|| panic!("{field}: {line}"));
    let number = |field: &str| text(field).parse::<u64>().expect("a number");
    match line["message"].as_str()? {
        "lease" => Some(Entry::Lease {
            job: number("job"),
            range: range(text("range")),
            // The upper bits of a lease's number are the epoch of the coordinator that leased it.
            epoch: number("lease") >> 40,
        }),
        "acknowledged" => Some(Entry::Acknowledged {
            job: number("job"),
            range: range(text("range")),
            verdict: text("verdict").into(),
        }),
        _ => None,
    }
}

/// Reads a range in the form `[start, end)`.
fn range(text: &str) -> Range {
    let ends = text.trim_matches(['[', ')']).split_once(", ").expect("two ends");
    let [start, end] = [ends.0, ends.1].map(|end| end.parse().expect("an ordinal"));
    Range::new(start, end).expect("not empty")
}
