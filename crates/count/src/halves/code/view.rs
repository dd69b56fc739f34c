//! Turns keys into records. A record has a code, which numbers the bucket, and an item, in which
//! halves are compared.

use std::cell::OnceCell;

/// The first bit of a record's code; the bits below are the item.
pub(crate) const CODE: u32 = u32::BITS;

/// The rule that says which bits of the keys of one half go where in its records. Equal diagonals
/// of both halves become equal bits of their items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    /// The bit of the key for each bit of a record that is used.
    pub(crate) from: [u8; 64],
    /// The bits of a record that are used. The others are 0.
    pub(crate) used: u64,
}

impl View {
    /// The view that takes these bits of a key, each with its place in the record.
    pub(crate) fn new(moves: impl Iterator<Item = (u32, u32)>) -> View {
        let mut view = View { from: [0; 64], used: 0 };
        for (bit, place) in moves {
            view.from[place as usize] = bit as u8;
            view.used |= 1 << place;
        }
        view
    }

    /// The record of a key, bit by bit.
    pub(crate) fn read(&self, key: u64) -> u64 {
        let bit = |place: usize| (key >> self.from[place] & 1) << place;
        (0..64).map(bit).sum::<u64>() & self.used
    }
}

pub(crate) fn item(record: u64) -> u32 {
    record as u32
}

pub(crate) fn bucket(record: u64) -> u32 {
    (record >> CODE) as u32
}

/// A view for many keys, with the tables by which most units read them. The tables are made when
/// they are first used.
pub(crate) struct Reader {
    pub(crate) view: View,
    tables: OnceCell<Box<[[u64; 256]; 8]>>,
}

impl Reader {
    pub(crate) fn new(view: View) -> Reader {
        Reader { view, tables: OnceCell::new() }
    }

    /// Replaces each key by its record.
    pub(crate) fn read(&self, keys: &mut [u64]) {
        let tables = self.tables.get_or_init(|| by_bytes(&self.view));
        for key in keys {
            let bytes = tables.iter().zip(key.to_le_bytes());
            *key = bytes.fold(0, |record, (table, byte)| record | table[usize::from(byte)]);
        }
    }
}

/// A view as eight tables, which have the record of each byte of a key.
pub(crate) fn by_bytes(view: &View) -> Box<[[u64; 256]; 8]> {
    let mut to = [0_u64; 64];
    for (place, &bit) in view.from.iter().enumerate() {
        to[usize::from(bit)] |= 1 << place & view.used;
    }
    let mut tables = Box::new([[0; 256]; 8]);
    for (table, to) in tables.iter_mut().zip(to.as_chunks::<8>().0) {
        for (bit, to) in to.iter().enumerate() {
            let (lesser, rest) = table.split_at_mut(1 << bit);
            for (with, lesser) in rest.iter_mut().zip(lesser.iter()) {
                *with = lesser | to;
            }
        }
    }
    tables
}
