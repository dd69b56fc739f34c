//! Writes a scene as PNG.

use std::io::{self, Write};

use anyhow::{Context, Result};
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use tiny_skia::{
    FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, Stroke as Pen, Transform,
};

use super::scene::{Colour, Path, Scene, Segment};

/// The content of the PNG file. It takes eight bytes of memory per pixel, and what the file has.
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
    Ok(file([pixels.width(), pixels.height()], &pixels.take_demultiplied())?)
}

/// A PNG file of pixels with eight bits each of red, green, blue and opacity, row after row.
fn file([width, height]: [u32; 2], pixels: &[u8]) -> io::Result<Vec<u8>> {
    const DEPTH_AND_COLOURS: [u8; 5] = [8, 6, 0, 0, 0];
    const UNFILTERED: u8 = 0;
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &DEPTH_AND_COLOURS].concat();
    let rows = pixels.chunks(4 * width as usize);
    let mut compressed = ZlibEncoder::new(Vec::new(), Compression::default());
    for row in rows {
        compressed.write_all(&[UNFILTERED])?;
        compressed.write_all(row)?;
    }
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let chunks = [(b"IHDR", header), (b"IDAT", compressed.finish()?), (b"IEND", Vec::new())];
    for (name, content) in chunks {
        let chunk = [name, &content[..]].concat();
        file.extend((content.len() as u32).to_be_bytes());
        file.extend(&chunk);
        let mut checksum = Crc::new();
        checksum.update(&chunk);
        file.extend(checksum.sum().to_be_bytes());
    }
    Ok(file)
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
