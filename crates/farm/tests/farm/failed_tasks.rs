//! Tests of tasks that kill their workers. A range that was lost three times is kept away from
//! workers, and tried again on request.

use farm::{
    Change, Effect, Event, Hello, Holding, JobId, JobState, Lease, Range, RequestId, SessionId,
    WorkerMessage,
};

use crate::scene::{CONFIG, OWNER, Scene, at_work, change, hello, plan, range, report, report_of};

const TASKS: u64 = 64;
/// How many tasks a process is leased first.
const LEASE: u64 = 16;

/// A fleet of processes, and the tasks that kill them.
struct Fleet {
    scene: Scene,
    job: JobId,
    started: u64,
    /// How many processes have crashed.
    deaths: usize,
}

impl Fleet {
    fn new() -> Fleet {
        let mut scene = Scene::new();
        let job = scene.submit(TASKS, 0);
        Fleet { scene, job, started: 0, deaths: 0 }
    }

    /// Starts a process that is leased a few tasks at first, and more when it has counted these.
    fn start(&mut self) -> SessionId {
        self.started += 1;
        self.scene.join(&format!("w{}", self.started), LEASE)
    }

    /// Starts one process after the other until one survives and has counted all its leases.
    fn count(&mut self, deadly: &[u64]) -> SessionId {
        loop {
            let session = self.start();
            let kills = |lease: &Lease| deadly.iter().any(|&task| holds(lease.range, task));
            let mut counted = 0;
            while let Some(&lease) = self.scene.leases(session).get(counted).filter(|l| !kills(l)) {
                self.scene.finish(session, &lease, 1_000);
                counted += 1;
            }
            if self.scene.leases(session).len() == counted {
                return session;
            }
            self.deaths += 1;
            self.scene.act(Event::Left(session));
        }
    }

    /// The tasks that it names as failed, each once.
    fn failed(&self) -> Vec<u64> {
        let mut failed: Vec<u64> =
            named(&self.scene).iter().flat_map(|range| range.start()..range.end()).collect();
        failed.sort_unstable();
        let view = self.scene.farm.job(self.job).expect("it exists");
        assert_eq!(view.failed, failed.len() as u64);
        assert!(failed.starts_with(&view.failed_first) && !view.failed_first.is_empty());
        failed
    }
}

/// The ranges that have failed.
fn named(scene: &Scene) -> Vec<Range> {
    let named = scene.sent.iter().filter_map(|effect| match effect {
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
        let (state, total) = fleet.scene.state(fleet.job);
        assert_eq!((state, total), (JobState::Running, u128::from(TASKS - of_leases)));
        assert!(fleet.deaths <= 3 * deadly.len(), "{deadly:?}: {} died", fleet.deaths);
    }
}

/// What is counted of a range does not fail with the rest.
#[test]
fn what_is_lost_for_the_third_time_has_failed() {
    let mut scene = Scene::new();
    let job = scene.submit(4, 0);
    let failed = |scene: &Scene| scene.farm.job(job).expect("it exists").failed_first;
    for number in 1..=2 {
        let worker = scene.join_with(&format!("w{number}"), 4);
        scene.act(Event::Left(worker));
    }
    assert_eq!((failed(&scene), named(&scene)), (vec![], vec![]));

    // One of four tasks is counted, and the worker is lost with the others.
    let worker = scene.join_with("w3", 4);
    let lease = scene.last_lease(worker);
    scene.report_as_is(worker, report_of(&lease, range(1, 2)));
    scene.act(Event::Left(worker));

    assert_eq!(failed(&scene), [0, 2, 3]);
    assert_eq!(named(&scene), [range(0, 1), range(2, 4)]);
    let worker = scene.join_with("w4", 4);
    assert!(scene.leases(worker).is_empty(), "it is leased to nobody");

    // When the job is resumed, it takes three workers again.
    scene.act(change(RequestId(1), job, Change::Resume));
    for number in 5..=6 {
        scene.act(Event::Left(SessionId(number - 1)));
        scene.join_with(&format!("w{number}"), 4);
    }
    assert_eq!((failed(&scene), named(&scene).len()), (vec![], 2));
}

/// A worker that is lost and comes back was not killed by what it holds.
#[test]
fn a_process_that_often_comes_back_fails_nothing() {
    let mut scene = Scene::new();
    let job = scene.submit(4, 0);
    let mut worker = scene.join_with("w1", 4);
    let lease = scene.last_lease(worker);
    for life in 2..=6 {
        scene.act(Event::Left(worker));
        worker = SessionId(life);
        let holding = vec![Holding::of_lease(&lease)];
        scene.join_as(worker, OWNER, Hello { holding, ..hello("w1", 4) });
    }
    assert_eq!(named(&scene), []);
    scene.finish(worker, &lease, 1_000);
    assert_eq!(scene.state(job), (JobState::Done, 4));
}

/// A failed range is tried again if one of the three processes that were lost with it comes back,
/// whether that process still holds it or not. Another process that shows the lease of such a
/// process changes nothing.
#[test]
fn a_process_that_comes_back_takes_back_its_own_loss_only() {
    for still_holds in [true, false] {
        let mut scene = Scene::new();
        let job = scene.submit(4, 0);
        let mut leases = Vec::new();
        for (number, owner) in [(1, "eve"), (2, OWNER), (3, OWNER)] {
            scene.join_as(SessionId(number), owner, hello(&format!("w{number}"), 4));
            leases.push(scene.last_lease(SessionId(number)));
            scene.act(Event::Left(SessionId(number)));
        }
        assert_eq!(failed(&scene, job), 4);

        let holding = vec![Holding::of_lease(&leases[0])];
        scene.join_as(SessionId(4), "eve", Hello { holding, ..hello("w4", 4) });
        assert_eq!(failed(&scene, job), 4, "no process came back");

        let holding = leases[1..2].iter().filter(|_| still_holds).map(Holding::of_lease).collect();
        scene.join_as(SessionId(5), OWNER, Hello { holding, ..hello("w2", 4) });
        assert_eq!(failed(&scene, job), 0, "still holds it: {still_holds}");

        // The other two losses still count.
        scene.act(Event::Left(SessionId(4)));
        scene.act(Event::Left(SessionId(5)));
        assert_eq!(failed(&scene, job), 4);
    }
}

/// The last task kills its worker, and the farm has one machine, which lost many processes before.
#[test]
fn a_machine_that_has_crashed_often_gets_rid_of_one_more_deadly_task() {
    let mut scene = Scene::new();
    for _ in 0..5 {
        scene.submit(1, 0);
    }
    for life in 1..=64 {
        let session = SessionId(life);
        scene.join_as(session, OWNER, Hello { instance: life, ..hello("w1", 1) });
        scene.act(Event::Left(session));
    }

    let failed = scene.farm.jobs(.., |_| true).filter(|job| job.failed == 1).count();
    assert_eq!(failed, 5, "jobs whose only task has failed");
}

#[test]
fn a_machine_that_crashes_often_fails_few_tasks() {
    let mut scene = Scene::new();
    let job = scene.submit(40, 0);
    for life in 1..=1_000 {
        let session = SessionId(life);
        scene.join_as(session, OWNER, Hello { instance: life, ..hello("w1", 1) });
        scene.act(Event::Left(session));
    }

    let failed = scene.farm.job(job).expect("it exists").failed;
    // Four by its first twelve losses, and at most two by the six doublings after them.
    assert!((4..=6).contains(&failed), "{failed}");
}

/// Loses a new process of a machine, with this number. Returns how many lost processes of the
/// machine the farm remembers.
fn lose(scene: &mut Scene, machine: &str, instance: u64) -> usize {
    let session = SessionId(instance);
    scene.join_as(session, OWNER, Hello { instance, ..hello(machine, 1) });
    scene.act(Event::Left(session));
    let mut lost = scene.sent.iter().rev().filter_map(|effect| match effect {
        Effect::Lost { processes, .. } => Some(*processes),
        _ => None,
    });
    lost.next().expect("it held something")
}

#[test]
fn the_oldest_of_too_many_losses_is_forgotten() {
    let mut scene = Scene::new();
    scene.submit(20, 0);
    lose(&mut scene, "w1", 9_999);
    for number in 1..=1_024 {
        assert_eq!(lose(&mut scene, "w2", number), number as usize);
    }
    assert_eq!(lose(&mut scene, "w1", 9_998), 1);
}

#[test]
fn resuming_a_job_forgets_only_its_own_crashes() {
    let mut scene = Scene::new();
    let urgent = scene.submit(20, 1);
    let other = scene.submit(20, 0);
    for number in 1..=40 {
        lose(&mut scene, "w1", number);
    }

    scene.act(change(RequestId(1), other, Change::Resume));
    assert_eq!(lose(&mut scene, "w1", 41), 41);
    scene.act(change(RequestId(2), urgent, Change::Resume));
    assert_eq!(lose(&mut scene, "w1", 42), 1);
}

#[test]
fn a_count_of_a_failed_task_is_accepted() {
    let mut fleet = Fleet::new();
    let session = fleet.count(&[37]);

    assert_eq!(fleet.failed(), [36, 37, 38, 39]);

    fleet.scene.report(session, report(fleet.job, plan(TASKS), range(36, 40)));

    assert_eq!(fleet.scene.farm.job(fleet.job).expect("it exists").failed, 0);
    assert_eq!(fleet.scene.state(fleet.job), (JobState::Done, u128::from(TASKS)));
}

/// One process is lost with a task that two processes have: the second may still count it.
#[test]
fn a_range_that_another_worker_has_does_not_fail() {
    // Given: two workers of known speed are lost with the last task, and a third one has it.
    let (mut scene, job, one) = at_work(9, 4);
    let idle = scene.join("w2", 4);
    scene.act(Event::Said(idle, WorkerMessage::Credit(0)));
    for worker in [one, idle] {
        let lease = scene.last_lease(worker);
        scene.now += 1_000;
        scene.finish(worker, &lease, 1_000);
    }
    for number in 3..=4 {
        scene.act(Event::Left(if number == 3 { one } else { SessionId(3) }));
        scene.join(&format!("w{number}"), 4);
    }
    let holder = SessionId(4);
    let lease = scene.last_lease(holder);
    assert_eq!(lease.range, range(8, 9));

    // When an idle one is leased it, too, and the third one is lost
    scene.act(Event::Said(idle, WorkerMessage::Credit(4)));
    scene.tick(scene.now + 30_000);
    assert_eq!(scene.last_lease(idle).range, range(8, 9), "it is late");
    scene.act(Event::Left(holder));

    // Then it has not failed, and counts.
    assert!(named(&scene).is_empty());
    let lease = scene.last_lease(idle);
    scene.finish(idle, &lease, 1_000);
    assert_eq!(scene.state(job), (JobState::Done, 9));
}

/// A new process of a machine of this owner, with a number that no other session has.
fn begin(scene: &mut Scene, owner: &str, number: u64) -> SessionId {
    let session = SessionId(number);
    let hello = Hello { instance: number, machine: owner.into(), ..hello("w1", 4) };
    scene.join_as(session, owner, hello);
    session
}

fn failed(scene: &Scene, job: JobId) -> u64 {
    scene.farm.job(job).expect("it exists").failed
}

/// Otherwise the holder of a worker's credential could make the jobs of all others fail.
#[test]
fn what_one_owner_loses_does_not_fail_while_another_may_count_it() {
    // Given: a worker of rack7 counts what it is leased, slowly.
    let mut scene = Scene::new();
    let job = scene.submit(TASKS, 0);
    let honest = begin(&mut scene, OWNER, 1);

    // When sessions of mallory's machines take leases and are closed at once
    for number in 2..=200 {
        let name = format!("m{number}");
        let session = SessionId(number);
        let hello = Hello { instance: number, machine: name, ..hello("w1", LEASE) };
        scene.join_as(session, "mallory", hello);
        assert!(!scene.leases(session).is_empty(), "{number}");
        scene.act(Event::Left(session));
    }

    // Then nothing fails, and the honest worker counts everything.
    assert_eq!((failed(&scene, job), named(&scene)), (0, vec![]));
    let mut counted = 0;
    while let Some(&lease) = scene.leases(honest).get(counted) {
        scene.finish(honest, &lease, 1_000);
        counted += 1;
    }
    assert_eq!(scene.state(job), (JobState::Done, u128::from(TASKS)));
}

/// Joins a session that is leased the only task of an urgent job, and has no room for more.
fn busy(scene: &mut Scene, owner: &str, number: u64) {
    scene.submit(1, 1);
    let hello = Hello { instance: number, ..hello("w1", 1) };
    scene.join_as(SessionId(number), owner, hello);
}

#[test]
fn what_two_owners_lose_fails_when_it_is_lost_for_the_third_time() {
    // Each letter is a session that is lost with all tasks; a worker of a third owner stays.
    for (owners, expected) in
        [("mmm", 0), ("mmr", 4), ("mrm", 4), ("rmm", 4), ("mr", 0), ("mmmmmr", 4)]
    {
        let mut scene = Scene::new();
        busy(&mut scene, "rack9", 99);
        let job = scene.submit(4, 0);
        for (number, owner) in (1..).zip(owners.chars()) {
            let session = begin(&mut scene, &owner.to_string(), number);
            assert_eq!(scene.last_lease(session).range, range(0, 4), "{owners}");
            scene.act(Event::Left(session));
        }

        assert_eq!(failed(&scene, job), expected, "{owners}");
    }
}

#[test]
fn a_worker_that_counts_nothing_more_does_not_keep_tasks_from_failing() {
    for case in ["absent", "draining", "of another method", "without credit", "hanging", "able"] {
        let mut scene = Scene::new();
        let other = SessionId(9);
        match case {
            "absent" => {}
            "of another method" => {
                let methods = vec![board::MethodChoice::Colours];
                scene.join_as(other, OWNER, Hello { methods, ..hello("w9", 1) });
            }
            _ => busy(&mut scene, OWNER, other.0),
        }
        let job = scene.submit(4, 0);
        match case {
            "draining" => scene.act(Event::Said(other, WorkerMessage::Draining)),
            "without credit" => scene.act(Event::Said(other, WorkerMessage::Credit(0))),
            "hanging" => scene.tick(CONFIG.lease_ttl_ms),
            _ => {}
        }

        for number in 1..=3 {
            let session = begin(&mut scene, "mallory", number);
            assert!(scene.leases(session).iter().any(|lease| lease.job == job), "{case}");
            scene.act(Event::Left(session));
        }

        // What hangs leaves the urgent task to mallory, too.
        let expected = match case {
            "able" => 0,
            "hanging" => 3,
            _ => 4,
        };
        assert_eq!(failed(&scene, job), expected, "{case}");
    }
}
