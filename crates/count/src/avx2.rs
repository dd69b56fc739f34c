//! AVX2: the search of [`levels`](crate::levels) in vectors of 32 bytes, eight lanes of 32 bits.
//!
//! AVX-512 has instructions that compress and expand lanes. Here, tables replace them. The signs of
//! eight lanes are gathered as bits. These bits are the index of a permutation that moves the
//! chosen lanes together ([`PACK`]) or spreads the first lanes over the chosen ones ([`SPREAD`]).
//!
//! A child is stored under the same conditions as in [`avx512`](crate::avx512).
//!
//! On one core of a shared Zen 5 server, `rows` was measured at 7.2e7 Q/s for N = 16 and at 6.5e7
//! Q/s for N = 18. The latter is 19 times the speed of the reference.

use std::arch::x86_64::{
    __m256i as Vector, _mm256_add_epi32 as add, _mm256_and_si256 as and,
    _mm256_andnot_si256 as and_not, _mm256_cmpeq_epi32 as equal, _mm256_min_epu32 as min,
    _mm256_or_si256 as or, _mm256_permutevar8x32_epi32 as permuted, _mm256_set1_epi32 as set,
    _mm256_setzero_si256 as zero, _mm256_slli_epi32 as up, _mm256_sllv_epi32 as up_by,
    _mm256_srli_epi32 as down, _mm256_srlv_epi32 as down_by, _mm256_sub_epi32 as sub,
    _mm256_xor_si256 as xor, *,
};

use crate::levels::{Below, States, VectorUnit, search};
use crate::remaining::OpenRow;

/// The right to execute these instructions.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// `None` if the processor lacks any of the instructions used here.
    pub(crate) fn new() -> Option<Avx2> {
        let available = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt");
        available.then_some(Avx2(()))
    }
}

search!(Avx2, u32, "avx2,popcnt");

const LANES: usize = 8;

/// The number of vectors that are processed in turn.
const STREAMS: usize = 4;

/// A set of lanes.
pub(crate) type Mask = u8;

/// The lanes whose untried squares are used up.
struct Spent {
    lanes: Mask,
    /// The same lanes as a vector: all bits of a chosen lane are set.
    which: Vector,
    /// The permutation that spreads the first lanes over the chosen ones.
    order: Vector,
}

impl Spent {
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn of(untried: Vector) -> Spent {
        let which = equal(untried, zero());
        let lanes = chosen(which);
        Spent { lanes, which, order: permutation(&SPREAD, lanes) }
    }

    /// `old`, in which the first lanes of `new` have replaced the spent ones.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn replaced(&self, old: Vector, new: Vector) -> Vector {
        _mm256_blendv_epi8(old, permuted(new, self.order), self.which)
    }
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn is_zero(a: Vector) -> bool {
    _mm256_testz_si256(a, a) != 0
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn and_neither(a: Vector, b: Vector, c: Vector) -> Vector {
    and_not(or(b, c), a)
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn living(fewest: Vector, all: Option<[Vector; 2]>) -> Mask {
    let dead = equal(fewest, zero());
    match all {
        Some([columns, open]) => chosen(and_not(dead, equal(columns, open))),
        None => !chosen(dead),
    }
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn packed(Vectors { open, left, right }: Vectors, lanes: Mask) -> Vectors {
    let order = permutation(&PACK, lanes);
    Vectors {
        open: permuted(open, order),
        left: permuted(left, order),
        right: permuted(right, order),
    }
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn sum(found: Vector) -> u64 {
    let parts = [_mm256_castsi256_si128(found), _mm256_extracti128_si256::<1>(found)];
    let found = _mm_add_epi32(parts[0], parts[1]);
    let found = _mm_add_epi32(found, _mm_srli_si128::<8>(found));
    let found = _mm_add_epi32(found, _mm_srli_si128::<4>(found));
    _mm_cvtsi128_si32(found) as u64
}

/// The number of ways to place the last three queens in the three columns that are open. It is at
/// most 3! in each lane, and 0 in an empty lane.
///
/// For each column of the middle row's queen, both ways to place the other two queens are tried.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn last_three<const PLAIN: bool>(states: Vectors, rows: &Rows<PLAIN>) -> Vector {
    let Vectors { open, .. } = states;
    let a = states.free::<PLAIN, 1>(rows);
    let b = states.free::<PLAIN, 2>(rows);
    let c = states.free::<PLAIN, 3>(rows);

    let [low, middle, high] = states.columns();
    // If the rows are neighbours, the diagonals of the middle row's queen matter only if it stands
    // beside an open column. Otherwise, its diagonals are excluded for the others, column by
    // column.
    let b = if PLAIN { and_not(or(up::<1>(open), down::<1>(open)), b) } else { b };
    let off = |row, queen, by| and_not(or(up_by(queen, by), down_by(queen, by)), row);
    let b_to_c = sub(rows.apart[3], rows.apart[2]);
    // In an empty lane no column is open. Without this, the formula would count queens that have no
    // square.
    let open = or(open, equal(open, zero()));
    let mut ways = zero();
    for [column, lower, upper] in [[low, middle, high], [middle, low, high], [high, low, middle]] {
        let (a, c, far) = if PLAIN {
            (a, c, up::<2>(lower))
        } else {
            (off(a, column, rows.apart[2]), off(c, column, b_to_c), up_by(lower, rows.apart[3]))
        };
        let b = and_not(equal(far, upper), and(b, column));
        let all = |a_column, c_column| {
            let (a, c) = (and(a, a_column), and(c, c_column));
            equal(or(or(a, b), c), open)
        };
        // Each comparison gives -1 in the lanes where it is true.
        ways = sub(ways, add(all(lower, upper), all(upper, lower)));
    }
    ways
}

/// An order of lanes for each set of them. Each byte is a place, and has the number of the lane
/// that goes there.
pub(crate) type Orders = [[u8; LANES]; 1 << LANES];

/// The orders that move the lanes of a set to the front.
pub(crate) static PACK: Orders = orders(false);

/// The orders that move the first lanes to the places of a set.
static SPREAD: Orders = orders(true);

const fn orders(spreads: bool) -> Orders {
    let mut table = [[0; LANES]; 1 << LANES];
    let mut set = 0;
    while set < table.len() {
        let (mut lane, mut packed) = (0, 0);
        while lane < LANES {
            if set >> lane & 1 == 1 {
                let (place, from) = if spreads { (lane, packed) } else { (packed, lane) };
                table[set][place] = from as u8;
                packed += 1;
            }
            lane += 1;
        }
        set += 1;
    }
    table
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
pub(crate) fn permutation(orders: &Orders, lanes: Mask) -> Vector {
    _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(i64::from_le_bytes(orders[usize::from(lanes)])))
}

/// The lanes whose sign is set.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn chosen(a: Vector) -> Mask {
    _mm256_movemask_ps(_mm256_castsi256_ps(a)) as u8
}

#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn load<T>(from: &[T], at: usize) -> Vector {
    let from = &from[at..at + size_of::<Vector>() / size_of::<T>()];
    // SAFETY: the slice is as long as a vector.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn store<T>(to: &mut [T], at: usize, a: Vector) {
    let to = &mut to[at..at + size_of::<Vector>() / size_of::<T>()];
    // SAFETY: the slice is as long as a vector, and any bits are an integer.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), a) }
}
