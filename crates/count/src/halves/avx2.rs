//! AVX2 and BMI2: the method in vectors of 32 bytes, for x86-64 processors since Haswell (2013).
//!
//! BMI2's `pext` is slow on AMD processors before Zen 3 (2020).
//!
//! A table has an entry for each value of four bits: a byte with a bit for each of eight lower halves. A
//! shuffle looks up 32 lanes. An earlier form had blocks of 256 upper halves as bit planes, and tables of
//! their intersections for each seven bits of a lower half. It was half as fast, because a block so large
//! spans many buckets, most of which do not fit.

use std::arch::x86_64::*;

use super::geometry::View;
use super::unit::{Fits, Meeting, Quarter, Unit};

/// The right to execute these instructions. Items have four bits for each table.
#[derive(Clone, Copy)]
pub(crate) struct Avx2<const TABLES: usize>(());

impl<const TABLES: usize> Avx2<TABLES> {
    /// `None` if the processor lacks any of the instructions used here.
    pub(crate) fn new() -> Option<Avx2<TABLES>> {
        let available = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt");
        available.then_some(Avx2(()))
    }
}

impl<const TABLES: usize> Unit for Avx2<TABLES> {
    type Block = Block<TABLES>;

    const LANES: usize = LANES;

    const ITEM_BITS: u32 = 4 * TABLES as u32;

    const CHOSEN: usize = CHOSEN;

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

    fn pack(self, items: &[u32], blocks: &mut Vec<Block<TABLES>>) {
        // SAFETY: there is a `self`, so that `new` found the instructions that `pack` enables.
        unsafe { pack(items, blocks) }
    }

    fn join(self, upper: Meeting<'_, Block<TABLES>>, lower: [&[u32]; 2]) -> Fits {
        let [whole, ties] = lower;
        // SAFETY: there is a `self`, so that `new` found the instructions that `join` enables.
        let join = |lower: &[u32]| unsafe { join(&upper, lower) };
        let (whole, ties) = (join(whole), if ties.is_empty() { [0; 2] } else { join(ties) });
        [[whole[0], ties[0]], [whole[1], ties[1]]]
    }
}

/// Prefetches some cache lines from the start of both; every x86-64 processor can do that.
///
/// It always takes the same number, because the end of a loop over the right number would be mispredicted.
pub(crate) fn prefetch(keys: &[u64], starts: &[u16]) {
    prefetch_lines::<6>(keys.as_ptr().cast());
    prefetch_lines::<2>(starts.as_ptr().cast());
}

fn prefetch_lines<const LINES: usize>(from: *const i8) {
    const LINE_BYTES: usize = 64;
    for line in 0..LINES {
        // SAFETY: a prefetch is a hint, and any address is allowed.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(line * LINE_BYTES)) };
    }
}

/// The number of upper halves of a block.
const LANES: usize = 32;

/// The number of lower halves that are joined at a time, one for each bit of a table's byte.
const GROUP: usize = 8;

/// The number of blocks that carry-save additions take at a time.
const CHOSEN: usize = 4;

/// For each table, four bits of each lane's item.
pub(crate) type Block<const TABLES: usize> = [__m256i; TABLES];

/// The number of keys of a vector.
const KEYS: usize = 4;

/// Compares four lower quarters at a time with one upper quarter after the other.
#[target_feature(enable = "avx2,popcnt")]
fn pair(upper: Quarter<'_>, lower: Quarter<'_>, keys: &mut [u64]) -> usize {
    let mut len = 0;
    let uppers = || upper.meet[..upper.len].iter().zip(&upper.far[..upper.len]);
    for start in (0..lower.len).step_by(KEYS) {
        let (meet, far) = (load(lower.meet, start), load(lower.far, start));
        let boards = KEYS.min(lower.len - start);
        for (&upper_meet, &upper_far) in uppers() {
            let both = _mm256_and_si256(meet, _mm256_set1_epi64x(upper_meet as i64));
            let apart = _mm256_cmpeq_epi64(both, _mm256_setzero_si256());
            let apart = _mm256_movemask_pd(_mm256_castsi256_pd(apart)) as usize;
            let chosen = apart & ((1 << boards) - 1);
            let order = load(&PACK[chosen], 0);
            let packed = _mm256_permutevar8x32_epi32(far, order);
            store(keys, len, _mm256_or_si256(packed, _mm256_set1_epi64x(upper_far as i64)));
            len += chosen.count_ones() as usize;
        }
    }
    len
}

#[target_feature(enable = "bmi2")]
fn extract(keys: &[u64], view: View, codes: &mut [u32], items: &mut [u32]) {
    for ((key, code), item) in keys.iter().zip(codes).zip(items) {
        let key = key.rotate_left(view.rotate);
        *code = _pext_u64(key, view.cut) as u32;
        *item = _pext_u64(key, view.rest) as u32;
    }
}

/// Transposes the bytes of 32 items, and separates each byte's halves.
#[target_feature(enable = "avx2")]
fn pack<const TABLES: usize>(items: &[u32], blocks: &mut Vec<Block<TABLES>>) {
    let order = bytes_of_four();
    let low = _mm256_set1_epi8(0xf);
    for items in items.chunks_exact(LANES) {
        // Four items come from each half of the block, so that the lanes are in the order of the items.
        let some =
            |i: usize| _mm256_set_m128i(load_four(items, 16 + 4 * i), load_four(items, 4 * i));
        let bytes = |i: usize| _mm256_shuffle_epi8(some(i), order);
        let (a, b, c, d) = (bytes(0), bytes(1), bytes(2), bytes(3));
        let (ab_0, ab_1) = (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
        let (cd_0, cd_1) = (_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
        let byte_0 = _mm256_unpacklo_epi64(ab_0, cd_0);
        let byte_1 = _mm256_unpackhi_epi64(ab_0, cd_0);
        let byte_2 = _mm256_unpacklo_epi64(ab_1, cd_1);
        let byte_3 = _mm256_unpackhi_epi64(ab_1, cd_1);
        let bytes = [byte_0, byte_1, byte_2, byte_3];
        let mut block = [low; TABLES];
        for i in 0..TABLES {
            let byte = bytes[i / 2];
            let bits = if i % 2 == 0 { byte } else { _mm256_srli_epi16::<4>(byte) };
            block[i] = _mm256_and_si256(bits, low);
        }
        blocks.push(block);
    }
}

/// Looks up 32 upper halves at a time, which gives a byte for each with a bit for each lower half that fits.
/// Returns the numbers of fits with whole upper halves and with ties.
///
/// Before bits are counted, carry-save additions reduce four such vectors to a vector of fours, one of twos
/// and one of ones (Harley and Seal; Warren, Hacker's Delight, section 5-1).
#[target_feature(enable = "avx2,popcnt")]
fn join<const TABLES: usize>(upper: &Meeting<'_, Block<TABLES>>, lower: &[u32]) -> [u64; 2] {
    let Meeting { whole, chosen, ties, open } = *upper;
    let zero = _mm256_setzero_si256();
    let (mut ones, mut twos, mut fours) = (zero, zero, zero);
    let mut tied = zero;
    for lower in lower.chunks(GROUP) {
        let tables = tables(lower);
        for chosen in chosen.as_chunks::<CHOSEN>().0 {
            let fit = |i: usize| look_up(&tables, &whole[chosen[i] as usize]);
            let (ones_1, twos_1) = carry_save(ones, fit(0), fit(1));
            let (ones_2, twos_2) = carry_save(ones_1, fit(2), fit(3));
            let (twos_3, fours_1) = carry_save(twos, twos_1, twos_2);
            (ones, twos) = (ones_2, twos_3);
            fours = _mm256_add_epi64(fours, bits(fours_1));
        }
        for &(block, lanes) in open {
            let fit = look_up(&tables, &ties[block as usize]);
            tied = _mm256_add_epi64(tied, bits(_mm256_and_si256(fit, bytes_of(lanes as u32))));
        }
    }
    let rest = _mm256_add_epi64(bits(ones), _mm256_slli_epi64::<1>(bits(twos)));
    [total(_mm256_add_epi64(rest, _mm256_slli_epi64::<2>(fours))), total(tied)]
}

/// The sum of all words.
#[inline]
#[target_feature(enable = "avx2")]
fn total(a: __m256i) -> u64 {
    let mut words = [0; KEYS];
    store(&mut words, 0, a);
    words.iter().sum()
}

/// A byte for each bit: all ones if it is set, otherwise 0.
#[inline]
#[target_feature(enable = "avx2")]
fn bytes_of(lanes: u32) -> __m256i {
    let byte =
        _mm256_setr_epi64x(0, 0x0101_0101_0101_0101, 0x0202_0202_0202_0202, 0x0303_0303_0303_0303);
    let bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(lanes as i32), byte);
    let bit = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
    _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit)
}

/// For each lane the lower halves that fit, a bit for each.
#[inline]
#[target_feature(enable = "avx2")]
fn look_up<const TABLES: usize>(tables: &[__m256i; TABLES], block: &Block<TABLES>) -> __m256i {
    let mut fit = _mm256_shuffle_epi8(tables[0], block[0]);
    for i in 1..TABLES {
        fit = _mm256_and_si256(fit, _mm256_shuffle_epi8(tables[i], block[i]));
    }
    fit
}

/// The permutation that brings the corresponding bytes of four items together.
#[inline]
#[target_feature(enable = "avx2")]
fn bytes_of_four() -> __m256i {
    let order = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    _mm256_broadcastsi128_si256(order)
}

/// For each value of four bits, the set of those of at most eight items that have none of its bits. Both
/// halves of a vector hold the same table.
#[inline]
#[target_feature(enable = "avx2")]
fn tables<const TABLES: usize>(lower: &[u32]) -> [__m256i; TABLES] {
    let mut items = [0; GROUP];
    items[..lower.len()].copy_from_slice(lower);
    let present = _mm256_set1_epi8((0xff_u8 >> (GROUP - lower.len())) as i8);

    // Brings the corresponding bytes of the items together, then the corresponding bits of each byte. Byte
    // `b` of word `7 - k` then has bit `k` of byte `b` of every item.
    let bytes = _mm256_shuffle_epi8(load_items(&items, 0), bytes_of_four());
    let mut bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    let mut columns = [0_u32; 8];
    for column in columns.iter_mut() {
        *column = _mm256_movemask_epi8(bytes) as u32;
        bytes = _mm256_add_epi8(bytes, bytes);
    }
    let bits_4_to_7 = _mm256_broadcastsi128_si256(load_four(&columns, 0));
    let bits_0_to_3 = _mm256_broadcastsi128_si256(load_four(&columns, 4));
    let mut tables = [present; TABLES];
    for (i, table) in tables.iter_mut().enumerate() {
        let columns = if i % 2 == 0 { bits_0_to_3 } else { bits_4_to_7 };
        let byte = _mm256_set1_epi8(i as i8 / 2);
        for places in &PLACES {
            // Values that have the bit take its column, the others nothing.
            let place = _mm256_broadcastsi128_si256(load_four(places, 0));
            let place = _mm256_add_epi8(place, byte);
            *table = _mm256_andnot_si256(_mm256_shuffle_epi8(columns, place), *table);
        }
    }
    tables
}

/// For each bit and each value of four bits: the place of the bit's column in a vector of four words, the
/// highest bit's first, if the value has the bit, and otherwise 0x80, which gives 0.
static PLACES: [[u32; 4]; 4] = {
    let mut places = [[0; 4]; 4];
    let mut value = 0;
    while value < 16 {
        let mut bit = 0;
        while bit < 4 {
            let place = if value >> bit & 1 == 1 { 4 * (3 - bit as u32) } else { 0x80 };
            places[bit][value / 4] |= place << (8 * (value % 4));
            bit += 1;
        }
        value += 1;
    }
    places
};

/// The lower and the upper bit of the sum of three bits, in each place.
#[inline]
#[target_feature(enable = "avx2")]
fn carry_save(a: __m256i, b: __m256i, c: __m256i) -> (__m256i, __m256i) {
    let odd = _mm256_xor_si256(a, b);
    let carry = _mm256_or_si256(_mm256_and_si256(a, b), _mm256_and_si256(odd, c));
    (_mm256_xor_si256(odd, c), carry)
}

/// The number of bits set in each word.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn bits(a: __m256i) -> __m256i {
    let ones =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    let nibble = _mm256_set1_epi8(0xf);
    let low = _mm256_shuffle_epi8(ones, _mm256_and_si256(a, nibble));
    let high = _mm256_shuffle_epi8(ones, _mm256_and_si256(_mm256_srli_epi64::<4>(a), nibble));
    _mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256())
}

/// For each set of keys, the permutation of 32-bit lanes that brings these keys to the front, as words of
/// two lanes.
static PACK: [[u64; KEYS]; 1 << KEYS] = {
    let mut table = [[0; KEYS]; 1 << KEYS];
    let mut set = 0;
    while set < table.len() {
        let (mut key, mut packed) = (0, 0);
        while key < KEYS {
            if set >> key & 1 == 1 {
                let lane = 2 * key as u64;
                table[set][packed] = lane | ((lane + 1) << 32);
                packed += 1;
            }
            key += 1;
        }
        set += 1;
    }
    table
};

#[inline]
#[target_feature(enable = "avx2")]
fn load(from: &[u64], at: usize) -> __m256i {
    let from = &from[at..at + KEYS];
    // SAFETY: the slice is as long as a vector.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(to: &mut [u64], at: usize, a: __m256i) {
    let to = &mut to[at..at + KEYS];
    // SAFETY: the slice is as long as a vector.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), a) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_items(from: &[u32], at: usize) -> __m256i {
    let from = &from[at..at + 8];
    // SAFETY: the slice is as long as a vector.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_four(from: &[u32], at: usize) -> __m128i {
    let from = &from[at..at + 4];
    // SAFETY: the slice is as long as a vector.
    unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
}
