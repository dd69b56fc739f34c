//! Tables whose columns are as wide as their longest entry.

use console::{Term, measure_text_width, truncate_str};

use crate::failure::Failure;
use crate::{output, stderr, terminal};

/// The space between two columns.
const BETWEEN: &str = "  ";

/// A column: its name, whether it has numbers, which are aligned to the right, and its entry for an
/// item.
pub(crate) type Column<T> = (&'static str, bool, fn(&T) -> String);

/// A table with a line of names.
#[derive(Debug)]
pub(crate) struct Table {
    /// The name of each column, and whether it has numbers.
    columns: Vec<(&'static str, bool)>,
    rows: Vec<Vec<String>>,
}

/// The entry for what is not known.
pub(crate) fn dash() -> String {
    "-".into()
}

impl Table {
    /// A table with a row for each item.
    pub(crate) fn new<'a, T: 'a>(
        items: impl IntoIterator<Item = &'a T>,
        columns: &[Column<T>],
    ) -> Table {
        let row = |item| columns.iter().map(|(.., entry)| entry(item)).collect();
        Table {
            columns: columns.iter().map(|&(name, is_number, _)| (name, is_number)).collect(),
            rows: items.into_iter().map(row).collect(),
        }
    }

    /// Prints the table. If it has no row, the text `nothing` goes to standard error instead. On a
    /// narrow terminal, some columns are left out, as [`lines_within`](Table::lines_within) says,
    /// and a line below the table says so.
    pub(crate) fn print(&self, spared: &[&'static str], nothing: &str) -> Result<(), Failure> {
        if self.rows.is_empty() {
            stderr::print(format_args!("{nothing}\n"));
            return Ok(());
        }
        let width = terminal::width(&Term::stdout()).unwrap_or(usize::MAX);
        let (lines, left_out) = self.lines_within(width, &self.idle_and(spared), &mut Vec::new());
        lines.into_iter().try_for_each(output::print)?;
        if left_out.is_empty() {
            return Ok(());
        }
        let s = if left_out.len() == 1 { "" } else { "s" };
        output::print(format_args!(
            "without {} column{s}, for want of room: --json prints all",
            left_out.len()
        ))
    }

    /// The names of the columns without an entry in any row, followed by those in `spared`.
    fn idle_and(&self, spared: &[&'static str]) -> Vec<&'static str> {
        let is_idle =
            |column: &usize| self.rows.iter().all(|row| matches!(row[*column].as_str(), "-" | "0"));
        let idle = (0..self.columns.len()).filter(is_idle).map(|column| self.columns[column].0);
        idle.chain(spared.iter().copied()).collect()
    }

    /// The table as lines of at most `width` characters, and the names of the columns that were
    /// left out. Columns are left out in the order of `spared`, until the lines fit. If they do not
    /// fit without all of these, the widest texts are cut, down to some letters. `widths` has the
    /// least width of each column, and gets the width that it has now, so that the columns of an
    /// updated screen do not become narrower and wider all the time.
    pub(crate) fn lines_within(
        &self,
        width: usize,
        spared: &[&'static str],
        widths: &mut Vec<usize>,
    ) -> (Vec<String>, Vec<&'static str>) {
        let place = |spared| self.columns.iter().position(|(name, _)| name == spared);
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let mut left_out = Vec::new();
        widths.resize(self.columns.len(), 0);
        for (column, width) in widths.iter_mut().enumerate() {
            *width = self.width(column).max(*width);
        }
        for column in spared.iter().filter_map(place) {
            let taken = shown.iter().map(|&column| widths[column] + BETWEEN.len());
            if taken.sum::<usize>().saturating_sub(BETWEEN.len()) <= width {
                break;
            }
            if let Some(at) = shown.iter().position(|&at| at == column) {
                shown.remove(at);
                left_out.push(self.columns[column].0);
            }
        }
        let widths = self.cut(width, &shown, widths);
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(String::as_str).collect::<Vec<_>>());
        let lines =
            [names].into_iter().chain(rows).map(|entries| self.line(&shown, &widths, &entries));
        (lines.collect(), left_out)
    }

    /// The widths of the columns `shown` where the lines fit `width`, if cutting texts suffices.
    fn cut(&self, width: usize, shown: &[usize], widths: &[usize]) -> Vec<usize> {
        const LEAST: usize = 8;
        let mut widths = widths.to_vec();
        let taken = shown.iter().map(|&column| widths[column] + BETWEEN.len()).sum::<usize>();
        let mut excess = taken.saturating_sub(BETWEEN.len()).saturating_sub(width);
        while excess > 0 {
            let texts = shown.iter().filter(|&&column| !self.columns[column].1);
            let Some(&widest) = texts.max_by_key(|&&column| widths[column]) else { break };
            if widths[widest] <= LEAST {
                break;
            }
            widths[widest] -= 1;
            excess -= 1;
        }
        widths
    }

    /// The entries of these columns as a line, without spaces at its end.
    fn line(&self, columns: &[usize], widths: &[usize], entries: &[&str]) -> String {
        let padded = columns.iter().map(|&column| {
            let (entry, (_, is_number)) = (entries[column], self.columns[column]);
            let entry = truncate_str(entry, widths[column], "…");
            let space = " ".repeat(widths[column].saturating_sub(measure_text_width(&entry)));
            if is_number { format!("{space}{entry}") } else { format!("{entry}{space}") }
        });
        padded.collect::<Vec<_>>().join(BETWEEN).trim_end().to_string()
    }

    fn width(&self, column: usize) -> usize {
        let entries = self.rows.iter().map(|row| measure_text_width(&row[column]));
        entries.chain([self.columns[column].0.len()]).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(item: &str, column: usize) -> String {
        item.split(',').nth(column).expect("it has so many").into()
    }

    #[test]
    fn a_narrow_terminal_shows_what_matters_most() {
        // The item has an entry for each column, with commas between them.
        let table = Table::new(
            &["7,lab,-,2026-11-23,0.1%"],
            &[
                ("JOB", true, |it| entry(it, 0)),
                ("OWNER", false, |it| entry(it, 1)),
                ("LEFT", true, |it| entry(it, 2)),
                ("SUBMITTED", false, |it| entry(it, 3)),
                ("DONE", true, |it| entry(it, 4)),
            ],
        );
        let spared = table.idle_and(&["SUBMITTED", "OWNER"]);
        let within = |width| table.lines_within(width, &spared, &mut Vec::new());
        assert_eq!(within(34).1, [""; 0]);
        assert_eq!(within(33).1, ["LEFT"], "it says nothing");
        assert_eq!(within(27).1, ["LEFT", "SUBMITTED"]);
        let (lines, left_out) = within(10);
        assert_eq!(left_out, ["LEFT", "SUBMITTED", "OWNER"]);
        assert_eq!(lines, ["JOB  DONE", "  7  0.1%"]);
        assert_eq!(within(1), within(10), "more cannot be spared");
        let mut widths = vec![0, 0, 6];
        let wide = table.lines_within(99, &[], &mut widths).0;
        assert_eq!(
            (wide[1].as_str(), &widths[..3]),
            ("  7  lab         -  2026-11-23  0.1%", &[3, 5, 6][..])
        );
    }
}
