//! A worker's connection, as the farm sees it.

use std::collections::BTreeSet;

use plan::threads_that_fit;

use crate::{Author, Hello, JobId, KernelName, LeaseId, Maker, Millis};

/// One connection of one worker.
#[derive(Debug)]
pub(crate) struct Session {
    author: Author,
    /// The counting loop in use, for people.
    backend: String,
    process: Process,
    threads: u32,
    /// Bytes that all threads together may take.
    memory: u64,
    memory_kills: u64,
    /// The most tasks that the worker agrees to hold.
    pub(crate) credit: u64,
    /// What it agreed to when it came.
    first_credit: u64,
    /// Tasks lent and not yet reported.
    pub(crate) outstanding: u64,
    /// It asked for no more work.
    pub(crate) leaving: bool,
    /// When it joined, or last reported something or said that it was getting on.
    pub(crate) heard_at: Millis,
    /// Tasks that it has reported.
    pub(crate) counted: u64,
    /// Deadlines missed since it last reported something: those who missed fewer come first.
    pub(crate) missed: u32,
    /// It missed a deadline: until then, or until it reports something, it is lent nothing.
    pub(crate) rests_until: Option<Millis>,
    pub(crate) leases: BTreeSet<LeaseId>,
    /// Jobs that it gave ranges back of: it cannot count them, whatever it said about its memory.
    pub(crate) declined: BTreeSet<JobId>,
}

/// A worker process. Its number is the worker's own choice, so that it tells only the processes of one owner
/// apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Process {
    pub(crate) owner: String,
    pub(crate) instance: u64,
}

impl Session {
    pub(crate) fn new(owner: String, hello: &Hello, now: Millis) -> Session {
        Session {
            process: Process { owner: owner.clone(), instance: hello.instance },
            author: Author {
                maker: Maker { owner, machine: hello.machine.clone() },
                worker: hello.worker.clone(),
                build: hello.build.clone(),
            },
            backend: hello.backend.clone(),
            threads: hello.threads.max(1),
            memory: hello.memory,
            memory_kills: hello.memory_kills,
            credit: hello.credit,
            first_credit: hello.credit,
            outstanding: 0,
            leaving: false,
            heard_at: now,
            counted: 0,
            missed: 0,
            rests_until: None,
            leases: BTreeSet::new(),
            declined: BTreeSet::new(),
        }
    }

    /// Who makes its counts.
    pub(crate) fn author(&self) -> &Author {
        &self.author
    }

    /// The process at its other end.
    pub(crate) fn process(&self) -> &Process {
        &self.process
    }

    /// Its counting threads, and the kernel that they use: empty if this version has none of the name.
    pub(crate) fn kernel(&self) -> (KernelName, u32) {
        (KernelName::new(&self.backend).unwrap_or_default(), self.threads)
    }

    /// Who answers for its counts.
    pub(crate) fn maker(&self) -> &Maker {
        &self.author.maker
    }

    pub(crate) fn view(&self) -> WorkerView {
        let &Session { threads, memory, memory_kills, outstanding: tasks, .. } = self;
        let (author, backend) = (self.author.clone(), self.backend.clone());
        WorkerView { author, backend, threads, memory, memory_kills, tasks }
    }

    /// How many of its threads may count a job at a time that takes `thread_memory` bytes for each.
    pub(crate) fn threads_for(&self, thread_memory: u64) -> u32 {
        threads_that_fit(self.threads, self.memory, thread_memory)
    }

    /// Whether ranges of such a job are of any use to it.
    pub(crate) fn may_count(&self, job: JobId, thread_memory: u64) -> bool {
        self.threads_for(thread_memory) > 0 && !self.declined.contains(&job)
    }

    /// Whether it may be lent a recount of so many tasks, which cannot be divided. Beyond its credit it may be lent
    /// nothing else, and not even that once it has lowered its credit: then it has no time for more.
    pub(crate) fn has_room_for_recount(&self, tasks: u64) -> bool {
        let is_idle = self.outstanding == 0 && self.credit >= self.first_credit;
        tasks <= self.room() || is_idle
    }

    /// How many more tasks it may be lent.
    pub(crate) fn room(&self) -> u64 {
        if self.leaving { 0 } else { self.credit.saturating_sub(self.outstanding) }
    }
}

/// What those who run a farm may see of a connected worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerView {
    /// Who answers for its counts, and its name.
    pub author: Author,
    /// The counting loop in use, as the worker names it; it may be empty.
    pub backend: String,
    /// Counting threads.
    pub threads: u32,
    /// Bytes that all of them together may take.
    pub memory: u64,
    /// Processes of its control group that the system has killed for lack of memory, as far as the worker could
    /// see when it started.
    pub memory_kills: u64,
    /// Tasks that it was lent and has not reported.
    pub tasks: u64,
}

/// How fast a worker counts one job's tasks, from what it reports.
///
/// Tasks of a plan differ in size along the ordinals, so old measurements fade: both sums are
/// halved whenever they pass [`Speed::MEMORY_US`] of thread time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Speed {
    tasks: u64,
    busy_us: u64,
}

impl Speed {
    const MEMORY_US: u64 = 20_000_000;

    /// `tasks` took `busy_us` of one thread's time.
    pub(crate) fn measured(&mut self, tasks: u64, busy_us: u64) {
        self.tasks = self.tasks.saturating_add(tasks);
        self.busy_us = self.busy_us.saturating_add(busy_us.max(1));
        if self.busy_us > Self::MEMORY_US {
            self.tasks = (self.tasks / 2).max(1);
            self.busy_us /= 2;
        }
    }

    /// Number of tasks that it rests on.
    pub(crate) fn tasks(self) -> u64 {
        self.tasks
    }

    /// Tasks in 1,000 seconds of one thread, at least 1; `None` before the first measurement.
    pub(crate) fn tasks_per_kilosecond(self) -> Option<u64> {
        let rate = u128::from(self.tasks) * 1_000_000_000 / u128::from(self.busy_us.max(1));
        (self.busy_us > 0).then(|| u64::try_from(rate.max(1)).unwrap_or(u64::MAX))
    }
}
