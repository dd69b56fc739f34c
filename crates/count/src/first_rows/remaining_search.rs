//! Completions on boards of at most 32 columns, by the level-by-level search of the other methods.

use board::{Given, Prefix, Square, Tasks, full_mask};

use crate::Backend;
use crate::engine::{Engine, engine};
use crate::remaining::{Remaining, Row};

/// The search of the rows that tasks leave open.
pub(super) struct RemainingSearch {
    engine: Box<dyn Engine>,
    given: Given,
    rows: Vec<Row>,
    /// The tasks, as the first of these rows sees them.
    states: Tasks,
}

impl RemainingSearch {
    /// `None` if the processor lacks the backend.
    pub(super) fn new(backend: Backend, given: Given, placed: u32) -> Option<RemainingSearch> {
        let n = given.n();
        let open: Vec<u32> = given.open_rows().collect();
        let (above, below) = open.split_at(placed as usize);
        let mut last = above.last().copied();
        let rows = below.iter().map(|&row| {
            let seen = given.queens().map(|queen| {
                let away = queen.row.abs_diff(row);
                let bit = 1_u64 << queen.column;
                (bit << away | bit >> away) as u32 & full_mask(n)
            });
            let closed = seen.fold(0, |closed, seen| closed | seen);
            let step = last.replace(row).map_or(1, |last| row - last);
            Row { closed, step }
        });
        let rows: Vec<Row> = rows.collect();
        let engine = engine(backend, n, rows.len() as u32)?;
        Some(RemainingSearch { engine, given, rows, states: Tasks::new() })
    }

    pub(super) fn completions(&mut self, tasks: impl Iterator<Item = Vec<Square>>) -> u64 {
        let n = self.given.n();
        let given = self.given.queens().fold(0, |taken, queen| taken | 1 << queen.column);
        self.states.clear();
        for queens in tasks {
            let first = self.given.open_rows().nth(queens.len());
            let mut state = Prefix { down: given, ..Prefix::EMPTY };
            for queen in queens {
                let away = first.map_or(0, |first| first - queen.row);
                let bit = 1_u64 << queen.column;
                state.left |= (bit << away) as u32 & full_mask(n);
                state.down |= bit as u32;
                state.right |= (bit >> away) as u32;
            }
            self.states.push(state, 1);
        }
        let remaining = Remaining { columns: full_mask(n), rows: &self.rows };
        self.engine.completions(remaining, self.states.as_slice())
    }
}
