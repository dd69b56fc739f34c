//! The threads that count: they take tasks from one queue and send finished parts back.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use board::Tasks;
use count::{Backend, CountError, Kernel};
use farm::{LeaseId, Loan, Part, Plan, Range};
use tokio::sync::mpsc;

/// How long a thread should be busy with what it takes at a time: long enough that taking costs
/// nothing, short enough that all threads end together and a stop is quick.
const CHUNK: Duration = Duration::from_millis(10);

/// Counting threads and their queue.
#[derive(Debug)]
pub(crate) struct Executor {
    shared: Arc<Shared>,
    backend: Backend,
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
    ) -> (Executor, mpsc::UnboundedReceiver<Result<Part, CountError>>) {
        let shared = Arc::new(Shared::default());
        // Unbounded, but never longer than the tasks that the agent agreed to hold.
        let (parts, receiver) = mpsc::unbounded_channel();
        let start = |index| {
            let (shared, parts) = (shared.clone(), parts.clone());
            let count = move || count_until_closed(&shared, backend, threads.get(), &parts);
            let builder = std::thread::Builder::new().name(format!("count-{index}"));
            builder.spawn(count).expect("the system can start a thread");
        };
        (0..threads.get()).for_each(start);
        (Executor { shared, backend }, receiver)
    }

    /// What they count with.
    pub(crate) fn backend(&self) -> Backend {
        self.backend
    }

    /// Adds tasks of `loan`, the first of which has the ordinal `start`.
    pub(crate) fn push(&self, loan: Loan, start: u64, tasks: Tasks) {
        let mut queue = self.shared.lock();
        queue.tasks += tasks.len();
        queue.blocks.push_back(Block { loan, start, tasks: Arc::new(tasks), next: 0 });
        self.shared.changed.notify_all();
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

    /// Waits for tasks. `None`: there will be none.
    fn take(&self, most: usize, threads: usize) -> Option<Chunk> {
        let mut queue = self.lock();
        loop {
            if queue.closed {
                return None;
            }
            if let Some(chunk) = queue.take(most, threads) {
                return Some(chunk);
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
    fn take(&mut self, most: usize, threads: usize) -> Option<Chunk> {
        let fair = self.tasks.div_ceil(2 * threads).max(1);
        let block = self.blocks.front_mut()?;
        let at = block.next..block.next + most.min(fair).min(block.len());
        let (start, end) = (block.start + at.start as u64, block.start + at.end as u64);
        let range = Range::new(start, end).expect("blocks in the queue are not empty");
        let chunk = Chunk { loan: block.loan, range, tasks: block.tasks.clone(), at };
        block.next = chunk.at.end;
        self.tasks -= chunk.at.len();
        if block.len() == 0 {
            self.blocks.pop_front();
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
    threads: usize,
    parts: &mpsc::UnboundedSender<Result<Part, CountError>>,
) {
    let mut kernel: Option<(Plan, Kernel)> = None;
    let mut most = 1;
    while let Some(Chunk { loan, range, tasks, at }) = shared.take(most, threads) {
        if kernel.as_ref().is_none_or(|(plan, _)| *plan != loan.plan) {
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
    use board::rows::RowsPlan;
    use farm::{JobId, Method, Problem};

    use super::*;

    fn loan(lease: u64, plan: Plan) -> Loan {
        let range = Range::new(0, plan.tasks).expect("it has tasks");
        let fingerprint = plan.fingerprint();
        Loan { lease: LeaseId(lease), job: JobId(1), plan, fingerprint, range, whole: false }
    }

    fn all_tasks(n: u32, rows: u32) -> (Plan, Tasks) {
        let enumeration = RowsPlan::new(n, rows).expect("such a plan exists");
        let mut tasks = Tasks::new();
        enumeration.fill(0..enumeration.len(), &mut tasks);
        let problem = Problem::Total { n };
        let plan = Plan { problem, method: Method::Rows { rows }, tasks: enumeration.len() };
        (plan, tasks)
    }

    #[test]
    fn parts_tile_the_loan_and_sum_to_the_total() {
        let (plan, tasks) = all_tasks(10, 3);
        let total = Kernel::new(Backend::Reference, 10, plan.method).count(tasks.as_slice());
        let threads = NonZero::new(3).expect("it is not 0");
        let (executor, mut parts) = Executor::start(threads, Backend::detect());
        executor.push(loan(1, plan), 0, tasks);

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
        let (long, long_tasks) = all_tasks(18, 3);
        let (short, short_tasks) = all_tasks(6, 2);
        let one = NonZero::<usize>::MIN;
        let (executor, mut parts) = Executor::start(one, Backend::detect());
        executor.push(loan(1, long), 0, long_tasks);
        executor.push(loan(2, short), 0, short_tasks);

        executor.drop_lease(LeaseId(1));

        let of_short = |part: Part| part.loan.lease == LeaseId(2);
        while !of_short(parts.blocking_recv().expect("it runs").expect("tasks are right")) {}
        assert!(executor.waiting_tasks() < short.tasks as usize);
    }

    #[test]
    fn a_thread_takes_as_much_as_it_counts_in_a_while() {
        let ms = Duration::from_millis;
        assert_eq!(next_chunk(1, ms(20)), 1, "a long task: one at a time");
        assert_eq!(next_chunk(100, ms(5)), 200);
        assert_eq!(next_chunk(100, Duration::ZERO), 800, "short tasks: by steps, not by leaps");
    }
}
