//! Boards of queens that do not attack each other, and their images.

use queens_board::Prefix;

/// A board as the column of each row's queen.
pub(crate) type Queens = Vec<u32>;

/// All boards of `n` queens that do not attack each other.
pub(crate) fn boards(n: u32) -> Vec<Queens> {
    fn place(n: u32, prefix: Prefix, queens: &mut Queens, found: &mut Vec<Queens>) {
        if queens.len() == n as usize {
            found.push(queens.clone());
        }
        for column in (0..n).filter(|column| prefix.free(n) >> column & 1 == 1) {
            queens.push(column);
            place(n, prefix.place(n, 1 << column), queens, found);
            queens.pop();
        }
    }
    let mut found = Vec::new();
    place(n, Prefix::EMPTY, &mut Vec::new(), &mut found);
    found
}

/// The eight images of a board. Equal images are repeated.
pub(crate) fn images(queens: &Queens) -> Vec<Queens> {
    let n = queens.len();
    let transposed = |queens: &Queens| {
        let mut columns = vec![0; n];
        queens.iter().zip(0..).for_each(|(&column, row)| columns[column as usize] = row);
        columns
    };
    let mirrored = |queens: &Queens| queens.iter().map(|column| n as u32 - 1 - column).collect();
    let mut images = vec![queens.clone()];
    for _ in 0..4 {
        let last = images.last().expect("it has one");
        let turned: Queens = mirrored(&transposed(last));
        images.extend([mirrored(last), turned]);
    }
    images.truncate(8);
    images
}
