//! The algorithms and methods that are compared, and the functions with which each counts a board
//! on one thread.

use board::{MethodChoice, PlanIndex, Problem};
use count::{Backend, Kernel};

use self::How::{Classical, Fastest, Lines, Reference, States, Unique};
use crate::classical::{
    Searched, arrays, direct, flip, ladder, masks, mirror, permutations, stack,
};
use crate::forced::{self, ForcedCount, Looking};
use crate::states;

/// A way to count the placements of N queens.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// Its name.
    pub name: &'static str,
    /// The largest board that it counts in about two seconds. Larger ones are counted only with
    /// `--all`.
    pub usual_limit: u32,
    how: How,
    /// A short description of what it does.
    pub about: &'static str,
}

/// What counts.
#[derive(Clone, Copy, Debug)]
enum How {
    Classical(fn(u32) -> Searched),
    Unique,
    Lines(Looking),
    States,
    /// The farm's method, by its reference loop.
    Reference(MethodChoice),
    /// The farm's method, by the fastest loop of this processor.
    Fastest(MethodChoice),
}

const ROWS: MethodChoice = MethodChoice::Rows { rows: None };

/// Makes a table of algorithms, each of which is a line.
macro_rules! algorithms {
    ($($name:literal $usual_limit:literal $how:expr, $about:literal;)*) => {
        [$(Algorithm { name: $name, usual_limit: $usual_limit, how: $how, about: $about }),*]
    };
}

impl Algorithm {
    /// All algorithms, the simplest first.
    pub const ALL: [Algorithm; 19] = algorithms! {
        "combinations" 7 Classical(ladder::combinations), "Look at every choice of N squares";
        "rooks" 8 Classical(ladder::rooks), "Look at every board with a queen in each row";
        "permutations-all" 11 Classical(ladder::permutations), "Look at every permutation of the columns";
        "direct" 13 Classical(direct::count), "Compare each new queen with all earlier ones";
        "arrays" 13 Classical(arrays::count), "Boolean arrays for columns and diagonals";
        "stack" 13 Classical(stack::count), "Boolean arrays, without recursion";
        "permutations" 13 Classical(permutations::count), "Permutations of the columns, abandoned at the first attack";
        "masks" 15 Classical(masks::count), "Bit masks";
        "mirror" 15 Classical(mirror::count), "Bit masks, only one of every two mirror images";
        "flip" 15 Classical(flip::count), "Bit masks, only one of every two images in the horizontal axis";
        "mirror-flip" 15 Classical(flip::count_with_mirror), "Bit masks, only one of every four images in both axes";
        "unique" 15 Unique, "Search for one placement of each orbit, as in takaken's program";
        "forced-columns" 14 Lines(Looking::Columns), "Look for dead and forced columns before each queen";
        "forced" 14 Lines(Looking::ColumnsAndRows), "Look for dead and forced columns and rows";
        "states" 14 States, "Keep each distinct state of a row once";
        "rows-reference" 15 Reference(ROWS), "The farm's method rows, by its reference loop";
        "colours-reference" 15 Reference(MethodChoice::Colours), "The farm's method colours, by its reference loop";
        "rows" 17 Fastest(ROWS), "The farm's method rows, by the fastest loop of this processor";
        "colours" 18 Fastest(MethodChoice::Colours), "The farm's method colours, by the fastest loop";
    };
}

/// The result of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The number of placements.
    pub total: u128,
    /// Number of partial placements, if the algorithm counts them. It is the number of whole boards
    /// for the first three, of queens placed for the classical searches and `forced`, and of
    /// distinct states for `states`.
    pub nodes: Option<u64>,
}

impl Found {
    /// Number of partial placements for each placement, if both are known and there is one.
    pub fn nodes_per_solution(&self) -> Option<f64> {
        self.nodes.filter(|_| self.total > 0).map(|nodes| nodes as f64 / self.total as f64)
    }
}

/// The reason why a board was not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The method cannot cut the board.
    Unsuited,
    /// The board is above the algorithm's usual limit.
    TooLarge,
    /// A smaller board took too long.
    TooSlow,
    /// The states do not fit into the memory.
    Memory,
}

impl Algorithm {
    /// Counts a board. An algorithm that keeps states may take `memory` bytes. The inner result
    /// says why a board was left out. The outer one is an error of the farm's plan or kernel, which
    /// no board of a usual size has.
    pub fn count(self, n: u32, memory: u64) -> anyhow::Result<Result<Found, Why>> {
        let (total, nodes) = match self.how {
            Classical(count) => {
                let Searched { total, nodes, .. } = count(n);
                (total.into(), Some(nodes))
            }
            Unique => (solve::census(n).total, None),
            Lines(looking) => {
                let ForcedCount { total, tries, forced, .. } = forced::count(n, looking);
                (total.into(), Some(tries + forced))
            }
            States => {
                let Ok(found) = states::count(n, memory) else { return Ok(Err(Why::Memory)) };
                (found.total, Some(found.rows.iter().map(|row| row.states).sum()))
            }
            Reference(choice) => return by_tasks(n, choice, Backend::Reference),
            Fastest(choice) => return by_tasks(n, choice, Backend::detect()),
        };
        Ok(Ok(Found { total, nodes }))
    }
}

/// Counts all tasks of the board, in order.
fn by_tasks(n: u32, choice: MethodChoice, backend: Backend) -> anyhow::Result<Result<Found, Why>> {
    let problem = Problem::Total { n };
    let method = choice.for_problem(problem);
    if !method.suits(n) {
        return Ok(Err(Why::Unsuited));
    }
    let index = PlanIndex::new(problem, method)?;
    let mut kernel = Kernel::new(backend, n, method)?;
    let total = kernel.count_range(&index, 0..index.len())?;
    Ok(Ok(Found { total: total.into(), nodes: None }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_find_the_known_counts_where_they_suit_the_board() {
        for n in 0..=9 {
            let all = Algorithm::ALL.into_iter();
            for algorithm in all.filter(|algorithm| n <= algorithm.usual_limit) {
                let found = algorithm.count(n, 1 << 24).expect("it counts");
                let (name, found) = (algorithm.name, found.map(|found| found.total));
                let is_unsuited = n < 4 && found == Err(Why::Unsuited);
                assert!(found == Ok(testkit::vectors::total(n)) || is_unsuited, "{name}, N = {n}");
            }
        }
    }

    #[test]
    fn nodes_are_what_the_searches_place() {
        let nodes = |name: &str| {
            let algorithm = Algorithm::ALL.into_iter().find(|it| it.name == name);
            let found = algorithm.expect("it is one").count(8, 1 << 24).expect("it counts");
            found.expect("it suits").nodes
        };
        assert_eq!(nodes("direct"), Some(2_056));
        assert_eq!(nodes("mirror"), Some(1_028));
        assert_eq!(nodes("forced"), Some(592 + 622));
        assert_eq!(nodes("rooks"), Some(16_777_216));
        assert_eq!(nodes("colours"), None);
    }
}
