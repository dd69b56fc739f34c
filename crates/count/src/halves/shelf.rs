//! Sorted lists that are kept one after the other, in memory that serves again for later ones.
//!
//! Lists with memory of their own, which the system gave back and cleared again for each of them, took a tenth of the time of
//! N = 21.

use std::collections::HashMap;
use std::ops::Range;

use super::buckets::{STEP, Sorted};

/// Sorted lists of half-boards, by the columns of their queens.
pub(crate) struct Shelf {
    /// The places of the items of each list, which are in the order in which they were added.
    lists: HashMap<u32, List>,
    /// The starts of the buckets of one list after the other.
    starts: Vec<u32>,
    /// How many of them are in use.
    starts_len: usize,
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

/// A list is too long for the room there is.
pub(crate) struct TooLong;

impl Shelf {
    /// No lists, with room for `room` half-boards.
    pub(crate) fn new(room: usize) -> Shelf {
        Shelf {
            lists: HashMap::new(),
            starts: Vec::new(),
            starts_len: 0,
            items: vec![0; room + STEP].into_boxed_slice(),
            len: 0,
        }
    }

    /// Leaves no list.
    pub(crate) fn clear(&mut self) {
        self.lists.clear();
        (self.starts_len, self.len) = (0, 0);
    }

    /// The list of half-boards in these columns, if it is here.
    pub(crate) fn get(&self, columns: u32) -> Option<Sorted<'_>> {
        let List { starts, first } = self.lists.get(&columns)?;
        Some(Sorted { starts: &self.starts[starts.clone()], items: &self.items[*first..] })
    }

    /// Puts a copy of a list here. If there is not enough room left, the others are taken away.
    ///
    /// Half-boards that are sorted into memory that no cache holds take half as long again as with a copy.
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
        let starts = self.starts_len..self.starts_len + list.starts.len();
        self.starts_len = starts.end;
        self.starts.resize(self.starts.len().max(starts.end), 0);
        self.starts[starts.clone()].copy_from_slice(list.starts);
        self.lists.insert(columns, List { starts, first });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::halves::buckets::{Buckets, Sorter};
    use crate::halves::unsorted::Unsorted;

    const BITS: u32 = 2;

    fn list(records: &[(u64, u64)]) -> Buckets {
        let mut unsorted = Unsorted::new(records.len());
        unsorted.add_records(records.iter().map(|(code, item)| code << 32 | item));
        let mut sorted = Buckets::new(BITS, records.len());
        Sorter::new(BITS).sort(&unsorted, &mut sorted);
        sorted
    }

    fn items(shelf: &Shelf, columns: u32) -> Option<Vec<(u32, u32)>> {
        let list = shelf.get(columns)?;
        let bucket = |code| list.places(code..code + 1).map(move |place| (code, list.items[place]));
        Some((0..list.numbers()).flat_map(bucket).collect())
    }

    #[test]
    fn lists_stay_until_there_is_no_room_left() {
        let mut shelf = Shelf::new(5);
        let add = |shelf: &mut Shelf, columns, records: &[(u64, u64)]| {
            shelf.add(columns, list(records).sorted()).is_ok()
        };
        assert!(add(&mut shelf, 7, &[(3, 30), (0, 1), (3, 31)]));
        assert!(add(&mut shelf, 9, &[(1, 12), (0, 2)]));
        assert_eq!(items(&shelf, 7), Some(vec![(0, 1), (3, 30), (3, 31)]));
        assert_eq!(items(&shelf, 9), Some(vec![(0, 2), (1, 12)]));
        assert!(add(&mut shelf, 8, &[(2, 5)]));
        assert_eq!((items(&shelf, 7), items(&shelf, 9)), (None, None));
        assert_eq!(items(&shelf, 8), Some(vec![(2, 5)]));
        assert!(!add(&mut shelf, 1, &[(0, 0); 6]), "there is no room for six");
        assert_eq!((items(&shelf, 8), items(&shelf, 1)), (Some(vec![(2, 5)]), None));
        shelf.clear();
        assert_eq!(items(&shelf, 8), None);
        assert!(add(&mut shelf, 8, &[]));
        assert_eq!(items(&shelf, 8), Some(vec![]));
    }
}
