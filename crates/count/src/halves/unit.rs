//! What the method asks of a processor.

use super::geometry::View;
use super::lists::Quarter;

/// The right to execute some instructions: a value exists only where the processor has them.
pub(crate) trait Unit: Copy {
    /// Some upper half-boards, laid out for [`join`](Unit::join); in any order.
    type Block;

    /// The half-boards of a block.
    const LANES: usize;

    /// The bits of an item, at most 31. The bit above them marks an absent one: it is set in no
    /// item, and for [`join`](Unit::join) in every item of `lower`.
    const ITEM_BITS: u32;

    /// Writes the keys of the half-boards that the quarters make to the start of `keys`, and
    /// returns their number. `keys` has room for every pair and for [`PADDING`] more.
    ///
    /// [`PADDING`]: super::quarters::PADDING
    fn pair(self, upper: Quarter<'_>, lower: Quarter<'_>, keys: &mut [u64]) -> usize;

    /// Splits each key into its bucket's number and its item.
    fn extract(self, keys: &[u64], view: View, codes: &mut [u32], items: &mut [u32]);

    /// Appends blocks of `items`, a multiple of [`LANES`](Unit::LANES).
    fn pack(self, items: &[u32], blocks: &mut Vec<Self::Block>);

    /// The number of pairs of a half-board in the `chosen` blocks and one of `lower` that have no
    /// bit in common. The chosen are places in `blocks`, a multiple of [`CHOSEN`] of them.
    fn join(self, blocks: &[Self::Block], chosen: &[u32], lower: &[u32]) -> u64;
}

/// Blocks are joined in groups of so many.
pub(crate) const CHOSEN: usize = 4;

/// The item of a lane without a half-board: it fits none.
pub(crate) const fn absent<U: Unit>() -> u32 {
    1 << U::ITEM_BITS
}
