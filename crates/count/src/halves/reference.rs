//! The definition: it makes both lists row by row and compares every pair. The other backends are tested
//! against it.

use board::Prefix;
use board::halves::Shares;

/// The count of a task of a board of size `n`: the sum of the shares of all its boards.
pub(crate) fn completions(n: u32, record: Prefix) -> u64 {
    let shares = Shares::of(n, record);
    let centre = record.left;
    let others = board::full_mask(n) & !(record.down | centre);
    let list = |columns| {
        let mut found = Vec::new();
        list(n, columns, shares.columns, n / 2, (Prefix::EMPTY, 0), &mut found);
        found
    };
    let (upper, lower) = (list(record.down), list(others));
    let pairs = upper.iter().flat_map(|upper| lower.iter().map(move |lower| (upper, lower)));
    pairs
        .filter(|(upper, lower)| fit(n, centre, upper.0, lower.0))
        .map(|(upper, lower)| shares.of_board(upper.1, lower.1))
        .sum()
}

/// Lists every way to place `rows` more queens in `columns`, row by row from the edge, with its number. The
/// number has a bit for each row, set if the row's queen is in one of the columns `looked_at`.
fn list(
    n: u32,
    columns: u32,
    looked_at: u32,
    rows: u32,
    (prefix, number): (Prefix, u32),
    found: &mut Vec<(Prefix, u32)>,
) {
    if rows == 0 {
        return found.push((prefix, number));
    }
    let mut free = prefix.free(n) & columns;
    while free != 0 {
        let bit = free & free.wrapping_neg();
        free ^= bit;
        let next = (prefix.place(n, bit), number << 1 | u32::from(bit & looked_at != 0));
        list(n, columns, looked_at, rows - 1, next, found);
    }
}

/// Whether no diagonal of one half continues as a diagonal of the other or meets the centre's queen.
fn fit(n: u32, centre: u32, upper: Prefix, lower: Prefix) -> bool {
    // The lower half's diagonals in the row that the upper half's state is for, by the direction in which
    // they lead downwards. A diagonal to lower columns upwards leads to higher columns downwards.
    let (left, right) =
        if n % 2 == 1 { (lower.right, lower.left) } else { (lower.right << 1, lower.left >> 1) };
    let attacked = upper.left | upper.right | lower.left | lower.right;
    upper.left & left == 0 && upper.right & right == 0 && attacked & centre == 0
}
