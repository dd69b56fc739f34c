//! The search in vectors, for every instruction set.
//!
//! A *node* is a placement of the queens of some rows: its number so far, and the free columns of
//! every row to come. A node does not know its root, so nodes of different roots fill the same
//! vectors. The nodes of a level are in one buffer, with an array for the numbers and one for each
//! row.
//!
//! ```text
//!   level R     numbers, free columns of the rows at levels 0, 1, ..., R      the row at level R is next
//!   a pass      takes the lowest free column of each node: one child, stored at level R - 1
//!               if each row to come has a free column
//!               nodes with more free columns move to the front of their buffer and wait
//! ```
//!
//! Passes have no branches that depend on nodes. If the buffer below is full, it is worked off
//! until half of it is free. The children of the last queen are placements. Their numbers are kept
//! if they can have a share, and are passed to `found`.

use super::colour::{Colour, MAX_ROWS};
use super::units::Roots;

/// The nodes of a level that its buffer takes before the level is worked off. With a quarter or
/// with four times as many nodes, the search takes as long or up to 5% longer.
pub(super) const CAPACITY: usize = 2048;

/// One array of a buffer. A pass may read and write one vector of 32 lanes beyond the capacity;
/// with 64 lanes more, the arrays of a buffer begin in different sets of the first cache.
#[derive(Clone)]
#[repr(align(64))]
pub(super) struct Field(pub(super) [u16; CAPACITY + 96]);

impl Field {
    pub(super) const EMPTY: Field = Field([0; CAPACITY + 96]);
}

/// The buffers of all levels.
pub(super) struct Buffers {
    /// By level: the numbers, then the free columns of the rows at levels 0 to that level.
    pub(super) nodes: Vec<Vec<Field>>,
    /// The number of nodes that wait at each level.
    pub(super) waiting: [usize; MAX_ROWS],
    /// The numbers of placements.
    pub(super) found: Vec<Field>,
}

impl Buffers {
    /// Buffers for a board of size `n`.
    pub(super) fn new(n: u32) -> Buffers {
        let nodes = (0..n as usize).map(|level| vec![Field::EMPTY; level + 2]).collect();
        Buffers { nodes, waiting: [0; MAX_ROWS], found: vec![Field::EMPTY] }
    }
}

/// What a search knows of its colour and its roots, and its buffers.
pub(super) struct Search<'a, A> {
    /// What every attack takes, by [`Attack::index`](super::colour::Attack::index).
    pub(super) attacks: &'a [A],
    /// The attack of the row at one level on the row at a lower level.
    pub(super) indices: [[u8; MAX_ROWS]; MAX_ROWS],
    /// The number of levels whose rows have even columns.
    pub(super) even: usize,
    /// The length of a row of cells, less one: the bits of a number that are a place in its row.
    pub(super) places: u16,
    /// The first place that can have a share, and the number of places from there to the last one.
    pub(super) wanted: (u16, u16),
    pub(super) buffers: &'a mut Buffers,
    pub(super) found: &'a mut dyn FnMut(&[u16]),
}

/// Defines the search of a [`ColourSearch`](super::units::ColourSearch) in a module.
///
/// It is a macro because a function that enables instructions names them by a literal. The module
/// has the types `Vector`, of lanes of 16 bits, `Taken`, what an attack takes, prepared for
/// vectors, and `Lanes`, a set of lanes with its size `len`. It has the constants `LANES` and
/// `PASSES`, the number of columns that are taken from a vector of nodes while it is in registers,
/// and these functions:
///
/// ```text
///   set, and, and_not (!a & b), xor, add, sub, min
///   sub_to_zero     a - b, or 0 if that is negative
///   halved          all lanes shifted down by one bit
///   load, store     vectors at a place of an array
///   Queen::new      the lowest free column of each lane as a `bit`, from the free columns and these less 1, as numbers
///   Taken::new      what an attack takes; `loaded` makes vectors of it
///   taken           the columns that these queens take from another row
///   nonzero         the lanes that are not 0
///   packed          the chosen lanes, moved to the front and stored; more may be written behind them
/// ```
macro_rules! levels {
    ($unit:ident, $instructions:ty, $features:literal) => {
        /// The search with these instructions, with its buffers.
        pub(crate) struct $unit {
            _instructions: $instructions,
            attacks: Vec<Taken>,
            buffers: Buffers,
        }

        impl $unit {
            /// A search for boards of size `n`. `None` if the processor lacks an instruction.
            pub(crate) fn new(n: u32) -> Option<$unit> {
                let instructions = <$instructions>::new()?;
                let attacks = Attack::all().map(Taken::new).collect();
                Some($unit { _instructions: instructions, attacks, buffers: Buffers::new(n) })
            }
        }

        impl ColourSearch for $unit {
            fn search(
                &mut self,
                colour: &Colour,
                roots: &Roots<'_>,
                found: &mut dyn FnMut(&[u16]),
            ) {
                let $unit { attacks, buffers, .. } = self;
                let mut search = Search::new(attacks, buffers, colour, roots, found);
                let len = search.begin(colour, roots);
                if let Some(level) = colour.len().checked_sub(1) {
                    // SAFETY: `new` has found the instructions, so the processor has what is
                    // enabled.
                    unsafe { LEVELS[level](&mut search, len, true) };
                }
            }
        }

        type Level = unsafe fn(&mut Search<'_, Taken>, usize, bool) -> usize;

        /// The searches of all levels.
        const LEVELS: [Level; MAX_ROWS] = [
            level::<0>,
            level::<1>,
            level::<2>,
            level::<3>,
            level::<4>,
            level::<5>,
            level::<6>,
            level::<7>,
            level::<8>,
            level::<9>,
            level::<10>,
            level::<11>,
            level::<12>,
            level::<13>,
            level::<14>,
            level::<15>,
            level::<16>,
            level::<17>,
            level::<18>,
            level::<19>,
            level::<20>,
            level::<21>,
            level::<22>,
            level::<23>,
            level::<24>,
            level::<25>,
            level::<26>,
            level::<27>,
            level::<28>,
            level::<29>,
            level::<30>,
            level::<31>,
        ];

        /// Makes children of the `len` nodes at level `R`. If `is_last`, no more nodes will come:
        /// all children are made, and the levels below are worked off. Otherwise it stops once the
        /// buffer is at most half full. Returns the number of nodes that are left.
        #[target_feature(enable = $features)]
        fn level<const R: usize>(
            search: &mut Search<'_, Taken>,
            mut len: usize,
            is_last: bool,
        ) -> usize {
            const LIMIT: usize = CAPACITY - LANES * PASSES;
            let mut nodes = std::mem::take(&mut search.buffers.nodes[R]);
            let mut below = search.take_below(R);
            let (numbers, rows) = nodes.split_first_mut().expect("it has numbers");
            let (own, rows) = rows[..=R].split_last_mut().expect("it has its own row");
            let rows: &mut [Field; R] = rows.try_into().expect("it has R rows");
            let mut stored = search.waiting_below(R);

            let mut attacks = [search.attacks[0].loaded(); R];
            for (row, attack) in attacks.iter_mut().enumerate() {
                *attack = search.attacks[usize::from(search.indices[R][row])].loaded();
            }
            let step = set(if R < search.even { u16::MAX } else { 0 });
            let (first, wanted) = search.wanted;
            let (places, first, wanted) = (set(search.places), set(first), set(wanted));
            let ones = set(u16::MAX);
            loop {
                let mut left = 0;
                let end = if is_last { len } else { len - len % LANES };
                if is_last {
                    // The lanes behind the last node have no free column.
                    store(own, len, set(0));
                }
                for at in (0..end).step_by(LANES) {
                    let number = load(numbers, at);
                    let mut free = load(own, at);
                    let mut later = [set(0); R];
                    for (row, later) in later.iter_mut().enumerate() {
                        *later = load(&rows[row], at);
                    }
                    for _ in 0..PASSES {
                        let less = add(free, ones);
                        let queen = Queen::new(free, less);
                        free = and(free, less);
                        let mut fewest = queen.bit;
                        let mut next = [set(0); R];
                        for row in 0..R {
                            next[row] = and_not(taken(queen, attacks[row]), later[row]);
                            fewest = min(fewest, next[row]);
                        }
                        let child = xor(number, and(halved(queen.bit), step));
                        if R == 0 {
                            let place = sub(and(child, places), first);
                            fewest = min(fewest, sub_to_zero(wanted, place));
                        }
                        let lives = nonzero(fewest);
                        packed(&mut below[0], stored, child, &lives);
                        for row in 0..R {
                            packed(&mut below[1 + row], stored, next[row], &lives);
                        }
                        stored += lives.len();
                    }
                    let waits = nonzero(free);
                    packed(numbers, left, number, &waits);
                    packed(own, left, free, &waits);
                    for row in 0..R {
                        packed(&mut rows[row], left, later[row], &waits);
                    }
                    left += waits.len();
                    if stored > LIMIT {
                        search.put_below(R, below);
                        stored = search.work_off::<R>(stored, false);
                        below = search.take_below(R);
                    }
                }
                if end < len {
                    let last = load(numbers, end);
                    store(numbers, left, last);
                    let last = load(own, end);
                    store(own, left, last);
                    for row in 0..R {
                        let last = load(&rows[row], end);
                        store(&mut rows[row], left, last);
                    }
                    left += len - end;
                }
                len = left;
                if len <= if is_last { 0 } else { CAPACITY / 2 } {
                    break;
                }
            }
            search.put_below(R, below);
            // Placements do not wait.
            if is_last || R == 0 {
                stored = search.work_off::<R>(stored, true);
            }
            if R > 0 {
                search.buffers.waiting[R.saturating_sub(1)] = stored;
            }
            search.buffers.nodes[R] = nodes;
            len
        }

        impl Search<'_, Taken> {
            /// Works off the nodes below level `R`, or passes the placements to `found`. Returns
            /// how many nodes are left.
            #[target_feature(enable = $features)]
            fn work_off<const R: usize>(&mut self, stored: usize, is_last: bool) -> usize {
                if R > 0 {
                    // SAFETY: this function has the same instructions.
                    unsafe { LEVELS[R.saturating_sub(1)](self, stored, is_last) }
                } else {
                    (self.found)(&self.buffers.found[0].0[..stored]);
                    0
                }
            }
        }
    };
}

pub(super) use levels;

impl<'a, A> Search<'a, A> {
    pub(super) fn new(
        attacks: &'a [A],
        buffers: &'a mut Buffers,
        colour: &Colour,
        roots: &Roots<'_>,
        found: &'a mut dyn FnMut(&[u16]),
    ) -> Search<'a, A> {
        let mut indices = [[0; MAX_ROWS]; MAX_ROWS];
        for (level, indices) in indices[..colour.len()].iter_mut().enumerate() {
            for (later, index) in indices[..level].iter_mut().enumerate() {
                *index = colour.attack(level, later).index();
            }
        }
        let [first, last] = roots.places;
        let wanted = (first, last - first + 1);
        let places = roots.last_place();
        Search { attacks, indices, even: colour.even(), places, wanted, buffers, found }
    }

    /// Stores the roots at the first level, or passes their numbers to `found` if there is no row.
    /// Returns how many roots there are.
    pub(super) fn begin(&mut self, colour: &Colour, roots: &Roots<'_>) -> usize {
        let Some(level) = colour.len().checked_sub(1) else {
            let numbers: Vec<u16> = roots.nodes(colour).map(|(number, _)| number).collect();
            (self.found)(&numbers);
            return numbers.len();
        };
        let (numbers, rows) = self.buffers.nodes[level].split_at_mut(1);
        let (odd, even) = (&mut self.buffers.found[0].0, roots.even());
        let mut len = 0;
        for (number, columns) in roots.nodes(colour) {
            (numbers[0].0[len], odd[len]) = (number, columns);
            len += 1;
        }
        for (later, Field(row)) in rows.iter_mut().enumerate() {
            let open = colour.open(later);
            match colour.is_in_even_columns(later) {
                true => row[..len].fill(even & open),
                false => row[..len].iter_mut().zip(&*odd).for_each(|(row, odd)| *row = odd & open),
            }
        }
        len
    }

    /// The buffer below a level: nodes, or the numbers of placements.
    pub(super) fn take_below(&mut self, level: usize) -> Vec<Field> {
        let Buffers { nodes, found, .. } = self.buffers;
        std::mem::take(if level > 0 { &mut nodes[level - 1] } else { found })
    }

    pub(super) fn put_below(&mut self, level: usize, below: Vec<Field>) {
        let Buffers { nodes, found, .. } = self.buffers;
        *(if level > 0 { &mut nodes[level - 1] } else { found }) = below;
    }

    /// How many nodes wait below a level. No placements wait.
    pub(super) fn waiting_below(&self, level: usize) -> usize {
        level.checked_sub(1).map_or(0, |below| self.buffers.waiting[below])
    }
}
