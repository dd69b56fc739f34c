//! Board sizes on the command line: one, or the first and the last of several.

use std::ops::RangeInclusive;
use std::str::FromStr;

use anyhow::{bail, ensure};
use board::MAX_N;

/// Board sizes from the first to the last, as in `18..22`, or a single one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    first: u32,
    last: u32,
}

impl Sizes {
    /// Each size, the smallest first.
    pub(crate) fn each(self) -> RangeInclusive<u32> {
        self.first..=self.last
    }

    /// Whether they are several.
    pub(crate) fn are_many(self) -> bool {
        self.first < self.last
    }

    /// Reads sizes that a farm can count without given queens.
    pub(crate) fn of_boards(text: &str) -> anyhow::Result<Sizes> {
        let sizes: Sizes = text.parse()?;
        ensure!(sizes.last <= MAX_N, "give sizes of at most {MAX_N}");
        Ok(sizes)
    }
}

impl FromStr for Sizes {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Sizes> {
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else {
            bail!("give a size as in 12, or the first and the last as in 8..16");
        };
        ensure!(first <= last, "the first size is the smaller one, as in {last}..{first}");
        Ok(Sizes { first, last })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_one_or_two_ends() {
        let sizes = |text| Sizes::of_boards(text).map(|Sizes { first, last }| (first, last));
        assert_eq!(sizes("8").expect("a size"), (8, 8));
        assert_eq!(sizes("8..16").expect("two sizes"), (8, 16));
        assert_eq!(sizes("0..32").expect("two sizes"), (0, 32));
        for wrong in ["", "..", "8..", "..8", "8-9", "8..9..10", "-1", "9..8", "8..33", "33"] {
            assert!(sizes(wrong).is_err(), "{wrong}");
        }
    }
}
