//! AVX-512 with VBMI and GFNI: the method in vectors of 64 bytes, for x86-64 processors since Ice
//! Lake (2019) and Zen 4 (2022).
//!
//! A table has an entry for each value of seven bits: two vectors of bytes, in which one permutation
//! looks 64 lanes up. So four tables compare 28 diagonals, and five the most that an item has. A step
//! of the loop, 64 upper halves against sixteen lower ones, is four loads, eight permutations and
//! eight other instructions. To make the tables takes about as long as eight steps.
//!
//! Measured on Zen 4 at N = 18, the join takes two fifths of the time, pairing a fifth, sorting a
//! sixth; waiting for quarters was half of the pairing before they were prefetched.

use std::arch::x86_64::*;

use super::avx2::prefetch;
use super::geometry::View;
use super::portable::runs;
use super::quarters::Quarter;
use super::unit::{Fits, Meeting, Unit};

/// The right to execute these instructions, with items of seven bits for each table.
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
        let bits = TABLES as u32 * TABLE_BITS;
        if bits < 32 { bits } else { 32 }
    };

    const CHOSEN: usize = 1;

    fn pair(self, upper: Quarter<'_>, lower: Quarter<'_>, keys: &mut [u64]) -> usize {
        // SAFETY: there is a `self`, so that `new` found the instructions that `pair` enables.
        unsafe { pair(upper, lower, keys) }
    }

    fn prefetch(self, keys: &[u64]) {
        prefetch(keys);
    }

    fn extract(self, keys: &[u64], view: View, codes: &mut [u32], items: &mut [u32]) {
        // SAFETY: there is a `self`, so that `new` found the instructions that `extract` enables.
        unsafe { extract(keys, view, codes, items) }
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

/// The upper halves of a block.
const LANES: usize = 64;

/// The lower halves that one set of tables is for: the bits of a byte.
const GROUP: usize = 8;

/// The bits of an item that a table is for.
const TABLE_BITS: u32 = 7;

/// Seven bits of each lane's item, for each table.
pub(crate) type Block<const TABLES: usize> = [__m512i; TABLES];

/// The keys of a vector.
const KEYS: usize = 8;

/// The most vectors of lower quarters that stay in registers.
const HELD: usize = 8;

/// All lower quarters, as far as registers hold them, against one upper one after the other.
///
/// Half of the vectors hold no half-board. What was tried to make use of that, to collect the masks
/// of eight vectors and to write their keys one by one, took half as long again.
#[target_feature(enable = "avx512f,popcnt")]
fn pair(upper: Quarter<'_>, lower: Quarter<'_>, keys: &mut [u64]) -> usize {
    let mut len = 0;
    for start in (0..lower.len).step_by(HELD * KEYS) {
        let keys = &mut keys[len..];
        // A loop of known length is unrolled and has no end to mispredict.
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

/// The lower quarters are `VECTORS` vectors from `start` on, the last of them as far as it goes;
/// `keys` has room for every pair and for a vector more.
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

/// Takes seven bits of 64 items at a time. An eighth does no harm where they are looked up.
#[target_feature(enable = "avx512bw,avx512vbmi")]
fn pack<const TABLES: usize>(items: &[u32], blocks: &mut Vec<Block<TABLES>>) {
    let order = load_bytes(&BYTES_OF_SIXTEEN);
    for items in items.chunks_exact(LANES) {
        let mut block = [_mm512_setzero_si512(); TABLES];
        // In each quarter of these: one table's bits of sixteen items.
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

/// Four times seven bits of each item, a byte for each, with one bit more on top.
#[inline]
#[target_feature(enable = "avx512vbmi")]
fn sevens(items: __m512i) -> __m512i {
    let shifts = _mm512_set1_epi64(0x35_2e_27_20_15_0e_07_00);
    _mm512_multishift_epi64_epi8(shifts, items)
}

/// Joins sixteen lower halves at a time, up to eight of which may be ties, and where no more than
/// eight are left, eight.
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
    // By the lower half first.
    let [[a, b], [c, d]] = sums;
    [[total(a), total(c)], [total(b), total(d)]]
}

/// Numbers of fits to add up, with whole upper halves and with ties.
type Sums = [__m512i; 2];

/// The fits of at most eight lower halves.
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

/// The fits of at most eight lower halves, and of at most eight others.
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

/// Adds the number of bits of each word.
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

/// The entries for values below 64, and the others.
type Table = [__m512i; 2];

/// The lower halves that fit each lane: a byte with a bit for each.
#[inline]
#[target_feature(enable = "avx512vbmi")]
fn look_up<const TABLES: usize>(tables: &[Table; TABLES], block: &Block<TABLES>) -> __m512i {
    let found = |i: usize| _mm512_permutex2var_epi8(tables[i][0], block[i], tables[i][1]);
    let mut fit = and(found(0), found(1), found(2));
    for i in 3..TABLES {
        fit = _mm512_and_si512(fit, found(i));
    }
    fit
}

/// For each value of seven bits of an item: which of at most eight items, the last in the lowest
/// bit, have none of them.
///
/// A table is the product of one for four bits and one for the other three. For four tables at a
/// time the first fit into one vector, and the second into another, from which they are spread.
#[inline]
#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,gfni")]
fn tables<const TABLES: usize>(lower: &[u32]) -> [Table; TABLES] {
    let columns = bit_columns::<TABLES>(lower);
    let present = _mm512_set1_epi8((0xff_u8 << (GROUP - lower.len())) as i8);
    let mut tables = [[present; 2]; TABLES];
    for (four, tables) in tables.chunks_mut(4).enumerate() {
        // Which items have a bit: for each value that has it, else none.
        let have = |bit: usize, values: u64| {
            let column = load_bytes(&COLUMNS[bit + 32 * four]);
            _mm512_maskz_permutexvar_epi8(values, column, columns)
        };
        let low = none_of(have(0, HAVE[0]), have(1, HAVE[1]), have(2, HAVE[2]));
        let low = _mm512_and_si512(_mm512_andnot_si512(have(3, HAVE[3]), low), present);
        let high = none_of(have(4, HAVE[0]), have(5, HAVE[1]), have(6, HAVE[2]));
        for (i, table) in tables.iter_mut().enumerate() {
            let low = _mm512_permutexvar_epi8(load_bytes(&SPREAD_LOW[i]), low);
            for (half, table) in table.iter_mut().enumerate() {
                let high = _mm512_permutexvar_epi8(load_bytes(&SPREAD_HIGH[i][half]), high);
                *table = _mm512_and_si512(low, high);
            }
        }
    }
    tables
}

/// Bit k of what table i is for, as byte k of word i, in which each of at most eight items has a bit,
/// the first on top.
#[inline]
#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,gfni")]
fn bit_columns<const TABLES: usize>(lower: &[u32]) -> __m512i {
    let items = load_some(lower);
    // Byte i of an item's word: its bits for table i. Then word i: the bytes of table i.
    let shifts = _mm512_set1_epi64(0x00_00_00_1c_15_0e_07_00);
    let words = _mm512_cvtepu32_epi64(items);
    let bytes = _mm512_multishift_epi64_epi8(shifts, words);
    let bytes = _mm512_permutexvar_epi8(load_bytes(&ACROSS), bytes);
    let unit = _mm512_set1_epi64(0x8040_2010_0804_0201_u64 as i64);
    _mm512_gf2p8affine_epi64_epi8::<0>(unit, bytes)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn and(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0x80>(a, b, c)
}

/// The bits that neither has.
#[inline]
#[target_feature(enable = "avx512f")]
fn none_of(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0x01>(a, b, c)
}

/// Of the values of four bits, four times each, those that have each bit.
const HAVE: [u64; 4] =
    [0xaaaa_aaaa_aaaa_aaaa, 0xcccc_cccc_cccc_cccc, 0xf0f0_f0f0_f0f0_f0f0, 0xff00_ff00_ff00_ff00];

/// For a bit of a table: a quarter of a vector for each of four tables, with the place of its column.
static COLUMNS: [[u8; 64]; 40] = {
    let mut places = [[0; 64]; 40];
    let mut column = 0;
    while column < 40 {
        let mut i = 0;
        while i < 64 {
            places[column][i] = (column + i / 16 * 8) as u8;
            i += 1;
        }
        column += 1;
    }
    places
};

/// For each of four tables, the places of the entries for their lower four bits.
static SPREAD_LOW: [[u8; 64]; 4] = {
    let mut places = [[0; 64]; 4];
    let mut i = 0;
    while i < 4 * 64 {
        places[i / 64][i % 64] = (i / 64 * 16 + i % 16) as u8;
        i += 1;
    }
    places
};

/// For each of four tables, and for values below 64 and the others, the places of the entries for
/// their upper three bits.
static SPREAD_HIGH: [[[u8; 64]; 2]; 4] = {
    let mut places = [[[0; 64]; 2]; 4];
    let mut i = 0;
    while i < 4 * 128 {
        let value = i % 128;
        places[i / 128][value / 64][value % 64] = (i / 128 * 16 + value / 16) as u8;
        i += 1;
    }
    places
};

/// The order that brings equal bytes of sixteen words of 32 bits together.
static BYTES_OF_SIXTEEN: [u8; 64] = {
    let mut order = [0; 64];
    let mut i = 0;
    while i < order.len() {
        order[i] = (i % 16 * 4 + i / 16) as u8;
        i += 1;
    }
    order
};

/// Exchanges rows and columns of a square of eight by eight bytes.
static ACROSS: [u8; 64] = {
    let mut order = [0; 64];
    let mut i = 0;
    while i < order.len() {
        order[i] = (i % 8 * 8 + i / 8) as u8;
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

#[inline]
#[target_feature(enable = "avx512f")]
fn load_bytes(from: &[u8; 64]) -> __m512i {
    // SAFETY: the array is as long as a vector.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

/// Up to eight keys; beyond the slice's end 0.
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

/// The first `len` of eight lanes, or all.
fn first_lanes(len: usize) -> u8 {
    (0xff_u16 >> (8 - len.min(8))) as u8
}

/// At most eight items; the rest is 0.
#[inline]
#[target_feature(enable = "avx512vl")]
fn load_some(from: &[u32]) -> __m256i {
    assert!(from.len() <= GROUP);
    // SAFETY: lanes beyond the slice's end are not loaded.
    unsafe { _mm256_maskz_loadu_epi32(first_lanes(from.len()), from.as_ptr().cast()) }
}
