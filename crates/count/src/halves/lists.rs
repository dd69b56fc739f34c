//! Lists the half-boards whose queens take a given set of columns.
//!
//! The set is divided between an upper and a lower quarter in every way; each pair of quarters
//! whose diagonals do not meet is a half-board. About one in twelve pairs is.
//!
//! Measured with AVX2 at N = 18, listing takes about 45% of a task's time, most of it to pair the
//! quarters, sorting 15% and the join 40%; at N = 20 the join takes 60%.

use std::ops::Range;

use board::full_mask;

use super::TooMany;
use super::buckets::{Buckets, Unsorted};
use super::geometry::View;
use super::quarters::{Area, Columns, Numbering, PADDING, Place, Quarters};
use super::unit::Unit;

/// The half-boards that are listed before they go to the buckets.
const CHUNK: usize = 4096;

/// Some quarter-boards with equal columns: their keys, and [`PADDING`] more.
#[derive(Clone, Copy)]
pub(crate) struct Quarter<'a> {
    /// The number of boards.
    pub(crate) len: usize,
    /// The diagonals as the row between the quarters sees them.
    pub(crate) meet: &'a [u64],
    /// The diagonals as the row beyond the half-board sees them.
    pub(crate) far: &'a [u64],
}

/// The largest board of which all quarters are kept.
///
/// Beyond it those of a split are placed anew for each list, which takes a sixth of the time at
/// N = 22, and less above.
pub(crate) const ALL_QUARTERS: u32 = 21;

/// Lists half-boards of one board size.
pub(crate) struct Lists {
    n: u32,
    /// The centre row's square, a bit or 0: half-boards that attack it are left out.
    centre: u32,
    upper: Table,
    lower: Table,
    /// Which columns of a set, by rank, go to the upper quarter.
    choices: Vec<u32>,
    keys: Vec<u64>,
    unsorted: Unsorted,
}

/// The quarters at one place, by their columns.
struct Table {
    place: Place,
    numbering: Numbering,
    quarters: Quarters,
}

impl Lists {
    /// For lists of at most `room` half-boards that do not attack the square `centre` of the centre
    /// row, a bit or 0.
    pub(crate) fn new(n: u32, centre: u32, room: usize) -> Lists {
        let half = n / 2;
        let chosen = Place::Upper.rows(half);
        let mut lists = Lists {
            n,
            centre,
            upper: Table::new(n, Place::Upper),
            lower: Table::new(n, Place::Lower),
            choices: (0..1_u32 << half).filter(|choice| choice.count_ones() == chosen).collect(),
            keys: Vec::new(),
            unsorted: Unsorted::new(room),
        };
        lists.set_centre(centre);
        lists
    }

    /// Changes the centre row's square.
    pub(crate) fn set_centre(&mut self, centre: u32) {
        self.centre = centre;
        if self.n <= ALL_QUARTERS {
            self.refill(full_mask(self.n) & !centre);
        }
    }

    fn refill(&mut self, columns: u32) {
        let area = Area { n: self.n, columns, centre: self.centre };
        for table in [&mut self.upper, &mut self.lower] {
            table.quarters = Quarters::new(area, table.place, &table.numbering);
        }
    }

    /// Puts the half-boards whose queens take the columns `set` into `buckets`, and sorts them.
    ///
    /// # Errors
    ///
    /// [`TooMany`], if there is no room for them.
    pub(crate) fn list<U: Unit>(
        &mut self,
        unit: U,
        set: u32,
        view: View,
        buckets: &mut Buckets,
    ) -> Result<(), TooMany> {
        if self.n > ALL_QUARTERS {
            self.refill(set);
        }
        let Lists { upper, lower, choices, keys, unsorted, .. } = self;
        unsorted.clear();
        let columns = columns(set);
        let all_ranks = full_mask(set.count_ones());
        let mut len = 0;
        let mut quarters = choices.iter().map(|&choice| {
            let above = Columns { set: spread(choice, &columns), ranks: choice };
            let below = Columns { set: set ^ above.set, ranks: all_ranks ^ choice };
            let (above, below) = (upper.get(above), lower.get(below));
            // They are paired one round later: half of that time would be spent waiting for them.
            for quarter in [above, below] {
                unit.prefetch(&quarter.meet[..quarter.len]);
                unit.prefetch(&quarter.far[..quarter.len]);
            }
            (above, below)
        });
        let mut next = quarters.next();
        while let Some((above, below)) = next {
            next = quarters.next();
            let room = len + above.len * below.len + PADDING;
            if keys.len() < room {
                keys.resize(room, 0);
            }
            len += unit.pair(above, below, &mut keys[len..]);
            if len >= CHUNK {
                let keys = &keys[..std::mem::take(&mut len)];
                append(unsorted, unit, keys, view)?;
            }
        }
        append(unsorted, unit, &keys[..len], view)?;
        buckets.sort(unsorted);
        Ok(())
    }
}

/// Takes the half-boards with these keys, if there is room for them.
fn append<U: Unit>(
    unsorted: &mut Unsorted,
    unit: U,
    keys: &[u64],
    view: View,
) -> Result<(), TooMany> {
    if keys.len() > unsorted.room_left() {
        return Err(TooMany { limit: unsorted.len() + unsorted.room_left() });
    }
    unsorted.append(unit, keys, view);
    Ok(())
}

impl Table {
    /// Without a quarter.
    fn new(n: u32, place: Place) -> Table {
        let numbering = if n > ALL_QUARTERS {
            Numbering::Split(n / 2)
        } else {
            Numbering::board(n, place.rows(n / 2))
        };
        let nowhere = Area { n, columns: 0, centre: 0 };
        let quarters = Quarters::new(nowhere, place, &numbering);
        Table { place, numbering, quarters }
    }

    fn get(&self, columns: Columns) -> Quarter<'_> {
        let Range { start, end } = self.quarters.range(self.numbering.of(columns));
        let padded = start..end + PADDING;
        Quarter {
            len: end - start,
            meet: &self.quarters.meet[padded.clone()],
            far: &self.quarters.far[padded],
        }
    }
}

/// The bits of `set`, lowest first; the rest is 0.
fn columns(mut set: u32) -> [u32; 16] {
    std::array::from_fn(|_| {
        let bit = set & set.wrapping_neg();
        set ^= bit;
        bit
    })
}

/// The columns whose ranks are the bits of `choice`.
fn spread(mut choice: u32, columns: &[u32; 16]) -> u32 {
    let mut set = 0;
    while choice != 0 {
        set |= columns[choice.trailing_zeros() as usize % 16];
        choice &= choice - 1;
    }
    set
}
