//! The method in plain Rust, for every processor.

use super::unit::{ENTRY_LANES, Entry, LANES, Quarter, Run, Tables, Unit};
use super::view::{ByBytes, View};
use super::word::Word;

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

    fn read(self, keys: &[u64], reader: &ByBytes, records: &mut [u64]) {
        for (key, record) in keys.iter().zip(records) {
            *record = reader.read(*key);
        }
    }

    fn words(self, items: &[u32], words: &mut [Word]) {
        for (item, word) in items.iter().zip(words) {
            *word = Word::of(*item);
        }
    }

    fn tabulate(self, items: &[u32; LANES], tables: &mut Tables) {
        let mut lanes = [[[0; ENTRY_LANES / 64]; LANES / ENTRY_LANES]; 32];
        for (word, items) in items.as_chunks::<64>().0.iter().enumerate() {
            let (half, word) = (word * 64 / ENTRY_LANES, word % (ENTRY_LANES / 64));
            let (first, second) = items.split_at(32);
            let columns = transposed(first).into_iter().zip(transposed(second));
            for (lanes, (first, second)) in lanes.iter_mut().zip(columns) {
                lanes[half][word] = u64::from(first) | u64::from(second) << 32;
            }
        }
        tables.fill(USED, &lanes);
    }

    fn join(self, tables: &Tables, runs: &[Run], words: &[Word]) -> u64 {
        let mut sum = 0;
        for Run { open, words: places } in runs {
            for &word in &words[places.clone()] {
                for (half, open) in open.0.as_chunks().0.iter().enumerate() {
                    let entries: [&Entry; USED] =
                        std::array::from_fn(|i| &tables.0[i][half].0[word.byte(i) / 8]);
                    sum += look_up(open, entries);
                }
            }
        }
        sum
    }

    fn count_apart(self, item: u32, items: &[u32]) -> u64 {
        u64::from(items.iter().map(|other| u32::from(item & other == 0)).sum::<u32>())
    }
}

/// The bits of 32 words of 32 bits, by place: bit `i` of word `k` becomes bit `k` of word `i`.
fn transposed(words: &[u32]) -> [u32; 32] {
    let mut square: [u32; 32] = std::array::from_fn(|i| words[i]);
    // Exchanges squares of 16 by 16 bits, then of 8 by 8, and so on.
    let mut mask = 0x0000_ffff_u32;
    let mut size = 16;
    while size > 0 {
        for i in (0..32).filter(|i| i & size == 0) {
            let changed = (square[i] >> size ^ square[i + size]) & mask;
            square[i] ^= changed << size;
            square[i + size] ^= changed;
        }
        size /= 2;
        mask ^= mask << size;
    }
    square
}

/// The number of open lanes that are in all entries. It counts bits in each byte first, then adds the bytes.
fn look_up<const USED: usize>(open: &Entry, entries: [&Entry; USED]) -> u64 {
    let mut bytes = 0;
    for (i, open) in open.iter().enumerate() {
        let word = entries.iter().fold(*open, |word, entry| word & entry[i]);
        let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
        let fours = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
        bytes += (fours + (fours >> 4)) & 0x0f0f_0f0f_0f0f_0f0f;
    }
    // At most 64 in a byte, and 512 in all.
    let words = (bytes & 0x00ff_00ff_00ff_00ff) + (bytes >> 8 & 0x00ff_00ff_00ff_00ff);
    words.wrapping_mul(0x0001_0001_0001_0001) >> 48
}
