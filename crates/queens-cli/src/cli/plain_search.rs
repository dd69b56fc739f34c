//! `queens count` of boards that no method cuts into tasks: more columns than fit words of 64 bits, blocked squares, given
//! queens of a torus or of superqueens, and boards of fewer ranks than files.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use board::{Given, Square};
use serde_json::json;
use solve::{Start, ways};
use tokio::task::spawn_blocking;

use super::count::Counted;
use crate::failure::Failure;
use crate::progress::{Progress, Took};

/// The largest board. A search holds a few bytes for each of its rows.
pub(super) const LARGEST: u32 = 10_000;

/// A problem for one plain search.
pub(super) struct Search {
    /// Its name in JSON.
    pub(super) problem: &'static str,
    pub(super) n: u32,
    pub(super) start: Start,
    pub(super) given: Vec<Square>,
    pub(super) blocked: Vec<Square>,
    /// The number of rows that are filled, if not all.
    pub(super) ranks: Option<u32>,
}

impl Search {
    /// Counts by plain backtracking, on one thread.
    pub(super) async fn count(self, wants_progress: bool) -> Result<Counted, Failure> {
        let Search { problem, n, start, given, blocked, ranks } = self;
        let (rows, begun) = (ranks.unwrap_or(n), Instant::now());
        // The number found so far may be all that is ever known, if few rows have given queens.
        let found = Arc::new(AtomicU64::new(0));
        let counting = Arc::clone(&found);
        let counted = spawn_blocking(move || {
            ways(&start, rows, |more| {
                counting.fetch_add(more, Ordering::Relaxed);
            });
        });
        let see = || (0.0, format!("{} found", found.load(Ordering::Relaxed)));
        let counted = Progress::during(wants_progress, n, counted, see).await;
        counted.map_err(anyhow::Error::from)?;
        let total = found.load(Ordering::Relaxed).into();
        let method = if n <= Given::MAX_N { "masks" } else { "arrays" };
        let squares = |squares: Vec<Square>| {
            let named: Vec<String> = squares.iter().map(ToString::to_string).collect();
            (!named.is_empty()).then(|| named.join(","))
        };
        let object = json!({
            "problem": problem, "n": n, "method": method, "given": squares(given),
            "blocked": squares(blocked), "ranks": ranks,
        });
        let (took, table) = (Took::by_one_thread(begun, total, method), String::new());
        Ok(Counted { object, total, table, threads: 1, took })
    }
}
