//! Units: the steps of the method that have an implementation for each instruction set.

use crate::halves::buckets::STEP;
use crate::halves::code::view::Reader;
use crate::halves::join::build::{LANES, Tables};
use crate::halves::join::open::Runs;
use crate::halves::join::probe::{Chunks, Probe};
use crate::halves::quarters::Quarter;
use crate::halves::shared::filter::{Filter, Passed};

/// Implements steps of a unit by the functions of the same names, which enable its instructions.
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
macro_rules! by_functions {
    ($(
        fn $step:ident$(<const $constant:ident: usize>)?($($argument:ident: $type:ty),*)
            $( -> $result:ty)?;
    )*) => {$(
        fn $step$(<const $constant: usize>)?(self, $($argument: $type),*)$( -> $result)? {
            // SAFETY: `self` exists, so `new` has found the instructions that the function enables.
            unsafe { $step$(::<$constant>)?($($argument),*) }
        }
    )*};
}

/// Pairs quarters by `pair_held`, which compares up to eight vectors of lower quarters, each of
/// `$width`, with one upper quarter after the other.
macro_rules! pair_in_rounds {
    ($upper:ident, $lower:ident, $keys:ident, $width:expr) => {{
        let mut len = 0;
        for start in (0..$lower.len).step_by(8 * $width) {
            let keys = &mut $keys[len..];
            // A loop of known length is unrolled, so its end cannot be mispredicted.
            len += match ($lower.len - start).div_ceil($width) {
                1 => pair_held::<1>($upper, $lower, start, keys),
                2 => pair_held::<2>($upper, $lower, start, keys),
                3 => pair_held::<3>($upper, $lower, start, keys),
                4 => pair_held::<4>($upper, $lower, start, keys),
                5 => pair_held::<5>($upper, $lower, start, keys),
                6 => pair_held::<6>($upper, $lower, start, keys),
                7 => pair_held::<7>($upper, $lower, start, keys),
                _ => pair_held::<8>($upper, $lower, start, keys),
            };
        }
        len
    }};
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx512;
#[cfg(target_arch = "aarch64")]
#[allow(unsafe_code)]
pub(crate) mod neon;
pub(crate) mod portable;

/// The right to execute some instructions. A value exists only if the processor has them. The
/// default of each step is plain Rust.
pub(crate) trait Unit: Copy + Send + Sync + 'static {
    /// Writes the keys of the half-boards that the quarters make to the start of `keys`, and
    /// returns their number. `keys` has room for every pair and for
    /// [`PADDING`](crate::halves::quarters::PADDING) more.
    fn pair(self, upper: Quarter<'_>, lower: Quarter<'_>, keys: &mut [u64]) -> usize {
        portable::pair(upper, lower, keys)
    }

    /// Prefetches the cache lines that hold the keys of quarters.
    fn prefetch(self, _upper: Quarter<'_>, _lower: Quarter<'_>) {}

    /// Prefetches the cache lines that say where quarters start.
    fn prefetch_starts(self, _first: &[u32], _starts: &[u16]) {}

    /// Replaces each key by its record.
    fn read(self, reader: &Reader, keys: &mut [u64]) {
        reader.read(keys);
    }

    /// Moves the keys that lack a bit of `closed` to the start. Returns their number. The contents
    /// after them are unspecified.
    fn leave_out(self, keys: &mut [u64], closed: u64) -> usize {
        leave_out_from(keys, 0, 0, closed)
    }

    /// Writes the items that may pass and that a filter lets through to the start of `to`, in
    /// order, and notes which items these are. `to` has room for all of them and for one more
    /// group.
    fn filter(self, groups: &[[u32; STEP]], rule: Filter, passed: &mut Passed, to: &mut [u32]) {
        let mut len = 0;
        let Passed { through, before } = passed;
        for ((items, through), before) in groups.iter().zip(&mut *through).zip(&mut *before) {
            *before = len as u32;
            let may = std::mem::take(through);
            let to = to[len..].first_chunk_mut::<STEP>().expect("room for all and a group");
            let mut passed = 0;
            for (i, &item) in items.iter().enumerate() {
                // The item is always written, and the end moves only if it passes. This avoids a
                // branch.
                to[passed % STEP] = item & rule.keep;
                let passes =
                    u16::from(item <= rule.most) & u16::from(item & rule.bits == 0) & may >> i;
                *through |= passes << i;
                passed += usize::from(passes);
            }
            len += passed;
        }
        before[groups.len()] = len as u32;
    }

    /// Writes how many items before the first of every `step` places passed.
    fn ranks(self, places: &[u32], step: usize, passed: &Passed, to: &mut [u32]) {
        passed.ranks(places, step, to);
    }

    /// Writes the probe of each item.
    fn to_probes(self, items: &[u32], probes: &mut [Probe]) {
        Probe::of_items(items, probes);
    }

    /// Replaces the tables by those of `items`, a lane for each. Chunks that are not looked up may
    /// have any tables.
    fn tabulate(self, chunks: Chunks, items: &[u32; LANES], tables: &mut Tables);

    /// Counts the pairs of a probe and a lane that fit, for each run's probes and open lanes.
    fn probe(self, chunks: Chunks, tables: &Tables, runs: &Runs, probes: &[Probe]) -> u64 {
        match chunks {
            Chunks::Six => self.look_up::<6>(tables, runs, probes),
            Chunks::Seven => self.look_up::<7>(tables, runs, probes),
        }
    }

    /// The same as [`probe`](Unit::probe), for a fixed number of chunks.
    fn look_up<const USED: usize>(self, tables: &Tables, runs: &Runs, probes: &[Probe]) -> u64;

    /// The number of `items` that have no bit in common with `item`.
    fn count_apart(self, item: u32, items: &[u32]) -> u64 {
        portable::count_apart(item, items)
    }
}

/// Moves the keys that lack a bit of `closed` from place `start` on to place `len`. Returns where
/// they end.
#[inline(always)]
fn leave_out_from(keys: &mut [u64], start: usize, mut len: usize, closed: u64) -> usize {
    for i in start..keys.len() {
        let key = keys[i];
        // The key is always written, and the end moves only if it stays. This avoids a branch.
        keys[len] = key;
        len += usize::from(key & closed != closed);
    }
    len
}

#[cfg(test)]
mod tests;
