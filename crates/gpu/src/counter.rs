//! Counts tasks on a device, in batches that fit into its memory.

use std::time::Duration;

use board::Task;
use board::halves::{Split, tasks_of_split};
use count::CountError;
use thiserror::Error;

use crate::batch::{Batch, Outcome};
use crate::by_size::BySize;
use crate::device::Device;
use crate::driver::{ALLOCATING, DeviceError, Queue};
use crate::job::{Fits, Job};

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

/// The least memory that is tried after an allocation has failed, in bytes.
const LEAST_MEMORY: u64 = 64 << 20;

/// The number of half-boards among which one is looked up at a time.
const LANES: u64 = 256;

/// Counts splits of one board on a device.
pub struct Counter {
    n: u32,
    device: String,
    batch: Batch,
    /// The number of half-boards that were looked up.
    looked_up: u64,
}

impl std::fmt::Debug for Counter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counter")
            .field("n", &self.n)
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}

impl Counter {
    /// The sizes of boards that can be counted.
    pub const BOARDS: std::ops::RangeInclusive<u32> = 4..=29;

    /// A counter of boards of size `n`, one of [`BOARDS`](Counter::BOARDS). It takes at most
    /// `memory` bytes on the device, or the least that it needs if that is more.
    ///
    /// # Errors
    ///
    /// [`DeviceError`] if the device cannot be opened, does not accept the kernels, or has too
    /// little memory.
    pub fn new(device: &Device, n: u32, memory: u64) -> Result<Counter, DeviceError> {
        let mut memory = memory;
        loop {
            match Counter::with_queue(device.open()?, device, n, memory) {
                // Another program uses some of the memory.
                Err(error) if error.call == ALLOCATING && memory >= LEAST_MEMORY => memory /= 2,
                result => return result,
            }
        }
    }

    pub(crate) fn with_queue(
        queue: Box<dyn Queue>,
        device: &Device,
        n: u32,
        memory: u64,
    ) -> Result<Counter, DeviceError> {
        assert!(Counter::BOARDS.contains(&n), "boards of size {n} are not cut into splits");
        let batch = Batch::new(queue, device, BySize::new(n), memory)?;
        Ok(Counter { n, device: device.to_string(), batch, looked_up: 0 })
    }

    /// Calls `each` with the weight times the sum of every task, in order, as `count::Kernel` does.
    ///
    /// # Errors
    ///
    /// [`Error`](enum@Error). [`CountError::BadTask`] is returned before the first call.
    pub fn count_each(&mut self, tasks: &[Task], mut each: impl FnMut(u64)) -> Result<(), Error> {
        let splits = self.splits(tasks)?;
        let (jobs, job_of) = Job::of_tasks(self.n, self.batch.choices(), &splits);
        let mut next = 0;
        let mut first = 0;
        for jobs in jobs.chunks(self.batch.splits()) {
            let fits = self.count(jobs)?;
            while next < splits.len() && job_of[next] < first + jobs.len() {
                let job = job_of[next] - first;
                let sum = jobs[job].sum_of(&splits[next], &fits[job]);
                let weight = u64::from(tasks[next].weight);
                each(sum.and_then(|sum| sum.checked_mul(weight)).ok_or(CountError::Overflow)?);
                next += 1;
            }
            first += jobs.len();
        }
        Ok(())
    }

    /// The number of pairs of half-boards that were looked up since the counter was made.
    #[must_use]
    pub fn lanes(&self) -> u64 {
        self.looked_up * LANES
    }

    /// The number of tasks that are counted at a time. They belong to whole splits.
    #[must_use]
    pub fn batch_tasks(&self) -> usize {
        self.batch.splits() * tasks_of_split(self.n) as usize
    }

    /// Starts to measure the time of each kernel. The device then waits for the host after each of
    /// them.
    pub fn start_times(&mut self) {
        self.batch.start_times();
    }

    /// The time that each kernel took since [`start_times`](Counter::start_times), by name.
    #[must_use]
    pub fn times(&self) -> Option<[(&'static str, Duration); 9]> {
        self.batch.times()
    }

    fn splits(&self, tasks: &[Task]) -> Result<Vec<Split>, CountError> {
        let split = |(index, task): (usize, &Task)| {
            Split::unpack(self.n, task.record).ok_or(CountError::BadTask(index))
        };
        tasks.iter().enumerate().map(split).collect()
    }

    /// The fits of jobs. A job that does not fit into the memory is counted in two halves.
    fn count(&mut self, jobs: &[Job]) -> Result<Vec<Fits>, Error> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let longer = match self.batch.count(jobs)? {
            Outcome::Counted(fits, looked_up) => {
                self.looked_up += looked_up;
                return Ok(fits);
            }
            Outcome::TooLong(half) => half,
        };
        if let [job] = jobs {
            let parts = job.parted(longer).or_else(|| job.parted(1 - longer));
            let [one, other] = parts.ok_or_else(|| DeviceError {
                device: self.device.clone(),
                call: "listing half-boards",
                reason: "it has too little memory for this board".into(),
            })?;
            let mut fits = self.count(&[one])?.remove(0);
            for (sum, other) in fits.iter_mut().zip(&self.count(&[other])?[0]) {
                *sum = sum.checked_add(*other).ok_or(CountError::Overflow)?;
            }
            return Ok(vec![fits]);
        }
        let (some, others) = jobs.split_at(jobs.len() / 2);
        Ok([self.count(some)?, self.count(others)?].concat())
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
            buffer: 1 << 30,
            units: 1,
            is_processor: true,
        }
    }

    fn tasks(n: u32, range: std::ops::Range<u64>) -> Vec<Task> {
        let plan =
            PlanIndex::new(Problem::Total { n }, Method::Halves).expect("the size is in range");
        plan.tasks(range).expect("the plan has the range")
    }

    fn counts(n: u32, queue: HostQueue, tasks: &[Task]) -> Result<Vec<u64>, Error> {
        let mut counter = Counter::with_queue(Box::new(queue), &host(), n, 1 << 30)?;
        let mut counts = Vec::new();
        counter.count_each(tasks, |count| counts.push(count))?;
        Ok(counts)
    }

    fn expected(n: u32, tasks: &[Task]) -> Vec<u64> {
        let mut kernel = Kernel::new(Backend::Portable, n, Method::Halves).expect("it is there");
        let mut counts = Vec::new();
        kernel.count_each(tasks, |count| counts.push(count)).expect("they are tasks");
        counts
    }

    #[test]
    fn kernels_as_plain_c_count_what_the_processor_counts() {
        let whole = |n| {
            let plan = PlanIndex::new(Problem::Total { n }, Method::Halves);
            (n, 0..plan.expect("the size is in range").len())
        };
        let some = [(11, 100..110), (17, 9_000..9_001), (20, 30_000..30_001), (23, 20..21)];
        for (n, range) in (4..=8).map(whole).chain(some) {
            let tasks = tasks(n, range);
            let found = counts(n, HostQueue::new(), &tasks).expect("it counts");
            assert_eq!(found, expected(n, &tasks), "N = {n}");
        }
    }

    #[test]
    fn a_device_that_fails_at_any_call_counts_nothing() {
        let (n, tasks) = (8, tasks(8, 0..10));
        let expected = expected(n, &tasks);
        for left in 0.. {
            match counts(n, HostQueue::failing_after(left), &tasks) {
                Err(Error::Device(error)) => assert_eq!(error.reason, "it was lost"),
                result => {
                    assert_eq!(result, Ok(expected));
                    assert!(left > 40, "there are that many calls");
                    break;
                }
            }
        }
    }

    #[test]
    fn an_invalid_task_is_reported_before_anything_is_counted() {
        let mut tasks = tasks(8, 0..3);
        tasks[1].record.down = 0b111;
        let error = counts(8, HostQueue::new(), &tasks).expect_err("three columns are no split");
        let bad = CountError::BadTask(1);
        assert_eq!(error, Error::Count(bad));
    }
}
