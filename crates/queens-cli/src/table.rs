//! Tables whose columns are as wide as what is in them, as text, as comma-separated values or as JSON.

use std::io::IsTerminal;

use clap::{Args, ValueEnum};
use console::Term;

use crate::failure::Failure;
use crate::output;

/// How a list is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// Columns for people
    #[default]
    Table,
    #[value(skip)]
    Json,
    /// Comma-separated values, with a first line of names
    Csv,
}

/// The options of commands that print lists.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ListArgs {
    /// table or csv
    #[arg(short = 'o', long, value_enum, default_value_t, value_name = "FORMAT")]
    output: ListFormat,
    /// Print JSON, one object a line
    #[arg(long, conflicts_with = "output")]
    json: bool,
}

impl ListArgs {
    /// What was chosen.
    pub(crate) fn format(&self) -> ListFormat {
        if self.json { ListFormat::Json } else { self.output }
    }
}

/// What stands between two columns.
const BETWEEN: &str = "  ";

/// The characters in a line of standard output; no bound if it is no terminal.
fn width_of_terminal() -> usize {
    let size = Term::stdout().size_checked();
    size.filter(|_| std::io::stdout().is_terminal())
        .map_or(usize::MAX, |(_, columns)| columns.into())
}

/// A table with a line of names.
#[derive(Debug)]
pub(crate) struct Table {
    /// Names, and whether the column is of numbers, which stand at its right edge.
    columns: Vec<(&'static str, bool)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns. Those marked `true` are of numbers.
    pub(crate) fn new(columns: &[(&'static str, bool)]) -> Table {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row, which has an entry for each column.
    pub(crate) fn push(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }

    /// The table without these columns.
    pub(crate) fn without(self, names: &[&str]) -> Table {
        let Table { columns, rows } = self;
        let is_kept: Vec<bool> = columns.iter().map(|(name, _)| !names.contains(name)).collect();
        let kept = |row: Vec<String>| {
            row.into_iter()
                .zip(&is_kept)
                .filter(|(_, kept)| **kept)
                .map(|(entry, _)| entry)
                .collect()
        };
        let rows = rows.into_iter().map(kept).collect();
        let columns = columns.into_iter().filter(|(name, _)| !names.contains(name)).collect();
        Table { columns, rows }
    }

    /// Prints the table, or says `nothing` on standard error if it has no row. On a terminal that is too narrow it is without
    /// some columns, and says so: see [`lines_within`](Table::lines_within).
    pub(crate) fn print(&self, spared: &[&'static str], nothing: &str) -> Result<(), Failure> {
        if self.rows.is_empty() {
            output::tell(format_args!("{nothing}\n"));
            return Ok(());
        }
        let (lines, left_out) = self.lines_within(width_of_terminal(), spared);
        lines.into_iter().try_for_each(output::print)?;
        match left_out.is_empty() {
            true => Ok(()),
            false => output::print(format_args!(
                "without {} columns, for which the terminal is too narrow: -o csv prints all",
                left_out.len()
            )),
        }
    }

    /// The table as lines of at most `width` characters, if that can be had by leaving out columns: first those of which
    /// no row says anything, then the `spared` ones in this order. And the names of those that were left out.
    pub(crate) fn lines_within(
        &self,
        width: usize,
        spared: &[&'static str],
    ) -> (Vec<String>, Vec<&'static str>) {
        let is_idle =
            |&column: &usize| self.rows.iter().all(|row| matches!(row[column].as_str(), "-" | "0"));
        let idle = (0..self.columns.len()).filter(is_idle);
        let place = |spared| self.columns.iter().position(|(name, _)| name == spared);
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let mut left_out = Vec::new();
        let widths: Vec<usize> = (0..self.columns.len()).map(|column| self.width(column)).collect();
        for column in idle.chain(spared.iter().filter_map(place)) {
            let taken = shown.iter().map(|&column| widths[column] + BETWEEN.len());
            if taken.sum::<usize>().saturating_sub(BETWEEN.len()) <= width {
                break;
            }
            if let Some(at) = shown.iter().position(|&at| at == column) {
                shown.remove(at);
                left_out.push(self.columns[column].0);
            }
        }
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(String::as_str).collect::<Vec<_>>());
        let lines =
            [names].into_iter().chain(rows).map(|entries| self.line(&shown, &widths, &entries));
        (lines.collect(), left_out)
    }

    /// The entries of these columns as a line, without spaces at its end.
    fn line(&self, columns: &[usize], widths: &[usize], entries: &[&str]) -> String {
        let padded = columns.iter().map(|&column| {
            let (entry, (_, is_number)) = (entries[column], self.columns[column]);
            let space = " ".repeat(widths[column].saturating_sub(entry.chars().count()));
            if is_number { format!("{space}{entry}") } else { format!("{entry}{space}") }
        });
        padded.collect::<Vec<_>>().join(BETWEEN).trim_end().to_string()
    }

    fn width(&self, column: usize) -> usize {
        let entries = self.rows.iter().map(|row| row[column].chars().count());
        entries.chain([self.columns[column].0.len()]).max().unwrap_or(0)
    }

    /// Prints the table as comma-separated values (RFC 4180).
    pub(crate) fn print_csv(&self) -> Result<(), Failure> {
        let names: Vec<String> = self
            .columns
            .iter()
            .map(|(name, _)| name.to_lowercase().replace("/s", "_per_second").replace('-', "_"))
            .collect();
        output::print(names.join(","))?;
        self.rows.iter().try_for_each(|row| {
            output::print(row.iter().map(|text| csv_entry(text)).collect::<Vec<_>>().join(","))
        })
    }
}

/// A text as an entry of comma-separated values. An apostrophe stands before what a spreadsheet would take for a formula,
/// because names come from others.
fn csv_entry(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r'])
        && text != "-"
        && text.parse::<f64>().is_err();
    let text = if is_formula { format!("'{text}") } else { text.to_string() };
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let mut table = Table::new(&[("JOB", true), ("OWNER", false), ("DONE", true)]);
        table.push(vec!["7".into(), "a-lab-with-a-long-name".into(), "0.1%".into()]);
        table.push(vec!["1234567".into(), "b".into(), "100.0%".into()]);
        let (lines, left_out) = table.lines_within(usize::MAX, &["OWNER"]);
        assert!(left_out.is_empty());
        assert_eq!(lines[0], "    JOB  OWNER                     DONE");
        assert_eq!(lines[1], "      7  a-lab-with-a-long-name    0.1%");
        assert_eq!(lines[2], "1234567  b                       100.0%");
    }

    #[test]
    fn no_entry_of_a_csv_file_is_a_formula() {
        for name in ["=1+1", "+cmd", "-x|calc", "@SUM(A1)", "\t=1"] {
            assert_eq!(csv_entry(name), format!("'{name}"));
        }
        assert_eq!(csv_entry("=HYPERLINK(\"a\",\"b\")"), "\"'=HYPERLINK(\"\"a\"\",\"\"b\"\")\"");
        for plain in ["-", "-5", "+1.5", "lab-1", "a=b", ""] {
            assert_eq!(csv_entry(plain), plain);
        }
    }

    #[test]
    fn a_narrow_terminal_shows_what_matters_most() {
        let mut table = Table::new(&[
            ("JOB", true),
            ("OWNER", false),
            ("LEFT", true),
            ("SUBMITTED", false),
            ("DONE", true),
        ]);
        let row = ["7", "lab", "-", "2026-11-23", "0.1%"];
        table.push(row.map(String::from).to_vec());
        let within = |width| table.lines_within(width, &["SUBMITTED", "OWNER"]);
        assert_eq!(within(34).1, [""; 0]);
        assert_eq!(within(33).1, ["LEFT"], "it says nothing");
        assert_eq!(within(27).1, ["LEFT", "SUBMITTED"]);
        let (lines, left_out) = within(10);
        assert_eq!(left_out, ["LEFT", "SUBMITTED", "OWNER"]);
        assert_eq!(lines, ["JOB  DONE", "  7  0.1%"]);
        assert_eq!(within(1), within(10), "more cannot be spared");
    }
}
