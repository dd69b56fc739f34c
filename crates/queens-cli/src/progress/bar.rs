//! A bar with a message that fits its terminal, and a spinner.

use std::io::IsTerminal;
use std::time::Duration;

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Number of steps of the bar. Each is a hundredth of a percent.
pub(super) const STEPS: u64 = 10_000;

/// How often a bar or a spinner is drawn, at most.
pub(super) const PAUSE: Duration = Duration::from_millis(100);

/// A bar on a terminal, with a prefix before it and as much of a message behind it as there is room for.
pub(super) fn bar() -> ProgressBar {
    let columns = Term::stderr().size_checked().map_or(80, |(_, columns)| columns);
    let cells = (columns / 4).clamp(8, 32);
    drawn(Some(STEPS), &format!("{{prefix}} {{bar:{cells}}} {{wide_msg}}"))
}

/// A spinner that shows what takes about so long, and for how long it has run. It is drawn until it is finished.
pub(super) fn spinner(what: &'static str, time: Duration) -> ProgressBar {
    let spinner = drawn(None, "{prefix} {spinner} {elapsed} of {msg}");
    spinner.set_prefix(what);
    spinner.set_message(format!("{} s", time.as_secs()));
    spinner.enable_steady_tick(PAUSE);
    spinner
}

fn drawn(steps: Option<u64>, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("the template is right");
    let bar = ProgressBar::with_draw_target(steps, ProgressDrawTarget::stderr_with_hz(10));
    bar.with_style(style.progress_chars("█▉▊▋▌▍▎▏ "))
}

/// Whether standard error is a terminal that can draw a line again.
pub(super) fn draws() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    std::io::stderr().is_terminal() && !is_dumb
}
