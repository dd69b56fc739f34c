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
