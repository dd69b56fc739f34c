//! The comparison as a plot: seconds against N, with a line for each algorithm, its name at its end and a colour for
//! each group of them.

use std::fmt::Write;

use literature::compare::{Algorithm, Line, Outcome};

const CAPTION: &str = "N queens: seconds to count all placements, one thread";
const WIDTH: i32 = 1040;
const HEIGHT: i32 = 720;
/// The sides of the area with the curves, pixels. Names stand to its right.
const LEFT: i32 = 82;
const RIGHT: i32 = WIDTH - 150;
const TOP: i32 = 44;
const BOTTOM: i32 = HEIGHT - 52;
/// Height of a name, pixels.
const LINE: i32 = 14;

/// One algorithm's seconds by board size.
struct Curve {
    algorithm: Algorithm,
    points: Vec<(f64, f64)>,
}

/// The curves in the order of the table, without algorithms that counted nothing.
fn curves(lines: &[Line]) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for &Line { n, algorithm, outcome } in lines {
        let Outcome::Counted { seconds, .. } = outcome else { continue };
        let point = (f64::from(n), seconds);
        match curves.iter_mut().find(|curve| curve.algorithm == algorithm) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve { algorithm, points: vec![point] }),
        }
    }
    curves
}

/// Where boards and seconds are in the picture. Seconds have a logarithmic scale.
struct Scales {
    boards: (f64, f64),
    logarithms: (f64, f64),
}

impl Scales {
    /// Scales with room for all of the curves, and half a board and a factor of two around them.
    fn around(curves: &[Curve]) -> Scales {
        let points = || curves.iter().flat_map(|curve| &curve.points);
        let ends = |of: fn(&(f64, f64)) -> f64| {
            let both = points().map(of).map(|x| (x, x));
            both.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or((1.0, 1.0))
        };
        let (boards, seconds) = (ends(|point| point.0), ends(|point| point.1));
        // No clock tells less than a nanosecond.
        let logarithm = |seconds: f64| seconds.max(1e-9).log10();
        Scales {
            boards: (boards.0 - 0.5, boards.1 + 0.5),
            logarithms: (logarithm(seconds.0 / 2.0), logarithm(seconds.1 * 2.0)),
        }
    }

    fn across(&self, n: f64) -> i32 {
        let (first, last) = self.boards;
        LEFT + (f64::from(RIGHT - LEFT) * (n - first) / (last - first)).round() as i32
    }

    fn down(&self, seconds: f64) -> i32 {
        let (least, most) = self.logarithms;
        let part = (seconds.max(1e-9).log10() - least) / (most - least);
        BOTTOM - (f64::from(BOTTOM - TOP) * part).round() as i32
    }

    /// The seconds that are named at the side: powers of ten, and where these are few, twice and five
    /// times them too.
    fn ticks(&self) -> Vec<f64> {
        let (least, most) = self.logarithms;
        let powers = least.floor() as i32..=most.floor() as i32;
        let steps = if most - least > 3.0 { &[1.0][..] } else { &[1.0, 2.0, 5.0] };
        let ticks =
            powers.flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
        ticks.filter(|tick| (least..=most).contains(&tick.log10())).collect()
    }
}

/// Plots the lines as an SVG document. The viewer chooses the font of its text.
pub(super) fn svg(lines: &[Line]) -> String {
    let curves = curves(lines);
    let scales = Scales::around(&curves);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
    );
    let middle = (LEFT + RIGHT) / 2;
    text(&mut out, CAPTION, (middle, 28), "text-anchor=\"middle\" font-size=\"20\"");
    for seconds in scales.ticks() {
        let y = scales.down(seconds);
        line(&mut out, [(LEFT, y), (RIGHT, y)], "#dddddd");
        text(&mut out, &format!("{seconds:.0e}"), (LEFT - 8, y + 4), "text-anchor=\"end\"");
    }
    let (first, last) = scales.boards;
    for n in first.ceil() as i32..=last.floor() as i32 {
        let x = scales.across(n.into());
        line(&mut out, [(x, BOTTOM), (x, BOTTOM + 5)], "#000000");
        text(&mut out, &n.to_string(), (x, BOTTOM + 20), "text-anchor=\"middle\"");
    }
    line(&mut out, [(LEFT, BOTTOM), (RIGHT, BOTTOM)], "#000000");
    line(&mut out, [(LEFT, BOTTOM), (LEFT, TOP)], "#000000");
    text(&mut out, "N", (middle, HEIGHT - 12), "text-anchor=\"middle\"");
    let upright = format!("text-anchor=\"middle\" transform=\"rotate(-90 20 {})\"", HEIGHT / 2);
    text(&mut out, "seconds", (20, HEIGHT / 2), &upright);

    let mut names = Vec::new();
    for Curve { algorithm, points } in &curves {
        let colour = colour(*algorithm);
        let place = |&(n, seconds): &(f64, f64)| (scales.across(n), scales.down(seconds));
        let places: Vec<String> =
            points.iter().map(place).map(|(x, y)| format!("{x},{y}")).collect();
        let places = places.join(" ");
        let _ = writeln!(
            out,
            "<polyline points=\"{places}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
        );
        for (x, y) in points.iter().map(place) {
            let _ = writeln!(out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"3\" fill=\"{colour}\"/>");
        }
        let end = points.iter().max_by(|a, b| a.0.total_cmp(&b.0)).map(place);
        names.extend(end.map(|end| (end, algorithm.name(), colour)));
    }
    let ends: Vec<(i32, i32)> = names.iter().map(|(end, ..)| *end).collect();
    for ((end, name, colour), place) in names.iter().zip(spread(&ends)) {
        line(&mut out, [(end.0 + 4, end.1), (place.0 - 2, place.1)], colour);
        text(&mut out, name, (place.0, place.1 + 4), &format!("fill=\"{colour}\""));
    }
    out + "</svg>\n"
}

fn line(out: &mut String, [from, to]: [(i32, i32); 2], colour: &str) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = writeln!(
        out,
        "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"{colour}\"/>"
    );
}

/// Writes words whose base line begins at `place`, or ends or has its middle there if the attributes say so.
fn text(out: &mut String, words: &str, (x, y): (i32, i32), attributes: &str) {
    let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\" {attributes}>\n{words}\n</text>");
}

/// A hue for each group: what the ladder's first steps, textbooks, masks and cleverer searches have in common is
/// their colour. Within a group, lines differ by their lightness, and by the names at their ends.
fn colour(algorithm: Algorithm) -> String {
    use Algorithm::*;
    let (hue, saturation, place, of) = match algorithm {
        Combinations => (0.0, 0.0, 0, 3),
        Rooks => (0.0, 0.0, 1, 3),
        PermutationsAll => (0.0, 0.0, 2, 3),
        Direct => (0.60, 0.75, 0, 4),
        Arrays => (0.60, 0.75, 1, 4),
        Stack => (0.60, 0.75, 2, 4),
        Permutations => (0.60, 0.75, 3, 4),
        Masks => (0.36, 0.75, 0, 5),
        Mirror => (0.36, 0.75, 1, 5),
        Flip => (0.36, 0.75, 2, 5),
        MirrorFlip => (0.36, 0.75, 3, 5),
        Unique => (0.36, 0.75, 4, 5),
        ForcedColumns => (0.09, 0.90, 0, 3),
        Forced => (0.09, 0.90, 1, 3),
        States => (0.09, 0.90, 2, 3),
        RowsReference => (0.77, 0.45, 0, 3),
        RingReference => (0.77, 0.45, 1, 3),
        HalvesReference => (0.77, 0.45, 2, 3),
        Rows => (0.98, 0.85, 0, 3),
        Ring => (0.98, 0.85, 1, 3),
        Halves => (0.98, 0.85, 2, 3),
    };
    // Dark enough for a white background.
    let lightness: f64 = 0.28 + 0.24 * f64::from(place) / f64::from(of);
    // From hue, saturation and lightness to red, green and blue: the formula of CSS Color 4.
    let chroma = saturation * lightness.min(1.0 - lightness);
    let [red, green, blue] = [0.0, 8.0, 4.0].map(|of: f64| {
        let turn: f64 = (of + 12.0 * hue) % 12.0;
        let part = lightness - chroma * (turn - 3.0).min(9.0 - turn).clamp(-1.0, 1.0);
        (255.0 * part).round() as u8
    });
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Where names stand whose lines end at `ends`: beside them, moved down where they would cover each other.
fn spread(ends: &[(i32, i32)]) -> Vec<(i32, i32)> {
    /// Names are shorter than this, pixels.
    const LONGEST: i32 = 120;
    const BESIDE: i32 = 14;
    let mut order: Vec<usize> = (0..ends.len()).collect();
    order.sort_by_key(|&index| (ends[index].1, ends[index].0));
    let mut places = vec![(0, 0); ends.len()];
    let mut placed: Vec<(i32, i32)> = Vec::new();
    for index in order {
        let (x, mut y) = ends[index];
        let x = x + BESIDE;
        let covers = |y: i32| {
            let near =
                |&&(other, at): &&(i32, i32)| (other - x).abs() < LONGEST && (at - y).abs() < LINE;
            placed.iter().find(near).map(|&(_, at)| at)
        };
        while let Some(at) = covers(y) {
            y = at + LINE;
        }
        places[index] = (x, y);
        placed.push((x, y));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_cover_each_other() {
        let ends = [(800, 100), (800, 101), (790, 99), (400, 100), (800, 300), (800, 100)];
        let places = spread(&ends);
        for (i, a) in places.iter().enumerate() {
            for b in &places[..i] {
                let apart = (a.0 - b.0).abs() >= 120 || (a.1 - b.1).abs() >= LINE;
                assert!(apart, "{a:?} and {b:?}: {places:?}");
            }
        }
        assert_eq!(places[4], (814, 300), "nothing is near it");
    }
}
