//! Plain words of 64 bits, for every processor.
//!
//! A node is a few words of four *fields* of 16 bits each. The first field is the number of the
//! placement, and the next ones are the free columns of the rows at levels 0, 1 and so on.
//!
//! ```text
//!   word 0   number, level 0, level 1, level 2      the lowest field first
//!   word 1   level 3, level 4, level 5, level 6
//! ```
//!
//! A queen only takes away: columns from every row to come, and its bit from the number. (The
//! numbers of black placements grow, so they are kept inverted.) So a child is its parent's words,
//! each ANDed with the *mask* of the queen's level, word and column.
//!
//! Almost nothing branches on a set of columns. [`Columns::list`] writes the columns of a set from
//! two tables, one for the lowest 11 columns and one for the others. It always writes the first
//! four values of a table, and eight more if there are more than four, and advances by the number
//! of columns. It is used twice. From a block of nodes it makes a list of all their children, which
//! are then made in one plain loop, stored in any case, and kept if each row to come has a free
//! column. And it makes the placements of the last row from the columns that the last queen but one
//! leaves.

use std::ops::Range;

use board::colours::even_lines;
use board::ones;

use super::{ColourSearch, Roots};
use crate::colours::colour::{Attack, Colour, MAX_ROWS};

/// The number of nodes or placements above which a buffer is worked off.
const CAPACITY: usize = 2048;

/// The nodes whose children are listed at a time. With 64 or 128 the search takes 8% longer at N =
/// 20.
const BLOCK: usize = 256;

/// The most columns of a set.
const WIDTH: usize = 16;

/// The most words of a node.
const MOST_WORDS: usize = words(MAX_ROWS - 1);

/// The number of words of a node at a level.
const fn words(level: usize) -> usize {
    (level + 5) / 4
}

/// The word and the first bit of the field of the row at a level.
const fn field(level: usize) -> (usize, usize) {
    ((level + 1) / 4, (level + 1) % 4 * 16)
}

/// One word of many nodes.
type Words = Box<[u64; CAPACITY + BLOCK * WIDTH]>;

/// Values of columns. Up to twelve values behind the last one may be overwritten.
type List = [u16; BLOCK * WIDTH + 12];

/// The search, with its tables and buffers.
pub(crate) struct Portable {
    /// The columns that every attack takes, by [`Attack::index`] and the queen's column.
    attacks: Vec<[u16; WIDTH]>,
    /// The columns of a set by their numbers, for the lists of children.
    places: Columns,
    /// What a queen of the last row changes in a number: in an odd column and in an even one.
    ends: [Columns; 2],
    /// The levels of the present search.
    levels: Vec<Level>,
    /// By level: the nodes, word by word.
    nodes: Vec<Vec<Words>>,
    /// The children of a block: 16 times the place of their parent, plus the queen's column.
    children: Box<List>,
    /// The numbers of placements.
    found: Vec<u16>,
    /// The bits of a number that the present search keeps inverted: those of the place in a row for
    /// black queens, and none for white ones.
    inverted: u16,
}

/// The row at a level.
struct Level {
    /// By word and column of its queen: what the queen leaves in the words of the level below.
    masks: [[u64; WIDTH]; MOST_WORDS],
    /// By word: a number that is added to the fields without their highest bits. The sum or the
    /// field itself then has this bit, unless the field is that of a row at this level or below and
    /// is 0.
    filled: [u64; MOST_WORDS],
    /// Whether its queen stands in an even column.
    is_even: bool,
}

/// The highest bit of each field.
const TOP: u64 = 0x8000_8000_8000_8000;

/// A value for each column, and the values of the columns of each set of the lowest 11 columns, and
/// of each set of the highest 5.
struct Columns {
    low: Box<Table<{ 1 << LOW }>>,
    /// `None` if the board has no more even columns than the lowest 11.
    high: Option<Box<Table<{ 1 << (WIDTH - LOW) }>>>,
}

/// The columns whose sets are in one table.
const LOW: usize = 11;

/// Sets of columns.
struct Table<const SETS: usize> {
    /// The values of the first four columns, the lowest one first.
    first: [u64; SETS],
    /// The values of the other columns.
    rest: [[u64; 2]; SETS],
    /// How many columns a set has.
    len: [u8; SETS],
}

impl<const SETS: usize> Table<SETS> {
    fn new(value: impl Fn(u32) -> u16) -> Box<Table<SETS>> {
        let mut table = Box::new(Table { first: [0; SETS], rest: [[0; 2]; SETS], len: [0; SETS] });
        let Table { first, rest, len } = &mut *table;
        for (set, ((first, rest), len)) in first.iter_mut().zip(rest).zip(len).enumerate() {
            for (place, column) in ones(set as u64).enumerate() {
                let word = if place < 4 { &mut *first } else { &mut rest[place / 4 - 1] };
                *word |= u64::from(value(column)) << (place % 4 * 16);
                *len += 1;
            }
        }
        table
    }

    /// Writes the values of a set, changed by the bits of `four`. Returns the place behind them.
    #[inline(always)]
    fn list(&self, set: usize, four: u64, out: &mut [u16], at: usize) -> usize {
        let set = set % SETS;
        let len = usize::from(self.len[set]);
        put(out, at, self.first[set] ^ four);
        if len > 4 {
            put(out, at + 4, self.rest[set][0] ^ four);
            put(out, at + 8, self.rest[set][1] ^ four);
        }
        at + len
    }
}

impl Columns {
    fn new(columns: u32, value: impl Fn(u32) -> u16) -> Columns {
        let high =
            (columns as usize > LOW).then(|| Table::new(|column| value(LOW as u32 + column)));
        Columns { low: Table::new(value), high }
    }

    /// Writes the values of a set's columns, each with `bits` changed, from place `len` on. Returns
    /// the place behind them. Up to twelve more numbers are written there.
    ///
    /// More than four columns are rare where most of the time is spent, so that a branch for them
    /// costs little.
    #[inline(always)]
    fn list(&self, set: u16, bits: u16, out: &mut [u16], len: usize) -> usize {
        let four = u64::from(bits) * 0x0001_0001_0001_0001;
        let set = usize::from(set);
        let len = self.low.list(set, four, out, len);
        match &self.high {
            Some(high) => high.list(set >> LOW, four, out, len),
            None => len,
        }
    }
}

/// One word of each node of a block. Behind the last node, the words have no meaning.
#[inline(always)]
fn parents(nodes: &Words, start: usize) -> &[u64; BLOCK] {
    nodes[start..].first_chunk().expect("blocks divide the buffer")
}

/// Writes the four numbers of a word.
#[inline(always)]
fn put(out: &mut [u16], at: usize, word: u64) {
    let numbers = [word as u16, (word >> 16) as u16, (word >> 32) as u16, (word >> 48) as u16];
    out[at..at + 4].copy_from_slice(&numbers);
}

impl Portable {
    /// The search for boards of size `n`.
    pub(crate) fn new(n: u32) -> Portable {
        let even = even_lines(n);
        let columns = |attack: Attack| std::array::from_fn(|column| attack.columns(1 << column));
        let word = |_| vec![0; CAPACITY + BLOCK * WIDTH].try_into().expect("it is as long");
        let buffer = |level| (0..words(level)).map(word).collect();
        Portable {
            attacks: Attack::all().map(columns).collect(),
            places: Columns::new(even, |column| column as u16),
            ends: [
                Columns::new(even, |_| 0),
                Columns::new(even, |column| (1_u32 << column >> 1) as u16),
            ],
            levels: (0..n as usize).map(Level::new).collect(),
            nodes: (0..n as usize).map(buffer).collect(),
            children: Box::new([0; BLOCK * WIDTH + 12]),
            found: vec![0; CAPACITY + BLOCK * WIDTH * WIDTH + 12],
            inverted: 0,
        }
    }

    /// Makes the children of `len` nodes at a level, and works off everything below them.
    fn work_off(&mut self, level: usize, len: usize, found: &mut dyn FnMut(&[u16])) {
        let nodes = std::mem::take(&mut self.nodes[level]);
        let mut stored = 0;
        for start in (0..len).step_by(BLOCK) {
            let block = start..len.min(start + BLOCK);
            stored = match words(level.saturating_sub(1)) {
                _ if level < 2 => self.place_last(level, &nodes, block, stored),
                1 => self.place::<1>(level, &nodes, block, stored),
                2 => self.place::<2>(level, &nodes, block, stored),
                3 => self.place::<3>(level, &nodes, block, stored),
                4 => self.place::<4>(level, &nodes, block, stored),
                5 => self.place::<5>(level, &nodes, block, stored),
                6 => self.place::<6>(level, &nodes, block, stored),
                7 => self.place::<7>(level, &nodes, block, stored),
                8 => self.place::<8>(level, &nodes, block, stored),
                _ => self.place::<MOST_WORDS>(level, &nodes, block, stored),
            };
            if stored > CAPACITY {
                self.pass_on(level, stored, found);
                stored = 0;
            }
        }
        self.pass_on(level, stored, found);
        self.nodes[level] = nodes;
    }

    /// Works off the children of a level, or passes the placements to `found`.
    fn pass_on(&mut self, level: usize, stored: usize, found: &mut dyn FnMut(&[u16])) {
        match level {
            0 | 1 => found(&self.found[..stored]),
            _ => self.work_off(level - 1, stored, found),
        }
    }

    /// Lists the children of a block of nodes.
    fn list(&mut self, level: usize, nodes: &[Words], block: Range<usize>) -> usize {
        let (word, shift) = field(level);
        let mut len = 0;
        for (place, node) in nodes[word][block].iter().enumerate() {
            let set = (node >> shift) as u16;
            len = self.places.list(set, 16 * place as u16, &mut *self.children, len);
        }
        len
    }

    /// Stores the children of a block of nodes at a level from 2 on that leave a free column for
    /// each row. They have `W` words.
    fn place<const W: usize>(
        &mut self,
        level: usize,
        nodes: &[Words],
        block: Range<usize>,
        mut stored: usize,
    ) -> usize {
        let len = self.list(level, nodes, block.clone());
        let masks: &[_; W] = self.levels[level].masks.first_chunk().expect("there are as many");
        let filled = self.levels[level - 1].filled;
        let parents: [_; W] = std::array::from_fn(|word| parents(&nodes[word], block.start));
        let below: &mut [Words; W] =
            (&mut *self.nodes[level - 1]).try_into().expect("it has as many words");
        let below = below.each_mut().map(|word| &mut **word);
        for &child in &self.children[..len] {
            let (place, column) = (usize::from(child >> 4) % BLOCK, usize::from(child & 15));
            let mut lives = TOP;
            for word in 0..W {
                let left = parents[word][place] & masks[word][column];
                below[word][stored] = left;
                lives &= ((left & !TOP) + filled[word]) | left;
            }
            stored += usize::from(lives & TOP == TOP);
        }
        stored
    }

    /// Stores the placements below a block of nodes at level 1 or 0.
    fn place_last(
        &mut self,
        level: usize,
        nodes: &[Words],
        block: Range<usize>,
        mut stored: usize,
    ) -> usize {
        let len = if level == 0 { 0 } else { self.list(level, nodes, block.clone()) };
        let Portable { ends, levels, children, found, inverted, .. } = self;
        let ends = &ends[usize::from(levels[0].is_even)];
        let (found, inverted) = (&mut found[..], *inverted);
        let mut end = |node: u64, stored: usize| {
            ends.list((node >> 16) as u16, node as u16 ^ inverted, found, stored)
        };
        let parents = parents(&nodes[0], block.start);
        if level == 0 {
            for &node in &parents[..block.len()] {
                stored = end(node, stored);
            }
        }
        let masks = &levels[level].masks[0];
        for &child in &children[..len] {
            let (place, column) = (usize::from(child >> 4) % BLOCK, usize::from(child & 15));
            stored = end(parents[place] & masks[column], stored);
        }
        stored
    }
}

impl Level {
    fn new(level: usize) -> Level {
        let mut filled = [TOP; MOST_WORDS];
        for below in 0..=level {
            let (word, shift) = field(below);
            filled[word] ^= 0xffff << shift;
        }
        Level { masks: [[0; WIDTH]; MOST_WORDS], filled, is_even: false }
    }
}

impl ColourSearch for Portable {
    fn search(&mut self, colour: &Colour, roots: &Roots<'_>, found: &mut dyn FnMut(&[u16])) {
        let Some(top) = colour.len().checked_sub(1) else {
            return roots.nodes(colour).for_each(|(number, _)| found(&[number]));
        };
        self.inverted = if roots.is_white { 0 } else { roots.last_place() };
        for (level, row) in self.levels[..=top].iter_mut().enumerate() {
            row.is_even = colour.is_in_even_columns(level);
            row.masks = [[0; WIDTH]; MOST_WORDS];
            for (column, mask) in row.masks[0].iter_mut().enumerate() {
                *mask = (!if row.is_even { 1_u16 << column >> 1 } else { 0 }).into();
            }
            for later in 0..level {
                let (word, shift) = field(later);
                let taken = &self.attacks[usize::from(colour.attack(level, later).index())];
                for (mask, taken) in row.masks[word].iter_mut().zip(taken) {
                    *mask |= u64::from(!taken) << shift;
                }
            }
        }
        let nodes = &mut self.nodes[top];
        let mut len = 0;
        for (number, odd) in roots.nodes(colour) {
            nodes.iter_mut().for_each(|word| word[len] = 0);
            nodes[0][len] = (number ^ self.inverted).into();
            for level in 0..=top {
                let (word, shift) = field(level);
                let free = if colour.is_in_even_columns(level) { roots.even() } else { odd };
                nodes[word][len] |= u64::from(free & colour.open(level)) << shift;
            }
            len += 1;
        }
        self.work_off(top, len, found);
    }
}
