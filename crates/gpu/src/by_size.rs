//! The parameters that depend on the board's size: codes, batches and the lengths of lists.

use count::CodeBits;

/// The number of orders of a quarter's columns that a group of threads tries: `TRIED` of the
/// kernels.
const ORDERS_OF_CHUNK: u32 = 768;

/// The parameters of boards of one size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BySize {
    pub(crate) n: u32,
    pub(crate) code: CodeBits,
    /// The most splits that are counted at a time. A batch takes a device at least some tenths of a
    /// millisecond.
    pub(crate) splits: usize,
    /// The number of splits that share a code. A sample and a code take the host a millisecond.
    pub(crate) sharing: usize,
    /// The number of these splits that are sampled, and the number of half-boards in the sample of
    /// each of their lists.
    pub(crate) sampled: usize,
    pub(crate) keys: usize,
    /// The number of sampled pairs that the code is chosen by.
    pub(crate) pairs: u64,
    /// The average number of half-boards in both lists of a split, roughly.
    half_boards: u64,
}

impl BySize {
    /// The parameters for boards of size `n` (4 to 29).
    ///
    /// The number of bits of a code leaves at most 32 bits for an item. There are 2(N-1) diagonals
    /// on an even board and 2(N-2) on an odd one, and two of them never meet at N = 28. With more
    /// low bits a half-board is tabulated more often. With more bits in all, fewer half-boards are
    /// looked up. Codes and batches are the fastest that were measured on one card
    /// (docs/benchmarks).
    pub(crate) fn new(n: u32) -> BySize {
        let (low, high) = match n {
            0..=15 => (0, 4),
            16..=17 => (1, 4),
            18 => (2, 5),
            19 => (2, 4),
            20 => (2, 7),
            21 => (3, 6),
            22..=23 => (3, 9),
            24..=25 => (4, 10),
            26..=27 => (6, 12),
            _ => (8, 12),
        };
        let (splits, sharing, sampled) = match n {
            0..=17 => (1024, 1024, 8),
            18..=21 => (512, 512, 8),
            22 => (512, 128, 4),
            23 => (1024, 256, 4),
            24..=25 => (32, 8, 1),
            26..=27 => (4, 2, 1),
            _ => (1, 1, 1),
        };
        let (keys, pairs) = if n < 26 { (1024, 5_000) } else { (4096, 30_000) };
        let half_boards = match n / 2 {
            0..=6 => 200,
            7 => 900,
            8 => 2_400,
            9 => 14_000,
            10 => 80_000,
            11 => 540_000,
            12 => 4_000_000,
            13 => 32_000_000,
            _ => 280_000_000,
        };
        let code = CodeBits { low, high };
        BySize { n, code, splits, sharing, sampled, keys, pairs, half_boards }
    }

    /// The number of buckets of a list.
    pub(crate) fn buckets(self) -> usize {
        1 << (self.code.low + self.code.high)
    }

    /// The numbers of rows of the upper and of the lower quarter of a half-board.
    pub(crate) fn quarter_rows(self) -> [u32; 2] {
        let rows = self.n / 2;
        [rows / 2, rows - rows / 2]
    }

    /// The room for the half-boards of `splits` splits. It is one and a half times their average
    /// number, and twice that number for one split, so that few lists need a second try.
    pub(crate) fn room_for_keys(self, splits: usize) -> u64 {
        let mean = self.half_boards * splits as u64;
        if splits > 1 { mean / 2 * 3 } else { mean * 2 }
    }

    /// The numbers of orders of the columns of an upper and of a lower quarter.
    pub(crate) fn orders(self) -> [u32; 2] {
        self.quarter_rows().map(|rows| (1..=rows).product())
    }

    /// The number of chunks of a choice.
    pub(crate) fn chunks(self) -> u32 {
        self.orders().map(|orders| orders.div_ceil(ORDERS_OF_CHUNK)).iter().product()
    }
}
