//! Sets of numbers of any size, one bit for each number.

use board::ones;

/// A set of numbers below a bound.
#[derive(Clone, Debug)]
pub(crate) struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// The empty set, with room for numbers below `len`.
    pub(crate) fn none(len: usize) -> Bits {
        // There are two words more than needed, because a window can begin at the last number and
        // is read in words.
        Bits { words: vec![0; len / 64 + 2] }
    }

    /// Inserts a number, or removes it if it is there.
    pub(crate) fn flip(&mut self, number: usize) {
        self.words[number / 64] ^= 1 << (number % 64);
    }

    /// Inserts a number; returns whether it was missing.
    pub(crate) fn insert(&mut self, number: usize) -> bool {
        let (word, bit) = (&mut self.words[number / 64], 1 << (number % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// The numbers from `64 * word` on, as bits.
    pub(crate) fn word(&self, word: usize) -> u64 {
        self.words[word]
    }

    /// The 64 numbers from `start` on, as bits; there are none beyond the end.
    pub(crate) fn window(&self, start: usize) -> u64 {
        let (word, shift) = (start / 64, start % 64);
        let [low, high] = [word, word + 1].map(|i| self.words.get(i).copied().unwrap_or(0));
        low >> shift | high << 1 << (63 - shift)
    }

    /// The numbers, in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().zip(0..).flat_map(|(&word, i)| ones(word).map(move |bit| 64 * i + bit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_shows_what_is_in_from_there_on() {
        let numbers = [0, 5, 63, 64, 100, 127, 128, 190, 199];
        let mut bits = Bits::none(200);
        for number in numbers {
            assert!(bits.insert(number) && !bits.insert(number));
        }
        assert_eq!(bits.iter().map(|i| i as usize).collect::<Vec<_>>(), numbers);
        for start in 0..400 {
            let seen: Vec<usize> = ones(bits.window(start)).map(|i| start + i as usize).collect();
            let there = numbers.into_iter().filter(|i| (start..start + 64).contains(i));
            assert_eq!(seen, there.collect::<Vec<_>>(), "from {start}");
        }
        numbers.into_iter().for_each(|number| bits.flip(number));
        assert_eq!(bits.iter().next(), None);
    }
}
