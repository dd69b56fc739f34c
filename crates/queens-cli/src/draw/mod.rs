//! Diagrams of boards as in chess books, as text, SVG or PNG.
//!
//! A picture is a [`Scene`] of paths. Letters are paths too, so that SVG and PNG look the same and need no
//! font.

mod diagram;
mod glyphs;
mod png;
mod scene;
mod svg;
mod text;

pub(crate) use diagram::{Diagram, Style, sheet};
pub(crate) use png::png;
pub(crate) use scene::Scene;
pub(crate) use svg::svg;
pub(crate) use text::text;
