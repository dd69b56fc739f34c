//! Completion: a placement around queens that stand already, or the proof that there is none.

mod budget;
mod exact;
mod local;

use board::squares::{Square, SquaresError, check_queens};

use self::budget::Budget;
use crate::Placement;
use crate::random::SplitMix64;

/// Queens that stand already, none attacking another: at most one in each row.
#[derive(Clone, Debug)]
pub struct Start {
    n: u32,
    columns: Vec<Option<u32>>,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completion {
    /// A placement that has all given queens.
    Found(Placement),
    /// It is proven that no placement has them.
    None,
    /// The search was stopped before either was known.
    Undecided,
}

/// What a search for a completion took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Number of times that the local search put queens into all free rows and began to repair them.
    pub attempts: u64,
    /// Number of pairs of queens that exchanged their columns, in all attempts.
    pub swaps: u64,
    /// Number of collisions on diagonals when the last attempt began. A diagonal with k queens has k - 1.
    pub conflicts: u64,
    /// Number of queens placed by the exact search.
    pub nodes: u64,
}

impl Start {
    /// A start with these queens on the board of size `n`.
    ///
    /// # Errors
    ///
    /// The first queen that is off the board or attacks another.
    pub fn new(n: u32, queens: &[Square]) -> Result<Start, SquaresError> {
        check_queens(n, queens)?;
        let mut columns = vec![None; n as usize];
        for queen in queens {
            columns[queen.row as usize] = Some(queen.column);
        }
        Ok(Start { n, columns })
    }

    /// So many queens of a random placement, in random rows, or `None` for the boards of sizes 2 and 3. There is
    /// always a completion. With more than `n` queens it is the whole placement.
    #[must_use]
    pub fn by_chance(n: u32, queens: u32, seed: u64) -> Option<Start> {
        let placement = random_placement(n, seed)?;
        let mut rows: Vec<usize> = (0..n as usize).collect();
        SplitMix64::new(!seed).shuffle(&mut rows);
        let mut columns = vec![None; n as usize];
        for row in rows.into_iter().take(queens as usize) {
            columns[row] = Some(placement.columns()[row]);
        }
        Some(Start { n, columns })
    }

    /// Board size.
    #[must_use]
    pub fn n(&self) -> u32 {
        self.n
    }

    /// Number of queens.
    #[must_use]
    pub fn queens_given(&self) -> usize {
        self.queens().count()
    }

    /// Whether a placement on the same board has all these queens.
    #[must_use]
    pub fn is_in(&self, placement: &Placement) -> bool {
        let mut rows = self.columns.iter().zip(placement.columns());
        placement.n() == self.n && rows.all(|(given, &column)| given.is_none_or(|it| it == column))
    }

    /// The queens, row by row.
    fn queens(&self) -> impl Iterator<Item = Square> + '_ {
        let rows = self.columns.iter().zip(0..);
        rows.filter_map(|(&column, row)| column.map(|column| Square { column, row }))
    }
}

/// Completes a placement around the given queens.
///
/// A local search and an exact search take turns, each for twice as long as before. The local one finds a
/// placement on any large board that is not too full; the exact one can also prove that there is none. Equal
/// seeds give equal results. `stop` is called about every millisecond, and the search ends if it returns
/// true.
///
/// ```
/// use queens_solve::{Completion, Start, complete};
///
/// let start = Start::new(8, &["a1".parse()?])?;
/// let Completion::Found(placement) = complete(&start, 1, || false) else {
///     panic!("there are four placements with a queen on a1")
/// };
/// assert!(start.is_in(&placement) && placement.check().is_ok());
/// # Ok::<(), queens_solve::board::SquaresError>(())
/// ```
pub fn complete(given: &Start, seed: u64, stop: impl FnMut() -> bool) -> Completion {
    complete_within(given, seed, u64::MAX, stop).0
}

/// Completes like [`complete`], with at most so many `attempts` of the local search, and says what it took.
/// When the attempts are used up, the exact search goes on alone.
pub fn complete_within(
    given: &Start,
    seed: u64,
    attempts: u64,
    mut stop: impl FnMut() -> bool,
) -> (Completion, Effort) {
    let mut random = SplitMix64::new(seed);
    let mut effort = Effort::default();
    let mut work = 2_000_000 + 1_000 * u64::from(given.n);
    loop {
        let mut budget = Budget::new(work, &mut stop);
        let found = local::search(given, &mut random, attempts, &mut effort, &mut budget);
        if let Some(placement) = found {
            return (Completion::Found(placement), effort);
        }
        let mut budget = Budget::new(work, &mut stop);
        match exact::search(given, &mut random, &mut effort, &mut budget) {
            Completion::Undecided if budget.is_stopped() => return (Completion::Undecided, effort),
            Completion::Undecided => work = work.saturating_mul(2),
            decided => return (decided, effort),
        }
    }
}

/// A random placement, or `None` for the boards of sizes 2 and 3, which have none. Every placement can come
/// up, but not all are equally likely.
#[must_use]
pub fn random_placement(n: u32, seed: u64) -> Option<Placement> {
    if [2, 3].contains(&n) {
        return None;
    }
    let given = Start { n, columns: vec![None; n as usize] };
    let mut never = || false;
    let mut budget = Budget::new(u64::MAX, &mut never);
    local::search(&given, &mut SplitMix64::new(seed), u64::MAX, &mut Effort::default(), &mut budget)
}
