//! Blocks that are drawn to stand for all blocks of a join.
//!
//! A join of a large board takes seconds, and has many thousands of blocks that are much alike.
//! Every `k`-th of them is drawn, beginning with a random one of the first `k`, so each block is
//! drawn with probability `1/k`. So `k` times the sum over the drawn blocks is an unbiased estimate
//! of the sum over all blocks (systematic sampling: W. G. Cochran, "Sampling Techniques", 3rd
//! edition, 1977, chapter 8). This holds for counts and for seconds. The block before a drawn one
//! is joined, too, but its time is not counted: a block takes up to a third longer if its lists are
//! not in the caches.

use std::time::{Duration, Instant};

/// The choice of blocks that are joined: all of them, unless a sample is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws {
    /// One of this many blocks is drawn.
    pub(crate) every: u64,
    /// The number of blocks before the next one that is drawn.
    until: u64,
    /// The treatment of the present block.
    pub(crate) block: Drawn,
    /// The time at which the present block began.
    begun: Option<Instant>,
    /// The time of all blocks that were drawn.
    pub(crate) took: Duration,
    /// The time of all blocks that were joined only to warm up the caches.
    pub(crate) warmed_up: Duration,
}

/// The treatment of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drawn {
    /// The block is passed over.
    No,
    /// The block is joined but not counted, so that the next one finds the caches as it would among
    /// all blocks.
    WarmsUp,
    /// The block is joined and counted.
    Yes,
}

impl Draws {
    /// Every block is drawn, and none is measured.
    pub(crate) const ALL: Draws = Draws {
        every: 1,
        until: 0,
        block: Drawn::Yes,
        begun: None,
        took: Duration::ZERO,
        warmed_up: Duration::ZERO,
    };

    /// Draws one of `every` blocks, beginning with number `first` from 0.
    pub(crate) fn new(every: u32, first: u32) -> Draws {
        Draws { every: every.into(), until: first.into(), ..Draws::ALL }
    }

    pub(crate) fn begin(&mut self) {
        if self.every == 1 {
            return;
        }
        self.block = match self.until {
            0 => Drawn::Yes,
            1 => Drawn::WarmsUp,
            _ => Drawn::No,
        };
        if self.block == Drawn::Yes {
            self.until = self.every;
        }
        self.until -= 1;
        self.begun = (self.block != Drawn::No).then(Instant::now);
    }

    pub(crate) fn end(&mut self) {
        if let Some(begun) = self.begun.take() {
            let sum = if self.block == Drawn::Yes { &mut self.took } else { &mut self.warmed_up };
            *sum += begun.elapsed();
        }
    }
}
