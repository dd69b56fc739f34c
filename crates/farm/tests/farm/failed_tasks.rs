//! Tests of tasks that kill their workers. A range that was lost three times is kept away from
//! workers, and tried again on request.

use farm::{
    Change, Effect, Event, Hello, Holding, JobId, JobState, Lease, Range, RequestId, SessionId,
    WorkerMessage,
};

use crate::stage::{OWNER, Stage, change, hello, plan, range, report, report_of};

const TASKS: u64 = 64;
/// How many tasks a process is leased first.
const LEASE: u64 = 16;

/// A fleet of processes, and the tasks that kill them.
struct Fleet {
    stage: Stage,
    job: JobId,
    started: u64,
    /// How many processes have crashed.
    deaths: usize,
}

impl Fleet {
    fn new() -> Fleet {
        let mut stage = Stage::new();
        let job = stage.submit(TASKS, 0);
        Fleet { stage, job, started: 0, deaths: 0 }
    }

    /// Starts a process that is leased a few tasks at first, and more when it has counted these.
    fn start(&mut self) -> SessionId {
        self.started += 1;
        self.stage.join(&format!("w{}", self.started), LEASE)
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
            if self.stage.leases(session).len() == counted {
                return session;
            }
            self.deaths += 1;
            self.stage.act(Event::Left(session));
        }
    }

    /// The tasks that it names as failed, each once.
    fn failed(&self) -> Vec<u64> {
        let mut failed: Vec<u64> =
            named(&self.stage).iter().flat_map(|range| range.start()..range.end()).collect();
        failed.sort_unstable();
        let view = self.stage.farm.job(self.job).expect("it exists");
        assert_eq!(view.failed, failed.len() as u64);
        assert!(failed.starts_with(&view.failed_first) && !view.failed_first.is_empty());
        failed
    }
}

/// The ranges that have failed.
fn named(stage: &Stage) -> Vec<Range> {
    let named = stage.sent.iter().filter_map(|effect| match effect {
        Effect::RangeFailed { range, .. } => Some(*range),
        _ => None,
    });
    named.collect()
}

fn holds(range: Range, task: u64) -> bool {
    (range.start()..range.end()).contains(&task)
}

#[test]
fn a_range_that_kills_three_workers_is_left_and_the_rest_is_counted() {
    for deadly in [vec![37], vec![0, 1], vec![5, 40], vec![62, 63], vec![0, 20, 41, 63]] {
        let mut fleet = Fleet::new();

        fleet.count(&deadly);

        let failed = fleet.failed();
        assert!(deadly.iter().all(|task| failed.contains(task)), "{deadly:?}: {failed:?}");
        let of_leases = failed.len() as u64;
        assert!(of_leases <= LEASE * deadly.len() as u64, "{deadly:?}: {failed:?}");
        let (state, total) = fleet.stage.state(fleet.job);
        assert_eq!((state, total), (JobState::Running, u128::from(TASKS - of_leases)));
        assert!(fleet.deaths <= 3 * deadly.len(), "{deadly:?}: {} died", fleet.deaths);
    }
}

/// What is counted of a range does not fail with the rest.
#[test]
fn what_is_lost_for_the_third_time_has_failed() {
    let mut stage = Stage::new();
    let job = stage.submit(4, 0);
    let failed = |stage: &Stage| stage.farm.job(job).expect("it exists").failed_first;
    for number in 1..=2 {
        let worker = stage.join_with(&format!("w{number}"), 4);
        stage.act(Event::Left(worker));
    }
    assert_eq!((failed(&stage), named(&stage)), (vec![], vec![]));

    // One of four tasks is counted, and the worker is lost with the others.
    let worker = stage.join_with("w3", 4);
    let lease = stage.last_lease(worker);
    stage.report_as_is(worker, report_of(&lease, range(1, 2)));
    stage.act(Event::Left(worker));

    assert_eq!(failed(&stage), [0, 2, 3]);
    assert_eq!(named(&stage), [range(0, 1), range(2, 4)]);
    let worker = stage.join_with("w4", 4);
    assert!(stage.leases(worker).is_empty(), "it is leased to nobody");

    // When the job is resumed, it takes three workers again.
    stage.act(change(RequestId(1), job, Change::Resume));
    for number in 5..=6 {
        stage.act(Event::Left(SessionId(number - 1)));
        stage.join_with(&format!("w{number}"), 4);
    }
    assert_eq!((failed(&stage), named(&stage).len()), (vec![], 2));
}

/// A worker that is lost and comes back with its range was not killed by it.
#[test]
fn a_range_that_is_brought_back_begins_anew() {
    let mut stage = Stage::new();
    let job = stage.submit(4, 0);
    let mut worker = stage.join_with("w1", 4);
    let lease = stage.last_lease(worker);
    for life in 2..=6 {
        stage.act(Event::Left(worker));
        worker = SessionId(life);
        let holding = vec![Holding::of_lease(&lease)];
        stage.join_as(worker, OWNER, Hello { holding, ..hello("w1", 4) });
    }
    assert_eq!(named(&stage), []);
    stage.finish(worker, &lease, 1_000);
    assert_eq!(stage.state(job), (JobState::Done, 4));
}

#[test]
fn a_machine_that_crashes_often_fails_few_tasks() {
    let mut stage = Stage::new();
    let job = stage.submit(40, 0);
    for life in 1..=1_000 {
        let session = SessionId(life);
        stage.join_as(session, OWNER, Hello { instance: life, ..hello("w1", 1) });
        stage.act(Event::Left(session));
    }

    let failed = stage.farm.job(job).expect("it exists").failed;
    assert_eq!(failed, 4, "tasks");
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

    assert_eq!(fleet.failed(), [36, 37, 38, 39]);

    fleet.stage.report(session, report(fleet.job, plan(TASKS), range(36, 40)));

    assert_eq!(fleet.stage.farm.job(fleet.job).expect("it exists").failed, 0);
    assert_eq!(fleet.stage.state(fleet.job), (JobState::Done, u128::from(TASKS)));
}

/// One process is lost with a task that two processes have: the second may still count it.
#[test]
fn a_range_that_another_worker_has_does_not_fail() {
    // Given: two workers of known speed are lost with the last task, and a third one has it.
    let mut stage = Stage::new();
    let job = stage.submit(9, 0);
    let one = stage.join("w1", 4);
    let idle = stage.join("w2", 4);
    stage.act(Event::Said(idle, WorkerMessage::Credit(0)));
    for worker in [one, idle] {
        let lease = stage.last_lease(worker);
        stage.now += 1_000;
        stage.finish(worker, &lease, 1_000);
    }
    for number in 3..=4 {
        stage.act(Event::Left(if number == 3 { one } else { SessionId(3) }));
        stage.join(&format!("w{number}"), 4);
    }
    let holder = SessionId(4);
    let lease = stage.last_lease(holder);
    assert_eq!(lease.range, range(8, 9));

    // When an idle one is leased it, too, and the third one is lost
    stage.act(Event::Said(idle, WorkerMessage::Credit(4)));
    stage.tick(stage.now + 30_000);
    assert_eq!(stage.last_lease(idle).range, range(8, 9), "it is late");
    stage.act(Event::Left(holder));

    // Then it has not failed, and counts.
    assert!(named(&stage).is_empty());
    let lease = stage.last_lease(idle);
    stage.finish(idle, &lease, 1_000);
    assert_eq!(stage.state(job), (JobState::Done, 9));
}
