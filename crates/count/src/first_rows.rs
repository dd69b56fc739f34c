//! Problems that are cut by their first rows: a torus, superqueens, completions.
//!
//! A task names queens ([`board::first_rows`]); what is below them is searched, in one of these ways:
//!
//! ```text
//!   reference     any of them by the rules, square by square
//!   torus         a mask for each row; diagonals too are lines that need a queen
//!   superqueens   two more masks, of the squares a knight's move below
//!   ground        completions: the search between the queens of a `ring`, with what the given ones
//!                 attack closed; N up to 32
//!   open          the same for larger N: the row with the fewest free squares first, a mask for each
//! ```

use board::first_rows::queens;
use board::{Given, MAX_N, Prefix, Problem, Square, TaskSlice, Tasks, full_mask};

use crate::Backend;
use crate::engine::Engine;
use crate::ground::{Ground, Row};

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
    Ground(Box<GroundSearch>),
    Open(Given),
}

/// The search of a ground, the rows that tasks leave open.
struct GroundSearch {
    engine: Engine,
    given: Given,
    rows: Vec<Row>,
    /// The tasks, as the first of these rows sees them.
    states: Tasks,
}

impl FirstRows {
    /// For tasks of a problem that is no total. `None` if the processor lacks the backend.
    pub(crate) fn new(backend: Backend, problem: Problem, rows: u32) -> Option<FirstRows> {
        let search = match (backend, problem) {
            (Backend::Reference, _) => Search::Rules,
            (_, Problem::Toroidal { .. }) => Search::Torus,
            (_, Problem::Superqueens { .. }) => Search::Superqueens,
            (_, Problem::Completions(given)) if given.n() <= MAX_N => {
                Search::Ground(Box::new(GroundSearch::new(backend, given, rows)?))
            }
            (_, Problem::Completions(given)) => Search::Open(given),
            (_, Problem::Total { .. } | Problem::Fundamental { .. }) => {
                unreachable!("a total is cut by prefixes")
            }
        };
        Some(FirstRows { problem, rows, search })
    }

    /// Whether a record is a task of this problem.
    pub(crate) fn holds(&self, record: Prefix) -> bool {
        queens(&self.problem, self.rows, record).is_some()
    }

    /// The number of completions of all `tasks`, each of which this problem
    /// [`holds`](FirstRows::holds).
    pub(crate) fn completions(&mut self, tasks: TaskSlice<'_>) -> u64 {
        let FirstRows { problem, rows, .. } = *self;
        let of_task = |i| queens(&problem, rows, tasks.get(i).0).expect("the tasks were checked");
        let queens = (0..tasks.len()).map(of_task);
        match &mut self.search {
            Search::Ground(ground) => ground.completions(queens),
            _ => queens.map(|queens| self.below(queens)).sum(),
        }
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
            Search::Torus => Torus::new(n, &queens).count(),
            Search::Superqueens => {
                let place = |board: Superqueens, queen: &Square| board.place(1 << queen.column);
                queens.iter().fold(Superqueens::empty(n), place).count()
            }
            Search::Open(given) => Open::new(given, &queens).count(),
            Search::Ground(_) => unreachable!("it takes all tasks at a time"),
        }
    }
}

impl GroundSearch {
    /// `None` if the processor lacks the backend.
    fn new(backend: Backend, given: Given, placed: u32) -> Option<GroundSearch> {
        let n = given.n();
        let open: Vec<u32> = given.open_rows().collect();
        let (above, below) = open.split_at(placed as usize);
        let mut last = above.last().copied();
        let rows = below.iter().map(|&row| {
            let seen = given.queens().map(|queen| {
                let away = queen.row.abs_diff(row);
                let bit = 1_u64 << queen.column;
                (bit << away | bit >> away) as u32 & full_mask(n)
            });
            let closed = seen.fold(0, |closed, seen| closed | seen);
            let step = last.replace(row).map_or(1, |last| row - last);
            Row { closed, step }
        });
        let rows: Vec<Row> = rows.collect();
        let engine = Engine::new(backend, n, rows.len() as u32)?;
        Some(GroundSearch { engine, given, rows, states: Tasks::new() })
    }

    fn completions(&mut self, tasks: impl Iterator<Item = Vec<Square>>) -> u64 {
        let n = self.given.n();
        let given = self.given.queens().fold(0, |taken, queen| taken | 1 << queen.column);
        self.states.clear();
        for queens in tasks {
            let first = self.given.open_rows().nth(queens.len());
            let mut state = Prefix { down: given, ..Prefix::EMPTY };
            for queen in queens {
                let away = first.map_or(0, |first| first - queen.row);
                let bit = 1_u64 << queen.column;
                state.left |= (bit << away) as u32 & full_mask(n);
                state.down |= bit as u32;
                state.right |= (bit >> away) as u32;
            }
            self.states.push(state, 1);
        }
        let ground = Ground { columns: full_mask(n), rows: &self.rows };
        self.engine.completions(ground, self.states.as_slice())
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

/// The rows of a torus to fill. Beside rows and columns every diagonal has exactly one queen, so that
/// any of these lines without a free square ends the search, and one with a single one decides it.
#[derive(Clone, Copy)]
struct Torus {
    n: u32,
    len: usize,
    rows: [OpenRow; MAX_N as usize],
}

/// Lines of one kind: those with a free square, with two or more, and with three or more.
#[derive(Clone, Copy, Default)]
struct Lines {
    any: u64,
    two: u64,
    three: u64,
}

impl Lines {
    fn see(&mut self, free: u64) {
        self.three |= self.two & free;
        self.two |= self.any & free;
        self.any |= free;
    }

    /// One of the lines with so many free squares, 1 or 2, if there is any; a bit or 0.
    fn with(self, squares: u32) -> u64 {
        let lines = if squares == 1 { self.any & !self.two } else { self.two & !self.three };
        lines & lines.wrapping_neg()
    }
}

impl Torus {
    fn new(n: u32, queens: &[Square]) -> Torus {
        let mut torus = Torus { n, len: 0, rows: [OpenRow::default(); MAX_N as usize] };
        for row in queens.len() as u32..n {
            torus.rows[torus.len] = OpenRow { row, free: full_mask(n).into() };
            torus.len += 1;
        }
        queens.iter().for_each(|&queen| torus.close(queen));
        torus
    }

    /// The columns, each `by` higher, around the torus; `by` is at most N.
    fn turn(&self, columns: u64, by: u32) -> u64 {
        (columns << by | columns >> (self.n - by)) & u64::from(full_mask(self.n))
    }

    fn close(&mut self, queen: Square) {
        let column = 1 << queen.column;
        for at in 0..self.len {
            let away = self.rows[at].row.abs_diff(queen.row);
            let attacked = column | self.turn(column, away) | self.turn(column, self.n - away);
            self.rows[at].free &= !attacked;
        }
    }

    fn place(&self, at: usize, column: u32) -> Torus {
        let mut next = *self;
        let row = next.rows[at].row;
        next.len -= 1;
        next.rows[at] = next.rows[next.len];
        next.close(Square { column, row });
        next
    }

    fn count(&self) -> u64 {
        if self.len == 0 {
            return 1;
        }
        let [mut columns, mut sums, mut differences] = [Lines::default(); 3];
        let (mut fewest, mut chosen) = (u32::MAX, 0);
        for (at, open) in self.rows[..self.len].iter().enumerate() {
            let squares = open.free.count_ones();
            if squares < fewest {
                (fewest, chosen) = (squares, at);
            }
            columns.see(open.free);
            sums.see(self.turn(open.free, open.row));
            differences.see(self.turn(open.free, self.n - open.row));
        }
        // As many lines of each kind are left as rows are.
        let dead = |lines: Lines| lines.any.count_ones() < self.len as u32;
        if fewest == 0 || dead(columns) || dead(sums) || dead(differences) {
            return 0;
        }
        for squares in 1..fewest.min(3) {
            let lines = [columns, sums, differences].map(|lines| lines.with(squares));
            if let Some(kind) = lines.iter().position(|line| *line != 0) {
                return self.count_line(kind, lines[kind]);
            }
        }
        let mut free = self.rows[chosen].free;
        let mut found = 0;
        while free != 0 {
            found += self.place(chosen, free.trailing_zeros()).count();
            free &= free - 1;
        }
        found
    }

    /// The placements with a queen on each free square of a line in turn: one of the columns, the sums
    /// of column and row, or the differences.
    fn count_line(&self, kind: usize, line: u64) -> u64 {
        let mut found = 0;
        for (at, open) in self.rows[..self.len].iter().enumerate() {
            let column = match kind {
                0 => line,
                1 => self.turn(line, self.n - open.row),
                _ => self.turn(line, open.row),
            };
            if open.free & column != 0 {
                found += self.place(at, column.trailing_zeros()).count();
            }
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
