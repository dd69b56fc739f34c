//! Filters half-boards, and moves those that stay together.

use std::arch::x86_64::*;

use super::{KEYS, PACK};
use crate::avx2::{load, store};
use crate::halves::buckets::STEP;
use crate::halves::shared::filter::{Filter, Passed};
use crate::halves::units::leave_out_from;

#[target_feature(enable = "avx2,popcnt")]
pub(super) fn leave_out(keys: &mut [u64], closed: u64) -> usize {
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
pub(super) fn filter(groups: &[[u32; STEP]], rule: Filter, passed: &mut Passed, to: &mut [u32]) {
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
            let packed = _mm256_permutevar8x32_epi32(kept, load(&PACK_ITEMS[passes], 0));
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
pub(crate) fn ranks(places: &[u32], step: usize, passed: &Passed, to: &mut [u32]) {
    passed.ranks(places, step, to);
}

/// The permutation that moves the items of a set to the front, for each set of eight items.
static PACK_ITEMS: [[u32; 8]; 1 << 8] = {
    let mut table = [[0; 8]; 1 << 8];
    let mut set = 0;
    while set < table.len() {
        let (mut item, mut packed) = (0, 0);
        while item < 8 {
            if set >> item & 1 == 1 {
                table[set][packed] = item;
                packed += 1;
            }
            item += 1;
        }
        set += 1;
    }
    table
};
