//! Curves as an SVG document.

use anyhow::{Result, anyhow};
use plotters::prelude::*;

const SIZE: (u32, u32) = (800, 600);

/// A curve and its name.
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Plots the curves from the origin on; `axes` are the names of the horizontal and the vertical one.
pub(crate) fn svg(title: &str, axes: [&str; 2], curves: &[Curve]) -> Result<String> {
    let mut text = String::new();
    draw(title, axes, curves, &mut text).map_err(|error| anyhow!("the plot: {error}"))?;
    Ok(text)
}

fn draw(
    title: &str,
    [across, up]: [&str; 2],
    curves: &[Curve],
    text: &mut String,
) -> Result<(), Box<dyn std::error::Error>> {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let right = points().map(|point| point.0).fold(1.0, f64::max);
    let top = points().map(|point| point.1).fold(1.0, f64::max);
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(50)
        .build_cartesian_2d(0.0..right * 1.05, 0.0..top * 1.05)?;
    chart.configure_mesh().x_desc(across).y_desc(up).draw()?;
    for (place, curve) in curves.iter().enumerate() {
        let colour = HSLColor(place as f64 / curves.len() as f64, 0.85, 0.40);
        let series = LineSeries::new(curve.points.iter().copied(), colour.stroke_width(2));
        chart
            .draw_series(series.point_size(3))?
            .label(&curve.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()?;
    root.present()?;
    Ok(())
}
