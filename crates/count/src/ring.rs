//! The method `ring`: the search of the inner rows, around queens that stand in the rings.
//!
//! Tasks that differ in their top rows only are neighbours in a plan, and are searched together:
//! what their other queens attack is the same for all of them, a constant of each row.
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
use crate::ground::{Ground, Row};

/// What is made anew for each group of tasks.
pub(crate) struct Ring {
    n: u32,
    width: u32,
    /// The rows to fill.
    rows: Vec<Row>,
    /// The tasks, as the first of these rows sees them.
    states: Tasks,
}

impl Ring {
    /// For a board of size `n`, at least `2 * width`.
    pub(crate) fn new(n: u32, width: u32) -> Ring {
        Ring { n, width, rows: Vec::new(), states: Tasks::new() }
    }

    /// The columns and the most rows of a search.
    pub(crate) const fn size(n: u32, width: u32) -> (u32, u32) {
        (n - 2, n - 2 * width)
    }

    /// Whether a record is a task of this board.
    pub(crate) fn holds(&self, record: Prefix) -> bool {
        Preplacement::unpack(record, self.n, self.width).is_some()
    }

    /// The number of completions of all `tasks`, each of which this board [`holds`](Ring::holds).
    pub(crate) fn completions(&mut self, engine: &mut Engine, tasks: TaskSlice<'_>) -> u64 {
        let sides = |i: usize| (tasks.left[i], tasks.right[i], tasks.down[i] >> 16);
        let mut found = 0;
        let mut start = 0;
        while start < tasks.len() {
            let group = (start..tasks.len()).take_while(|&i| sides(i) == sides(start));
            let end = start + group.count();
            found += self.group(engine, tasks.slice(start..end));
            start = end;
        }
        found
    }

    /// The same of tasks that differ in their top rows only.
    fn group(&mut self, engine: &mut Engine, tasks: TaskSlice<'_>) -> u64 {
        let Ring { n, width, .. } = *self;
        let task = |i: usize| {
            Preplacement::unpack(tasks.get(i).0, n, width).expect("the tasks were checked")
        };
        let sides = other_sides(&task(0), n, width);
        let is_left = |row: &u32| sides.iter().all(|queen| queen.row != *row);
        let first_row = (width..n - width).find(is_left).unwrap_or(n - width);

        self.rows.clear();
        let mut above = first_row - 1;
        for row in (first_row..n - width).filter(is_left) {
            let attacked = sides.iter().fold(0, |mask, q| mask | q.left(n, row) | q.right(n, row));
            self.rows.push(Row { closed: attacked, step: row - above });
            above = row;
        }

        self.states.clear();
        let taken = sides.iter().fold(0, |mask, queen| mask | queen.down(n));
        for i in 0..tasks.len() {
            let mut state = Prefix { down: taken, ..Prefix::EMPTY };
            for queen in top(&task(i), width) {
                state.left |= queen.left(n, first_row);
                state.down |= queen.down(n);
                state.right |= queen.right(n, first_row);
            }
            self.states.push(state, 1);
        }
        let columns = full_mask(n - 2 * width) << (width - 1);
        engine.completions(Ground { columns, rows: &self.rows }, self.states.as_slice())
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

    /// Where `row` meets its diagonal that leads, away from it, to higher columns.
    fn left(&self, n: u32, row: u32) -> u32 {
        bit(n, Some(self.column + row.abs_diff(self.row)))
    }

    /// The same to lower columns.
    fn right(&self, n: u32, row: u32) -> u32 {
        bit(n, self.column.checked_sub(row.abs_diff(self.row)))
    }
}

/// The bit of a board's column, if masks have it.
fn bit(n: u32, column: Option<u32>) -> u32 {
    column.filter(|column| (1..n - 1).contains(column)).map_or(0, |column| 1 << (column - 1))
}

/// The queens of the top rows.
fn top(task: &Preplacement, width: u32) -> impl Iterator<Item = Queen> {
    (0..width).map(|k| Queen { row: k, column: task.top[k as usize].into() })
}

/// The queens of the other sides; one in a corner between two of them is there twice.
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
