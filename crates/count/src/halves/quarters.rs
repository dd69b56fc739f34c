//! Quarter-boards by their columns. Pairs of them make half-boards.
//!
//! ```text
//!   rows 0 .. H      upper quarter      H = M/2
//!   ------- where they meet: row H
//!   rows H .. M      lower quarter      M = N/2
//!   ------- far: row M
//! ```
//!
//! Two quarters make a half-board if they share no column and no diagonal. Quarters are listed by
//! their set of columns, so that only pairs with different columns are compared. Each quarter has
//! two keys for its diagonals (`left` in the lower 32 bits, `right` in the upper 32). The first has
//! the diagonals as row H sees them, where those of two quarters must not meet. The second has the
//! diagonals as row M sees them, where the half-board has those of both. If all splits have one
//! code, the second keys are replaced by their records, which differ for the upper and the lower
//! half. The record of a half-board has the bits of both quarters' records.
//!
//! Quarters with equal columns are in the order of their *numbers*. A number has a bit for each
//! row, the first row's highest, which is set if the row's queen stands in one of the columns that
//! [`Shares`](board::halves::Shares) look at. The upper quarter's number followed by the lower
//! quarter's is the half-board's number.

pub(crate) mod numbering;

use std::ops::Range;

use board::{Prefix, bits, full_mask};

use crate::halves::code::diagonals::key;
use crate::halves::code::view::Reader;
use crate::halves::quarters::numbering::{Columns, Numbering};
use crate::halves::shared::marks::marks;
use crate::halves::units::Unit;

/// The number of keys beyond a list's end that may be loaded as part of a vector.
pub(crate) const PADDING: usize = 8;

/// Some quarter-boards with equal columns: their keys, and [`PADDING`] more.
#[derive(Clone, Copy, Default)]
pub(crate) struct Quarter<'a> {
    pub(crate) len: usize,
    /// The diagonals as the row between the quarters sees them.
    pub(crate) meet: &'a [u64],
    /// The diagonals as the row beyond the half-board sees them.
    pub(crate) far: &'a [u64],
}

/// Quarters whose half-boards are listed.
#[derive(Clone, Copy, Default)]
pub(crate) struct Pair<'a> {
    pub(crate) upper: Quarter<'a>,
    pub(crate) lower: Quarter<'a>,
}

/// Quarter-boards in the order of their columns, and then of their numbers.
#[derive(Default)]
pub(crate) struct Quarters {
    /// The number of quarters before each set of columns.
    first: Vec<u32>,
    /// The number of quarters of each set that come before each number, and the number of quarters
    /// of the set at the end. There are more of these entries than quarters. They are 16-bit words,
    /// so that most of them stay in a cache.
    starts: Vec<u16>,
    /// The number of entries of a set in `starts`: one more than numbers.
    stride: usize,
    /// The diagonals of each set as row H sees them, and then as row M sees them.
    keys: Vec<u64>,
    /// The records for lower halves of the diagonals as row M sees them, once these are read. The
    /// records for upper halves then replace the keys.
    lower_records: Vec<u64>,
}

/// The half of the board that a list belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    Upper,
    Lower,
}

/// Quarter-boards with equal columns.
#[derive(Clone, Copy)]
pub(crate) struct ByNumber<'a> {
    /// The number of quarters before each number, and the number of all quarters at the end.
    starts: &'a [u16],
    /// The diagonals as row H sees them, and padding.
    meet: &'a [u64],
    /// The diagonals as row M sees them, or their records, and padding.
    far: &'a [u64],
}

/// The rows of a half-board that a quarter takes.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    Upper,
    Lower,
}

impl Place {
    /// The number of rows of the quarter, in a half-board of `half` rows.
    pub(crate) fn rows(self, half: u32) -> u32 {
        match self {
            Place::Upper => half / 2,
            Place::Lower => half - half / 2,
        }
    }
}

/// A quarter-board under construction.
#[derive(Clone, Copy)]
struct Placing {
    /// The ranks of its columns among the area's.
    ranks: u32,
    /// The number of the rows so far.
    number: u32,
    /// The state that the row below it sees.
    prefix: Prefix,
    /// The diagonals that its own first row sees from below, as a key.
    back: u64,
}

/// A quarter-board that has not been moved to its place yet.
pub(crate) struct Seen {
    /// The number of its columns, followed by its own number.
    at: u32,
    /// The diagonals as row H sees them, and as row M sees them.
    meet: u64,
    far: u64,
}

/// The part of a board on which quarters are placed.
#[derive(Clone, Copy)]
pub(crate) struct Area {
    pub(crate) n: u32,
    /// The columns that queens may take.
    pub(crate) columns: u32,
    /// The centre row's square of an odd board, or 0. Half-boards that attack it are left out.
    pub(crate) centre: u32,
    /// The columns that count for numbers.
    pub(crate) looked_at: u32,
    /// Whether keys have marks of the centre row's squares.
    pub(crate) marked: bool,
}

impl Quarters {
    /// Replaces these quarters by those in `area` at `place`, in the order of `numbering`. Memory is
    /// used again. Otherwise, the system would take it back and clear it again for each list.
    ///
    /// The quarters are counted before they are moved to their places. If `seen` is given, it has
    /// room for all of them and keeps them in between, so that they are placed only once.
    pub(crate) fn replace(
        &mut self,
        area: Area,
        place: Place,
        numbering: &Numbering,
        mut seen: Option<&mut Vec<Seen>>,
    ) {
        let rows = place.rows(area.n / 2);
        let at = |columns, number| numbering.of(columns) << rows | number as usize;
        let mut next = vec![0; (numbering.len() << rows) + 1];
        area.visit(place, |columns, number, meet, far| {
            let at = at(columns, number);
            next[at + 1] += 1;
            if let Some(seen) = &mut seen {
                seen.push(Seen { at: at as u32, meet, far });
            }
        });
        let mut len = 0;
        for next in &mut next {
            len += *next;
            *next = len;
        }
        let Quarters { first, starts, stride, keys, lower_records } = self;
        lower_records.clear();
        *stride = (1 << rows) + 1;
        first.clear();
        first.extend(next.iter().step_by(1 << rows));
        starts.clear();
        starts.reserve_exact(numbering.len() * *stride);
        for (columns, &first) in first[..numbering.len()].iter().enumerate() {
            let numbers = &next[columns << rows..=(columns + 1) << rows];
            // There are at most as many quarters as ways to place rooks in seven rows and columns:
            // 5040.
            starts.extend(numbers.iter().map(|start| (start - first) as u16));
        }
        let room = 2 * len as usize + PADDING;
        keys.reserve_exact(room.saturating_sub(keys.len()));
        keys.resize(room, 0);
        let mut put = |at: usize, meet, far| {
            // While quarters are placed, this is the place of the next one with these columns and
            // number.
            let next = &mut next[at];
            let columns = at >> rows;
            let (before, len) = (first[columns], first[columns + 1] - first[columns]);
            keys[(before + *next) as usize] = meet;
            keys[(before + *next + len) as usize] = far;
            *next += 1;
        };
        match seen {
            Some(seen) => {
                seen.drain(..).for_each(|Seen { at, meet, far }| put(at as usize, meet, far));
            }
            None => {
                area.visit(place, |columns, number, meet, far| put(at(columns, number), meet, far));
            }
        }
    }

    /// Replaces the diagonals as row M sees them by their records. This is done only once.
    pub(crate) fn read<U: Unit>(&mut self, unit: U, upper: &Reader, lower: &Reader) {
        assert!(self.lower_records.is_empty(), "the keys are read already");
        let len = self.first.last().map_or(0, |len| *len as usize);
        self.lower_records = vec![0; len + PADDING];
        for set in self.first.windows(2) {
            let (first, end) = (set[0] as usize, set[1] as usize);
            let far = &mut self.keys[first + end..2 * end];
            self.lower_records[first..end].copy_from_slice(far);
            unit.read(upper, far);
        }
        unit.read(lower, &mut self.lower_records[..len]);
    }

    /// Where the quarters with the `columns`-th set of columns start, and those after them.
    #[inline]
    pub(crate) fn starts(&self, columns: usize) -> (&[u32], &[u16]) {
        (&self.first[columns..], &self.starts[columns * self.stride..])
    }

    /// The quarters with the `columns`-th set of columns, for lists of a half.
    #[inline]
    pub(crate) fn of(&self, columns: usize, half: Half) -> ByNumber<'_> {
        let (first, end) = (self.first[columns] as usize, self.first[columns + 1] as usize);
        let starts = &self.starts[columns * self.stride..][..self.stride];
        let far = match half {
            Half::Lower if !self.lower_records.is_empty() => {
                &self.lower_records[first..end + PADDING]
            }
            _ => &self.keys[first + end..2 * end + PADDING],
        };
        ByNumber { starts, meet: &self.keys[2 * first..2 * end + PADDING], far }
    }
}

impl<'a> ByNumber<'a> {
    #[inline]
    pub(crate) fn whole(self) -> Quarter<'a> {
        Quarter { len: self.meet.len() - PADDING, meet: self.meet, far: self.far }
    }

    /// The quarters whose number is in `numbers`, at most 2^rows.
    #[inline]
    pub(crate) fn get(self, numbers: &Range<u32>) -> Quarter<'a> {
        let start = usize::from(self.starts[numbers.start as usize]);
        let end = usize::from(self.starts[numbers.end as usize]);
        let padded = start..end + PADDING;
        Quarter { len: end - start, meet: &self.meet[padded.clone()], far: &self.far[padded] }
    }
}

impl Area {
    /// Calls `found` with the columns, the number and the two keys of every quarter.
    fn visit(self, place: Place, mut found: impl FnMut(Columns, u32, u64, u64)) {
        let half = self.n / 2;
        let empty = Placing { ranks: 0, number: 0, prefix: Prefix::EMPTY, back: 0 };
        self.place(place.rows(half), 0, empty, &mut |placing| {
            let Placing { ranks, number, prefix, back } = placing;
            let (meet, rows_below) = match place {
                Place::Upper => (key(prefix.left, prefix.right), Place::Lower.rows(half)),
                Place::Lower => (back, 0),
            };
            let left = u64::from(prefix.left) << rows_below & u64::from(full_mask(self.n));
            let mut far = key(left as u32, prefix.right >> rows_below);
            if self.marked {
                far |= marks(self.n, far, number << rows_below);
            }
            if (far | far >> 32) as u32 & self.centre == 0 {
                found(Columns { set: prefix.down, ranks }, number, meet, far);
            }
        });
    }

    fn place(self, rows: u32, row: u32, placing: Placing, found: &mut impl FnMut(Placing)) {
        if row == rows {
            return found(placing);
        }
        for bit in bits(placing.prefix.free(self.n) & self.columns) {
            let right = u64::from(bit) << row & u64::from(full_mask(self.n));
            let rank = (self.columns & (bit - 1)).count_ones();
            let next = Placing {
                ranks: placing.ranks | 1 << rank,
                number: placing.number << 1 | u32::from(bit & self.looked_at != 0),
                prefix: placing.prefix.place(self.n, bit),
                back: placing.back | key(bit >> row, right as u32),
            };
            self.place(rows, row + 1, next, found);
        }
    }
}
