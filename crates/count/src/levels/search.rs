//! The steps of the search in vectors, for every instruction set.

/// Defines the steps `expand` and `finish` of a [`VectorUnit`](super::VectorUnit) in a module.
///
/// It is a macro because a function that enables instructions names them by a literal. The module
/// has the types `Vector` and `Mask` (a set of lanes), the constant `STREAMS` (the number of
/// vectors of lanes that are processed in turn, to hide the latency of their refills), and these
/// functions:
///
/// ```text
///   zero, set, and, and_not (!a & b), and_neither (a & !(b | c)), or, xor, add, sub, min,
///   up, down         shift all lanes by a constant
///   up_by, down_by   shift each lane by the number of bits in a lane
///   load, store      vectors of masks at a place
///   Spent            the lanes that are zero, and how they are replaced by the next states
///   is_zero          whether all lanes are zero
///   living           the lanes without a zero; if all rows are seen, also with all open columns
///   packed           states of the chosen lanes, moved to the front
///   last_three       the number of ways to place the last three queens in each lane
///   sum              the sum of all lanes
/// ```
macro_rules! search {
    ($unit:ty, $lane:ty, $features:literal) => {
        impl VectorUnit for $unit {
            type Lane = $lane;

            const LANES: usize = LANES;

            fn expand(
                &self,
                parents: &States<$lane>,
                start: usize,
                below: Below<'_>,
                next: &mut States<$lane>,
            ) {
                let Below { rows, plain } = below;
                // SAFETY: `self` exists, so `new` has found the instructions that are enabled.
                unsafe {
                    match (plain, rows.len()) {
                        (true, 5) => expand::<true, 4>(parents, start, rows, next),
                        (true, 6) => expand::<true, 5>(parents, start, rows, next),
                        (true, _) => expand::<true, 3>(parents, start, rows, next),
                        (false, 5) => expand::<false, 4>(parents, start, rows, next),
                        (false, 6) => expand::<false, 5>(parents, start, rows, next),
                        (false, _) => expand::<false, 3>(parents, start, rows, next),
                    }
                }
            }

            fn finish(&self, parents: &States<$lane>, start: usize, below: Below<'_>) -> u64 {
                let Below { rows, plain } = below;
                // SAFETY: `self` exists, so `new` has found the instructions that are enabled.
                unsafe {
                    match plain {
                        true => finish::<true>(parents, start, rows),
                        false => finish::<false>(parents, start, rows),
                    }
                }
            }
        }

        /// Stores the children that leave a free square in each of the next `LOOK` rows. If `LOOK`
        /// is more than three, these are all rows that are left, and each column must have a free
        /// square, too.
        #[target_feature(enable = $features)]
        fn expand<const PLAIN: bool, const LOOK: usize>(
            parents: &States<$lane>,
            start: usize,
            rows: &[OpenRow],
            next: &mut States<$lane>,
        ) {
            let rows = Rows::<PLAIN>::new(&rows[..=LOOK]);
            let mut streams = [Stream::empty(); STREAMS];
            let (mut at, mut len) = (start, 0);
            loop {
                let mut untried = zero();
                for stream in &mut streams {
                    at = stream.refill(&rows, parents, at);
                    untried = or(untried, stream.untried);
                }
                if at == parents.len && is_zero(untried) {
                    break;
                }
                for stream in &mut streams {
                    let child = stream.child(&rows);
                    let first = child.free::<PLAIN, 1>(&rows);
                    let second = child.free::<PLAIN, 2>(&rows);
                    let third = child.free::<PLAIN, 3>(&rows);
                    let mut fewest = min(min(first, second), third);
                    let mut columns = or(or(first, second), third);
                    if LOOK >= 4 {
                        let fourth = child.free::<PLAIN, 4>(&rows);
                        fewest = min(fewest, fourth);
                        columns = or(columns, fourth);
                    }
                    if LOOK >= 5 {
                        let fifth = child.free::<PLAIN, 5>(&rows);
                        fewest = min(fewest, fifth);
                        columns = or(columns, fifth);
                    }
                    let lives = living(fewest, (LOOK > 3).then_some([columns, child.open]));
                    let child = packed(child, lives);
                    store(&mut next.open, len, child.open);
                    store(&mut next.left, len, child.left);
                    store(&mut next.right, len, child.right);
                    len += lives.count_ones() as usize;
                }
            }
            next.len = len;
        }

        /// Places one queen of the last four for every parent, and counts the ways to place the
        /// others.
        #[target_feature(enable = $features)]
        fn finish<const PLAIN: bool>(
            parents: &States<$lane>,
            start: usize,
            rows: &[OpenRow],
        ) -> u64 {
            let rows = Rows::<PLAIN>::new(rows);
            let mut streams = [Stream::empty(); STREAMS];
            let mut at = start;
            // A lane's sum is at most that of the block, which fits in 16 bits, as `levels`
            // asserts.
            let mut found = zero();
            loop {
                let mut untried = zero();
                for stream in &mut streams {
                    at = stream.refill(&rows, parents, at);
                    untried = or(untried, stream.untried);
                }
                if at == parents.len && is_zero(untried) {
                    return sum(found);
                }
                for stream in &mut streams {
                    // The child of an empty lane is empty too, and has no completion.
                    found = add(found, last_three(stream.child(&rows), &rows));
                }
            }
        }

        /// The most rows that are looked at together: the parents' row and five below it.
        const MOST_ROWS: usize = 6;

        /// The rows from the parents' row on, in every lane. It is not used if the rows are
        /// `PLAIN`.
        struct Rows<const PLAIN: bool> {
            /// The columns that are closed in each row.
            closed: [Vector; MOST_ROWS],
            /// The distance of each row from the children's row. For the first row, the children's
            /// row is below.
            apart: [Vector; MOST_ROWS],
        }

        impl<const PLAIN: bool> Rows<PLAIN> {
            #[inline]
            #[target_feature(enable = $features)]
            fn new(rows: &[OpenRow]) -> Rows<PLAIN> {
                let (mut closed, mut apart) = ([zero(); MOST_ROWS], [zero(); MOST_ROWS]);
                if !PLAIN {
                    apart[0] = set(rows[1].step as _);
                    let mut sum = 0;
                    for (i, row) in rows.iter().enumerate() {
                        closed[i] = set(row.closed as _);
                        if i > 1 {
                            sum += row.step;
                            apart[i] = set(sum as _);
                        }
                    }
                }
                Rows { closed, apart }
            }
        }

        /// A state in every lane.
        #[derive(Clone, Copy)]
        struct Vectors {
            open: Vector,
            left: Vector,
            right: Vector,
        }

        impl Vectors {
            /// The lowest, the middle and the highest of three open columns.
            #[inline]
            #[target_feature(enable = $features)]
            fn columns(self) -> [Vector; 3] {
                let minus_one = set(-1);
                let below_low = add(self.open, minus_one);
                let low = and_not(below_low, self.open);
                let upper = and(self.open, below_low);
                let high = and(upper, add(upper, minus_one));
                [low, xor(upper, high), high]
            }

            /// The free squares of row `ROW`; row 0 is the parents' and row 1 the children's.
            #[inline]
            #[target_feature(enable = $features)]
            fn free<const PLAIN: bool, const ROW: usize>(self, rows: &Rows<PLAIN>) -> Vector {
                let Vectors { open, left, right } = self;
                let (left, right) = match (ROW, PLAIN) {
                    (0 | 1, _) => (left, right),
                    (2, true) => (up::<1>(left), down::<1>(right)),
                    (3, true) => (up::<2>(left), down::<2>(right)),
                    (4, true) => (up::<3>(left), down::<3>(right)),
                    (_, true) => (up::<4>(left), down::<4>(right)),
                    (_, false) => (up_by(left, rows.apart[ROW]), down_by(right, rows.apart[ROW])),
                };
                let free = and_neither(open, left, right);
                if PLAIN { free } else { and_not(rows.closed[ROW], free) }
            }
        }

        /// States, each with the free squares of its next row on which no queen was placed yet.
        #[derive(Clone, Copy)]
        struct Stream {
            states: Vectors,
            untried: Vector,
        }

        impl Stream {
            #[inline]
            #[target_feature(enable = $features)]
            fn empty() -> Stream {
                let states = Vectors { open: zero(), left: zero(), right: zero() };
                Stream { states, untried: zero() }
            }

            /// Gives the spent lanes the states from `at` on. Returns the place of the next state.
            #[inline]
            #[target_feature(enable = $features)]
            fn refill<const PLAIN: bool>(
                &mut self,
                rows: &Rows<PLAIN>,
                parents: &States<$lane>,
                at: usize,
            ) -> usize {
                let fresh = Vectors {
                    open: load(&parents.open, at),
                    left: load(&parents.left, at),
                    right: load(&parents.right, at),
                };
                let spent = Spent::of(self.untried);
                self.states.open = spent.replaced(self.states.open, fresh.open);
                self.states.left = spent.replaced(self.states.left, fresh.left);
                self.states.right = spent.replaced(self.states.right, fresh.right);
                self.untried = spent.replaced(self.untried, fresh.free::<PLAIN, 0>(rows));
                parents.len.min(at + spent.lanes.count_ones() as usize)
            }

            /// Places a queen on the lowest untried square of each lane.
            #[inline]
            #[target_feature(enable = $features)]
            fn child<const PLAIN: bool>(&mut self, rows: &Rows<PLAIN>) -> Vectors {
                let Stream { states, untried } = *self;
                let bit = and(untried, sub(zero(), untried));
                self.untried = xor(untried, bit);
                let (left, right) = (or(states.left, bit), or(states.right, bit));
                let (left, right) = if PLAIN {
                    (up::<1>(left), down::<1>(right))
                } else {
                    (up_by(left, rows.apart[0]), down_by(right, rows.apart[0]))
                };
                Vectors { open: and_not(bit, states.open), left, right }
            }
        }
    };
}

pub(crate) use search;
