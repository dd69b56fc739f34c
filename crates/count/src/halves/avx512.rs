//! AVX-512 with VBMI and GFNI: the method in vectors of 64 bytes, for x86-64 processors since Ice
//! Lake (2019) and Zen 4 (2022).
//!
//! A table has an entry for each value of seven bits. It is two vectors of bytes, in which one permutation
//! looks up 64 lanes. Four tables compare 28 diagonals, and five compare the most that an item has. A step
//! of the loop compares 64 upper halves with sixteen lower ones by four loads, eight permutations and eight
//! other instructions. Making the tables takes about as long as eight steps, and at N = 18 and 20 about a
//! third of [`join`].

mod tables;

use std::arch::x86_64::*;

use self::tables::{load_bytes, look_up, tables};
use super::avx2::prefetch;
use super::geometry::{View, runs};
use super::unit::{Fits, Meeting, Quarter, SIFT_PADDING, Sieve, Unit};

/// The right to execute these instructions. Items have seven bits for each table.
#[derive(Clone, Copy)]
pub(crate) struct Avx512<const TABLES: usize>(());

impl<const TABLES: usize> Avx512<TABLES> {
    /// `None` if the processor lacks any of the instructions used here.
    pub(crate) fn new() -> Option<Avx512<TABLES>> {
        let available = is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vpopcntdq")
            && is_x86_feature_detected!("gfni")
            && is_x86_feature_detected!("popcnt");
        available.then_some(Avx512(()))
    }
}

impl<const TABLES: usize> Unit for Avx512<TABLES> {
    type Block = Block<TABLES>;

    const LANES: usize = LANES;

    const ITEM_BITS: u32 = {
        let bits = 7 * TABLES as u32;
        if bits < 32 { bits } else { 32 }
    };

    const CHOSEN: usize = 1;

    fn pair(self, upper: Quarter<'_>, lower: Quarter<'_>, keys: &mut [u64]) -> usize {
        // SAFETY: there is a `self`, so that `new` found the instructions that `pair` enables.
        unsafe { pair(upper, lower, keys) }
    }

    fn prefetch(self, keys: &[u64], starts: &[u16]) {
        prefetch(keys, starts);
    }

    fn extract(self, keys: &[u64], view: View, codes: &mut [u32], items: &mut [u32]) {
        // SAFETY: there is a `self`, so that `new` found the instructions that `extract` enables.
        unsafe { extract(keys, view, codes, items) }
    }

    fn leave_out(self, keys: &mut [u64], closed: u64) -> usize {
        // SAFETY: there is a `self`, so that `new` found the instructions that `leave_out` enables.
        unsafe { leave_out(keys, closed) }
    }

    fn sift(self, items: &[u32], sieve: Sieve, to: &mut [u32]) -> usize {
        // SAFETY: there is a `self`, so that `new` found the instructions that `sift` enables.
        unsafe { sift(items, sieve, to) }
    }

    fn pack(self, items: &[u32], blocks: &mut Vec<Block<TABLES>>) {
        // SAFETY: there is a `self`, so that `new` found the instructions that `pack` enables.
        unsafe { pack(items, blocks) }
    }

    fn join(self, upper: Meeting<'_, Block<TABLES>>, lower: [&[u32]; 2]) -> Fits {
        // SAFETY: there is a `self`, so that `new` found the instructions that `join` enables.
        unsafe { join(&upper, lower) }
    }
}

/// The number of upper halves of a block.
const LANES: usize = 64;

/// The number of lower halves of one set of tables, one for each bit of a byte.
const GROUP: usize = 8;

/// For each table, seven bits of each lane's item.
pub(crate) type Block<const TABLES: usize> = [__m512i; TABLES];

/// The number of keys of a vector.
const KEYS: usize = 8;

/// The most vectors of lower quarters that stay in registers.
const HELD: usize = 8;

/// Compares all lower quarters that registers hold with one upper quarter after the other.
///
/// Half of the vectors hold no half-board. An attempt to make use of that, by collecting the masks of eight
/// vectors and writing their keys one by one, took one and a half times as long.
#[target_feature(enable = "avx512f,popcnt")]
fn pair(upper: Quarter<'_>, lower: Quarter<'_>, keys: &mut [u64]) -> usize {
    let mut len = 0;
    for start in (0..lower.len).step_by(HELD * KEYS) {
        let keys = &mut keys[len..];
        // A loop of known length is unrolled, so its end cannot be mispredicted.
        len += match (lower.len - start).div_ceil(KEYS) {
            1 => pair_held::<1>(upper, lower, start, keys),
            2 => pair_held::<2>(upper, lower, start, keys),
            3 => pair_held::<3>(upper, lower, start, keys),
            4 => pair_held::<4>(upper, lower, start, keys),
            5 => pair_held::<5>(upper, lower, start, keys),
            6 => pair_held::<6>(upper, lower, start, keys),
            7 => pair_held::<7>(upper, lower, start, keys),
            _ => pair_held::<HELD>(upper, lower, start, keys),
        };
    }
    len
}

/// Compares `VECTORS` vectors of lower quarters from `start` on, the last of which may be incomplete, with
/// every upper quarter. `keys` has room for every pair and for a vector more.
#[target_feature(enable = "avx512f,popcnt")]
fn pair_held<const VECTORS: usize>(
    upper: Quarter<'_>,
    lower: Quarter<'_>,
    start: usize,
    keys: &mut [u64],
) -> usize {
    let boards = (lower.len - start).min(VECTORS * KEYS);
    assert!(keys.len() >= upper.len * boards + KEYS, "room for every pair and a vector");
    let last = 0xff_u8 >> (VECTORS * KEYS - boards);
    let mut meet = [_mm512_setzero_si512(); VECTORS];
    let mut far = meet;
    for i in 0..VECTORS {
        meet[i] = load_keys(lower.meet, start + i * KEYS);
        far[i] = load_keys(lower.far, start + i * KEYS);
    }
    let mut len = 0;
    for (&upper_meet, &upper_far) in upper.meet[..upper.len].iter().zip(upper.far) {
        let upper_meet = _mm512_set1_epi64(upper_meet as i64);
        let upper_far = _mm512_set1_epi64(upper_far as i64);
        for i in 0..VECTORS {
            let boards = if i + 1 == VECTORS { last } else { 0xff };
            let apart = _mm512_mask_testn_epi64_mask(boards, meet[i], upper_meet);
            let union = _mm512_or_si512(far[i], upper_far);
            // SAFETY: `len` is at most the number of pairs before, for all of which there is room, and
            // for a vector more.
            unsafe {
                let end = keys.as_mut_ptr().add(len);
                _mm512_storeu_si512(end.cast(), _mm512_maskz_compress_epi64(apart, union));
            }
            len += apart.count_ones() as usize;
        }
    }
    len
}

/// Moves each run of a view's bits, of 32 keys at a time.
#[target_feature(enable = "avx512bw,avx512vl")]
fn extract(keys: &[u64], view: View, codes: &mut [u32], items: &mut [u32]) {
    const VECTORS: usize = 4;
    let (cut, rest) = (runs(view.cut), runs(view.rest));
    let rotate = _mm512_set1_epi64(i64::from(view.rotate));
    for start in (0..keys.len()).step_by(KEYS * VECTORS) {
        let mut some = [_mm512_setzero_si512(); VECTORS];
        for (i, some) in some.iter_mut().enumerate() {
            let keys = load_some_keys(keys, start + KEYS * i);
            *some = _mm512_rolv_epi64(keys, rotate);
        }
        for (runs, to) in [(&cut, &mut *codes), (&rest, &mut *items)] {
            let mut bits = [_mm512_setzero_si512(); VECTORS];
            for &(run, shift) in runs {
                let run = _mm512_set1_epi64(run as i64);
                let shift = _mm512_set1_epi64(i64::from(shift));
                for (bits, keys) in bits.iter_mut().zip(some) {
                    let moved = _mm512_srlv_epi64(_mm512_and_si512(keys, run), shift);
                    *bits = _mm512_or_si512(*bits, moved);
                }
            }
            for (i, bits) in bits.into_iter().enumerate() {
                store_some_words(to, start + KEYS * i, _mm512_cvtepi64_epi32(bits));
            }
        }
    }
}

#[target_feature(enable = "avx512f,popcnt")]
fn leave_out(keys: &mut [u64], closed: u64) -> usize {
    let closed = _mm512_set1_epi64(closed as i64);
    let mut len = 0;
    for start in (0..keys.len()).step_by(KEYS) {
        let some = load_some_keys(keys, start);
        let there = first_lanes(keys.len() - start);
        let stay = _mm512_mask_cmpneq_epi64_mask(there, _mm512_and_si512(some, closed), closed);
        let to = &mut keys[len..];
        let lanes = first_lanes(to.len());
        // SAFETY: lanes beyond the slice's end are not stored. Those within are of keys that were loaded.
        unsafe {
            let some = _mm512_maskz_compress_epi64(stay, some);
            _mm512_mask_storeu_epi64(to.as_mut_ptr().cast(), lanes, some);
        }
        len += stay.count_ones() as usize;
    }
    len
}

#[target_feature(enable = "avx512f,popcnt")]
fn sift(items: &[u32], sieve: Sieve, to: &mut [u32]) -> usize {
    assert!(to.len() >= items.len() + SIFT_PADDING, "room for all and a vector");
    let below = _mm512_set1_epi32(sieve.below as i32);
    let bits = _mm512_set1_epi32(sieve.bits as i32);
    let keep = _mm512_set1_epi32(sieve.keep as i32);
    let mut len = 0;
    for some in items.chunks(16) {
        let there = u16::MAX >> (16 - some.len());
        // SAFETY: lanes beyond the slice's end are not loaded. `len` is at most the number of items
        // before, for all of which there is room, and for a vector more.
        unsafe {
            let some = _mm512_maskz_loadu_epi32(there, some.as_ptr().cast());
            let through = _mm512_mask_testn_epi32_mask(there, some, bits);
            let through = _mm512_mask_cmplt_epu32_mask(through, some, below);
            let some = _mm512_maskz_compress_epi32(through, _mm512_and_si512(some, keep));
            _mm512_storeu_si512(to.as_mut_ptr().add(len).cast(), some);
            len += through.count_ones() as usize;
        }
    }
    len
}

/// Takes seven bits of 64 items at a time. An eighth bit does no harm in the look-ups.
#[target_feature(enable = "avx512bw,avx512vbmi")]
fn pack<const TABLES: usize>(items: &[u32], blocks: &mut Vec<Block<TABLES>>) {
    let order = load_bytes(&BYTES_OF_SIXTEEN);
    for items in items.chunks_exact(LANES) {
        let mut block = [_mm512_setzero_si512(); TABLES];
        // Each quarter of these holds one table's bits of sixteen items.
        let sixteen = |at| _mm512_permutexvar_epi8(order, sevens(load_items(items, at)));
        let (a, b, c, d) = (sixteen(0), sixteen(16), sixteen(32), sixteen(48));
        let (ab_01, ab_23) =
            (_mm512_shuffle_i64x2::<0x44>(a, b), _mm512_shuffle_i64x2::<0xee>(a, b));
        let (cd_01, cd_23) =
            (_mm512_shuffle_i64x2::<0x44>(c, d), _mm512_shuffle_i64x2::<0xee>(c, d));
        block[0] = _mm512_shuffle_i64x2::<0x88>(ab_01, cd_01);
        block[1] = _mm512_shuffle_i64x2::<0xdd>(ab_01, cd_01);
        block[2] = _mm512_shuffle_i64x2::<0x88>(ab_23, cd_23);
        block[3] = _mm512_shuffle_i64x2::<0xdd>(ab_23, cd_23);
        if TABLES > 4 {
            let rest = |at| _mm512_cvtepi32_epi8(_mm512_srli_epi32::<28>(load_items(items, at)));
            let bytes = _mm512_castsi128_si512(rest(0));
            let bytes = _mm512_inserti32x4::<1>(bytes, rest(16));
            let bytes = _mm512_inserti32x4::<2>(bytes, rest(32));
            block[4] = _mm512_inserti32x4::<3>(bytes, rest(48));
        }
        blocks.push(block);
    }
}

/// Four bytes of each item with seven bits each, and one bit more on top.
#[inline]
#[target_feature(enable = "avx512vbmi")]
fn sevens(items: __m512i) -> __m512i {
    let shifts = _mm512_set1_epi64(0x35_2e_27_20_15_0e_07_00);
    _mm512_multishift_epi64_epi8(shifts, items)
}

/// Joins sixteen lower halves at a time, up to eight of which may be ties; eight at a time if no more than
/// eight are left.
#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,avx512vpopcntdq,gfni")]
fn join<const TABLES: usize>(upper: &Meeting<'_, Block<TABLES>>, lower: [&[u32]; 2]) -> Fits {
    let [mut whole, mut ties] = lower;
    let mut sums = [[_mm512_setzero_si512(); 2]; 2];
    while whole.len() > GROUP {
        let (first, rest) = whole.split_at(GROUP);
        let (second, rest) = rest.split_at(GROUP.min(rest.len()));
        let [first, second] = join_two(upper, [first, second]);
        sums[0] = add(sums[0], add(first, second));
        whole = rest;
    }
    if !whole.is_empty() && !ties.is_empty() {
        let (tied, rest) = ties.split_at(GROUP.min(ties.len()));
        let [first, second] = join_two(upper, [whole, tied]);
        sums[0] = add(sums[0], first);
        sums[1] = add(sums[1], second);
        (whole, ties) = (&[], rest);
    }
    for (sums, lower) in sums.iter_mut().zip([whole, ties]) {
        for lower in lower.chunks(GROUP) {
            *sums = add(*sums, join_one(upper, lower));
        }
    }
    // These are indexed by the lower half first.
    let [[a, b], [c, d]] = sums;
    [[total(a), total(c)], [total(b), total(d)]]
}

/// Numbers of fits that are added up, with whole upper halves and with ties.
type Sums = [__m512i; 2];

/// The numbers of fits of at most eight lower halves.
#[inline]
#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,avx512vpopcntdq,gfni")]
fn join_one<const TABLES: usize>(upper: &Meeting<'_, Block<TABLES>>, lower: &[u32]) -> Sums {
    let Meeting { whole, chosen, ties, open } = *upper;
    let tables = tables(lower);
    let mut sums = [_mm512_setzero_si512(); 2];
    for &block in chosen {
        count(&mut sums[0], look_up(&tables, &whole[block as usize]));
    }
    for &(block, lanes) in open {
        count(&mut sums[1], _mm512_maskz_mov_epi8(lanes, look_up(&tables, &ties[block as usize])));
    }
    sums
}

/// The numbers of fits of two groups of at most eight lower halves each.
#[inline]
#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,avx512vpopcntdq,gfni")]
fn join_two<const TABLES: usize>(
    upper: &Meeting<'_, Block<TABLES>>,
    [first, second]: [&[u32]; 2],
) -> [Sums; 2] {
    let Meeting { whole, chosen, ties, open } = *upper;
    let (first, second) = (tables(first), tables(second));
    let mut sums = [[_mm512_setzero_si512(); 2]; 2];
    for &block in chosen {
        let block = &whole[block as usize];
        count(&mut sums[0][0], look_up(&first, block));
        count(&mut sums[1][0], look_up(&second, block));
    }
    for &(block, lanes) in open {
        let block = &ties[block as usize];
        count(&mut sums[0][1], _mm512_maskz_mov_epi8(lanes, look_up(&first, block)));
        count(&mut sums[1][1], _mm512_maskz_mov_epi8(lanes, look_up(&second, block)));
    }
    sums
}

#[inline]
#[target_feature(enable = "avx512f")]
fn add(a: Sums, b: Sums) -> Sums {
    [_mm512_add_epi64(a[0], b[0]), _mm512_add_epi64(a[1], b[1])]
}

/// Adds the number of set bits of each word.
#[inline]
#[target_feature(enable = "avx512vpopcntdq")]
fn count(sum: &mut __m512i, fit: __m512i) {
    *sum = _mm512_add_epi64(*sum, _mm512_popcnt_epi64(fit));
}

#[inline]
#[target_feature(enable = "avx512f")]
fn total(sum: __m512i) -> u64 {
    _mm512_reduce_add_epi64(sum) as u64
}

/// The permutation that brings the corresponding bytes of sixteen words of 32 bits together.
static BYTES_OF_SIXTEEN: [u8; 64] = {
    let mut order = [0; 64];
    let mut i = 0;
    while i < order.len() {
        order[i] = (i % 16 * 4 + i / 16) as u8;
        i += 1;
    }
    order
};

#[inline]
#[target_feature(enable = "avx512f")]
fn load_keys(from: &[u64], at: usize) -> __m512i {
    let from = &from[at..at + KEYS];
    // SAFETY: the slice is as long as a vector.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_items(from: &[u32], at: usize) -> __m512i {
    let from = &from[at..at + 16];
    // SAFETY: the slice is as long as a vector.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

/// Up to eight keys, with 0 beyond the slice's end.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_some_keys(from: &[u64], at: usize) -> __m512i {
    let from = &from[at.min(from.len())..];
    // SAFETY: lanes beyond the slice's end are not loaded.
    unsafe { _mm512_maskz_loadu_epi64(first_lanes(from.len()), from.as_ptr().cast()) }
}

/// Stores up to eight words, none beyond the slice's end.
#[inline]
#[target_feature(enable = "avx512vl")]
fn store_some_words(to: &mut [u32], at: usize, a: __m256i) {
    let end = to.len();
    let to = &mut to[at.min(end)..];
    // SAFETY: lanes beyond the slice's end are not stored.
    unsafe { _mm256_mask_storeu_epi32(to.as_mut_ptr().cast(), first_lanes(to.len()), a) }
}

/// The first `len` of eight lanes, or all if `len` is greater.
fn first_lanes(len: usize) -> u8 {
    (0xff_u16 >> (8 - len.min(8))) as u8
}
