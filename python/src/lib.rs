//! The Python package `queens_count`: the crate `queens` with Python's types and errors.
//!
//! It deliberately knows nothing of how queens are counted, placed or drawn. The comments on public
//! items are the docstrings for Python's users. `queens_count.pyi` has the types.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::task::Poll;
use std::time::{Duration, Instant};
use std::{fmt, thread};

use pyo3::exceptions::{PyIndexError, PyOverflowError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use queens::{
    Completion, Construction, Counting, CountingError, Problem, Rules, Shard, Square, Start,
    complete_until,
};
use queens_solve::board::squares::parse_squares;
use queens_solve::draw::{Diagram, svg, text};

/// The approximate time that a call works before it checks Python's signals again.
const STEP: Duration = Duration::from_millis(20);

/// The largest board that can be drawn.
const LARGEST_DRAWING: u32 = 200;

#[pymodule(name = "queens_count")]
fn library(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add(
        "__doc__",
        "N non-attacking queens on an N x N board: counted, listed, found and completed.",
    )?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Placement>()?;
    module.add_function(wrap_pyfunction!(count, module)?)?;
    module.add_function(wrap_pyfunction!(solutions, module)?)?;
    module.add_function(wrap_pyfunction!(fundamental, module)?)?;
    module.add_function(wrap_pyfunction!(solve, module)?)?;
    module.add_function(wrap_pyfunction!(complete, module)?)?;
    module.add_function(wrap_pyfunction!(draw, module)?)
}

/// The number of placements of n queens on an n x n board, none attacking another.
///
/// problem: "total" (all placements), "fundamental" (up to the eight symmetries of the square),
///     "toroidal" (diagonals go on at the opposite edge) or "superqueens" (queens that also move as
///     knights).
/// given: names of squares that have a queen, such as "a1 c2" or ["a1", "c2"]; with the problem
///     "total" only.
/// shard: (index, shards), to count one of many equal parts of the board, from (1, shards) to
///     (shards, shards). The counts of all of them add up to the whole, if one version of this
///     package counts them. With the problem "fundamental" there are none.
/// threads: how many threads count, all processors by default.
/// progress: is called with the fraction of tasks that are done, about fifty times a second at
///     most.
///
/// n is from 0 to 32, and with given queens to 64. The result is exact. 18 queens take about a
/// second on two cores, and each further one six to eight times as long. Ctrl-C ends a count, and
/// other Python threads run during it.
///
/// Raises ValueError for wrong arguments, and RuntimeError if the machine miscounts or refuses
/// threads.
#[pyfunction]
#[pyo3(
    signature = (n, *, problem = "total", given = Squares::default(), shard = None, threads = None, progress = None),
    text_signature = "(n, *, problem='total', given=(), shard=None, threads=None, progress=None)"
)]
fn count(
    py: Python<'_>,
    n: Size,
    problem: &str,
    given: Squares,
    shard: Option<Part>,
    threads: Option<Threads>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<u128> {
    let problem = match problem_named(problem, n)? {
        problem if given.0.is_empty() => problem,
        Problem::Total { n } => Problem::completions(n, &given.0).map_err(value_error)?,
        problem => {
            let name = problem.name();
            let reason = "given queens are counted with the problem total only";
            return Err(value_error(format!("{reason}: list those of {name} by solutions()")));
        }
    };
    let stop = Arc::new(AtomicBool::new(false));
    let fraction = Arc::new(AtomicU64::new(0_f64.to_bits()));
    let (sender, mut receiver) = channel();
    let counting = {
        let (stop, fraction) = (Arc::clone(&stop), Arc::clone(&fraction));
        move || {
            let mut counting = Counting::new(problem).stop(&stop).on_progress(|progress| {
                let done = progress.tasks_done as f64 / progress.tasks as f64;
                fraction.store(done.to_bits(), Ordering::Relaxed);
            });
            if let Some(Part(shard)) = shard {
                counting = counting.shard(shard);
            }
            if let Some(Threads(threads)) = threads {
                counting = counting.threads(threads);
            }
            // Nobody receives the result after an interruption.
            let _ = sender.send(counting.run());
        }
    };
    let refused = |error| PyRuntimeError::new_err(format!("the system refuses a thread: {error}"));
    thread::Builder::new().spawn(counting).map_err(refused)?;

    let report = |fraction: f64| match &progress {
        Some(progress) => progress.call1((fraction,)).map(drop),
        None => Ok(()),
    };
    let mut reported = 0_f64.to_bits();
    let mut heed_python = || {
        py.check_signals()?;
        let fraction = fraction.load(Ordering::Relaxed);
        if fraction == std::mem::replace(&mut reported, fraction) {
            return Ok(());
        }
        report(f64::from_bits(fraction))
    };
    loop {
        match py.detach(|| receiver_timeout(&mut receiver)) {
            Ok(counted) => {
                let count = counted.map_err(counting_error)?.answer.count();
                report(1.0)?;
                return Ok(count);
            }
            // The counting threads finish their current tasks, and nobody waits for them.
            Err(RecvTimeoutError::Timeout) => {
                heed_python().inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("a counting thread has panicked: report this"));
            }
        }
    }
}

fn receiver_timeout<T>(receiver: &mut std::sync::mpsc::Receiver<T>) -> Result<T, RecvTimeoutError> {
    receiver.recv_timeout(STEP)
}

/// The placements of n queens, as an iterator that searches only when it is asked for the next one.
///
/// They come in lexicographic order of columns. problem and given are those of count(), and with
/// all problems queens can be given; of "fundamental", one placement of each orbit comes. blocked
/// names squares that have no queen.
///
/// Raises ValueError for wrong arguments.
#[pyfunction]
#[pyo3(
    signature = (n, *, problem = "total", given = Squares::default(), blocked = Squares::default()),
    text_signature = "(n, *, problem='total', given=(), blocked=())"
)]
fn solutions(n: Size, problem: &str, given: Squares, blocked: Squares) -> PyResult<Listing> {
    let (problem, start) = start(n, problem, &given, &blocked)?;
    Ok(Listing(match problem.counts_orbits() {
        true => queens::Solutions::fundamental(start),
        false => queens::solutions(start),
    }))
}

/// One placement of each orbit under the eight symmetries of the square: solutions() of
/// "fundamental".
#[pyfunction]
fn fundamental(n: Size) -> Listing {
    Listing(queens::Solutions::fundamental(n.0))
}

/// One placement of n queens, by construction, in time linear in n.
///
/// Raises ValueError for n = 2 and 3, which have none, and beyond 10**8.
#[pyfunction]
fn solve(py: Python<'_>, n: Size) -> PyResult<Placement> {
    py.detach(|| queens::solve(n.0)).map(Placement).map_err(value_error)
}

/// A placement that has the given queens and none on a blocked square, or None if there is none.
///
/// problem says how queens attack, as in count(). Equal seeds give equal results.
///
/// Raises ValueError for wrong arguments.
#[pyfunction]
#[pyo3(
    signature = (n, given = Squares::default(), *, blocked = Squares::default(), problem = "total", seed = 0),
    text_signature = "(n, given=(), *, blocked=(), problem='total', seed=0)"
)]
fn complete(
    py: Python<'_>,
    n: Size,
    given: Squares,
    blocked: Squares,
    problem: &str,
    seed: u64,
) -> PyResult<Option<Placement>> {
    let (_, start) = start(n, problem, &given, &blocked)?;
    let mut interrupted = Ok(());
    let mut looked = Instant::now();
    let stop = || {
        if looked.elapsed() >= STEP {
            interrupted = Python::attach(|py| py.check_signals());
            looked = Instant::now();
        }
        interrupted.is_err()
    };
    let completion = py.detach(|| complete_until(&start, seed, stop));
    interrupted?;
    Ok(match completion {
        Completion::Found(placement) => Some(Placement(placement)),
        Completion::Impossible | Completion::Undecided => None,
    })
}

/// The board of a placement, as "text" or "svg". n is from 1 to 200.
///
/// Raises ValueError for other boards and formats.
#[pyfunction]
#[pyo3(signature = (placement, format = "text"))]
fn draw(placement: &Placement, format: &str) -> PyResult<String> {
    let drawn = match format {
        "text" => placement.diagram().map(|diagram| text(&diagram, false)),
        "svg" => placement._repr_svg_(),
        _ => return Err(value_error(format!("`{format}` is no format: give text or svg"))),
    };
    drawn.ok_or_else(|| {
        let n = placement.0.n();
        let sizes = format!("give one from 1 to {LARGEST_DRAWING}");
        value_error(format!("a board of size {n} cannot be drawn: {sizes}"))
    })
}

/// N queens on an N x N board, one in each row, none attacking another.
///
/// It is a sequence of the columns of the queens, from row 0 on, both counted from 0. str() gives
/// the columns counted from 1, and notebooks show the board. It is made of such columns, or of a
/// text: "2 4 1 3", "b1 d2 a3 c4" or a drawn board.
///
/// Raises ValueError if the queens are not a placement.
#[pyclass(frozen, eq, ord, hash, sequence, module = "queens_count")]
#[derive(PartialEq, PartialOrd, Hash)]
struct Placement(queens::Placement);

#[pymethods]
impl Placement {
    #[new]
    fn new(queens: &Bound<'_, PyAny>) -> PyResult<Placement> {
        if let Ok(text) = queens.cast::<PyString>() {
            return text.to_cow()?.parse().map(Placement).map_err(value_error);
        }
        let column = |column: PyResult<Bound<'_, PyAny>>| {
            let column = column?;
            column.extract().map_err(|error| {
                let reason = || format!("{column} is no column: they are counted from 0");
                value_error_if_overflow(column.py(), error, reason)
            })
        };
        let columns = queens.try_iter()?.map(column).collect::<PyResult<Vec<u32>>>()?;
        queens::Placement::new(columns).map(Placement).map_err(value_error)
    }

    /// The size of the board.
    #[getter]
    fn n(&self) -> u32 {
        self.0.n()
    }

    /// The column of each row's queen, counted from 0.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.columns())
    }

    /// The names of the queens' squares, such as "a1", row by row.
    #[getter]
    fn squares(&self) -> Vec<String> {
        self.0.squares().map(|square| square.to_string()).collect()
    }

    /// "no symmetry", "half turn" or "quarter turn": the rotation that leaves the placement
    /// unchanged.
    #[getter]
    fn symmetry(&self) -> &'static str {
        self.0.symmetry_class().name()
    }

    /// The placements that rotations and reflections make of this one, each once, in order.
    fn orbit(&self) -> Vec<Placement> {
        self.0.orbit().into_iter().map(Placement).collect()
    }

    fn _repr_svg_(&self) -> Option<String> {
        Some(svg(&self.diagram()?, false))
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Placement({:?})", self.0.columns())
    }

    fn __len__(&self) -> usize {
        self.0.columns().len()
    }

    fn __getitem__(&self, row: isize) -> PyResult<u32> {
        let columns = self.0.columns();
        let beyond =
            || PyIndexError::new_err(format!("row {row}: there are {} rows", columns.len()));
        // Negative rows are counted from the end.
        let index =
            if row < 0 { columns.len().checked_add_signed(row) } else { Some(row as usize) };
        index.and_then(|index| columns.get(index)).copied().ok_or_else(beyond)
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>,)> {
        Ok((self.columns(py)?,))
    }
}

impl Placement {
    /// The drawing of the placement, unless the board is too small or too large for it.
    fn diagram(&self) -> Option<Diagram> {
        let n = self.0.n();
        let queens = || self.0.squares().collect();
        (1..=LARGEST_DRAWING).contains(&n).then(|| Diagram { n, queens: queens() })
    }
}

/// An iterator over placements.
#[pyclass(name = "Solutions", module = "queens_count")]
struct Listing(queens::Solutions);

#[pymethods]
impl Listing {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Placement>> {
        /// The number of steps of the search, which take about ten milliseconds.
        const STEPS: u64 = 2_000_000;
        loop {
            // Python's `list` does not check signals, so this is done here.
            py.check_signals()?;
            if let Poll::Ready(placement) = py.detach(|| self.0.next_within(STEPS)) {
                return Ok(placement.map(Placement));
            }
        }
    }
}

/// The size of a board that fits into memory.
#[derive(Clone, Copy)]
struct Size(u32);

impl<'py> FromPyObject<'_, 'py> for Size {
    type Error = PyErr;

    fn extract(size: Borrowed<'_, 'py, PyAny>) -> PyResult<Size> {
        let most = Construction::LARGEST;
        let reason =
            || format!("a board of size {}: give a size from 0 to {most}", size.to_owned());
        match size.extract() {
            Ok(n) if n <= most => Ok(Size(n)),
            Ok(_) => Err(value_error(reason())),
            Err(error) => Err(value_error_if_overflow(size.py(), error, reason)),
        }
    }
}

/// The number of threads for a count: 1 or more.
struct Threads(usize);

impl<'py> FromPyObject<'_, 'py> for Threads {
    type Error = PyErr;

    fn extract(threads: Borrowed<'_, 'py, PyAny>) -> PyResult<Threads> {
        let reason = || format!("{}: give threads from 1 to 2**64 - 1", threads.to_owned());
        match threads.extract() {
            Ok(0) => Err(value_error(reason())),
            Ok(threads) => Ok(Threads(threads)),
            Err(error) => Err(value_error_if_overflow(threads.py(), error, reason)),
        }
    }
}

/// A shard of a board: its number and the number of shards.
struct Part(Shard);

impl<'py> FromPyObject<'_, 'py> for Part {
    type Error = PyErr;

    fn extract(shard: Borrowed<'_, 'py, PyAny>) -> PyResult<Part> {
        let reason = || {
            let most = Shard::MOST;
            let numbers = "give (INDEX, SHARDS) with INDEX from 1 to SHARDS";
            format!("{} is no shard: {numbers}, and at most {most} shards", shard.to_owned())
        };
        match shard.extract() {
            Ok((index, of)) => Shard::new(index, of).map(Part).map_err(|_| value_error(reason())),
            Err(error) => Err(value_error_if_overflow(shard.py(), error, reason)),
        }
    }
}

/// Squares by their names: a text, or texts of one square each.
#[derive(Default)]
struct Squares(Vec<Square>);

impl<'py> FromPyObject<'_, 'py> for Squares {
    type Error = PyErr;

    fn extract(squares: Borrowed<'_, 'py, PyAny>) -> PyResult<Squares> {
        if let Ok(text) = squares.cast::<PyString>() {
            let text = text.to_cow()?;
            return parse_squares(&text).map(Squares).map_err(value_error);
        }
        let square = |name: PyResult<Bound<'_, PyAny>>| {
            name?.cast::<PyString>()?.to_cow()?.parse().map_err(value_error)
        };
        squares.try_iter()?.map(square).collect::<PyResult<_>>().map(Squares)
    }
}

fn problem_named(name: &str, Size(n): Size) -> PyResult<Problem> {
    let mut problems = Problem::all(n).filter(|problem| problem.given().is_none());
    problems.find(|problem| problem.name() == name).ok_or_else(|| {
        let names = "total, fundamental, toroidal or superqueens";
        value_error(format!("`{name}` is no problem: give {names}"))
    })
}

/// A problem, and the squares that its placements must and must not have.
fn start(n: Size, problem: &str, given: &Squares, blocked: &Squares) -> PyResult<(Problem, Start)> {
    let problem = problem_named(problem, n)?;
    let rules = match problem {
        Problem::Total { .. } | Problem::Fundamental { .. } | Problem::Completions(_) => {
            Rules::Plain
        }
        Problem::Toroidal { .. } => Rules::Torus,
        Problem::Superqueens { .. } => Rules::Superqueens,
    };
    let start = Start::with_rules(n.0, rules, &given.0).map_err(value_error)?;
    Ok((problem, start.blocking(&blocked.0).map_err(value_error)?))
}

fn counting_error(error: CountingError) -> PyErr {
    let reason = error.to_string();
    match error {
        CountingError::Plan(_) | CountingError::Orbits => PyValueError::new_err(reason),
        _ => PyRuntimeError::new_err(reason),
    }
}

fn value_error(reason: impl fmt::Display) -> PyErr {
    PyValueError::new_err(reason.to_string())
}

/// Python's error. If a number is negative or too large, it becomes a ValueError with this reason.
fn value_error_if_overflow(py: Python<'_>, error: PyErr, reason: impl FnOnce() -> String) -> PyErr {
    match error.is_instance_of::<PyOverflowError>(py) {
        true => value_error(reason()),
        false => error,
    }
}
