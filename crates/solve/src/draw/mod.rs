//! Diagrams of boards as in chess books, as text or SVG.

mod diagram;
mod svg;
mod text;

pub use diagram::Diagram;
pub use svg::svg;
pub use text::text;
