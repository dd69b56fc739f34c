//! The state of a board after its first rows, as three masks.

/// The largest board that masks of `u32` hold.
pub const MAX_N: u32 = 32;

/// The mask of all columns of a board of size `n`: the lowest `n` bits.
///
/// # Panics
///
/// If `n` is greater than [`MAX_N`].
#[must_use]
#[inline]
pub const fn full_mask(n: u32) -> u32 {
    assert!(n <= MAX_N, "a board is at most MAX_N wide");
    // A u32 cannot be shifted by 32, which N = 32 needs.
    ((1u64 << n) - 1) as u32
}

/// The lowest `n` bits, `n` at most 64.
#[must_use]
#[inline]
pub const fn low_bits(n: u32) -> u64 {
    match 1_u64.checked_shl(n) {
        Some(bit) => bit - 1,
        None => u64::MAX,
    }
}

/// The single bits of a mask, the lowest one first.
#[inline]
pub fn bits(mut mask: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = mask & mask.wrapping_neg();
        mask ^= bit;
        (bit != 0).then_some(bit)
    })
}

/// The places of the bits of a mask, the lowest one first.
#[inline]
pub fn ones(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let place = (mask != 0).then(|| mask.trailing_zeros());
        mask &= mask.wrapping_sub(1);
        place
    })
}

/// The state after M placed rows, as the masks that row M sees (bit `c` is column `c`).
///
/// `left` holds the columns attacked along diagonals that move one bit up per row, `right` those
/// attacked along diagonals that move one bit down, and `down` the columns that hold a queen,
/// exactly M of them. All three stay within the board's [`full_mask`]. The names are those of the
/// MC# program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Prefix {
    /// Columns attacked along diagonals to higher columns.
    pub left: u32,
    /// Columns that hold a queen.
    pub down: u32,
    /// Columns attacked along diagonals to lower columns.
    pub right: u32,
}

impl Prefix {
    /// The board without a queen.
    pub const EMPTY: Prefix = Prefix { left: 0, down: 0, right: 0 };

    /// The columns of the next row of a board of size `n` that no queen attacks.
    #[must_use]
    #[inline]
    pub const fn free(self, n: u32) -> u32 {
        full_mask(n) & !(self.left | self.down | self.right)
    }

    /// The state one row further, with a queen in the column whose single `bit` is given.
    ///
    /// `bit` is one bit of [`free`](Prefix::free); this is not checked.
    #[must_use]
    #[inline]
    pub const fn place(self, n: u32, bit: u32) -> Prefix {
        Prefix {
            left: ((self.left | bit) << 1) & full_mask(n),
            down: self.down | bit,
            right: (self.right | bit) >> 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_in_the_crate_documentation_is_true() {
        let board = Prefix::EMPTY.place(5, 1 << 1).place(5, 1 << 3);
        assert_eq!(board.left, 0b11000);
        assert_eq!(board.down, 0b01010);
        assert_eq!(board.right, 0b00100);
        assert_eq!(board.free(5), 0b00001);
    }
}
