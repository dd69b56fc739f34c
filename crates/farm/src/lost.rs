//! Worker processes that were lost while they counted.
//!
//! A process that the system kills, for lack of memory for instance, cannot say so. What is left of it is that its
//! session ended without a word while it held ranges, and that the process never came back. Where this happens
//! to one machine again and again, people should look there.
//!
//! Only what happened last is remembered, whoever it happened to. This decides nothing, and it is not durable: a
//! restarted coordinator begins without it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::session::{Process, Session};
use crate::{JobId, Maker};

/// Processes of workers on one machine that were lost while they counted, and have not come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostWorkers {
    /// Whose they were.
    pub maker: Maker,
    /// How many there were.
    pub processes: u32,
    /// Counting threads of the last one.
    pub threads: u32,
    /// Bytes that all threads of the last one together might take.
    pub memory: u64,
    /// Processes that the system has killed there for lack of memory, as far as workers of the machine could see
    /// when they started; 0 proves nothing.
    pub memory_kills: u64,
}

impl LostWorkers {
    /// Whether this says more than that a machine may have been switched off.
    pub fn is_telling(&self) -> bool {
        self.processes > 1 || self.memory_kills > 0
    }
}

/// The processes that were lost last.
#[derive(Debug, Default)]
pub(crate) struct Lost(VecDeque<Record>);

#[derive(Debug)]
struct Record {
    process: Process,
    /// The jobs of which it held ranges; never empty.
    jobs: BTreeSet<JobId>,
    /// What it says, of this process alone.
    worker: LostWorkers,
}

impl Lost {
    /// So many processes are remembered.
    const MOST: usize = 256;

    /// A session ended by itself while it held ranges of these jobs. Returns what is known now of its machine.
    pub(crate) fn record(&mut self, session: &Session, jobs: BTreeSet<JobId>) -> LostWorkers {
        let view = session.view();
        let maker = view.author.maker;
        let worker = LostWorkers {
            maker: maker.clone(),
            processes: 1,
            threads: view.threads,
            memory: view.memory,
            memory_kills: view.memory_kills,
        };
        if self.0.len() == Self::MOST {
            self.0.pop_front();
        }
        self.0.push_back(Record { process: session.process().clone(), jobs, worker });
        let of_machine = self.by_machine(|_| true).remove(&maker);
        of_machine.expect("it was recorded just now")
    }

    /// The process is there. What it says of its machine is known of those that were lost there.
    pub(crate) fn came_back(&mut self, session: &Session) {
        self.0.retain(|record| record.process != *session.process());
        let view = session.view();
        let of_machine = |record: &&mut Record| record.worker.maker == view.author.maker;
        for Record { worker, .. } in self.0.iter_mut().filter(of_machine) {
            worker.memory_kills = worker.memory_kills.max(view.memory_kills);
        }
    }

    /// The job is tried anew.
    pub(crate) fn forget(&mut self, job: JobId) {
        self.0.retain_mut(|record| {
            record.jobs.remove(&job);
            !record.jobs.is_empty()
        });
    }

    /// Machines that lost processes while they counted `job`, those with the most first.
    pub(crate) fn of(&self, job: JobId) -> Vec<LostWorkers> {
        let of_job = self.by_machine(|record| record.jobs.contains(&job));
        let mut machines: Vec<LostWorkers> = of_job.into_values().collect();
        machines.sort_by_key(|lost| std::cmp::Reverse((lost.memory_kills > 0, lost.processes)));
        machines
    }

    fn by_machine(&self, wanted: impl Fn(&&Record) -> bool) -> BTreeMap<Maker, LostWorkers> {
        let mut machines: BTreeMap<Maker, LostWorkers> = BTreeMap::new();
        for Record { worker, .. } in self.0.iter().filter(wanted) {
            let known = machines.get(&worker.maker);
            let (processes, kills) =
                known.map_or((0, 0), |known| (known.processes, known.memory_kills));
            let memory_kills = worker.memory_kills.max(kills);
            let worker = LostWorkers { processes: processes + 1, memory_kills, ..worker.clone() };
            machines.insert(worker.maker.clone(), worker);
        }
        machines
    }
}
