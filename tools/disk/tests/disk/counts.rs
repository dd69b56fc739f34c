//! What there is to count, and what the right counts are.

use farm::{
    Author, Claim, JobId, KernelName, LeaseId, LoanKind, LoanProof, Maker, Method, Plan, Problem,
    Range, Report, Tally, TaskCounts,
};
use histories::mix;

/// The tasks of each job.
pub const TASKS: u64 = 60;

/// The plan of all jobs.
pub fn plan() -> Plan {
    Plan { problem: Problem::Total { n: 8 }, method: Method::Halves, tasks: TASKS }
}

/// The right total of each job.
pub fn total() -> u128 {
    (0..TASKS).map(|ordinal| u128::from(count(ordinal))).sum()
}

/// The right count of a range.
pub fn truth(range: Range) -> Claim {
    tally(range, 0).claim()
}

/// What a machine reports about a range: the truth, and `error` more.
pub fn report(job: JobId, kernel: &str, range: Range, error: u64) -> Report {
    Report {
        job,
        fingerprint: plan().fingerprint(),
        lease: LeaseId(1),
        proof: LoanProof { range, kind: LoanKind::Count, seal: [0; 16] },
        range,
        tally: tally(range, error),
        task_counts: task_counts(range, error),
        kernel: KernelName::new(kernel).expect("there is such a kernel"),
        busy_us: 1,
        signed: None,
        stretches: Vec::new(),
    }
}

pub fn author(machine: &str) -> Author {
    Author { maker: maker(machine), worker: machine.into(), build: "1.2.3".into() }
}

pub fn maker(machine: &str) -> Maker {
    Maker { owner: "owner".into(), machine: machine.into() }
}

pub fn range(start: u64, end: u64) -> Range {
    Range::new(start, end).expect("it has tasks")
}

fn count(ordinal: u64) -> u64 {
    mix(ordinal) % 10_000
}

/// What each task of a range is said to count. Of every other range, only the sum is told.
fn task_counts(range: Range, error: u64) -> TaskCounts {
    let first = count(range.start()) + error;
    let counts = std::iter::once(first).chain((range.start() + 1..range.end()).map(count));
    match range.start().is_multiple_of(2) {
        true => TaskCounts::new(&counts.collect::<Vec<_>>()),
        false => TaskCounts::default(),
    }
}

fn tally(range: Range, error: u64) -> Tally {
    let plan = plan().fingerprint();
    let with = |tally: Tally, ordinal| {
        let error = if ordinal == range.start() { error } else { 0 };
        tally.with(plan, ordinal, count(ordinal) + error).expect("it is small")
    };
    (range.start()..range.end()).fold(Tally::EMPTY, with)
}
