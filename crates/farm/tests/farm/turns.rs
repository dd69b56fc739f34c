//! Tests that owners of jobs take turns, and of the hours that their jobs take.

use farm::{Change, Hours, JobId, JobState, Report, Request, RequestId};
use testkit::Random;

use crate::fair::{Model, STEP_MS, step};
use crate::scene::{Scene, asked, change, kernel, plan, report_of, submission_by, total, work};

const MINUTE_MS: u64 = 60_000;

/// Submits jobs of this owner that take longer than a test.
fn submit(scene: &mut Scene, owner: &str, jobs: u64) -> JobId {
    let submit = |_| scene.submitted(submission_by(owner, None, plan(1 << 40), None));
    (0..jobs).map(submit).last().expect("at least one")
}

/// The time that the jobs of an owner have taken, in microseconds.
fn taken_us(scene: &Scene, owner: &str) -> u64 {
    let owners = scene.farm.owners();
    owners.iter().find(|known| known.owner == owner).map_or(0, |known| known.hours.sum_us())
}

/// Workers that take 5 to 50 ms for a task.
fn crew(scene: &mut Scene, random: &mut Random, workers: u64) -> Vec<Model> {
    let mut worker = |number: u64| {
        let session = scene.join(&format!("w{number}"), 1 << 40);
        Model::new(session, 0.02 * 10_f64.powf(random.share()))
    };
    (1..=workers).map(&mut worker).collect()
}

/// Makes the workers count for `ms`. Returns for how long any of them was idle, in ms.
fn count(scene: &mut Scene, models: &mut [Model], ms: u64) -> u64 {
    let (end, mut idle_ms) = (scene.now + ms, 0);
    while scene.now < end {
        step(scene, models);
        let is_idle = |model: &&Model| scene.farm.leased_to(model.session).next().is_none();
        idle_ms += STEP_MS * models.iter().filter(is_idle).count() as u64;
    }
    idle_ms
}

#[test]
fn owners_share_alike_with_any_number_of_jobs() {
    let seeds =
        std::env::var("QUEENS_SIM_SEEDS").map_or(4, |seeds| seeds.parse().expect("a number"));
    let mut worst = 0.0_f64;
    for seed in 0..seeds {
        let mut random = Random::new(seed);
        let mut scene = Scene::new();
        let workers = random.between(1, 8);
        let jobs = [random.between(1, 20), random.between(1, 3)];
        submit(&mut scene, "ada", jobs[0]);
        submit(&mut scene, "bob", jobs[1]);
        let mut models = crew(&mut scene, &mut random, workers);
        let idle_ms = count(&mut scene, &mut models, 20 * MINUTE_MS);

        let [ada, bob] = ["ada", "bob"].map(|owner| taken_us(&scene, owner) as f64);
        let share = ada / (ada + bob);
        worst = worst.max((share - 0.5).abs());
        // A single worker takes about 120 leases in that time, and stays with an owner for four
        // more leases.
        assert!(
            (share - 0.5).abs() < 0.08 && idle_ms == 0,
            "seed {seed}: {workers} workers, {jobs:?} jobs: {share:.3}, idle {idle_ms} ms"
        );
    }
    println!("shares are {worst:.4} beside a half at most");
}

#[test]
fn the_unused_share_of_an_owner_goes_to_the_others() {
    let mut scene = Scene::new();
    submit(&mut scene, "ada", 3);
    let bobs = submit(&mut scene, "bob", 1);
    let mut models = crew(&mut scene, &mut Random::new(1), 4);
    count(&mut scene, &mut models, 5 * MINUTE_MS);
    scene.act(change(RequestId(1), bobs, Change::Pause));
    let before = [taken_us(&scene, "ada"), taken_us(&scene, "bob")];

    let idle_ms = count(&mut scene, &mut models, 20 * MINUTE_MS);

    let ada_us = taken_us(&scene, "ada") - before[0];
    assert_eq!(idle_ms, 0, "nobody waits for who is not there");
    assert!(ada_us > 19 * 4 * MINUTE_MS * 1_000, "{ada_us} us");

    // An owner that comes back is served first, but not for as long as it was away.
    let before = [taken_us(&scene, "ada"), taken_us(&scene, "bob")];
    scene.act(change(RequestId(1), bobs, Change::Resume));
    count(&mut scene, &mut models, 6 * MINUTE_MS);
    let [ada, bob] = ["ada", "bob"].map(|owner| taken_us(&scene, owner));
    assert!(bob - before[1] > 2 * (ada - before[0]), "bob is served first");
    let before = [ada, bob];
    count(&mut scene, &mut models, 30 * MINUTE_MS);
    let [ada, bob] = ["ada", "bob"].map(|owner| taken_us(&scene, owner) as f64);
    let share = (ada - before[0] as f64) / (ada + bob - (before[0] + before[1]) as f64);
    assert!((0.45..0.55).contains(&share), "ada has {share} again");
}

#[test]
fn a_job_of_higher_priority_comes_before_any_turn() {
    let mut scene = Scene::new();
    let ada = submit(&mut scene, "ada", 1);
    submit(&mut scene, "bob", 1);
    scene.act(change(RequestId(1), ada, Change::Priority(1)));
    let mut models = crew(&mut scene, &mut Random::new(3), 3);
    count(&mut scene, &mut models, 3 * MINUTE_MS);
    assert_eq!(taken_us(&scene, "bob"), 0);
}

/// Counts until a job is done. Returns after how many seconds it is.
fn seconds_until_done(scene: &mut Scene, models: &mut [Model], job: JobId) -> u64 {
    let begin = scene.now;
    while scene.state(job).0 != JobState::Done {
        step(scene, models);
        assert!(scene.now < begin + 60 * MINUTE_MS, "job {job} does not end");
    }
    (scene.now - begin) / 1_000
}

#[test]
fn a_short_job_is_served_before_a_long_one_of_its_owner() {
    for workers in [1, 4] {
        let mut scene = Scene::new();
        let long = scene.submitted(submission_by("ada", None, total(21, 200_000), None));
        let mut models = crew(&mut scene, &mut Random::new(workers), workers);
        count(&mut scene, &mut models, 3 * MINUTE_MS);
        let short = scene.submitted(submission_by("ada", None, total(14, 100), None));
        let seconds = seconds_until_done(&mut scene, &mut models, short);
        assert!(seconds < 25, "{seconds} s with {workers} workers");

        // By its plan it takes as long as the other. What is leased of it shows that it does not.
        let short = scene.submitted(submission_by("ada", None, total(21, 100), None));
        let seconds = seconds_until_done(&mut scene, &mut models, short);
        assert!(seconds < 180, "{seconds} s with {workers} workers");
        assert_eq!(scene.state(long).0, JobState::Running);
    }
}

#[test]
fn no_job_starves_behind_shorter_ones() {
    let mut scene = Scene::new();
    let submit = |scene: &mut Scene, n, tasks| {
        scene.submitted(submission_by("ada", None, total(n, tasks), None))
    };
    let long = [18, 20, 24].map(|n| submit(&mut scene, n, 1 << 40));
    let mut models = crew(&mut scene, &mut Random::new(5), 2);
    // There are always shorter ones.
    let mut short = [10_000; 3].map(|tasks| submit(&mut scene, 12, tasks));
    let (mut ended, end) = (0, 120 * MINUTE_MS);
    while scene.now < end {
        (0..20).for_each(|_| step(&mut scene, &mut models));
        for job in &mut short {
            if scene.state(*job).0 == JobState::Done {
                *job = submit(&mut scene, 12, 10_000);
                ended += 1;
            }
        }
    }
    let us = |job: &JobId| scene.farm.job(*job).expect("it exists").hours.sum_us() as f64;
    let all = taken_us(&scene, "ada") as f64;
    let shares = long.each_ref().map(|job| us(job) / all);
    assert!(shares.iter().all(|&share| share > 0.008), "{shares:?}");
    let sum: f64 = shares.iter().sum();
    assert!((0.03..0.13).contains(&sum), "{sum} of a sixteenth: {shares:?}");
    println!("{shares:?} and {ended} short jobs");
    assert!(ended > 10, "{ended} short jobs");
}

#[test]
fn hours_include_all_counts_even_of_removed_jobs() {
    let mut scene = Scene::new();
    let job = scene.submit_audited(4);
    let one = scene.join("w1", 100);
    let lease = scene.last_lease(one);
    let on_device = report_of(&lease, lease.range);
    scene.report_as_is(one, Report { kernel: kernel("gpu"), busy_us: 70, ..on_device });
    let hours = |scene: &Scene| scene.farm.job(job).expect("it exists").hours;
    assert_eq!(hours(&scene), Hours { processor_us: 0, gpu_us: 70 });
    let two = scene.join("w2", 100);
    scene.now += 4;
    work(&mut scene, two);
    assert_eq!(scene.state(job).0, JobState::Done);
    let taken = Hours { processor_us: 4_000, gpu_us: 70 };
    assert_eq!(hours(&scene), taken, "the second count took its time, too");

    scene.act(asked(RequestId(9), Request::Remove(job)));
    assert_eq!(scene.farm.job(job), None);
    assert_eq!(scene.farm.owners()[0].hours, taken);
    scene.restart();
    assert_eq!(scene.farm.owners()[0].hours, taken);
}
