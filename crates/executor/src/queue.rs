//! The queue of tasks to count, and the memory budget of the threads that count them.
//!
//! The threads share one budget of bytes. A thread with a kernel holds a share of it, as large as the
//! kernel may grow. A thread takes tasks of another plan only if its own share and the free bytes
//! together are enough for a kernel of that plan. So all kernels together stay within the budget,
//! whatever jobs they count.
//!
//! ```text
//!   budget   ├─ thread 0: N = 24 ─┼─ thread 1: N = 18 ─┼─ free ──────┤
//!   queue    [N = 18][N = 18][N = 26: does not fit][N = 18: waits][ring: goes ahead]
//! ```
//!
//! Blocks are served in order. While a block waits for memory, only later blocks that need no memory may
//! overtake it. So the threads run out of work and give their shares back, until the block fits.

use std::collections::VecDeque;
use std::sync::Arc;

use board::Task;
use plan::{Lease, Plan, Range, Recount, TaskCounts};

/// A thread takes no less than such a part of the most that it may take, while there is so much.
const LEAST_SHARE: usize = 64;

/// What decides which kernel counts a lease.
pub(super) type KernelFor = (Plan, Option<Recount>);

/// Blocks in the order of their arrival.
#[derive(Debug, Default)]
pub(super) struct Queue {
    blocks: VecDeque<Block>,
    /// Number of tasks in `blocks`.
    tasks: usize,
    /// Bytes of the budget that no thread holds.
    free: u64,
}

/// Consecutive tasks of a lease. Those from index `next` on are not taken yet.
#[derive(Debug)]
pub(super) struct Block {
    lease: Lease,
    start: u64,
    tasks: Arc<[Task]>,
    next: usize,
    /// Bytes that a thread must hold to count them.
    bytes: u64,
}

/// The tasks that one thread counts at a time.
pub(super) struct Chunk {
    pub(super) lease: Lease,
    pub(super) range: Range,
    pub(super) tasks: Arc<[Task]>,
    pub(super) at: std::ops::Range<usize>,
}

impl Queue {
    /// An empty queue with a budget of `memory` bytes for all kernels together.
    pub(super) fn new(memory: u64) -> Queue {
        Queue { free: memory, ..Queue::default() }
    }

    /// Adds consecutive tasks of `lease`, the first of which has the ordinal `start`. A thread needs `bytes`
    /// of memory to count them.
    pub(super) fn push(&mut self, lease: Lease, start: u64, tasks: Vec<Task>, bytes: u64) {
        self.tasks += tasks.len();
        self.blocks.push_back(Block { lease, start, tasks: tasks.into(), next: 0, bytes });
    }

    /// Removes the tasks of all leases for which `keep` is false.
    pub(super) fn retain(&mut self, keep: impl Fn(&Lease) -> bool) {
        self.blocks.retain(|block| keep(&block.lease));
        self.tasks = self.blocks.iter().map(Block::len).sum();
    }

    /// Number of tasks that wait.
    pub(super) fn tasks(&self) -> usize {
        self.tasks
    }

    /// The block that a thread which holds `held` bytes may count next: its place in the queue, its kind of
    /// kernel and the bytes of that kernel. The thread passes over leases for which `is_for` is false.
    pub(super) fn next(
        &self,
        held: u64,
        is_for: impl Fn(&Lease) -> bool,
    ) -> Option<(usize, KernelFor, u64)> {
        let mut left = self.free + held;
        let place = self.blocks.iter().position(|block| {
            if !is_for(&block.lease) {
                return false;
            }
            let fits = block.bytes <= left;
            if !fits {
                left = 0;
            }
            fits
        })?;
        let block = &self.blocks[place];
        Some((place, (block.lease.plan, block.lease.recount), block.bytes))
    }

    /// Changes a thread's share of the budget from `held` bytes to `wanted`. The thread has no kernel.
    pub(super) fn exchange(&mut self, held: &mut u64, wanted: u64) {
        let left = (self.free + *held).checked_sub(wanted);
        self.free = left.expect("no thread takes more memory than there is");
        *held = wanted;
    }

    /// Takes up to `most` tasks of the block at `place`, no more than can be reported one by one. Near the end of the queue it
    /// takes fewer, so that each of `threads` threads gets some, but not so few that taking them costs more than waiting
    /// for another thread.
    pub(super) fn take(&mut self, place: usize, most: usize, threads: usize) -> Chunk {
        let fair = self.tasks.div_ceil(2 * threads).max(most / LEAST_SHARE).max(1);
        let block = &mut self.blocks[place];
        let most = most.min(fair).min(TaskCounts::MOST);
        let at = block.next..block.next + block.len().min(most);
        let (start, end) = (block.start + at.start as u64, block.start + at.end as u64);
        let range = Range::new(start, end).expect("blocks in the queue are not empty");
        let (lease, tasks) = (block.lease, block.tasks.clone());
        block.next = at.end;
        self.tasks -= at.len();
        if block.len() == 0 {
            self.blocks.remove(place);
        }
        Chunk { lease, range, tasks, at }
    }
}

impl Block {
    fn len(&self) -> usize {
        self.tasks.len() - self.next
    }
}

#[cfg(test)]
mod tests {
    use board::Prefix;
    use plan::{JobId, LeaseId, LeaseKind, LeaseToken, Method, Problem};
    use rand::rngs::StdRng;
    use rand::{RngExt as _, SeedableRng as _};

    use super::*;

    fn lease(lease: u64) -> Lease {
        let plan = Plan { problem: Problem::Total { n: 8 }, method: Method::Halves, tasks: 1_000 };
        let (job, fingerprint) = (JobId(lease), plan.fingerprint());
        let range = Range::new(0, 1_000).expect("it has tasks");
        let token = LeaseToken { range, kind: LeaseKind::Count, mac: [0; 16] };
        Lease { id: LeaseId(lease), job, plan, fingerprint, range, token, recount: None }
    }

    fn tasks(len: usize) -> Vec<Task> {
        vec![Task { record: Prefix::EMPTY, weight: 1 }; len]
    }

    /// Lets a thread take one task. Returns its lease, and updates the bytes that the thread holds.
    fn step(queue: &mut Queue, held: &mut u64) -> Option<LeaseId> {
        let Some((place, _, bytes)) = queue.next(*held, |_| true) else {
            queue.exchange(held, 0);
            return None;
        };
        queue.exchange(held, bytes);
        Some(queue.take(place, 1, 1).lease.id)
    }

    /// Four threads take tasks of four jobs in random order; one job needs the whole budget.
    #[test]
    fn all_jobs_together_stay_within_the_budget_and_come_to_an_end() {
        const BUDGET: u64 = 100;
        let needs = [100, 25, 0, 40];
        let mut random = StdRng::seed_from_u64(1);
        let mut below = |bound: u64| random.random_range(0..bound);
        let mut queue = Queue::new(BUDGET);
        let mut held = [0; 4];
        let mut counted = [0; 4];
        for _ in 0..300 {
            let job = below(4);
            queue.push(lease(job), 0, tasks(1 + below(5) as usize), needs[job as usize]);
            for _ in 0..below(12) {
                let thread = below(4) as usize;
                if let Some(LeaseId(job)) = step(&mut queue, &mut held[thread]) {
                    assert_eq!(held[thread], needs[job as usize]);
                    counted[job as usize] += 1;
                }
                assert_eq!(held.iter().sum::<u64>() + queue.free, BUDGET);
            }
        }
        assert!(counted.iter().all(|&tasks| tasks > 50), "all were served meanwhile: {counted:?}");

        let left = queue.tasks();
        for thread in (0..4).cycle().take(8 * left + 8) {
            step(&mut queue, &mut held[thread]);
        }
        assert_eq!(queue.tasks(), 0, "of {left}");
    }

    #[test]
    fn near_the_end_threads_share_what_is_left_unless_it_is_hardly_anything() {
        let mut queue = Queue::new(0);
        queue.push(lease(1), 0, tasks(1_000), 0);
        let mut taken = Vec::new();
        while queue.tasks() > 0 {
            taken.push(queue.take(0, 640, 2).at.len());
        }
        assert!(taken[0] <= 500, "another thread gets as much: {taken:?}");
        assert!(taken[..taken.len() - 1].iter().all(|&tasks| tasks >= 10), "{taken:?}");

        queue.push(lease(1), 0, tasks(3), 0);
        assert_eq!(queue.take(0, 1, 2).at.len(), 1, "tasks that take long are taken one by one");
    }

    #[test]
    fn a_large_job_is_not_overtaken_by_what_takes_memory() {
        let mut queue = Queue::new(100);
        let (mut one, mut two) = (0, 0);
        queue.push(lease(1), 0, tasks(3), 50);
        assert_eq!(step(&mut queue, &mut one), Some(LeaseId(1)));
        assert_eq!(step(&mut queue, &mut two), Some(LeaseId(1)));
        queue.retain(|_| false);
        queue.push(lease(2), 0, tasks(1), 100);
        queue.push(lease(1), 0, tasks(9), 50);
        queue.push(lease(3), 0, tasks(1), 0);

        // The second thread still counts, and holds its half.
        assert_eq!(step(&mut queue, &mut one), Some(LeaseId(3)));
        assert_eq!(step(&mut queue, &mut one), None);
        assert_eq!(step(&mut queue, &mut two), Some(LeaseId(2)));
        assert_eq!(two, 100);
    }
}
