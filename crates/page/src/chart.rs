//! The chart of what was counted when.

use std::fmt::Write;
use std::time::Duration;

use maud::{Markup, html};

use crate::estimate::Estimate;
use crate::history::{Load, Span};
use crate::text::{short, time};

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 120.0;
/// The most points that are drawn: neighbouring slots are put together beyond.
const POINTS: usize = 600;

/// Tasks per second and workers over the slots of a history.
pub(crate) fn chart(span: Span, loads: &[Load]) -> Markup {
    let together = loads.len().div_ceil(POINTS).max(1);
    let slot_s = span.slot_ms() as f64 / 1_000.0;
    let rate = |loads: &[Load]| {
        let tasks: u64 = loads.iter().map(|load| load.tasks).sum();
        tasks as f64 / (slot_s * loads.len() as f64)
    };
    let rates: Vec<f64> = loads.chunks(together).map(rate).collect();
    let most = |loads: &[Load]| loads.iter().map(|load| load.workers).max().unwrap_or(0) as f64;
    let workers: Vec<f64> = loads.chunks(together).map(most).collect();
    let (rate_top, worker_top) = (top(&rates), top(&workers));
    let ago = Duration::from_secs_f64(slot_s * loads.len() as f64);
    let label = format!(
        "Over the last {}: at most {} tasks per second, and at most {worker_top} workers at a time",
        time(ago),
        short(rate_top)
    );
    html! {
        figure {
            div.plot {
                (scale("0", &short(rate_top)))
                svg.chart viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" role="img"
                    aria-label=(label) {
                    path.area d=(area(&rates, rate_top)) {}
                    polyline.line points=(line(&workers, worker_top)) {}
                }
                (scale("0", &worker_top.to_string()))
                (ends(&format!("{} ago", time(ago)), "now"))
            }
            figcaption {
                span.key-area { "tasks/s, on the left" }
                span.key-line { "workers, on the right" }
            }
        }
    }
}

/// How an estimate has moved, with its bars. The axis shows what the later half of them say.
pub(crate) fn moved(estimates: &[Estimate]) -> Markup {
    let later = &estimates[estimates.len() / 2..];
    let low = later.iter().map(|it| it.value - it.error).fold(f64::INFINITY, f64::min).max(0.0);
    let high = later.iter().map(|it| it.value + it.error).fold(0.0, f64::max);
    let (first, last) = (estimates[0], estimates[estimates.len() - 1]);
    let length = (last.unix_ms - first.unix_ms).max(1) as f64;
    let x = |it: &Estimate| WIDTH * (it.unix_ms - first.unix_ms) as f64 / length;
    let y = |value: f64| {
        let share = if high > low { (value - low) / (high - low) } else { 0.5 };
        // Early ones may be far off the picture.
        HEIGHT - (HEIGHT - 8.0) * share.clamp(-5.0, 6.0) - 4.0
    };
    let mut band = String::new();
    let upper = estimates.iter().map(|it| (x(it), y(it.value + it.error)));
    let lower = estimates.iter().rev().map(|it| (x(it), y(it.value - it.error)));
    for (at, (x, y)) in upper.chain(lower).enumerate() {
        let _ = write!(band, "{}{x:.1} {y:.1}", if at == 0 { "M" } else { "L" });
    }
    let line = estimates.iter().fold(String::new(), |mut text, it| {
        let _ = write!(text, "{:.1},{:.1} ", x(it), y(it.value));
        text
    });
    let ago = time(Duration::from_millis(length as u64));
    let label = format!(
        "Over {ago} the estimate moved from {:.4e} ± {:.1e} to {:.4e} ± {:.1e}",
        first.value, first.error, last.value, last.error
    );
    html! {
        figure {
            div.plot {
                (scale(&format!("{low:.3e}"), &format!("{high:.3e}")))
                svg.chart viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" role="img"
                    aria-label=(label) {
                    path.band d=(format!("{band}z")) {}
                    polyline.line points=(line) {}
                }
                (ends("first estimate", &format!("{ago} later")))
            }
            figcaption {
                span.key-line { (format!("{:.4e}", last.value)) }
                span.key-band { "95% bar, if what is counted is a fair sample" }
            }
        }
    }
}

/// The least and the most of an axis, beside the picture. Its label says them to those who cannot see it.
fn scale(least: &str, most: &str) -> Markup {
    html! { div.scale aria-hidden="true" { span { (most) } span { (least) } } }
}

/// The first and the last moment, under the picture.
fn ends(first: &str, last: &str) -> Markup {
    html! { div.ends { span { (first) } span { (last) } } }
}

fn top(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

fn points<'a>(values: &'a [f64], top: f64) -> impl Iterator<Item = (f64, f64)> + 'a {
    let step = WIDTH / (values.len().max(2) - 1) as f64;
    let height =
        move |value: f64| if top > 0.0 { HEIGHT - (HEIGHT - 4.0) * value / top } else { HEIGHT };
    values.iter().enumerate().map(move |(at, &value)| (at as f64 * step, height(value)))
}

fn line(values: &[f64], top: f64) -> String {
    points(values, top).fold(String::new(), |mut text, (x, y)| {
        let _ = write!(text, "{x:.1},{y:.1} ");
        text
    })
}

fn area(values: &[f64], top: f64) -> String {
    let mut text = format!("M0 {HEIGHT}");
    for (x, y) in points(values, top) {
        let _ = write!(text, "L{x:.1} {y:.1}");
    }
    let _ = write!(text, "V{HEIGHT}z");
    text
}
