//! NEON: 8 nodes in a vector.
//!
//! What a queen takes from a row is one look-up by the place of its column (`tbl`), in a table of
//! two registers: the lower and the upper bytes of the columns. Lanes move to the front by a table
//! of orders.

use std::arch::aarch64::{
    uint16x8_t as Vector, vaddq_u16 as add, vandq_u16 as and, veorq_u16 as xor, vminq_u16 as min,
    vqsubq_u16 as sub_to_zero, vsubq_u16 as sub, *,
};

use super::{ColourSearch, ORDERS, Roots};
use crate::colours::colour::{Attack, Colour, MAX_ROWS};
use crate::colours::levels::{Buffers, CAPACITY, Field, Search, levels};
use crate::neon::Neon as Instructions;

const LANES: usize = 8;

const PASSES: usize = 1;

levels!(Neon, Instructions, "neon");

/// The columns that an attack takes, by the number of columns above the queen's: the lower bytes,
/// then the upper ones.
struct Taken([[u8; 16]; 2]);

/// The columns that an attack takes, as vectors.
#[derive(Clone, Copy)]
struct Loaded(uint8x16x2_t);

impl Taken {
    fn new(attack: Attack) -> Taken {
        let mut bytes = [[0; 16]; 2];
        for above in 0..16 {
            let columns = attack.columns(1 << (15 - above)).to_le_bytes();
            for (bytes, column) in bytes.iter_mut().zip(columns) {
                bytes[above] = column;
            }
        }
        Taken(bytes)
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn loaded(&self) -> Loaded {
        // SAFETY: the array is as long as two vectors.
        Loaded(unsafe { vld1q_u8_x2(self.0.as_flattened().as_ptr()) })
    }
}

/// The queens that take the lowest free columns.
#[derive(Clone, Copy)]
struct Queen {
    bit: Vector,
    /// The places of both bytes in the table of an attack. They mean nothing in a lane without a
    /// queen, whose bit is 0.
    places: uint8x16_t,
}

impl Queen {
    #[inline]
    #[target_feature(enable = "neon")]
    fn new(free: Vector, less: Vector) -> Queen {
        let bit = and_not(less, free);
        let above = vclzq_u16(bit);
        let places = vorrq_u16(vsliq_n_u16::<8>(above, above), set(0x1000));
        Queen { bit, places: vreinterpretq_u8_u16(places) }
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn taken(queen: Queen, attack: Loaded) -> Vector {
    vreinterpretq_u16_u8(vqtbl2q_u8(attack.0, queen.places))
}

/// A set of lanes.
struct Lanes {
    /// The order that moves these lanes to the front.
    order: uint8x16_t,
    len: usize,
}

impl Lanes {
    #[inline]
    fn len(&self) -> usize {
        self.len
    }
}

/// What each lane of a set adds to a sum: its bit to the lower byte, and 1 to the upper one.
static BITS: [u16; LANES] = [0x101, 0x102, 0x104, 0x108, 0x110, 0x120, 0x140, 0x180];

#[inline]
#[target_feature(enable = "neon")]
fn nonzero(a: Vector) -> Lanes {
    // SAFETY: the array is as long as a vector.
    let bits = unsafe { vld1q_u16(BITS.as_ptr()) };
    let [set, len] = vaddvq_u16(and(vtstq_u16(a, a), bits)).to_le_bytes();
    // SAFETY: an order is as long as a vector.
    let order = unsafe { vld1q_u8(ORDERS[usize::from(set)].as_ptr()) };
    Lanes { order, len: len.into() }
}

#[inline]
#[target_feature(enable = "neon")]
fn packed(to: &mut Field, at: usize, a: Vector, lanes: &Lanes) {
    let a = vqtbl1q_u8(vreinterpretq_u8_u16(a), lanes.order);
    store(to, at, vreinterpretq_u16_u8(a));
}

#[inline]
#[target_feature(enable = "neon")]
fn set(lane: u16) -> Vector {
    vdupq_n_u16(lane)
}

#[inline]
#[target_feature(enable = "neon")]
fn and_not(a: Vector, b: Vector) -> Vector {
    vbicq_u16(b, a)
}

#[inline]
#[target_feature(enable = "neon")]
fn halved(a: Vector) -> Vector {
    vshrq_n_u16::<1>(a)
}

#[inline]
#[target_feature(enable = "neon")]
fn load(from: &Field, at: usize) -> Vector {
    let from = &from.0[at..at + LANES];
    // SAFETY: the slice is as long as a vector.
    unsafe { vld1q_u16(from.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
fn store(to: &mut Field, at: usize, a: Vector) {
    let to = &mut to.0[at..at + LANES];
    // SAFETY: the slice is as long as a vector.
    unsafe { vst1q_u16(to.as_mut_ptr(), a) }
}
