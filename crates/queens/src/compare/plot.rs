//! The comparison as a plot: seconds against N, with a line for each algorithm.

use std::error::Error;

use anyhow::anyhow;
use plotters::prelude::*;

use super::algorithm::Algorithm;
use super::measure::{Line, Outcome};
use crate::failure::Failure;

const SIZE: (u32, u32) = (960, 720);

/// One algorithm's seconds by board size.
struct Curve {
    algorithm: Algorithm,
    points: Vec<(f64, f64)>,
}

/// Plots the lines as an SVG document. The viewer chooses the font of its text.
pub(super) fn svg(lines: &[Line]) -> Result<String, Failure> {
    let mut text = String::new();
    draw(&curves(lines), &mut text).map_err(|error| anyhow!("the plot: {error}"))?;
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

fn draw(curves: &[Curve], text: &mut String) -> Result<(), Box<dyn Error>> {
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
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption("N queens: seconds to count all placements, one thread", ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(70)
        .build_cartesian_2d(first - 0.5..last + 0.5, (least / 2.0..most * 2.0).log_scale())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels((last - first) as usize + 2)
        .x_label_formatter(&|n| format!("{n:.0}"))
        .y_label_formatter(&|seconds| format!("{seconds:.0e}"))
        .x_desc("N")
        .y_desc("seconds")
        .draw()?;
    for (place, curve) in curves.iter().enumerate() {
        // Hues are spread evenly, and dark enough for a white background.
        let colour = HSLColor(place as f64 / curves.len() as f64, 0.85, 0.40);
        chart
            .draw_series(
                LineSeries::new(curve.points.iter().copied(), colour.stroke_width(2)).point_size(3),
            )?
            .label(curve.algorithm.name())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()?;
    root.present()?;
    // Dropping `root` completes the document.
    Ok(())
}
