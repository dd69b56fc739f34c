//! The threads that count: they take tasks from one queue and send finished parts back.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use board::Tasks;
use count::{Backend, CountError, Kernel};
use farm::{LeaseId, Loan, Part, Plan, Range};
use tokio::sync::mpsc;

use crate::memory::{TooLittleMemory, threads_that_fit};

/// How long a thread should be busy with what it takes at a time: long enough that taking costs
/// nothing, short enough that all threads end together and a stop is quick.
const CHUNK: Duration = Duration::from_millis(10);

/// Counting threads and their queue.
#[derive(Debug)]
pub(crate) struct Executor {
    shared: Arc<Shared>,
    threads: NonZero<usize>,
    backend: Backend,
    /// Bytes that the threads may take together.
    memory: u64,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    blocks: VecDeque<Block>,
    /// Tasks in `blocks`.
    tasks: usize,
    /// Threads that are counting.
    busy: usize,
    closed: bool,
}

/// Consecutive tasks of a loan, not yet taken from `next` on.
#[derive(Debug)]
struct Block {
    loan: Loan,
    start: u64,
    tasks: Arc<Tasks>,
    next: usize,
    /// How many threads may count them at a time: those numbered below.
    threads: usize,
}

/// Which of how many threads.
#[derive(Clone, Copy, Debug)]
struct Seat {
    index: usize,
    of: usize,
}

/// What one thread counts in one go.
struct Chunk {
    loan: Loan,
    range: Range,
    tasks: Arc<Tasks>,
    at: std::ops::Range<usize>,
}

impl Executor {
    /// Starts `threads` threads. Finished parts arrive at the receiver, in any order.
    pub(crate) fn start(
        threads: NonZero<usize>,
        backend: Backend,
        memory: u64,
    ) -> (Executor, mpsc::UnboundedReceiver<Result<Part, CountError>>) {
        let shared = Arc::new(Shared::default());
        // Unbounded, but never longer than the tasks that the agent agreed to hold.
        let (parts, receiver) = mpsc::unbounded_channel();
        let start = |index| {
            let (shared, parts) = (shared.clone(), parts.clone());
            let seat = Seat { index, of: threads.get() };
            let count = move || count_until_closed(&shared, backend, seat, &parts);
            let builder = std::thread::Builder::new().name(format!("count-{index}"));
            builder.spawn(count).expect("the system can start a thread");
        };
        (0..threads.get()).for_each(start);
        (Executor { shared, threads, backend, memory }, receiver)
    }

    /// What they count with.
    pub(crate) fn backend(&self) -> Backend {
        self.backend
    }

    /// Adds tasks of `loan`, the first of which has the ordinal `start`.
    ///
    /// # Errors
    ///
    /// [`TooLittleMemory`], if not even one thread may count them.
    pub(crate) fn push(&self, loan: Loan, start: u64, tasks: Tasks) -> Result<(), TooLittleMemory> {
        let threads = threads_that_fit(loan.plan, self.threads, self.memory)?.get();
        let mut queue = self.shared.lock();
        queue.tasks += tasks.len();
        queue.blocks.push_back(Block { loan, start, tasks: Arc::new(tasks), next: 0, threads });
        self.shared.changed.notify_all();
        Ok(())
    }

    /// Forgets the tasks of `lease` that no thread has begun.
    pub(crate) fn drop_lease(&self, lease: LeaseId) {
        self.shared.lock().retain(|block| block.loan.lease != lease);
    }

    /// Forgets all tasks that no thread has begun.
    pub(crate) fn clear(&self) {
        self.shared.lock().retain(|_| false);
    }

    /// How many tasks wait for a thread.
    pub(crate) fn waiting_tasks(&self) -> usize {
        self.shared.lock().tasks
    }

    /// Whether no task is waiting or being counted.
    pub(crate) fn is_idle(&self) -> bool {
        let queue = self.shared.lock();
        queue.blocks.is_empty() && queue.busy == 0
    }
}

impl Drop for Executor {
    /// Ends the threads, without waiting for a task that may take long.
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.retain(|_| false);
        queue.closed = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("no thread panics while holding it")
    }

    /// Waits for tasks. `None`: there will be none. Where those that there are leave no memory for
    /// this thread, it gives back that of its `kernel`.
    fn take(&self, most: usize, seat: Seat, kernel: &mut Option<(Plan, Kernel)>) -> Option<Chunk> {
        let mut queue = self.lock();
        loop {
            if queue.closed {
                return None;
            }
            if let Some(chunk) = queue.take(most, seat) {
                return Some(chunk);
            }
            if !queue.blocks.is_empty() {
                *kernel = None;
            }
            queue = self.changed.wait(queue).expect("no thread panics while holding it");
        }
    }

    fn give_back(&self) {
        self.lock().busy -= 1;
    }
}

impl Queue {
    fn retain(&mut self, keep: impl Fn(&Block) -> bool) {
        self.blocks.retain(keep);
        self.tasks = self.blocks.iter().map(Block::len).sum();
    }

    /// Takes up to `most` tasks; near the end of the queue fewer, so that all threads have some.
    fn take(&mut self, most: usize, seat: Seat) -> Option<Chunk> {
        let fair = self.tasks.div_ceil(2 * seat.of).max(1);
        let place = self.blocks.iter().position(|block| seat.index < block.threads)?;
        let block = &mut self.blocks[place];
        let at = block.next..block.next + most.min(fair).min(block.len());
        let (start, end) = (block.start + at.start as u64, block.start + at.end as u64);
        let range = Range::new(start, end).expect("blocks in the queue are not empty");
        let chunk = Chunk { loan: block.loan, range, tasks: block.tasks.clone(), at };
        block.next = chunk.at.end;
        self.tasks -= chunk.at.len();
        if block.len() == 0 {
            self.blocks.remove(place);
        }
        self.busy += 1;
        Some(chunk)
    }
}

impl Block {
    fn len(&self) -> usize {
        self.tasks.len() - self.next
    }
}

fn count_until_closed(
    shared: &Shared,
    backend: Backend,
    seat: Seat,
    parts: &mpsc::UnboundedSender<Result<Part, CountError>>,
) {
    let mut kernel: Option<(Plan, Kernel)> = None;
    let mut most = 1;
    while let Some(Chunk { loan, range, tasks, at }) = shared.take(most, seat, &mut kernel) {
        if kernel.as_ref().is_none_or(|(plan, _)| *plan != loan.plan) {
            // The old one's memory first: both at a time may be too much.
            drop(kernel.take());
            let Plan { problem, method, .. } = loan.plan;
            kernel = Some((loan.plan, Kernel::new(backend, problem.n(), method)));
        }
        let (_, kernel) = kernel.as_mut().expect("it was just made");
        let begun = Instant::now();
        let counted = kernel.count(tasks.slice(at.clone()));
        let busy = begun.elapsed();
        most = next_chunk(at.len(), busy);
        let busy_us = u64::try_from(busy.as_micros()).unwrap_or(u64::MAX);
        let part = counted.map(|count| Part { loan, range, count, busy_us });
        // First the part, then the sign that the thread is free: idle means that all is sent.
        let gone = parts.send(part).is_err();
        shared.give_back();
        if gone {
            return;
        }
    }
}

/// How many tasks to take next, after `tasks` took `busy`: towards [`CHUNK`], by small steps.
fn next_chunk(tasks: usize, busy: Duration) -> usize {
    let ideal = tasks as f64 * CHUNK.as_secs_f64() / busy.as_secs_f64().max(1e-9);
    (ideal as usize).clamp(1, tasks.saturating_mul(8))
}

#[cfg(test)]
mod tests {
    use board::Cut;
    use farm::{JobId, Method, Problem};

    use super::*;

    const MEMORY: u64 = 1 << 30;

    fn loan(lease: u64, plan: Plan) -> Loan {
        let range = Range::new(0, plan.tasks).expect("it has tasks");
        let fingerprint = plan.fingerprint();
        Loan { lease: LeaseId(lease), job: JobId(1), plan, fingerprint, range, whole: false }
    }

    fn all_tasks(n: u32, method: Method) -> (Plan, Tasks) {
        let cut = Cut::new(n, method).expect("such a plan exists");
        let mut tasks = Tasks::new();
        cut.fill(0..cut.len(), &mut tasks);
        (Plan { problem: Problem::Total { n }, method, tasks: cut.len() }, tasks)
    }

    #[test]
    fn parts_tile_the_loan_and_sum_to_the_total() {
        let (plan, tasks) = all_tasks(10, Method::Rows { rows: 3 });
        let total = Kernel::new(Backend::Reference, 10, plan.method).count(tasks.as_slice());
        let threads = NonZero::new(3).expect("it is not 0");
        let (executor, mut parts) = Executor::start(threads, Backend::detect(), MEMORY);
        executor.push(loan(1, plan), 0, tasks).expect("it fits");

        let mut counted: Vec<Part> = Vec::new();
        while counted.iter().map(|part| part.range.len()).sum::<u64>() < plan.tasks {
            counted.push(parts.blocking_recv().expect("threads run").expect("tasks are right"));
        }

        counted.sort_by_key(|part| part.range.start());
        let ends = counted.iter().map(|part| part.range.end());
        let starts = counted.iter().map(|part| part.range.start());
        assert!(starts.skip(1).eq(ends.take(counted.len() - 1)), "no gap, no overlap");
        assert_eq!(Ok(counted.iter().map(|part| part.count).sum()), total);
    }

    #[test]
    fn a_dropped_lease_leaves_the_queue_and_others_stay() {
        let (long, long_tasks) = all_tasks(18, Method::Rows { rows: 3 });
        let (short, short_tasks) = all_tasks(6, Method::Rows { rows: 2 });
        let one = NonZero::<usize>::MIN;
        let (executor, mut parts) = Executor::start(one, Backend::detect(), MEMORY);
        executor.push(loan(1, long), 0, long_tasks).expect("it fits");
        executor.push(loan(2, short), 0, short_tasks).expect("it fits");

        executor.drop_lease(LeaseId(1));

        let of_short = |part: Part| part.loan.lease == LeaseId(2);
        while !of_short(parts.blocking_recv().expect("it runs").expect("tasks are right")) {}
        assert!(executor.waiting_tasks() < short.tasks as usize);
    }

    /// The second thread has no room for the first job, and counts the second meanwhile.
    #[test]
    fn a_thread_without_memory_for_one_job_counts_another() {
        let (large, large_tasks) = all_tasks(16, Method::Halves);
        let (small, small_tasks) = all_tasks(6, Method::Rows { rows: 2 });
        let memory = count::memory_needed(16, Method::Halves).least;
        let two = NonZero::new(2).expect("it is not 0");
        let (executor, mut parts) = Executor::start(two, Backend::Portable, memory);
        executor.push(loan(1, large), 0, large_tasks).expect("one thread fits");
        executor.push(loan(2, small), 0, small_tasks).expect("it fits");

        let of_small = |part: Part| part.loan.lease == LeaseId(2);
        while !of_small(parts.blocking_recv().expect("it runs").expect("tasks are right")) {}
        assert!(executor.waiting_tasks() > 0, "the large job is not over");
        assert!(executor.shared.lock().busy <= 2);

        let (huge, huge_tasks) = all_tasks(18, Method::Halves);
        let refused = executor.push(loan(3, huge), 0, huge_tasks).expect_err("it does not fit");
        assert_eq!((refused.plan, refused.given), (huge, memory));
    }

    #[test]
    fn a_thread_takes_as_much_as_it_counts_in_a_while() {
        let ms = Duration::from_millis;
        assert_eq!(next_chunk(1, ms(20)), 1, "a long task: one at a time");
        assert_eq!(next_chunk(100, ms(5)), 200);
        assert_eq!(next_chunk(100, Duration::ZERO), 800, "short tasks: by steps, not by leaps");
    }
}
