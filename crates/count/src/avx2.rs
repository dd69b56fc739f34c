//! AVX2: the search of [`levels`](crate::levels) in vectors of 32 bytes, eight lanes of 32 bits.
//!
//! What AVX-512 does with an instruction is done by table here: the bits of eight lanes, gathered
//! from their signs, are the index of a permutation that moves chosen lanes together ([`PACK`]) or
//! spreads the first lanes over the chosen ones ([`SPREAD`]).
//!
//! What a child must pass to be stored is as in [`avx512`](crate::avx512).
//!
//! Measured on one core of a shared Zen 5 server (`queens bench kernels`): 7.2e7 Q/s at N = 16 and
//! 6.5e7 at N = 18, 19 times the reference.

use std::arch::x86_64::*;

use crate::levels::{States, Unit};

/// The lanes of a vector.
const LANES: usize = 8;

/// Vectors of lanes that are worked on in turn, to hide the latency of their refills.
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

    fn expand(&self, parents: &States<u32>, start: usize, rows_left: u32, next: &mut States<u32>) {
        // SAFETY: there is a `self`, so that `new` found the instructions that `expand` enables.
        unsafe {
            match rows_left {
                4 => expand::<4>(parents, start, next),
                5 => expand::<5>(parents, start, next),
                _ => expand::<3>(parents, start, next),
            }
        }
    }

    fn finish(&self, parents: &States<u32>, start: usize) -> u64 {
        // SAFETY: there is a `self`, so that `new` found the instructions that `finish` enables.
        unsafe { finish(parents, start) }
    }
}

/// Stores the children of which each of the next `LOOK` rows has a free square; and each column has
/// one, where `LOOK`, being more than three, is all rows that are left.
#[target_feature(enable = "avx2,popcnt")]
fn expand<const LOOK: u32>(parents: &States<u32>, start: usize, next: &mut States<u32>) {
    let mut streams = [Stream::empty(); STREAMS];
    let (mut at, mut len) = (start, 0);
    loop {
        let mut untried = _mm256_setzero_si256();
        for stream in &mut streams {
            at = stream.refill(parents, at);
            untried = _mm256_or_si256(untried, stream.untried);
        }
        if at == parents.len && _mm256_testz_si256(untried, untried) != 0 {
            break;
        }
        for stream in &mut streams {
            let child = stream.child();
            let first = child.free();
            let second = child.free_below::<1>();
            let third = child.free_below::<2>();
            let mut fewest = _mm256_min_epu32(_mm256_min_epu32(first, second), third);
            let mut columns = _mm256_or_si256(_mm256_or_si256(first, second), third);
            if LOOK >= 4 {
                let fourth = child.free_below::<3>();
                fewest = _mm256_min_epu32(fewest, fourth);
                columns = _mm256_or_si256(columns, fourth);
            }
            if LOOK >= 5 {
                let fifth = child.free_below::<4>();
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
fn finish(parents: &States<u32>, start: usize) -> u64 {
    let mut streams = [Stream::empty(); STREAMS];
    let mut at = start;
    // A lane's sum is at most that of the block, which `levels` asserts to fit even 16 bits.
    let mut found = _mm256_setzero_si256();
    loop {
        let mut untried = _mm256_setzero_si256();
        for stream in &mut streams {
            at = stream.refill(parents, at);
            untried = _mm256_or_si256(untried, stream.untried);
        }
        if at == parents.len && _mm256_testz_si256(untried, untried) != 0 {
            break;
        }
        for stream in &mut streams {
            found = _mm256_add_epi32(found, last_three(stream.child()));
        }
    }
    let halves = [_mm256_castsi256_si128(found), _mm256_extracti128_si256::<1>(found)];
    let found = _mm_add_epi32(halves[0], halves[1]);
    let found = _mm_add_epi32(found, _mm_srli_si128::<8>(found));
    let found = _mm_add_epi32(found, _mm_srli_si128::<4>(found));
    _mm_cvtsi128_si32(found) as u64
}

/// A state in every lane.
#[derive(Clone, Copy)]
struct Vectors {
    open: __m256i,
    left: __m256i,
    right: __m256i,
}

impl Vectors {
    /// The free squares of the next row.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn free(self) -> __m256i {
        _mm256_andnot_si256(_mm256_or_si256(self.left, self.right), self.open)
    }

    /// The free squares of the row that is `ROWS` below the next.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn free_below<const ROWS: i32>(self) -> __m256i {
        let left = _mm256_slli_epi32::<ROWS>(self.left);
        let right = _mm256_srli_epi32::<ROWS>(self.right);
        Vectors { open: self.open, left, right }.free()
    }
}

/// States and, of each, the free squares of its next row on which no queen was placed yet.
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

    /// Gives the spent lanes the states from `at` on, and returns where the next ones begin.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn refill(&mut self, parents: &States<u32>, at: usize) -> usize {
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
        self.untried = replace(self.untried, fresh.free());
        parents.len.min(at + lanes.count_ones() as usize)
    }

    /// Places a queen on the lowest untried square of each lane.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn child(&mut self) -> Vectors {
        let Stream { states, untried } = *self;
        let bit = _mm256_and_si256(untried, _mm256_sub_epi32(_mm256_setzero_si256(), untried));
        self.untried = _mm256_xor_si256(untried, bit);
        Vectors {
            open: _mm256_andnot_si256(bit, states.open),
            left: _mm256_slli_epi32::<1>(_mm256_or_si256(states.left, bit)),
            right: _mm256_srli_epi32::<1>(_mm256_or_si256(states.right, bit)),
        }
    }
}

/// Appends the chosen lanes to the first `len` states, and returns how many there are then.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn append(to: &mut States<u32>, len: usize, lanes: u8, states: Vectors) -> usize {
    let order = permutation(&PACK, lanes);
    store(&mut to.open, len, _mm256_permutevar8x32_epi32(states.open, order));
    store(&mut to.left, len, _mm256_permutevar8x32_epi32(states.left, order));
    store(&mut to.right, len, _mm256_permutevar8x32_epi32(states.right, order));
    len + lanes.count_ones() as usize
}

/// The number of ways, at most 3! in each lane, to place the last three queens in the three columns
/// that are open; an empty lane has none.
///
/// If the middle row's queen keeps off the columns beside open ones, and the other two queens are
/// not two columns apart, then no two meet on a diagonal, and any choice of three different columns
/// from the rows' free squares will do: each of the six is tried.
#[inline]
#[target_feature(enable = "avx2")]
fn last_three(states: Vectors) -> __m256i {
    let Vectors { open, .. } = states;
    let beside = _mm256_or_si256(_mm256_slli_epi32::<1>(open), _mm256_srli_epi32::<1>(open));
    let rows = [
        states.free(),
        _mm256_andnot_si256(beside, states.free_below::<1>()),
        states.free_below::<2>(),
    ];

    let minus_one = _mm256_set1_epi32(-1);
    let below_low = _mm256_add_epi32(open, minus_one);
    let low = _mm256_andnot_si256(below_low, open);
    let upper = _mm256_and_si256(open, below_low);
    let high = _mm256_and_si256(upper, _mm256_add_epi32(upper, minus_one));
    let middle = _mm256_xor_si256(upper, high);

    let [a, b, c] = rows.map(|row| [low, middle, high].map(|column| _mm256_and_si256(row, column)));
    let b = [
        _mm256_andnot_si256(equal(_mm256_slli_epi32::<2>(middle), high), b[0]),
        b[1],
        _mm256_andnot_si256(equal(_mm256_slli_epi32::<2>(low), middle), b[2]),
    ];
    // Without a column to place them in, queens on no square would count.
    let open = _mm256_or_si256(open, equal(open, _mm256_setzero_si256()));
    let all = |i: usize, j: usize, k: usize| {
        equal(_mm256_or_si256(_mm256_or_si256(a[i], b[j]), c[k]), open)
    };
    // Each is -1 where it is true.
    let with_low = _mm256_add_epi32(all(1, 0, 2), all(2, 0, 1));
    let with_middle = _mm256_add_epi32(all(0, 1, 2), all(2, 1, 0));
    let with_high = _mm256_add_epi32(all(0, 2, 1), all(1, 2, 0));
    let ways = _mm256_add_epi32(_mm256_add_epi32(with_low, with_middle), with_high);
    _mm256_sub_epi32(_mm256_setzero_si256(), ways)
}

// The tables.

/// All lanes.
const ALL: u8 = u8::MAX;

/// For each set of lanes: which lane goes to each place, a byte for each, so that the lanes of the
/// set come first, in order.
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

/// For each set of lanes: which lane goes to each place, so that the first ones come to those of
/// the set, in order.
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
