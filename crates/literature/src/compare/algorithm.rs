//! The algorithms and methods that are compared, and the functions with which each counts a board
//! on one thread.

use board::{MethodChoice, PlanIndex, Problem};
use count::{Backend, Kernel};

use crate::classical::{self, Searched};
use crate::forced::{self, Looking};
use crate::states;

/// Defines [`Algorithm`]. Each one has a name, the largest board that it counts in about two
/// seconds, and a description.
macro_rules! algorithms {
    ($($algorithm:ident $name:literal $limit:literal $about:literal;)*) => {
        /// A way to count the placements of N queens.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Algorithm {
            $(#[doc = $about] $algorithm,)*
        }

        impl Algorithm {
            /// All algorithms, the simplest first.
            pub const ALL: [Algorithm; [$($name),*].len()] = [$(Algorithm::$algorithm),*];

            /// Its name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Algorithm::$algorithm => $name,)* }
            }

            /// A short description of what it does.
            #[must_use]
            pub fn about(self) -> &'static str {
                match self { $(Algorithm::$algorithm => $about,)* }
            }

            /// The largest board that it counts in about two seconds. Larger ones are counted only
            /// with `--all`.
            #[must_use]
            pub fn usual_limit(self) -> u32 {
                match self { $(Algorithm::$algorithm => $limit,)* }
            }
        }
    };
}

algorithms! {
    Combinations "combinations" 7 "Look at every choice of N squares";
    Rooks "rooks" 8 "Look at every board with a queen in each row";
    PermutationsAll "permutations-all" 11 "Look at every permutation of the columns";
    Direct "direct" 13 "Compare each new queen with all earlier ones";
    Arrays "arrays" 13 "Boolean arrays for columns and diagonals";
    Stack "stack" 13 "Boolean arrays, without recursion";
    Permutations "permutations" 13 "Permutations of the columns, abandoned at the first attack";
    Masks "masks" 15 "Bit masks";
    Mirror "mirror" 15 "Bit masks, only one of every two mirror images";
    Flip "flip" 15 "Bit masks, only one of every two images in the horizontal axis";
    MirrorFlip "mirror-flip" 15 "Bit masks, only one of every four images in both axes";
    Unique "unique" 15 "Search for one placement of each orbit, as in takaken's program";
    ForcedColumns "forced-columns" 14 "Look for dead and forced columns before each queen";
    Forced "forced" 14 "Look for dead and forced columns and rows";
    States "states" 14 "Keep each distinct state of a row once";
    RowsReference "rows-reference" 15 "The farm's method rows, by its reference loop";
    RingReference "ring-reference" 15 "The farm's method ring, by its reference loop";
    HalvesReference "halves-reference" 15 "The farm's method halves, by its reference loop";
    Rows "rows" 17 "The farm's method rows, by the fastest loop of this processor";
    Ring "ring" 17 "The farm's method ring, by the fastest loop";
    Halves "halves" 18 "The farm's method halves, by the fastest loop";
}

/// The result of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The number of placements.
    pub total: u128,
    /// Number of partial placements, if the algorithm counts them. It is the number of whole boards
    /// for the first three, of queens placed for the classical searches and `forced`, and of distinct
    /// states for `states`.
    pub nodes: Option<u64>,
}

impl Found {
    /// Number of partial placements for each placement, if both are known and there is one.
    #[must_use]
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
    /// The states, or the lists of `halves`, do not fit into the memory.
    Memory,
}

impl Algorithm {
    /// Counts a board. An algorithm that keeps states or lists may take `memory` bytes. The inner result says why a board
    /// was left out.
    pub fn count(self, n: u32, memory: u64) -> anyhow::Result<Result<Found, Why>> {
        use Algorithm::*;
        let (reference, fastest) = (Backend::Reference, Backend::detect());
        let (rows, ring) = (MethodChoice::Rows { rows: None }, MethodChoice::Ring { width: None });
        let by_looking = |looking| {
            let found = forced::count(n, looking);
            Found { total: found.total.into(), nodes: Some(found.tries + found.forced) }
        };
        Ok(Ok(match self {
            Combinations => classical::ladder::combinations(n).into(),
            Rooks => classical::ladder::rooks(n).into(),
            PermutationsAll => classical::ladder::permutations(n).into(),
            Direct => classical::direct::count(n).into(),
            Arrays => classical::arrays::count(n).into(),
            Stack => classical::stack::count(n).into(),
            Permutations => classical::permutations::count(n).into(),
            Masks => classical::masks::count(n).into(),
            Mirror => classical::mirror::count(n).into(),
            Flip => classical::flip::count(n).into(),
            MirrorFlip => classical::flip::count_with_mirror(n).into(),
            Unique => Found { total: solve::census(n).total, nodes: None },
            ForcedColumns => by_looking(Looking::Columns),
            Forced => by_looking(Looking::ColumnsAndRows),
            States => {
                let Ok(found) = states::count(n, memory) else { return Ok(Err(Why::Memory)) };
                let nodes = found.rows.iter().map(|row| row.states).sum();
                Found { total: found.total, nodes: Some(nodes) }
            }
            RowsReference => return by_tasks(n, rows, reference, memory),
            RingReference => return by_tasks(n, ring, reference, memory),
            HalvesReference => return by_tasks(n, MethodChoice::Halves, reference, memory),
            Rows => return by_tasks(n, rows, fastest, memory),
            Ring => return by_tasks(n, ring, fastest, memory),
            Halves => return by_tasks(n, MethodChoice::Halves, fastest, memory),
        }))
    }
}

impl From<Searched> for Found {
    fn from(searched: Searched) -> Found {
        Found { total: searched.total.into(), nodes: Some(searched.nodes) }
    }
}

/// Counts all tasks of the board, in order.
fn by_tasks(
    n: u32,
    choice: MethodChoice,
    backend: Backend,
    memory: u64,
) -> anyhow::Result<Result<Found, Why>> {
    let problem = Problem::Total { n };
    let method = choice.for_problem(problem);
    if !method.suits(n) {
        return Ok(Err(Why::Unsuited));
    }
    let index = PlanIndex::new(problem, method)?;
    let need = count::memory_needed(problem, method);
    if memory < need.least {
        return Ok(Err(Why::Memory));
    }
    let mut kernel = Kernel::with_memory(memory.min(need.most), backend, problem, method)?;
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
            for algorithm in all.filter(|algorithm| n <= algorithm.usual_limit()) {
                let found = algorithm.count(n, 1 << 24).expect("it counts");
                let (name, found) = (algorithm.name(), found.map(|found| found.total));
                let is_unsuited = n < 4 && found == Err(Why::Unsuited);
                assert!(found == Ok(vectors::total(n)) || is_unsuited, "{name}, N = {n}");
            }
        }
    }

    #[test]
    fn nodes_are_what_the_searches_place() {
        let nodes = |algorithm: Algorithm| {
            algorithm.count(8, 1 << 24).expect("it counts").expect("it suits").nodes
        };
        assert_eq!(nodes(Algorithm::Direct), Some(2_056));
        assert_eq!(nodes(Algorithm::Mirror), Some(1_028));
        assert_eq!(nodes(Algorithm::Forced), Some(592 + 622));
        assert_eq!(nodes(Algorithm::Halves), None);
    }
}
