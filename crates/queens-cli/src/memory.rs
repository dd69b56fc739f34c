//! Amounts of memory on the command line.

use std::str::FromStr;

use anyhow::Context;
use bytesize::ByteSize;
use executor::allowed_memory;

/// An upper bound of memory: a size, or a share of what this process may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum MemoryBound {
    /// Bytes.
    Size(u64),
    /// A share, above 0 and at most 1.
    Share(f64),
}

impl MemoryBound {
    /// Half of the memory that this process may use.
    pub(crate) const HALF: &str = "50%";

    /// Its bytes.
    pub(crate) fn bytes(self) -> u64 {
        match self {
            MemoryBound::Size(bytes) => bytes,
            MemoryBound::Share(share) => (allowed_memory() as f64 * share) as u64,
        }
    }
}

impl FromStr for MemoryBound {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<MemoryBound> {
        let bound = match text.strip_suffix('%') {
            Some(percent) => {
                let percent = percent.trim().parse::<f64>().ok();
                let percent = percent.filter(|&percent| percent > 0.0 && percent <= 100.0);
                percent.map(|percent| MemoryBound::Share(percent / 100.0))
            }
            None => text.parse::<ByteSize>().ok().map(|size| MemoryBound::Size(size.as_u64())),
        };
        bound.context(
            "an amount of memory is a size, as in 500MiB or 2GiB, or a share above 0% and up to 100%, as in 25%",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_said_as_a_size_or_as_a_share() {
        let read = |text: &str| text.parse::<MemoryBound>().ok();
        assert_eq!(read("2GiB"), Some(MemoryBound::Size(2 << 30)));
        assert_eq!(read("12.5%"), Some(MemoryBound::Share(0.125)));
        assert_eq!(read(MemoryBound::HALF), Some(MemoryBound::Share(0.5)));
        for wrong in ["", "much", "%", "0%", "-5%", "101%", "NaN%", "inf%"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
