//! AVX2: 16 nodes in a vector.
//!
//! A queen's bit is shifted by the products with powers of two: the lower half of a product is a
//! shift up, the upper half one down. A factor that has its lowest bit set, too, adds the bit
//! itself. Lanes move to the front of either half of a vector by a table of orders for eight lanes.

use std::arch::x86_64::{
    __m256i as Vector, _mm256_add_epi16 as add, _mm256_and_si256 as and,
    _mm256_andnot_si256 as and_not, _mm256_min_epu16 as min, _mm256_sub_epi16 as sub,
    _mm256_subs_epu16 as sub_to_zero, _mm256_xor_si256 as xor, *,
};

use super::{ColourSearch, ORDERS, Roots};
use crate::avx2::Avx2 as Instructions;
use crate::colours::colour::{Attack, Colour, MAX_ROWS};
use crate::colours::levels::{Buffers, CAPACITY, Field, Search, levels};

const LANES: usize = 16;

const PASSES: usize = 1;

levels!(Avx2, Instructions, "avx2,popcnt");

/// The factors by which an attack shifts a queen's bit.
struct Taken {
    up: u16,
    down: u16,
}

/// The factors, each in every lane of a vector.
#[derive(Clone, Copy)]
struct Loaded {
    up: Vector,
    down: Vector,
}

impl Taken {
    fn new(attack: Attack) -> Taken {
        let [up, down] = attack.shifts();
        let own = u32::from(attack.takes_column() || down == 0);
        let factor = |shift: u32| 1_u32.checked_shl(shift).unwrap_or(0) as u16;
        // The upper half of a product cannot shift by 0, so `own` adds the bit itself.
        let down = if (1..16).contains(&down) { factor(16 - down) } else { 0 };
        Taken { up: factor(up) | own as u16, down }
    }

    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn loaded(&self) -> Loaded {
        Loaded { up: set(self.up), down: set(self.down) }
    }
}

/// The queens that take the lowest free columns.
#[derive(Clone, Copy)]
struct Queen {
    bit: Vector,
}

impl Queen {
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn new(free: Vector, less: Vector) -> Queen {
        Queen { bit: and_not(less, free) }
    }
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn taken(queen: Queen, attack: Loaded) -> Vector {
    let up = _mm256_mullo_epi16(queen.bit, attack.up);
    _mm256_or_si256(up, _mm256_mulhi_epu16(queen.bit, attack.down))
}

/// A set of lanes.
struct Lanes {
    /// The order that moves the lanes of each half to its front.
    order: Vector,
    /// The number of lanes in the lower half, and in both.
    lower: usize,
    len: usize,
}

impl Lanes {
    #[inline]
    fn len(&self) -> usize {
        self.len
    }
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn nonzero(a: Vector) -> Lanes {
    let zero = _mm256_cmpeq_epi16(a, set(0));
    let [lower, upper] = [_mm256_castsi256_si128(zero), _mm256_extracti128_si256::<1>(zero)];
    let set = !_mm_movemask_epi8(_mm_packs_epi16(lower, upper)) as u16;
    let [lower, upper] = set.to_le_bytes();
    let order = |set: u8| {
        // SAFETY: an order is as long as a vector of 16 bytes.
        unsafe { _mm_loadu_si128(ORDERS[usize::from(set)].as_ptr().cast()) }
    };
    Lanes {
        order: _mm256_set_m128i(order(upper), order(lower)),
        lower: lower.count_ones() as usize,
        len: set.count_ones() as usize,
    }
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn packed(to: &mut Field, at: usize, a: Vector, lanes: &Lanes) {
    let a = _mm256_shuffle_epi8(a, lanes.order);
    let to = &mut to.0[at..at + LANES];
    // SAFETY: the slice is as long as both parts, and the upper part begins at most 8 lanes from
    // its start.
    unsafe {
        _mm_storeu_si128(to.as_mut_ptr().cast(), _mm256_castsi256_si128(a));
        _mm_storeu_si128(to.as_mut_ptr().add(lanes.lower).cast(), _mm256_extracti128_si256::<1>(a));
    }
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn set(lane: u16) -> Vector {
    _mm256_set1_epi16(lane as i16)
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn halved(a: Vector) -> Vector {
    _mm256_srli_epi16::<1>(a)
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn load(from: &Field, at: usize) -> Vector {
    let from = &from.0[at..at + LANES];
    // SAFETY: the slice is as long as a vector.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn store(to: &mut Field, at: usize, a: Vector) {
    let to = &mut to.0[at..at + LANES];
    // SAFETY: the slice is as long as a vector, and any bits are an integer.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), a) }
}
