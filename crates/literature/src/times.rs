//! The running times that a source prints by N, beside those of this machine, as a table and as
//! plots whose time is logarithmic.
//!
//! The program of the source is not run: its times are those of its own machine. Here a textbook's
//! search with masks counts the same boards, and so does the method `colours`, both by one thread.

use std::fmt::Write;

use anyhow::Context;
use serde_json::Value;

use crate::reproduce::run;
use crate::sources::times;

/// The decades of the plots, in powers of ten of a second, and the characters for each in a
/// terminal.
const DECADES: std::ops::Range<i32> = -7..3;
const PER_DECADE: usize = 6;

/// A series of the plots: its letter, its colour and its meaning.
const SERIES: [(char, &str, &str); 3] = [
    ('s', "#b3261e", "the source"),
    ('m', "#1a5fb4", "masks here"),
    ('c', "#26703a", "colours here"),
];

/// The times for one board, in seconds, as in [`SERIES`].
#[derive(Clone, Copy, Debug)]
struct Timed {
    n: u32,
    total: u64,
    seconds: [f64; 3],
}

/// The times of the source and of this machine.
#[derive(Debug)]
pub struct Times(Vec<Timed>);

impl Times {
    /// Counts the boards of the source up to size `largest`.
    pub fn measured(largest: u32) -> anyhow::Result<Times> {
        let (first, source) = (times().first_n, &times().milliseconds);
        let last = largest.min(first + source.len() as u32 - 1);
        let args = "--algorithms masks,colours --seconds 600 --all --json";
        let output = run(&format!("compare {first}..{last} {args}"))?;
        let lines = output.lines().map(serde_json::from_str);
        let lines: Vec<Value> = lines.collect::<Result<_, _>>()?;
        let seconds = |line: &Value| line["seconds"].as_f64().context("a board has no time");
        let rows = lines.chunks(2).zip(source).zip(first..).map(|((pair, &milliseconds), n)| {
            let total = pair[0]["total"].as_str().context("a board has no total")?.parse()?;
            let source = f64::from(milliseconds) / 1e3;
            Ok(Timed { n, total, seconds: [source, seconds(&pair[0])?, seconds(&pair[1])?] })
        });
        Ok(Times(rows.collect::<anyhow::Result<_>>()?))
    }

    /// A table, followed by a plot for a terminal. No line is longer than 80 characters.
    pub fn text(&self) -> String {
        let mut text = format!(
            "s  {}:\n   {}\n\
             m  a search with masks here, one thread\n\
             c  the method colours here, one thread\n\n\
             {:>2}  {:>10}  {:>12}  {:>12}  {:>12}  {:>8}\n",
            times().program,
            times().processor,
            "N",
            "placements",
            "s seconds",
            "m seconds",
            "c seconds",
            "s / m"
        );
        for Timed { n, total, seconds: [source, masks, colours] } in &self.0 {
            let _ = writeln!(
                text,
                "{n:>2}  {total:>10}  {source:>12.3}  {masks:>12.7}  {colours:>12.7}  {:>8.0}",
                source / masks
            );
        }
        text += "\nTime, where each dot of the scale is ten times the one before it:\n\n";
        for timed in &self.0 {
            let mut line = vec![' '; DECADES.len() * PER_DECADE + 1];
            for (seconds, (letter, ..)) in timed.seconds.into_iter().zip(SERIES) {
                let place = (decade(seconds) * PER_DECADE as f64).round() as usize;
                line[place] = if line[place] == ' ' { letter } else { '*' };
            }
            let line: String = line.into_iter().collect();
            let _ = writeln!(text, "{:>2} |{}", timed.n, line.trim_end());
        }
        let names = ["0.1us", "1us", "10us", "0.1ms", "1ms", "10ms", "0.1s", "1s", "10s", "100s"];
        let scale: String = names.iter().map(|name| format!("{name:<PER_DECADE$}")).collect();
        let dots = format!(".{}", " ".repeat(PER_DECADE - 1)).repeat(names.len());
        text + &format!("    {}\n    {}", dots.trim_end(), scale.trim_end())
    }

    /// The plot as an SVG.
    pub fn svg(&self) -> String {
        let x = |n: u32| 70.0 + 40.0 * f64::from(n - times().first_n);
        let y = |decade: f64| 20.0 + 36.0 * (DECADES.len() as f64 - decade);
        let right = x(times().first_n + times().milliseconds.len() as u32 - 1);
        let bottom = y(0.0);
        let (width, height) = (right + 150.0, bottom + 50.0);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n\
             <title>Seconds for all placements of N queens, logarithmic</title>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
        );
        for (power, place) in DECADES.zip(0..) {
            let y = y(f64::from(place));
            let _ = writeln!(
                svg,
                "<path d=\"M70 {y}H{right}\" stroke=\"#ddd\"/>\
                 <text x=\"62\" y=\"{}\" text-anchor=\"end\">1e{power} s</text>",
                y + 4.0
            );
        }
        for timed in &self.0 {
            let (x, y) = (x(timed.n), bottom + 20.0);
            let _ = writeln!(
                svg,
                "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{}</text>",
                timed.n
            );
        }
        for (i, (_, colour, name)) in SERIES.iter().enumerate() {
            let at = |timed: &Timed| format!("{},{:.1}", x(timed.n), y(decade(timed.seconds[i])));
            let points: Vec<String> = self.0.iter().map(at).collect();
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\
                 <text x=\"{}\" y=\"{}\" fill=\"{colour}\">{name}</text>",
                points.join(" "),
                right + 12.0,
                40 + 20 * i
            );
        }
        svg + "</svg>\n"
    }
}

/// How many decades a time is above the lowest one of the plots, within the plots.
fn decade(seconds: f64) -> f64 {
    (seconds.log10() - f64::from(DECADES.start)).clamp(0.0, DECADES.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_place_times_by_their_decade_and_mark_those_that_meet() {
        let timed = |n, seconds| Timed { n, total: 2, seconds };
        let rows = vec![
            timed(4, [0.001, 1e-7, 1e-5]),
            timed(5, [0.002, 1e-9, f64::MIN_POSITIVE]),
            timed(6, [1e9, 1.0, 1.01]),
        ];
        let times = Times(rows);
        let text = times.text();
        let plot: Vec<&str> = text.lines().filter(|line| line.contains(" |")).collect();
        let dots = text.lines().find(|line| line.starts_with("    .")).expect("a scale");
        assert_eq!(plot[0].find('s'), Some(4 + 4 * PER_DECADE), "{text}");
        assert_eq!(plot[0].find('m'), Some(4), "{text}");
        assert_eq!(plot[0].find('c'), Some(4 + 2 * PER_DECADE), "{text}");
        assert_eq!(plot[1].find('*'), Some(4), "{text}");
        assert_eq!(plot[2].find('*'), Some(4 + 7 * PER_DECADE), "{text}");
        assert_eq!(dots.matches('.').count(), DECADES.len());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let svg = times.svg();
        assert_eq!(svg.matches("<polyline").count(), SERIES.len());
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn a_row_has_each_time_and_their_quotient() {
        let total = testkit::vectors::total(16) as u64;
        let text = Times(vec![Timed { n: 16, total, seconds: [812.945, 2.0, 0.25] }]).text();
        let row = text.lines().find(|line| line.starts_with("16  ")).expect("it is there");
        let total = total.to_string();
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words, ["16", &total, "812.945", "2.0000000", "0.2500000", "406"]);
        assert!(text.contains(&times().program) && text.contains(&times().processor), "{text}");
    }

    #[test]
    fn longer_times_are_higher_in_the_picture_and_larger_boards_further_right() {
        let milliseconds = &times().milliseconds;
        assert!(milliseconds.is_sorted(), "{milliseconds:?}");
        let rows = (times().first_n..).zip(milliseconds).map(|(n, &milliseconds)| {
            let seconds = f64::from(milliseconds) / 1e3;
            Timed { n, total: 2, seconds: [seconds, seconds / 1e3, seconds / 1e4] }
        });
        let svg = Times(rows.collect()).svg();
        let series = svg.split("points=\"").skip(1).map(|rest| rest.split('"').next());
        for points in series.map(|points| points.expect("it ends")) {
            let points: Vec<(f64, f64)> = points
                .split(' ')
                .map(|point| point.split_once(',').expect("two numbers"))
                .map(|(x, y)| (x.parse().expect("a number"), y.parse().expect("a number")))
                .collect();
            assert_eq!(points.len(), milliseconds.len());
            assert!(points.windows(2).all(|it| it[0].0 < it[1].0 && it[0].1 >= it[1].1), "{svg}");
        }
    }
}
