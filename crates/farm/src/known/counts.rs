//! The published counts of `counts.json`, built into the program. Each names its source.

use std::sync::LazyLock;

use serde::Deserialize;

/// A count that somebody has published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Published {
    pub(super) value: u128,
    pub(super) source: &'static str,
}

/// A sequence of counts, one for each size of board.
#[derive(Deserialize)]
pub(super) struct Sequence {
    source: String,
    first: u32,
    values: Vec<String>,
}

impl Sequence {
    /// The count for boards of size `n`, if it is known.
    pub(super) fn at(&'static self, n: u32) -> Option<Published> {
        let value = self.values.get(usize::try_from(n.checked_sub(self.first)?).ok()?)?;
        Some(Published { value: value.parse().expect("counts are decimal"), source: &self.source })
    }
}

/// The sequences with which the farm compares what was counted.
#[derive(Deserialize)]
pub(super) struct Counts {
    /// All placements (A000170).
    pub(super) total: Sequence,
    /// Those that the half turn fixes (A032522).
    pub(super) centrosymmetric: Sequence,
    /// Those that the quarter turn fixes (A033148).
    pub(super) quarter_turn: Sequence,
    /// Placements on a torus (A007705).
    pub(super) toroidal: Sequence,
    /// Placements of queens that also move as knights (A051223).
    pub(super) superqueens: Sequence,
}

pub(super) static COUNTS: LazyLock<Counts> = LazyLock::new(|| {
    let text = include_str!("counts.json");
    serde_json::from_str(text).expect("counts.json holds the known counts")
});
