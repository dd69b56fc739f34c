//! Problems that are cut by their first rows: a torus, superqueens, completions.
//!
//! A task names queens ([`board::first_rows`]); what is below them is searched, in one of four ways:
//!
//! ```text
//!   reference     any of them by the rules, square by square
//!   torus         masks that are rotated, not shifted, from row to row
//!   superqueens   two more masks, of the squares a knight's move below
//!   open          completions: the row with the fewest free squares first, one mask for each row
//! ```

use board::first_rows::queens;
use board::{Given, Prefix, Problem, Square, TaskSlice, full_mask};

use crate::Backend;

/// A counting loop for one problem whose tasks fill `rows` rows.
pub(crate) struct FirstRows {
    problem: Problem,
    rows: u32,
    search: Search,
}

enum Search {
    Rules,
    Torus,
    Superqueens,
    Open(Given),
}

impl FirstRows {
    /// For tasks of a problem that is no total.
    pub(crate) fn new(backend: Backend, problem: Problem, rows: u32) -> FirstRows {
        let search = match (backend, problem) {
            (Backend::Reference, _) => Search::Rules,
            (_, Problem::Toroidal { .. }) => Search::Torus,
            (_, Problem::Superqueens { .. }) => Search::Superqueens,
            (_, Problem::Completions(given)) => Search::Open(given),
            (_, Problem::Total { .. } | Problem::Fundamental { .. }) => {
                unreachable!("a total is cut by prefixes")
            }
        };
        FirstRows { problem, rows, search }
    }

    /// Whether a record is a task of this problem.
    pub(crate) fn holds(&self, record: Prefix) -> bool {
        queens(&self.problem, self.rows, record).is_some()
    }

    /// The number of completions of all `tasks`, each of which this problem
    /// [`holds`](FirstRows::holds).
    pub(crate) fn completions(&self, tasks: TaskSlice<'_>) -> u64 {
        let completions = |i| {
            let queens = queens(&self.problem, self.rows, tasks.get(i).0);
            self.below(queens.expect("the tasks were checked"))
        };
        (0..tasks.len()).map(completions).sum()
    }

    fn below(&self, mut queens: Vec<Square>) -> u64 {
        let n = self.problem.n();
        match self.search {
            Search::Rules => {
                let rows = self.problem.open_rows().split_off(self.rows as usize);
                if let Problem::Completions(given) = self.problem {
                    queens.extend(given.queens());
                }
                by_rules(&self.problem, &rows, &mut queens)
            }
            Search::Torus => {
                let empty = Torus { n, left: 0, down: 0, right: 0 };
                queens.iter().fold(empty, |torus, queen| torus.place(1 << queen.column)).count()
            }
            Search::Superqueens => {
                let place = |board: Superqueens, queen: &Square| board.place(1 << queen.column);
                queens.iter().fold(Superqueens::empty(n), place).count()
            }
            Search::Open(given) => Open::new(given, &queens).count(),
        }
    }
}

/// The number of ways to fill `rows` beside `queens`.
fn by_rules(problem: &Problem, rows: &[u32], queens: &mut Vec<Square>) -> u64 {
    let [row, rows @ ..] = rows else { return 1 };
    let mut found = 0;
    for column in 0..problem.n() {
        let square = Square { column, row: *row };
        if !queens.iter().any(|&queen| problem.attack(queen, square)) {
            queens.push(square);
            found += by_rules(problem, rows, queens);
            queens.pop();
        }
    }
    found
}

/// What a row of a torus sees of the rows above it.
#[derive(Clone, Copy)]
struct Torus {
    n: u32,
    left: u32,
    down: u32,
    right: u32,
}

impl Torus {
    fn place(self, bit: u32) -> Torus {
        let Torus { n, left, down, right } = self;
        let (left, right) = (left | bit, right | bit);
        Torus {
            n,
            left: (left << 1 | left >> (n - 1)) & full_mask(n),
            down: down | bit,
            right: right >> 1 | (right & 1) << (n - 1),
        }
    }

    fn count(self) -> u64 {
        let mut free = full_mask(self.n) & !self.down;
        if free == 0 {
            return 1;
        }
        free &= !(self.left | self.right);
        let mut found = 0;
        while free != 0 {
            let bit = free & free.wrapping_neg();
            free ^= bit;
            found += self.place(bit).count();
        }
        found
    }
}

/// What a row sees of the superqueens above it.
#[derive(Clone, Copy)]
struct Superqueens {
    n: u32,
    prefix: Prefix,
    /// The queen of the row above, and of the row above that: a bit or 0.
    last: u32,
    last_but_one: u32,
}

impl Superqueens {
    fn empty(n: u32) -> Superqueens {
        Superqueens { n, prefix: Prefix::EMPTY, last: 0, last_but_one: 0 }
    }

    fn place(self, bit: u32) -> Superqueens {
        let prefix = self.prefix.place(self.n, bit);
        Superqueens { n: self.n, prefix, last: bit, last_but_one: self.last }
    }

    fn count(self) -> u64 {
        let Superqueens { n, prefix, last, last_but_one } = self;
        if prefix.down == full_mask(n) {
            return 1;
        }
        let knights = last << 2 | last >> 2 | last_but_one << 1 | last_but_one >> 1;
        let mut free = prefix.free(n) & !knights;
        let mut found = 0;
        while free != 0 {
            let bit = free & free.wrapping_neg();
            free ^= bit;
            found += self.place(bit).count();
        }
        found
    }
}

/// The rows to fill, each with its free squares.
#[derive(Clone, Copy)]
struct Open {
    len: usize,
    rows: [OpenRow; Given::MAX_N as usize],
}

#[derive(Clone, Copy, Default)]
struct OpenRow {
    row: u32,
    free: u64,
}

impl Open {
    fn new(given: Given, queens: &[Square]) -> Open {
        let all = u64::MAX.checked_shr(u64::BITS - given.n()).unwrap_or(0);
        let mut open = Open { len: 0, rows: [OpenRow::default(); Given::MAX_N as usize] };
        for row in given.open_rows() {
            open.rows[open.len] = OpenRow { row, free: all };
            open.len += 1;
        }
        for queen in given.queens() {
            open.close(queen);
        }
        for &queen in queens {
            let at = open.rows[..open.len].iter().position(|open| open.row == queen.row);
            open.remove(at.expect("a task's queens stand in open rows"));
            open.close(queen);
        }
        open
    }

    fn remove(&mut self, at: usize) -> OpenRow {
        self.len -= 1;
        let row = self.rows[at];
        self.rows[at] = self.rows[self.len];
        row
    }

    /// Closes the squares that a queen attacks.
    fn close(&mut self, queen: Square) {
        let column = 1_u64 << queen.column;
        for open in &mut self.rows[..self.len] {
            let away = open.row.abs_diff(queen.row);
            open.free &= !(column | column << away | column >> away);
        }
    }

    /// The number of ways to fill all rows: by the row with the fewest free squares first, so that
    /// one without any is seen at once.
    fn count(&self) -> u64 {
        let rows = &self.rows[..self.len];
        let fewest = rows.iter().enumerate().min_by_key(|(_, open)| open.free.count_ones());
        let Some((at, _)) = fewest else { return 1 };
        let mut rest = *self;
        let OpenRow { row, mut free } = rest.remove(at);
        if rest.len == 0 {
            return free.count_ones().into();
        }
        let mut found = 0;
        while free != 0 {
            let column = free.trailing_zeros();
            free &= free - 1;
            let mut next = rest;
            next.close(Square { column, row });
            found += next.count();
        }
        found
    }
}
