//! Canonical splits by ordinal: those of an even number of columns, and those of an odd board whose centre
//! row's queen stands beside the centre.
//!
//! A split has two numbers of M bits, its sides west and east ([`Shares`](super::Shares)). The west has
//! the columns that the upper half takes on the left, the east those that the lower half takes on the
//! right, each read from the edge inwards. Both are sets of K of M columns, K is at least M/2, and the
//! west is the larger number. If K = M/2, the west is also larger than its complement, and the east lies
//! between the two.
//!
//! Splits are ordered by K, then by the west, then by the east, each ascending. Sets of one size are in the
//! order of their numbers, so triangular numbers count the splits before a given one.

/// The sets of `chosen` of `half` columns that can be the west: those whose rank is at least `least`.
struct Sides {
    chosen: u32,
    least: u64,
    len: u64,
}

impl Sides {
    /// The sets of every size, in order.
    fn all(half: u32) -> impl Iterator<Item = Sides> {
        (half.div_ceil(2)..=half).map(move |chosen| {
            let sets = binomial(half, chosen);
            let least = if 2 * chosen == half { sets / 2 } else { 0 };
            Sides { chosen, least, len: sets - least }
        })
    }

    /// The number of splits whose west is one of the first `wests` of these.
    fn splits(&self, wests: u64) -> u64 {
        let triangle = wests * (wests + 1) / 2;
        if self.least == 0 { triangle } else { 2 * triangle }
    }
}

/// The number of canonical splits of `2 * half` columns; `half` is at least 1.
pub(super) fn len(half: u32) -> u64 {
    Sides::all(half).map(|sides| sides.splits(sides.len)).sum()
}

/// The columns of the upper half in the canonical split of `2 * half` columns with this `ordinal`,
/// less than [`len`].
pub(super) fn get(half: u32, mut ordinal: u64) -> u32 {
    for sides in Sides::all(half) {
        let splits = sides.splits(sides.len);
        if ordinal >= splits {
            ordinal -= splits;
            continue;
        }
        // The west's rank is that of the largest triangular number that does not exceed the ordinal.
        let triangles = if sides.least == 0 { ordinal } else { ordinal / 2 };
        let west = ((8 * triangles + 1).isqrt() - 1) / 2;
        let east = ordinal - sides.splits(west);
        // If K = M/2, the west's complement ranks as far below the middle as the west ranks above it.
        let least_east = if sides.least == 0 { 0 } else { sides.least - 1 - west };
        let west = combination(sides.chosen, sides.least + west);
        let east = combination(sides.chosen, least_east + east);
        let all = (1 << half) - 1;
        return (all & !east) << half | west.reverse_bits() >> (u32::BITS - half);
    }
    unreachable!("an ordinal of a split")
}

/// The number of tasks of a board of `2 * half + 1` columns whose centre row's queen is left of the
/// centre: the centre column is the upper half's.
pub(super) fn len_beside(half: u32) -> u64 {
    u64::from(half) * binomial(2 * half - 1, half - 1)
}

/// The task with this `ordinal`, less than [`len_beside`]: the square of the centre row's queen, as a bit,
/// and the columns of the upper half.
///
/// Tasks are ordered by the number of the upper half's columns right of the centre, then by these columns,
/// then by those on the left, then by the square.
pub(super) fn beside(half: u32, mut ordinal: u64) -> (u32, u32) {
    for on_right in 0..half {
        let on_left = half - 1 - on_right;
        let squares = u64::from(half - on_left);
        let lefts = binomial(half, on_left);
        let tasks = binomial(half, on_right) * lefts * squares;
        if ordinal >= tasks {
            ordinal -= tasks;
            continue;
        }
        let right = combination(on_right, ordinal / (lefts * squares));
        let left = combination(on_left, ordinal / squares % lefts);
        let free = (0..ordinal % squares).fold(!left, |free, _| free & (free - 1));
        return (free & free.wrapping_neg(), right << (half + 1) | 1 << half | left);
    }
    unreachable!("an ordinal of a split")
}

/// The task with this `ordinal` in another order: by the square of the centre row's queen, then by the
/// split. Otherwise it is like [`beside`].
pub(super) fn beside_by_square(half: u32, ordinal: u64) -> (u32, u32) {
    let splits = binomial(2 * half - 1, half - 1);
    let column = (ordinal / splits) as u32;
    let others = leave_out(combination(half - 1, ordinal % splits), column);
    (1 << column, leave_out(others, half) | 1 << half)
}

/// Inserts `column` into the numbering of columns: column c of `set` becomes c if it is below `column` and
/// c + 1 otherwise.
pub(super) fn leave_out(set: u32, column: u32) -> u32 {
    let below = set & ((1 << column) - 1);
    (set - below) << 1 | below
}

/// The number of sets of `chosen` of `from` columns; 0 if `chosen` is more than `from`, which is at most 32.
pub(super) fn binomial(from: u32, chosen: u32) -> u64 {
    if chosen > from {
        return 0;
    }
    // Every partial product is a binomial coefficient, so the divisions leave no remainder.
    (0..u64::from(chosen)).fold(1, |ways, i| ways * (u64::from(from) - i) / (i + 1))
}

/// The set with number `ordinal` among the sets of `chosen` columns, in the order of their masks (the
/// combinatorial number system).
pub(super) fn combination(chosen: u32, mut ordinal: u64) -> u32 {
    let mut set = 0;
    for ones in (1..=chosen).rev() {
        let mut column = ones - 1;
        while binomial(column + 1, ones) <= ordinal {
            column += 1;
        }
        ordinal -= binomial(column, ones);
        set |= 1 << column;
    }
    set
}
