//! Writes a scene as SVG.

use std::fmt::Write;

use super::scene::{Colour, Scene, Segment};

/// The whole document. Its paths have the classes of their shapes: `queen`, `dark`, `attack`, …
pub(crate) fn svg(scene: &Scene) -> String {
    let Scene { title, width, height, shapes } = scene;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.2} {height:.2}\" role=\"img\" stroke-linecap=\"round\" \
         stroke-linejoin=\"round\">\n<title>{title}</title>\n"
    );
    for shape in shapes {
        let fill = shape.fill.map_or("none".into(), name);
        let _ = write!(out, "<path class=\"{}\" fill=\"{fill}\"", shape.class);
        if let Some(stroke) = shape.stroke {
            let (colour, width) = (name(stroke.colour), stroke.width);
            let _ = write!(out, " stroke=\"{colour}\" stroke-width=\"{width:.2}\"");
        }
        out.push_str(" d=\"");
        for segment in &shape.path.segments {
            let _ = match *segment {
                Segment::Move([x, y]) => write!(out, "M{x:.2} {y:.2}"),
                Segment::Line([x, y]) => write!(out, "L{x:.2} {y:.2}"),
                Segment::Curve([ax, ay], [bx, by], [x, y]) => {
                    write!(out, "C{ax:.2} {ay:.2} {bx:.2} {by:.2} {x:.2} {y:.2}")
                }
                Segment::Close => write!(out, "Z"),
            };
        }
        out.push_str("\"/>\n");
    }
    out.push_str("</svg>\n");
    out
}

fn name([red, green, blue]: Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}
