//! Tests of tasks that kill their workers. They are found by halving, kept away from workers, and
//! tried again on request.

use farm::{
    Change, Effect, Event, Hello, Holding, JobId, JobState, Lease, Range, RequestId, SessionId,
};

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
        self.stage.join_with(&format!("w{}", self.started), threads, u64::MAX)
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

    fn reported_failures(&self) -> Vec<u64> {
        let ordinal = |effect: &Effect| match effect {
            Effect::TaskFailed { ordinal, .. } => Some(*ordinal),
            _ => None,
        };
        self.stage.sent.iter().filter_map(ordinal).collect()
    }

    /// The idle process stops, and a client resumes the job.
    fn resume(&mut self, idle: SessionId) {
        self.stage.act(Event::Left(idle));
        self.stage.act(change(RequestId(1), self.job, Change::Resume));
    }
}

fn holds(range: Range, task: u64) -> bool {
    (range.start()..range.end()).contains(&task)
}

#[test]
fn a_deadly_task_is_found_by_halving_and_the_rest_is_counted() {
    for deadly in 0..TASKS {
        let mut fleet = Fleet::new();

        let idle = fleet.count(&[deadly]);

        // Two processes crash with all tasks. After that, each crash halves the suspected tasks at
        // least.
        assert_eq!(fleet.deaths[..2], [64, 64], "{deadly}");
        assert!(fleet.deaths[2..].is_sorted_by(|a, b| a >= &(2 * b)), "{:?}", fleet.deaths);
        assert_eq!(fleet.deaths.last(), Some(&1), "{deadly}");
        assert_eq!((fleet.failed(), fleet.reported_failures()), (vec![deadly], vec![deadly]));
        assert_eq!(fleet.stage.state(fleet.job), (JobState::Running, 63u128));
        assert_eq!(fleet.stage.farm.job(fleet.job).expect("it exists").workers, 0);
        let leased = fleet.stage.leases(idle).len();
        fleet.stage.tick(1_000_000);
        assert_eq!(fleet.stage.leases(idle).len(), leased);
    }
}

#[test]
fn several_deadly_tasks_are_found() {
    for deadly in [vec![0, 1], vec![5, 40], vec![62, 63], vec![7, 8, 9], vec![0, 32, 63]] {
        let mut fleet = Fleet::new();

        fleet.count(&deadly);

        assert_eq!(fleet.failed(), deadly);
        let (state, total) = fleet.stage.state(fleet.job);
        assert_eq!((state, total), (JobState::Running, u128::from(TASKS) - deadly.len() as u128));
        assert!(fleet.deaths.len() <= 2 + 7 * deadly.len(), "{deadly:?}: {:?}", fleet.deaths);
    }
}

#[test]
fn a_worker_that_still_holds_a_failed_task_keeps_it() {
    // Given: three workers lost their sessions with the only task.
    let mut stage = Stage::new();
    let job = stage.submit(1, 0);
    let mut leases = Vec::new();
    for number in 1..=3 {
        let session = stage.join(&format!("w{number}"), 1);
        leases.push(stage.last_lease(session));
        stage.act(Event::Left(session));
    }
    let failed = |stage: &Stage| stage.farm.job(job).expect("it exists").failed;
    assert_eq!(failed(&stage), 1);

    // When one of them reconnects with the task
    let hello = Hello { holding: vec![Holding::of_lease(&leases[1])], ..hello("w2", 1) };
    stage.join_as(SessionId(9), OWNER, hello);

    // Then it keeps the task, which is not failed any more.
    assert_eq!(failed(&stage), 0);
    assert!(!stage.revoked(leases[1].id), "it would drop what it counts");
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
fn a_resumed_job_tries_its_failed_tasks_again() {
    let mut fleet = Fleet::new();
    let idle = fleet.count(&[37]);
    let died = fleet.deaths.len();

    // When the task still kills
    fleet.resume(idle);
    let idle = fleet.count(&[37]);
    assert_eq!((fleet.deaths.len() - died, fleet.failed()), (3, vec![37]));
    assert_eq!(fleet.reported_failures(), [37, 37]);

    // And when the task does not kill any more
    fleet.resume(idle);
    assert_eq!(fleet.failed(), []);
    fleet.count(&[]);
    assert_eq!(fleet.stage.state(fleet.job), (JobState::Done, u128::from(TASKS)));
}

#[test]
fn a_count_of_a_failed_task_is_accepted() {
    let mut fleet = Fleet::new();
    let session = fleet.count(&[37]);

    fleet.stage.report(session, report(fleet.job, plan(TASKS), range(37, 38)));

    assert_eq!(fleet.failed(), []);
    assert_eq!(fleet.stage.state(fleet.job), (JobState::Done, u128::from(TASKS)));
}
