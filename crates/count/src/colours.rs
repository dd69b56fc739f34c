//! The method `colours`: it counts the queens on black squares and those on white squares apart,
//! and multiplies.
//!
//! Queens of different colours share no diagonal, so they meet only through the rows and columns
//! that they take. A task fixes the rows of both colours ([`board::colours`]). For each set of
//! columns, the boards are the placements of the black queens in these columns times those of the
//! white queens in the others. No board is visited: at N = 20 there are 0.18 placements for each
//! board, at N = 28 there are 0.005.
//!
//! ```text
//!   for each set of odd columns of black queens, a row of cells, one for each set of even columns
//!     1  count   the colour with fewer queens is searched; each placement adds 1 to its cell
//!     2  share   each cell is multiplied by the share of its boards: 0, 1 or 2; odd N also 4
//!     3  sum     the other colour is searched; each placement adds its cell to the sum
//! ```
//!
//! ```text
//!   task        the path of a task, in these three steps: begin here
//!   start       given queens and blocked squares, where every share is 1
//!   cells       the row of cells, and why none overflows
//!   colour      the rows of one colour, in the order in which they get their queens
//!   levels      the search in vectors, for every instruction set
//!   units       the search in plain words, and the instructions for the search in vectors
//!   reference   the definition, in two plain searches
//! ```
//!
//! The method and its kernel are this project's own. [`board::colours::share`] has the mathematics,
//! and `LABBOOK.md` what was tried.

mod cells;
mod colour;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod levels;
mod reference;
mod start;
mod task;
mod units;

use board::colours::Split;
use board::{Problem, Square};

use self::reference::Reference;
use self::start::Start;
use self::task::counter_with;
#[cfg(target_arch = "aarch64")]
use self::units::neon::Neon;
use self::units::portable::Portable;
#[cfg(target_arch = "x86_64")]
use self::units::{avx2::Avx2, avx512::Avx512};
use crate::Backend;

/// Counts the tasks of one board with the instructions of one backend.
pub(crate) trait CountSplits: Send + Sync {
    /// The sum of the shares of the boards of a split, or of those that are drawn.
    fn count(&mut self, split: Split, draws: Draws) -> u128;
}

/// The boards of a task that are counted: those whose set of odd columns of black queens is drawn.
///
/// These sets are numbered from 0, in the order of [`board::colours::sets`]. Of `every` sets one is
/// drawn, beginning with number `first`, which is less than `every`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws {
    pub(crate) every: u32,
    pub(crate) first: u32,
}

impl Draws {
    /// All boards.
    pub(crate) const ALL: Draws = Draws { every: 1, first: 0 };

    /// Those of `sets` that are drawn.
    fn of(self, sets: &[u16]) -> impl Iterator<Item = u32> {
        sets.iter().skip(self.first as usize).step_by(self.every as usize).map(|&set| set.into())
    }
}

/// The kernel for a problem's boards without queens on `blocked` squares, with its tables and
/// buffers: some MB at every N. The total has no blocked squares. `None` if the processor lacks the
/// backend.
pub(crate) fn counter(
    backend: Backend,
    problem: Problem,
    blocked: &[Square],
) -> Option<Box<dyn CountSplits>> {
    let (n, start) = (problem.n(), Start::new(problem, blocked));
    Some(match backend {
        Backend::Reference => Box::new(Reference::new(problem, blocked)),
        Backend::Portable => counter_with(Portable::new(n), start),
        #[cfg(target_arch = "aarch64")]
        Backend::Neon => counter_with(Neon::new(n)?, start),
        #[cfg(not(target_arch = "aarch64"))]
        Backend::Neon => return None,
        #[cfg(target_arch = "x86_64")]
        Backend::Avx2 => counter_with(Avx2::new(n)?, start),
        #[cfg(target_arch = "x86_64")]
        Backend::Avx512 => counter_with(Avx512::new(n)?, start),
        #[cfg(not(target_arch = "x86_64"))]
        Backend::Avx2 | Backend::Avx512 => return None,
    })
}

#[cfg(test)]
mod tests {
    use board::{Given, Method, PlanIndex};
    use rand::rngs::StdRng;
    use rand::{RngExt as _, SeedableRng as _};

    use super::*;

    /// The ways to fill the rows below some queens, by the rules.
    fn by_rules(n: u32, open: &dyn Fn(Square) -> bool, queens: &mut Vec<Square>) -> u128 {
        let row = queens.len() as u32;
        if row == n {
            return 1;
        }
        let attack = |queen: &Square, square| Problem::Total { n }.attack(*queen, square);
        let mut found = 0;
        for square in (0..n).map(|column| Square { column, row }).filter(|&it| open(it)) {
            if !queens.iter().any(|queen| attack(queen, square)) {
                queens.push(square);
                found += by_rules(n, open, queens);
                queens.pop();
            }
        }
        found
    }

    #[test]
    fn no_queen_stands_on_a_blocked_square() {
        for (n, seed) in (4..=9).flat_map(|n| (0..8).map(move |seed| (n, seed))) {
            let mut random = StdRng::seed_from_u64(seed);
            let mut square =
                || Square { column: random.random_range(0..n), row: random.random_range(0..n) };
            let (queen, many) = (square(), square().column);
            let given: &[Square] = if seed % 2 == 0 { &[] } else { &[queen] };
            let blocked: Vec<Square> =
                (0..2 * many).map(|_| square()).filter(|it| !given.contains(it)).collect();
            let problem = Problem::Completions(Given::new(n, given).expect("it stands alone"));
            let open = |square: Square| match given {
                [queen] if queen.row == square.row => square == *queen,
                _ => !blocked.contains(&square),
            };
            let expected = by_rules(n, &open, &mut Vec::new());
            let plan = PlanIndex::new(problem, Method::Colours).expect("it is cut so");
            let tasks = plan.tasks(0..plan.len()).expect("the plan has the range");
            let splits = tasks.iter().map(|task| Split::unpack(n, task.record));
            let splits: Vec<Split> = splits.map(|it| it.expect("each is a task")).collect();
            for backend in Backend::available() {
                let Some(mut counter) = counter(backend, problem, &blocked) else { continue };
                let found: u128 = splits.iter().map(|it| counter.count(*it, Draws::ALL)).sum();
                assert_eq!(found, expected, "N = {n} by {backend}, seed {seed}");
            }
        }
    }
}
