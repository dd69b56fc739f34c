//! AVX-512 with VBMI, BITALG, VPOPCNTDQ and GFNI: the method in vectors of 64 bytes, for x86-64
//! processors since Ice Lake (2019) and Zen 4 (2022).
//!
//! Looking up a probe of six chunks in 1,024 lanes takes twelve loads, six operations of three
//! operands, two counts of bits and two additions: 9 to 11 cycles.

mod tables;

use std::arch::asm;
use std::arch::x86_64::*;

use self::tables::{ACROSS, tabulate};
use super::avx2::{prefetch, prefetch_starts, ranks};
use crate::avx512::{Avx512, load, store};
use crate::halves::buckets::STEP;
use crate::halves::code::view::{Reader, View};
use crate::halves::join::build::{ENTRY_LANES, Entry, LANES, Table, Tables};
use crate::halves::join::open::{BOTH, Runs};
use crate::halves::join::probe::{CHUNKS, Chunks, Probe};
use crate::halves::quarters::Quarter;
use crate::halves::shared::filter::{Filter, Passed};
use crate::halves::units::{Unit, leave_out_from};

impl Unit for Avx512<u32> {
    by_functions! {
        fn pair(upper: Quarter<'_>, lower: Quarter<'_>, keys: &mut [u64]) -> usize;
        fn prefetch(upper: Quarter<'_>, lower: Quarter<'_>);
        fn prefetch_starts(first: &[u32], starts: &[u16]);
        fn read(reader: &Reader, keys: &mut [u64]);
        fn leave_out(keys: &mut [u64], closed: u64) -> usize;
        fn filter(groups: &[[u32; STEP]], rule: Filter, passed: &mut Passed, to: &mut [u32]);
        fn ranks(places: &[u32], step: usize, passed: &Passed, to: &mut [u32]);
        fn to_probes(items: &[u32], probes: &mut [Probe]);
        fn tabulate(chunks: Chunks, items: &[u32; LANES], tables: &mut Tables);
        fn look_up<const USED: usize>(tables: &Tables, runs: &Runs, probes: &[Probe]) -> u64;
        fn count_apart(item: u32, items: &[u32]) -> u64;
    }
}

/// The number of keys of a vector.
const KEYS: usize = 8;

/// Compares all lower quarters that registers hold with one upper quarter after the other.
///
/// Half of the vectors hold no half-board. One attempt to use this collected the masks of eight
/// vectors and wrote their keys one by one. It took one and a half times as long.
#[target_feature(enable = "avx512f,popcnt")]
fn pair(upper: Quarter<'_>, lower: Quarter<'_>, keys: &mut [u64]) -> usize {
    pair_in_rounds!(upper, lower, keys, KEYS)
}

/// Compares `VECTORS` vectors of lower quarters from `start` on with every upper quarter. The last
/// vector may be incomplete. `keys` has room for every pair and for one more vector.
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
        meet[i] = load(lower.meet, start + i * KEYS);
        far[i] = load(lower.far, start + i * KEYS);
    }
    let mut len = 0;
    for (&upper_meet, &upper_far) in upper.meet[..upper.len].iter().zip(upper.far) {
        let upper_meet = _mm512_set1_epi64(upper_meet as i64);
        let upper_far = _mm512_set1_epi64(upper_far as i64);
        for i in 0..VECTORS {
            let boards = if i + 1 == VECTORS { last } else { 0xff };
            let apart = _mm512_mask_testn_epi64_mask(boards, meet[i], upper_meet);
            let union = _mm512_or_si512(far[i], upper_far);
            // SAFETY: `len` is at most the number of pairs before. There is room for all of these
            // and for one more vector.
            unsafe {
                let end = keys.as_mut_ptr().add(len);
                _mm512_storeu_si512(end.cast(), _mm512_maskz_compress_epi64(apart, union));
            }
            len += apart.count_ones() as usize;
        }
    }
    len
}

/// Reads eight keys at a time, one byte of their records after the other.
///
/// The bytes are stored one by one, and loaded as vectors. A load has to wait for all stores that
/// it covers, so a batch of keys lies between the stores and the loads. The last keys are too few
/// for a batch and are copied into one, because masked stores would be slower.
#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,avx512bitalg")]
fn read(Reader { view, .. }: &Reader, keys: &mut [u64]) {
    let (batches, rest) = keys.as_chunks_mut();
    batches.iter_mut().for_each(|batch| read_batch(batch, view));
    if !rest.is_empty() {
        let mut batch = [0; BATCH];
        batch[..rest.len()].copy_from_slice(rest);
        read_batch(&mut batch, view);
        rest.copy_from_slice(&batch[..rest.len()]);
    }
}

/// The number of keys that are read at a time.
const BATCH: usize = 16 * KEYS;

#[target_feature(enable = "avx512bw,avx512vl,avx512vbmi,avx512bitalg")]
fn read_batch(keys: &mut [u64; BATCH], view: &View) {
    let across = load(&ACROSS, 0);
    let used = _mm512_set1_epi64(view.used as i64);
    let used_bytes = (u64::BITS - view.used.leading_zeros()).div_ceil(8) as usize;
    let bytes = view.from.as_chunks().0;
    let from: [__m512i; 8] =
        std::array::from_fn(|i| _mm512_set1_epi64(i64::from_le_bytes(bytes[i])));
    // Probe `i` of a vector has byte `i` of each record.
    let mut batch = [[0; 8]; BATCH / KEYS];
    for (i, bytes) in batch.iter_mut().enumerate() {
        let some = load(keys, KEYS * i);
        for (bytes, from) in bytes[..used_bytes].iter_mut().zip(from) {
            *bytes = _mm512_bitshuffle_epi64_mask(some, from);
        }
    }
    for (i, bytes) in batch.iter().enumerate() {
        let records = _mm512_permutexvar_epi8(across, load(bytes, 0));
        store(keys, KEYS * i, _mm512_and_si512(records, used));
    }
}

#[target_feature(enable = "avx512f,popcnt")]
fn leave_out(keys: &mut [u64], closed: u64) -> usize {
    let closed_lanes = _mm512_set1_epi64(closed as i64);
    let mut len = 0;
    let whole = keys.len() - keys.len() % KEYS;
    for start in (0..whole).step_by(KEYS) {
        let some = load(keys, start);
        let stay = _mm512_cmpneq_epi64_mask(_mm512_and_si512(some, closed_lanes), closed_lanes);
        // SAFETY: `len` is at most `start`, and there is a whole vector from `start` on. The
        // overwritten keys were loaded already.
        unsafe {
            let end = keys.as_mut_ptr().add(len);
            _mm512_storeu_si512(end.cast(), _mm512_maskz_compress_epi64(stay, some));
        }
        len += stay.count_ones() as usize;
    }
    leave_out_from(keys, whole, len, closed)
}

#[target_feature(enable = "avx512f,popcnt")]
fn filter(groups: &[[u32; STEP]], rule: Filter, passed: &mut Passed, to: &mut [u32]) {
    let most = _mm512_set1_epi32(rule.most as i32);
    let bits = _mm512_set1_epi32(rule.bits as i32);
    let keep = _mm512_set1_epi32(rule.keep as i32);
    let Passed { through, before } = passed;
    assert!(groups.len() * STEP <= to.len(), "room for all and a group");
    let mut len = 0;
    for ((items, through), before) in groups.iter().zip(&mut *through).zip(&mut *before) {
        let some = load(items, 0);
        let passes = _mm512_mask_testn_epi32_mask(*through, some, bits);
        let passes = _mm512_mask_cmple_epu32_mask(passes, some, most);
        let some = _mm512_maskz_compress_epi32(passes, _mm512_and_si512(some, keep));
        // SAFETY: `len` is at most the number of items before, and there is room for these and for
        // this group.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().add(len).cast(), some) };
        (*before, *through) = (len as u32, passes);
        len += passes.count_ones() as usize;
    }
    before[groups.len()] = len as u32;
}

#[target_feature(enable = "avx512bw,avx512vl")]
fn to_probes(items: &[u32], probes: &mut [Probe]) {
    Probe::of_items(items, probes);
}

#[target_feature(enable = "avx512f,popcnt")]
fn count_apart(item: u32, items: &[u32]) -> u64 {
    let item = _mm512_set1_epi32(item as i32);
    let (whole, rest) = items.as_chunks::<16>();
    let mut sum = 0;
    for some in whole {
        sum += u64::from(_mm512_testn_epi32_mask(item, load(some, 0)).count_ones());
    }
    let there = (1 << rest.len()) - 1;
    // SAFETY: lanes beyond the slice's end are not loaded.
    let some = unsafe { _mm512_maskz_loadu_epi32(there, rest.as_ptr().cast()) };
    sum + u64::from(_mm512_mask_testn_epi32_mask(there, item, some).count_ones())
}

/// Looks up one probe after the other, in both halves of the lanes if lanes of both are open.
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn look_up<const USED: usize>(tables: &Tables, runs: &Runs, probes: &[Probe]) -> u64 {
    let zero = _mm512_setzero_si512();
    let (mut first, mut second) = (zero, zero);
    for run in runs.with(BOTH) {
        let open = &runs.open(run).0;
        let open = [load(open, 0), load(open, KEYS)];
        for &probe in &probes[run.probes()] {
            first = _mm512_add_epi64(first, fits::<USED, 0>(tables, open[0], probe));
            second = _mm512_add_epi64(second, fits::<USED, 1>(tables, open[1], probe));
        }
    }
    for run in runs.with(1) {
        let open = load(&runs.open(run).0, 0);
        for &probe in &probes[run.probes()] {
            first = _mm512_add_epi64(first, fits::<USED, 0>(tables, open, probe));
        }
    }
    for run in runs.with(1 << 1) {
        let open = load(&runs.open(run).0, KEYS);
        for &probe in &probes[run.probes()] {
            second = _mm512_add_epi64(second, fits::<USED, 1>(tables, open, probe));
        }
    }
    _mm512_reduce_add_epi64(_mm512_add_epi64(first, second)) as u64
}

/// The number of vectors for a block's lanes.
const HALVES: usize = LANES / ENTRY_LANES;

/// The numbers of open lanes of a half that fit a probe.
#[inline]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn fits<const USED: usize, const HALF: usize>(
    tables: &Tables,
    open: __m512i,
    probe: Probe,
) -> __m512i {
    let fits = and(open, entry::<0, HALF>(tables, probe), entry::<1, HALF>(tables, probe));
    let fits = and(fits, entry::<2, HALF>(tables, probe), entry::<3, HALF>(tables, probe));
    let fits = and(fits, entry::<4, HALF>(tables, probe), entry::<5, HALF>(tables, probe));
    if USED == 6 {
        return _mm512_popcnt_epi64(fits);
    }
    _mm512_popcnt_epi64(_mm512_and_si512(fits, entry::<6, HALF>(tables, probe)))
}

/// The lanes of a half whose items have none of the bits of a chunk of `probe`.
///
/// The compiler would make the load a part of the operation with three operands. With this kind of
/// address, the processor splits such an instruction into two micro-operations again. Intel's
/// processors execute fewer of these in a cycle than loads.
#[inline]
#[target_feature(enable = "avx512f")]
fn entry<const CHUNK: usize, const HALF: usize>(tables: &Tables, probe: Probe) -> __m512i {
    const { assert!(size_of::<Entry>() == 8 * 8, "a byte of a probe is eight times a chunk") };
    const { assert!(CHUNK < CHUNKS && HALF < HALVES, "there is such a table") };
    let entry;
    // SAFETY: a byte of a probe is eight times a chunk, and a table has an entry of 64 bytes for
    // each value of a chunk. So the address is that of an entry, which is aligned like the tables.
    unsafe {
        asm!(
            "vmovdqa64 {entry}, [{tables} + 8 * {byte} + {table}]",
            entry = lateout(zmm_reg) entry,
            tables = in(reg) tables,
            byte = in(reg) probe.byte(CHUNK),
            table = const (CHUNK * HALVES + HALF) * size_of::<Table>(),
            options(pure, readonly, nostack, preserves_flags)
        );
    }
    entry
}

#[inline]
#[target_feature(enable = "avx512f")]
fn and(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0x80>(a, b, c)
}
