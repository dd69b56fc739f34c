//! AVX-512 with VBMI and GFNI: the method in vectors of 64 bytes, for x86-64 processors since Ice
//! Lake (2019) and Zen 4 (2022).
//!
//! A table has an entry for each value of seven bits: two vectors of bytes, in which one permutation
//! looks 64 lanes up. So four tables compare 27 diagonals, and five the most that an item has. A step
//! of the loop, 64 upper halves against eight lower ones, is four loads, four permutations and six
//! other instructions.
//!
//! It was written on a machine without these instructions. Against models of them in plain Rust,
//! made from their published pseudo-code, it passed every test of this crate; where a processor has
//! them, the same tests run it. Its speed is not measured.

use std::arch::x86_64::*;

use super::avx2::Avx2;
use super::geometry::View;
use super::quarters::{PADDING, Quarter};
use super::unit::{CHOSEN, Unit, absent};

/// The right to execute these instructions, with items of seven bits, less one, for each table.
#[derive(Clone, Copy)]
pub(crate) struct Avx512<const TABLES: usize> {
    avx2: Avx2<8>,
}

impl<const TABLES: usize> Avx512<TABLES> {
    /// `None` if the processor lacks any of the instructions used here.
    pub(crate) fn new() -> Option<Avx512<TABLES>> {
        let available = is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vpopcntdq")
            && is_x86_feature_detected!("gfni")
            && is_x86_feature_detected!("popcnt");
        Avx2::new().filter(|_| available).map(|avx2| Avx512 { avx2 })
    }
}

impl<const TABLES: usize> Unit for Avx512<TABLES> {
    type Block = Block<TABLES>;

    const LANES: usize = LANES;

    const ITEM_BITS: u32 = {
        let bits = TABLES as u32 * TABLE_BITS - 1;
        if bits < 31 { bits } else { 31 }
    };

    fn pair(self, upper: Quarter<'_>, lower: Quarter<'_>, keys: &mut [u64]) -> usize {
        // SAFETY: there is a `self`, so that `new` found the instructions that `pair` enables.
        unsafe { pair(upper, lower, keys) }
    }

    fn extract(self, keys: &[u64], view: View, codes: &mut [u32], items: &mut [u32]) {
        self.avx2.extract(keys, view, codes, items);
    }

    fn pack(self, items: &[u32], blocks: &mut Vec<Block<TABLES>>) {
        // SAFETY: there is a `self`, so that `new` found the instructions that `pack` enables.
        unsafe { pack(items, blocks) }
    }

    fn join(self, blocks: &[Block<TABLES>], chosen: &[u32], lower: &[u32]) -> u64 {
        // SAFETY: there is a `self`, so that `new` found the instructions that `join` enables.
        unsafe { join(blocks, chosen, lower) }
    }
}

/// The upper halves of a block.
const LANES: usize = 64;

/// The lower halves that are joined at a time: the bits of a table's byte.
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
    assert!(keys.len() >= upper.len * lower.len + PADDING, "room for every pair");
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
            // SAFETY: `len` is at most the number of pairs so far, for all of which there is room,
            // and for a vector more.
            unsafe {
                let end = keys.as_mut_ptr().add(len);
                _mm512_storeu_si512(end.cast(), _mm512_maskz_compress_epi64(apart, union));
            }
            len += apart.count_ones() as usize;
        }
    }
    len
}
/// Takes seven bits of 64 items at a time.
#[target_feature(enable = "avx512bw")]
fn pack<const TABLES: usize>(items: &[u32], blocks: &mut Vec<Block<TABLES>>) {
    let low = _mm512_set1_epi8(i8::MAX);
    for items in items.chunks_exact(LANES) {
        let mut block = [low; TABLES];
        for (i, bits) in block.iter_mut().enumerate() {
            let shift = _mm512_set1_epi32(i as i32 * TABLE_BITS as i32);
            let sixteen =
                |at| _mm512_cvtepi32_epi8(_mm512_srlv_epi32(load_items(items, at), shift));
            let bytes = _mm512_castsi128_si512(sixteen(0));
            let bytes = _mm512_inserti32x4::<1>(bytes, sixteen(16));
            let bytes = _mm512_inserti32x4::<2>(bytes, sixteen(32));
            let bytes = _mm512_inserti32x4::<3>(bytes, sixteen(48));
            *bits = _mm512_and_si512(bytes, low);
        }
        blocks.push(block);
    }
}

/// Looks 64 upper halves up at a time. What is found is a byte for each, with a bit for each lower
/// half that fits.
#[target_feature(enable = "avx512bw,avx512vbmi,avx512vpopcntdq,gfni")]
fn join<const TABLES: usize>(blocks: &[Block<TABLES>], chosen: &[u32], lower: &[u32]) -> u64 {
    let mut sums = [_mm512_setzero_si512(); CHOSEN];
    for lower in lower.chunks(GROUP) {
        let tables = tables(lower);
        for chosen in chosen.chunks_exact(CHOSEN) {
            for i in 0..CHOSEN {
                let fit = look_up(&tables, &blocks[chosen[i] as usize]);
                sums[i] = _mm512_add_epi64(sums[i], _mm512_popcnt_epi64(fit));
            }
        }
    }
    let sum =
        sums.into_iter().fold(_mm512_setzero_si512(), |sum, part| _mm512_add_epi64(sum, part));
    _mm512_reduce_add_epi64(sum) as u64
}

/// The entries for values below 64, and the others.
type Table = [__m512i; 2];

/// The lower halves that fit each lane.
#[inline]
#[target_feature(enable = "avx512vbmi")]
fn look_up<const TABLES: usize>(tables: &[Table; TABLES], block: &Block<TABLES>) -> __m512i {
    let mut fit = _mm512_permutex2var_epi8(tables[0][0], block[0], tables[0][1]);
    for i in 1..TABLES {
        let [low, high] = tables[i];
        fit = _mm512_and_si512(fit, _mm512_permutex2var_epi8(low, block[i], high));
    }
    fit
}

/// For each value of seven bits of an item: which of at most eight items, the last in the lowest
/// bit, have none of them.
#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi,gfni")]
fn tables<const TABLES: usize>(lower: &[u32]) -> [Table; TABLES] {
    /// Of the values below 64, those that have each bit.
    const HAVE: [u64; 6] = [
        0xaaaa_aaaa_aaaa_aaaa,
        0xcccc_cccc_cccc_cccc,
        0xf0f0_f0f0_f0f0_f0f0,
        0xff00_ff00_ff00_ff00,
        0xffff_0000_ffff_0000,
        0xffff_ffff_0000_0000,
    ];
    let mut items = [0_u64; GROUP];
    for (item, &lower) in items.iter_mut().zip(lower) {
        *item = u64::from(lower | absent::<Avx512<TABLES>>());
    }
    let present = _mm512_set1_epi8((0xff_u8 << (GROUP - lower.len())) as i8);

    // Byte i of an item's word: its bits for table i. Then word i: the bytes of table i. Then byte k
    // of word i: bit k of these bytes, that of the first item on top.
    let shifts = _mm512_set1_epi64(0x00_00_00_1c_15_0e_07_00);
    let bytes = _mm512_multishift_epi64_epi8(shifts, load_keys(&items, 0));
    let bytes = _mm512_permutexvar_epi8(load_bytes(&ACROSS), bytes);
    let unit = _mm512_set1_epi64(0x8040_2010_0804_0201_u64 as i64);
    let columns = _mm512_gf2p8affine_epi64_epi8::<0>(unit, bytes);

    let mut tables = [[present; 2]; TABLES];
    for (i, [low, high]) in tables.iter_mut().enumerate() {
        let column = |bit: usize| _mm512_set1_epi8((8 * i + bit) as i8);
        for (bit, have) in HAVE.into_iter().enumerate() {
            let taken = _mm512_maskz_permutexvar_epi8(have, column(bit), columns);
            *low = _mm512_andnot_si512(taken, *low);
        }
        *high = _mm512_andnot_si512(_mm512_permutexvar_epi8(column(6), columns), *low);
    }
    tables
}

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
