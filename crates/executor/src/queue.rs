//! The queue of tasks to count: blocks of leases, which are served in the order of their arrival.
//!
//! A thread takes a chunk from the first block that it may count. A thread without a device passes
//! over the blocks that are left to devices, so it may count later blocks first.

use std::collections::VecDeque;
use std::sync::Arc;

use board::Task;
use count::pool::fair_chunk;
use farm::{Lease, LeaseId, Range, TaskCounts};

/// Blocks in the order of their arrival.
#[derive(Debug, Default)]
pub(super) struct Queue {
    blocks: VecDeque<Block>,
    /// Number of tasks in `blocks`.
    tasks: usize,
}

/// Consecutive tasks of a lease. Those from index `next` on are not taken yet.
#[derive(Debug)]
pub(super) struct Block {
    lease: Lease,
    start: u64,
    tasks: Arc<[Task]>,
    next: usize,
}

/// The tasks that one thread counts at a time.
pub(super) struct Chunk {
    pub(super) lease: Lease,
    pub(super) range: Range,
    pub(super) tasks: Arc<[Task]>,
    pub(super) at: std::ops::Range<usize>,
}

impl Queue {
    /// Adds consecutive tasks of `lease`, the first of which has the ordinal `start`.
    pub(super) fn push(&mut self, lease: Lease, start: u64, tasks: Vec<Task>) {
        self.tasks += tasks.len();
        self.blocks.push_back(Block { lease, start, tasks: tasks.into(), next: 0 });
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

    /// Number of tasks that wait, without those of one lease.
    pub(super) fn tasks_besides(&self, lease: Option<LeaseId>) -> usize {
        let of = |lease| self.blocks.iter().filter(move |block| block.lease.id == lease);
        self.tasks - lease.map_or(0, |lease| of(lease).map(Block::len).sum())
    }

    /// Takes up to `most` tasks of the first block for whose lease `is_for` is true, but at most as
    /// many as a report has counts of single tasks, and at most as many as are [fair](fair_chunk)
    /// to the other ones of `threads` threads.
    pub(super) fn take(
        &mut self,
        is_for: impl Fn(&Lease) -> bool,
        most: usize,
        threads: usize,
    ) -> Option<Chunk> {
        let place = self.blocks.iter().position(|block| is_for(&block.lease))?;
        let most = fair_chunk(most, self.tasks, threads).min(TaskCounts::MOST);
        let block = &mut self.blocks[place];
        let at = block.next..block.next + block.len().min(most);
        let (start, end) = (block.start + at.start as u64, block.start + at.end as u64);
        let range = Range::new(start, end).expect("blocks in the queue are not empty");
        let (lease, tasks) = (block.lease, block.tasks.clone());
        block.next = at.end;
        self.tasks -= at.len();
        if block.len() == 0 {
            self.blocks.remove(place);
        }
        Some(Chunk { lease, range, tasks, at })
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
    use farm::{JobId, LeaseKind, LeaseToken, Method, Plan, Problem};

    use super::*;

    fn lease(lease: u64) -> Lease {
        let plan = Plan { problem: Problem::Total { n: 8 }, method: Method::Colours, tasks: 1_000 };
        let (job, fingerprint) = (JobId(lease), plan.fingerprint());
        let range = Range::new(0, 1_000).expect("it has tasks");
        let token = LeaseToken::new(range, LeaseKind::Count, [0; 16]);
        Lease { id: LeaseId(lease), job, plan, fingerprint, range, token, recount: None }
    }

    fn tasks(len: usize) -> Vec<Task> {
        vec![Task { record: Prefix::EMPTY, weight: 1 }; len]
    }

    #[test]
    fn near_the_end_threads_share_what_is_left_unless_it_is_hardly_anything() {
        let take = |queue: &mut Queue, most| {
            queue.take(|_| true, most, 2).expect("tasks are left").at.len()
        };
        let mut queue = Queue::default();
        queue.push(lease(1), 0, tasks(1_000));
        let mut taken = Vec::new();
        while queue.tasks() > 0 {
            taken.push(take(&mut queue, 640));
        }
        assert!(taken[0] <= 500, "another thread gets as much: {taken:?}");
        assert!(taken[..taken.len() - 1].iter().all(|&tasks| tasks >= 10), "{taken:?}");

        queue.push(lease(1), 0, tasks(3));
        assert_eq!(take(&mut queue, 1), 1, "tasks that take long are taken one by one");
    }

    #[test]
    fn blocks_are_served_in_order_and_passed_over_by_threads_that_they_are_not_for() {
        let mut queue = Queue::default();
        for id in [1, 2, 1] {
            queue.push(lease(id), 0, tasks(1));
        }
        let mut take = |wanted: &[u64]| {
            let chunk = queue.take(|lease| wanted.contains(&lease.id.0), 1, 1);
            chunk.map(|chunk| chunk.lease.id.0)
        };
        assert_eq!(
            [take(&[2]), take(&[2]), take(&[1, 2]), take(&[1])],
            [Some(2), None, Some(1), Some(1)]
        );
    }
}
