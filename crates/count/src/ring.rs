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
use board::{Prefix, Square, full_mask};

use crate::Backend;
use crate::engine::{Engine, engine};
use crate::remaining::{Remaining, Standing};

/// The method for one board, with the data of the present group of tasks.
pub(crate) struct Ring {
    n: u32,
    width: u32,
    engine: Box<dyn Engine>,
    /// The other sides of the tasks, as in their records, and the queens there. They are kept for the next
    /// block.
    group: Option<([u32; 3], Standing)>,
    /// The tasks, as the first of the group's rows sees them.
    states: Vec<Prefix>,
}

impl Ring {
    /// The method for a board of size `n`, at least `2 * width`. `None` if the processor lacks the
    /// backend.
    pub(crate) fn new(backend: Backend, n: u32, width: u32) -> Option<Ring> {
        let engine = engine(backend, n - 2, n - 2 * width)?;
        Some(Ring { n, width, engine, group: None, states: Vec::new() })
    }

    /// The number of completions of all `tasks`. Each task must be one of this board.
    pub(crate) fn completions(&mut self, tasks: &[Prefix]) -> u64 {
        let Ring { n, width, engine, group, states } = self;
        let (n, width) = (*n, *width);
        let columns = full_mask(n - 2 * width) << (width - 1);
        let sides = |task: &Prefix| [task.left, task.right, task.down >> 16];
        let mut found = 0;
        for tasks in tasks.chunk_by(|one, other| sides(one) == sides(other)) {
            group.take_if(|(of, _)| *of != sides(&tasks[0]));
            let (_, others) =
                group.get_or_insert_with(|| (sides(&tasks[0]), other_sides(tasks[0], n, width)));
            states.clear();
            states.extend(tasks.iter().map(|task| others.with(top(task, width))));
            found += engine.completions(Remaining { columns, rows: &others.rows }, states);
        }
        found
    }
}

/// The queens of the top rows. [`Preplacement`] documents the record, which was checked before.
fn top(task: &Prefix, width: u32) -> impl Iterator<Item = Square> {
    let columns = task.down.to_le_bytes();
    (0..width).zip(columns).map(|(row, column)| Square { column: column.into(), row })
}

/// The queens of the other sides.
fn other_sides(task: Prefix, n: u32, width: u32) -> Standing {
    let task = Preplacement::unpack(task, n, width).expect("the tasks were checked");
    let queens: Vec<Square> = task.queens(n, width).filter(|queen| queen.row >= width).collect();
    let is_open = |row: &u32| queens.iter().all(|queen| queen.row != *row);
    let open: Vec<u32> = (width..n - width).filter(is_open).collect();
    Standing::new(1..n - 1, &open, &queens)
}
