//! Amounts of memory as the command line says them.

use std::str::FromStr;

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

/// What is no amount of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "an amount of memory is a size, as in 500MiB or 2GiB, or a share above 0% and up to 100%, as in 25%"
)]
pub(crate) struct NoMemoryBound;

impl MemoryBound {
    /// How it is said to use half of what may be used.
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
    type Err = NoMemoryBound;

    fn from_str(text: &str) -> Result<MemoryBound, NoMemoryBound> {
        match text.strip_suffix('%') {
            Some(percent) => {
                let percent: f64 = percent.trim().parse().map_err(|_| NoMemoryBound)?;
                let is_share = percent > 0.0 && percent <= 100.0;
                is_share.then_some(MemoryBound::Share(percent / 100.0)).ok_or(NoMemoryBound)
            }
            None => {
                let size: ByteSize = text.parse().map_err(|_| NoMemoryBound)?;
                Ok(MemoryBound::Size(size.as_u64()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_said_as_a_size_or_as_a_share() {
        assert_eq!("2GiB".parse(), Ok(MemoryBound::Size(2 << 30)));
        assert_eq!("12.5%".parse(), Ok(MemoryBound::Share(0.125)));
        assert_eq!(MemoryBound::HALF.parse(), Ok(MemoryBound::Share(0.5)));
        for wrong in ["", "much", "%", "0%", "-5%", "101%", "NaN%", "inf%"] {
            assert_eq!(wrong.parse::<MemoryBound>(), Err(NoMemoryBound), "{wrong}");
        }
    }
}
