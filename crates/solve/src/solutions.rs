//! All placements that a start admits, one after the other; and how many there are.

use std::iter::FusedIterator;
use std::task::{Poll, ready};

use board::Problem;

use crate::check::Rules;
use crate::large::Large;
use crate::masks::{MASKS_MAX, Masks};
use crate::unique::{Orbits, UNIQUE_MAX};
use crate::{Placement, Start};

/// The placements of a board, in lexicographic order of columns from row 0 on. The iterator
/// searches only when the next one is asked for.
///
/// `of` is a board's size, a [`Problem`], or a [`Start`] with given queens, blocked squares and
/// rules. For [`Problem::Fundamental`], there is one placement of each orbit.
///
/// ```
/// use queens_solve::{Rules, Start, board::Problem, solutions};
///
/// assert_eq!(solutions(10).take(100).count(), 100);
/// let first = solutions(8).next().expect("there are 92");
/// assert_eq!(first.columns(), [0, 4, 7, 5, 2, 6, 1, 3]);
/// assert_eq!(solutions(Problem::Fundamental { n: 8 }).count(), 12);
/// let corner = Start::with_rules(10, Rules::Superqueens, &["c1".parse()?])?;
/// assert_eq!(solutions(corner).count(), 1);
/// # Ok::<(), queens_solve::board::SquaresError>(())
/// ```
pub fn solutions(of: impl Into<Solutions>) -> Solutions {
    of.into()
}

/// The placements that [`solutions`] lists, as an iterator.
///
/// It searches with masks up to N = 64, and beyond with bit sets of any length. Both are plain
/// backtracking: the first placement of 30 queens takes about a second, and that of 100 is never
/// found, unless many queens are given. Placements that are [counted](Iterator::count) or skipped
/// take no memory.
#[derive(Clone, Debug)]
#[must_use = "it searches only when it is asked for placements"]
pub struct Solutions {
    search: Search,
    /// The start, if one placement of each orbit is wanted and the search finds all of them.
    one_of_each: Option<Box<Start>>,
}

#[derive(Clone, Debug)]
enum Search {
    Masks(Masks),
    Large(Box<Large>),
    Orbits(Orbits),
    /// There is no placement.
    Hopeless,
}

impl Solutions {
    /// One placement of each orbit under the symmetries of the square: the first of those that
    /// `start` admits.
    ///
    /// ```
    /// use queens_solve::Solutions;
    ///
    /// assert_eq!(Solutions::fundamental(8).count(), 12);
    /// ```
    pub fn fundamental(start: impl Into<Start>) -> Solutions {
        let start = start.into();
        if start.n <= UNIQUE_MAX && start == start.n.into() {
            return Solutions { search: Search::Orbits(Orbits::new(start.n)), one_of_each: None };
        }
        let search = Search::new(&start);
        Solutions { search, one_of_each: Some(Box::new(start)) }
    }

    /// The next placement, or `None` if there is no other. [`Poll::Pending`] if neither was found
    /// in about `steps` steps, which take some nanoseconds each. The next call of any method goes
    /// on from there.
    ///
    /// ```
    /// use std::task::Poll;
    /// use queens_solve::solutions;
    ///
    /// assert!(solutions(8).next_within(1_000).is_ready());
    /// assert_eq!(solutions(100).next_within(1_000), Poll::Pending);
    /// ```
    pub fn next_within(&mut self, mut steps: u64) -> Poll<Option<Placement>> {
        self.advance_within(&mut steps).map(|found| found.then(|| self.search.placement()))
    }

    /// Goes to the next placement, if there is one.
    fn advance(&mut self) -> bool {
        self.advance_within(&mut u64::MAX.clone()) == Poll::Ready(true)
    }

    fn advance_within(&mut self, steps: &mut u64) -> Poll<bool> {
        while ready!(self.search.advance_within(steps)) {
            let Some(start) = &self.one_of_each else { return Poll::Ready(true) };
            let placement = self.search.placement();
            let orbit = placement.orbit();
            if orbit.iter().find(|image| start.admits(image)) == Some(&placement) {
                return Poll::Ready(true);
            }
        }
        Poll::Ready(false)
    }
}

impl Search {
    fn new(start: &Start) -> Search {
        if start.is_hopeless() {
            Search::Hopeless
        } else if start.n <= MASKS_MAX {
            Search::Masks(Masks::new(start, start.n))
        } else {
            Search::Large(Box::new(Large::new(start)))
        }
    }

    fn advance_within(&mut self, steps: &mut u64) -> Poll<bool> {
        match self {
            Search::Masks(masks) => masks.advance_within(steps),
            Search::Large(large) => large.advance_within(steps),
            Search::Orbits(orbits) => orbits.advance_within(steps).map(|size| size.is_some()),
            Search::Hopeless => Poll::Ready(false),
        }
    }

    fn placement(&self) -> Placement {
        let columns = match self {
            Search::Masks(masks) => &masks.columns,
            Search::Large(large) => &large.columns,
            Search::Orbits(orbits) => &orbits.search.as_ref().expect("it has found one").columns,
            Search::Hopeless => unreachable!("it has found none"),
        };
        Placement::trusted(columns.clone())
    }
}

impl Iterator for Solutions {
    type Item = Placement;

    fn next(&mut self) -> Option<Placement> {
        self.advance().then(|| self.search.placement())
    }

    fn nth(&mut self, n: usize) -> Option<Placement> {
        (0..n).all(|_| self.advance()).then(|| self.next())?
    }

    /// # Panics
    ///
    /// Panics where there are more placements than `usize` has numbers, as on systems of 32 bits
    /// from N = 19 on.
    fn count(mut self) -> usize {
        let mut count = 0_usize;
        while self.advance() {
            count = count.checked_add(1).expect("usize has a number for each placement");
        }
        count
    }
}

impl FusedIterator for Solutions {}

impl From<Start> for Solutions {
    fn from(start: Start) -> Solutions {
        Solutions { search: Search::new(&start), one_of_each: None }
    }
}

impl From<u32> for Solutions {
    /// The placements of the board of this size.
    fn from(n: u32) -> Solutions {
        Start::from(n).into()
    }
}

impl From<Problem> for Solutions {
    fn from(problem: Problem) -> Solutions {
        let by = |rules| Start { rules, ..problem.n().into() };
        match problem {
            Problem::Total { n } => n.into(),
            Problem::Fundamental { n } => Solutions::fundamental(n),
            Problem::Toroidal { .. } => by(Rules::Torus).into(),
            Problem::Superqueens { .. } => by(Rules::Superqueens).into(),
            Problem::Completions(given) => {
                let mut start = Start::from(given.n());
                given.queens().for_each(|queen| start.put(queen));
                start.into()
            }
        }
    }
}

/// Calls `found` with numbers whose sum is the number of ways to place queens in the first `rows`
/// rows that `start` admits. These are the placements on a board with fewer rows than columns.
/// There are none for more than N rows.
///
/// # Panics
///
/// If N is greater than 64 and `rows` is less than N.
pub fn ways(start: &Start, rows: u32, mut found: impl FnMut(u64)) {
    let n = start.n;
    if rows > n || rows == n && start.is_hopeless() {
        return;
    }
    if n <= MASKS_MAX {
        return Masks::new(start, rows).count(&mut found);
    }
    assert_eq!(rows, n, "the rows of a board of size {n} do not fit a word");
    let mut placements = solutions(start.clone());
    while placements.advance() {
        found(1);
    }
}

/// The columns of each way to place queens in the first `rows` rows of a board of size `n`, in
/// lexicographic order. `n` is at most 64; more rows than `n` count as `n`.
///
/// # Panics
///
/// If `n` is greater than 64.
pub fn first_rows(n: u32, rows: u32) -> impl Iterator<Item = Vec<u32>> {
    assert!(n <= MASKS_MAX, "the rows of a board of size {n} do not fit a word");
    let mut masks = Masks::new(&Start::from(n), rows.min(n));
    std::iter::from_fn(move || masks.advance().then(|| masks.columns.clone()))
}
