//! The definition: both lists, row by row, and every pair of them. The other backends are held
//! against it.

use board::Prefix;

/// The number of boards of size `n` whose upper half takes the columns of `split`; on an odd board,
/// with a queen on `centre`, a bit of the centre row.
pub(crate) fn completions(n: u32, split: u32, centre: u32) -> u64 {
    let rows = n / 2;
    let others = board::full_mask(n) & !(split | centre);
    let (mut upper, mut lower) = (Vec::new(), Vec::new());
    list(n, split, rows, Prefix::EMPTY, &mut upper);
    list(n, others, rows, Prefix::EMPTY, &mut lower);
    let pairs = upper.iter().flat_map(|upper| lower.iter().map(move |lower| (upper, lower)));
    pairs.filter(|(upper, lower)| fit(n, centre, **upper, **lower)).count() as u64
}

/// Lists every way to place `rows` more queens in `columns`, row by row from the edge.
fn list(n: u32, columns: u32, rows: u32, prefix: Prefix, found: &mut Vec<Prefix>) {
    if rows == 0 {
        return found.push(prefix);
    }
    let mut free = prefix.free(n) & columns;
    while free != 0 {
        let bit = free & free.wrapping_neg();
        free ^= bit;
        list(n, columns, rows - 1, prefix.place(n, bit), found);
    }
}

/// Whether no diagonal of one half continues as a diagonal of the other or meets the centre's queen.
fn fit(n: u32, centre: u32, upper: Prefix, lower: Prefix) -> bool {
    // The lower half's diagonals in the row that the upper half's state is for, told apart by where
    // they lead downwards: those that its queens send to lower columns, upwards, lead to higher ones.
    let (left, right) =
        if n % 2 == 1 { (lower.right, lower.left) } else { (lower.right << 1, lower.left >> 1) };
    let attacked = upper.left | upper.right | lower.left | lower.right;
    upper.left & left == 0 && upper.right & right == 0 && attacked & centre == 0
}
