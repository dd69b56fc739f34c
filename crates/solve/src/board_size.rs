//! The largest board of algorithms whose rows are words of 32 bits.

use board::MAX_N;
use thiserror::Error;

/// A board that is too large for an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[error("a board of size {n}: this algorithm takes sizes from 0 to {MAX_N}")]
#[non_exhaustive]
pub struct BoardTooLarge {
    /// The size of the board.
    pub n: u32,
}

impl BoardTooLarge {
    /// Fails if a board of size `n` has rows of more than 32 squares.
    ///
    /// # Errors
    ///
    /// [`BoardTooLarge`], if it has.
    pub fn check(n: u32) -> Result<(), BoardTooLarge> {
        if n <= MAX_N { Ok(()) } else { Err(BoardTooLarge { n }) }
    }
}
