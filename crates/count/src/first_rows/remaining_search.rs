//! Completions on boards of at most 32 columns, by the level-by-level search of the other methods.

use board::{Given, Prefix, Square, full_mask};

use crate::Backend;
use crate::engine::{Engine, engine};
use crate::remaining::{Remaining, Standing};

/// The search of the rows that tasks leave open.
pub(super) struct RemainingSearch {
    engine: Box<dyn Engine>,
    columns: u32,
    given: Standing,
}

impl RemainingSearch {
    /// `None` if the processor lacks the backend.
    pub(super) fn new(backend: Backend, given: Given, placed: u32) -> Option<RemainingSearch> {
        let n = given.n();
        let open: Vec<u32> = given.open_rows().skip(placed as usize).collect();
        let queens: Vec<Square> = given.queens().collect();
        let engine = engine(backend, n, open.len() as u32)?;
        let given = Standing::new(0..n, &open, &queens);
        Some(RemainingSearch { engine, columns: full_mask(n), given })
    }

    pub(super) fn completions(&mut self, tasks: impl Iterator<Item = Vec<Square>>) -> u64 {
        let RemainingSearch { engine, columns, given } = self;
        let states: Vec<Prefix> = tasks.map(|queens| given.with(queens.into_iter())).collect();
        engine.completions(Remaining { columns: *columns, rows: &given.rows }, &states)
    }
}
