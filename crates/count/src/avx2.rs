//! AVX2: the search of [`levels`](crate::levels) in vectors of 32 bytes, eight lanes of 32 bits.
//!
//! AVX-512 has instructions that compress and expand lanes. Here, tables replace them. The signs of
//! eight lanes are gathered as bits. These bits are the index of a permutation that moves the
//! chosen lanes together ([`PACK`]) or spreads the first lanes over the chosen ones ([`SPREAD`]).
//!
//! A child is stored under the same conditions as in [`avx512`](crate::avx512).
//!
//! On one core of a shared Zen 5 server, `rows` was measured at 7.2e7 Q/s for N = 16 and at 6.5e7
//! Q/s for N = 18. The latter is 19 times the speed of the reference.

use std::arch::x86_64::*;

use crate::levels::{Below, States, Unit};
use crate::remaining::Row;

/// The number of lanes of a vector.
const LANES: usize = 8;

/// The number of vectors of lanes that are processed in turn, to hide the latency of their refills.
const STREAMS: usize = 4;

/// The right to execute these instructions.
pub(crate) struct Avx2(());

impl Avx2 {
    /// `None` if the processor lacks any of the instructions used here.
    pub(crate) fn new() -> Option<Avx2> {
        let available = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt");
        available.then_some(Avx2(()))
    }
}

impl Unit for Avx2 {
    type Lane = u32;

    const LANES: usize = LANES;

    fn expand(
        &self,
        parents: &States<u32>,
        start: usize,
        below: Below<'_>,
        next: &mut States<u32>,
    ) {
        let Below { rows, plain } = below;
        // SAFETY: `self` exists, so `new` has found the instructions that `expand` enables.
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

    fn finish(&self, parents: &States<u32>, start: usize, below: Below<'_>) -> u64 {
        let Below { rows, plain } = below;
        // SAFETY: `self` exists, so `new` has found the instructions that `finish` enables.
        unsafe {
            if plain {
                finish::<true>(parents, start, rows)
            } else {
                finish::<false>(parents, start, rows)
            }
        }
    }
}

/// Stores the children that leave a free square in each of the next `LOOK` rows. If `LOOK` is more
/// than three, these are all rows that are left, and each column must have a free square, too.
#[target_feature(enable = "avx2,popcnt")]
fn expand<const PLAIN: bool, const LOOK: usize>(
    parents: &States<u32>,
    start: usize,
    rows: &[Row],
    next: &mut States<u32>,
) {
    let rows = Rows::<PLAIN>::new(&rows[..=LOOK]);
    let mut streams = [Stream::empty(); STREAMS];
    let (mut at, mut len) = (start, 0);
    loop {
        let mut untried = _mm256_setzero_si256();
        for stream in &mut streams {
            at = stream.refill(&rows, parents, at);
            untried = _mm256_or_si256(untried, stream.untried);
        }
        if at == parents.len && _mm256_testz_si256(untried, untried) != 0 {
            break;
        }
        for stream in &mut streams {
            let child = stream.child(&rows);
            let first = child.free::<PLAIN, 1>(&rows);
            let second = child.free::<PLAIN, 2>(&rows);
            let third = child.free::<PLAIN, 3>(&rows);
            let mut fewest = _mm256_min_epu32(_mm256_min_epu32(first, second), third);
            let mut columns = _mm256_or_si256(_mm256_or_si256(first, second), third);
            if LOOK >= 4 {
                let fourth = child.free::<PLAIN, 4>(&rows);
                fewest = _mm256_min_epu32(fewest, fourth);
                columns = _mm256_or_si256(columns, fourth);
            }
            if LOOK >= 5 {
                let fifth = child.free::<PLAIN, 5>(&rows);
                fewest = _mm256_min_epu32(fewest, fifth);
                columns = _mm256_or_si256(columns, fifth);
            }
            let dead = equal(fewest, _mm256_setzero_si256());
            let lives = if LOOK > 3 {
                chosen(_mm256_andnot_si256(dead, equal(columns, child.open)))
            } else {
                chosen(dead) ^ ALL
            };
            len = append(next, len, lives, child);
        }
    }
    next.len = len;
}

/// Places one queen of the last four for every parent, and counts the ways to place the others.
#[target_feature(enable = "avx2,popcnt")]
fn finish<const PLAIN: bool>(parents: &States<u32>, start: usize, rows: &[Row]) -> u64 {
    let rows = Rows::<PLAIN>::new(rows);
    let mut streams = [Stream::empty(); STREAMS];
    let mut at = start;
    // A lane's sum is at most that of the block, which even fits in 16 bits, as `levels` asserts.
    let mut found = _mm256_setzero_si256();
    loop {
        let mut untried = _mm256_setzero_si256();
        for stream in &mut streams {
            at = stream.refill(&rows, parents, at);
            untried = _mm256_or_si256(untried, stream.untried);
        }
        if at == parents.len && _mm256_testz_si256(untried, untried) != 0 {
            break;
        }
        for stream in &mut streams {
            found = _mm256_add_epi32(found, last_three(stream.child(&rows), &rows));
        }
    }
    let halves = [_mm256_castsi256_si128(found), _mm256_extracti128_si256::<1>(found)];
    let found = _mm_add_epi32(halves[0], halves[1]);
    let found = _mm_add_epi32(found, _mm_srli_si128::<8>(found));
    let found = _mm_add_epi32(found, _mm_srli_si128::<4>(found));
    _mm_cvtsi128_si32(found) as u64
}

/// The most rows that are looked at together: the parents' row and five below it.
const MOST_ROWS: usize = 6;

/// The rows from the parents' row on, in every lane. It is not used if the rows are `PLAIN`.
struct Rows<const PLAIN: bool> {
    /// The columns that are closed in each row.
    closed: [__m256i; MOST_ROWS],
    /// The distance of each row from the children's row. For the first row, the children's row is
    /// below.
    apart: [__m256i; MOST_ROWS],
}

impl<const PLAIN: bool> Rows<PLAIN> {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(rows: &[Row]) -> Rows<PLAIN> {
        let zero = _mm256_setzero_si256();
        let (mut closed, mut apart) = ([zero; MOST_ROWS], [zero; MOST_ROWS]);
        if !PLAIN {
            apart[0] = _mm256_set1_epi32(rows[1].step as i32);
            let mut sum = 0;
            for (i, row) in rows.iter().enumerate() {
                closed[i] = _mm256_set1_epi32(row.closed as i32);
                if i > 1 {
                    sum += row.step;
                    apart[i] = _mm256_set1_epi32(sum as i32);
                }
            }
        }
        Rows { closed, apart }
    }
}

/// A state in every lane.
#[derive(Clone, Copy)]
struct Vectors {
    open: __m256i,
    left: __m256i,
    right: __m256i,
}

impl Vectors {
    /// The free squares of row `ROW`; row 0 is the parents' and row 1 the children's.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn free<const PLAIN: bool, const ROW: usize>(self, rows: &Rows<PLAIN>) -> __m256i {
        let (left, right) = match (ROW, PLAIN) {
            (0 | 1, _) => (self.left, self.right),
            (2, true) => (up::<1>(self.left), down::<1>(self.right)),
            (3, true) => (up::<2>(self.left), down::<2>(self.right)),
            (4, true) => (up::<3>(self.left), down::<3>(self.right)),
            (_, true) => (up::<4>(self.left), down::<4>(self.right)),
            (_, false) => (up_by(self.left, rows.apart[ROW]), down_by(self.right, rows.apart[ROW])),
        };
        let mut attacked = _mm256_or_si256(left, right);
        if !PLAIN {
            attacked = _mm256_or_si256(attacked, rows.closed[ROW]);
        }
        _mm256_andnot_si256(attacked, self.open)
    }
}

/// States, each with the free squares of its next row on which no queen was placed yet.
#[derive(Clone, Copy)]
struct Stream {
    states: Vectors,
    untried: __m256i,
}

impl Stream {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn empty() -> Stream {
        let zero = _mm256_setzero_si256();
        Stream { states: Vectors { open: zero, left: zero, right: zero }, untried: zero }
    }

    /// Gives the spent lanes the states from `at` on. Returns the place of the next state.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn refill<const PLAIN: bool>(
        &mut self,
        rows: &Rows<PLAIN>,
        parents: &States<u32>,
        at: usize,
    ) -> usize {
        let fresh = Vectors {
            open: load(&parents.open, at),
            left: load(&parents.left, at),
            right: load(&parents.right, at),
        };
        let spent = equal(self.untried, _mm256_setzero_si256());
        let lanes = chosen(spent);
        let order = permutation(&SPREAD, lanes);
        let replace =
            |old, new| _mm256_blendv_epi8(old, _mm256_permutevar8x32_epi32(new, order), spent);
        self.states.open = replace(self.states.open, fresh.open);
        self.states.left = replace(self.states.left, fresh.left);
        self.states.right = replace(self.states.right, fresh.right);
        self.untried = replace(self.untried, fresh.free::<PLAIN, 0>(rows));
        parents.len.min(at + lanes.count_ones() as usize)
    }

    /// Places a queen on the lowest untried square of each lane.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn child<const PLAIN: bool>(&mut self, rows: &Rows<PLAIN>) -> Vectors {
        let Stream { states, untried } = *self;
        let bit = _mm256_and_si256(untried, _mm256_sub_epi32(_mm256_setzero_si256(), untried));
        self.untried = _mm256_xor_si256(untried, bit);
        let left = _mm256_or_si256(states.left, bit);
        let right = _mm256_or_si256(states.right, bit);
        let (left, right) = if PLAIN {
            (up::<1>(left), down::<1>(right))
        } else {
            (up_by(left, rows.apart[0]), down_by(right, rows.apart[0]))
        };
        Vectors { open: _mm256_andnot_si256(bit, states.open), left, right }
    }
}

/// Appends the chosen lanes to the first `len` states. Returns the new number of states.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn append(to: &mut States<u32>, len: usize, lanes: u8, states: Vectors) -> usize {
    let order = permutation(&PACK, lanes);
    store(&mut to.open, len, _mm256_permutevar8x32_epi32(states.open, order));
    store(&mut to.left, len, _mm256_permutevar8x32_epi32(states.left, order));
    store(&mut to.right, len, _mm256_permutevar8x32_epi32(states.right, order));
    len + lanes.count_ones() as usize
}

/// The number of ways to place the last three queens in the three columns that are open. It is at
/// most 3! in each lane, and 0 in an empty lane.
///
/// For each column of the middle row's queen, both ways to place the other two queens are tried.
#[inline]
#[target_feature(enable = "avx2")]
fn last_three<const PLAIN: bool>(states: Vectors, rows: &Rows<PLAIN>) -> __m256i {
    let Vectors { open, .. } = states;
    let a = states.free::<PLAIN, 1>(rows);
    let b = states.free::<PLAIN, 2>(rows);
    let c = states.free::<PLAIN, 3>(rows);

    let minus_one = _mm256_set1_epi32(-1);
    let below_low = _mm256_add_epi32(open, minus_one);
    let low = _mm256_andnot_si256(below_low, open);
    let upper = _mm256_and_si256(open, below_low);
    let high = _mm256_and_si256(upper, _mm256_add_epi32(upper, minus_one));
    let middle = _mm256_xor_si256(upper, high);

    // If the rows are neighbours, the diagonals of the middle row's queen matter only if it stands
    // beside an open column. Otherwise, its diagonals are excluded for the others, column by
    // column.
    let b = if PLAIN {
        _mm256_andnot_si256(_mm256_or_si256(up::<1>(open), down::<1>(open)), b)
    } else {
        b
    };
    let off = |row, queen, by| {
        _mm256_andnot_si256(_mm256_or_si256(up_by(queen, by), down_by(queen, by)), row)
    };
    let b_to_c = _mm256_sub_epi32(rows.apart[3], rows.apart[2]);
    // In an empty lane no column is open. Without this, the formula would count queens that have no
    // square.
    let open = _mm256_or_si256(open, equal(open, _mm256_setzero_si256()));
    let mut ways = _mm256_setzero_si256();
    for [column, lower, upper] in [[low, middle, high], [middle, low, high], [high, low, middle]] {
        let (a, c, far) = if PLAIN {
            (a, c, up::<2>(lower))
        } else {
            (off(a, column, rows.apart[2]), off(c, column, b_to_c), up_by(lower, rows.apart[3]))
        };
        let b = _mm256_andnot_si256(equal(far, upper), _mm256_and_si256(b, column));
        let all = |a_column, c_column| {
            let (a, c) = (_mm256_and_si256(a, a_column), _mm256_and_si256(c, c_column));
            equal(_mm256_or_si256(_mm256_or_si256(a, b), c), open)
        };
        // Each comparison gives -1 in the lanes where it is true.
        ways = _mm256_sub_epi32(ways, _mm256_add_epi32(all(lower, upper), all(upper, lower)));
    }
    ways
}

// The tables.

/// All lanes.
const ALL: u8 = u8::MAX;

/// The order that moves the lanes of a set to the front, for each set. Each byte is a place, and
/// has the number of the lane that goes there.
static PACK: [u64; 256] = {
    let mut table = [0; 256];
    let mut set = 0;
    while set < table.len() {
        let (mut lane, mut packed) = (0, 0);
        while lane < LANES {
            if set >> lane & 1 == 1 {
                table[set] |= (lane as u64) << (8 * packed);
                packed += 1;
            }
            lane += 1;
        }
        set += 1;
    }
    table
};

/// The order that moves the first lanes to the places of a set, for each set. Each byte is a place,
/// and has the number of the lane that goes there.
static SPREAD: [u64; 256] = {
    let mut table = [0; 256];
    let mut set = 0;
    while set < table.len() {
        let (mut lane, mut packed) = (0, 0);
        while lane < LANES {
            if set >> lane & 1 == 1 {
                table[set] |= packed << (8 * lane);
                packed += 1;
            }
            lane += 1;
        }
        set += 1;
    }
    table
};

#[inline]
#[target_feature(enable = "avx2")]
fn permutation(table: &[u64; 256], lanes: u8) -> __m256i {
    _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(table[usize::from(lanes)] as i64))
}

#[inline]
#[target_feature(enable = "avx2")]
fn up<const BY: i32>(a: __m256i) -> __m256i {
    _mm256_slli_epi32::<BY>(a)
}

#[inline]
#[target_feature(enable = "avx2")]
fn down<const BY: i32>(a: __m256i) -> __m256i {
    _mm256_srli_epi32::<BY>(a)
}

/// Shifts each lane of `a` up by the number of bits in the lane of `by`.
#[inline]
#[target_feature(enable = "avx2")]
fn up_by(a: __m256i, by: __m256i) -> __m256i {
    _mm256_sllv_epi32(a, by)
}

/// Shifts each lane of `a` down by the number of bits in the lane of `by`.
#[inline]
#[target_feature(enable = "avx2")]
fn down_by(a: __m256i, by: __m256i) -> __m256i {
    _mm256_srlv_epi32(a, by)
}

/// The lanes whose sign is set.
#[inline]
#[target_feature(enable = "avx2")]
fn chosen(a: __m256i) -> u8 {
    _mm256_movemask_ps(_mm256_castsi256_ps(a)) as u8
}

/// All bits of the lanes that are equal.
#[inline]
#[target_feature(enable = "avx2")]
fn equal(a: __m256i, b: __m256i) -> __m256i {
    _mm256_cmpeq_epi32(a, b)
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(from: &[u32], at: usize) -> __m256i {
    let from = &from[at..at + LANES];
    // SAFETY: the slice is as long as a vector.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(to: &mut [u32], at: usize, a: __m256i) {
    let to = &mut to[at..at + LANES];
    // SAFETY: the slice is as long as a vector.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), a) }
}
