//! Turns the bytes of an input into choices; after its end all bytes are zero.

/// The part of an input that was not used yet.
pub struct Source<'a>(&'a [u8]);

/// Limits of boards, of messages and of integers.
const LIMITS: [u64; 20] = [
    0,
    1,
    2,
    5,
    8,
    29,
    32,
    33,
    64,
    65,
    4096,
    4097,
    1 << 16,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    (1 << 63) - 1,
    1 << 63,
    u64::MAX,
];

impl<'a> Source<'a> {
    /// Begins with the first byte of `input`.
    #[must_use]
    pub fn new(input: &'a [u8]) -> Source<'a> {
        Source(input)
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let wide = if bound > 256 { usize::from(self.byte()) << 8 } else { 0 };
        (wide | usize::from(self.byte())) % bound
    }

    /// Returns true about once in `times` calls. After the end of the input it returns false, unless
    /// `times` is 1.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    /// Chooses one element.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn choose<'b, T>(&mut self, from: &'b [T]) -> &'b T {
        &from[self.below(from.len())]
    }

    /// A small number, a number at a limit, or any number.
    pub fn number(&mut self) -> u64 {
        match self.below(8) {
            0..=4 => self.below(12) as u64,
            5 | 6 => *self.choose(&LIMITS),
            _ => (0..8).fold(0, |number, _| number << 8 | u64::from(self.byte())),
        }
    }

    /// Takes everything that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}
