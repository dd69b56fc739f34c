//! Tabulates blocks of upper halves: first each bit of all items, then the products of five bits.

use std::arch::x86_64::*;

use crate::avx512::{load, store};
use crate::halves::join::build::{ENTRY_LANES, LANES, Table, Tables};
use crate::halves::join::probe::{CHUNK_BITS, CHUNKS, Chunks};

#[target_feature(enable = "avx512bw,avx512vbmi,gfni")]
pub(super) fn tabulate(chunks: Chunks, items: &[u32; LANES], tables: &mut Tables) {
    for (half, items) in items.as_chunks::<ENTRY_LANES>().0.iter().enumerate() {
        let mut columns = [[_mm512_setzero_si512(); WORDS]; 4];
        for (word, items) in items.as_chunks::<64>().0.iter().enumerate() {
            for (columns, bits) in columns.iter_mut().zip(bits_of(items)) {
                columns[word] = bits;
            }
        }
        // These are the lanes that have each bit of an item. The last chunk has only two bits.
        let mut lanes = [_mm512_setzero_si512(); CHUNKS * CHUNK_BITS as usize];
        for (lanes, columns) in lanes.as_chunks_mut::<8>().0.iter_mut().zip(&columns) {
            *lanes = transposed(columns);
        }
        let lanes = lanes.as_chunks::<{ CHUNK_BITS as usize }>().0;
        for (tables, lanes) in tables.0.iter_mut().zip(&lanes[..6]) {
            fill(&mut tables[half], lanes);
        }
        if chunks == Chunks::Seven {
            fill(&mut tables.0[6][half], &lanes[6]);
        }
    }
}

/// The words of an entry.
const WORDS: usize = ENTRY_LANES / 64;

/// Fills a table from the lanes that have each bit of a chunk.
#[inline]
#[target_feature(enable = "avx512f")]
fn fill(table: &mut Table, having: &[__m512i; CHUNK_BITS as usize]) {
    let mut entries = [_mm512_set1_epi64(-1); 1 << CHUNK_BITS];
    for (bit, having) in having.iter().enumerate() {
        for value in 0..1 << bit {
            entries[value | 1 << bit] = _mm512_andnot_si512(*having, entries[value]);
        }
    }
    for (to, entry) in table.0.iter_mut().zip(entries) {
        store(to, 0, entry);
    }
}

/// The bits of 64 items: word `k` of vector `i` has bit `8 i + k` of each.
#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi,gfni")]
fn bits_of(items: &[u32; 64]) -> [__m512i; 4] {
    let order = load(&BYTES_OF_SIXTEEN, 0);
    // Each quarter of these holds one byte of sixteen items.
    let sixteen = |at| _mm512_permutexvar_epi8(order, load(items, at));
    let (a, b, c, d) = (sixteen(0), sixteen(16), sixteen(32), sixteen(48));
    let (ab_01, ab_23) = (_mm512_shuffle_i64x2::<0x44>(a, b), _mm512_shuffle_i64x2::<0xee>(a, b));
    let (cd_01, cd_23) = (_mm512_shuffle_i64x2::<0x44>(c, d), _mm512_shuffle_i64x2::<0xee>(c, d));
    let bytes = [
        _mm512_shuffle_i64x2::<0x88>(ab_01, cd_01),
        _mm512_shuffle_i64x2::<0xdd>(ab_01, cd_01),
        _mm512_shuffle_i64x2::<0x88>(ab_23, cd_23),
        _mm512_shuffle_i64x2::<0xdd>(ab_23, cd_23),
    ];
    bytes.map(|bytes| bits_of_bytes(bytes))
}

/// The bits of 64 bytes, in which each eight bytes are in reverse: word `k` has bit `k` of each
/// byte.
#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi,gfni")]
fn bits_of_bytes(bytes: __m512i) -> __m512i {
    let unit = _mm512_set1_epi64(0x8040_2010_0804_0201_u64 as i64);
    // Byte `k` of a word of eight items gets bit `k` of each of them, with the last item as the
    // highest bit.
    let bits = _mm512_gf2p8affine_epi64_epi8::<0>(unit, bytes);
    _mm512_permutexvar_epi8(load(&ACROSS, 0), bits)
}

/// Exchanges rows and columns of a square of eight by eight words.
#[inline]
#[target_feature(enable = "avx512f")]
fn transposed(rows: &[__m512i; 8]) -> [__m512i; 8] {
    let [a, b, c, d, e, f, g, h] = *rows;
    // Pairs of rows have even columns and odd ones, each with both rows' words side by side.
    let pairs = |low, high| (_mm512_unpacklo_epi64(low, high), _mm512_unpackhi_epi64(low, high));
    let ((ab_0, ab_1), (cd_0, cd_1)) = (pairs(a, b), pairs(c, d));
    let ((ef_0, ef_1), (gh_0, gh_1)) = (pairs(e, f), pairs(g, h));
    let columns = |ab, cd, ef, gh| {
        let (first, second) =
            (_mm512_shuffle_i64x2::<0x44>(ab, cd), _mm512_shuffle_i64x2::<0x44>(ef, gh));
        let (third, fourth) =
            (_mm512_shuffle_i64x2::<0xee>(ab, cd), _mm512_shuffle_i64x2::<0xee>(ef, gh));
        [
            _mm512_shuffle_i64x2::<0x88>(first, second),
            _mm512_shuffle_i64x2::<0xdd>(first, second),
            _mm512_shuffle_i64x2::<0x88>(third, fourth),
            _mm512_shuffle_i64x2::<0xdd>(third, fourth),
        ]
    };
    let [even_0, even_1, even_2, even_3] = columns(ab_0, cd_0, ef_0, gh_0);
    let [odd_0, odd_1, odd_2, odd_3] = columns(ab_1, cd_1, ef_1, gh_1);
    [even_0, odd_0, even_1, odd_1, even_2, odd_2, even_3, odd_3]
}

/// The permutation that brings the corresponding bytes of sixteen items together. Those of each
/// eight items are in reverse.
static BYTES_OF_SIXTEEN: [u8; 64] = {
    let mut order = [0; 64];
    let mut i = 0;
    while i < order.len() {
        order[i] = (((i % 16) ^ 7) * 4 + i / 16) as u8;
        i += 1;
    }
    order
};

/// Exchanges rows and columns of a square of eight by eight bytes.
pub(super) static ACROSS: [u8; 64] = {
    let mut order = [0; 64];
    let mut i = 0;
    while i < order.len() {
        order[i] = (i % 8 * 8 + i / 8) as u8;
        i += 1;
    }
    order
};
