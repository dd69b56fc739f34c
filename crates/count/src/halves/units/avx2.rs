//! AVX2: the method in vectors of 32 bytes, for x86-64 processors since Haswell (2013).

use std::arch::x86_64::*;

use crate::avx2::{self, Avx2, load, permutation, store};
use crate::halves::buckets::STEP;
use crate::halves::join::build::{ENTRY_LANES, LANES, Tables};
use crate::halves::join::open::{BOTH, Runs};
use crate::halves::join::probe::{Chunks, Probe};
use crate::halves::quarters::Quarter;
use crate::halves::shared::filter::{Filter, Passed};
use crate::halves::units::{Unit, leave_out_from};

impl Unit for Avx2 {
    by_functions! {
        fn pair(upper: Quarter<'_>, lower: Quarter<'_>, keys: &mut [u64]) -> usize;
        fn prefetch(upper: Quarter<'_>, lower: Quarter<'_>);
        fn prefetch_starts(first: &[u32], starts: &[u16]);
        fn leave_out(keys: &mut [u64], closed: u64) -> usize;
        fn filter(groups: &[[u32; STEP]], rule: Filter, passed: &mut Passed, to: &mut [u32]);
        fn ranks(places: &[u32], step: usize, passed: &Passed, to: &mut [u32]);
        fn to_probes(items: &[u32], probes: &mut [Probe]);
        fn tabulate(chunks: Chunks, items: &[u32; LANES], tables: &mut Tables);
        fn look_up<const USED: usize>(tables: &Tables, runs: &Runs, probes: &[Probe]) -> u64;
        fn count_apart(item: u32, items: &[u32]) -> u64;
    }
}

#[target_feature(enable = "avx2")]
fn to_probes(items: &[u32], probes: &mut [Probe]) {
    Probe::of_items(items, probes);
}

#[target_feature(enable = "avx2,popcnt")]
fn count_apart(item: u32, items: &[u32]) -> u64 {
    let same = _mm256_set1_epi32(item as i32);
    let (whole, rest) = items.as_chunks::<8>();
    let mut sum = rest.iter().filter(|other| **other & item == 0).count() as u64;
    for some in whole {
        let both = _mm256_and_si256(load(some, 0), same);
        let apart = _mm256_cmpeq_epi32(both, _mm256_setzero_si256());
        sum += u64::from(_mm256_movemask_ps(_mm256_castsi256_ps(apart)).count_ones());
    }
    sum
}

/// Prefetches some cache lines, beginning at the start of each list.
///
/// It always takes the same number, because the end of a loop over the right number would be
/// mispredicted.
#[inline]
#[target_feature(enable = "sse")]
pub(super) fn prefetch(upper: Quarter<'_>, lower: Quarter<'_>) {
    prefetch_lines::<2>(upper.meet.as_ptr().cast());
    prefetch_lines::<2>(upper.far.as_ptr().cast());
    prefetch_lines::<6>(lower.meet.as_ptr().cast());
    prefetch_lines::<6>(lower.far.as_ptr().cast());
}

/// Prefetches where the quarters of a set start.
#[inline]
#[target_feature(enable = "sse")]
pub(super) fn prefetch_starts(first: &[u32], starts: &[u16]) {
    prefetch_lines::<1>(first.as_ptr().cast());
    prefetch_lines::<2>(starts.as_ptr().cast());
}

fn prefetch_lines<const LINES: usize>(from: *const i8) {
    const LINE_BYTES: usize = 64;
    for line in 0..LINES {
        // SAFETY: a prefetch is a hint, and any address is allowed.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(line * LINE_BYTES)) };
    }
}

/// The number of keys of a vector.
const KEYS: usize = 4;

#[target_feature(enable = "avx2,popcnt")]
fn pair(upper: Quarter<'_>, lower: Quarter<'_>, keys: &mut [u64]) -> usize {
    pair_in_rounds!(upper, lower, keys, KEYS)
}

/// Compares `VECTORS` vectors of lower quarters from `start` on with every upper quarter. The last
/// vector may be incomplete. `keys` has room for every pair and for one more vector.
#[target_feature(enable = "avx2,popcnt")]
fn pair_held<const VECTORS: usize>(
    upper: Quarter<'_>,
    lower: Quarter<'_>,
    start: usize,
    keys: &mut [u64],
) -> usize {
    let boards = (lower.len - start).min(VECTORS * KEYS);
    assert!(keys.len() >= upper.len * boards + KEYS, "room for every pair and a vector");
    let last = 0xf_usize >> (VECTORS * KEYS - boards);
    let mut meet = [_mm256_setzero_si256(); VECTORS];
    let mut far = meet;
    for i in 0..VECTORS {
        meet[i] = load(lower.meet, start + i * KEYS);
        far[i] = load(lower.far, start + i * KEYS);
    }
    let mut len = 0;
    for (&upper_meet, &upper_far) in upper.meet[..upper.len].iter().zip(upper.far) {
        let upper_meet = _mm256_set1_epi64x(upper_meet as i64);
        let upper_far = _mm256_set1_epi64x(upper_far as i64);
        for i in 0..VECTORS {
            let both = _mm256_and_si256(meet[i], upper_meet);
            let apart = _mm256_cmpeq_epi64(both, _mm256_setzero_si256());
            let apart = _mm256_movemask_pd(_mm256_castsi256_pd(apart)) as usize;
            let apart = apart & if i + 1 == VECTORS { last } else { 0xf };
            let union = _mm256_or_si256(far[i], upper_far);
            let packed = _mm256_permutevar8x32_epi32(union, load(&PACK[apart], 0));
            // SAFETY: `len` is at most the number of pairs before. There is room for all of these
            // and for one more vector.
            unsafe { _mm256_storeu_si256(keys.as_mut_ptr().add(len).cast(), packed) };
            len += apart.count_ones() as usize;
        }
    }
    len
}

#[target_feature(enable = "avx2,popcnt")]
fn leave_out(keys: &mut [u64], closed: u64) -> usize {
    let closed_lanes = _mm256_set1_epi64x(closed as i64);
    let mut len = 0;
    let whole = keys.len() - keys.len() % KEYS;
    for start in (0..whole).step_by(KEYS) {
        let some = load(keys, start);
        let lost = _mm256_cmpeq_epi64(_mm256_and_si256(some, closed_lanes), closed_lanes);
        let stay = !_mm256_movemask_pd(_mm256_castsi256_pd(lost)) as usize & 0xf;
        // At most as many keys stay as come before. So no key is overwritten before it is loaded.
        store(keys, len, _mm256_permutevar8x32_epi32(some, load(&PACK[stay], 0)));
        len += stay.count_ones() as usize;
    }
    leave_out_from(keys, whole, len, closed)
}

#[target_feature(enable = "avx2,popcnt")]
fn filter(groups: &[[u32; STEP]], rule: Filter, passed: &mut Passed, to: &mut [u32]) {
    const ITEMS: usize = 8;
    let same = |word: u32| _mm256_set1_epi32(word as i32);
    let (most, bits, keep) = (same(rule.most), same(rule.bits), same(rule.keep));
    let Passed { through, before } = passed;
    assert!(groups.len() * STEP <= to.len(), "room for all and a group");
    let mut len = 0;
    for ((items, through), before) in groups.iter().zip(&mut *through).zip(&mut *before) {
        *before = len as u32;
        let may = std::mem::take(through);
        for (half, items) in items.as_chunks::<ITEMS>().0.iter().enumerate() {
            let some = load(items, 0);
            let apart = _mm256_cmpeq_epi32(_mm256_and_si256(some, bits), _mm256_setzero_si256());
            let below = _mm256_cmpeq_epi32(_mm256_min_epu32(some, most), some);
            let passes = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_and_si256(apart, below)));
            let passes = passes as usize & usize::from(may >> (half * ITEMS)) & 0xff;
            let kept = _mm256_and_si256(some, keep);
            let packed = _mm256_permutevar8x32_epi32(kept, permutation(&avx2::PACK, passes as u8));
            // SAFETY: `len` is at most the number of items before, and there is room for these and
            // for the rest of this group.
            unsafe {
                _mm256_storeu_si256(to.as_mut_ptr().add(len).cast(), packed);
            }
            *through |= (passes as u16) << (half * ITEMS);
            len += passes.count_ones() as usize;
        }
    }
    before[groups.len()] = len as u32;
}

#[target_feature(enable = "popcnt")]
pub(super) fn ranks(places: &[u32], step: usize, passed: &Passed, to: &mut [u32]) {
    passed.ranks(places, step, to);
}

/// Extracts each bit of 32 items at a time as a mask.
#[target_feature(enable = "avx2")]
fn tabulate(chunks: Chunks, items: &[u32; LANES], tables: &mut Tables) {
    let mut lanes = [[[0; ENTRY_LANES / 64]; LANES / ENTRY_LANES]; u32::BITS as usize];
    for (word, items) in items.as_chunks::<64>().0.iter().enumerate() {
        let (half, word) = (word * 64 / ENTRY_LANES, word % (ENTRY_LANES / 64));
        let (first, second) = (bytes_of(items, 0), bytes_of(items, 32));
        for (lanes, (mut first, mut second)) in
            lanes.as_chunks_mut::<8>().0.iter_mut().zip(first.into_iter().zip(second))
        {
            for lanes in lanes.iter_mut().rev() {
                let mask = |bytes| u64::from(_mm256_movemask_epi8(bytes) as u32);
                lanes[half][word] = mask(first) | mask(second) << 32;
                first = _mm256_add_epi8(first, first);
                second = _mm256_add_epi8(second, second);
            }
        }
    }
    tables.fill(chunks, &lanes);
}

/// The corresponding bytes of 32 items from `start` on.
#[inline]
#[target_feature(enable = "avx2")]
fn bytes_of(items: &[u32], start: usize) -> [__m256i; 4] {
    // It brings the corresponding bytes of four items together.
    let order = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    let order = _mm256_broadcastsi128_si256(order);
    // Four items come from each half, so that the lanes are in the order of the items.
    let some = |i: usize| {
        let (low, high) = (start + 4 * i, start + 16 + 4 * i);
        _mm256_set_m128i(load_four(items, high), load_four(items, low))
    };
    let bytes = |i: usize| _mm256_shuffle_epi8(some(i), order);
    let (a, b, c, d) = (bytes(0), bytes(1), bytes(2), bytes(3));
    let (ab_0, ab_1) = (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    let (cd_0, cd_1) = (_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
    [
        _mm256_unpacklo_epi64(ab_0, cd_0),
        _mm256_unpackhi_epi64(ab_0, cd_0),
        _mm256_unpacklo_epi64(ab_1, cd_1),
        _mm256_unpackhi_epi64(ab_1, cd_1),
    ]
}

/// Looks up one probe after the other, in both halves of the lanes if lanes of both are open.
///
/// Carry-save additions first reduce four vectors to a vector of fours, one of twos and one of
/// ones. Only then are bits counted (Harley and Seal; Warren, Hacker's Delight, section 5-1).
#[target_feature(enable = "avx2")]
fn look_up<const USED: usize>(tables: &Tables, runs: &Runs, probes: &[Probe]) -> u64 {
    let zero = _mm256_setzero_si256();
    let (mut ones, mut twos, mut fours) = (zero, zero, zero);
    for run in runs.with(BOTH) {
        let open = &runs.open(run).0;
        let open = [open_lanes(open, 0), open_lanes(open, 1)];
        for &probe in &probes[run.probes()] {
            let [a, b] = fits::<USED>(tables, 0, open[0], probe);
            let [c, d] = fits::<USED>(tables, 1, open[1], probe);
            let (ones_1, twos_1) = carry_save(ones, a, b);
            let (ones_2, twos_2) = carry_save(ones_1, c, d);
            let (twos_3, fours_1) = carry_save(twos, twos_1, twos_2);
            (ones, twos) = (ones_2, twos_3);
            fours = _mm256_add_epi64(fours, bits(fours_1));
        }
    }
    for half in 0..LANES / ENTRY_LANES {
        for run in runs.with(1 << half) {
            let open = open_lanes(&runs.open(run).0, half);
            for &probe in &probes[run.probes()] {
                let [a, b] = fits::<USED>(tables, half, open, probe);
                let (ones_1, twos_1) = carry_save(ones, a, b);
                let fours_1 = _mm256_and_si256(twos, twos_1);
                (ones, twos) = (ones_1, _mm256_xor_si256(twos, twos_1));
                fours = _mm256_add_epi64(fours, bits(fours_1));
            }
        }
    }
    let rest = _mm256_add_epi64(bits(ones), _mm256_slli_epi64::<1>(bits(twos)));
    let mut sums = [0; KEYS];
    store(&mut sums, 0, _mm256_add_epi64(rest, _mm256_slli_epi64::<2>(fours)));
    sums.iter().sum()
}

/// The number of vectors for half of a block's lanes.
const VECTORS: usize = ENTRY_LANES / 256;

/// The lanes of a half.
#[inline]
#[target_feature(enable = "avx2")]
fn open_lanes(open: &[u64], half: usize) -> [__m256i; VECTORS] {
    [0, KEYS].map(|at| load(open, half * VECTORS * KEYS + at))
}

/// The open lanes of a half that fit a probe.
#[inline]
#[target_feature(enable = "avx2")]
fn fits<const USED: usize>(
    tables: &Tables,
    half: usize,
    open: [__m256i; VECTORS],
    probe: Probe,
) -> [__m256i; VECTORS] {
    let mut fits = open;
    for chunk in 0..USED {
        let entry = &tables.0[chunk][half].0[probe.byte(chunk) / 8];
        for (i, fits) in fits.iter_mut().enumerate() {
            *fits = _mm256_and_si256(*fits, load(entry, KEYS * i));
        }
    }
    fits
}

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
#[target_feature(enable = "avx2")]
fn bits(a: __m256i) -> __m256i {
    let ones =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    let nibble = _mm256_set1_epi8(0xf);
    let low = _mm256_shuffle_epi8(ones, _mm256_and_si256(a, nibble));
    let high = _mm256_shuffle_epi8(ones, _mm256_and_si256(_mm256_srli_epi64::<4>(a), nibble));
    _mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256())
}

/// The permutation of 32-bit lanes that moves the keys of a set to the front, for each set. It is
/// stored as words of two lanes.
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
fn load_four(from: &[u32], at: usize) -> __m128i {
    let from = &from[at..at + 4];
    // SAFETY: the slice is as long as a vector.
    unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
}
