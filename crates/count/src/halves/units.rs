//! Units: the steps of the method that have an implementation for each instruction set.

use crate::halves::buckets::STEP;
use crate::halves::code::view::View;
use crate::halves::join::build::{LANES, Tables};
use crate::halves::join::open::Runs;
use crate::halves::join::probe::{Chunks, Probe};
use crate::halves::quarters::Quarter;
use crate::halves::shared::filter::{Filter, Passed};

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
pub(crate) mod avx512;
#[cfg(target_arch = "aarch64")]
#[allow(unsafe_code)]
pub(crate) mod neon;
pub(crate) mod portable;

/// The right to execute some instructions: a value exists only where the processor has them.
pub(crate) trait Unit: Copy {
    /// A view in the form in which the unit reads keys.
    type Reader;

    /// Writes the keys of the half-boards that the quarters make to the start of `keys`, and
    /// returns their number. `keys` has room for every pair and for [`PADDING`] more.
    fn pair(self, upper: Quarter<'_>, lower: Quarter<'_>, keys: &mut [u64]) -> usize;

    /// Prefetches the cache lines that hold the keys of quarters.
    fn prefetch(self, _upper: Quarter<'_>, _lower: Quarter<'_>) {}

    /// Prefetches the cache lines that tell where quarters start.
    fn prefetch_starts(self, _first: &[u32], _starts: &[u16]) {}

    /// Prepares a view.
    fn reader(self, view: &View) -> Self::Reader;

    /// Replaces each key by its record.
    fn read(self, keys: &mut [u64], reader: &Self::Reader);

    /// Moves the keys that lack a bit of `closed` to the start, and returns their number. The contents after
    /// them are unspecified.
    fn leave_out(self, keys: &mut [u64], closed: u64) -> usize {
        let mut len = 0;
        for i in 0..keys.len() {
            let key = keys[i];
            // The key is always written, and the end moves only if it stays: no branch.
            keys[len] = key;
            len += usize::from(key & closed != closed);
        }
        len
    }

    /// Writes the items that a filter lets through to the start of `to`, in order, if they may pass, and notes
    /// which did. `to` has room for all of them and for a group more.
    fn filter(self, groups: &[[u32; STEP]], rule: Filter, passed: &mut Passed, to: &mut [u32]) {
        let mut len = 0;
        let Passed { through, before } = passed;
        for ((items, through), before) in groups.iter().zip(&mut *through).zip(&mut *before) {
            *before = len as u32;
            let may = std::mem::take(through);
            let to = to[len..].first_chunk_mut::<STEP>().expect("room for all and a group");
            let mut passed = 0;
            for (i, &item) in items.iter().enumerate() {
                // The item is always written, and the end moves only if it passes: no branch.
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

    /// Writes for the first of every `step` places how many items before it passed.
    fn ranks(self, places: &[u32], step: usize, passed: &Passed, ranks: &mut [u32]) {
        for (rank, &place) in ranks.iter_mut().zip(places.iter().step_by(step)) {
            *rank = passed.rank(place);
        }
    }

    /// Writes the probe of each item.
    fn to_probes(self, items: &[u32], probes: &mut [Probe]);

    /// Replaces the tables by those of `items`, a lane for each. Chunks that are not looked up may have any
    /// tables.
    fn tabulate(self, chunks: Chunks, items: &[u32; LANES], tables: &mut Tables);

    /// Counts the pairs of a probe and a lane that fit, for each run's probes and open lanes.
    fn probe(self, chunks: Chunks, tables: &Tables, runs: &Runs, probes: &[Probe]) -> u64;

    /// The number of `items` that have no bit in common with `item`.
    fn count_apart(self, item: u32, items: &[u32]) -> u64;
}

#[cfg(test)]
mod tests;
