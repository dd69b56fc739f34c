//! Diagrams of boards as in chess books, as text or SVG.

mod diagram;
mod svg;
mod text;

pub(crate) use diagram::Diagram;
pub(crate) use svg::{Style, sheet, svg};
pub(crate) use text::text;
