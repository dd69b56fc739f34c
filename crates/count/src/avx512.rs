//! AVX-512: the search of [`levels`](crate::levels) in vectors of 64 bytes.
//!
//! A mask takes 16 bits where the board is at most 16 wide, and 32 otherwise: 32 or 16 lanes, one
//! code for both, with the lane's type `L` (`u16`, `u32`) as its parameter. Refilling and appending
//! are an instruction for each mask, expand and compress, from and to registers: compress to memory
//! is slow on Zen 4.
//!
//! What a child must pass to be stored: each of its next three rows has a free square. With four or
//! five rows left the whole rest of the board is looked at, every row *and* every column; of the
//! children with four rows left at N = 16, that keeps 41% instead of 56%. The last three rows are
//! counted in closed form ([`last_three`]).
//!
//! Measured on one core of a shared Zen 5 server (`queens bench kernels`): 3.0e8 Q/s at N = 16 and
//! 1.45e8 at N = 18, that is 78 and 43 times the reference, 14 and 29 cycles a solution.
//! `docs/METHODS-NOTES.md` says what else was tried.
//!
//! It needs what Ice Lake (2019) and Zen 4 (2022) brought: VBMI2 to move 16-bit lanes, BITALG and
//! VPOPCNTDQ to count bits. Older AVX-512 processors run `avx2`.

use std::arch::x86_64::*;
use std::marker::PhantomData;

use crate::levels::{States, Unit};

/// Vectors of lanes that are worked on in turn, to hide the latency of their refills.
const STREAMS: usize = 3;

/// The right to execute these instructions, with lanes of type `L`.
pub(crate) struct Avx512<L>(PhantomData<L>);

impl<L> Avx512<L> {
    /// `None` if the processor lacks any of the instructions used here.
    pub(crate) fn new() -> Option<Avx512<L>> {
        let available = is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("avx512bitalg")
            && is_x86_feature_detected!("avx512vpopcntdq")
            && is_x86_feature_detected!("popcnt");
        available.then_some(Avx512(PhantomData))
    }
}

impl<L: Copy + Default + TryFrom<u32>> Unit for Avx512<L> {
    type Lane = L;

    const LANES: usize = lanes::<L>();

    fn expand(&self, parents: &States<L>, start: usize, rows_left: u32, next: &mut States<L>) {
        // SAFETY: there is a `self`, so that `new` found the instructions that `expand` enables.
        unsafe {
            match rows_left {
                4 => expand::<L, 4>(parents, start, next),
                5 => expand::<L, 5>(parents, start, next),
                _ => expand::<L, 3>(parents, start, next),
            }
        }
    }

    fn finish(&self, parents: &States<L>, start: usize) -> u64 {
        // SAFETY: there is a `self`, so that `new` found the instructions that `finish` enables.
        unsafe { finish(parents, start) }
    }
}

/// Stores the children of which each of the next `LOOK` rows has a free square; and each column has
/// one, where `LOOK`, being more than three, is all rows that are left.
#[target_feature(enable = "avx512bw,avx512vbmi2,avx512bitalg,avx512vpopcntdq,popcnt")]
fn expand<L, const LOOK: u32>(parents: &States<L>, start: usize, next: &mut States<L>) {
    let mut streams = [Stream::empty(); STREAMS];
    let mut at = start;
    let mut len = 0;
    loop {
        let mut untried = _mm512_setzero_si512();
        for stream in &mut streams {
            at = stream.refill(parents, at);
            untried = _mm512_or_si512(untried, stream.untried);
        }
        if at == parents.len && nonzero::<L>(untried) == 0 {
            break;
        }
        for stream in &mut streams {
            let child = stream.child::<L>();
            let first = child.free();
            let second = child.free_below::<L, 1>();
            let third = child.free_below::<L, 2>();
            let mut fewest = min::<L>(min::<L>(first, second), third);
            let mut columns = _mm512_ternarylogic_epi32::<OR>(first, second, third);
            if LOOK >= 4 {
                let fourth = child.free_below::<L, 3>();
                fewest = min::<L>(fewest, fourth);
                columns = _mm512_or_si512(columns, fourth);
            }
            if LOOK >= 5 {
                let fifth = child.free_below::<L, 4>();
                fewest = min::<L>(fewest, fifth);
                columns = _mm512_or_si512(columns, fifth);
            }
            let mut lives = nonzero::<L>(fewest);
            if LOOK > 3 {
                lives &= equal::<L>(columns, child.open);
            }
            len = append(next, len, lives, child);
        }
    }
    next.len = len;
}

/// Places one queen of the last four for every parent, and counts the ways to place the others.
#[target_feature(enable = "avx512bw,avx512vbmi2,avx512bitalg,avx512vpopcntdq,popcnt")]
fn finish<L>(parents: &States<L>, start: usize) -> u64 {
    let mut streams = [Stream::empty(); STREAMS];
    let mut at = start;
    // A lane's sum is at most that of the block, which `levels` asserts to fit 16 bits.
    let mut found = _mm512_setzero_si512();
    loop {
        let mut untried = _mm512_setzero_si512();
        for stream in &mut streams {
            at = stream.refill(parents, at);
            untried = _mm512_or_si512(untried, stream.untried);
        }
        if at == parents.len && nonzero::<L>(untried) == 0 {
            break;
        }
        for stream in &mut streams {
            // The child of an empty lane is empty as well, and has no completion.
            found = add::<L>(found, last_three::<L>(stream.child::<L>()));
        }
    }
    if is_words::<L>() {
        let even = _mm512_and_si512(found, _mm512_set1_epi32(0xffff));
        found = _mm512_add_epi32(even, _mm512_srli_epi32::<16>(found));
    }
    _mm512_reduce_add_epi32(found) as u64
}

/// A state in every lane.
#[derive(Clone, Copy)]
struct Vectors {
    open: __m512i,
    left: __m512i,
    right: __m512i,
}

impl Vectors {
    /// The states of `from` at `at` and after.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load<L>(from: &States<L>, at: usize) -> Vectors {
        Vectors {
            open: load(&from.open, at),
            left: load(&from.left, at),
            right: load(&from.right, at),
        }
    }

    /// The free squares of the next row.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn free(self) -> __m512i {
        _mm512_ternarylogic_epi32::<AND_NEITHER>(self.open, self.left, self.right)
    }

    /// The free squares of the row that is `ROWS` below the next.
    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn free_below<L, const ROWS: u32>(self) -> __m512i {
        let (left, right) = (up::<L, ROWS>(self.left), down::<L, ROWS>(self.right));
        Vectors { open: self.open, left, right }.free()
    }
}

/// States and, of each, the free squares of its next row on which no queen was placed yet.
#[derive(Clone, Copy)]
struct Stream {
    states: Vectors,
    untried: __m512i,
}

impl Stream {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn empty() -> Stream {
        let zero = _mm512_setzero_si512();
        Stream { states: Vectors { open: zero, left: zero, right: zero }, untried: zero }
    }

    /// Gives the spent lanes the states from `at` on, and returns where the next ones begin.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi2,popcnt")]
    fn refill<L>(&mut self, parents: &States<L>, at: usize) -> usize {
        let fresh = Vectors::load(parents, at);
        let spent = zero::<L>(self.untried);
        self.states.open = replace::<L>(self.states.open, spent, fresh.open);
        self.states.left = replace::<L>(self.states.left, spent, fresh.left);
        self.states.right = replace::<L>(self.states.right, spent, fresh.right);
        self.untried = replace::<L>(self.untried, spent, fresh.free());
        parents.len.min(at + spent.count_ones() as usize)
    }

    /// Places a queen on the lowest untried square of each lane.
    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn child<L>(&mut self) -> Vectors {
        let Stream { states, untried } = *self;
        let bit = _mm512_and_si512(untried, sub::<L>(_mm512_setzero_si512(), untried));
        self.untried = _mm512_xor_si512(untried, bit);
        Vectors {
            open: _mm512_andnot_si512(bit, states.open),
            left: up::<L, 1>(_mm512_or_si512(states.left, bit)),
            right: down::<L, 1>(_mm512_or_si512(states.right, bit)),
        }
    }
}

/// Appends the chosen lanes to the first `len` states, and returns how many there are then.
#[inline]
#[target_feature(enable = "avx512f,avx512vbmi2,popcnt")]
fn append<L>(to: &mut States<L>, len: usize, chosen: u32, states: Vectors) -> usize {
    store(&mut to.open, len, compress::<L>(chosen, states.open));
    store(&mut to.left, len, compress::<L>(chosen, states.left));
    store(&mut to.right, len, compress::<L>(chosen, states.right));
    len + chosen.count_ones() as usize
}

/// The number of ways, at most 3! in each lane, to place the last three queens in the three columns
/// that are open.
///
/// If the middle row's queen keeps off the columns beside open ones, and the other two queens are
/// not two columns apart, then no two meet on a diagonal, and any choice of three different columns
/// from the rows' free squares a, b and c will do. Their number is the permanent of a 3 x 3 matrix
/// of bits, by inclusion and exclusion
///
/// ```text
///   |a| |b| |c|  -  |a b| |c|  -  |a c| |b|  -  |b c| |a|  +  2 |a b c|
/// ```
#[inline]
#[target_feature(enable = "avx512bw,avx512bitalg,avx512vpopcntdq")]
fn last_three<L>(states: Vectors) -> __m512i {
    let Vectors { open, .. } = states;
    let a = states.free();
    let b = states.free_below::<L, 1>();
    let c = states.free_below::<L, 2>();
    let b = _mm512_ternarylogic_epi32::<AND_NEITHER>(b, up::<L, 1>(open), down::<L, 1>(open));

    // low < middle < high are the open columns.
    let minus_one = _mm512_set1_epi32(-1);
    let below_low = add::<L>(open, minus_one);
    let low = _mm512_andnot_si512(below_low, open);
    let upper = _mm512_and_si512(open, below_low);
    let high = _mm512_and_si512(upper, add::<L>(upper, minus_one));
    let middle = _mm512_xor_si512(upper, high);
    let b = remove::<L>(b, equal::<L>(up::<L, 2>(middle), high), low);
    let b = remove::<L>(b, equal::<L>(up::<L, 2>(low), middle), high);

    let ab = _mm512_and_si512(a, b);
    let ac = ones::<L>(_mm512_and_si512(a, c));
    let bc = ones::<L>(_mm512_and_si512(b, c));
    let abc = ones::<L>(_mm512_and_si512(ab, c));
    let (ab, a, b, c) = (ones::<L>(ab), ones::<L>(a), ones::<L>(b), ones::<L>(c));
    // Products are small, so that those of 16 bits do for lanes of 32.
    let apart = sub::<L>(_mm512_mullo_epi16(a, b), ab);
    let ways = _mm512_mullo_epi16(apart, c);
    let ways = sub::<L>(ways, _mm512_mullo_epi16(ac, b));
    let ways = sub::<L>(ways, _mm512_mullo_epi16(bc, a));
    add::<L>(ways, add::<L>(abc, abc))
}

// The instructions, for lanes of either width.

/// Ternary logic: x | y | z.
const OR: i32 = 0b1111_1110;

/// Ternary logic: x & !(y | z).
const AND_NEITHER: i32 = 0b0001_0000;

const fn is_words<L>() -> bool {
    size_of::<L>() == size_of::<u16>()
}

const fn lanes<L>() -> usize {
    assert!(size_of::<L>() == 2 || size_of::<L>() == 4, "a lane is a u16 or a u32");
    size_of::<__m512i>() / size_of::<L>()
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load<L>(from: &[L], at: usize) -> __m512i {
    let from = &from[at..at + lanes::<L>()];
    // SAFETY: the slice is as long as a vector.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store<L>(to: &mut [L], at: usize, a: __m512i) {
    let to = &mut to[at..at + lanes::<L>()];
    // SAFETY: the slice is as long as a vector, and any bits are a u16 or a u32.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), a) }
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn add<L>(a: __m512i, b: __m512i) -> __m512i {
    if is_words::<L>() { _mm512_add_epi16(a, b) } else { _mm512_add_epi32(a, b) }
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn sub<L>(a: __m512i, b: __m512i) -> __m512i {
    if is_words::<L>() { _mm512_sub_epi16(a, b) } else { _mm512_sub_epi32(a, b) }
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn min<L>(a: __m512i, b: __m512i) -> __m512i {
    if is_words::<L>() { _mm512_min_epu16(a, b) } else { _mm512_min_epu32(a, b) }
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn up<L, const BY: u32>(a: __m512i) -> __m512i {
    if is_words::<L>() { _mm512_slli_epi16::<BY>(a) } else { _mm512_slli_epi32::<BY>(a) }
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn down<L, const BY: u32>(a: __m512i) -> __m512i {
    if is_words::<L>() { _mm512_srli_epi16::<BY>(a) } else { _mm512_srli_epi32::<BY>(a) }
}

/// The number of bits set in each lane.
#[inline]
#[target_feature(enable = "avx512bitalg,avx512vpopcntdq")]
fn ones<L>(a: __m512i) -> __m512i {
    if is_words::<L>() { _mm512_popcnt_epi16(a) } else { _mm512_popcnt_epi32(a) }
}

/// Which lanes are zero.
#[inline]
#[target_feature(enable = "avx512bw")]
fn zero<L>(a: __m512i) -> u32 {
    if is_words::<L>() {
        _mm512_testn_epi16_mask(a, a)
    } else {
        _mm512_testn_epi32_mask(a, a).into()
    }
}

/// Which lanes are not zero.
#[inline]
#[target_feature(enable = "avx512bw")]
fn nonzero<L>(a: __m512i) -> u32 {
    if is_words::<L>() { _mm512_test_epi16_mask(a, a) } else { _mm512_test_epi32_mask(a, a).into() }
}

/// Which lanes are equal.
#[inline]
#[target_feature(enable = "avx512bw")]
fn equal<L>(a: __m512i, b: __m512i) -> u32 {
    if is_words::<L>() {
        _mm512_cmpeq_epi16_mask(a, b)
    } else {
        _mm512_cmpeq_epi32_mask(a, b).into()
    }
}

/// `a` without the bits of `b` in the chosen lanes.
#[inline]
#[target_feature(enable = "avx512bw")]
fn remove<L>(a: __m512i, chosen: u32, b: __m512i) -> __m512i {
    let rest = _mm512_andnot_si512(b, a);
    if is_words::<L>() {
        _mm512_mask_mov_epi16(a, chosen, rest)
    } else {
        _mm512_mask_mov_epi32(a, chosen as u16, rest)
    }
}

/// `a` with the first lanes of `b`, in order, in the place of the chosen ones.
#[inline]
#[target_feature(enable = "avx512vbmi2")]
fn replace<L>(a: __m512i, chosen: u32, b: __m512i) -> __m512i {
    if is_words::<L>() {
        _mm512_mask_expand_epi16(a, chosen, b)
    } else {
        _mm512_mask_expand_epi32(a, chosen as u16, b)
    }
}

/// The chosen lanes of `a`, moved together.
#[inline]
#[target_feature(enable = "avx512vbmi2")]
fn compress<L>(chosen: u32, a: __m512i) -> __m512i {
    if is_words::<L>() {
        _mm512_maskz_compress_epi16(chosen, a)
    } else {
        _mm512_maskz_compress_epi32(chosen as u16, a)
    }
}
