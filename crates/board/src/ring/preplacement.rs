//! The queens of the outer rings, and the record in which they travel.

use crate::{Method, Prefix, Square};

/// The queens of the outermost `width` rows and columns, one on each of these lines.
///
/// Rows and columns count from 0; row 0 is on top, and column 0 is bit 0 of a mask. A queen in the
/// `width` x `width` square of a corner stands on a line of either side and is named by both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Preplacement {
    /// Column of the queen in row `k` (`k` = 0 is the outermost row). On all four sides only the first
    /// `width` values are used, and the others are 0.
    pub top: [u8; 2],
    /// Row of the queen in column `n - 1 - k`.
    pub right: [u8; 2],
    /// Column of the queen in row `n - 1 - k`.
    pub bottom: [u8; 2],
    /// Row of the queen in column `k`.
    pub left: [u8; 2],
}

impl Preplacement {
    /// The record of a task in which a preplacement travels: four sides of two bytes, the outermost line in
    /// the lower byte.
    ///
    /// ```text
    ///            bits  31..24     23..16     15..8      7..0
    ///   left           0          0          left[1]    left[0]
    ///   down           bottom[1]  bottom[0]  top[1]     top[0]
    ///   right          0          0          right[1]   right[0]
    /// ```
    #[must_use]
    #[inline]
    pub const fn pack(self) -> Prefix {
        let [l0, l1] = self.left;
        let [r0, r1] = self.right;
        let ([t0, t1], [b0, b1]) = (self.top, self.bottom);
        Prefix {
            left: u32::from_le_bytes([l0, l1, 0, 0]),
            down: u32::from_le_bytes([t0, t1, b0, b1]),
            right: u32::from_le_bytes([r0, r1, 0, 0]),
        }
    }

    /// Reads a record. It returns `None` unless the record is a preplacement of this board: every queen
    /// stands on the board, both sides of a corner agree on its queen, no two queens attack each other, and
    /// the unused bytes are 0.
    #[must_use]
    pub fn unpack(record: Prefix, n: u32, width: u32) -> Option<Preplacement> {
        if !(Method::Ring { width }).suits(n) {
            return None;
        }
        let [l0, l1, 0, 0] = record.left.to_le_bytes() else { return None };
        let [t0, t1, b0, b1] = record.down.to_le_bytes();
        let [r0, r1, 0, 0] = record.right.to_le_bytes() else { return None };
        let ring =
            Preplacement { top: [t0, t1], right: [r0, r1], bottom: [b0, b1], left: [l0, l1] };

        let sides = [ring.top, ring.right, ring.bottom, ring.left];
        // If two sides disagree about a corner, there are two queens on one line.
        let named = ring.in_rows(n, width).chain(ring.in_columns(n, width));
        let stands =
            sides.iter().all(|side| side[width as usize..].iter().all(|&unused| unused == 0))
                && named.clone().all(|queen| queen.row < n && queen.column < n)
                && fit(named.clone(), named);
        stands.then_some(ring)
    }

    /// The queens, each once: `2 * width` to `4 * width` of them. The side `top` is row 0.
    ///
    /// `n` and `width` must be those of the preplacement's board; this is not checked.
    pub fn queens(&self, n: u32, width: u32) -> impl Iterator<Item = Square> {
        let inner_rows = width..n - width;
        let in_inner_rows = move |queen: &Square| inner_rows.contains(&queen.row);
        self.in_rows(n, width).chain(self.in_columns(n, width).filter(in_inner_rows))
    }

    /// The queens of the top and the bottom side.
    fn in_rows(self, n: u32, width: u32) -> impl Iterator<Item = Square> + Clone {
        (0..width).flat_map(move |k| {
            let (top, bottom) = (self.top[k as usize], self.bottom[k as usize]);
            [Square::new(top.into(), k), Square::new(bottom.into(), n - 1 - k)]
        })
    }

    /// The queens of the left and the right side.
    fn in_columns(self, n: u32, width: u32) -> impl Iterator<Item = Square> + Clone {
        (0..width).flat_map(move |k| {
            let (left, right) = (self.left[k as usize], self.right[k as usize]);
            [Square::new(k, left.into()), Square::new(n - 1 - k, right.into())]
        })
    }
}

/// Whether no two of these queens attack each other; equal squares are one queen.
pub(super) fn fit(
    mut some: impl Iterator<Item = Square>,
    others: impl Iterator<Item = Square> + Clone,
) -> bool {
    some.all(|one| {
        others.clone().all(|other| {
            let (rows, columns) = (one.row.abs_diff(other.row), one.column.abs_diff(other.column));
            if rows == 0 || columns == 0 { rows == columns } else { rows != columns }
        })
    })
}
