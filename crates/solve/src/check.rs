//! The check whether columns are a placement.

use crate::bits::Bits;

/// Whether `columns`, row by row from row 0 on, are a placement of `n` queens: one queen in each row, all on
/// the board, and none attacks another. It takes time linear in N and about 5 N bits of memory; the columns
/// are not kept.
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
    use board::squares::{Square, check_queens};

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
    fn a_row_too_many_or_too_few_and_a_column_beyond_the_board_are_none() {
        assert!(is_placement(4, [1, 3, 0, 2]));
        for columns in [&[1, 3, 0][..], &[1, 3, 0, 2, 4], &[1, 3, 0, 4], &[1, 3, 0, u32::MAX]] {
            assert!(!is_placement(4, columns.iter().copied()), "{columns:?}");
        }
    }
}
