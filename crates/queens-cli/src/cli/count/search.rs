//! `queens count` of boards that no plan describes: boards with more columns than a word of 64 bits
//! has, with blocked squares, with given queens of a torus or of superqueens, and with fewer ranks
//! than files. One plain search counts them. Boards with blocked squares can also be counted by
//! colours.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use board::{Given, Method, MethodChoice, Square};
use count::{Backend, Counting};
use serde_json::json;
use solve::{Start, ways};
use tokio::task::spawn_blocking;

use super::{CountArgs, Counted};
use crate::cli::show;
use crate::failure::{Failure, usage};
use crate::progress::{Progress, Took};

/// The largest board. A search holds a few bytes for each of its rows.
pub(crate) const LARGEST: u32 = 10_000;

/// A problem for one plain search.
pub(crate) struct Search {
    /// Its name in JSON.
    pub(crate) problem: &'static str,
    pub(crate) n: u32,
    pub(crate) start: Start,
    pub(crate) given: Vec<Square>,
    pub(crate) blocked: Vec<Square>,
    /// The number of rows that get queens; `None` for all.
    pub(crate) ranks: Option<u32>,
}

/// Counts such a board, and prints the result.
pub(super) async fn count(args: &CountArgs, search: Search) -> Result<Took, Failure> {
    // Many blocked squares leave little to search, which the plain search does sooner than colours.
    // So colours counts only if it is asked for.
    let is_asked = matches!(args.method_args.choice(), Ok(Some(MethodChoice::Colours)));
    let colours = search.for_colours().filter(|_| is_asked);
    let foreign = [
        (args.method_args.is_given() && colours.is_none(), "--method, --rows and --no-mirror"),
        (args.ledger.is_some(), "--ledger and --shard"),
        (args.stats, "--stats"),
        (args.fundamental, "--fundamental"),
        (args.by_column, "--by-column"),
    ];
    if let Some((_, options)) = foreign.into_iter().find(|(is_given, _)| *is_given) {
        return usage(format!(
            "boards beyond size 64, with --blocked squares, of --ranks, and with given queens of tori and superqueens are \
             counted by one plain search, or with --blocked squares by --method colours for sizes from 4 to 32: leave out \
             {options}"
        ));
    }
    let rows = search.ranks.unwrap_or(search.n) as usize;
    args.warn_of_no_end(search.n, rows.saturating_sub(search.given.len()));
    let (n, threads) = (search.n, args.counting.threads.number().get());
    let backend = || args.counting.tested_backend([MethodChoice::Colours]);
    let colours = match colours {
        Some(given) => Some((given, backend()?, threads)),
        None => None,
    };
    search.count(colours, !args.progress.quiet).await?.print(args, n)
}

impl Search {
    /// The given queens, if the method colours counts the boards: by the usual rules, of all ranks,
    /// from N = 4 to 32.
    pub(super) fn for_colours(&self) -> Option<Given> {
        let is_cut =
            self.problem == "completions" && self.ranks.is_none() && Method::Colours.suits(self.n);
        Given::new(self.n, &self.given).ok().filter(|_| is_cut)
    }

    /// Counts by colours on threads of a backend, or else by plain backtracking on one thread.
    async fn count(
        self,
        colours: Option<(Given, Backend, usize)>,
        wants_progress: bool,
    ) -> Result<Counted, Failure> {
        let Search { problem, n, start, given, blocked, ranks } = self;
        let (rows, begun) = (ranks.unwrap_or(n), Instant::now());
        // The progress shows the number found so far, because the count may never end if few rows
        // have given queens.
        let found = Arc::new(AtomicU64::new(0));
        let (counting, closed) = (Arc::clone(&found), blocked.clone());
        let counted = spawn_blocking(move || {
            let Some((given, backend, threads)) = colours else {
                ways(&start, rows, |more| {
                    counting.fetch_add(more, Ordering::Relaxed);
                });
                return Ok((counting.load(Ordering::Relaxed).into(), 1));
            };
            let by_colours = Counting::blocking(given, &closed).backend(backend).threads(threads);
            let by_colours = by_colours.on_progress(|progress| {
                counting.store(progress.placements as u64, Ordering::Relaxed);
            });
            by_colours.run().map(|counted| (counted.answer.count(), counted.threads))
        });
        let see = || (0.0, format!("{} found", found.load(Ordering::Relaxed)));
        let counted = Progress::during(wants_progress, n, counted, see).await;
        let (total, threads) =
            counted.map_err(anyhow::Error::from)?.map_err(anyhow::Error::from)?;
        let method = match colours {
            Some(_) => Method::Colours.name(),
            None if n <= Given::MAX_N => "masks",
            None => "arrays",
        };
        let squares = |squares: Vec<Square>| {
            let named: Vec<String> = squares.iter().map(ToString::to_string).collect();
            (!named.is_empty()).then(|| named.join(","))
        };
        let object = json!({
            "problem": problem, "n": n, "method": method, "given": squares(given),
            "blocked": squares(blocked), "ranks": ranks,
        });
        let how = match colours {
            Some((_, backend, _)) => {
                let s = show::plural(threads as u64, "s");
                format!("{method} by {backend}, {threads} thread{s}")
            }
            None => format!("{method}, 1 thread"),
        };
        let took = Took { seconds: begun.elapsed().as_secs_f64(), counted: Some(total), how };
        Ok(Counted { object, total, table: String::new(), threads, took })
    }
}
