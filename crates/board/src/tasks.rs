//! Blocks of tasks as structure-of-arrays, after the MC# design. They travel and are counted in this
//! form.

use std::ops::Range;

use crate::{Method, Prefix, Problem, first_rows};

/// What the record of a task holds. It [follows](TaskKind::of) from the problem and the method.
///
/// Like [`Problem`], it is deliberately not `#[non_exhaustive]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskKind {
    /// The state below the first `rows` rows, three masks: a [`Prefix`].
    Prefix {
        /// M.
        rows: u32,
    },
    /// The queens of the outer rows and columns: a [`Preplacement`](crate::ring::Preplacement).
    Preplacement {
        /// Number of rows and columns on each side.
        width: u32,
    },
    /// The columns of the upper half's queens, and the centre row's queen: see [`halves`](crate::halves).
    Split,
    /// The columns of the queens in the first rows without a given queen: see
    /// [`first_rows`].
    FirstRows {
        /// M.
        rows: u32,
    },
}

impl TaskKind {
    /// What the tasks of `problem` are if it is cut by `method`; `None` if it cannot be cut so. The
    /// total is cut in every way, other problems by their first rows.
    #[must_use]
    pub fn of(problem: Problem, method: Method) -> Option<TaskKind> {
        if problem.sums_all_placements() {
            let kind = match method {
                Method::Rows { rows } | Method::Prefixes { rows } => TaskKind::Prefix { rows },
                Method::Ring { width } => TaskKind::Preplacement { width },
                Method::Halves => TaskKind::Split,
            };
            return method.suits(problem.n()).then_some(kind);
        }
        match method {
            Method::Rows { rows } => {
                let fits = problem.n() <= problem.max_n()
                    && rows <= first_rows::MAX_ROWS
                    && rows as usize <= problem.open_rows().len();
                fits.then_some(TaskKind::FirstRows { rows })
            }
            Method::Prefixes { .. } | Method::Ring { .. } | Method::Halves => None,
        }
    }
}

/// A block of tasks. The four lists have one length, and index `i` of each belongs to task `i`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tasks {
    /// [`Prefix::left`] of every task.
    pub left: Vec<u32>,
    /// [`Prefix::down`] of every task.
    pub down: Vec<u32>,
    /// [`Prefix::right`] of every task.
    pub right: Vec<u32>,
    /// How many boards one completion of the task stands for.
    pub weight: Vec<u8>,
}

impl Tasks {
    /// An empty block.
    #[must_use]
    pub fn new() -> Tasks {
        Tasks::default()
    }

    /// An empty block with room for `capacity` tasks.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Tasks {
        Tasks {
            left: Vec::with_capacity(capacity),
            down: Vec::with_capacity(capacity),
            right: Vec::with_capacity(capacity),
            weight: Vec::with_capacity(capacity),
        }
    }

    /// Makes room for `additional` more tasks.
    pub fn reserve(&mut self, additional: usize) {
        self.left.reserve(additional);
        self.down.reserve(additional);
        self.right.reserve(additional);
        self.weight.reserve(additional);
    }

    /// The number of tasks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Whether there is no task.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all tasks and keeps the room.
    pub fn clear(&mut self) {
        self.left.clear();
        self.down.clear();
        self.right.clear();
        self.weight.clear();
    }

    /// Appends one task.
    #[inline]
    pub fn push(&mut self, prefix: Prefix, weight: u8) {
        self.left.push(prefix.left);
        self.down.push(prefix.down);
        self.right.push(prefix.right);
        self.weight.push(weight);
    }

    /// Task `index` and its weight.
    ///
    /// # Panics
    ///
    /// If `index` is not below [`len`](Tasks::len).
    #[must_use]
    pub fn get(&self, index: usize) -> (Prefix, u8) {
        self.as_slice().get(index)
    }

    /// The tasks of `range`, borrowed.
    ///
    /// # Panics
    ///
    /// If `range` passes [`len`](Tasks::len).
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> TaskSlice<'_> {
        self.as_slice().slice(range)
    }

    /// All tasks, borrowed.
    #[must_use]
    pub fn as_slice(&self) -> TaskSlice<'_> {
        TaskSlice { left: &self.left, down: &self.down, right: &self.right, weight: &self.weight }
    }
}

/// Some tasks of a block, borrowed; the four slices have one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskSlice<'a> {
    /// [`Prefix::left`] of every task.
    pub left: &'a [u32],
    /// [`Prefix::down`] of every task.
    pub down: &'a [u32],
    /// [`Prefix::right`] of every task.
    pub right: &'a [u32],
    /// How many boards one completion of the task stands for.
    pub weight: &'a [u8],
}

impl<'a> TaskSlice<'a> {
    /// The number of tasks.
    ///
    /// # Panics
    ///
    /// If the four slices differ in length.
    #[must_use]
    pub fn len(&self) -> usize {
        let tasks = self.weight.len();
        assert!(
            self.left.len() == tasks && self.down.len() == tasks && self.right.len() == tasks,
            "the lists of a block of tasks have one length"
        );
        tasks
    }

    /// Whether there is no task.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tasks of `range`.
    ///
    /// # Panics
    ///
    /// If `range` passes [`len`](TaskSlice::len).
    #[must_use]
    pub fn slice(self, range: Range<usize>) -> TaskSlice<'a> {
        TaskSlice {
            left: &self.left[range.clone()],
            down: &self.down[range.clone()],
            right: &self.right[range.clone()],
            weight: &self.weight[range],
        }
    }

    /// Task `index` and its weight.
    ///
    /// # Panics
    ///
    /// If `index` is not below [`len`](TaskSlice::len).
    #[must_use]
    pub fn get(&self, index: usize) -> (Prefix, u8) {
        let prefix =
            Prefix { left: self.left[index], down: self.down[index], right: self.right[index] };
        (prefix, self.weight[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pushed_is_got_back_from_block_and_slice() {
        let mut tasks = Tasks::with_capacity(2);
        let corner = Prefix::EMPTY.place(8, 1);
        tasks.push(Prefix::EMPTY, 1);
        tasks.push(corner, 2);
        assert_eq!(tasks.len(), 2);
        assert_eq!(tasks.get(1), (corner, 2));
        assert_eq!(tasks.slice(1..2).get(0), (corner, 2));
        tasks.clear();
        assert!(tasks.is_empty() && tasks.as_slice().is_empty());
    }
}
