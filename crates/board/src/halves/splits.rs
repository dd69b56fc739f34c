//! Sets of half of the columns, one for each orbit under complement and reversal, by ordinal.
//!
//! Of a set, its complement, its mirror image and that image's complement, the least number is the
//! canonical one. Whether a set is the least shows when its columns are read in pairs, from the
//! outermost two inwards: `high` is the upper half's, `low` its mirror image.
//!
//! ```text
//!                  high low
//!   first pair       0   0    Alike: the mirror image may be less, the complements are not
//!                    0   1    Unlike: the mirror image's complement may be less, the others not
//!   Alike      0 0 | 1 1      both sets go on alike
//!                    0   1    this set is the less: anything may follow, Free
//!   Unlike     0 1 | 1 0      both sets go on alike
//!                    0   0    this set is the less: anything may follow, Free
//! ```
//!
//! A set that never becomes Free equals another of the four: it stands for two sets, the others
//! for four. How many sets follow from each state has a closed form, because the symmetry in
//! question pairs up those that are not fixed; so ordinals are found without an index.

/// What the pairs read so far leave undecided.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Alike,
    Unlike,
    Free,
}

impl State {
    /// The pairs `(high, low)` that may follow, and the state that they lead to, in the order of
    /// ordinals.
    fn pairs(self) -> &'static [(u32, u32, State)] {
        match self {
            State::Start => &[(0, 0, State::Alike), (0, 1, State::Unlike)],
            State::Alike => &[(0, 0, State::Alike), (0, 1, State::Free), (1, 1, State::Alike)],
            State::Unlike => &[(0, 0, State::Free), (0, 1, State::Unlike), (1, 0, State::Unlike)],
            State::Free => &[
                (0, 0, State::Free),
                (0, 1, State::Free),
                (1, 0, State::Free),
                (1, 1, State::Free),
            ],
        }
    }

    /// The number of ways to choose `ones` more columns from the `pairs` that are left.
    fn ways(self, pairs: u32, ones: u32) -> u64 {
        let all = binomial(2 * pairs, ones);
        match self {
            State::Start => {
                State::Alike.ways(pairs - 1, ones) + State::Unlike.ways(pairs - 1, ones - 1)
            }
            State::Alike => {
                let palindromes =
                    if ones.is_multiple_of(2) { binomial(pairs, ones / 2) } else { 0 };
                (all + palindromes) / 2
            }
            // So far each pair took one column, and half of all columns are chosen, so that
            // as many columns as pairs are left, and complement keeps their number.
            State::Unlike => (all + (1 << pairs)) / 2,
            State::Free => all,
        }
    }
}

/// The number of orbits of sets of `half` of `2 * half` columns; `half` is at least 1.
pub(super) fn len(half: u32) -> u64 {
    State::Start.ways(half, half)
}

/// The canonical set of half of `2 * half` columns with this `ordinal`, and its orbit's size.
pub(super) fn get(half: u32, mut ordinal: u64) -> (u32, u8) {
    let mut state = State::Start;
    let mut ones = half;
    let mut set = 0;
    for pair in 0..half {
        let inner = half - pair - 1;
        for &(high, low, next) in state.pairs() {
            let Some(rest) = ones.checked_sub(high + low) else { continue };
            let ways = next.ways(inner, rest);
            if ordinal < ways {
                set |= high << (2 * half - 1 - pair) | low << pair;
                (state, ones) = (next, rest);
                break;
            }
            ordinal -= ways;
        }
    }
    (set, if state == State::Free { 4 } else { 2 })
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
