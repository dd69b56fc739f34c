//! The tables by which a device reads the keys of half-boards.
//!
//! A device lists half-boards by itself, as keys of their diagonals, and sends some of them to the
//! host. From these the host chooses a code, as for its own lists ([`choose`](super::choose)). It
//! then makes the tables by which the device turns keys into records.

use board::halves::Split;

use crate::halves::by_size::CodeBits;
use crate::halves::code::conflicts::Conflicts;
use crate::halves::code::diagonals::{diagonals, in_other_half};
use crate::halves::code::view::{CODE, View, by_bytes};

/// The tables by which the keys of upper and of lower half-boards become records: for each byte of
/// a key the bits of the record. A record has the number of a bucket in its upper 32 bits, and an
/// item in the lower ones; a pair fits if neither its numbers' diagonals nor its items have a bit
/// in common.
pub type KeyViews = [Box<[[u64; 256]; 8]>; 2];

/// The keys of some upper and of some lower half-boards of one split.
pub type SampledKeys = [Vec<u64>; 2];

/// Views for `splits` of a board of size `n` (4 to 29), with a code that suits the `samples`.
///
/// The buckets of the build list, that of the upper halves if `build` is 0 and of the lower ones if
/// it is 1, are in the order of the high part and then of the low one. Those of the other list,
/// which is looked up, are in the order of the low part and then of the high one. `pairs` is the
/// number of pairs of each sample that the code is chosen by.
///
/// # Panics
///
/// Panics if the code is so short that an item would need more than 32 bits.
#[must_use]
pub fn key_views(
    n: u32,
    splits: &[Split],
    bits: CodeBits,
    build: usize,
    samples: &[SampledKeys],
    pairs: u64,
) -> KeyViews {
    // No half-board of these splits has a queen on another diagonal that crosses from half to half.
    let mut order: Vec<u32> = Vec::new();
    for split in splits {
        for bit in diagonals(n, split.centre, split.columns) {
            if !order.contains(&bit) {
                order.push(bit);
            }
        }
    }
    let mut conflicts = Conflicts::default();
    for [upper, lower] in samples {
        conflicts.add_sample(n, pairs, upper, lower);
    }
    conflicts.order(&mut order, bits.sum() as usize);
    assert!(order.len() as u32 <= bits.sum() + CODE, "an item has 32 bits at most");
    [0, 1].map(|half| {
        let (low_at, high_at) = if half == build { (0, bits.low) } else { (bits.high, 0) };
        let from = order.iter().map(|&bit| if half == 0 { bit } else { in_other_half(n, bit) });
        let moves = from.zip(bits.places(low_at, high_at));
        by_bytes(&View::new(moves))
    })
}

#[cfg(test)]
mod tests {
    use board::full_mask;

    use super::*;

    /// The record of a key.
    fn read(tables: &[[u64; 256]; 8], key: u64) -> u64 {
        tables.iter().zip(key.to_le_bytes()).map(|(table, byte)| table[usize::from(byte)]).sum()
    }

    #[test]
    fn equal_diagonals_of_both_halves_become_equal_bits() {
        for (n, centre, low, high) in [(18, 0, 2, 6), (21, 1 << 3, 2, 8), (28, 0, 8, 12)] {
            let columns = full_mask(n) & 0x0f0f_33aa & !centre;
            let columns = (0..n).filter(|bit| columns >> bit & 1 == 1).take(n as usize / 2);
            let split = Split {
                centre,
                columns: columns.fold(0, |columns, bit| columns | 1 << bit),
                ..Split::default()
            };
            for build in [0, 1] {
                let bits = CodeBits { low, high };
                let views = key_views(n, &[split], bits, build, &[], 0);
                let (low_part, high_part) = ((1 << low) - 1, (1 << high) - 1);
                let mut seen = 0;
                for bit in diagonals(n, centre, split.columns) {
                    let records = [bit, in_other_half(n, bit)].map(|bit| 1_u64 << bit);
                    let [upper, lower] = [0, 1].map(|half| read(&views[half], records[half]));
                    let (first, second) = if build == 0 { (upper, lower) } else { (lower, upper) };
                    let numbers = (first >> CODE, second >> CODE);
                    assert_eq!(first as u32, second as u32, "N = {n}");
                    assert_eq!(numbers.0 & low_part, numbers.1 >> high, "N = {n}");
                    assert_eq!(numbers.0 >> low, numbers.1 & high_part, "N = {n}");
                    assert_eq!(first.count_ones(), 1, "N = {n}");
                    assert_eq!(seen & first, 0, "N = {n}");
                    seen |= first;
                }
            }
        }
    }
}
