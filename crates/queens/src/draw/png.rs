//! Writes a scene as PNG.

use anyhow::{Context, Result};
use tiny_skia::{
    FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, Stroke as Pen, Transform,
};

use super::scene::{Colour, Path, Scene, Segment};

/// The content of the PNG file. Drawing takes four bytes of memory per pixel.
pub(crate) fn png(scene: &Scene) -> Result<Vec<u8>> {
    let mut pixels = Pixmap::new(scene.width.round() as u32, scene.height.round() as u32)
        .context("a picture has pixels")?;
    for shape in &scene.shapes {
        let Some(path) = outline(&shape.path) else { continue };
        if let Some(colour) = shape.fill {
            let paint = paint(colour);
            pixels.fill_path(&path, &paint, FillRule::Winding, Transform::identity(), None);
        }
        if let Some(stroke) = shape.stroke {
            let pen = Pen {
                width: stroke.width,
                line_cap: LineCap::Round,
                line_join: LineJoin::Round,
                ..Pen::default()
            };
            pixels.stroke_path(&path, &paint(stroke.colour), &pen, Transform::identity(), None);
        }
    }
    Ok(pixels.encode_png()?)
}

/// Converts a path; `None` if it has no line.
fn outline(path: &Path) -> Option<tiny_skia::Path> {
    let mut builder = PathBuilder::new();
    for segment in &path.segments {
        match *segment {
            Segment::Move([x, y]) => builder.move_to(x, y),
            Segment::Line([x, y]) => builder.line_to(x, y),
            Segment::Curve([ax, ay], [bx, by], [x, y]) => builder.cubic_to(ax, ay, bx, by, x, y),
            Segment::Close => builder.close(),
        }
    }
    builder.finish()
}

fn paint([red, green, blue]: Colour) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, 255);
    paint.anti_alias = true;
    paint
}
