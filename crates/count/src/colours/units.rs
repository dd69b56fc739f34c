//! The searches of one colour, for each instruction set.

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
pub(super) mod avx512;
#[cfg(target_arch = "aarch64")]
#[allow(unsafe_code)]
pub(super) mod neon;
pub(super) mod portable;

use board::colours::{even_lines, odd_lines, reversed};
use board::full_mask;

use super::colour::Colour;

/// The roots of a search: one for each set of odd columns of a batch.
pub(super) struct Roots<'a> {
    /// The size of the board.
    pub(super) n: u32,
    /// The odd columns of black queens, as [`board::colours::sets`] has them. White queens take the
    /// others.
    pub(super) sets: &'a [u32],
    /// Whether the queens are white.
    pub(super) is_white: bool,
    /// The first and the last place in a row of cells that can have a share.
    pub(super) places: [u16; 2],
}

impl Roots<'_> {
    /// Every root: the number that its placements begin with, and its odd columns.
    pub(super) fn nodes(&self, colour: &Colour) -> impl Iterator<Item = (u16, u16)> {
        let odd = odd_lines(self.n);
        let (flip, begin) = match self.is_white {
            true => (full_mask(odd), self.last_place()),
            false => (0, 0),
        };
        let begin = begin ^ colour.number();
        let row = u32::from(self.last_place()) + 1;
        self.sets.iter().zip(0_u32..).map(move |(&set, place)| {
            ((place * row) as u16 | begin, reversed(set ^ flip, odd) as u16)
        })
    }

    /// All even columns.
    pub(super) fn even(&self) -> u16 {
        full_mask(even_lines(self.n)) as u16
    }

    /// The last place in a row of cells: that of all even columns.
    pub(super) fn last_place(&self) -> u16 {
        self.even() >> 1
    }
}

/// A search for all placements of the queens of one colour.
pub(super) trait ColourSearch: Send + Sync {
    /// Calls `found` with the numbers of all placements below the roots, some at a time. Placements
    /// that have no share may be left out.
    fn search(&mut self, colour: &Colour, roots: &Roots<'_>, found: &mut dyn FnMut(&[u16]));
}

/// The order that moves the lanes of a set of eight to the front, as numbers of bytes.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
static ORDERS: [[u8; 16]; 256] = {
    let mut table = [[0x80; 16]; 256];
    let mut set = 0;
    while set < table.len() {
        let (mut lane, mut front) = (0, 0);
        while lane < 8 {
            if set >> lane & 1 == 1 {
                table[set][front] = 2 * lane as u8;
                table[set][front + 1] = 2 * lane as u8 + 1;
                front += 2;
            }
            lane += 1;
        }
        set += 1;
    }
    table
};
