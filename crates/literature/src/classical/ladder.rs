//! Counts without a search: every board of a kind is formed and examined as a whole.
//!
//! | function | boards | at N = 8 |
//! |---|---|---|
//! | [`combinations`] | any N squares | C(64, 8) = 4,426,165,368 |
//! | [`rooks`] | a square in each row | 8^8 = 16,777,216 |
//! | [`permutations`] | a square in each row and each column | 8! = 40,320 |
//!
//! Source: folklore. Wikipedia's article "Eight queens puzzle" prints the three numbers. The
//! examination of a board ends at its first pair of queens that attack each other. Boards are
//! enumerated in a fixed order, which does not depend on that pair.

use super::Searched;

/// Counts the placements of `n` queens among all choices of N squares. N = 7 takes a second, N = 8
/// a minute. Panics if the number of squares exceeds 2^32.
pub fn combinations(n: u32) -> Searched {
    let squares = n.checked_mul(n).expect("a board this large could not be looked at");
    let mut searched = Searched::default();
    let mut chosen: Vec<u32> = (0..n).collect();
    loop {
        searched.look(chosen.iter().map(|square| [square / n, square % n]));
        // The next choice moves the last square that can move up by one. The squares after it
        // follow directly behind it.
        let movable = |&i: &usize| chosen[i] < squares - n + i as u32;
        let Some(i) = (0..chosen.len()).rev().find(movable) else { return searched };
        let square = chosen[i];
        chosen[i..].iter_mut().zip(square + 1..).for_each(|(later, next)| *later = next);
    }
}

/// Counts the placements of `n` queens among all boards with a queen in each row. N = 8 takes a
/// tenth of a second, N = 9 some seconds.
pub fn rooks(n: u32) -> Searched {
    let mut searched = Searched::default();
    let mut columns = vec![0; n as usize];
    loop {
        searched.look_at_rows(&columns);
        // The columns are the digits of a number that counts up.
        let Some(i) = columns.iter().rposition(|&column| column + 1 < n) else { return searched };
        columns[i] += 1;
        columns[i + 1..].fill(0);
    }
}

/// Counts the placements of `n` queens among all permutations of the columns. N = 10 takes a tenth
/// of a second, N = 12 ten seconds.
pub fn permutations(n: u32) -> Searched {
    let mut searched = Searched::default();
    let mut columns: Vec<u32> = (0..n).collect();
    loop {
        searched.look_at_rows(&columns);
        // The next permutation in lexicographic order.
        let Some(i) = columns.windows(2).rposition(|pair| pair[0] < pair[1]) else {
            return searched;
        };
        let larger = columns.iter().rposition(|&column| column > columns[i]);
        columns.swap(i, larger.expect("the next one is larger"));
        columns[i + 1..].reverse();
    }
}

impl Searched {
    /// Examines a board with these queens, each a row and a column.
    fn look(&mut self, mut queens: impl Iterator<Item = [u32; 2]> + Clone) {
        self.tries += 1;
        self.nodes += 1;
        let attacks = |[row, column]: [u32; 2], [other_row, other]: [u32; 2]| {
            let (down, across) = (row.abs_diff(other_row), column.abs_diff(other));
            down == 0 || across == 0 || down == across
        };
        while let Some(queen) = queens.next() {
            if queens.clone().any(|other| attacks(queen, other)) {
                return;
            }
        }
        self.total += 1;
    }

    fn look_at_rows(&mut self, columns: &[u32]) {
        self.look((0..).zip(columns).map(|(row, &column)| [row, column]));
    }
}
