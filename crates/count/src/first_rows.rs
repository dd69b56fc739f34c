//! Counts the tasks of problems that are divided by their first rows: a torus, superqueens,
//! completions.
//!
//! A task names queens ([`board::first_rows`]). The rows below them are searched in one of these
//! ways:
//!
//! ```text
//!   reference     any of them by the rules, square by square
//!   torus         a mask for each row; diagonals too are lines that need a queen
//!   superqueens   two more masks, of the squares a knight's move below
//!   remaining     completions up to N = 32: the level-by-level search of the other methods, with what
//!                 the given queens attack closed
//!   open          completions for larger N: a mask for each row, fewest free squares first
//! ```

mod open;
mod torus;

use board::first_rows::queens;
use board::{Given, MAX_N, Prefix, Problem, Square, bits, full_mask};

use self::open::Open;
use self::torus::Torus;
use crate::Backend;
use crate::engine::{Engine, engine};
use crate::remaining::{Remaining, Standing};
use crate::stop::Stop;

/// The counting loop for a problem whose tasks fill `rows` rows.
pub(crate) struct FirstRows {
    problem: Problem,
    rows: u32,
    search: Search,
}

enum Search {
    /// Counts the completions of each task by itself, from its queens.
    Single(fn(&Problem, Vec<Square>, &Stop) -> u64),
    /// Searches the rows that all tasks leave open, between the given queens.
    Remaining(Box<dyn Engine>, Standing),
}

impl FirstRows {
    /// A loop for the tasks of a problem that is not the total. `None` if the processor lacks the
    /// backend.
    pub(crate) fn new(backend: Backend, problem: Problem, rows: u32) -> Option<FirstRows> {
        let search = match problem {
            _ if backend == Backend::Reference => Search::Single(below_by_rules),
            Problem::Toroidal { .. } => {
                Search::Single(|it, queens, stop| Torus::new(it.n(), &queens).count(stop))
            }
            Problem::Superqueens { .. } => {
                Search::Single(|it, queens, stop| Superqueens::new(it.n(), &queens).count(stop))
            }
            Problem::Completions(given) if given.n() <= MAX_N => {
                let open: Vec<u32> = given.open_rows().skip(rows as usize).collect();
                let queens: Vec<Square> = given.queens().collect();
                let engine = engine(backend, given.n(), open.len() as u32)?;
                Search::Remaining(engine, Standing::new(0..given.n(), &open, &queens))
            }
            Problem::Completions(_) => {
                Search::Single(|it, queens, stop| Open::new(it, &queens).count(stop))
            }
            Problem::Total { .. } | Problem::Fundamental { .. } => {
                unreachable!("its tasks are prefixes")
            }
        };
        Some(FirstRows { problem, rows, search })
    }

    /// The number of completions of all `tasks`. Each task must be one of this problem. If it is
    /// asked to stop, it returns soon, and the number means nothing.
    pub(crate) fn completions(&mut self, tasks: &[Prefix], stop: &Stop) -> u64 {
        let FirstRows { problem, rows, .. } = *self;
        let of_task =
            |task: &Prefix| queens(&problem, rows, *task).expect("the tasks were checked");
        let tasks = tasks.iter().map(of_task);
        match &mut self.search {
            Search::Single(count) => tasks.map(|queens| count(&problem, queens, stop)).sum(),
            Search::Remaining(engine, given) => {
                let states: Vec<Prefix> =
                    tasks.map(|queens| given.with(queens.into_iter())).collect();
                let columns = full_mask(problem.n());
                engine.completions(Remaining { columns, rows: &given.rows }, &states, stop)
            }
        }
    }
}

/// The number of completions of a task with these queens.
fn below_by_rules(problem: &Problem, mut queens: Vec<Square>, stop: &Stop) -> u64 {
    let rows = problem.open_rows().split_off(queens.len());
    queens.extend(problem.given().into_iter().flat_map(Given::queens));
    by_rules(problem, &rows, &mut queens, stop)
}

/// The number of ways to fill `rows` beside `queens`.
fn by_rules(problem: &Problem, rows: &[u32], queens: &mut Vec<Square>, stop: &Stop) -> u64 {
    let [row, rows @ ..] = rows else { return 1 };
    if stop.is_asked() {
        return 0;
    }
    let mut found = 0;
    for column in 0..problem.n() {
        let square = Square { column, row: *row };
        if !queens.iter().any(|&queen| problem.attack(queen, square)) {
            queens.push(square);
            found += by_rules(problem, rows, queens, stop);
            queens.pop();
        }
    }
    found
}

/// The squares of a row that the superqueens above it attack: masks, and a knight's moves.
#[derive(Clone, Copy)]
struct Superqueens {
    n: u32,
    prefix: Prefix,
    /// The queens of the row above and of the row above that, each a bit or 0.
    last: u32,
    last_but_one: u32,
}

impl Superqueens {
    /// The state below these queens in the first rows.
    fn new(n: u32, queens: &[Square]) -> Superqueens {
        let empty = Superqueens { n, prefix: Prefix::EMPTY, last: 0, last_but_one: 0 };
        queens.iter().fold(empty, |board, queen| board.place(1 << queen.column))
    }

    fn place(self, bit: u32) -> Superqueens {
        let prefix = self.prefix.place(self.n, bit);
        Superqueens { n: self.n, prefix, last: bit, last_but_one: self.last }
    }

    fn count(self, stop: &Stop) -> u64 {
        let Superqueens { n, prefix, last, last_but_one } = self;
        if prefix.down == full_mask(n) {
            return 1;
        }
        if stop.is_asked() {
            return 0;
        }
        let knights = last << 2 | last >> 2 | last_but_one << 1 | last_but_one >> 1;
        bits(prefix.free(n) & !knights).map(|bit| self.place(bit).count(stop)).sum()
    }
}
