//! Chooses the tasks that are recounted for each draw. A small range is recounted as a whole. In a
//! large range, only the task that was hit is recounted. If the counts of tasks are not reported, a
//! piece around this task is recounted instead.

use farm::{CountResult, Range};

use crate::draw::{Draw, Drawn};
use crate::format::StatedRow;

/// A range, a task or a piece of a range to count again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The index of its range in [`Drawn::rows`].
    pub(super) row: usize,
    pub(super) range: Range,
    /// The claim of the bundle. `None` for a piece, about which the bundle says nothing.
    pub(super) result: Option<CountResult>,
}

/// The pieces for all draws, without repetition.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    /// The pieces in the order of their first draws, followed by the other ranges if those are
    /// counted, too.
    pub(super) pieces: Vec<Piece>,
    /// The index of each draw's piece.
    pub(super) of_draw: Vec<usize>,
}

/// The largest ranges and pieces that are recounted, in tasks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// The longest range that is counted as a whole, if its tasks are not reported.
    pub(super) whole: u64,
    /// The longest piece of a longer range. If the tasks of a longer range are reported, a single
    /// task is counted.
    pub(super) piece: u64,
}

impl Pieces {
    pub(super) fn cut(drawn: &Drawn, sizes: Sizes) -> Pieces {
        let mut numbers = std::collections::HashMap::new();
        let mut pieces = Vec::new();
        let mut number = |piece: Piece| {
            *numbers.entry(piece.range).or_insert_with(|| {
                pieces.push(piece);
                pieces.len() - 1
            })
        };
        let whole = |row: usize| {
            let StatedRow { range, result, .. } = drawn.rows[row];
            Piece { row, range, result: Some(result) }
        };
        let piece_of = |&Draw { row, ordinal, reported }: &Draw| {
            let length = drawn.rows[row].range.len();
            match reported {
                Some(_) if length > sizes.piece => {
                    let task = Range::new(ordinal, ordinal + 1);
                    Piece { row, range: task.expect("it is one task"), result: reported }
                }
                None if length > sizes.whole => {
                    let range = piece(drawn.rows[row].range, sizes.piece, ordinal);
                    Piece { row, range, result: None }
                }
                _ => whole(row),
            }
        };
        let of_draw = drawn.draws.iter().map(|draw| number(piece_of(draw))).collect();
        if drawn.are_all {
            let small = drawn.rows.iter().enumerate();
            let small = small.filter(|(_, row)| row.range.len() <= sizes.whole);
            for (row, _) in small {
                number(whole(row));
            }
        }
        Pieces { pieces, of_draw }
    }
}

/// The piece that contains `ordinal`, when `range` is cut into the fewest almost equal pieces of at
/// most `most` tasks.
fn piece(range: Range, most: u64, ordinal: u64) -> Range {
    let pieces = u128::from(range.len().div_ceil(most));
    let length = u128::from(range.len());
    let begin = |index: u128| range.start() + (length * index / pieces) as u64;
    // The index may be one too high, because beginnings are rounded down.
    let index = (u128::from(ordinal - range.start()) * pieces + pieces - 1) / length;
    let index = (0..=index).rev().find(|&index| begin(index) <= ordinal).expect("0 is one");
    Range::new(begin(index), begin(index + 1)).expect("it has the ordinal")
}

#[cfg(test)]
mod tests {
    use farm::Digest;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pieces_tile_a_range(start in 0..1000_u64, length in 1..500_u64, most in 1..60_u64) {
            let range = Range::new(start, start + length).expect("it has tasks");
            let mut at = start;
            let mut lengths = Vec::new();
            while at < range.end() {
                let one = piece(range, most, at);
                prop_assert_eq!(one.start(), at);
                for ordinal in at..one.end() {
                    prop_assert_eq!(piece(range, most, ordinal), one);
                }
                lengths.push(one.len());
                at = one.end();
            }
            prop_assert_eq!(at, range.end());
            let (least, longest) = (lengths.iter().min().unwrap(), lengths.iter().max().unwrap());
            prop_assert!(*longest <= most && longest - least <= 1);
        }
    }

    #[test]
    fn small_ranges_are_counted_whole_and_once() {
        let row = |start, end| StatedRow {
            range: Range::new(start, end).expect("it has tasks"),
            result: CountResult { count: 1, digest: Digest(0) },
            by: 0,
        };
        let draw = |row, ordinal| Draw { row, ordinal, reported: None };
        let drawn = Drawn {
            rows: vec![row(0, 10), row(10, 110), row(110, 115)],
            draws: vec![draw(1, 10), draw(0, 3), draw(1, 109), draw(0, 9), draw(1, 12)],
            are_all: true,
            ..Drawn::default()
        };
        let pieces = Pieces::cut(&drawn, Sizes { whole: 20, piece: 10 });
        let ranges: Vec<_> = pieces
            .pieces
            .iter()
            .map(|piece| (piece.range.start(), piece.result.is_some()))
            .collect();
        assert_eq!(ranges, [(10, false), (0, true), (100, false), (110, true)]);
        assert_eq!(pieces.of_draw, [0, 1, 2, 1, 0]);
        let only_drawn =
            Pieces::cut(&Drawn { are_all: false, ..drawn }, Sizes { whole: 20, piece: 10 });
        assert_eq!(only_drawn.pieces.len(), 3);
    }
}
