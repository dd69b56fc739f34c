//! A bar with words that fits its terminal.

use std::io::IsTerminal;

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Number of steps of the bar: each is a hundredth of a percent.
const STEPS: u64 = 10_000;

/// A bar on a terminal, with words.
#[derive(Debug)]
pub(super) struct Bar {
    bar: ProgressBar,
    /// The width for which the style was made.
    cells: Option<usize>,
}

impl Bar {
    pub(super) fn new() -> Bar {
        let target = ProgressDrawTarget::stderr_with_hz(10);
        let bar = ProgressBar::with_draw_target(Some(STEPS), target);
        // Whatever is set first is drawn at once, and not in the library's own style.
        Bar { bar: bar.with_style(style(0)), cells: None }
    }

    /// Draws it with a share that is over, and with as many of the words as there is room for.
    pub(super) fn draw(&mut self, name: &str, share: f64, parts: &[String]) {
        let layout = Layout::of(name, parts, columns());
        if self.cells != Some(layout.cells) {
            self.cells = Some(layout.cells);
            // The bar may be drawn after each change of it: the old message might not fit the new style.
            self.bar.set_message("");
            self.bar.set_style(style(layout.cells));
        }
        self.bar.set_prefix(name.to_owned());
        self.bar.set_position((share * STEPS as f64) as u64);
        self.bar.set_message(layout.message);
    }

    /// Removes it.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Whether standard error is a terminal that can draw a line again.
pub(super) fn draws() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    std::io::stderr().is_terminal() && !is_dumb
}

/// How many columns the terminal has now.
fn columns() -> usize {
    Term::stderr().size_checked().map_or(80, |(_, columns)| columns.into())
}

/// A line that fits the terminal.
#[derive(Debug, PartialEq, Eq)]
struct Layout {
    /// Characters of the bar; 0 for none.
    cells: usize,
    message: String,
}

impl Layout {
    /// The bar gets what the most important words leave, and then the other words what the bar leaves.
    fn of(name: &str, parts: &[String], columns: usize) -> Layout {
        const BAR: std::ops::RangeInclusive<usize> = 8..=32;
        // Two spaces around the bar, and a last column that stays free.
        let room = columns.saturating_sub(name.chars().count() + 3);
        let width = |parts: &[String]| parts.join("  ").chars().count();
        let important = width(&parts[..parts.len().min(2)]);
        let cells = room.saturating_sub(important).min(*BAR.end());
        let cells = if cells < *BAR.start() { 0 } else { cells };
        let fitting = (1..=parts.len()).rev().find(|&some| width(&parts[..some]) + cells <= room);
        Layout { cells, message: parts[..fitting.unwrap_or(1).min(parts.len())].join("  ") }
    }
}

fn style(cells: usize) -> ProgressStyle {
    let template = match cells {
        0 => "{prefix} {msg}".to_string(),
        cells => format!("{{prefix}} {{bar:{cells}}} {{msg}}"),
    };
    let style = ProgressStyle::with_template(&template).expect("the template is right");
    style.progress_chars("█▉▊▋▌▍▎▏ ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_every_terminal_and_says_the_most_important_first() {
        let parts =
            ["  3.9%", "4h 05m left", "2 disputed", "12.3 G/s", "17 workers"].map(String::from);
        for columns in 20..200 {
            let Layout { cells, message } = Layout::of("N=22", &parts, columns);
            let width = 4 + 1 + cells + usize::from(cells > 0) + message.chars().count();
            assert!(width < columns, "{columns}: {width}");
            assert!(message.starts_with("  3.9%"), "{message}");
        }
        let narrow = Layout::of("N=22", &parts, 40);
        assert_eq!(narrow, Layout { cells: 14, message: "  3.9%  4h 05m left".into() });
        let wide = Layout::of("N=22", &parts, 120);
        assert_eq!((wide.cells, wide.message), (32, parts.join("  ")));
    }
}
