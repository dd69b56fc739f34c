//! NEON: the method in vectors of 16 bytes, for every 64-bit ARM processor.
//!
//! The steps that take most of the time are written in vectors. The other steps are plain Rust. The
//! compiler may use vectors for them, too, because all processors of its target have them.

use std::arch::aarch64::*;

use crate::halves::buckets::STEP;
use crate::halves::join::build::{ENTRY_LANES, Entry, LANES, Tables};
use crate::halves::join::open::Runs;
use crate::halves::join::probe::{Chunks, Probe};
use crate::halves::shared::filter::{Filter, Passed};
use crate::halves::units::Unit;
use crate::neon::{self, Chosen, Neon, packed};

impl Unit for Neon {
    by_functions! {
        fn filter(groups: &[[u32; STEP]], rule: Filter, passed: &mut Passed, to: &mut [u32]);
        fn tabulate(chunks: Chunks, items: &[u32; LANES], tables: &mut Tables);
        fn look_up<const USED: usize>(tables: &Tables, runs: &Runs, probes: &[Probe]) -> u64;
    }
}

/// The number of vectors of half of a block's lanes.
const VECTORS: usize = ENTRY_LANES / 128;

/// The most probes whose lanes are added up in 16 bits. Each probe adds at most the bits of two
/// bytes of each vector.
const MOST_PROBES: usize = u16::MAX as usize / (2 * 8 * VECTORS);

/// Looks up one probe after the other, in one half of the lanes after the other.
///
/// The processor counts the bits of bytes by one instruction, so carry-save additions would cost
/// more than they save.
#[target_feature(enable = "neon")]
fn look_up<const USED: usize>(tables: &Tables, runs: &Runs, probes: &[Probe]) -> u64 {
    let mut all = vdupq_n_u64(0);
    for half in 0..LANES / ENTRY_LANES {
        for run in runs.with_half(half) {
            let open = load(&runs.open(run).0.as_chunks().0[half]);
            for probes in probes[run.probes()].chunks(MOST_PROBES) {
                let mut some = vdupq_n_u16(0);
                for &probe in probes {
                    some = vpadalq_u8(some, bits(fits::<USED>(tables, half, open, probe)));
                }
                all = vpadalq_u32(all, vpaddlq_u16(some));
            }
        }
    }
    vaddvq_u64(all)
}

/// The open lanes of a half that fit a probe.
#[inline]
#[target_feature(enable = "neon")]
fn fits<const USED: usize>(
    tables: &Tables,
    half: usize,
    open: [uint64x2_t; VECTORS],
    probe: Probe,
) -> [uint64x2_t; VECTORS] {
    let mut fits = open;
    for chunk in 0..USED {
        let entry = load(&tables.0[chunk][half].0[probe.byte(chunk) / 8]);
        for (fits, entry) in fits.iter_mut().zip(entry) {
            *fits = vandq_u64(*fits, entry);
        }
    }
    fits
}

/// The number of bits of the corresponding bytes of all vectors.
#[inline]
#[target_feature(enable = "neon")]
fn bits(vectors: [uint64x2_t; VECTORS]) -> uint8x16_t {
    let [a, b, c, d] = vectors.map(|vector| vcntq_u8(vreinterpretq_u8_u64(vector)));
    vaddq_u8(vaddq_u8(a, b), vaddq_u8(c, d))
}

/// The number of items in a square of bits for each lane of a vector.
const ITEMS: usize = 4 * SQUARE;

/// The side of a square of bits.
const SQUARE: usize = 32;

/// Exchanges rows and columns of the items' bits, of four squares at a time.
#[target_feature(enable = "neon")]
fn tabulate(chunks: Chunks, items: &[u32; LANES], tables: &mut Tables) {
    let mut lanes = [[[0; ENTRY_LANES / 64]; LANES / ENTRY_LANES]; u32::BITS as usize];
    for (i, items) in items.as_chunks::<ITEMS>().0.iter().enumerate() {
        let (half, place) = (i / VECTORS, i % VECTORS);
        for (lanes, column) in lanes.iter_mut().zip(transposed(items)) {
            store(&mut lanes[half].as_chunks_mut().0[place], column);
        }
    }
    tables.fill(chunks, &lanes);
}

/// The bits of items by place: bit `i` of item `k` becomes bit `k` of vector `i`.
#[inline]
#[target_feature(enable = "neon")]
fn transposed(items: &[u32; ITEMS]) -> [uint32x4_t; SQUARE] {
    // Each lane of these vectors is a square of 32 by 32 bits.
    let row = |i: usize| {
        let of_each: [u32; 4] = std::array::from_fn(|square| items[square * SQUARE + i]);
        neon::load(&of_each, 0)
    };
    let mut squares: [uint32x4_t; SQUARE] = std::array::from_fn(row);
    exchange::<16>(&mut squares, 0x0000_ffff);
    exchange::<8>(&mut squares, 0x00ff_00ff);
    exchange::<4>(&mut squares, 0x0f0f_0f0f);
    exchange::<2>(&mut squares, 0x3333_3333);
    exchange::<1>(&mut squares, 0x5555_5555);
    squares
}

/// Exchanges squares of `SIZE` by `SIZE` bits that lie beside the diagonal of squares of twice the
/// size. The mask has the lower half of the bits of each of the latter.
#[inline]
#[target_feature(enable = "neon")]
fn exchange<const SIZE: i32>(squares: &mut [uint32x4_t; SQUARE], mask: u32) {
    let (size, low) = (SIZE as usize, vdupq_n_u32(mask));
    for i in (0..SQUARE).filter(|i| i & size == 0) {
        let (upper, lower) = (squares[i], squares[i + size]);
        squares[i] = vbslq_u32(low, upper, vshlq_n_u32::<SIZE>(lower));
        squares[i + size] = vbslq_u32(low, vshrq_n_u32::<SIZE>(upper), lower);
    }
}

/// Filters one vector of items after the other.
#[target_feature(enable = "neon")]
fn filter(groups: &[[u32; STEP]], rule: Filter, passed: &mut Passed, to: &mut [u32]) {
    let (bits, keep) = (vdupq_n_u32(rule.bits), vdupq_n_u32(rule.keep));
    let most = vdupq_n_u32(rule.most);
    let Passed { through, before } = passed;
    let mut len = 0;
    for ((items, through), before) in groups.iter().zip(&mut *through).zip(&mut *before) {
        *before = len as u32;
        let may = u32::from(std::mem::take(through));
        for start in (0..STEP).step_by(neon::LANES) {
            let some = neon::load(items, start);
            let may = vtstq_u32(vdupq_n_u32(may >> start), neon::load(&[1, 2, 4, 8], 0));
            let apart = vceqzq_u32(vandq_u32(some, bits));
            let passes = vandq_u32(vandq_u32(may, apart), vcleq_u32(some, most));
            let passes = Chosen::of(passes);
            neon::store(to, len, packed(vandq_u32(some, keep), passes));
            *through |= (passes.set as u16) << start;
            len += passes.len;
        }
    }
    before[groups.len()] = len as u32;
}

#[inline]
#[target_feature(enable = "neon")]
fn load(from: &Entry) -> [uint64x2_t; VECTORS] {
    // SAFETY: the array is as long as the vectors.
    let uint64x2x4_t(a, b, c, d) = unsafe { vld1q_u64_x4(from.as_ptr()) };
    [a, b, c, d]
}

#[inline]
#[target_feature(enable = "neon")]
fn store(to: &mut [u64; 2], a: uint32x4_t) {
    // SAFETY: the array is as long as a vector.
    unsafe { vst1q_u64(to.as_mut_ptr(), vreinterpretq_u64_u32(a)) }
}
