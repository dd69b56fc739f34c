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
