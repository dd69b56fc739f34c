//! AVX-512: the search of [`levels`](crate::levels) in vectors of 64 bytes.
//!
//! A mask takes 16 bits if the board is at most 16 wide, and 32 bits otherwise. So a vector has 32
//! or 16 lanes. The same code serves both, with the instructions for either width: a macro, because
//! functions cannot have instructions as parameters. Refilling and appending take one instruction
//! for each mask, expand and compress. Both work between registers, because compressing to memory
//! is slow on Zen 4.
//!
//! A child is stored only if each of its next three rows has a free square. With four or five rows
//! left, every row *and* every column that is left must have one. Of the children with four rows
//! left at N = 16, this keeps 41% instead of 56%. The last three rows are counted in closed form
//! (`last_three`).
//!
//! On one core of a shared Zen 5 server, `rows` was measured at 3.0e8 Q/s for N = 16 and at 1.45e8
//! Q/s for N = 18. This is 78 and 43 times the speed of the reference, or 14 and 29 cycles for each
//! solution. `LABBOOK.md` describes other attempts.
//!
//! The instructions are those of Ice Lake (2019) and Zen 4 (2022): VBMI2 moves 16-bit lanes, and
//! BITALG and VPOPCNTDQ count bits. Older AVX-512 processors run `avx2`.

use std::arch::x86_64::*;
use std::marker::PhantomData;

/// The number of vectors that are processed in turn.
const STREAMS: usize = 3;

/// The right to execute these instructions, with lanes of type `L`.
#[derive(Clone, Copy)]
pub(crate) struct Avx512<L>(PhantomData<L>);

impl<L> Avx512<L> {
    /// `None` if the processor lacks an instruction that the backend uses for any method. Skylake
    /// and Cascade Lake lack some of them, so AVX2 counts everything there.
    pub(crate) fn new() -> Option<Avx512<L>> {
        let is_available = is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("avx512bitalg")
            && is_x86_feature_detected!("avx512vpopcntdq")
            && is_x86_feature_detected!("gfni")
            && is_x86_feature_detected!("popcnt");
        is_available.then_some(Avx512(PhantomData))
    }
}

/// Defines the search in a module, with the instructions for one type of lanes.
macro_rules! lanes {
    ($module:ident, $lane:ty, $mask:ty, $sum:ident, $($instruction:ident as $name:ident),*) => {
        mod $module {
            use std::arch::x86_64::{
                __m512i as Vector, _mm512_and_si512 as and, _mm512_andnot_si512 as and_not,
                _mm512_mullo_epi16 as times, _mm512_or_si512 as or, _mm512_setzero_si512 as zero,
                _mm512_xor_si512 as xor, $($instruction as $name),*
            };

            use super::{Avx512, STREAMS, $sum as sum, and_neither, load, store};
            use crate::levels::{Below, States, VectorUnit, search};
            use crate::remaining::OpenRow;

            /// A set of lanes.
            type Mask = $mask;

            const LANES: usize = Mask::BITS as usize;

            search!(Avx512<$lane>, $lane, "avx512bw,avx512vbmi2,avx512bitalg,avx512vpopcntdq,popcnt");

            /// The lanes whose untried squares are used up.
            struct Spent {
                lanes: Mask,
            }

            impl Spent {
                #[inline]
                #[target_feature(enable = "avx512bw,avx512vbmi2,avx512bitalg,avx512vpopcntdq,popcnt")]
                fn of(untried: Vector) -> Spent {
                    Spent { lanes: disjoint(untried, untried) }
                }

                /// `old`, in which the first lanes of `new` have replaced the spent ones.
                #[inline]
                #[target_feature(enable = "avx512bw,avx512vbmi2,avx512bitalg,avx512vpopcntdq,popcnt")]
                fn replaced(&self, old: Vector, new: Vector) -> Vector {
                    expanded(old, self.lanes, new)
                }
            }

            #[inline]
            #[target_feature(enable = "avx512bw,avx512vbmi2,avx512bitalg,avx512vpopcntdq,popcnt")]
            fn is_zero(a: Vector) -> bool {
                nonzero(a, a) == 0
            }

            #[inline]
            #[target_feature(enable = "avx512bw,avx512vbmi2,avx512bitalg,avx512vpopcntdq,popcnt")]
            fn living(fewest: Vector, all: Option<[Vector; 2]>) -> Mask {
                let lives = nonzero(fewest, fewest);
                match all {
                    Some([columns, open]) => lives & equal(columns, open),
                    None => lives,
                }
            }

            #[inline]
            #[target_feature(enable = "avx512bw,avx512vbmi2,avx512bitalg,avx512vpopcntdq,popcnt")]
            fn packed(Vectors { open, left, right }: Vectors, lanes: Mask) -> Vectors {
                Vectors {
                    open: compressed(lanes, open),
                    left: compressed(lanes, left),
                    right: compressed(lanes, right),
                }
            }

            /// The number of ways to place the last three queens in the three columns that are
            /// open. It is at most 3! in each lane, and 0 in an empty lane.
            #[inline]
            #[target_feature(enable = "avx512bw,avx512vbmi2,avx512bitalg,avx512vpopcntdq,popcnt")]
            fn last_three<const PLAIN: bool>(states: Vectors, rows: &Rows<PLAIN>) -> Vector {
                let Vectors { open, .. } = states;
                let a = states.free::<PLAIN, 1>(rows);
                let b = states.free::<PLAIN, 2>(rows);
                let c = states.free::<PLAIN, 3>(rows);

                let [low, middle, high] = states.columns();

                if PLAIN {
                    // No two queens meet on a diagonal if the middle row's queen does not stand
                    // beside an open column and the other two are not two columns apart. Then any
                    // three different columns are a placement.
                    let b = and_neither(b, up::<1>(open), down::<1>(open));
                    let b = replace(b, equal(up::<2>(middle), high), and_not(low, b));
                    let b = replace(b, equal(up::<2>(low), middle), and_not(high, b));
                    return permanent(a, b, c);
                }
                // For each column of the middle row's queen, two columns are left for the other two
                // queens.
                let to_b = rows.apart[2];
                let b_to_c = sub(rows.apart[3], to_b);
                let mut ways = zero();
                for column in [low, middle, high] {
                    let others = and_not(column, open);
                    let far = up_by(others, rows.apart[3]);
                    let allowed = nonzero(b, column) & disjoint(far, others);
                    let off = |row, by| {
                        let (left, right) = (up_by(column, by), down_by(column, by));
                        and(others, and_neither(row, left, right))
                    };
                    let (a, c) = (off(a, to_b), off(c, b_to_c));
                    let both = ones(and(a, c));
                    let apart = sub(times(ones(a), ones(c)), both);
                    ways = add_some(ways, allowed, ways, apart);
                }
                ways
            }

            /// The number of ways to choose three different columns, one from each of the sets a, b
            /// and c. Together the sets have three columns. The number is the permanent of a 3 x 3
            /// matrix of bits, found by inclusion and exclusion:
            ///
            /// ```text
            ///   |a| |b| |c|  -  |a b| |c|  -  |a c| |b|  -  |b c| |a|  +  2 |a b c|
            /// ```
            #[inline]
            #[target_feature(enable = "avx512bw,avx512vbmi2,avx512bitalg,avx512vpopcntdq,popcnt")]
            fn permanent(a: Vector, b: Vector, c: Vector) -> Vector {
                let ab = and(a, b);
                let ac = ones(and(a, c));
                let bc = ones(and(b, c));
                let abc = ones(and(ab, c));
                let (ab, a, b, c) = (ones(ab), ones(a), ones(b), ones(c));
                // The products are small, so 16-bit multiplication is enough for lanes of 32 bits.
                let apart = sub(times(a, b), ab);
                let ways = times(apart, c);
                let ways = sub(ways, times(ac, b));
                let ways = sub(ways, times(bc, a));
                add(ways, add(abc, abc))
            }
        }
    };
}

lanes! {
    words, u16, u32, sum_of_words,
    _mm512_add_epi16 as add,
    _mm512_sub_epi16 as sub,
    _mm512_min_epu16 as min,
    _mm512_set1_epi16 as set,
    _mm512_slli_epi16 as up,
    _mm512_srli_epi16 as down,
    _mm512_sllv_epi16 as up_by,
    _mm512_srlv_epi16 as down_by,
    _mm512_popcnt_epi16 as ones,
    _mm512_test_epi16_mask as nonzero,
    _mm512_testn_epi16_mask as disjoint,
    _mm512_cmpeq_epi16_mask as equal,
    _mm512_mask_add_epi16 as add_some,
    _mm512_mask_mov_epi16 as replace,
    _mm512_mask_expand_epi16 as expanded,
    _mm512_maskz_compress_epi16 as compressed
}

lanes! {
    doublewords, u32, u16, sum_of_doublewords,
    _mm512_add_epi32 as add,
    _mm512_sub_epi32 as sub,
    _mm512_min_epu32 as min,
    _mm512_set1_epi32 as set,
    _mm512_slli_epi32 as up,
    _mm512_srli_epi32 as down,
    _mm512_sllv_epi32 as up_by,
    _mm512_srlv_epi32 as down_by,
    _mm512_popcnt_epi32 as ones,
    _mm512_test_epi32_mask as nonzero,
    _mm512_testn_epi32_mask as disjoint,
    _mm512_cmpeq_epi32_mask as equal,
    _mm512_mask_add_epi32 as add_some,
    _mm512_mask_mov_epi32 as replace,
    _mm512_mask_expand_epi32 as expanded,
    _mm512_maskz_compress_epi32 as compressed
}

#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi2,avx512bitalg,avx512vpopcntdq,popcnt")]
fn sum_of_words(found: __m512i) -> u64 {
    let even = _mm512_and_si512(found, _mm512_set1_epi32(0xffff));
    sum_of_doublewords(_mm512_add_epi32(even, _mm512_srli_epi32::<16>(found)))
}

#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi2,avx512bitalg,avx512vpopcntdq,popcnt")]
fn sum_of_doublewords(found: __m512i) -> u64 {
    _mm512_reduce_add_epi32(found) as u64
}

/// a & !(b | c).
#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi2,avx512bitalg,avx512vpopcntdq,popcnt")]
fn and_neither(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0b0001_0000>(a, b, c)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn load<L>(from: &[L], at: usize) -> __m512i {
    let from = &from[at..at + lanes::<L>()];
    // SAFETY: the slice is as long as a vector.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn store<L>(to: &mut [L], at: usize, a: __m512i) {
    let to = &mut to[at..at + lanes::<L>()];
    // SAFETY: the slice is as long as a vector, and any bits are an integer.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), a) }
}

const fn lanes<L>() -> usize {
    size_of::<__m512i>() / size_of::<L>()
}
