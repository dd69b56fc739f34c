//! NEON: vectors of 16 bytes as four lanes of 32 bits, and the move of chosen lanes to the front.
//! The joins of `halves` use them, and the search of `colours` has lanes of its own.

use std::arch::aarch64::*;
use std::arch::is_aarch64_feature_detected;

/// The right to execute these instructions.
#[derive(Clone, Copy)]
pub(crate) struct Neon(());

impl Neon {
    /// `None` if the processor lacks the instructions. Every processor that runs an operating
    /// system has them.
    pub(crate) fn new() -> Option<Neon> {
        is_aarch64_feature_detected!("neon").then_some(Neon(()))
    }
}

pub(crate) const LANES: usize = 4;

/// A set of lanes.
#[derive(Clone, Copy)]
pub(crate) struct Chosen {
    /// The set as bits. The first lane is the lowest bit.
    pub(crate) set: usize,
    /// The number of lanes.
    pub(crate) len: usize,
}

impl Chosen {
    /// The lanes whose bits are all set. The bits of the others must all be clear. The lower four
    /// bits of one sum are the set, and the bits above are the number of lanes.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(crate) fn of(lanes: uint32x4_t) -> Chosen {
        let sum = vaddvq_u32(vandq_u32(lanes, load(&[0x11, 0x12, 0x14, 0x18], 0))) as usize;
        Chosen { set: sum & 0xf, len: sum >> 4 }
    }
}

/// The order that moves the lanes of a set to the front, for each set. Each byte is a place, and
/// has the number of the byte that goes there.
static PACK: [[u8; 16]; 1 << LANES] = {
    let mut table = [[0; 16]; 1 << LANES];
    let mut set = 0;
    while set < table.len() {
        let (mut byte, mut packed) = (0, 0);
        while byte < 16 {
            if set >> (byte / LANES) & 1 == 1 {
                table[set][packed] = byte as u8;
                packed += 1;
            }
            byte += 1;
        }
        set += 1;
    }
    table
};

/// Moves the chosen lanes to the front.
#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn packed(a: uint32x4_t, lanes: Chosen) -> uint32x4_t {
    // SAFETY: the array is as long as a vector.
    let order = unsafe { vld1q_u8(PACK[lanes.set].as_ptr()) };
    vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(a), order))
}

#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn load(from: &[u32], at: usize) -> uint32x4_t {
    let from = &from[at..at + LANES];
    // SAFETY: the slice is as long as a vector.
    unsafe { vld1q_u32(from.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn store(to: &mut [u32], at: usize, a: uint32x4_t) {
    let to = &mut to[at..at + LANES];
    // SAFETY: the slice is as long as a vector.
    unsafe { vst1q_u32(to.as_mut_ptr(), a) }
}
