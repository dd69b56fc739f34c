//! The lists of a task, sorted and joined: steps 3 to 6 of its [path](super::task).

use board::halves::Shares;

use crate::halves::buckets::{Buckets, Sorter};
use crate::halves::by_size::CodeBits;
use crate::halves::draws::Draws;
use crate::halves::join::probe::Chunks;
use crate::halves::join::{Join, Side};
use crate::halves::lists::records::Records;
use crate::halves::lists::{Lists, Wanted};
use crate::halves::memory::Room;
use crate::halves::quarters::Half;
use crate::halves::units::Unit;

/// The lists of a task, or parts of them, and the room to make and join them.
pub(crate) struct Workspace<U: Unit> {
    pub(crate) unit: U,
    /// The half-boards that were listed last, and the ties among them.
    pub(crate) records: Records,
    pub(crate) ties: Records,
    pub(crate) sorter: Sorter,
    /// The upper half-boards.
    pub(crate) build: Side,
    /// The lower half-boards.
    pub(crate) probe: Side,
    join: Join<U>,
    /// The choice of blocks that are joined.
    pub(crate) draws: Draws,
}

impl<U: Unit> Workspace<U> {
    /// Empty lists, for which there is `room`, with a code of this many bits.
    pub(crate) fn new(unit: U, bits: CodeBits, room: Room) -> Workspace<U> {
        let buckets = |room| Buckets::new(bits.sum(), room);
        let side = || Side { whole: buckets(room.whole), ties: buckets(room.ties) };
        Workspace {
            unit,
            records: Records::new(room.whole),
            ties: Records::new(room.ties),
            sorter: Sorter::new(bits.sum()),
            build: side(),
            probe: side(),
            join: Join::new(unit, bits),
            draws: Draws::ALL,
        }
    }

    /// Removes the ties of both sides.
    pub(crate) fn clear_ties(&mut self) {
        self.build.ties.clear();
        self.probe.ties.clear();
    }

    /// Steps 3 and 4: lists and sorts the wanted half-boards, beginning with the choice `from`, as
    /// far as there is room. Returns the first choice that is left.
    pub(crate) fn list(&mut self, lists: &mut Lists, wanted: Wanted, from: usize) -> Option<usize> {
        let Workspace { unit, records, ties, sorter, .. } = self;
        let rest = lists.list(*unit, wanted, from, records, ties);
        let side = match wanted.half {
            Half::Upper => &mut self.build,
            Half::Lower => &mut self.probe,
        };
        sorter.sort(records.as_slice(), &mut side.whole);
        sorter.sort(ties.as_slice(), &mut side.ties);
        rest
    }

    /// Steps 5 and 6: adds the shares of the boards that both sides make to `sum`.
    pub(crate) fn join(&mut self, chunks: Chunks, shares: &Shares, sum: &mut u128) {
        let Workspace { build, probe, join, draws, .. } = self;
        let fits = join.count(build, probe, chunks, draws);
        for (fits, share) in fits.as_flattened().iter().zip(shares.times.as_flattened()) {
            *sum += u128::from(*fits) * u128::from(*share);
        }
    }
}
