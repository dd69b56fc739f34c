//! The progress of a job: a bar if standard error is a terminal, and nothing otherwise.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use farm::JobView;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Number of steps of the bar: each is a hundredth of a percent.
const STEPS: u64 = 10_000;

/// A progress bar on standard error.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    rate: Rate,
    workers: bool,
}

impl Progress {
    /// A bar, if it is `wanted` and standard error is a terminal. With `workers` it also shows the number of
    /// workers.
    pub(crate) fn new(wanted: bool, workers: bool) -> Progress {
        let bar = match wanted && std::io::stderr().is_terminal() {
            true => {
                ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr_with_hz(10))
            }
            false => ProgressBar::hidden(),
        };
        let style = ProgressStyle::with_template("{prefix} {bar:32} {msg}");
        bar.set_style(style.expect("the template is right").progress_chars("█▉▊▋▌▍▎▏ "));
        Progress { bar, rate: Rate::default(), workers }
    }

    /// How often it is worth calling [`Progress::show`].
    pub(crate) fn interval(&self) -> Duration {
        if self.bar.is_hidden() { Duration::from_secs(1) } else { Duration::from_millis(100) }
    }

    /// Draws the job's progress.
    pub(crate) fn show(&mut self, job: &JobView) {
        if self.bar.is_hidden() {
            return;
        }
        self.rate.saw(Instant::now(), job);
        self.bar.set_prefix(format!("N={}", job.plan.problem.n()));
        self.bar.set_position((job.percent() * STEPS as f64 / 100.0) as u64);
        self.bar.set_message(self.message(job));
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn message(&self, job: &JobView) -> String {
        let mut parts = vec![format!("{:5.1}%", job.percent())];
        parts.extend(self.rate.of(job).map(|counts| format!("{}/s", si(counts))));
        parts.extend(job.seconds_left().map(|left| format!("{} left", clock(left))));
        if self.workers {
            let s = if job.workers == 1 { "" } else { "s" };
            parts.push(format!("{} worker{s}", job.workers));
        }
        if job.disputes > 0 {
            parts.push(format!("{} disputed", job.disputes));
        }
        if job.poisoned > 0 {
            parts.push(format!("{} poisoned", job.poisoned));
        }
        if job.audits_wanted > 0 {
            parts.push(format!("{} to audit", job.audits_wanted));
        }
        if job.state != farm::JobState::Running {
            parts.push(job.state.to_string());
        }
        parts.join("  ")
    }
}

/// Expected counts per second for the rest of the job, if the average count per task stays the same.
pub(crate) fn counts_per_second(job: &JobView) -> Option<f64> {
    let seconds = job.seconds_left().filter(|&seconds| seconds > 0.0)?;
    let tasks_left = job.tasks().saturating_sub(job.tasks_done) as f64;
    (job.tasks_done > 0).then(|| job.total as f64 / job.tasks_done as f64 * tasks_left / seconds)
}

/// The speed since the bar began. The earlier work of a resumed job does not count.
#[derive(Debug, Default)]
struct Rate {
    first: Option<(Instant, u128)>,
    elapsed: f64,
}

impl Rate {
    fn saw(&mut self, now: Instant, job: &JobView) {
        let (begun, _) = *self.first.get_or_insert((now, job.total));
        self.elapsed = (now - begun).as_secs_f64();
    }

    /// Counts per second.
    fn of(&self, job: &JobView) -> Option<f64> {
        let (_, total) = self.first?;
        let counts = job.total.checked_sub(total).filter(|&counts| counts > 0)?;
        (self.elapsed > 0.0).then(|| counts as f64 / self.elapsed)
    }
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
    fn times_have_two_units() {
        let texts = [6.9, 306.0, 14_700.0, 273_600.0].map(clock);
        assert_eq!(texts, ["6s", "5m 06s", "4h 05m", "3d 04h"]);
    }
}
