//! The search of the vector backends: level buffers, and lanes that are never idle.
//!
//! The recursive search is limited by mispredicted branches, because nothing predicts whether a row
//! has one more free square. Here each row has a buffer of states, and a vector unit places one
//! queen in every lane at a time. A lane holds a state and the free squares of its next row that
//! have not been tried yet. When they are used up, the lane takes the next state of the buffer.
//!
//! ```text
//!   row r     [ s s s s s s s s s s s 0 0 0 0 ]        a block, and empty states after its end
//!                         | | |
//!                         v v v                        refill: spent lanes take the next states
//!   lanes       s s s s s s s s                        (expand), in order
//!               | | | | | | | |                        place a queen on each lane's lowest square
//!               c x c c x x c c                        x: a row or column can't be filled
//!               \   | |     | |
//!   row r+1   [ c c c c c . . . ]                      the others are appended (compress)
//!      ...
//!   4 left    [ s s s s s 0 0 0 0 ]                    as above, but each child is counted by the
//!                                                      closed form for three rows, never stored
//! ```
//!
//! A step has no branch but that of its loop. It takes as long as the latency from one refill to
//! the next (count the spent lanes, advance, load, spread). So each unit runs several vectors of
//! lanes over the same block, so that their refills overlap. Three vectors are almost twice as fast
//! as one.
//!
//! The search goes depth first over blocks of at most [`BLOCK`] states, so that the buffers in use
//! stay in the caches nearest to the core. A block is taken from a buffer's end. The buffer is
//! divided into equally long blocks, because a short block has idle lanes in its last steps. A
//! buffer has room for the most children that a block can have. All buffers take 1 MB at N = 16,
//! and at most 13 MB (N = 32). Pages that are never used take no memory.
//!
//! If rows are neighbours and no square is closed ([`Below::plain`]), shifts are constants.
//! Otherwise, each row has its own shift and mask, and the closed form for the last three rows is
//! longer.
//!
//! Three invariants hold. A stored state has a free square in its next row. It has as many open
//! columns as rows left, and therefore at most as many children. A buffer is empty before the
//! search returns to the row above.

mod search;

use board::Prefix;

pub(crate) use self::search::search;
use crate::engine::Engine;
use crate::portable::Portable;
use crate::remaining::{OpenRow, Remaining};
use crate::stop::Stop;

/// The most states that are expanded before the search goes deeper.
pub(crate) const BLOCK: usize = 2048;

/// The fewest rows left that are searched with buffers.
const FEWEST_ROWS: usize = 4;

// A state with four rows left has at most 4! completions, so units may add up those of a block in a
// u16.
const _: () = assert!(BLOCK * 4 * 3 * 2 <= u16::MAX as usize);

/// A vector unit, which has the steps of the search.
///
/// Blocks are the states of `parents` from `start` on. [`LANES`](VectorUnit::LANES) states without
/// a column follow them. Lanes that are refilled from there stay empty.
pub(crate) trait VectorUnit: Send + Sync {
    /// The integer that holds a mask.
    type Lane: Copy + Default + TryFrom<u32> + Send + Sync;

    /// The number of lanes of one vector.
    const LANES: usize;

    /// Fills `next` with the children of a block. Children that look-ahead shows to have no
    /// completion are left out.
    fn expand(
        &self,
        parents: &States<Self::Lane>,
        start: usize,
        below: Below<'_>,
        next: &mut States<Self::Lane>,
    );

    /// The number of completions of a block with four rows left.
    fn finish(&self, parents: &States<Self::Lane>, start: usize, below: Below<'_>) -> u64;
}

/// The row that a block fills, and the rows below it.
#[derive(Clone, Copy)]
pub(crate) struct Below<'a> {
    /// The rows. There are at least four.
    pub(crate) rows: &'a [OpenRow],
    /// Whether each of them is [`OpenRow::PLAIN`].
    pub(crate) plain: bool,
}

/// States as a structure of arrays. The first `len` are in use. After them there is room for one
/// more vector, which stores may overwrite.
pub(crate) struct States<Lane> {
    /// The columns without a queen.
    pub(crate) open: Box<[Lane]>,
    pub(crate) left: Box<[Lane]>,
    pub(crate) right: Box<[Lane]>,
    pub(crate) len: usize,
}

impl<Lane: Copy + Default> States<Lane> {
    fn new(capacity: usize, lanes: usize) -> States<Lane> {
        // The pages of a Vec of zeros take no memory until they are used. Few of them are ever
        // used.
        let plane = || vec![Lane::default(); capacity + lanes].into_boxed_slice();
        States { open: plane(), left: plane(), right: plane(), len: 0 }
    }
}

pub(crate) struct Levels<U: VectorUnit> {
    unit: U,
    /// The buffers, from the one with the most rows left to the one with four.
    levels: Vec<States<U::Lane>>,
    /// The search for fewer rows.
    few_rows: Portable,
}

impl<U: VectorUnit> Levels<U> {
    /// A loop for searches of at most `most_rows` rows.
    pub(crate) fn new(unit: U, most_rows: usize) -> Levels<U> {
        let levels = (FEWEST_ROWS..=most_rows)
            .rev()
            .map(|left| States::new(BLOCK * (left + 1), U::LANES))
            .collect();
        Levels { unit, levels, few_rows: Portable::new(FEWEST_ROWS - 1) }
    }
}

impl<U: VectorUnit> Engine for Levels<U> {
    fn completions(&mut self, remaining: Remaining<'_>, states: &[Prefix], stop: &Stop) -> u64 {
        let Levels { unit, levels, few_rows } = self;
        let rows_left = remaining.rows.len();
        if rows_left < FEWEST_ROWS {
            return few_rows.completions(remaining, states, stop);
        }
        let unused = levels.len() - (rows_left + 1 - FEWEST_ROWS);
        let levels = &mut levels[unused..];
        let Remaining { columns, rows } = remaining;
        let all_from_zero = columns & columns.wrapping_add(1) == 0;
        let plain = all_from_zero && rows.iter().all(|row| *row == OpenRow::PLAIN);
        let below = Below { rows, plain };
        states
            .chunks(BLOCK)
            .map(|states| {
                load(remaining, states, &mut levels[0]);
                drain(unit, below, levels, stop)
            })
            .sum()
    }
}

/// Fills an empty buffer with the states that have a free square. There are at most [`BLOCK`].
fn load<Lane: Copy + TryFrom<u32>>(
    remaining: Remaining<'_>,
    states: &[Prefix],
    buffer: &mut States<Lane>,
) {
    let lane = |mask| Lane::try_from(mask).ok().expect("a lane is as wide as the board");
    for &Prefix { left, down, right } in states {
        let open = remaining.columns & !down;
        let free = open & !(left | right | remaining.rows[0].closed);
        buffer.open[buffer.len] = lane(open);
        buffer.left[buffer.len] = lane(left);
        buffer.right[buffer.len] = lane(right);
        buffer.len += usize::from(free != 0);
    }
}

/// Counts the completions of the first of `levels`, and leaves all of them empty.
fn drain<U: VectorUnit>(
    unit: &U,
    below: Below<'_>,
    levels: &mut [States<U::Lane>],
    stop: &Stop,
) -> u64 {
    let (parents, lower) = levels.split_first_mut().expect("there is a level of four rows left");
    let mut found = 0;
    while parents.len > 0 {
        let blocks = parents.len.div_ceil(BLOCK);
        let start = parents.len - parents.len / blocks;
        parents.open[parents.len..][..U::LANES].fill(U::Lane::default());
        found += match lower.first_mut() {
            None => unit.finish(parents, start, below),
            Some(next) => {
                unit.expand(parents, start, below, next);
                drain(unit, Below { rows: &below.rows[1..], ..below }, lower, stop)
            }
        };
        parents.len = if stop.is_asked() { 0 } else { start };
    }
    found
}
