//! Superqueens, by the recursion with masks and a knight's moves.

use board::{Prefix, Square, full_mask};

/// The squares of a row that the superqueens above it attack.
#[derive(Clone, Copy)]
pub(super) struct Superqueens {
    n: u32,
    prefix: Prefix,
    /// The queens of the row above and of the row above that, each a bit or 0.
    last: u32,
    last_but_one: u32,
}

impl Superqueens {
    /// The state below these queens in the first rows.
    pub(super) fn new(n: u32, queens: &[Square]) -> Superqueens {
        let empty = Superqueens { n, prefix: Prefix::EMPTY, last: 0, last_but_one: 0 };
        queens.iter().fold(empty, |board, queen| board.place(1 << queen.column))
    }

    fn place(self, bit: u32) -> Superqueens {
        let prefix = self.prefix.place(self.n, bit);
        Superqueens { n: self.n, prefix, last: bit, last_but_one: self.last }
    }

    pub(super) fn count(self) -> u64 {
        let Superqueens { n, prefix, last, last_but_one } = self;
        if prefix.down == full_mask(n) {
            return 1;
        }
        let knights = last << 2 | last >> 2 | last_but_one << 1 | last_but_one >> 1;
        let mut free = prefix.free(n) & !knights;
        let mut found = 0;
        while free != 0 {
            let bit = free & free.wrapping_neg();
            free ^= bit;
            found += self.place(bit).count();
        }
        found
    }
}
