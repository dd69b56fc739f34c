//! Tables of lower halves, in which the lanes of upper halves are looked up.
//!
//! A table has an entry for each value of seven bits of an item. It is two vectors of bytes, in which one
//! permutation looks up 64 lanes.

use std::arch::x86_64::*;

use super::{Block, GROUP, first_lanes};

/// The entries for values below 64, and those for the other values.
pub(super) type Table = [__m512i; 2];

/// For each lane a byte with a bit for each lower half that fits.
#[inline]
#[target_feature(enable = "avx512vbmi")]
pub(super) fn look_up<const TABLES: usize>(
    tables: &[Table; TABLES],
    block: &Block<TABLES>,
) -> __m512i {
    let found = |i: usize| _mm512_permutex2var_epi8(tables[i][0], block[i], tables[i][1]);
    let mut fit = and(found(0), found(1), found(2));
    for i in 3..TABLES {
        fit = _mm512_and_si512(fit, found(i));
    }
    fit
}

/// For each value of seven bits, the set of those of at most eight items that have none of its bits; the last
/// item is the lowest bit.
///
/// A table is the product of one for four bits and one for the other three. The parts for four bits of four
/// tables fit into one vector, and the parts for three bits into another, from which they are spread.
#[inline]
#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,gfni")]
pub(super) fn tables<const TABLES: usize>(lower: &[u32]) -> [Table; TABLES] {
    let columns = bit_columns::<TABLES>(lower);
    let present = _mm512_set1_epi8((0xff_u8 << (GROUP - lower.len())) as i8);
    let mut tables = [[present; 2]; TABLES];
    for (four, tables) in tables.chunks_mut(4).enumerate() {
        // For each value that has a bit, the items that have it; for the other values, none.
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

/// Word i has in byte k bit k of the part of each item that table i covers: a bit for each of at most eight
/// items, the first item on top.
#[inline]
#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,gfni")]
fn bit_columns<const TABLES: usize>(lower: &[u32]) -> __m512i {
    let items = load_some(lower);
    // Byte i of an item's word has its bits for table i. After the exchange word i has the bytes of table i.
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

/// For each of four bits, the values of four bits that have it, four times over.
const HAVE: [u64; 4] =
    [0xaaaa_aaaa_aaaa_aaaa, 0xcccc_cccc_cccc_cccc, 0xf0f0_f0f0_f0f0_f0f0, 0xff00_ff00_ff00_ff00];

/// The places of a bit's columns, with a quarter of a vector for each of four tables.
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
pub(super) fn load_bytes(from: &[u8; 64]) -> __m512i {
    // SAFETY: the array is as long as a vector.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

/// At most eight items, followed by zeros.
#[inline]
#[target_feature(enable = "avx512vl")]
fn load_some(from: &[u32]) -> __m256i {
    assert!(from.len() <= GROUP);
    // SAFETY: lanes beyond the slice's end are not loaded.
    unsafe { _mm256_maskz_loadu_epi32(first_lanes(from.len()), from.as_ptr().cast()) }
}
