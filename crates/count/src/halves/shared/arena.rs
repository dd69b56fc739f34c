//! Sorted lists that are kept one after the other, in memory that later lists use again.
//!
//! When each list had memory of its own, which the system gave back and cleared again, this took a
//! tenth of the time of N = 21.

use std::collections::HashMap;
use std::ops::Range;

use crate::halves::buckets::{STEP, Sorted};

/// Sorted lists of half-boards, by the columns of their queens.
pub(crate) struct Arena {
    /// The places of the items of each list, in the order in which the lists were added.
    lists: HashMap<u32, List>,
    /// The starts of the buckets of one list after the other.
    starts: Vec<u32>,
    /// The items of one list after the other, and room for [`STEP`] more.
    items: Box<[u32]>,
    /// The number of items of all lists.
    len: usize,
}

struct List {
    starts: Range<usize>,
    /// The place of its first item.
    first: usize,
}

/// The error of a list that is too long for the room.
pub(crate) struct TooLong;

impl Arena {
    pub(crate) fn new(room: usize) -> Arena {
        Arena {
            lists: HashMap::new(),
            starts: Vec::new(),
            items: vec![0; room + STEP].into_boxed_slice(),
            len: 0,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.lists.clear();
        self.starts.clear();
        self.len = 0;
    }

    /// The list of half-boards in these columns, if it is here.
    pub(crate) fn get(&self, columns: u32) -> Option<Sorted<'_>> {
        let List { starts, first } = self.lists.get(&columns)?;
        Some(Sorted { starts: &self.starts[starts.clone()], items: &self.items[*first..] })
    }

    /// Adds a copy of a list. If there is not enough room left, the other lists are removed.
    ///
    /// Sorting half-boards directly into memory that no cache holds takes one and a half times as
    /// long as sorting and copying.
    pub(crate) fn add(&mut self, columns: u32, list: Sorted<'_>) -> Result<(), TooLong> {
        let room = self.items.len() - STEP;
        if list.len() > room {
            return Err(TooLong);
        }
        if list.len() > room - self.len {
            self.clear();
        }
        let first = self.len;
        self.len += list.len();
        self.items[first..self.len].copy_from_slice(&list.items[..list.len()]);
        let starts = self.starts.len()..self.starts.len() + list.starts.len();
        self.starts.extend_from_slice(list.starts);
        self.lists.insert(columns, List { starts, first });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::halves::buckets::{Buckets, Sorter};
    use crate::halves::lists::records::Records;

    const BITS: u32 = 2;

    fn list(half_boards: &[(u64, u64)]) -> Buckets {
        let mut records = Records::new(half_boards.len());
        records.add_records(half_boards.iter().map(|(code, item)| code << 32 | item));
        let mut sorted = Buckets::new(BITS, half_boards.len());
        Sorter::new(BITS).sort(records.as_slice(), &mut sorted);
        sorted
    }

    fn items(arena: &Arena, columns: u32) -> Option<Vec<(u32, u32)>> {
        let list = arena.get(columns)?;
        let bucket = |code| list.places(code..code + 1).map(move |place| (code, list.items[place]));
        Some((0..list.numbers()).flat_map(bucket).collect())
    }

    #[test]
    fn lists_stay_until_there_is_no_room_left() {
        let mut arena = Arena::new(5);
        let add = |arena: &mut Arena, columns, records: &[(u64, u64)]| {
            arena.add(columns, list(records).sorted()).is_ok()
        };
        assert!(add(&mut arena, 7, &[(3, 30), (0, 1), (3, 31)]));
        assert!(add(&mut arena, 9, &[(1, 12), (0, 2)]));
        assert_eq!(items(&arena, 7), Some(vec![(0, 1), (3, 30), (3, 31)]));
        assert_eq!(items(&arena, 9), Some(vec![(0, 2), (1, 12)]));
        assert!(add(&mut arena, 8, &[(2, 5)]));
        assert_eq!((items(&arena, 7), items(&arena, 9)), (None, None));
        assert_eq!(items(&arena, 8), Some(vec![(2, 5)]));
        assert!(!add(&mut arena, 1, &[(0, 0); 6]), "there is no room for six");
        assert_eq!((items(&arena, 8), items(&arena, 1)), (Some(vec![(2, 5)]), None));
        arena.clear();
        assert_eq!(items(&arena, 8), None);
        assert!(add(&mut arena, 8, &[]));
        assert_eq!(items(&arena, 8), Some(vec![]));
    }
}
