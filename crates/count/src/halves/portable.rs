//! The method in plain Rust, for every processor.

use super::geometry::{View, runs};
use super::unit::{Fits, Meeting, Quarter, Unit};

/// The number of bits of an item that one table covers.
const TABLE_BITS: u32 = 7;

/// Plain Rust. Items have seven bits for each table.
#[derive(Clone, Copy)]
pub(crate) struct Portable<const TABLES: usize>;

impl<const TABLES: usize> Unit for Portable<TABLES> {
    type Block = u32;

    const LANES: usize = 1;

    const ITEM_BITS: u32 = {
        let bits = TABLES as u32 * TABLE_BITS;
        if bits < 32 { bits } else { 32 }
    };

    const CHOSEN: usize = 1;

    fn pair(self, upper: Quarter<'_>, lower: Quarter<'_>, keys: &mut [u64]) -> usize {
        let mut len = 0;
        for i in 0..upper.len {
            let (meet, far) = (upper.meet[i], upper.far[i]);
            let lower = lower.meet[..lower.len].iter().zip(&lower.far[..lower.len]);
            for (lower_meet, lower_far) in lower {
                // The key is always written, and the end moves only if it is a half-board: no branch.
                keys[len] = far | lower_far;
                len += usize::from(meet & lower_meet == 0);
            }
        }
        len
    }

    fn extract(self, keys: &[u64], view: View, codes: &mut [u32], items: &mut [u32]) {
        let (cut, rest) = (runs(view.cut), runs(view.rest));
        for (i, key) in keys.iter().enumerate() {
            let key = key.rotate_left(view.rotate);
            let gather = |runs: &[(u64, u32)]| {
                runs.iter().fold(0, |bits, (mask, shift)| bits | (key & mask) >> shift) as u32
            };
            codes[i] = gather(&cut);
            items[i] = gather(&rest);
        }
    }

    fn pack(self, items: &[u32], blocks: &mut Vec<u32>) {
        blocks.extend_from_slice(items);
    }

    /// Joins 64 lower halves at a time; a word has a bit for each of them.
    fn join(self, upper: Meeting<'_, u32>, lower: [&[u32]; 2]) -> Fits {
        let Meeting { whole, chosen, ties, open } = upper;
        let mut fits = [[0; 2]; 2];
        for (kind, lower) in lower.into_iter().enumerate() {
            for lower in lower.chunks(64) {
                let tables = tables::<TABLES>(lower);
                let whole = chosen.iter().map(|block| look_up(&tables, whole[*block as usize]));
                fits[0][kind] += whole.sum::<u64>();
                // A block has one lane, which is open or not.
                let open = open.iter().filter(|(_, lanes)| *lanes != 0);
                let ties = open.map(|(block, _)| look_up(&tables, ties[*block as usize]));
                fits[1][kind] += ties.sum::<u64>();
            }
        }
        fits
    }
}

/// For each value of seven bits, the set of those of at most 64 items that have none of its bits.
type Table = [u64; 1 << TABLE_BITS];

/// The number of lower halves that fit an upper half with this item.
fn look_up(tables: &[Table], item: u32) -> u64 {
    let fit = tables.iter().enumerate().fold(u64::MAX, |fit, (i, table)| {
        let bits = item >> (i as u32 * TABLE_BITS);
        fit & table[bits as usize % (1 << TABLE_BITS)]
    });
    u64::from(fit.count_ones())
}

fn tables<const TABLES: usize>(lower: &[u32]) -> [Table; TABLES] {
    let mut tables = [[0; 1 << TABLE_BITS]; TABLES];
    for (i, table) in tables.iter_mut().enumerate() {
        table[0] = u64::MAX >> (64 - lower.len());
        for bit in 0..TABLE_BITS {
            let mask = 1 << (i as u32 * TABLE_BITS + bit);
            let without = |item: &u32| u64::from(*item) & mask == 0;
            let without =
                lower.iter().rev().fold(0, |set, item| set << 1 | u64::from(without(item)));
            let (lesser, rest) = table.split_at_mut(1 << bit);
            for (with, lesser) in rest.iter_mut().zip(lesser.iter()) {
                *with = lesser & without;
            }
        }
    }
    tables
}
