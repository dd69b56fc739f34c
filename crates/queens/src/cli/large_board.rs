//! `queens count` of completions on boards whose rows do not fit words of 64 bits.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use board::squares::Square;
use serde_json::json;
use solve::arrays;

use crate::failure::Failure;
use crate::output::ResultOutput;
use crate::progress::Took;

/// The largest board. A search holds a few bytes for each of its rows.
pub(super) const LARGEST: u32 = 10_000;

/// Counts the completions of these queens by plain backtracking with control arrays, on one thread, and
/// prints their number.
///
/// `found` has how many there are so far. With given queens on few rows that may be all that is ever known.
pub(super) fn count(
    n: u32,
    given: &[Square],
    output: &ResultOutput,
    found: &AtomicU64,
) -> Result<Took, Failure> {
    if n > LARGEST {
        return Err(Failure::Usage(format!(
            "a board of size {n}: completions are counted up to size {LARGEST}"
        )));
    }
    let begun = Instant::now();
    let visited = arrays::iterative(n, given, |_| {
        found.fetch_add(1, Ordering::Relaxed);
        ControlFlow::<()>::Continue(())
    });
    visited.map_err(|error| Failure::Usage(error.to_string()))?.continue_value();
    let total = found.load(Ordering::Relaxed);
    let seconds = begun.elapsed().as_secs_f64();
    let json = json!({
        "problem": "completions",
        "n": n,
        "method": "arrays",
        "total": total.to_string(),
        "seconds": seconds,
        "threads": 1,
    });
    output.print(total, json)?;
    Ok(Took::by_one_thread(seconds, total.into(), "arrays"))
}

/// The failure for a count that was asked to stop.
pub(super) fn interrupted() -> Failure {
    Failure::Interrupted(
        "stopped, and nothing is kept, because boards beyond size 64 have no ledger".into(),
    )
}

/// The failure for options of the other methods.
pub(super) fn refuses_options() -> Failure {
    Failure::Usage(
        "boards beyond size 64 are counted by one plain search: leave out --threads, --method, --rows, --width, \
         --looking, --ledger, --shard and --stats"
            .into(),
    )
}
