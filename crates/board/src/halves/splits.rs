//! Canonical splits of an even number of columns, by ordinal.
//!
//! A split has two numbers of M bits, its sides west and east ([`Shares`](super::Shares)): the
//! columns that the upper half takes on the left, and those that the lower half takes on the right,
//! each read from the edge inwards. Both are sets of K of M columns, K at least M/2, and the west is
//! the larger; where K = M/2 it is also larger than its complement, and the east is between the two.
//!
//! Order: by K, by the west, by the east, each ascending. Sets of one size are in the order of their
//! numbers, so that the splits before one are counted by triangular numbers.

/// The sets of `chosen` of `half` columns that may be in the west: those from the rank `least` on.
struct Sides {
    chosen: u32,
    least: u64,
    len: u64,
}

impl Sides {
    /// All, in their order.
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
        // The west with as many before it as the largest triangle that is not beyond the ordinal.
        let triangles = if sides.least == 0 { ordinal } else { ordinal / 2 };
        let west = ((8 * triangles + 1).isqrt() - 1) / 2;
        let east = ordinal - sides.splits(west);
        // In the balanced case the west's complement is as far below the middle as it is above.
        let least_east = if sides.least == 0 { 0 } else { sides.least - 1 - west };
        let west = combination(sides.chosen, sides.least + west);
        let east = combination(sides.chosen, least_east + east);
        let all = (1 << half) - 1;
        return (all & !east) << half | west.reverse_bits() >> (u32::BITS - half);
    }
    unreachable!("an ordinal of a split")
}

/// The number of sets of `chosen` of `from` columns, `from` at most 32; 0 if `chosen` is more.
pub(super) fn binomial(from: u32, chosen: u32) -> u64 {
    if chosen > from {
        return 0;
    }
    // Every partial product is a binomial itself, so that the divisions leave no rest.
    (0..u64::from(chosen)).fold(1, |ways, i| ways * (u64::from(from) - i) / (i + 1))
}

/// The set of `chosen` columns that is number `ordinal` of those of their number, in the order of
/// their masks (the combinatorial number system).
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_are_in_the_order_of_their_masks() {
        for chosen in 0..=5 {
            let expected: Vec<u32> =
                (0..1 << 9).filter(|set: &u32| set.count_ones() == chosen).collect();
            let found: Vec<u32> =
                (0..binomial(9, chosen)).map(|ordinal| combination(chosen, ordinal)).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn binomials_reach_the_largest_board() {
        assert_eq!(binomial(32, 16), 601_080_390);
        assert_eq!((binomial(0, 0), binomial(3, 4)), (1, 0));
    }
}
