//! Probes: items of the probe side in the form in which they are looked up.

/// The number of bits of an item that one look-up takes.
pub(crate) const CHUNK_BITS: u32 = 5;

/// The most chunks of an item.
pub(crate) const CHUNKS: usize = u32::BITS.div_ceil(CHUNK_BITS) as usize;

/// The number of chunks that are looked up. It is the same for all items of a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chunks {
    /// For items of up to 30 bits.
    Six,
    /// For all items.
    Seven,
}

impl Chunks {
    /// The fewest chunks that hold this many bits, at most 32.
    pub(crate) fn of_bits(bits: u32) -> Chunks {
        assert!(bits <= u32::BITS, "{bits} bits of an item");
        if bits <= 6 * CHUNK_BITS { Chunks::Six } else { Chunks::Seven }
    }
}

/// An item as places in tables: byte `i` is eight times chunk `i` of the item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Probe(u64);

impl Probe {
    #[inline(always)]
    pub(crate) fn of(item: u32) -> Probe {
        let item = u64::from(item);
        let chunk = |i: usize| {
            let chunk = item >> (CHUNK_BITS as usize * i) & ((1 << CHUNK_BITS) - 1);
            chunk << (8 * i + 3)
        };
        Probe(chunk(0) | chunk(1) | chunk(2) | chunk(3) | chunk(4) | chunk(5) | chunk(6))
    }

    #[inline(always)]
    pub(crate) fn of_items(items: &[u32], probes: &mut [Probe]) {
        for (item, probe) in items.iter().zip(probes) {
            *probe = Probe::of(*item);
        }
    }

    /// Eight times chunk `i` of the item, at most 248.
    #[inline(always)]
    pub(crate) fn byte(self, i: usize) -> usize {
        usize::from(self.0.to_le_bytes()[i])
    }
}
