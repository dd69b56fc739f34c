//! Tests of what people see of a farm.

use std::time::Duration;

use farm::{
    AuditPolicy, AuditScope, Change, Event, JobId, JobState, JobView, PlanMap, Rate, RequestId,
    Times, WorkerMessage,
};

use crate::disputes::disputed;
use crate::scene::{AUDIT_ALL, CONFIG, Scene, at_work, audit, audits, change, work};

/// The numbers of ordinals of each kind in a map: wanted, accepted, leased, disputed, failed.
fn sums(map: &PlanMap) -> [u64; 5] {
    let of =
        |cell: &farm::Cell| [cell.wanted, cell.accepted, cell.leased, cell.disputed, cell.failed];
    map.cells
        .iter()
        .map(of)
        .fold([0; 5], |sums, cell| std::array::from_fn(|at| sums[at] + cell[at]))
}

#[test]
fn a_map_has_every_ordinal_once_in_cells_of_almost_equal_size() {
    for tasks in [1, 63, 4_095, 4_096, 4_097, 1_000_003] {
        let mut scene = Scene::new();
        let job = scene.submit(tasks, 0);
        let map = scene.farm.map(job).expect("it exists");
        assert_eq!(map.cells.len() as u64, tasks.min(PlanMap::CELLS));
        let mut next = 0;
        for cell in &map.cells {
            assert_eq!(cell.range.start(), next);
            next = cell.range.end();
            let even = tasks.div_ceil(PlanMap::CELLS);
            assert!((even.max(2) - 1..=even).contains(&cell.range.len()), "{tasks}: {cell:?}");
        }
        assert_eq!((next, sums(&map)), (tasks, [tasks, 0, 0, 0, 0]));
    }
}

#[test]
fn a_map_shows_leased_accepted_and_disputed_ordinals() {
    let (mut scene, job, worker) = at_work(10_000, 100);
    let lease = scene.last_lease(worker);

    let map = scene.farm.map(job).expect("it exists");
    assert_eq!(sums(&map), [10_000, 0, lease.range.len(), 0, 0]);
    let held = |cell: &&farm::Cell| cell.leased > 0;
    assert!(map.cells.iter().filter(held).all(|cell| cell.holders == ["w1"]));

    scene.finish(worker, &lease, 1_000);
    scene.act(Event::Said(worker, WorkerMessage::Draining));
    scene.act(Event::Left(worker));
    let map = scene.farm.map(job).expect("it exists");
    assert_eq!(sums(&map), [10_000, lease.range.len(), 0, 0, 0]);
    assert_eq!(scene.farm.map(JobId(99)), None);

    let (scene, job) = disputed(5);
    assert_eq!(sums(&scene.farm.map(job).expect("it exists")), [4, 4, 0, 4, 0]);
}

#[test]
fn an_overview_has_live_jobs_ended_jobs_and_workers() {
    let mut scene = Scene::new();
    let [first, second] = [scene.submit(1_000, 0), scene.submit(1_000, 0)];
    scene.now = 500;
    let worker = scene.join("w1", 10);
    scene.act(change(RequestId(7), second, Change::Cancel));

    let overview = scene.farm.overview();
    let ids = |jobs: &[JobView]| jobs.iter().map(|job| job.id).collect::<Vec<_>>();
    assert_eq!((ids(&overview.live), ids(&overview.ended)), (vec![first], vec![second]));
    assert_eq!(overview.ended_in_all, 1);
    let detail = &overview.workers[0];
    let lease = scene.last_lease(worker);
    assert_eq!(detail.leased, [(first, lease.range.len())]);
    assert_eq!((detail.heard_at.0, detail.counted), (500, 0));
    assert_eq!(detail.rate, Rate::default());

    scene.finish(worker, &lease, 1_000_000);
    let detail = &scene.farm.overview().workers[0];
    assert_eq!((detail.heard_at.0, detail.counted), (4_500, lease.range.len()));
    let rate = Rate { tasks_per_second: 1.0, placements_per_second: 1.0 };
    assert_eq!(detail.rate, rate, "a second for a task, which counts 1");
    assert_eq!(scene.farm.job(first).map(|job| job.rate), Some(rate));
    let mut done = || {
        let progress = scene.farm.take_progress();
        progress.iter().map(|job| (job.job, job.placements, job.workers)).collect::<Vec<_>>()
    };
    assert_eq!(done(), [(first, lease.range.len() as f64, 1)]);
    assert_eq!(done(), [], "nothing was done since");
}

#[test]
fn an_ended_job_has_its_duration_and_its_speed_without_pauses_and_audits() {
    let mut scene = Scene::new();
    let job = scene.submit_audited(4);
    scene.tick(7_000);
    let worker = scene.join("w1", 2);
    let mut done = 0;
    while let Some(lease) = scene.leases(worker).get(done).copied() {
        scene.finish(worker, &lease, 500_000);
        for (wait, change) in [(0, Change::Pause), (5_000, Change::Resume)] {
            scene.now += wait;
            scene.ask(self::change(RequestId(done as u64), job, change)).expect("it is live");
        }
        scene.act(Event::Said(worker, WorkerMessage::Credit(2)));
        done += 1;
    }
    assert!(done > 1, "it was paused while it was counted, and once more before its audit");
    scene.tick(900_000);
    let second = scene.join("w2", 1);
    work(&mut scene, second);

    let took = |scene: &Scene| {
        let view = scene.farm.job(job).expect("it exists");
        let Times { submitted_at_ms, begun_at_ms, ended_at_ms, .. } = view.times;
        assert_eq!([submitted_at_ms, begun_at_ms], [Some(0), Some(7_000)], "it waited before");
        assert_eq!(view.rate, Rate { tasks_per_second: 2.0, placements_per_second: 2.0 });
        assert_eq!(view.times.counting(), Some(Duration::from_secs(2)));
        (view.state, ended_at_ms)
    };
    assert_eq!(took(&scene), (JobState::Done, Some(900_000)));
    let again = audit(AuditPolicy { across: AuditScope::Owners, ..AUDIT_ALL });
    scene.ask(change(RequestId(9), job, again)).expect("it is done");
    scene.tick(950_000);
    assert_eq!((took(&scene).0, audits(&scene, job).0 > 0), (JobState::Done, true));
}

#[test]
fn the_time_of_a_job_leaves_out_that_in_which_others_were_served_even_over_a_restart() {
    let (mut scene, job, worker) = at_work(8, 4);
    let first = scene.last_lease(worker);
    let urgent = scene.submit(20, 1);
    scene.finish(worker, &first, 500_000);
    while scene.state(urgent).0 == JobState::Running {
        let lease = scene.last_lease(worker);
        assert_eq!(lease.job, urgent, "its priority is higher");
        scene.finish(worker, &lease, 1_000_000);
    }
    // The wait is told when the job is served again, and nobody is served while nobody is there.
    scene.act(Event::Left(worker));
    scene.restart();
    let worker = scene.join("w2", 4);
    scene.tick(scene.now + CONFIG.grace_ms);
    while scene.state(job).0 == JobState::Running {
        let lease = scene.last_lease(worker);
        scene.finish(worker, &lease, 500_000);
    }
    let times = scene.farm.job(job).expect("it exists").times;
    let grace = Duration::from_millis(CONFIG.grace_ms);
    assert_eq!(times.counting(), Some(Duration::from_secs(4) + grace), "{times:?}");
}

#[test]
fn remarks_say_what_a_person_may_do() {
    let mut scene = Scene::new();
    let id = scene.submit(4, 0);
    let job = JobView { waits_for: None, ..scene.farm.job(id).expect("it exists") };
    let failed = JobView { failed: 2, failed_first: vec![3, 14], ..job.clone() };
    let disputed = JobView { disputes: 1, disputed: Some("two disagree".into()), ..job.clone() };
    let audited = JobView { state: JobState::Done, audits_wanted: 7, ..job };
    for (job, expected) in [
        (JobView { failed: 9, ..failed.clone() }, "(3, 14, …)"),
        (failed, "2 tasks (3, 14)"),
        (JobView { disputes: 3, ..disputed.clone() }, "is disputed: 3 ranges; two disagree"),
        (disputed, "is disputed: two disagree"),
        (audited, "is done, 7 ranges are to be counted again"),
    ] {
        let remarks = job.remarks();
        assert!(remarks.len() == 1 && remarks[0].contains(expected), "{remarks:?}");
    }
}
