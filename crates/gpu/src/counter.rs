//! Counts tasks on a device, a launch for each of them.

use board::Task;
use board::colours::{Split, even_lines, odd_lines, sets};
use count::CountError;
use thiserror::Error;

use crate::device::Device;
use crate::driver::{Argument, Buffer, Commands, DeviceError};
use crate::launch::{InBatch, Launch, WORDS_OF_FIRST_ROWS, bytes};

/// The reason why tasks have no count.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A split is not a task, or a sum exceeds 64 bits.
    #[error(transparent)]
    Count(#[from] CountError),
}

/// The most tasks whose launches wait in the queue at a time.
const BATCH: usize = 256;

/// The most memory of the device that the nodes of all groups take, in bytes.
const MOST_NODES: u64 = 224 << 20;

/// The bytes of a node.
const NODE: u64 = 12;

/// Shared memory that a group takes beside its cells: the sums and levels of the text, in bytes.
pub(crate) const SHARED_BESIDE_CELLS: u64 = 4 << 10;

/// The shared memory of one multiprocessor of a data-centre device, about, in bytes.
const SHARED_OF_UNIT: u64 = 224 << 10;

/// The most groups of one multiprocessor: as many as its registers suffice for.
const MOST_GROUPS_OF_UNIT: u64 = 6;

/// The bytes of a group's row of cells for boards of size `n`: a word for each set of even columns
/// without the first column.
pub(crate) const fn cells(n: u32) -> u64 {
    4 << (even_lines(n) - 1)
}

/// Counts splits of one board on a device.
pub struct Counter {
    n: u32,
    queue: Box<dyn Commands>,
    /// The most groups of a launch.
    groups: u32,
    /// The number of nodes for which all groups have space.
    nodes: u32,
    /// For each number of black queens in odd columns, where the sets of columns begin and end.
    sets_of: Vec<std::ops::Range<u32>>,
    buffers: Buffers,
}

/// The buffers that the kernel takes, in its order.
#[derive(Clone, Copy, Debug)]
struct Buffers {
    sets: Buffer,
    first_rows: Buffer,
    nodes: Buffer,
    taken: Buffer,
    totals: Buffer,
}

impl std::fmt::Debug for Counter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counter").field("n", &self.n).finish_non_exhaustive()
    }
}

impl Counter {
    /// A counter of boards of size `n`, one of those of the [device](Device::boards). It takes less
    /// than 256 MB of the device.
    ///
    /// # Errors
    ///
    /// [`DeviceError`] if the device cannot be opened, does not accept the kernel, or has too
    /// little memory.
    pub fn new(device: &Device, n: u32) -> Result<Counter, DeviceError> {
        Counter::with_queue(device.open()?, device, n)
    }

    pub(crate) fn with_queue(
        mut queue: Box<dyn Commands>,
        device: &Device,
        n: u32,
    ) -> Result<Counter, DeviceError> {
        assert!(device.boards().contains(&n), "{device} does not count boards of size {n}");
        let of_unit = SHARED_OF_UNIT / (cells(n) + SHARED_BESIDE_CELLS);
        let of_unit = of_unit.clamp(1, MOST_GROUPS_OF_UNIT) as u32;
        let lines = odd_lines(n);
        let mut all_sets = Vec::new();
        let mut sets_of = Vec::new();
        for size in 0..=lines {
            let start = all_sets.len() as u32;
            all_sets.extend(sets(lines, size).into_iter().map(u32::from));
            sets_of.push(start..all_sets.len() as u32);
        }
        let groups = device.units.max(1) * of_unit;
        let (even, first) = (even_lines(n), |len: u32| (1 << len) - 1);
        let nodes_of = |k| {
            let split = Split { even: first(k), odd: first(k - (even - lines)) };
            Launch::new(n, split).nodes
        };
        // Most boards belong to splits with the middle number of black rows. Splits whose groups
        // need more nodes are counted by fewer groups.
        let usual = u64::from(groups) * u64::from(nodes_of(even.div_ceil(2)));
        let least = (even - lines..=even).map(nodes_of).max().expect("there is a split");
        let nodes = usual.min(MOST_NODES / NODE).max(least.into()) as u32;
        let buffers = Buffers {
            sets: queue.allocate(4 * all_sets.len())?,
            first_rows: queue.allocate(8 * BATCH * WORDS_OF_FIRST_ROWS)?,
            nodes: queue.allocate(NODE as usize * nodes as usize)?,
            taken: queue.allocate(4 * BATCH)?,
            totals: queue.allocate(16 * BATCH * groups as usize)?,
        };
        queue.write(buffers.sets, &bytes(all_sets))?;
        Ok(Counter { n, queue, groups, nodes, sets_of, buffers })
    }

    /// Calls `each` with the weight times the sum of every task, in order, as `count::Kernel` does.
    ///
    /// # Errors
    ///
    /// [`Error`](enum@Error). [`CountError::BadTask`] is returned before the first call.
    pub fn count_each(&mut self, tasks: &[Task], mut each: impl FnMut(u64)) -> Result<(), Error> {
        let splits = self.splits(tasks)?;
        for (splits, tasks) in splits.chunks(BATCH).zip(tasks.chunks(BATCH)) {
            for (sum, task) in self.sums(splits, false)?.into_iter().zip(tasks) {
                let count = sum.checked_mul(task.weight.into());
                each(count.and_then(|it| it.try_into().ok()).ok_or(CountError::Overflow)?);
            }
        }
        Ok(())
    }

    /// The number of placements of single colours that the device finds when it counts these tasks.
    /// It takes as long as counting them.
    ///
    /// # Errors
    ///
    /// [`Error`](enum@Error), as for [`Counter::count_each`].
    pub fn placements(&mut self, tasks: &[Task]) -> Result<u128, Error> {
        let mut placements = 0;
        for splits in self.splits(tasks)?.chunks(BATCH) {
            placements += self.sums(splits, true)?.into_iter().sum::<u128>();
        }
        Ok(placements)
    }

    fn splits(&self, tasks: &[Task]) -> Result<Vec<Split>, CountError> {
        let split = |(index, task): (usize, &Task)| {
            Split::unpack(self.n, task.record).ok_or(CountError::BadTask(index))
        };
        tasks.iter().enumerate().map(split).collect()
    }

    /// The sums of at most [`BATCH`] tasks, or the numbers of their placements.
    fn sums(
        &mut self,
        splits: &[Split],
        counts_placements: bool,
    ) -> Result<Vec<u128>, DeviceError> {
        let launches: Vec<Launch> = splits.iter().map(|&it| Launch::new(self.n, it)).collect();
        let Buffers { sets, first_rows, nodes, taken, totals } = self.buffers;
        let rows = launches.iter().flat_map(|launch| launch.first_rows.iter().copied());
        self.queue.write(first_rows, &bytes(rows))?;
        self.queue.clear(taken, 4 * BATCH)?;
        let mut groups_of = Vec::new();
        for (index, launch) in launches.iter().enumerate() {
            let all = &self.sets_of[launch.odd];
            let batch = InBatch {
                counts_placements,
                first_set: all.start,
                sets: all.len() as u32,
                index: index as u32,
                most_groups: self.groups,
            };
            let groups = self.groups.min(batch.sets).min(self.nodes / launch.nodes);
            let buffers = [sets, first_rows, nodes, taken, totals].map(Argument::Buffer);
            let split = launch.split(batch);
            let arguments = [&buffers[..], &[Argument::Split(&split)]].concat();
            self.queue.launch(groups, cells(self.n) as u32, &arguments)?;
            groups_of.push(groups as usize);
        }
        let width = 16 * self.groups as usize;
        let mut bytes = vec![0; width * splits.len()];
        self.queue.read(totals, &mut bytes)?;
        let sums = bytes.chunks_exact(width).zip(groups_of).map(|(of_launch, groups)| {
            let (words, _) = of_launch.as_chunks::<8>();
            let (groups, _) = words[..2 * groups].as_chunks::<2>();
            let word = |word: [u8; 8]| u128::from(u64::from_ne_bytes(word));
            groups.iter().map(|&[low, high]| word(low) + (word(high) << 32)).sum()
        });
        Ok(sums.collect())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use board::{Method, PlanIndex, Problem};
    use count::{Backend, Kernel};

    use super::*;
    use crate::device::Driver;
    use crate::driver::host::HostQueue;

    fn host() -> Device {
        Device {
            driver: Driver::OpenCl,
            index: 0,
            name: "plain C".into(),
            version: String::new(),
            memory: 1 << 30,
            shared: 256 << 10,
            units: 1,
            clock_mhz: 0,
            is_processor: true,
        }
    }

    fn plan(n: u32) -> PlanIndex {
        PlanIndex::new(Problem::Total { n }, Method::Colours).expect("the size is in range")
    }

    fn counts(n: u32, queue: HostQueue, tasks: &[Task]) -> Result<Vec<u64>, Error> {
        let mut counter = Counter::with_queue(Box::new(queue), &host(), n)?;
        let mut counts = Vec::new();
        counter.count_each(tasks, |count| counts.push(count))?;
        Ok(counts)
    }

    fn expected(n: u32, tasks: &[Task]) -> Vec<u64> {
        let mut kernel = Kernel::new(Backend::Portable, n, Method::Colours).expect("it is there");
        let mut counts = Vec::new();
        kernel.count_each(tasks, |count| counts.push(count)).expect("they are tasks");
        counts
    }

    #[test]
    fn the_kernel_as_plain_c_counts_what_the_processor_counts() {
        for n in 4..=10 {
            let tasks = plan(n).tasks(0..plan(n).len()).expect("it is the whole plan");
            let found = counts(n, HostQueue::new(), &tasks).expect("it counts");
            assert_eq!(found, expected(n, &tasks), "N = {n}");
        }
        // Tasks from all over the plans: the first one has no black queen for even N.
        for n in [13, 14, 16, 17, 18, 20, 21] {
            let len = plan(n).len();
            for at in (0..5).map(|fifth| (len - 1) / 4 * fifth) {
                let tasks = plan(n).tasks(at..at + 1).expect("the plan has the range");
                let found = counts(n, HostQueue::new(), &tasks).expect("it counts");
                assert_eq!(found, expected(n, &tasks), "N = {n}, task {at}");
            }
        }
    }

    #[test]
    fn a_device_that_fails_at_any_call_counts_nothing() {
        let (n, tasks) = (8, plan(8).tasks(0..10).expect("the plan has the range"));
        let expected = expected(n, &tasks);
        for left in 0.. {
            match counts(n, HostQueue::failing_after(left), &tasks) {
                Err(Error::Device(error)) => assert_eq!(error.reason, "it was lost"),
                result => {
                    assert_eq!(result, Ok(expected));
                    assert!(left > 15, "there are that many calls");
                    break;
                }
            }
        }
    }

    #[test]
    fn an_invalid_task_is_reported_before_anything_is_counted() {
        let mut tasks = plan(8).tasks(0..3).expect("the plan has the range");
        tasks[1].record.down = 0b111;
        let error = counts(8, HostQueue::new(), &tasks).expect_err("three columns are no split");
        let bad = CountError::BadTask(1);
        assert_eq!(error, Error::Count(bad));
    }
}
