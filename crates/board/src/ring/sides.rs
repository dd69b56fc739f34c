//! The list of sides, and which of them fit where.

use super::preplacement::{Preplacement, fit};
use crate::{Square, ones};

/// The places of the queens of one side's outer lines along this side, read clockwise, the outermost line
/// first. Lines beyond the width are 0.
pub(super) type Side = [u8; 2];

/// Every side of a board in lexicographic order, which decides which preplacement of an orbit is the least.
/// Any other order gives as many tasks, with other representatives.
pub(super) fn list(n: u32, width: u32) -> Vec<Side> {
    let along = || 0..n as u8;
    if width == 1 {
        return along().map(|outer| [outer, 0]).collect();
    }
    along()
        .flat_map(|outer| along().map(move |inner| [outer, inner]))
        .filter(|[outer, inner]| outer.abs_diff(*inner) > 1)
        .collect()
}

/// The sides of a board, by their places in the list, and how they fit.
#[derive(Clone, Debug)]
pub(super) struct Sides {
    list: Vec<Side>,
    /// Each side read the other way round.
    pub(super) mirror: Vec<usize>,
    /// The sides that fit as the next one, clockwise.
    pub(super) next: Vec<Set>,
    /// The sides that fit as the one before.
    pub(super) previous: Vec<Set>,
    /// The sides that fit across the board.
    pub(super) across: Vec<Set>,
    /// For each side, the sides that are not less and whose mirror image is not less.
    pub(super) not_less: Vec<Set>,
}

impl Sides {
    pub(super) fn new(n: u32, width: u32, list: Vec<Side>) -> Sides {
        let place = |side| list.iter().position(|&other| other == side).expect("it is a side");
        let mirrored = |mut side: Side| {
            side[..width as usize].iter_mut().for_each(|along| *along = n as u8 - 1 - *along);
            side
        };
        let mirror: Vec<usize> = list.iter().map(|&side| place(mirrored(side))).collect();

        let turned = |square: Square| Square::new(n - 1 - square.row, square.column);
        let queens = |turns: usize| -> Vec<Vec<Square>> {
            let place = |(row, column): (u32, u8)| {
                let on_top = Square::new(column.into(), row);
                (0..turns).fold(on_top, |square, _| turned(square))
            };
            let of_side = |side: &Side| (0..width).zip(*side).map(place).collect();
            list.iter().map(of_side).collect()
        };
        let (top, right, bottom) = (queens(0), queens(1), queens(2));
        let fit =
            |some: &[Square], others: &[Square]| fit(some.iter().copied(), others.iter().copied());
        let sets = |belongs: &dyn Fn(usize, usize) -> bool| -> Vec<Set> {
            let set = |a| (0..list.len()).filter(|&b| belongs(a, b)).collect();
            (0..list.len()).map(set).collect()
        };
        Sides {
            next: sets(&|a, b| fit(&top[a], &right[b])),
            previous: sets(&|a, b| fit(&right[a], &top[b])),
            across: sets(&|a, b| fit(&top[a], &bottom[b])),
            not_less: sets(&|a, b| a <= b && a <= mirror[b]),
            mirror,
            list,
        }
    }

    /// The sides that can be first: those that are not greater than their mirror image.
    pub(super) fn firsts(&self) -> impl Iterator<Item = usize> {
        (0..self.list.len()).filter(|&side| side <= self.mirror[side])
    }

    pub(super) fn seconds(&self, first: usize) -> Set {
        self.not_less[first].and(&self.next[first])
    }

    /// The size of the orbit of these four sides, if they are the least of it; `None` otherwise.
    pub(super) fn orbit(&self, sides: [usize; 4]) -> Option<u8> {
        // The four sides are one number, the first side highest, so that one operation compares or turns it.
        let number = |sides: [usize; 4]| sides.iter().fold(0, |all, &side| all << 16 | side as u64);
        let [first, second, third, last] = sides.map(|side| self.mirror[side]);
        let (this, reflected) = (number(sides), number([last, third, second, first]));
        let turns = [0, 16, 32, 48];
        let images = turns.map(|turn| [this, reflected].map(|one| one.rotate_left(turn)));
        let images = images.as_flattened();
        let least = images.iter().all(|&image| this <= image);
        let alike = images.iter().filter(|&&image| this == image).count();
        least.then_some(8 / alike as u8)
    }

    /// The preplacement of these sides: the right, the bottom, the left and the top one.
    pub(super) fn preplacement(&self, [right, bottom, left, top]: [usize; 4]) -> Preplacement {
        // Read clockwise, the bottom side runs towards column 0 and the left side towards row 0.
        Preplacement {
            top: self.list[top],
            right: self.list[right],
            bottom: self.list[self.mirror[bottom]],
            left: self.list[self.mirror[left]],
        }
    }
}

/// The most sides of a board: 31 * 30 of width 2 for N = 32.
const MOST_SIDES: usize = 930;

/// A set of sides, by their places in the list.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Set([u64; MOST_SIDES.div_ceil(64)]);

impl Set {
    pub(super) fn len(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    pub(super) fn contains(&self, side: usize) -> bool {
        self.0[side / 64] >> (side % 64) & 1 == 1
    }

    /// The sides that are in both sets.
    pub(super) fn and(&self, other: &Set) -> Set {
        Set(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    pub(super) fn remove(&mut self, side: usize) {
        self.0[side / 64] &= !(1 << (side % 64));
    }

    /// The members in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        let words = self.0.iter().enumerate().filter(|(_, word)| **word != 0);
        words.flat_map(|(at, &word)| ones(word).map(move |bit| 64 * at + bit as usize))
    }
}

impl FromIterator<usize> for Set {
    fn from_iter<I: IntoIterator<Item = usize>>(sides: I) -> Set {
        let mut set = Set::default();
        sides.into_iter().for_each(|side| set.0[side / 64] |= 1 << (side % 64));
        set
    }
}
