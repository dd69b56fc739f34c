//! The method in plain Rust, for every processor.

use super::unit::{ENTRY_LANES, Entry, LANES, Quarter, Run, Tables, Unit, lanes_of_tails};
use super::view::{ByBytes, View};
use super::word::{WORD_BITS, Word};

/// Plain Rust, for items of so many chunks.
#[derive(Clone, Copy)]
pub(crate) struct Portable<const USED: usize>;

impl<const USED: usize> Unit for Portable<USED> {
    type Reader = ByBytes;

    fn pair(self, upper: Quarter<'_>, lower: Quarter<'_>, keys: &mut [u64]) -> usize {
        let mut len = 0;
        for i in 0..upper.len {
            let (meet, far) = (upper.meet[i], upper.far[i]);
            let lower = lower.meet[..lower.len].iter().zip(&lower.far[..lower.len]);
            for (lower_meet, lower_far) in lower {
                // The key is always written, and the end moves only if it is a half-board: no branch.
                keys[len] = far | lower_far;
                len += usize::from(meet & lower_meet == 0);
            }
        }
        len
    }

    fn reader(self, view: &View) -> ByBytes {
        ByBytes::new(view)
    }

    fn read(self, keys: &mut [u64], reader: &ByBytes) {
        keys.iter_mut().for_each(|key| *key = reader.read(*key));
    }

    fn words(self, items: &[u32], words: &mut [Word]) {
        for (item, word) in items.iter().zip(words) {
            *word = Word::of(*item);
        }
    }

    fn tabulate(self, items: &[u32; LANES], tails: Option<&[u8; LANES]>, tables: &mut Tables) {
        let mut lanes = [[[0; ENTRY_LANES / 64]; LANES / ENTRY_LANES]; WORD_BITS];
        for (word, items) in items.as_chunks::<64>().0.iter().enumerate() {
            let (half, word) = (word * 64 / ENTRY_LANES, word % (ENTRY_LANES / 64));
            for (lanes, column) in lanes.iter_mut().zip(transposed(items)) {
                lanes[half][word] = column;
            }
        }
        if let Some(tails) = tails {
            lanes[u32::BITS as usize..].copy_from_slice(&lanes_of_tails(tails));
        }
        tables.fill(USED, &lanes);
    }

    fn join(self, tables: &Tables, runs: &[Run], words: &[Word]) -> u64 {
        let mut counter = Counter::default();
        for Run { open, words: places } in runs {
            for (half, open) in open.0.as_chunks().0.iter().enumerate() {
                if *open == [0; ENTRY_LANES / 64] {
                    continue;
                }
                for &word in &words[places.clone()] {
                    let entries: [&Entry; USED] =
                        std::array::from_fn(|i| &tables.0[i][half].0[word.byte(i) / 8]);
                    counter.add(look_up(open, entries));
                }
            }
        }
        counter.sum()
    }

    fn count_apart(self, item: u32, items: &[u32]) -> u64 {
        u64::from(items.iter().map(|other| u32::from(item & other == 0)).sum::<u32>())
    }
}

/// The bits of 64 items by place: bit `i` of item `k` becomes bit `k` of word `i`.
fn transposed(items: &[u32; 64]) -> [u64; 32] {
    // Each half of these words is a square of 32 by 32 bits.
    let mut squares: [u64; 32] =
        std::array::from_fn(|i| u64::from(items[i]) | u64::from(items[i + 32]) << 32);
    // Exchanges squares of 16 by 16 bits, then of 8 by 8, and so on.
    let mut mask = 0x0000_ffff_0000_ffff_u64;
    let mut size = 16;
    while size > 0 {
        for i in (0..32).filter(|i| i & size == 0) {
            let changed = (squares[i] >> size ^ squares[i + size]) & mask;
            squares[i] ^= changed << size;
            squares[i + size] ^= changed;
        }
        size /= 2;
        mask ^= mask << size;
    }
    squares
}

/// The open lanes that are in all entries.
#[inline(always)]
fn look_up<const USED: usize>(open: &Entry, entries: [&Entry; USED]) -> Entry {
    std::array::from_fn(|i| entries.iter().fold(open[i], |lanes, entry| lanes & entry[i]))
}

/// Two words, which most processors compute at a time.
type Pair = [u64; 2];

/// Counts the bits of entries.
///
/// Carry-save additions keep the lower digits of the counts of all places side by side, so that only one pair
/// of words in four has its bits counted (Harley and Seal; Warren, Hacker's Delight, section 5-1).
#[derive(Default)]
struct Counter {
    ones: Pair,
    twos: Pair,
    fours: Pair,
}

impl Counter {
    #[inline(always)]
    fn add(&mut self, entry: Entry) {
        let [a, b, c, d] = std::array::from_fn(|i| [entry[2 * i], entry[2 * i + 1]]);
        let (ones, twos_1) = carry_save(self.ones, a, b);
        let (ones, twos_2) = carry_save(ones, c, d);
        let (twos, fours) = carry_save(self.twos, twos_1, twos_2);
        (self.ones, self.twos) = (ones, twos);
        self.fours = each(|i| self.fours[i] + bits(fours[i]));
    }

    /// The number of bits of all entries.
    fn sum(self) -> u64 {
        let count = |pair: Pair| bits(pair[0]) + bits(pair[1]);
        count(self.ones) + 2 * count(self.twos) + 4 * (self.fours[0] + self.fours[1])
    }
}

/// The lower and the upper bit of the sum of three bits, in each place.
#[inline(always)]
fn carry_save(a: Pair, b: Pair, c: Pair) -> (Pair, Pair) {
    let odd: Pair = each(|i| a[i] ^ b[i]);
    (each(|i| odd[i] ^ c[i]), each(|i| a[i] & b[i] | odd[i] & c[i]))
}

#[inline(always)]
fn each(word: impl FnMut(usize) -> u64) -> Pair {
    std::array::from_fn(word)
}

/// The number of bits of a word. Processors without an instruction for it count faster so than by the one of
/// the language, because both words of a pair are counted at a time.
#[inline(always)]
fn bits(word: u64) -> u64 {
    let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
    let fours = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
    let bytes = (fours + (fours >> 4)) & 0x0f0f_0f0f_0f0f_0f0f;
    let words = (bytes & 0x00ff_00ff_00ff_00ff) + (bytes >> 8 & 0x00ff_00ff_00ff_00ff);
    words.wrapping_mul(0x0001_0001_0001_0001) >> 48
}
