//! The arguments of the kernel that describe a task: `Split`, `Colour` and `FirstRows` of
//! `kernels.c`, as words of 32 bits in the order of their fields.

use board::colours::{Split, even_lines, odd_lines, share_bounds};

/// The number of threads in a group: THREADS of the text.
pub(crate) const THREADS: u32 = 256;

/// The most rows of a pipeline: DEPTH of the text.
const DEPTH: usize = 7;

/// The most rows of a colour: ROWS of the text.
const ROWS: usize = 32;

/// The words of `FirstRows`.
pub(crate) const WORDS_OF_FIRST_ROWS: usize = 3 * ROWS + 2;

/// The words of `Split`.
const WORDS_OF_SPLIT: usize = 2 * (4 * DEPTH + 3) + 15;

/// A `Split`.
pub(crate) type SplitWords = [u32; WORDS_OF_SPLIT];

/// How many units a group collects for each of its threads before it searches them. The last units
/// of a search leave some threads without work. A larger number makes that rarer and takes more
/// memory.
const UNITS: u32 = 24;

/// A launch of the kernel for one task.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    /// The number of black queens in odd columns.
    pub(crate) odd: usize,
    /// The number of nodes that a group has space for.
    pub(crate) nodes: u32,
    /// The first rows of the counted and of the summed colour.
    pub(crate) first_rows: Vec<u32>,
    /// The `Split`, without its last fields.
    split: Vec<u32>,
}

/// The values of a launch that depend on its batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InBatch {
    /// Whether placements are counted, and not boards.
    pub(crate) counts_placements: bool,
    /// Where the sets of odd columns begin, and how many there are.
    pub(crate) first_set: u32,
    pub(crate) sets: u32,
    /// The number of the launch in its batch.
    pub(crate) index: u32,
    /// The most groups of a launch.
    pub(crate) most_groups: u32,
}

impl Launch {
    /// The launch for a task of a board of size `n`.
    pub(crate) fn new(n: u32, split: Split) -> Launch {
        let (black, white) = (Rows::of_black(n, split), Rows::of_white(n, split));
        // The colour with fewer queens is counted, so that no cell overflows.
        let black_is_counted = black.len() <= white.len();
        let [counted, summed] = if black_is_counted { [black, white] } else { [white, black] };
        let (class, bounds) = (split.class(n), share_bounds(n, split));
        let mut words = [counted.colour(), summed.colour()].concat();
        words.extend([n, u32::from(black_is_counted), counted.even.len() as u32]);
        words.extend([(class.number() >> 32) as u32, class.number() as u32]);
        words.extend([*bounds.start(), *bounds.end(), 1, u32::MAX]);
        let (firsts, lens): (Vec<_>, Vec<_>) =
            [counted, summed].iter().map(|rows| rows.first_rows(n)).unzip();
        Launch {
            odd: split.odd.count_ones() as usize,
            nodes: lens.into_iter().max().expect("there are two colours"),
            first_rows: firsts.concat(),
            split: words,
        }
    }

    /// The `Split`.
    pub(crate) fn split(&self, batch: InBatch) -> SplitWords {
        let InBatch { counts_placements, first_set, sets, index, most_groups } = batch;
        let rest = [u32::from(counts_placements), first_set, sets, index, most_groups, self.nodes];
        [&self.split[..], &rest].concat().try_into().expect("these are its fields")
    }
}

/// The bytes of words, as a device of this machine reads them.
pub(crate) fn bytes(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_ne_bytes).collect()
}

/// How the diagonals of a row are numbered: `low` and `high` of the text.
#[derive(Clone, Copy, Debug)]
struct Shifts {
    low: u32,
    high: u32,
}

/// The rows of one colour, in the order in which they get queens.
#[derive(Clone, Debug)]
struct Rows {
    odd: Vec<Shifts>,
    even: Vec<Shifts>,
}

impl Rows {
    fn of_black(n: u32, split: Split) -> Rows {
        let last = even_lines(n) - 1;
        Rows {
            odd: rows(split.odd, odd_lines(n), |i| Shifts { low: i + 1, high: last - i }),
            even: rows(split.even, even_lines(n), |i| Shifts { low: i, high: last - i }),
        }
    }

    fn of_white(n: u32, split: Split) -> Rows {
        let last = even_lines(n) - 1;
        let (even, odd) = (even_lines(n), odd_lines(n));
        Rows {
            odd: rows(!split.even, even, |i| Shifts { low: i, high: last - i + 1 }),
            even: rows(!split.odd, odd, |i| Shifts { low: i, high: last - i }),
        }
    }

    fn len(&self) -> usize {
        self.odd.len() + self.even.len()
    }

    /// The number of rows of a pipeline. If the colour has enough rows, two of them are left to the
    /// units, which makes the units many and small.
    fn depth(&self) -> usize {
        self.even.len().saturating_sub(2).clamp(1, DEPTH).min(self.even.len())
    }

    /// The words of the `Colour`.
    fn colour(&self) -> Vec<u32> {
        let depth = self.depth();
        let last: Vec<Shifts> = self.even.iter().rev().take(depth).copied().collect();
        let field = |value: &dyn Fn(&Shifts) -> u32| {
            let mut field = [0; DEPTH];
            field.iter_mut().zip(&last).for_each(|(word, row)| *word = value(row));
            field
        };
        let mut words = Vec::new();
        words.extend(field(&|row| row.low));
        words.extend(field(&|row| row.high));
        words.extend(field(&|row| 1 << row.low));
        words.extend(field(&|row| 1 << row.high));
        words.extend([depth, self.len() - depth, self.odd.len()].map(|len| len as u32));
        words
    }

    /// The words of the `FirstRows`, and the number of nodes that a group must have space for.
    fn first_rows(&self, n: u32) -> (Vec<u32>, u32) {
        let first = self.len() - self.depth();
        let rows: Vec<Shifts> = self.odd.iter().chain(&self.even).take(first).copied().collect();
        let (mut low, mut high, mut at) = ([0; ROWS], [0; ROWS], [0; ROWS + 2]);
        for (level, row) in rows.iter().enumerate() {
            (low[level], high[level]) = (row.low, row.high);
        }
        // When a level is searched, the next level has fewer nodes than the group has threads. Then
        // each thread may add a node for each column.
        let mut space = THREADS;
        for level in 0..first {
            at[level + 1] = space;
            let columns = match level.checked_sub(self.odd.len()) {
                None => (self.odd.len() - level) as u32,
                Some(level) => even_lines(n) - level as u32,
            };
            space += THREADS * (columns + 1);
        }
        // The units begin where the last level begins.
        let units = THREADS * (UNITS + even_lines(n) + 1);
        space = at[first] + units;
        at[first + 1] = space;
        ([&low[..], &high[..], &at[..]].concat(), space)
    }
}

/// The rows in `set`, which has a bit for each of `lines` lines. The rows in the middle of the
/// board come first, because they attack most squares.
fn rows(set: u32, lines: u32, shifts: impl Fn(u32) -> Shifts) -> Vec<Shifts> {
    let mut rows: Vec<u32> = (0..lines).filter(|line| set >> line & 1 == 1).collect();
    rows.sort_by_key(|row| (2 * row + 1).abs_diff(lines));
    rows.into_iter().map(shifts).collect()
}
