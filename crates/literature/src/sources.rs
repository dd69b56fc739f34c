//! The figures that the literature prints, from `sources.json`, and the commands that reproduce
//! them.

use std::sync::LazyLock;

use serde::Deserialize;

/// A publication.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// A short name, by which figures refer to it.
    pub name: String,
    /// The authors.
    pub author: String,
    /// The year of publication, if it is known.
    pub year: Option<u16>,
    /// The title, and the journal, book or site.
    pub place: String,
}

/// A value or a claim that a source prints, with the command that reproduces it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Its name. The part before the slash is common to the figures of one subject.
    pub name: String,
    /// The name of its source.
    pub source: String,
    /// The meaning of the value.
    pub claim: String,
    /// The value that the source prints.
    pub says: String,
    /// The arguments of `queens` that reproduce it, separated by spaces.
    pub run: String,
    /// Selects the value in the output. `text` is all of it, and `lines` is the number of its
    /// lines. Anything else is a JSON pointer into the list of its lines, each of which is a JSON
    /// value, or a text with such pointers in braces.
    pub take: String,
    /// A second JSON pointer. The value is then the quotient of the first by the second.
    pub over: Option<String>,
    /// The arguments of `queens` for the second value, if another command prints it.
    pub over_run: Option<String>,
    /// The factor by which a measured value may differ from the source's and still agree. A figure
    /// without a factor is exact, and so is one with `at_most`.
    pub within: Option<f64>,
    /// Whether the source says only that the value is at most this.
    #[serde(default)]
    pub at_most: bool,
    /// The value here, if it is known to differ. Then `why` explains it.
    pub ours: Option<String>,
    /// The reason why the value differs here, or may differ if it is measured. It is one sentence
    /// that was checked.
    pub why: Option<String>,
    /// Whether it takes longer than a second or two.
    #[serde(default)]
    pub slow: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sources {
    #[serde(rename = "about")]
    _about: String,
    source: Vec<Source>,
    figure: Vec<Figure>,
    times: SourceTimes,
}

/// The running times that a source prints for boards of consecutive sizes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceTimes {
    /// The name of the source.
    pub source: String,
    /// What was run.
    pub program: String,
    /// What it ran on.
    pub processor: String,
    /// The size of the first board.
    pub first_n: u32,
    /// The time for each board.
    pub milliseconds: Vec<u32>,
}

static SOURCES: LazyLock<Sources> = LazyLock::new(|| {
    let text = include_str!("sources.json");
    serde_json::from_str(text).expect("sources.json holds the figures")
});

/// All figures, in the order of the file.
pub fn figures() -> &'static [Figure] {
    &SOURCES.figure
}

/// The times by size that a source prints.
pub fn times() -> &'static SourceTimes {
    &SOURCES.times
}

impl Figure {
    /// The publication that prints it. A test makes sure that the file describes each of them.
    pub fn source(&self) -> &'static Source {
        let mut sources = SOURCES.source.iter();
        sources.find(|source| source.name == self.source).expect("each source is described")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_unique_names_and_known_sources() {
        let mut names: Vec<&str> = figures().iter().map(|figure| figure.name.as_str()).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        let used: Vec<&str> = figures().iter().map(|it| it.source().name.as_str()).collect();
        assert!(SOURCES.source.iter().any(|source| source.name == times().source));
        for source in &SOURCES.source {
            assert!(used.contains(&source.name.as_str()), "{} has no figure", source.name);
        }
    }

    #[test]
    fn a_value_that_differs_is_exact_and_has_a_reason() {
        for Figure { name, says, within, ours, why, .. } in figures() {
            let differs = ours.is_some();
            assert!(!differs || (why.is_some() && within.is_none()), "{name}");
            assert_ne!(ours.as_ref(), Some(says), "{name}");
            assert!(why.is_none() || differs || within.is_some(), "{name} explains nothing");
            assert!(within.is_none_or(|factor| factor > 1.0), "{name}");
        }
    }
}
