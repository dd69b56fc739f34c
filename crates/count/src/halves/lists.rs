//! Lists the half-boards whose queens take a given set of columns.
//!
//! The set is divided between an upper and a lower quarter in every way. A pair of quarters is a
//! half-board if its diagonals do not meet. About one pair in twelve is a half-board.
//!
//! Only half-boards whose number is in a window of [`Shares`](board::halves::Shares) are listed:
//! the pairs in a few [`rectangles`].
//!
//! If there is no room for the whole list, it is joined in parts.

pub(crate) mod records;
mod rectangles;

use board::full_mask;
use board::halves::{Slice, Window};

use crate::halves::by_size::{self, Kept};
use crate::halves::code::Code;
use crate::halves::code::view::{Reader, View};
use crate::halves::lists::records::Records;
use crate::halves::lists::rectangles::{Rectangle, Rectangles};
use crate::halves::quarters::numbering::{Columns, Numbering};
use crate::halves::quarters::{Area, ByNumber, Half, Pair, Place, Quarters, Seen};
use crate::halves::units::Unit;

/// The number of half-boards that are collected before they are settled.
const CHUNK: usize = 4096;

/// Lists half-boards of one board size.
pub(crate) struct Lists {
    n: u32,
    kept: Kept,
    /// The centre row's square, as a bit. Half-boards that attack it are left out. If it is 0,
    /// half-boards of an odd board have marks instead.
    pub(crate) centre: u32,
    /// The columns that decide about a half-board's number.
    looked_at: u32,
    /// The numbers of the sets of columns of upper and of lower quarters.
    numberings: [Numbering; 2],
    /// The quarters of some columns. The next field says which of them are replaced next.
    placed: Vec<Placed>,
    next: usize,
    /// Room for quarters until they are counted, if they are placed only once.
    seen: Vec<Seen>,
    /// The choices of columns for the upper quarter, by their ranks in the set.
    choices: Vec<u32>,
    /// The choices of the slice that was listed last.
    sliced: (Slice, Vec<u32>),
    /// The code by which the quarters' keys were read, if they were.
    pub(crate) code: Option<Code>,
}

/// The quarters of a half-board whose queens take some columns.
#[derive(Default)]
struct Placed {
    columns: u32,
    /// The upper and the lower ones.
    quarters: [Quarters; 2],
}

/// The half-boards that are listed.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) half: Half,
    /// The columns of their queens.
    pub(crate) set: u32,
    pub(crate) window: Window,
    pub(crate) slice: Slice,
    /// Half-boards with all of these marks are left out. With 0, none are.
    pub(crate) closed: u64,
    /// The view by which their keys are read, unless the quarters' keys were read already.
    pub(crate) view: View,
}

impl Lists {
    /// Tables for lists of half-boards that do not attack the square `centre` of the centre row, a
    /// bit or 0. The columns `looked_at` decide about numbers. If `centre` is 0 on an odd board,
    /// the keys have [marks](crate::halves::shared::marks).
    pub(crate) fn new(n: u32, kept: Kept, centre: u32, looked_at: u32) -> Lists {
        let half = n / 2;
        let chosen = Place::Upper.rows(half);
        let choices: Vec<u32> =
            (0..1_u32 << half).filter(|choice| choice.count_ones() == chosen).collect();
        let numbering = |place: Place| Numbering::new(kept, kept.columns(n), place.rows(half));
        let mut placed = Vec::new();
        placed.resize_with(kept.sets(n), Placed::default);
        let mut lists = Lists {
            n,
            kept,
            centre,
            looked_at,
            numberings: [Place::Upper, Place::Lower].map(numbering),
            placed,
            next: 0,
            seen: Vec::new(),
            sliced: (Slice::WHOLE, choices.clone()),
            choices,
            code: None,
        };
        if kept == Kept::All {
            lists.refill(0, full_mask(n) & !centre);
        }
        lists
    }

    /// Reads the keys of all quarters. All of them must be kept, and all splits must have one code.
    pub(crate) fn read<U: Unit>(&mut self, unit: U, code: Code) {
        assert_eq!(self.kept, Kept::All, "quarters that are placed anew are not read");
        let (upper, lower) = (Reader::new(code.upper), Reader::new(code.lower));
        for quarters in self.placed.iter_mut().flat_map(|placed| &mut placed.quarters) {
            quarters.read(unit, &upper, &lower);
        }
        self.code = Some(code);
    }

    /// Places the quarters in the columns `set`, unless they are there already. Returns their place
    /// in `placed`.
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
        let Placed { columns: old, quarters } = &mut self.placed[place];
        *old = columns;
        let places = [Place::Upper, Place::Lower].into_iter().zip(&self.numberings);
        for (quarters, (place, numbering)) in quarters.iter_mut().zip(places) {
            let seen = self.kept.places_once(n).then_some(&mut self.seen);
            quarters.replace(area, place, numbering, seen);
        }
    }

    /// The keys of some half-boards in the columns `set` and in `window` that are not ties, from
    /// choices of columns all over the list.
    pub(crate) fn sample<U: Unit>(&mut self, unit: U, set: u32, window: Window) -> Vec<u64> {
        const ENOUGH: usize = 1 << 16;
        let wanted = by_size::sampled_choices(self.n);
        let place = self.place(set);
        let rectangles = Rectangles::new(window, self.n / 2);
        let columns = Ranked::new(set, self.n / 2);
        let Lists { numberings: [above_number, below_number], placed, choices, .. } = self;
        let [upper, lower] = &placed[place].quarters;
        let mut listed = Records::default();
        // Multiples of about the golden section of the list's length.
        let stride = (choices.len() * 8 / 13) | 1;
        let mut sample = Vec::new();
        for i in 0..wanted {
            let choice = choices[i * stride % choices.len()];
            let (above, below) = columns.split(choice);
            // Keys that were not read are the same for both halves.
            let above = upper.of(above_number.of(above), Half::Upper);
            let below = lower.of(below_number.of(below), Half::Upper);
            for rectangle in &rectangles.whole {
                let (upper, lower) = (above.get(&rectangle.upper), below.get(&rectangle.lower));
                listed.pair(unit, &[Pair { upper, lower }]);
            }
            // No choice contributes more than its part of the sample, because half-boards of one
            // choice are alike.
            sample.extend(thinned(listed.keys(), ENOUGH / wanted));
            listed.clear();
        }
        sample
    }

    /// Lists the half-boards that are `wanted`, as far as there is room, beginning with the choice
    /// `from` of columns for the upper quarter. Returns the first choice with half-boards that are
    /// not listed, if there is one. Panics if there is too little room for a chunk and the choices of columns that are
    /// paired at a time.
    pub(crate) fn list<U: Unit>(
        &mut self,
        unit: U,
        wanted: Wanted,
        from: usize,
        whole: &mut Records,
        ties: &mut Records,
    ) -> Option<usize> {
        whole.clear();
        ties.clear();
        let Wanted { half: side, set, window, slice, closed, view } = wanted;
        let reader = self.code.is_none().then(|| Reader::new(view));
        let place = self.place(set);
        let Lists { numberings, placed, choices, sliced, looked_at, .. } = self;
        if sliced.0 != slice {
            let all = full_mask(self.n / 2);
            let of_slice = choices.iter().copied().filter(|choice| slice.has(all, *choice));
            *sliced = (slice, of_slice.collect());
        }
        let choices = &sliced.1;
        let [upper, lower] = &placed[place].quarters;
        let half = self.n / 2;
        let rectangles = Rectangles::new(window, half);
        let columns = Ranked::new(set, half);
        let at_a_time = by_size::choices_at_a_time(self.n);
        // The quarters of some choices are looked up in steps: otherwise half of the time would be
        // spent waiting for them. Each choice is in a few rectangles.
        let mut sets = Vec::with_capacity(at_a_time);
        let mut whole_pairs = Vec::with_capacity(3 * at_a_time + 1);
        let mut tied_pairs = Vec::with_capacity(2 * at_a_time + 1);
        // The first choice whose half-boards are not settled.
        let mut first = from;
        for start in (from..choices.len()).step_by(at_a_time) {
            let end = choices.len().min(start + at_a_time);
            sets.clear();
            whole_pairs.clear();
            tied_pairs.clear();
            for &choice in &choices[start..end] {
                let (above, below) = columns.split(choice);
                if rectangles.may_hold((above.set & *looked_at).count_ones()) {
                    let (above, below) = (numberings[0].of(above), numberings[1].of(below));
                    for (first, starts) in [upper.starts(above), lower.starts(below)] {
                        unit.prefetch_starts(first, starts);
                    }
                    sets.push((above, below));
                }
            }
            for &(above, below) in &sets {
                let (above, below) = (upper.of(above, side), lower.of(below, side));
                unit.prefetch(above.whole(), below.whole());
                add_pairs(&mut whole_pairs, &rectangles.whole, above, below);
                add_pairs(&mut tied_pairs, &rectangles.ties, above, below);
            }
            whole.pair(unit, &whole_pairs);
            ties.pair(unit, &tied_pairs);
            if whole.keys().len() >= CHUNK || ties.keys().len() >= CHUNK {
                if !settle(unit, closed, reader.as_ref(), whole, ties) {
                    return Some(first);
                }
                first = end;
            }
        }
        let fits = settle(unit, closed, reader.as_ref(), whole, ties);
        (!fits).then_some(first)
    }
}

/// The columns of a set by their ranks in it, to divide them between an upper and a lower quarter.
struct Ranked {
    set: u32,
    half: u32,
    /// The columns for each choice of the lowest ranks, and of the others.
    low: [u32; 1 << LOW_RANKS],
    high: [u32; 1 << LOW_RANKS],
}

const LOW_RANKS: u32 = 7;

impl Ranked {
    fn new(set: u32, half: u32) -> Ranked {
        let mut columns = set;
        let mut table = |ranks: u32| {
            let mut table = [0; 1 << LOW_RANKS];
            for rank in 0..ranks {
                let bit = columns & columns.wrapping_neg();
                columns ^= bit;
                let (lesser, rest) = table.split_at_mut(1 << rank);
                for (with, lesser) in rest.iter_mut().zip(lesser.iter()) {
                    *with = lesser | bit;
                }
            }
            table
        };
        let low = table(half.min(LOW_RANKS));
        let high = table(half.saturating_sub(LOW_RANKS));
        Ranked { set, half, low, high }
    }

    /// The columns of the upper quarter, whose ranks are the bits of `choice`, and the columns of
    /// the lower quarter.
    #[inline]
    fn split(&self, choice: u32) -> (Columns, Columns) {
        let low = self.low[(choice & ((1 << LOW_RANKS) - 1)) as usize];
        let above = Columns { set: low | self.high[(choice >> LOW_RANKS) as usize], ranks: choice };
        (above, Columns { set: self.set ^ above.set, ranks: full_mask(self.half) ^ choice })
    }
}

/// Adds the pairs of quarters in these rectangles.
#[inline]
fn add_pairs<'a>(
    pairs: &mut Vec<Pair<'a>>,
    rectangles: &[Rectangle],
    upper: ByNumber<'a>,
    lower: ByNumber<'a>,
) {
    for rectangle in rectangles {
        let pair = Pair { upper: upper.get(&rectangle.upper), lower: lower.get(&rectangle.lower) };
        // It cannot be predicted whether there are quarters, so the pair is always added.
        let len = pairs.len() + usize::from(pair.upper.len.min(pair.lower.len) > 0);
        pairs.push(pair);
        pairs.truncate(len);
    }
}

/// Turns all keys into records if there is room for them, and otherwise drops these half-boards.
/// Returns whether there was room. Empty lists always have room.
fn settle<U: Unit>(
    unit: U,
    closed: u64,
    reader: Option<&Reader>,
    whole: &mut Records,
    ties: &mut Records,
) -> bool {
    if closed != 0 {
        let left = unit.leave_out(whole.keys(), closed);
        whole.keep(left);
    }
    let fits = whole.fits() && ties.fits();
    assert!(fits || whole.len() + ties.len() > 0, "room for a chunk and a batch");
    for list in [whole, ties] {
        if !fits {
            list.keep(0);
        } else if let Some(reader) = reader {
            unit.read(reader, list.keys());
        }
        list.settle();
    }
    fits
}

/// At most `most` of the keys, from all over the list.
fn thinned(keys: &[u64], most: usize) -> impl Iterator<Item = u64> {
    keys.iter().copied().step_by(keys.len().div_ceil(most).max(1))
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
