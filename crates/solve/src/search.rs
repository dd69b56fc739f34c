//! Completion: a placement around queens that stand already and off blocked squares, or the proof
//! that there is none.

pub(crate) mod exact;
mod local;

use std::collections::BTreeSet;

use board::Problem;
use board::squares::{Square, SquaresError, check_queens};

use crate::Placement;
use crate::check::{Rules, attack};
use crate::random::SplitMix64;

/// The conditions on a placement: given queens, none of which attacks another by the rules, and
/// blocked squares that stay empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Start {
    pub(crate) n: u32,
    pub(crate) columns: Vec<Option<u32>>,
    pub(crate) rules: Rules,
    pub(crate) blocked: BTreeSet<Square>,
}

/// The way in which the local search puts queens into the free rows before it repairs them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Opening {
    /// Each in a column where it is not attacked, if one is found soon.
    #[default]
    Few,
    /// In a random order of the free columns.
    Random,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Completion {
    /// A placement that has all given queens.
    Found(Placement),
    /// It is proven that no placement has them.
    Impossible,
    /// The search was stopped before either was known.
    Undecided,
}

/// The work of a search for a completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Effort {
    /// Number of times that the local search put queens into all free rows and began to repair
    /// them.
    pub attempts: u64,
    /// Number of pairs of queens that exchanged their columns, in all attempts.
    pub swaps: u64,
    /// Number of collisions on diagonals when the last attempt began. A diagonal with k queens has
    /// k - 1.
    pub conflicts: u64,
    /// Number of queens placed by the exact search.
    pub nodes: u64,
}

/// The state that the searches share.
struct Work<'a> {
    random: SplitMix64,
    effort: Effort,
    /// The work that may still be done, in steps of about a nanosecond.
    left: u64,
    until_asked: u64,
    stop: &'a mut dyn FnMut() -> bool,
    /// Whether `stop` has ended the search.
    stopped: bool,
}

impl<'a> Work<'a> {
    /// The work between two calls of `stop`.
    const UNASKED: u64 = 1_000_000;

    fn new(seed: u64, left: u64, stop: &'a mut dyn FnMut() -> bool) -> Work<'a> {
        let (random, effort) = (SplitMix64::new(seed), Effort::default());
        Work { random, effort, left, until_asked: 0, stop, stopped: false }
    }

    /// Subtracts work that is about to be done, and returns whether it may be done.
    fn spend(&mut self, work: u64) -> bool {
        self.until_asked = self.until_asked.saturating_sub(work);
        if self.until_asked == 0 {
            self.stopped = self.stopped || (self.stop)();
            self.until_asked = Self::UNASKED;
        }
        self.left = self.left.saturating_sub(work);
        self.left > 0 && !self.stopped
    }
}

impl Start {
    /// A start with these queens on the board of size `n`.
    ///
    /// # Errors
    ///
    /// The first queen that is off the board or attacks another.
    pub fn new(n: u32, queens: &[Square]) -> Result<Start, SquaresError> {
        Start::with_rules(n, Rules::Plain, queens)
    }

    /// A start with these queens, which attack by `rules`, on the board of size `n`.
    ///
    /// # Errors
    ///
    /// The first queen that is off the board or attacks another.
    pub fn with_rules(n: u32, rules: Rules, queens: &[Square]) -> Result<Start, SquaresError> {
        check_queens(n, queens)?;
        if let Some([one, other]) = attack(n, queens, rules) {
            return Err(SquaresError::Attack(one, other));
        }
        let mut start = Start { rules, ..n.into() };
        queens.iter().for_each(|&queen| start.put(queen));
        Ok(start)
    }

    /// Blocks these squares, too, so that no queen may stand there.
    ///
    /// # Errors
    ///
    /// The first square that is off the board, or the first queen that stands on one of them.
    pub fn blocking(mut self, squares: &[Square]) -> Result<Start, SquaresError> {
        let n = self.n;
        let is_off = |square: &&Square| square.column >= n || square.row >= n;
        if let Some(&square) = squares.iter().find(is_off) {
            return Err(SquaresError::OffBoard { square, n });
        }
        self.blocked.extend(squares);
        let blocked = self.queens().find(|queen| self.blocked.contains(queen));
        blocked.map_or(Ok(self), |queen| Err(SquaresError::Blocked(queen)))
    }

    /// A start with this number of queens of a random placement, in random rows. It always has a
    /// completion. If `queens` is `n` or more, it has the whole placement. `None` for boards of
    /// sizes 2 and 3, which have no placement.
    #[must_use]
    pub fn random(n: u32, queens: u32, seed: u64) -> Option<Start> {
        let placement = random_placement(n, seed)?;
        let mut rows: Vec<usize> = (0..n as usize).collect();
        SplitMix64::new(!seed).shuffle(&mut rows);
        let mut columns = vec![None; n as usize];
        for row in rows.into_iter().take(queens as usize) {
            columns[row] = Some(placement.columns()[row]);
        }
        Some(Start { columns, ..n.into() })
    }

    pub(crate) fn put(&mut self, queen: Square) {
        self.columns[queen.row as usize] = Some(queen.column);
    }

    /// Board size.
    #[must_use]
    pub fn n(&self) -> u32 {
        self.n
    }

    /// Whether a placement on the same board has all these queens, none on a blocked square, and
    /// none that attacks another by the rules.
    #[must_use]
    pub fn admits(&self, placement: &Placement) -> bool {
        let mut rows = self.columns.iter().zip(placement.columns());
        placement.n() == self.n
            && rows.all(|(given, &column)| given.is_none_or(|it| it == column))
            && !placement.squares().any(|square| self.blocked.contains(&square))
            && (self.rules == Rules::Plain
                || attack(self.n, &placement.squares().collect::<Vec<_>>(), self.rules).is_none())
    }

    /// Whether it is known without a search that the board has no placement by these rules.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.rules == Rules::Torus && Problem::Toroidal { n: self.n }.is_hopeless()
    }

    /// The queens, row by row.
    pub(crate) fn queens(&self) -> impl Iterator<Item = Square> + '_ {
        let rows = self.columns.iter().zip(0..);
        rows.filter_map(|(&column, row)| column.map(|column| Square { column, row }))
    }
}

impl From<u32> for Start {
    /// The empty board of this size, with the rules [`Rules::Plain`].
    fn from(n: u32) -> Start {
        let columns = vec![None; n as usize];
        Start { n, columns, rules: Rules::Plain, blocked: BTreeSet::new() }
    }
}

/// A placement that `start` admits, or `None` if there is none. [`complete_until`] can be stopped.
///
/// ```
/// use queens_solve::{Start, complete};
///
/// let start = Start::new(8, &["a1".parse()?])?;
/// let placement = complete(&start).expect("there are four placements with a queen on a1");
/// assert!(start.admits(&placement));
/// # Ok::<(), queens_solve::board::SquaresError>(())
/// ```
#[must_use]
pub fn complete(start: &Start) -> Option<Placement> {
    match complete_until(start, 0, || false) {
        Completion::Found(placement) => Some(placement),
        Completion::Impossible => None,
        Completion::Undecided => unreachable!("nobody stops the search"),
    }
}

/// Completes a placement around the given queens.
///
/// A local search and an exact search take turns, each for twice as long as before. The local one
/// finds a placement on any large board that is not too full; the exact one can also prove that
/// there is none. Equal seeds give equal results. `stop` is called about every millisecond, and the
/// search ends if it returns true.
pub fn complete_until(start: &Start, seed: u64, stop: impl FnMut() -> bool) -> Completion {
    complete_within(start, Opening::Few, seed, stop).0
}

/// Completes like [`complete_until`]. The local search begins by `opening`, and the work is
/// returned, too.
pub fn complete_within(
    given: &Start,
    opening: Opening,
    seed: u64,
    mut stop: impl FnMut() -> bool,
) -> (Completion, Effort) {
    if given.is_hopeless() {
        return (Completion::Impossible, Effort::default());
    }
    // Hardly any placement on the square is one on the torus, too. So a search that repairs the
    // diagonals of the square would not find one.
    let is_repaired = given.rules != Rules::Torus;
    let mut budget = 2_000_000 + 1_000 * u64::from(given.n);
    let mut work = Work::new(seed, budget, &mut stop);
    loop {
        if is_repaired && let Some(placement) = local::search(given, opening, &mut work) {
            return (Completion::Found(placement), work.effort);
        }
        work.left = budget;
        match exact::search(given, &mut work) {
            Completion::Undecided if !work.stopped => budget = budget.saturating_mul(2),
            decided => return (decided, work.effort),
        }
        work.left = budget;
    }
}

/// A random placement, or `None` for the boards of sizes 2 and 3, which have none. Every placement
/// can come up, but not all are equally likely.
#[must_use]
pub fn random_placement(n: u32, seed: u64) -> Option<Placement> {
    if [2, 3].contains(&n) {
        return None;
    }
    local::search(&n.into(), Opening::Few, &mut Work::new(seed, u64::MAX, &mut || false))
}
