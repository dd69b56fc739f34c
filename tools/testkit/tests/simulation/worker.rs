//! A simulated worker: the real [`Agent`], and threads that take simulated time.

use std::collections::BTreeSet;

use farm::{
    Ack, Agent, Hello, JobId, KernelName, Lease, LeaseId, Millis, Plan, Range, Report, SessionId,
    TaskCounts,
};
use testkit::Random;

use crate::scenario::{LONG_N, Plot, Traits, kernel, long_task_per_mille};
use crate::truth::Truths;

pub struct Worker {
    pub traits: Traits,
    /// The number of times that it was started. Events of an earlier life are void.
    pub life: u64,
    /// `None` while it does not run.
    pub agent: Option<Agent>,
    pub session: Option<SessionId>,
    pub hung: bool,
    pub stopping: bool,
    pub wakes_at: Option<u64>,
    /// Ordinals that it has counted and that are not acknowledged.
    pub owed: BTreeSet<(JobId, u64)>,
    threads: Vec<Option<Job>>,
    queue: Vec<(Lease, Range)>,
}

/// The work of a thread.
#[derive(Clone, Copy)]
struct Job {
    lease: Lease,
    range: Range,
    busy_us: u64,
    /// Whether it was finished while the process hung.
    ready: bool,
}

impl Worker {
    pub fn new(traits: Traits) -> Worker {
        Worker {
            threads: vec![None; traits.agent.hello.threads as usize],
            traits,
            life: 0,
            agent: None,
            session: None,
            hung: false,
            stopping: false,
            wakes_at: None,
            queue: Vec::new(),
            owed: BTreeSet::new(),
        }
    }

    pub fn start(&mut self, instance: u64) {
        self.life += 1;
        let mut config = self.traits.agent.clone();
        config.hello.instance = instance;
        if self.traits.renames {
            config.hello.worker = format!("{}.{}", config.hello.worker, self.life);
            config.hello.machine = config.hello.worker.clone();
        }
        self.agent = Some(Agent::new(config));
    }

    /// Kills the process, with all its state.
    pub fn die(&mut self) {
        *self = Worker { life: self.life, ..Worker::new(self.traits.clone()) };
    }

    pub fn leased(&mut self, lease: Lease) {
        let Some(agent) = &mut self.agent else { return };
        agent.leased(lease);
        if !self.stopping {
            self.queue.push((lease, lease.range));
        }
    }

    pub fn revoked(&mut self, random: &mut Random, lease: LeaseId) {
        let Some(agent) = &mut self.agent else { return };
        agent.revoked(lease);
        self.queue.retain(|(held, _)| held.id != lease);
        // Some programs notice the revocation in the middle of a range.
        if random.per_mille(500) {
            let dropped = |job: &Job| job.lease.id == lease && !job.ready;
            self.threads.iter_mut().for_each(|slot| *slot = slot.filter(|job| !dropped(job)));
        }
    }

    /// Forgets leases that the coordinator does not recognize.
    pub fn disowned(&mut self) {
        let Some(agent) = &mut self.agent else { return };
        agent.disowned();
        self.queue.clear();
        self.threads.fill(None);
        self.owed.clear();
    }

    pub fn stop(&mut self) {
        let Some(agent) = &mut self.agent else { return };
        agent.stop();
        self.stopping = true;
        self.queue.clear();
    }

    pub fn is_idle(&self) -> bool {
        self.threads.iter().all(Option::is_none)
    }

    /// Whether it has nothing to do and nothing to send.
    pub fn is_settled(&self) -> bool {
        let settled = self.is_idle() && self.agent.as_ref().is_none_or(Agent::is_settled);
        assert!(!settled || self.owed.is_empty(), "counted, and forgotten: {:?}", self.owed);
        settled
    }

    pub fn acked(&mut self, ack: &Ack) {
        let Some(agent) = &mut self.agent else { return };
        agent.acked(ack);
        self.owed.retain(|&(of, ordinal)| of != ack.job || !contains(ack.range, ordinal));
    }

    /// Checks that the hello lists at least what was counted and not acknowledged.
    pub fn check_hello(&self, hello: &Hello) {
        for &(job, ordinal) in &self.owed {
            let mut held = hello.holding.iter().filter(|holding| holding.job == job);
            let reported = held.any(|holding| contains(holding.range, ordinal));
            assert!(reported, "{ordinal} of job {job} was counted, and is forgotten");
        }
    }

    /// Gives work to idle threads. Returns the threads and their times in ms.
    pub fn occupy(&mut self, random: &mut Random, truths: &mut Truths) -> Vec<(usize, u64)> {
        let mut begun = Vec::new();
        if self.hung || self.agent.is_none() {
            return begun;
        }
        for thread in 0..self.threads.len() {
            if self.queue.is_empty() {
                break;
            }
            if self.threads[thread].is_some() {
                continue;
            }
            let index = match self.traits.in_order {
                true => 0,
                false => random.below(self.queue.len() as u64) as usize,
            };
            let (lease, rest) = self.queue[index];
            let is_long = lease.plan.problem.n() == LONG_N;
            let mut range = rest.first(if is_long { 1 } else { self.traits.chunk });
            while truths.of(&lease.plan).checked_count(range).is_none() {
                range = range.first(range.len() / 2);
            }
            match Range::new(range.end(), rest.end()) {
                Some(rest) => self.queue[index].1 = rest,
                None => drop(self.queue.remove(index)),
            }
            let busy_us = match is_long {
                true => self.traits.us_per_long_task * long_task_per_mille(range.start()) / 1_000,
                false => self.traits.us_per_task * range.len(),
            };
            self.threads[thread] = Some(Job { lease, range, busy_us, ready: false });
            begun.push((thread, (busy_us / 1000).max(1)));
        }
        begun
    }

    /// The plan and the range that a thread counts.
    pub fn counting(&self, thread: usize) -> Option<(&Plan, Range)> {
        let job = self.threads[thread].as_ref().filter(|_| !self.hung)?;
        Some((&job.lease.plan, job.range))
    }

    /// Finishes a thread's work. Returns the number of lies (0 or 1).
    pub fn counted(
        &mut self,
        now: u64,
        thread: usize,
        random: &mut Random,
        truths: &mut Truths,
    ) -> u64 {
        let Some(Job { lease, range, busy_us, .. }) = self.threads[thread] else { return 0 };
        if self.hung {
            self.threads[thread] = Some(Job { lease, range, busy_us, ready: true });
            return 0;
        }
        self.threads[thread] = None;
        let Some(agent) = &mut self.agent else { return 0 };
        let truth = truths.of(&lease.plan);
        let lies = self.traits.lies_per_mille;
        let lie = match self.traits.plot {
            Plot::None if random.per_mille(lies) => truth.lie(range, random),
            Plot::InRecounts if lease.recount.is_none() => None,
            Plot::Always | Plot::InRecounts => truth.plotted(range, lies),
            Plot::None => None,
        };
        let checked_count = lie.or_else(|| truth.checked_count(range)).expect("`occupy` saw to it");
        let kernel = self.traits.kernel_for(&lease);
        if lease.recount.is_none() {
            self.owed.extend((range.start()..range.end()).map(|ordinal| (lease.job, ordinal)));
        }
        let is_reported = lie.is_none() && lease.plan.reports_tasks();
        let task_counts =
            if is_reported { truth.task_counts(range) } else { TaskCounts::default() };
        agent.finished(
            Millis(now),
            Report::new(&lease, range, checked_count, task_counts, kernel, busy_us),
        );
        u64::from(lie.is_some())
    }

    /// Lets the worker continue after it hung. Returns the threads that finished meanwhile.
    pub fn unhang(&mut self) -> Vec<usize> {
        self.hung = false;
        let ready = |slot: &Option<Job>| slot.is_some_and(|job| job.ready);
        (0..self.threads.len()).filter(|&thread| ready(&self.threads[thread])).collect()
    }
}

impl Traits {
    /// A kernel other than the one to check, if it has one.
    fn kernel_for(&self, lease: &Lease) -> KernelName {
        let is_unlike = |kernel| lease.recount.is_none_or(|recount| recount.unlike != kernel);
        match self.stubborn || is_unlike(self.kernel) {
            true => self.kernel,
            false => kernel("reference"),
        }
    }
}

fn contains(range: Range, ordinal: u64) -> bool {
    (range.start()..range.end()).contains(&ordinal)
}
