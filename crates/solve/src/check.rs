//! The check whether columns are a placement, and which queens attack each other.

use std::collections::HashMap;

use board::squares::Square;

use crate::bits::Bits;

/// The rules by which queens attack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rules {
    /// Along rows, columns and diagonals.
    #[default]
    Plain,
    /// On a torus, where diagonals go on at the opposite edge.
    Torus,
    /// As queens and as knights.
    Superqueens,
}

/// An earlier queen, and the first queen that attacks an earlier one or stands on its square;
/// `None` if no queens attack each other. It takes time linear in the number of queens.
///
/// Queens may be off the board, whose size `n` matters only for a torus. On a torus of size 0 all
/// queens attack each other.
#[must_use]
pub fn attack(n: u32, queens: &[Square], rules: Rules) -> Option<[Square; 2]> {
    let mut lines = HashMap::new();
    let mut squares = HashMap::new();
    for &queen in queens {
        for line in lines_of(n, queen, rules) {
            if let Some(other) = lines.insert(line, queen) {
                return Some([other, queen]);
            }
        }
        if rules == Rules::Superqueens {
            let found = knights_moves(queen).find_map(|square| squares.get(&square));
            if let Some(&other) = found {
                return Some([other, queen]);
            }
            squares.insert([i64::from(queen.column), i64::from(queen.row)], queen);
        }
    }
    None
}

/// The row, the column and the diagonals of a square, each as its direction and its number.
fn lines_of(n: u32, Square { column, row }: Square, rules: Rules) -> [(u8, i64); 4] {
    let [n, column, row] = [n, column, row].map(i64::from);
    let diagonals = [row + column, row - column];
    let [sum, difference] = match rules {
        Rules::Plain | Rules::Superqueens => diagonals,
        Rules::Torus => diagonals.map(|diagonal| diagonal.rem_euclid(n.max(1))),
    };
    [(0, row), (1, column), (2, sum), (3, difference)]
}

fn knights_moves(Square { column, row }: Square) -> impl Iterator<Item = [i64; 2]> {
    let [column, row] = [column, row].map(i64::from);
    let steps = [[1, 2], [2, 1], [2, -1], [1, -2], [-1, -2], [-2, -1], [-2, 1], [-1, 2]];
    steps.into_iter().map(move |[across, up]| [column + across, row + up])
}

/// Whether `columns`, row by row from row 0 on, are a placement of `n` queens: one queen in each
/// row, all on the board, and none attacks another. It takes time linear in N and about 5 N bits of
/// memory; the columns are not kept.
#[must_use]
pub fn is_placement(n: u32, columns: impl IntoIterator<Item = u32>) -> bool {
    let len = n as usize;
    let mut taken = Bits::none(len);
    let (mut sums, mut differences) = (Bits::none(2 * len), Bits::none(2 * len));
    let mut rows = 0;
    for column in columns {
        let (row, column) = (rows, column as usize);
        let stands = row < len
            && column < len
            && taken.insert(column)
            && sums.insert(row + column)
            && differences.insert(len + row - column);
        if !stands {
            return false;
        }
        rows += 1;
    }
    rows == len
}

#[cfg(test)]
mod tests {
    use board::squares::check_queens;

    use super::*;

    #[test]
    fn it_agrees_with_a_look_at_each_pair() {
        for n in 0..=5_u32 {
            for number in 0..n.pow(n) {
                let columns = (0..n).map(|row| number / n.pow(row) % n);
                let queens = columns.clone().zip(0..).map(|(column, row)| Square { column, row });
                let stand = check_queens(n, &queens.collect::<Vec<_>>()).is_ok();
                assert_eq!(is_placement(n, columns), stand, "{number} on {n}");
            }
        }
    }

    #[test]
    fn placements_that_attack_nowhere_are_as_many_as_are_known() {
        let mut found = [0_u128; 3];
        let all = [Rules::Plain, Rules::Torus, Rules::Superqueens];
        for placement in crate::solutions(11) {
            let queens: Vec<Square> = placement.squares().collect();
            for (found, rules) in found.iter_mut().zip(all) {
                *found += u128::from(attack(11, &queens, rules).is_none());
            }
        }
        assert_eq!(
            found,
            [
                testkit::vectors::total(11),
                testkit::vectors::toroidal(11),
                testkit::vectors::superqueens(11)
            ]
        );
    }

    #[test]
    fn the_queens_that_attack_each_other_are_named() {
        let squares = |words: [&str; 3]| words.map(|word| word.parse().expect("a square"));
        let named = |words, rules| {
            attack(5, &squares(words), rules).map(|pair| pair.map(|square| square.to_string()))
        };
        let pair = |a: &str, b: &str| Some([a.to_string(), b.to_string()]);
        assert_eq!(named(["a1", "b3", "c2"], Rules::Plain), pair("b3", "c2"));
        assert_eq!(named(["a1", "b3", "d2"], Rules::Plain), None);
        assert_eq!(named(["a1", "b3", "d2"], Rules::Superqueens), pair("a1", "b3"));
        // From a1 the falling diagonal leaves the board and comes back at b5.
        assert_eq!(named(["a1", "c4", "b5"], Rules::Plain), pair("c4", "b5"));
        assert_eq!(named(["a1", "c2", "b5"], Rules::Torus), pair("a1", "b5"));
        assert_eq!(named(["a1", "e3", "a1"], Rules::Plain), pair("a1", "a1"));
        let far = [Square::new(u32::MAX, 0), Square::new(0, u32::MAX), Square::new(7, 1)];
        assert_eq!(attack(0, &far, Rules::Plain), Some([far[0], far[1]]));
        assert_eq!(attack(0, &far[1..], Rules::Torus), Some([far[1], far[2]]));
    }

    #[test]
    fn a_row_too_many_or_too_few_and_a_column_beyond_the_board_are_none() {
        assert!(is_placement(4, [1, 3, 0, 2]));
        for columns in [&[1, 3, 0][..], &[1, 3, 0, 2, 4], &[1, 3, 0, 4], &[1, 3, 0, u32::MAX]] {
            assert!(!is_placement(4, columns.iter().copied()), "{columns:?}");
        }
    }
}
