//! The figures that the literature prints, each counted again here.
//!
//! A command of the program reproduces a figure, so anybody can repeat it. `vectors/sources.json`
//! has the command. An exact figure agrees, differs for a given reason, or is an error. A measured
//! figure, such as the ratio of two times, depends on the machine, so it can only be compared.

pub mod report;
mod rerun;
mod verdict;

pub use rerun::Outputs;
use vectors::Figure;
pub use verdict::Verdict;

/// A figure and its value here.
#[derive(Debug)]
pub struct Line {
    /// The figure.
    pub figure: &'static Figure,
    /// Its value here.
    pub ours: String,
    /// The result of comparing the two.
    pub verdict: Verdict,
}

/// The part of a figure's name before the slash.
#[must_use]
pub fn subject(figure: &Figure) -> &str {
    figure.name.split('/').next().unwrap_or_default()
}

impl Line {
    /// Compares a value with that of the source.
    #[must_use]
    pub fn new(figure: &'static Figure, ours: String) -> Line {
        Line { figure, verdict: Verdict::of(figure, &ours), ours }
    }

    /// Whether the program or the machine is wrong.
    #[must_use]
    pub fn is_fault(&self) -> bool {
        self.verdict == Verdict::Differs && self.figure.within.is_none()
    }
}
