//! Lists the half-boards whose queens take a given set of columns.
//!
//! The set is divided between an upper and a lower quarter in every way. Each pair of quarters whose
//! diagonals do not meet is a half-board; about one in twelve pairs is.
//!
//! Only half-boards whose number is in a window of [`Shares`](board::halves::Shares) are listed: the pairs in
//! a few [`rectangles`](super::rectangles).
//!
//! If there is no room for the whole list, it is joined in parts.

use board::full_mask;
use board::halves::{Slice, Window};

use super::buckets::Unsorted;
use super::phases::{Phase, Phases};
use super::quarters::{Area, By, ByNumber, Columns, Numbering, Place, Quarters};
use super::rectangles::{Rectangle, Rectangles};
use super::unit::{PADDING, Unit};
use super::view::View;

/// The number of half-boards that are collected before they are passed on.
const CHUNK: usize = 4096;

/// The number of choices of columns whose quarters are looked up before they are paired.
const BATCH: usize = 16;

/// Which quarters are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// All quarters of a board, placed once.
    All,
    /// The quarters in the columns of one list, placed anew for each list. That is a third of the time at
    /// N = 22, and a tenth at N = 24.
    OfList,
}

impl Kept {
    /// The number of sets of columns whose quarters are kept. Those of both halves are needed twice, for a
    /// sample and for the list, and from N = 28 on for several tasks. At N = 26 and 27 placing them again takes a
    /// twentieth of the time, and keeping them would take a tenth of the memory.
    pub(crate) fn sets(self, n: u32) -> usize {
        match self {
            Kept::All => 1,
            Kept::OfList => 1 + usize::from(n <= 25 || n >= 28),
        }
    }
}

/// Lists half-boards of one board size.
pub(crate) struct Lists {
    n: u32,
    kept: Kept,
    /// The centre row's square, a bit or 0. Half-boards that attack it are left out. With 0, half-boards of
    /// an odd board have marks instead.
    centre: u32,
    /// The columns that decide about numbers.
    looked_at: u32,
    /// The quarters of some columns, and which of these are replaced next.
    placed: Vec<Placed>,
    next: usize,
    /// The choices of columns for the upper quarter, by their ranks in the set.
    choices: Vec<u32>,
    /// Those of the slice that was listed last.
    sliced: (Slice, Vec<u32>),
    pending: Pending,
}

/// The quarters of a half-board whose queens take some columns.
struct Placed {
    columns: u32,
    upper: Table,
    lower: Table,
}

/// The quarters at one place, by their columns.
struct Table {
    place: Place,
    numbering: Numbering,
    quarters: Quarters,
}

/// Half-boards that are not passed on yet.
#[derive(Default)]
struct Pending {
    whole: Listed,
    ties: Listed,
}

/// The keys of some half-boards; the first `len` are in use.
#[derive(Default)]
struct Listed {
    keys: Vec<u64>,
    len: usize,
}

/// Which half-boards are listed.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    /// The columns of their queens.
    pub(crate) set: u32,
    /// The window of their numbers.
    pub(crate) window: Window,
    /// The slice that they belong to.
    pub(crate) slice: Slice,
    /// Half-boards with all of these marks are left out, unless it is 0.
    pub(crate) closed: u64,
    /// How their keys are read.
    pub(crate) view: View,
}

/// A choice of columns for the upper quarter, and the numbers of both quarters' sets.
#[derive(Clone, Copy, Default)]
struct Found {
    choice: usize,
    above: usize,
    below: usize,
}

/// What is left of a list that is made in parts.
#[derive(Clone, Copy)]
pub(crate) enum Rest {
    /// The half-boards from this choice of columns for the upper quarter on.
    From(usize),
    /// The list is complete.
    Nothing,
}

impl Rest {
    /// The whole list.
    pub(crate) const ALL: Rest = Rest::From(0);
}

impl Lists {
    /// Tables for lists of half-boards that do not attack the square `centre` of the centre row, a bit or 0,
    /// with numbers by the columns `looked_at`. For an odd board and no square the keys have
    /// [`marks`](super::marks).
    pub(crate) fn new(n: u32, kept: Kept, centre: u32, looked_at: u32) -> Lists {
        let half = n / 2;
        let chosen = Place::Upper.rows(half);
        let choices: Vec<u32> =
            (0..1_u32 << half).filter(|choice| choice.count_ones() == chosen).collect();
        let mut lists = Lists {
            n,
            kept,
            centre,
            looked_at,
            placed: Vec::new(),
            next: 0,
            sliced: (Slice::WHOLE, choices.clone()),
            choices,
            pending: Pending::default(),
        };
        lists.placed.resize_with(kept.sets(n), || Placed {
            columns: 0,
            upper: Table::new(n, kept, Place::Upper),
            lower: Table::new(n, kept, Place::Lower),
        });
        if kept == Kept::All {
            lists.refill(0, full_mask(n) & !centre);
        }
        lists
    }

    /// Places the quarters in the columns `set`, unless they are there, and returns their place in `placed`.
    fn place(&mut self, set: u32) -> usize {
        if self.kept == Kept::All {
            return 0;
        }
        let there = self.placed.iter().position(|placed| placed.columns == set);
        there.unwrap_or_else(|| {
            let place = self.next;
            self.next = (place + 1) % self.placed.len();
            self.refill(place, set);
            place
        })
    }

    fn refill(&mut self, place: usize, columns: u32) {
        let Lists { n, centre, looked_at, .. } = *self;
        let marked = n % 2 == 1 && centre == 0;
        let area = Area { n, columns, centre, looked_at, marked };
        let placed = &mut self.placed[place];
        placed.columns = columns;
        for table in [&mut placed.upper, &mut placed.lower] {
            // The old ones go first, so that there is never more than one.
            table.quarters = Quarters::default();
            table.quarters = Quarters::new(area, table.place, &table.numbering);
        }
    }

    /// The keys of some half-boards in the columns `set` and in `window` that are not ties, from choices of
    /// columns all over the list.
    pub(crate) fn sample<U: Unit>(
        &mut self,
        unit: U,
        set: u32,
        window: Window,
        phases: &mut Phases,
    ) -> Vec<u64> {
        const ENOUGH: usize = 1 << 16;
        // On small boards listing more takes longer than a better code saves.
        let wanted = if self.n < 26 { 20 } else { 64 };
        let place = self.place(set);
        phases.end(Phase::Quarters);
        let rectangles = Rectangles::new(window, self.n / 2);
        let columns = columns(set);
        let Lists { placed, choices, pending, .. } = self;
        let Placed { upper, lower, .. } = &placed[place];
        // Multiples of about the golden section of the list's length.
        let stride = (choices.len() * 8 / 13) | 1;
        let mut sample = Vec::new();
        for i in 0..wanted {
            let choice = choices[i * stride % choices.len()];
            let (above, below) = split(set, &columns, choice, self.n / 2);
            let (above, below) = (upper.numbering.of(above), lower.numbering.of(below));
            let (above, below) = (upper.quarters.of(above), lower.quarters.of(below));
            pending.whole.append(unit, &rectangles.whole, above, below);
            // No choice is more than its part of the sample: half-boards of one choice are alike.
            let listed = pending.whole.take();
            sample.extend(thinned(listed, ENOUGH / wanted));
        }
        phases.end(Phase::Code);
        sample
    }

    /// Lists the part `rest` of what is `wanted`, as far as there is room, and returns what is left.
    ///
    /// # Panics
    ///
    /// If there is too little room even for a chunk and one choice of columns.
    pub(crate) fn list<U: Unit>(
        &mut self,
        unit: U,
        wanted: Wanted,
        rest: Rest,
        whole: &mut Unsorted,
        ties: &mut Unsorted,
        phases: &mut Phases,
    ) -> Rest {
        whole.clear();
        ties.clear();
        let Wanted { set, window, slice, closed, view } = wanted;
        let reader = unit.reader(&view);
        let Rest::From(start) = rest else { return Rest::Nothing };
        let place = self.place(set);
        phases.end(Phase::Quarters);
        let Lists { placed, choices, sliced, pending, looked_at, .. } = self;
        if sliced.0 != slice {
            let all = full_mask(self.n / 2);
            let of_slice = choices.iter().copied().filter(|choice| slice.has(all, *choice));
            *sliced = (slice, of_slice.collect());
        }
        let choices = &sliced.1;
        let Placed { upper, lower, .. } = &placed[place];
        let half = self.n / 2;
        let rectangles = Rectangles::new(window, half);
        let columns = columns(set);
        // The first choice whose half-boards are pending.
        let mut first = start;
        let mut batch = [Found::default(); BATCH];
        for from in (start..choices.len()).step_by(BATCH) {
            // The quarters are paired later: otherwise half of the time would be spent waiting for them.
            let mut found = 0;
            for (i, &choice) in choices.iter().enumerate().skip(from).take(BATCH) {
                let (above, below) = split(set, &columns, choice, half);
                if rectangles.may_hold((above.set & *looked_at).count_ones()) {
                    let (above, below) = (upper.find(unit, above), lower.find(unit, below));
                    batch[found] = Found { choice: i, above, below };
                    found += 1;
                }
            }
            for &Found { choice, above, below } in &batch[..found] {
                let (above, below) = (upper.quarters.of(above), lower.quarters.of(below));
                pending.whole.append(unit, &rectangles.whole, above, below);
                pending.ties.append(unit, &rectangles.ties, above, below);
                if pending.whole.len >= CHUNK || pending.ties.len >= CHUNK {
                    if !pending.pass_on(unit, closed, &reader, whole, ties) {
                        return Rest::From(first);
                    }
                    first = choice + 1;
                }
            }
        }
        if pending.pass_on(unit, closed, &reader, whole, ties) {
            Rest::Nothing
        } else {
            Rest::From(first)
        }
    }
}

impl Pending {
    /// Passes all half-boards on if there is room, and drops them otherwise; returns whether there was room.
    /// Empty lists always have room.
    fn pass_on<U: Unit>(
        &mut self,
        unit: U,
        closed: u64,
        reader: &U::Reader,
        whole: &mut Unsorted,
        ties: &mut Unsorted,
    ) -> bool {
        if closed != 0 {
            self.whole.len = unit.leave_out(&mut self.whole.keys[..self.whole.len], closed);
        }
        let (keys, tied) = (self.whole.take(), self.ties.take());
        let fits = keys.len() <= whole.room_left() && tied.len() <= ties.room_left();
        assert!(fits || whole.len() + ties.len() > 0, "room for a chunk and a choice");
        if fits {
            whole.append(unit, keys, reader);
            ties.append(unit, tied, reader);
        }
        fits
    }
}

impl Listed {
    fn append<U: Unit>(
        &mut self,
        unit: U,
        rectangles: &[Rectangle],
        upper: ByNumber<'_>,
        lower: ByNumber<'_>,
    ) {
        for rectangle in rectangles {
            let upper = upper.get(&rectangle.upper);
            if upper.len == 0 {
                continue;
            }
            let lower = lower.get(&rectangle.lower);
            let room = self.len + upper.len * lower.len + PADDING;
            if self.keys.len() < room {
                self.keys.resize(room, 0);
            }
            self.len += unit.pair(upper, lower, &mut self.keys[self.len..]);
        }
    }

    fn take(&mut self) -> &[u64] {
        &self.keys[..std::mem::take(&mut self.len)]
    }
}

impl Table {
    /// A table without quarters.
    fn new(n: u32, kept: Kept, place: Place) -> Table {
        let half = n / 2;
        let (by, columns) = match kept {
            Kept::All => (By::Set, n),
            Kept::OfList => (By::Ranks, half),
        };
        let numbering = Numbering::new(by, columns, place.rows(half));
        let nowhere = Area { n, columns: 0, centre: 0, looked_at: 0, marked: false };
        let quarters = Quarters::new(nowhere, place, &numbering);
        Table { place, numbering, quarters }
    }

    /// The number of a set of columns. Its quarters are prefetched.
    #[inline]
    fn find<U: Unit>(&self, unit: U, columns: Columns) -> usize {
        let number = self.numbering.of(columns);
        self.quarters.prefetch(unit, number);
        number
    }
}

/// At most `most` of the keys, from all over the list.
fn thinned(keys: &[u64], most: usize) -> impl Iterator<Item = u64> {
    keys.iter().copied().step_by(keys.len().div_ceil(most).max(1))
}

/// The bits of `set`, lowest first, followed by zeros.
fn columns(mut set: u32) -> [u32; 16] {
    std::array::from_fn(|_| {
        let bit = set & set.wrapping_neg();
        set ^= bit;
        bit
    })
}

/// The columns of the upper quarter, whose ranks in `set` are the bits of `choice`, and those of the lower one.
fn split(set: u32, columns: &[u32; 16], choice: u32, half: u32) -> (Columns, Columns) {
    let above = Columns { set: spread(choice, columns), ranks: choice };
    (above, Columns { set: set ^ above.set, ranks: full_mask(half) ^ choice })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_thinned_evenly_and_a_short_one_is_kept() {
        for len in [0, 1, 99, 100, 101, 12_345] {
            let keys: Vec<u64> = (0..len).collect();
            let kept: Vec<u64> = thinned(&keys, 100).collect();
            assert!(kept.len() <= 100);
            assert!(kept.len() >= keys.len().min(50), "{} of {len}", kept.len());
            assert!(len > 100 || kept == keys);
            assert!(kept.last().is_none_or(|last| len - last <= len.div_ceil(100)));
        }
    }
}
