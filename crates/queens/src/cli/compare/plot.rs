//! The comparison as a plot: seconds against N, with a line for each algorithm, its name at its end and a colour for
//! each group of them.

use std::error::Error;

use anyhow::anyhow;
use literature::compare::{Algorithm, Line, Outcome};
use plotters::prelude::*;

use crate::failure::Failure;

const CAPTION: &str = "N queens: seconds to count all placements, one thread";
const SIZE: (u32, u32) = (1040, 720);
/// Room for names to the right of the last board.
const NAMES: u32 = 150;
/// Height of a name, pixels.
const LINE: i32 = 14;

/// One algorithm's seconds by board size.
struct Curve {
    algorithm: Algorithm,
    points: Vec<(f64, f64)>,
}

/// Plots the lines as an SVG document. The viewer chooses the font of its text.
pub(super) fn svg(lines: &[Line]) -> Result<String, Failure> {
    let mut text = String::new();
    let plotted = plot(&curves(lines), SVGBackend::with_string(&mut text, SIZE));
    plotted.map_err(|error| anyhow!("the plot: {error}"))?;
    Ok(text)
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

fn plot(curves: &[Curve], canvas: SVGBackend<'_>) -> Result<(), Box<dyn Error>> {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let ends = |of: fn(&(f64, f64)) -> f64, otherwise: (f64, f64)| {
        points()
            .map(of)
            .map(|x| (x, x))
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
            .unwrap_or(otherwise)
    };
    let (first, last) = ends(|point| point.0, (0.0, 0.0));
    let (least, most) = ends(|point| point.1, (1.0, 1.0));
    let root = canvas.into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(CAPTION, ("sans-serif", 20))
        .margin(12)
        .margin_right(NAMES)
        .x_label_area_size(40)
        .y_label_area_size(70)
        .build_cartesian_2d(first - 0.5..last + 0.5, (least / 2.0..most * 2.0).log_scale())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(WHITE)
        .x_labels((last - first) as usize + 2)
        .x_label_formatter(&|n| format!("{n:.0}"))
        .y_label_formatter(&|seconds| format!("{seconds:.0e}"))
        .x_desc("N")
        .y_desc("seconds")
        .draw()?;
    let mut names = Vec::new();
    for curve in curves {
        let colour = colour(curve.algorithm);
        chart.draw_series(
            LineSeries::new(curve.points.iter().copied(), colour.stroke_width(2)).point_size(3),
        )?;
        let end = curve.points.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0));
        names.extend(end.map(|end| (chart.backend_coord(&end), curve.algorithm.name(), colour)));
    }
    let ends: Vec<(i32, i32)> = names.iter().map(|(end, ..)| *end).collect();
    for ((end, name, colour), place) in names.iter().zip(spread(&ends)) {
        let style = ("sans-serif", 13).into_font().color(colour);
        root.draw(&PathElement::new(
            [(end.0 + 4, end.1), (place.0 - 2, place.1)],
            colour.mix(0.5),
        ))?;
        root.draw(&Text::new(*name, (place.0, place.1 - LINE / 2), style))?;
    }
    root.present()?;
    // Dropping `root` completes an SVG document.
    Ok(())
}

/// A hue for each group: what the ladder's first steps, textbooks, masks and cleverer searches have in common is
/// their colour. Within a group, lines differ by their lightness, and by the names at their ends.
fn colour(algorithm: Algorithm) -> HSLColor {
    use Algorithm::*;
    let (hue, saturation, place, of) = match algorithm {
        Combinations => (0.0, 0.0, 0, 3),
        Rooks => (0.0, 0.0, 1, 3),
        PermutationsAll => (0.0, 0.0, 2, 3),
        Direct => (0.60, 0.75, 0, 4),
        Arrays => (0.60, 0.75, 1, 4),
        Stack => (0.60, 0.75, 2, 4),
        Permutations => (0.60, 0.75, 3, 4),
        Masks => (0.36, 0.75, 0, 4),
        Mirror => (0.36, 0.75, 1, 4),
        Flip => (0.36, 0.75, 2, 4),
        Unique => (0.36, 0.75, 3, 4),
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
    HSLColor(hue, saturation, 0.28 + 0.24 * f64::from(place) / f64::from(of))
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
