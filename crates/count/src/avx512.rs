//! AVX-512: the search of [`levels`](crate::levels) in vectors of 64 bytes.
//!
//! A mask takes 16 bits if the board is at most 16 wide, and 32 bits otherwise. So a vector has 32
//! or 16 lanes. The same code serves both: the type `L` of a lane (`u16` or `u32`) is its
//! parameter. Refilling and appending take one instruction for each mask, expand and compress. Both
//! work between registers, because compressing to memory is slow on Zen 4.
//!
//! A child is stored only if each of its next three rows has a free square. With four or five rows
//! left, every row *and* every column that is left must have one. Of the children with four rows
//! left at N = 16, this keeps 41% instead of 56%. The last three rows are counted in closed form
//! ([`last_three`]).
//!
//! On one core of a shared Zen 5 server, `rows` was measured at 3.0e8 Q/s for N = 16 and at 1.45e8
//! Q/s for N = 18. This is 78 and 43 times the speed of the reference, or 14 and 29 cycles for each
//! solution. `LABBOOK.md` describes other attempts.
//!
//! The instructions are those of Ice Lake (2019) and Zen 4 (2022): VBMI2 moves 16-bit lanes, and
//! BITALG and VPOPCNTDQ count bits. Older AVX-512 processors run `avx2`.

use std::arch::x86_64::*;
use std::marker::PhantomData;

use crate::levels::{Below, States, Unit};
use crate::remaining::Row;

/// The number of vectors of lanes that are processed in turn, to hide the latency of their refills.
const STREAMS: usize = 3;

/// The right to execute these instructions, with lanes of type `L`.
pub(crate) struct Avx512<L>(PhantomData<L>);

/// Whether the processor has every instruction that the backend uses for any method. Skylake and
/// Cascade Lake lack some of them, so AVX2 counts everything there.
pub(crate) fn is_available() -> bool {
    is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("avx512bitalg")
        && is_x86_feature_detected!("avx512vpopcntdq")
        && is_x86_feature_detected!("gfni")
        && is_x86_feature_detected!("popcnt")
}

impl<L> Avx512<L> {
    /// `None` if the processor lacks any of the instructions used here.
    pub(crate) fn new() -> Option<Avx512<L>> {
        is_available().then_some(Avx512(PhantomData))
    }
}

impl<L: Copy + Default + TryFrom<u32>> Unit for Avx512<L> {
    type Lane = L;

    const LANES: usize = lanes::<L>();

    fn expand(&self, parents: &States<L>, start: usize, below: Below<'_>, next: &mut States<L>) {
        let Below { rows, plain } = below;
        // SAFETY: `self` exists, so `new` has found the instructions that `expand` enables.
        unsafe {
            match (plain, rows.len()) {
                (true, 5) => expand::<L, true, 4>(parents, start, rows, next),
                (true, 6) => expand::<L, true, 5>(parents, start, rows, next),
                (true, _) => expand::<L, true, 3>(parents, start, rows, next),
                (false, 5) => expand::<L, false, 4>(parents, start, rows, next),
                (false, 6) => expand::<L, false, 5>(parents, start, rows, next),
                (false, _) => expand::<L, false, 3>(parents, start, rows, next),
            }
        }
    }

    fn finish(&self, parents: &States<L>, start: usize, below: Below<'_>) -> u64 {
        let Below { rows, plain } = below;
        // SAFETY: `self` exists, so `new` has found the instructions that `finish` enables.
        unsafe {
            match plain {
                true => finish::<L, true>(parents, start, rows),
                false => finish::<L, false>(parents, start, rows),
            }
        }
    }
}

/// Stores the children that leave a free square in each of the next `LOOK` rows. If `LOOK` is more
/// than three, these are all rows that are left, and each column must have a free square, too.
#[target_feature(enable = "avx512bw,avx512vbmi2,avx512bitalg,avx512vpopcntdq,popcnt")]
fn expand<L, const PLAIN: bool, const LOOK: usize>(
    parents: &States<L>,
    start: usize,
    rows: &[Row],
    next: &mut States<L>,
) {
    let rows = Rows::<PLAIN>::new::<L>(&rows[..=LOOK]);
    let mut streams = [Stream::empty(); STREAMS];
    let mut at = start;
    let mut len = 0;
    loop {
        let mut untried = _mm512_setzero_si512();
        for stream in &mut streams {
            at = stream.refill(&rows, parents, at);
            untried = _mm512_or_si512(untried, stream.untried);
        }
        if at == parents.len && nonzero::<L>(untried) == 0 {
            break;
        }
        for stream in &mut streams {
            let child = stream.child::<L, PLAIN>(&rows);
            let first = child.free::<L, PLAIN, 1>(&rows);
            let second = child.free::<L, PLAIN, 2>(&rows);
            let third = child.free::<L, PLAIN, 3>(&rows);
            let mut fewest = min::<L>(min::<L>(first, second), third);
            let mut columns = _mm512_ternarylogic_epi32::<OR>(first, second, third);
            if LOOK >= 4 {
                let fourth = child.free::<L, PLAIN, 4>(&rows);
                fewest = min::<L>(fewest, fourth);
                columns = _mm512_or_si512(columns, fourth);
            }
            if LOOK >= 5 {
                let fifth = child.free::<L, PLAIN, 5>(&rows);
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
fn finish<L, const PLAIN: bool>(parents: &States<L>, start: usize, rows: &[Row]) -> u64 {
    let rows = Rows::<PLAIN>::new::<L>(rows);
    let mut streams = [Stream::empty(); STREAMS];
    let mut at = start;
    // A lane's sum is at most that of the block, which fits in 16 bits, as `levels` asserts.
    let mut found = _mm512_setzero_si512();
    loop {
        let mut untried = _mm512_setzero_si512();
        for stream in &mut streams {
            at = stream.refill(&rows, parents, at);
            untried = _mm512_or_si512(untried, stream.untried);
        }
        if at == parents.len && nonzero::<L>(untried) == 0 {
            break;
        }
        for stream in &mut streams {
            // The child of an empty lane is empty too, and has no completion.
            let child = stream.child::<L, PLAIN>(&rows);
            found = add::<L>(found, last_three::<L, PLAIN>(child, &rows));
        }
    }
    if is_words::<L>() {
        let even = _mm512_and_si512(found, _mm512_set1_epi32(0xffff));
        found = _mm512_add_epi32(even, _mm512_srli_epi32::<16>(found));
    }
    _mm512_reduce_add_epi32(found) as u64
}

/// The most rows that are looked at together: the parents' row and five below it.
const MOST_ROWS: usize = 6;

/// The rows from the parents' row on, in every lane. It is not used if the rows are `PLAIN`.
struct Rows<const PLAIN: bool> {
    /// The columns that are closed in each row.
    closed: [__m512i; MOST_ROWS],
    /// The distance of each row from the children's row. For the first row, the children's row is
    /// below.
    apart: [__m512i; MOST_ROWS],
}

impl<const PLAIN: bool> Rows<PLAIN> {
    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn new<L>(rows: &[Row]) -> Rows<PLAIN> {
        let zero = _mm512_setzero_si512();
        let (mut closed, mut apart) = ([zero; MOST_ROWS], [zero; MOST_ROWS]);
        if !PLAIN {
            apart[0] = set::<L>(rows[1].step);
            let mut sum = 0;
            for (i, row) in rows.iter().enumerate() {
                closed[i] = set::<L>(row.closed);
                if i > 1 {
                    sum += row.step;
                    apart[i] = set::<L>(sum);
                }
            }
        }
        Rows { closed, apart }
    }
}

/// A state in every lane.
#[derive(Clone, Copy)]
struct Vectors {
    open: __m512i,
    left: __m512i,
    right: __m512i,
}

impl Vectors {
    /// The states of `from` from the place `at` on.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load<L>(from: &States<L>, at: usize) -> Vectors {
        Vectors {
            open: load(&from.open, at),
            left: load(&from.left, at),
            right: load(&from.right, at),
        }
    }

    /// The free squares of row `ROW`; row 0 is the parents' and row 1 the children's.
    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn free<L, const PLAIN: bool, const ROW: usize>(self, rows: &Rows<PLAIN>) -> __m512i {
        let (left, right) = match (ROW, PLAIN) {
            (0 | 1, _) => (self.left, self.right),
            (2, true) => (up::<L, 1>(self.left), down::<L, 1>(self.right)),
            (3, true) => (up::<L, 2>(self.left), down::<L, 2>(self.right)),
            (4, true) => (up::<L, 3>(self.left), down::<L, 3>(self.right)),
            (_, true) => (up::<L, 4>(self.left), down::<L, 4>(self.right)),
            (_, false) => {
                let by = rows.apart[ROW];
                (up_by::<L>(self.left, by), down_by::<L>(self.right, by))
            }
        };
        let free = _mm512_ternarylogic_epi32::<AND_NEITHER>(self.open, left, right);
        if PLAIN { free } else { _mm512_andnot_si512(rows.closed[ROW], free) }
    }
}

/// States, each with the free squares of its next row on which no queen was placed yet.
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

    /// Gives the spent lanes the states from `at` on. Returns the place of the next state.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512vbmi2,popcnt")]
    fn refill<L, const PLAIN: bool>(
        &mut self,
        rows: &Rows<PLAIN>,
        parents: &States<L>,
        at: usize,
    ) -> usize {
        let fresh = Vectors::load(parents, at);
        let spent = zero::<L>(self.untried);
        self.states.open = replace::<L>(self.states.open, spent, fresh.open);
        self.states.left = replace::<L>(self.states.left, spent, fresh.left);
        self.states.right = replace::<L>(self.states.right, spent, fresh.right);
        self.untried = replace::<L>(self.untried, spent, fresh.free::<L, PLAIN, 0>(rows));
        parents.len.min(at + spent.count_ones() as usize)
    }

    /// Places a queen on the lowest untried square of each lane.
    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn child<L, const PLAIN: bool>(&mut self, rows: &Rows<PLAIN>) -> Vectors {
        let Stream { states, untried } = *self;
        let bit = _mm512_and_si512(untried, sub::<L>(_mm512_setzero_si512(), untried));
        self.untried = _mm512_xor_si512(untried, bit);
        let left = _mm512_or_si512(states.left, bit);
        let right = _mm512_or_si512(states.right, bit);
        let (left, right) = if PLAIN {
            (up::<L, 1>(left), down::<L, 1>(right))
        } else {
            (up_by::<L>(left, rows.apart[0]), down_by::<L>(right, rows.apart[0]))
        };
        Vectors { open: _mm512_andnot_si512(bit, states.open), left, right }
    }
}

/// Appends the chosen lanes to the first `len` states. Returns the new number of states.
#[inline]
#[target_feature(enable = "avx512f,avx512vbmi2,popcnt")]
fn append<L>(to: &mut States<L>, len: usize, chosen: u32, states: Vectors) -> usize {
    store(&mut to.open, len, compress::<L>(chosen, states.open));
    store(&mut to.left, len, compress::<L>(chosen, states.left));
    store(&mut to.right, len, compress::<L>(chosen, states.right));
    len + chosen.count_ones() as usize
}

/// The number of ways to place the last three queens in the three columns that are open. It is at
/// most 3! in each lane, and 0 in an empty lane.
#[inline]
#[target_feature(enable = "avx512bw,avx512bitalg,avx512vpopcntdq")]
fn last_three<L, const PLAIN: bool>(states: Vectors, rows: &Rows<PLAIN>) -> __m512i {
    let Vectors { open, .. } = states;
    let a = states.free::<L, PLAIN, 1>(rows);
    let b = states.free::<L, PLAIN, 2>(rows);
    let c = states.free::<L, PLAIN, 3>(rows);

    // low < middle < high are the open columns.
    let minus_one = _mm512_set1_epi32(-1);
    let below_low = add::<L>(open, minus_one);
    let low = _mm512_andnot_si512(below_low, open);
    let upper = _mm512_and_si512(open, below_low);
    let high = _mm512_and_si512(upper, add::<L>(upper, minus_one));
    let middle = _mm512_xor_si512(upper, high);

    if PLAIN {
        // No two queens meet on a diagonal if the middle row's queen does not stand beside an open
        // column and the other two are not two columns apart. Then any three different columns are
        // a placement.
        let b = _mm512_ternarylogic_epi32::<AND_NEITHER>(b, up::<L, 1>(open), down::<L, 1>(open));
        let b = remove::<L>(b, equal::<L>(up::<L, 2>(middle), high), low);
        let b = remove::<L>(b, equal::<L>(up::<L, 2>(low), middle), high);
        return permanent::<L>(a, b, c);
    }
    // For each column of the middle row's queen, two columns are left for the other two queens.
    let to_b = rows.apart[2];
    let b_to_c = sub::<L>(rows.apart[3], to_b);
    let mut ways = _mm512_setzero_si512();
    for column in [low, middle, high] {
        let others = _mm512_andnot_si512(column, open);
        let far = up_by::<L>(others, rows.apart[3]);
        let allowed = nonzero::<L>(_mm512_and_si512(b, column)) & disjoint::<L>(far, others);
        let off = |row, by| {
            let (left, right) = (up_by::<L>(column, by), down_by::<L>(column, by));
            _mm512_and_si512(others, _mm512_ternarylogic_epi32::<AND_NEITHER>(row, left, right))
        };
        let (a, c) = (off(a, to_b), off(c, b_to_c));
        let both = ones::<L>(_mm512_and_si512(a, c));
        let apart = sub::<L>(_mm512_mullo_epi16(ones::<L>(a), ones::<L>(c)), both);
        ways = add_some::<L>(ways, allowed, apart);
    }
    ways
}

/// The number of ways to choose three different columns, one from each of the sets a, b and c.
/// Together the sets have three columns. The number is the permanent of a 3 x 3 matrix of bits,
/// found by inclusion and exclusion:
///
/// ```text
///   |a| |b| |c|  -  |a b| |c|  -  |a c| |b|  -  |b c| |a|  +  2 |a b c|
/// ```
#[inline]
#[target_feature(enable = "avx512bw,avx512bitalg,avx512vpopcntdq")]
fn permanent<L>(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    let ab = _mm512_and_si512(a, b);
    let ac = ones::<L>(_mm512_and_si512(a, c));
    let bc = ones::<L>(_mm512_and_si512(b, c));
    let abc = ones::<L>(_mm512_and_si512(ab, c));
    let (ab, a, b, c) = (ones::<L>(ab), ones::<L>(a), ones::<L>(b), ones::<L>(c));
    // The products are small, so 16-bit multiplication is enough for lanes of 32 bits.
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

/// `value` in every lane; it fits a lane.
#[inline]
#[target_feature(enable = "avx512bw")]
fn set<L>(value: u32) -> __m512i {
    if is_words::<L>() { _mm512_set1_epi16(value as i16) } else { _mm512_set1_epi32(value as i32) }
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

/// Shifts each lane of `a` up by the number of bits in the lane of `by`.
#[inline]
#[target_feature(enable = "avx512bw")]
fn up_by<L>(a: __m512i, by: __m512i) -> __m512i {
    if is_words::<L>() { _mm512_sllv_epi16(a, by) } else { _mm512_sllv_epi32(a, by) }
}

/// Shifts each lane of `a` down by the number of bits in the lane of `by`.
#[inline]
#[target_feature(enable = "avx512bw")]
fn down_by<L>(a: __m512i, by: __m512i) -> __m512i {
    if is_words::<L>() { _mm512_srlv_epi16(a, by) } else { _mm512_srlv_epi32(a, by) }
}

/// The number of bits set in each lane.
#[inline]
#[target_feature(enable = "avx512bitalg,avx512vpopcntdq")]
fn ones<L>(a: __m512i) -> __m512i {
    if is_words::<L>() { _mm512_popcnt_epi16(a) } else { _mm512_popcnt_epi32(a) }
}

/// The lanes that are zero.
#[inline]
#[target_feature(enable = "avx512bw")]
fn zero<L>(a: __m512i) -> u32 {
    if is_words::<L>() {
        _mm512_testn_epi16_mask(a, a)
    } else {
        _mm512_testn_epi32_mask(a, a).into()
    }
}

/// The lanes that are not zero.
#[inline]
#[target_feature(enable = "avx512bw")]
fn nonzero<L>(a: __m512i) -> u32 {
    if is_words::<L>() { _mm512_test_epi16_mask(a, a) } else { _mm512_test_epi32_mask(a, a).into() }
}

/// The lanes that have no bit in common.
#[inline]
#[target_feature(enable = "avx512bw")]
fn disjoint<L>(a: __m512i, b: __m512i) -> u32 {
    if is_words::<L>() {
        _mm512_testn_epi16_mask(a, b)
    } else {
        _mm512_testn_epi32_mask(a, b).into()
    }
}

/// Adds `b` to `a` in the chosen lanes; the others keep `a`.
#[inline]
#[target_feature(enable = "avx512bw")]
fn add_some<L>(a: __m512i, chosen: u32, b: __m512i) -> __m512i {
    if is_words::<L>() {
        _mm512_mask_add_epi16(a, chosen, a, b)
    } else {
        _mm512_mask_add_epi32(a, chosen as u16, a, b)
    }
}

/// The lanes that are equal.
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

/// Replaces the chosen lanes of `a` by the first lanes of `b`, in order.
#[inline]
#[target_feature(enable = "avx512vbmi2")]
fn replace<L>(a: __m512i, chosen: u32, b: __m512i) -> __m512i {
    if is_words::<L>() {
        _mm512_mask_expand_epi16(a, chosen, b)
    } else {
        _mm512_mask_expand_epi32(a, chosen as u16, b)
    }
}

/// Moves the chosen lanes of `a` to the front, in order.
#[inline]
#[target_feature(enable = "avx512vbmi2")]
fn compress<L>(chosen: u32, a: __m512i) -> __m512i {
    if is_words::<L>() {
        _mm512_maskz_compress_epi16(chosen, a)
    } else {
        _mm512_maskz_compress_epi32(chosen as u16, a)
    }
}
