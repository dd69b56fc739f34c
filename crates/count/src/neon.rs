//! NEON: the search of [`levels`](crate::levels) in vectors of 16 bytes, four lanes of 32 bits.
//!
//! As in `avx2.rs`, tables replace the instructions of AVX-512 that compress and expand lanes. An instruction that
//! looks up bytes moves the chosen lanes together ([`PACK`]), or puts the first lanes in the place of the chosen ones
//! and leaves the others as they are ([`SPREAD`]).
//!
//! There is one form for all rows, neighbours or not: a shift by a vector takes as long as one by a constant. A child
//! is stored under the same conditions as with AVX-512.
//!
//! It has not been measured on an ARM processor: docs/METHODS-NOTES.md compares numbers of instructions.

use std::arch::aarch64::*;
use std::arch::is_aarch64_feature_detected;

use crate::ground::Row;
use crate::levels::{Below, States, Unit};

/// The lanes of a vector.
pub(crate) const LANES: usize = 4;

/// The number of vectors of lanes that are processed in turn, to hide the latency of their refills.
const STREAMS: usize = 4;

/// The right to execute these instructions.
pub(crate) struct Neon(());

impl Neon {
    /// `None` if the processor lacks the instructions, which those with an operating system do not.
    pub(crate) fn new() -> Option<Neon> {
        is_aarch64_feature_detected!("neon").then_some(Neon(()))
    }
}

impl Unit for Neon {
    type Lane = u32;

    const LANES: usize = LANES;

    fn expand(
        &self,
        parents: &States<u32>,
        start: usize,
        below: Below<'_>,
        next: &mut States<u32>,
    ) {
        let rows = below.rows;
        // SAFETY: there is a `self`, so that `new` found the instructions that `expand` enables.
        unsafe {
            match rows.len() {
                5 => expand::<4>(parents, start, rows, next),
                6 => expand::<5>(parents, start, rows, next),
                _ => expand::<3>(parents, start, rows, next),
            }
        }
    }

    fn finish(&self, parents: &States<u32>, start: usize, below: Below<'_>) -> u64 {
        // SAFETY: there is a `self`, so that `new` found the instructions that `finish` enables.
        unsafe { finish(parents, start, below.rows) }
    }
}

/// Stores the children that leave a free square in each of the next `LOOK` rows. If `LOOK` is more than
/// three, it is all rows that are left, and each column must have a free square too.
#[target_feature(enable = "neon")]
fn expand<const LOOK: usize>(
    parents: &States<u32>,
    start: usize,
    rows: &[Row],
    next: &mut States<u32>,
) {
    let rows = Rows::new(&rows[..=LOOK]);
    let mut streams = [Stream::empty(); STREAMS];
    let (mut at, mut len) = (start, 0);
    while refill(&mut streams, &rows, parents, &mut at) {
        for stream in &mut streams {
            let child = stream.child(&rows);
            let mut fewest = child.free(&rows, 1);
            let mut columns = fewest;
            for row in 2..=LOOK {
                let free = child.free(&rows, row);
                fewest = vminq_u32(fewest, free);
                columns = vorrq_u32(columns, free);
            }
            let mut lives = vtstq_u32(fewest, fewest);
            if LOOK > 3 {
                lives = vandq_u32(lives, vceqq_u32(columns, child.open));
            }
            let lanes = Chosen::of(lives);
            store(&mut next.open, len, packed(child.open, lanes));
            store(&mut next.left, len, packed(child.left, lanes));
            store(&mut next.right, len, packed(child.right, lanes));
            len += lanes.len;
        }
    }
    next.len = len;
}

/// Places one queen of the last four for every parent, and counts the ways to place the others.
#[target_feature(enable = "neon")]
fn finish(parents: &States<u32>, start: usize, rows: &[Row]) -> u64 {
    let rows = Rows::new(rows);
    let mut streams = [Stream::empty(); STREAMS];
    let mut at = start;
    // The sum of a block fits even 16 bits, as `levels` asserts.
    let mut found = vdupq_n_u32(0);
    while refill(&mut streams, &rows, parents, &mut at) {
        for stream in &mut streams {
            found = vaddq_u32(found, last_three(stream.child(&rows), &rows));
        }
    }
    u64::from(vaddvq_u32(found))
}

/// The most rows that are looked at together: the parents' row and five below it.
const MOST_ROWS: usize = 6;

/// The rows from the parents' row on, in every lane.
struct Rows {
    /// The columns that are closed in each row.
    closed: [uint32x4_t; MOST_ROWS],
    /// How far each row is below the children's row; for the first, how far the children's row is below it.
    apart: [int32x4_t; MOST_ROWS],
}

impl Rows {
    #[inline]
    #[target_feature(enable = "neon")]
    fn new(rows: &[Row]) -> Rows {
        let mut closed = [vdupq_n_u32(0); MOST_ROWS];
        let mut apart = [vdupq_n_s32(0); MOST_ROWS];
        apart[0] = vdupq_n_s32(rows[1].step as i32);
        let mut sum = 0;
        for (i, row) in rows.iter().enumerate() {
            closed[i] = vdupq_n_u32(row.closed);
            if i > 1 {
                sum += row.step;
                apart[i] = vdupq_n_s32(sum as i32);
            }
        }
        Rows { closed, apart }
    }
}

/// A state in every lane.
#[derive(Clone, Copy)]
struct Vectors {
    open: uint32x4_t,
    left: uint32x4_t,
    right: uint32x4_t,
}

impl Vectors {
    /// The free squares of a row; row 0 is the parents' and row 1 the children's.
    #[inline]
    #[target_feature(enable = "neon")]
    fn free(self, rows: &Rows, row: usize) -> uint32x4_t {
        let (left, right) = match row {
            0 | 1 => (self.left, self.right),
            _ => (up(self.left, rows.apart[row]), down(self.right, rows.apart[row])),
        };
        without(self.open, vorrq_u32(vorrq_u32(left, right), rows.closed[row]))
    }
}

/// States, each with the free squares of its next row on which no queen was placed yet.
#[derive(Clone, Copy)]
struct Stream {
    states: Vectors,
    untried: uint32x4_t,
}

/// Gives the spent lanes of all streams the states from `at` on, and moves `at` to the next state. Returns whether a
/// lane has a free square or a state is left.
#[inline]
#[target_feature(enable = "neon")]
fn refill(
    streams: &mut [Stream; STREAMS],
    rows: &Rows,
    parents: &States<u32>,
    at: &mut usize,
) -> bool {
    let mut untried = vdupq_n_u32(0);
    for stream in streams {
        *at = stream.refill(rows, parents, *at);
        untried = vorrq_u32(untried, stream.untried);
    }
    *at < parents.len || vmaxvq_u32(untried) > 0
}

impl Stream {
    #[inline]
    #[target_feature(enable = "neon")]
    fn empty() -> Stream {
        let zero = vdupq_n_u32(0);
        Stream { states: Vectors { open: zero, left: zero, right: zero }, untried: zero }
    }

    /// Gives the spent lanes the states from `at` on, and returns the place of the next state.
    #[inline]
    #[target_feature(enable = "neon")]
    fn refill(&mut self, rows: &Rows, parents: &States<u32>, at: usize) -> usize {
        let fresh = Vectors {
            open: load(&parents.open, at),
            left: load(&parents.left, at),
            right: load(&parents.right, at),
        };
        let spent = Chosen::of(vceqzq_u32(self.untried));
        let Stream { states, untried } = self;
        states.open = replaced(states.open, fresh.open, spent);
        states.left = replaced(states.left, fresh.left, spent);
        states.right = replaced(states.right, fresh.right, spent);
        *untried = replaced(*untried, fresh.free(rows, 0), spent);
        parents.len.min(at + spent.len)
    }

    /// Places a queen on the lowest untried square of each lane.
    #[inline]
    #[target_feature(enable = "neon")]
    fn child(&mut self, rows: &Rows) -> Vectors {
        let Stream { states, untried } = *self;
        self.untried = vandq_u32(untried, vsubq_u32(untried, vdupq_n_u32(1)));
        let queen = veorq_u32(untried, self.untried);
        Vectors {
            open: without(states.open, queen),
            left: up(vorrq_u32(states.left, queen), rows.apart[0]),
            right: down(vorrq_u32(states.right, queen), rows.apart[0]),
        }
    }
}

/// The number of ways, at most 3! in each lane, to place the last three queens in the three columns
/// that are open; an empty lane has none.
///
/// It tries, for each column of the middle row's queen, both ways to place the other two. The diagonals of the
/// middle row's queen are excluded for the others, column by column.
#[inline]
#[target_feature(enable = "neon")]
fn last_three(states: Vectors, rows: &Rows) -> uint32x4_t {
    let Vectors { open, .. } = states;
    let (a, b, c) = (states.free(rows, 1), states.free(rows, 2), states.free(rows, 3));

    let below_low = vsubq_u32(open, vdupq_n_u32(1));
    let low = without(open, below_low);
    let upper = vandq_u32(open, below_low);
    let high = vandq_u32(upper, vsubq_u32(upper, vdupq_n_u32(1)));
    let middle = veorq_u32(upper, high);

    let (a_to_b, a_to_c) = (rows.apart[2], rows.apart[3]);
    let b_to_c = vsubq_s32(a_to_c, a_to_b);
    let off = |row, queen, by| without(row, vorrq_u32(up(queen, by), down(queen, by)));
    // In an empty lane no column is open, and the formula would count queens on no square.
    let open = vorrq_u32(open, vceqzq_u32(open));
    let mut ways = vdupq_n_u32(0);
    for [column, lower, upper] in [[low, middle, high], [middle, low, high], [high, low, middle]] {
        let (a, c) = (off(a, column, a_to_b), off(c, column, b_to_c));
        let b = without(vandq_u32(b, column), vceqq_u32(up(lower, a_to_c), upper));
        let all = |a_column, c_column| {
            let (a, c) = (vandq_u32(a, a_column), vandq_u32(c, c_column));
            vceqq_u32(vorrq_u32(vorrq_u32(a, b), c), open)
        };
        // Each comparison gives -1 in the lanes where it is true.
        ways = vsubq_u32(ways, vaddq_u32(all(lower, upper), all(upper, lower)));
    }
    ways
}

/// A set of lanes.
#[derive(Clone, Copy)]
pub(crate) struct Chosen {
    /// The set as bits, the first lane as the lowest.
    pub(crate) set: usize,
    /// The number of lanes.
    pub(crate) len: usize,
}

impl Chosen {
    /// The lanes whose bits are all set; the others have none. One sum tells which they are, in its lower four bits,
    /// and how many, in the bits above.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(crate) fn of(lanes: uint32x4_t) -> Chosen {
        let sum = vaddvq_u32(vandq_u32(lanes, load(&[0x11, 0x12, 0x14, 0x18], 0))) as usize;
        Chosen { set: sum & 0xf, len: sum >> 4 }
    }
}

/// For each set of lanes, the byte that goes to each place so that the lanes of the set come first, in order.
static PACK: [[u8; 16]; 1 << LANES] = {
    let mut table = [[0; 16]; 1 << LANES];
    let mut set = 0;
    while set < table.len() {
        let (mut byte, mut packed) = (0, 0);
        while byte < 16 {
            if set >> (byte / LANES) & 1 == 1 {
                table[set][packed] = byte as u8;
                packed += 1;
            }
            byte += 1;
        }
        set += 1;
    }
    table
};

/// For each set of lanes, the byte that goes to each place so that the first lanes come to the places of the set, in
/// order. The others have a number that no byte has.
static SPREAD: [[u8; 16]; 1 << LANES] = {
    let mut table = [[u8::MAX; 16]; 1 << LANES];
    let mut set = 0;
    while set < table.len() {
        let (mut byte, mut spread) = (0, 0);
        while byte < 16 {
            if set >> (byte / LANES) & 1 == 1 {
                table[set][byte] = spread;
                spread += 1;
            }
            byte += 1;
        }
        set += 1;
    }
    table
};

/// Moves the chosen lanes to the front.
#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn packed(a: uint32x4_t, lanes: Chosen) -> uint32x4_t {
    vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(a), order(&PACK, lanes)))
}

/// Replaces the chosen lanes of `old` by the first ones of `new`.
#[inline]
#[target_feature(enable = "neon")]
fn replaced(old: uint32x4_t, new: uint32x4_t, lanes: Chosen) -> uint32x4_t {
    let (old, new) = (vreinterpretq_u8_u32(old), vreinterpretq_u8_u32(new));
    vreinterpretq_u32_u8(vqtbx1q_u8(old, new, order(&SPREAD, lanes)))
}

#[inline]
#[target_feature(enable = "neon")]
fn order(table: &[[u8; 16]; 1 << LANES], lanes: Chosen) -> uint8x16_t {
    // SAFETY: the array is as long as a vector.
    unsafe { vld1q_u8(table[lanes.set].as_ptr()) }
}

/// The bits of `a` that `b` lacks.
#[inline]
#[target_feature(enable = "neon")]
fn without(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t {
    vbicq_u32(a, b)
}

/// Shifts each lane of `a` up by the number of bits in the lane of `by`.
#[inline]
#[target_feature(enable = "neon")]
fn up(a: uint32x4_t, by: int32x4_t) -> uint32x4_t {
    vshlq_u32(a, by)
}

/// Shifts each lane of `a` down by the number of bits in the lane of `by`.
#[inline]
#[target_feature(enable = "neon")]
fn down(a: uint32x4_t, by: int32x4_t) -> uint32x4_t {
    vshlq_u32(a, vnegq_s32(by))
}

#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn load(from: &[u32], at: usize) -> uint32x4_t {
    let from = &from[at..at + LANES];
    // SAFETY: the slice is as long as a vector.
    unsafe { vld1q_u32(from.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn store(to: &mut [u32], at: usize, a: uint32x4_t) {
    let to = &mut to[at..at + LANES];
    // SAFETY: the slice is as long as a vector.
    unsafe { vst1q_u32(to.as_mut_ptr(), a) }
}
