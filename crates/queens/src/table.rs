//! Tables whose columns are as wide as what is in them, as text, as comma-separated values or as JSON.

use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::output;

/// How a list is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// Columns for people
    #[default]
    Table,
    /// One object a line
    Json,
    /// Comma-separated values, with a first line of names
    Csv,
}

/// The options of commands that print lists.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ListArgs {
    /// How the list is printed
    #[arg(short = 'o', long, value_enum, default_value_t, value_name = "FORMAT")]
    output: ListFormat,
    /// Print JSON, one object a line: the same as --output json
    #[arg(long, conflicts_with = "output")]
    json: bool,
}

impl ListArgs {
    /// What was chosen.
    pub(crate) fn format(&self) -> ListFormat {
        if self.json { ListFormat::Json } else { self.output }
    }
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

    /// The table as lines, without spaces at their ends.
    pub(crate) fn lines(&self) -> Vec<String> {
        let width = |column: usize| {
            let entries = self.rows.iter().map(|row| row[column].chars().count());
            entries.chain([self.columns[column].0.len()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let line = |entries: &mut dyn Iterator<Item = &str>| {
            let mut line = String::new();
            for ((entry, width), (_, is_number)) in entries.zip(&widths).zip(&self.columns) {
                if !line.is_empty() {
                    line.push_str("  ");
                }
                let space = " ".repeat(width.saturating_sub(entry.chars().count()));
                line +=
                    &if *is_number { format!("{space}{entry}") } else { format!("{entry}{space}") };
            }
            line.trim_end().to_string()
        };
        let head = line(&mut self.columns.iter().map(|(name, _)| *name));
        let rows = self.rows.iter().map(|row| line(&mut row.iter().map(String::as_str)));
        [head].into_iter().chain(rows).collect()
    }

    /// Prints the table as comma-separated values (RFC 4180).
    pub(crate) fn print_csv(&self) -> Result<(), Failure> {
        let entry = |text: &str| match text.contains(['"', ',', '\n', '\r']) {
            true => format!("\"{}\"", text.replace('"', "\"\"")),
            false => text.to_string(),
        };
        let names: Vec<String> =
            self.columns.iter().map(|(name, _)| name.to_lowercase().replace(' ', "_")).collect();
        output::print(names.join(","))?;
        self.rows.iter().try_for_each(|row| {
            output::print(row.iter().map(|text| entry(text)).collect::<Vec<_>>().join(","))
        })
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
        let lines = table.lines();
        assert_eq!(lines[0], "    JOB  OWNER                     DONE");
        assert_eq!(lines[1], "      7  a-lab-with-a-long-name    0.1%");
        assert_eq!(lines[2], "1234567  b                       100.0%");
    }
}
