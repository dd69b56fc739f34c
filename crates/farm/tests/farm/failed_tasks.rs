//! Tests of tasks that kill their workers. They are found by halving, kept away from workers, and
//! tried again on request.

use farm::{Change, Effect, Event, Hello, JobId, JobState, Lease, Range, RequestId, SessionId};

use crate::stage::{OWNER, Stage, change, hello, plan, range, report};

const TASKS: u64 = 64;

/// A fleet of processes, and the tasks that kill them.
struct Fleet {
    stage: Stage,
    job: JobId,
    started: u64,
    /// The number of tasks that each crashed process held.
    deaths: Vec<u64>,
}

impl Fleet {
    fn new() -> Fleet {
        let mut stage = Stage::new();
        let job = stage.submit(TASKS, 0);
        Fleet { stage, job, started: 0, deaths: Vec::new() }
    }

    /// Starts a process that is leased everything, unless tasks are suspected.
    fn start(&mut self) -> SessionId {
        self.started += 1;
        let threads = TASKS as u32;
        self.stage.join_with(&format!("w{}", self.started), threads)
    }

    /// Starts one process after the other until one survives and has counted all its leases.
    fn count(&mut self, deadly: &[u64]) -> SessionId {
        loop {
            let session = self.start();
            let kills = |lease: &Lease| deadly.iter().any(|&task| holds(lease.range, task));
            let mut counted = 0;
            while let Some(&lease) = self.stage.leases(session).get(counted).filter(|l| !kills(l)) {
                self.stage.finish(session, &lease, 1_000);
                counted += 1;
            }
            let Some(last) = self.stage.leases(session).get(counted).copied() else {
                return session;
            };
            self.deaths.push(last.range.len());
            self.stage.act(Event::Left(session));
        }
    }

    fn failed(&self) -> Vec<u64> {
        let view = self.stage.farm.job(self.job).expect("it exists");
        assert_eq!(view.failed, view.failed_first.len() as u64);
        view.failed_first
    }
}

fn holds(range: Range, task: u64) -> bool {
    (range.start()..range.end()).contains(&task)
}

#[test]
fn deadly_tasks_are_found_and_the_rest_is_counted() {
    for deadly in [vec![37], vec![0, 1], vec![5, 40], vec![62, 63], vec![7, 8, 9], vec![0, 32, 63]]
    {
        let mut fleet = Fleet::new();

        fleet.count(&deadly);

        assert_eq!(fleet.failed(), deadly);
        let (state, total) = fleet.stage.state(fleet.job);
        assert_eq!((state, total), (JobState::Running, u128::from(TASKS) - deadly.len() as u128));
        assert!(fleet.deaths.len() <= 2 + 7 * deadly.len(), "{deadly:?}: {:?}", fleet.deaths);
    }
}

#[test]
fn a_machine_that_crashes_often_fails_few_tasks() {
    let mut stage = Stage::new();
    let job = stage.submit(20, 0);
    for life in 1..=1_000 {
        let session = SessionId(life);
        stage.join_as(session, OWNER, Hello { instance: life, ..hello("w1", 1) });
        stage.act(Event::Left(session));
    }

    let failed = stage.farm.job(job).expect("it exists").failed;
    assert!(failed <= 10, "{failed} tasks");
}

/// Loses a new process of a machine, with this number. Returns how many lost processes of the
/// machine the farm remembers.
fn lose(stage: &mut Stage, machine: &str, instance: u64) -> usize {
    let session = SessionId(instance);
    stage.join_as(session, OWNER, Hello { instance, ..hello(machine, 1) });
    stage.act(Event::Left(session));
    let mut lost = stage.sent.iter().rev().filter_map(|effect| match effect {
        Effect::Lost { processes, .. } => Some(*processes),
        _ => None,
    });
    lost.next().expect("it held something")
}

#[test]
fn the_oldest_of_too_many_losses_is_forgotten() {
    let mut stage = Stage::new();
    stage.submit(20, 0);
    lose(&mut stage, "w1", 9_999);
    for number in 1..=1_024 {
        assert_eq!(lose(&mut stage, "w2", number), number as usize);
    }
    assert_eq!(lose(&mut stage, "w1", 9_998), 1);
}

#[test]
fn resuming_a_job_forgets_only_its_own_crashes() {
    let mut stage = Stage::new();
    let urgent = stage.submit(20, 1);
    let other = stage.submit(20, 0);
    for number in 1..=40 {
        lose(&mut stage, "w1", number);
    }

    stage.act(change(RequestId(1), other, Change::Resume));
    assert_eq!(lose(&mut stage, "w1", 41), 41);
    stage.act(change(RequestId(2), urgent, Change::Resume));
    assert_eq!(lose(&mut stage, "w1", 42), 1);
}

#[test]
fn a_count_of_a_failed_task_is_accepted() {
    let mut fleet = Fleet::new();
    let session = fleet.count(&[37]);

    fleet.stage.report(session, report(fleet.job, plan(TASKS), range(37, 38)));

    assert!(fleet.failed().is_empty(), "{:?}", fleet.failed());
    assert_eq!(fleet.stage.state(fleet.job), (JobState::Done, u128::from(TASKS)));
}
