//! The path of a task, from its split to the sum of its boards' shares.
//!
//! ```text
//!   split           the columns that the upper half's queens take     board::halves
//!     1 quarters    are placed by their columns                       quarters
//!     2 code        the diagonals that number buckets are chosen      code
//!     3 lists       pairs of quarters become half-boards' records     lists
//!     4 buckets     records are sorted: the upper half-boards into    buckets
//!                   the build side, the lower ones into the probe side
//!     5 join        the pairs that fit are counted                    join
//!     6 sum         each counts as often as its share says
//! ```
//!
//! Later tasks use what an earlier one has made:
//!
//! ```text
//!   quarters        for all tasks with the same square of the centre row's queen; on large boards
//!                   those in the columns of the last lists
//!   code            for all tasks of an even board, for some splits that are alike, or for the
//!                   slices of a split
//!   build side      for the tasks of a split that join the same upper slice
//!   shared lists    on odd boards up to 21: neighbours filter them instead of steps 2 to 4
//!                   (`shared`)
//! ```

use board::halves::{Shares, Slice, Split};

use crate::halves::buckets::{Buckets, Sorter};
use crate::halves::by_size::{self, CodeBits, Kept};
use crate::halves::code::Code;
use crate::halves::code::choose::{self, LastCode};
use crate::halves::draws::Draws;
use crate::halves::join::probe::Chunks;
use crate::halves::join::{Join, Side};
use crate::halves::lists::records::Records;
use crate::halves::lists::{Lists, Wanted};
use crate::halves::memory::Room;
use crate::halves::quarters::Half;
use crate::halves::shared::Shared;
use crate::halves::units::Unit;

/// Counts tasks of one board with the instructions of one backend.
pub(crate) trait CountTasks: Send + Sync {
    /// The sum of the shares of the boards of one task.
    fn count(&mut self, split: Split) -> u128;

    /// The choice of blocks that are joined.
    fn draws(&mut self) -> &mut Draws;
}

pub(crate) struct TaskCounter<U: Unit> {
    n: u32,
    kept: Kept,
    /// The quarters for the last square of the centre row, or for every square.
    lists: Option<Lists>,
    last_code: LastCode,
    /// The split and the slice whose upper half-boards are all in the build side, and their code.
    built: Option<(Split, Code)>,
    shared: Option<Shared>,
    work: Workspace<U>,
}

impl<U: Unit> TaskCounter<U> {
    /// A counter for boards of size `n`, with lists of at most `room` half-boards at a time.
    pub(crate) fn new(unit: U, n: u32, room: Room) -> TaskCounter<U> {
        TaskCounter {
            n,
            kept: room.kept,
            lists: None,
            last_code: LastCode::default(),
            built: None,
            shared: by_size::shares_lists(n).then(|| Shared::new(n, room)),
            work: Workspace::new(unit, by_size::code_bits(n), room),
        }
    }

    /// Runs steps 1 to 4 with lists that neighbours share. Returns the number of chunks of their
    /// items. `None` if the task shares no lists, or if they do not fit.
    fn share(&mut self, split: Split, shares: &Shares) -> Option<Chunks> {
        let TaskCounter { n, kept, lists, built, shared, work, .. } = self;
        let shared = shared.as_mut().filter(|shared| shared.has(split))?;
        *built = None;
        let lists = quarters(lists, work.unit, *n, *kept, 0, shares);
        work.build.ties.clear();
        work.probe.ties.clear();
        shared.list(split, lists, work).ok()
    }

    /// Runs steps 1 to 6 with lists of the task's own.
    fn count_alone(&mut self, split: Split, shares: &Shares) -> u128 {
        let TaskCounter { n, kept, lists, last_code, built, work, .. } = self;
        let n = *n;
        // 1. Quarters.
        let lists = quarters(lists, work.unit, n, *kept, split.centre, shares);

        // 2. The code.
        let code = match lists.code {
            Some(code) => code,
            None => last_code.serve(n, split, || choose::of_split(work.unit, n, split, lists)),
        };

        let wanted =
            |half, set, window, slice, view| Wanted { half, set, window, slice, view, closed: 0 };
        let upper = wanted(Half::Upper, split.columns, shares.upper, split.upper, code.upper);
        let lower = wanted(Half::Lower, split.others(n), shares.lower, split.lower, code.lower);
        let wanted = (Split { lower: Slice::WHOLE, ..split }, code);
        let is_built = built.take() == Some(wanted);
        // Steps 3 to 6: both sides are listed, sorted and joined. A list that does not fit is
        // joined in parts, and the other list is made once more for each part.
        let mut sum = 0;
        let mut upper_from = Some(0);
        while let Some(from) = upper_from {
            upper_from = if is_built { None } else { work.list(lists, upper, from) };
            *built = (from == 0 && upper_from.is_none()).then_some(wanted);
            if work.build.whole.len() + work.build.ties.len() == 0 {
                continue;
            }
            let mut lower_from = Some(0);
            while let Some(from) = lower_from {
                lower_from = work.list(lists, lower, from);
                sum += work.join(code.chunks, shares);
            }
        }
        sum
    }
}

impl<U: Unit> CountTasks for TaskCounter<U> {
    fn count(&mut self, split: Split) -> u128 {
        let shares = Shares::new(self.n, split);
        match self.share(split, &shares) {
            Some(chunks) => self.work.join(chunks, &shares),
            None => self.count_alone(split, &shares),
        }
    }

    fn draws(&mut self) -> &mut Draws {
        &mut self.work.draws
    }
}

/// Step 1: the quarters for one square of the centre row, or for every square. They are placed anew
/// if the last ones are for another square. If the board has one code, the quarters' keys are read
/// once, too.
fn quarters<'a, U: Unit>(
    last: &'a mut Option<Lists>,
    unit: U,
    n: u32,
    kept: Kept,
    centre: u32,
    shares: &Shares,
) -> &'a mut Lists {
    last.take_if(|last| last.centre != centre);
    last.get_or_insert_with(|| {
        let mut lists = Lists::new(n, kept, centre, shares.columns);
        if by_size::has_common_code(n, kept) {
            let code = choose::of_board(unit, n, &mut lists);
            lists.read(unit, code);
        }
        lists
    })
}

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

    /// Steps 5 and 6: the sum of the shares of the boards that both sides make.
    pub(crate) fn join(&mut self, chunks: Chunks, shares: &Shares) -> u128 {
        let Workspace { build, probe, join, draws, .. } = self;
        let fits = join.count(build, probe, chunks, draws);
        let shares = fits.as_flattened().iter().zip(shares.times.as_flattened());
        shares.map(|(fits, share)| u128::from(*fits) * u128::from(*share)).sum()
    }
}

#[cfg(test)]
mod tests {
    use board::{Method, PlanIndex, Problem, Task};

    use super::*;
    use crate::halves::units::portable::Portable;

    /// Tasks of N = 21 have the largest items. Its centre column's queen can stand further out than
    /// marks can say.
    #[test]
    fn tasks_that_share_lists_count_what_they_count_alone() {
        for (n, groups, some) in [(13, 12, 40), (19, 3, 10), (21, 2, 6)] {
            let plan =
                PlanIndex::new(Problem::Total { n }, Method::Halves).expect("the size is in range");
            let full = Room::within(u64::MAX, n);
            let mut together = TaskCounter::new(Portable, n, full);
            // This leaves no room for a lower list.
            let mut alone = TaskCounter::new(Portable, n, Room { shared: 0, ..full });
            let mut total = 0;
            for group in 0..groups {
                let start = plan.len() * (2 * group + 1) / (2 * groups + 1);
                let tasks = plan.tasks(start..start + some).expect("the plan has the range");
                for Task { record, .. } in tasks {
                    let split = Split::unpack(n, record).expect("it is a task");
                    let (shared, expected) = (together.count(split), alone.count(split));
                    assert_eq!(shared, expected, "N = {n}, {split:?}");
                    total += shared;
                }
            }
            assert!(total > 0, "N = {n}");
        }
    }

    #[test]
    fn a_list_in_parts_counts_what_it_counts_as_a_whole() {
        for (n, ordinal, part) in [(19, 89_900, 8_000), (20, 16_001, 12_000), (22, 106_952, 60_000)]
        {
            let plan =
                PlanIndex::new(Problem::Total { n }, Method::Halves).expect("the size is in range");
            // This is the last one of the most even splits, and leaves no half-board out.
            let tasks = plan.tasks(ordinal..ordinal + 1).expect("the plan has the range");
            let count = |room| {
                let mut counter = TaskCounter::new(Portable, n, room);
                let split = Split::unpack(n, tasks[0].record).expect("it is a task");
                (counter.count(split), counter.work.records.len())
            };
            let (whole, longest) = count(Room::within(u64::MAX, n));
            let (in_parts, last) =
                count(Room { kept: Kept::OfList, whole: part, ties: part, shared: 0 });
            assert!(last < longest, "N = {n}: the last list is {longest}, and {last} in parts");
            assert_eq!(in_parts, whole, "N = {n}");
            assert!(whole > 0);
        }
    }
}
