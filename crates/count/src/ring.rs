//! The method `ring`: the search of the inner rows, between the queens that stand in the rings.
//!
//! Tasks that differ only in their top rows are neighbours in a plan, and are searched together.
//! Their other queens attack the same squares, which are a constant mask of each row.
//!
//! ```text
//!   N = 6, width 1           0 1 2 3 4 5
//!                     row 0  . . t . . .     t: the top row's queen, in the states' own masks
//!                         1  . . . . . Q     Q: the other sides' queens, one for all of the group;
//!                         2  . . x . x .        their rows are not searched, their columns not
//!                         3  . x . x . .        open, and the x are closed
//!                         4  Q . . . . .
//!                         5  . . . Q . .
//!                              +-----+       the columns of the masks: bit 0 is column 1
//! ```
//!
//! Masks leave out the two outermost columns, whose queens stand already, so that a board of 18
//! fits lanes of 16 bits. With width 2 the next two columns hold no free square either, but
//! diagonals of the second row's queen pass through them.

use board::ring::Preplacement;
use board::{Prefix, TaskSlice, Tasks, full_mask};

use crate::engine::Engine;
use crate::remaining::{Remaining, Row};

/// The method for one board, with the data of the present group of tasks.
pub(crate) struct Ring {
    n: u32,
    width: u32,
    group: Group,
    /// The tasks, as the first of the group's rows sees them.
    states: Tasks,
}

/// The data that tasks have in common if they differ only in their top rows. It is kept for the
/// next block.
#[derive(Default)]
struct Group {
    sides: Option<[u32; 3]>,
    /// The first row to fill.
    first_row: u32,
    rows: Vec<Row>,
    /// The columns of the other sides' queens.
    taken: u32,
}

impl Ring {
    /// The method for a board of size `n`, at least `2 * width`.
    pub(crate) fn new(n: u32, width: u32) -> Ring {
        Ring { n, width, group: Group::default(), states: Tasks::new() }
    }

    /// The number of columns, and the most rows, of a search.
    pub(crate) const fn size(n: u32, width: u32) -> (u32, u32) {
        (n - 2, n - 2 * width)
    }

    /// The number of completions of all `tasks`. Each task must be one of this board.
    pub(crate) fn completions(&mut self, engine: &mut dyn Engine, tasks: TaskSlice<'_>) -> u64 {
        let Ring { n, width, .. } = *self;
        let sides = |i: usize| [tasks.left[i], tasks.right[i], tasks.down[i] >> 16];
        let columns = full_mask(n - 2 * width) << (width - 1);
        let mut found = 0;
        let mut start = 0;
        while start < tasks.len() {
            let group = (start..tasks.len()).take_while(|&i| sides(i) == sides(start));
            let end = start + group.count();
            if self.group.sides != Some(sides(start)) {
                self.group.set(sides(start), tasks.get(start).0, n, width);
            }
            self.see(tasks.slice(start..end));
            let remaining = Remaining { columns, rows: &self.group.rows };
            found += engine.completions(remaining, self.states.as_slice());
            start = end;
        }
        found
    }

    /// Makes the states of the group's tasks.
    fn see(&mut self, tasks: TaskSlice<'_>) {
        let Ring { n, width, group: Group { first_row, taken, .. }, .. } = *self;
        self.states.clear();
        for down in tasks.down {
            let mut state = Prefix { down: taken, ..Prefix::EMPTY };
            // `Preplacement` documents the record. It was checked before.
            let top = down.to_le_bytes();
            for (row, column) in (0..width).zip(top) {
                let queen = Queen { row, column: column.into() };
                state.left |= queen.left(n, first_row);
                state.down |= queen.down(n);
                state.right |= queen.right(n, first_row);
            }
            self.states.push(state, 1);
        }
    }
}

impl Group {
    /// Makes the group of a task.
    fn set(&mut self, sides: [u32; 3], task: Prefix, n: u32, width: u32) {
        self.sides = Some(sides);
        let task = Preplacement::unpack(task, n, width).expect("the tasks were checked");
        let queens = other_sides(&task, n, width);
        let is_left = |row: &u32| queens.iter().all(|queen| queen.row != *row);
        self.first_row = (width..n - width).find(is_left).unwrap_or(n - width);
        self.taken = queens.iter().fold(0, |mask, queen| mask | queen.down(n));
        self.rows.clear();
        let mut above = self.first_row - 1;
        for row in (self.first_row..n - width).filter(is_left) {
            let attacked = queens.iter().fold(0, |mask, q| mask | q.left(n, row) | q.right(n, row));
            self.rows.push(Row { closed: attacked, step: row - above });
            above = row;
        }
    }
}

/// A queen on the board.
struct Queen {
    row: u32,
    column: u32,
}

impl Queen {
    /// The column that it takes.
    fn down(&self, n: u32) -> u32 {
        bit(n, Some(self.column))
    }

    /// The square of `row` on the diagonal that leads away from the queen to higher columns.
    fn left(&self, n: u32, row: u32) -> u32 {
        bit(n, Some(self.column + row.abs_diff(self.row)))
    }

    /// The square of `row` on the diagonal that leads away from the queen to lower columns.
    fn right(&self, n: u32, row: u32) -> u32 {
        bit(n, self.column.checked_sub(row.abs_diff(self.row)))
    }
}

/// The bit of a board's column, or 0 if masks do not have the column.
fn bit(n: u32, column: Option<u32>) -> u32 {
    column.filter(|column| (1..n - 1).contains(column)).map_or(0, |column| 1 << (column - 1))
}

/// The queens of the other sides. A queen in a corner between two of these sides appears twice.
fn other_sides(task: &Preplacement, n: u32, width: u32) -> Vec<Queen> {
    let sides = (0..width).map(|k| {
        let at = |side: [u8; 2]| u32::from(side[k as usize]);
        let far = n - 1 - k;
        [
            Queen { row: at(task.right), column: far },
            Queen { row: far, column: at(task.bottom) },
            Queen { row: at(task.left), column: k },
        ]
    });
    sides.flatten().collect()
}
