//! The progress of a job: a bar on a terminal, and otherwise a line of the log from time to time.

use std::fmt::{self, Display, Formatter};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use console::Term;
use farm::{JobState, JobView};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tracing::info;

use crate::terminal::size;

/// The log target of the lines about progress, which the default filter lets through.
pub(crate) const LOG_TARGET: &str = "progress";

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ProgressArgs {
    /// Show no progress on standard error
    #[arg(short = 'q', long)]
    pub(crate) quiet: bool,
}

/// Number of steps of the bar. Each is a hundredth of a percent.
const STEPS: u64 = 10_000;

/// How often a bar or a spinner is drawn, at most.
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct Progress {
    /// It is hidden where no bar is drawn.
    bar: ProgressBar,
    lines: Option<Lines>,
    workers: bool,
}

impl Progress {
    /// Shows progress if it is `wanted`; with `workers` also the number of workers.
    pub(crate) fn new(wanted: bool, workers: bool) -> Progress {
        // The message behind the bar is cut where the terminal has no more room.
        let (_, columns) = size(&Term::stderr());
        let template = format!("{{prefix}} {{bar:{}}} {{wide_msg}}", (columns / 4).clamp(8, 32));
        let draws = draws();
        let bar =
            if wanted && draws { drawn(Some(STEPS), &template) } else { ProgressBar::hidden() };
        let lines = (wanted && !draws).then(|| Lines::new(Instant::now()));
        Progress { bar, lines, workers }
    }

    /// How often it is worth calling [`Progress::show`].
    pub(crate) fn interval(&self) -> Duration {
        if self.bar.is_hidden() { Duration::from_secs(1) } else { PAUSE }
    }

    /// Shows the progress of a job. The most important numbers come first, because a narrow
    /// terminal cuts the rest.
    pub(crate) fn show(&mut self, job: &JobView) {
        let some = |number: u64, what| (number > 0).then(|| format!("{number} {what}"));
        let rate = job.rate.placements_per_second;
        let s = if job.workers == 1 { "" } else { "s" };
        let parts = [
            Some(format!("{:5.1}%", job.percent())),
            (job.state_name() != JobState::Running.name()).then(|| job.state_name().into()),
            job.seconds_left().map(|left| format!("{} left", clock(left))),
            some(job.disputes as u64, "disputed"),
            some(job.failed, "failed"),
            (rate > 0.0).then(|| format!("{}/s", si(rate))),
            self.workers.then(|| format!("{} worker{s}", job.workers)),
            some(job.audits_wanted, "to audit"),
        ];
        let message = parts.into_iter().flatten().collect::<Vec<_>>().join("  ");
        self.draw(job.spec.plan.problem.n(), job.percent() / 100.0, message);
    }

    /// Waits for a count of a board of size `n` without a farm. If progress is `wanted`, it shows
    /// the share and the words that `see` returns, and the time.
    pub(crate) async fn during<T>(
        wanted: bool,
        n: u32,
        count: impl Future<Output = T>,
        see: impl Fn() -> (f64, String),
    ) -> T {
        let (mut progress, begun) = (Progress::new(wanted, false), Instant::now());
        tokio::pin!(count);
        let counted = loop {
            tokio::select! {
                counted = &mut count => break counted,
                () = tokio::time::sleep(progress.interval()) => {
                    let ((share, words), time) = (see(), clock(begun.elapsed().as_secs_f64()));
                    progress.draw(n, share, format!("{words}  {time} so far"));
                }
            }
        };
        progress.finish();
        counted
    }

    fn draw(&mut self, n: u32, share: f64, message: String) {
        if self.lines.as_mut().is_some_and(|lines| lines.is_due(Instant::now())) {
            info!(target: LOG_TARGET, "N={n}  {}", message.trim_start());
        }
        self.bar.set_prefix(format!("N={n}"));
        self.bar.set_message(message);
        self.bar.set_position((share * STEPS as f64) as u64);
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Whether a bar or a spinner may be on the terminal.
static IS_DRAWN: AtomicBool = AtomicBool::new(false);

fn drawn(steps: Option<u64>, template: &str) -> ProgressBar {
    IS_DRAWN.store(true, Ordering::Relaxed);
    let style = ProgressStyle::with_template(template).expect("the template is right");
    let bar = ProgressBar::with_draw_target(steps, ProgressDrawTarget::stderr_with_hz(10));
    bar.with_style(style.progress_chars("█▉▊▋▌▍▎▏ "))
}

/// Erases a bar that may have been drawn, before the process ends or prints a line.
pub(crate) fn erase() {
    if IS_DRAWN.load(Ordering::Relaxed) && draws() {
        let _ = Term::stderr().clear_line();
    }
}

/// Whether standard error is a terminal that can draw a line again.
fn draws() -> bool {
    std::io::stderr().is_terminal() && !is_dumb()
}

/// Whether the terminal, if there is one, only prints what it gets, line by line.
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").map_or(cfg!(unix), |term| term.is_empty() || term == "dumb")
}

/// The cost of a count, which is printed as its last line.
#[derive(Clone, Debug)]
pub(crate) struct Took {
    pub(crate) seconds: f64,
    /// The placements that were counted; `None` if a ledger had some of them already.
    pub(crate) counted: Option<u128>,
    /// The method, what counted, and by how many threads.
    pub(crate) how: String,
}

impl Took {
    /// The least number of seconds from which a speed follows.
    const MEASURABLE: f64 = 0.01;

    pub(crate) fn by_one_thread(begun: Instant, counted: u128, method: &str) -> Took {
        let seconds = begun.elapsed().as_secs_f64();
        Took { seconds, counted: Some(counted), how: format!("{method}, 1 thread") }
    }

    /// Both counts together. `how` is that of the second one.
    pub(crate) fn and(self, next: Took) -> Took {
        let sum = self.counted.zip(next.counted);
        let counted = sum.and_then(|(one, other)| one.checked_add(other));
        Took { seconds: self.seconds + next.seconds, counted, how: next.how }
    }
}

impl Display for Took {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.seconds {
            few if few < 10.0 => write!(f, "done in {few:.2}s")?,
            some if some < 60.0 => write!(f, "done in {some:.1}s")?,
            many => write!(f, "done in {}", clock(many))?,
        }
        // The start takes most of a shorter time, which would yield no speed.
        if let Some(counted) = self.counted.filter(|_| self.seconds >= Took::MEASURABLE) {
            write!(f, ", {} placements/s", si(counted as f64 / self.seconds))?;
        }
        write!(f, "; {}", self.how)
    }
}

/// Runs `act`, which takes about the given time. Meanwhile a spinner shows the time, if that is
/// `wanted` and standard error is a terminal.
pub(crate) fn while_time_passes<T>(
    wanted: bool,
    what: &'static str,
    time: Duration,
    act: impl FnOnce() -> T,
) -> T {
    if !wanted || !draws() {
        return act();
    }
    let spinner = drawn(None, "{prefix} {spinner} {elapsed} of {msg}");
    spinner.set_prefix(what);
    spinner.set_message(format!("{} s", time.as_secs()));
    spinner.enable_steady_tick(PAUSE);
    let done = act();
    spinner.finish_and_clear();
    done
}

/// When a line is due. The first is due after half a minute, and each pause is twice as long, up to
/// ten minutes.
#[derive(Debug)]
struct Lines {
    due: Instant,
    pause: Duration,
}

impl Lines {
    const FIRST: Duration = Duration::from_secs(30);
    const LONGEST: Duration = Duration::from_secs(600);

    fn new(now: Instant) -> Lines {
        Lines { due: now + Self::FIRST, pause: Self::FIRST }
    }

    fn is_due(&mut self, now: Instant) -> bool {
        if now < self.due {
            return false;
        }
        self.pause = (2 * self.pause).min(Self::LONGEST);
        self.due = now + self.pause;
        true
    }
}

/// A bar of `cells` characters, of which this share is filled.
pub(crate) fn bar(share: f64, cells: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * 8.0 * cells as f64) as usize;
    let filled = format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8]);
    format!("{filled:<cells$}")
}

/// A number with three digits and a metric prefix.
pub(crate) fn si(value: f64) -> String {
    const PREFIXES: [&str; 7] = ["", " k", " M", " G", " T", " P", " E"];
    let step = PREFIXES.iter().enumerate().rev();
    let mut step = step.map(|(power, prefix)| (1000_f64.powi(power as i32), prefix));
    let (scale, prefix) = step.find(|&(scale, _)| value >= scale).unwrap_or((1.0, &""));
    match value / scale {
        small if small < 10.0 => format!("{small:.2}{prefix}"),
        medium if medium < 100.0 => format!("{medium:.1}{prefix}"),
        large => format!("{large:.0}{prefix}"),
    }
}

/// A number with a comma before each group of three digits.
pub(crate) fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let groups = digits.as_bytes()[first..].chunks(3);
    let groups = groups.map(|group| String::from_utf8_lossy(group).into_owned());
    let first = (first > 0).then(|| digits[..first].to_owned());
    first.into_iter().chain(groups).collect::<Vec<_>>().join(",")
}

/// A time in its two largest units: `3d 04h`, `4h 05m`, `5m 06s`, `6s`.
pub(crate) fn clock(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m {seconds:02}s"),
        (0, _, _) => format!("{hours}h {minutes:02}m"),
        _ => format!("{days}d {hours:02}h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_prefix() {
        let texts = [0.5, 7.0, 42.25, 999.0, 1_000.0, 14_772_512.0, 2.5e19].map(si);
        assert_eq!(texts, ["0.50", "7.00", "42.2", "999", "1.00 k", "14.8 M", "25.0 E"]);
    }

    #[test]
    fn digits_are_grouped_from_the_right() {
        let texts = [0, 92, 724, 2_680, 14_772_512].map(grouped);
        assert_eq!(texts, ["0", "92", "724", "2,680", "14,772,512"]);
    }

    #[test]
    fn a_bar_is_filled_by_eighths() {
        assert_eq!([-1.0, 0.55, 2.0].map(|share| bar(share, 3)), ["   ", "█▋ ", "███"]);
    }

    #[test]
    fn a_speed_is_shown_only_of_what_took_some_time() {
        let line = |seconds| Took { seconds, counted: Some(1_000), how: "rows".into() }.to_string();
        assert_eq!(line(0.009), "done in 0.01s; rows");
        assert_eq!(line(0.02), "done in 0.02s, 50.0 k placements/s; rows");
    }

    #[test]
    fn times_have_two_units() {
        let texts = [6.9, 306.0, 14_700.0, 273_600.0].map(clock);
        assert_eq!(texts, ["6s", "5m 06s", "4h 05m", "3d 04h"]);
    }

    #[test]
    fn lines_come_ever_more_seldom() {
        let begun = Instant::now();
        let mut lines = Lines::new(begun);
        let due: Vec<u64> =
            (0..3_000).filter(|&s| lines.is_due(begun + Duration::from_secs(s))).collect();
        assert_eq!(due, [30, 90, 210, 450, 930, 1_530, 2_130, 2_730]);
    }
}
