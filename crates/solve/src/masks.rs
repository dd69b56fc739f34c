//! Sets of columns as masks: bit c is column c.

/// The lowest `n` columns, `n` up to 64.
pub(crate) fn low_bits(n: u32) -> u64 {
    1_u64.checked_shl(n).map_or(u64::MAX, |bit| bit - 1)
}

/// The positions of its ones, from the lowest on.
pub(crate) fn bits(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then(|| mask.trailing_zeros())?;
        mask &= mask - 1;
        Some(bit)
    })
}
