//! The chart of how fast a job or the farm was counted over time.

use std::fmt::Write;
use std::time::Duration;

use maud::{Markup, html};

use crate::history::{Load, Past};
use crate::text::{moment, short, time};

const WIDTH: f64 = 1_000.0;
const HEIGHT: f64 = 100.0;
/// The most points that are drawn. If there are more slots, neighbouring ones share a point.
const POINTS: usize = 500;

/// Placements per second and workers over the slots of a history. `end` names the moment of its
/// end: now, or the end of a job. If the history has fewer than two slots, the text `nothing` is
/// shown instead.
pub(crate) fn chart(past: Option<&Past>, now_ms: i64, end: &str, nothing: &str) -> Markup {
    let Some(past) = past.filter(|past| past.loads.len() > 1) else {
        return html! { p.empty { (nothing) } };
    };
    let Past { loads, from_ms, until_ms, .. } = past;
    let together = loads.len().div_ceil(POINTS).max(1);
    let rate = |(at, loads): (usize, &[Load])| {
        let first = at * together;
        let ms = past.begin(first + loads.len()) - past.begin(first);
        1e3 * loads.iter().map(|load| load.placements).sum::<f64>() / ms.max(1) as f64
    };
    let rates: Vec<f64> = loads.chunks(together).enumerate().map(rate).collect();
    let most = |loads: &[Load]| loads.iter().map(|load| load.workers).max().unwrap_or(0) as f64;
    let workers: Vec<f64> = loads.chunks(together).map(most).collect();
    let (rate_top, worker_top) = (round_up(top(&rates)), top(&workers).max(1.0));
    let length = Duration::from_millis(u64::try_from(until_ms - from_ms).unwrap_or(0));
    let label = format!(
        "Over {}: at most {} placements per second, and at most {worker_top} workers at a time",
        time(length),
        short(top(&rates))
    );
    html! {
        figure {
            div.plot {
                (scale(&[&short(rate_top), &short(rate_top / 2.0), "0"]))
                svg.chart viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" role="img"
                    aria-label=(label) {
                    polygon.area points=(format!("0,{HEIGHT} {}{WIDTH},{HEIGHT}", line(&rates, rate_top))) {}
                    line.grid x1="0" x2=(WIDTH) y1=(HEIGHT / 2.0) y2=(HEIGHT / 2.0) {}
                    polyline.line points=(line(&workers, worker_top)) {}
                }
                (scale(&[&worker_top.to_string(), "0"]))
                div.ends { span { (moment(now_ms, *from_ms)) } span { (moment(now_ms, *until_ms)) ", " (end) } }
            }
            figcaption {
                span.key-area { "placements/s, on the left" }
                span.key-line { "workers, on the right" }
            }
        }
    }
}

/// The values of an axis from the top down, beside the picture. Programs that read a page aloud
/// skip them, because the label of the picture has the same values.
fn scale(values: &[&str]) -> Markup {
    html! { div.scale aria-hidden="true" { @for value in values { span { (value) } } } }
}

fn top(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// The smallest round number that is at least `value`, and half of which is round, too. It is 1 for
/// 0.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 1.2, 1.6, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    steps.into_iter().map(|step| step * power).find(|&top| top >= value).unwrap_or(value)
}

/// The corners of a line from the left end to the right one.
fn line(values: &[f64], top: f64) -> String {
    let step = WIDTH / (values.len().max(2) - 1) as f64;
    values.iter().enumerate().fold(String::new(), |mut text, (at, value)| {
        let (x, y) = (at as f64 * step, HEIGHT - (HEIGHT - 2.0) * value / top);
        let _ = write!(text, "{x:.1},{y:.1} ");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_ends_at_a_round_number() {
        let tops = [0.0, 1.0, 11.0, 399.0, 7e9, 9.5e11].map(round_up);
        assert_eq!(tops, [1.0, 1.0, 12.0, 400.0, 8e9, 1e12]);
    }

    #[test]
    fn the_chart_says_when_it_begins_and_ends() {
        let load = Load { placements: 5e9, workers: 3 };
        let past = Past { slot_ms: 10_000, loads: vec![load; 6], from_ms: 1_000, until_ms: 55_000 };
        let html = chart(Some(&past), 0, "its end", "nothing").into_string();
        // The last slot has as much as the others in half of the time.
        for text in
            [">00:00:01<", ">00:00:55</time>, its end", "at most 1.00\u{a0}G placements per second"]
        {
            assert!(html.contains(text), "{text}: {html}");
        }
    }
}
