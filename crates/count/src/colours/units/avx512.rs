//! AVX-512: 32 nodes in a vector.
//!
//! What a queen takes from a row is one look-up by the place of its column (`vpermw`), and lanes
//! move to the front by one instruction.

use std::arch::x86_64::{
    __m512i as Vector, _mm512_add_epi16 as add, _mm512_and_si512 as and,
    _mm512_andnot_si512 as and_not, _mm512_min_epu16 as min, _mm512_sub_epi16 as sub,
    _mm512_subs_epu16 as sub_to_zero, _mm512_xor_si512 as xor, *,
};

use super::{ColourSearch, Roots};
use crate::avx512::Avx512 as Instructions;
use crate::colours::colour::{Attack, Colour, MAX_ROWS};
use crate::colours::levels::{Buffers, CAPACITY, Field, Search, levels};

const LANES: usize = 32;

const PASSES: usize = 2;

levels!(Avx512, Instructions<u16>, "avx512bw,avx512vbmi2,avx512bitalg,popcnt");

/// The columns that an attack takes, by the place of the queen's column. A lane without a queen has
/// place 16.
#[repr(align(64))]
struct Taken([u16; LANES]);

/// The columns that an attack takes, as a vector.
#[derive(Clone, Copy)]
struct Loaded(Vector);

impl Taken {
    fn new(attack: Attack) -> Taken {
        let mut columns = [0; LANES];
        for (place, columns) in columns[..16].iter_mut().enumerate() {
            *columns = attack.columns(1 << place);
        }
        Taken(columns)
    }

    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi2,avx512bitalg,popcnt")]
    fn loaded(&self) -> Loaded {
        // SAFETY: the array is as long as a vector.
        Loaded(unsafe { _mm512_loadu_si512(self.0.as_ptr().cast()) })
    }
}

/// The queens that take the lowest free columns.
#[derive(Clone, Copy)]
struct Queen {
    bit: Vector,
    /// The number of the bit; 16 if there is none.
    place: Vector,
}

impl Queen {
    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi2,avx512bitalg,popcnt")]
    fn new(free: Vector, less: Vector) -> Queen {
        let place = _mm512_popcnt_epi16(and_not(free, less));
        Queen { bit: and_not(less, free), place }
    }
}

#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi2,avx512bitalg,popcnt")]
fn taken(queen: Queen, attack: Loaded) -> Vector {
    _mm512_permutexvar_epi16(queen.place, attack.0)
}

/// A set of lanes.
struct Lanes(u32);

impl Lanes {
    #[inline]
    fn len(&self) -> usize {
        self.0.count_ones() as usize
    }
}

#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi2,avx512bitalg,popcnt")]
fn nonzero(a: Vector) -> Lanes {
    Lanes(_mm512_test_epi16_mask(a, a))
}

#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi2,avx512bitalg,popcnt")]
fn packed(to: &mut Field, at: usize, a: Vector, lanes: &Lanes) {
    store(to, at, _mm512_maskz_compress_epi16(lanes.0, a));
}

#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi2,avx512bitalg,popcnt")]
fn set(lane: u16) -> Vector {
    _mm512_set1_epi16(lane as i16)
}

#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi2,avx512bitalg,popcnt")]
fn halved(a: Vector) -> Vector {
    _mm512_srli_epi16::<1>(a)
}

#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi2,avx512bitalg,popcnt")]
fn load(from: &Field, at: usize) -> Vector {
    crate::avx512::load(&from.0, at)
}

#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi2,avx512bitalg,popcnt")]
fn store(to: &mut Field, at: usize, a: Vector) {
    crate::avx512::store(&mut to.0, at, a);
}
