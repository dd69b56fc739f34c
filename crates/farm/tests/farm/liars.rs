//! Tests of workers that are proven wrong, and of the fate of their counts.

use farm::{
    Change, Effect, Event, Hello, Holding, JobId, JobState, LedgerCommand, Range, Report,
    RequestId, SessionId,
};
use testkit::Random;

use crate::scene::{
    Scene, asked_again, audits, change, checked_count, hello, kernel, plan, range, report,
    report_of, submission_by, total,
};

#[test]
fn a_settlement_needs_a_vote_other_than_a_liars() {
    // Given: w1 has contradicted itself.
    let mut scene = Scene::new();
    let job = scene.submit_audited(4);
    let [one, two, three] = ["w1", "w2", "w3"].map(|name| scene.join(name, 0));
    let of = |more, name: &str| {
        let (checked_count, kernel) = (checked_count(plan(4), range(0, 4), more), kernel(name));
        Report { checked_count, kernel, ..report(job, plan(4), range(0, 4)) }
    };
    scene.report(one, of(1, "portable"));
    scene.report(one, asked_again(of(0, "portable")));

    // When w2 agrees with w1's last count
    scene.report(two, asked_again(of(0, "portable")));

    // Then a trusted worker must agree, too.
    assert_eq!((scene.state(job), audits(&scene, job)), ((JobState::Running, 4), (1, 0)));
    scene.report(three, asked_again(of(0, "reference")));
    assert_eq!((scene.state(job), audits(&scene, job)), ((JobState::Done, 4), (0, 1)));
}

#[test]
fn no_job_is_done_while_a_liars_rows_are_being_invalidated() {
    // Given: w1 has counted all of a second job. Neither the job's end nor the proof that w1 lies
    // is durable.
    let mut scene = Scene::new();
    let (first, other) = (scene.submit_audited(2), scene.submit(3, 0));
    let (one, two, three) = (scene.join("w1", 0), scene.join("w2", 0), scene.join("w3", 0));
    let lie = checked_count(plan(2), range(0, 2), 1);
    scene.report(one, Report { checked_count: lie, ..report(first, plan(2), range(0, 2)) });
    scene.report(two, asked_again(report(first, plan(2), range(0, 2))));
    scene.report(one, report(other, plan(3), range(0, 2)));
    scene.slow_disk = true;
    scene.report(one, report(other, plan(3), range(2, 3)));
    scene.flush();
    scene.report(three, asked_again(report(first, plan(2), range(0, 2))));
    assert!(
        scene
            .commands
            .iter()
            .any(|r| matches!(r, LedgerCommand::Finish { job, .. } if *job == other))
    );

    scene.slow_disk = false;
    scene.flush();

    assert!(!scene.sent.contains(&Effect::AtRest(other)));
    assert_eq!(scene.state(other), (JobState::Running, 0));
    assert_eq!(scene.state(first), (JobState::Done, 2));
}

/// Each session of a liar, its claimed threads, and the thread time in which it may have counted.
struct Liar {
    session: SessionId,
    threads: u64,
    may_have_us: u64,
    leases: usize,
}

impl Liar {
    /// Adds the time until the next report, `ms` from now: as many threads as tasks may count.
    fn waits(&mut self, scene: &Scene, ms: u64) {
        let held: u64 = scene.farm.leased_to(self.session).map(|(.., open)| open.len()).sum();
        self.may_have_us += 1_000 * ms * held.min(self.threads);
        // A lease may be almost a millisecond older than the clock shows.
        let leases = scene.leases(self.session);
        let new = leases[self.leases..].iter().map(|lease| lease.range.len().min(self.threads));
        self.may_have_us += 1_000 * new.sum::<u64>();
        self.leases = leases.len();
    }
}

/// Reports a part of what a session holds, or a part of an old lease once more.
fn lie(scene: &mut Scene, random: &mut Random, session: SessionId) {
    let leases = scene.leases(session);
    let held = scene.farm.leased_to(session);
    let open: Vec<(_, Range)> =
        held.flat_map(|(id, _, open)| open.iter().map(move |range| (id, range))).collect();
    let part = |range: Range, random: &mut Random| range.first(random.between(1, range.len()));
    let (lease, range) = match random.per_mille(800) && !open.is_empty() {
        true => {
            let (id, range) = random.pick(&open);
            let lease = *leases.iter().find(|lease| lease.id == id).expect("it was leased");
            (lease, part(range, random))
        }
        false if leases.is_empty() => return,
        false => {
            let lease = random.pick(&leases);
            (lease, part(lease.range, random))
        }
    };
    let busy_us = random.pick(&[0, 1_000, 3_600_000_000, u64::MAX]);
    scene.report_as_is(session, Report { busy_us, ..report_of(&lease, range) });
}

#[test]
fn no_reports_add_more_time_than_sessions_have_held_tasks_with_their_threads() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let mut scene = Scene::new();
        for owner in ["ada", "bob", "cyd"] {
            scene.act(submission_by(owner, None, plan(1 << 40), None));
        }
        scene.act(change(RequestId(1), JobId(3), Change::Pause));
        let mut liars: Vec<Liar> = Vec::new();
        for step in 0..200 {
            if liars.len() < 3 && random.per_mille(100) || step == 0 {
                let threads = random.pick(&[1, 7, 64, 4_096]);
                let credit = random.scaled(1, 1 << 20);
                let hello = Hello { threads, ..hello(&format!("w{}", step + 1), credit) };
                let session = SessionId(hello.instance);
                scene.join_as(session, "eve", hello);
                let threads = threads.into();
                liars.push(Liar { session, threads, may_have_us: 0, leases: 0 });
            }
            let ms = if random.per_mille(300) { 0 } else { random.scaled(1, 90_000) };
            liars.iter_mut().for_each(|liar| liar.waits(&scene, ms));
            scene.tick(scene.now + ms);
            let session = random.pick(&liars.iter().map(|it| it.session).collect::<Vec<_>>());
            lie(&mut scene, &mut random, session);

            let owners = scene.farm.owners();
            let taken: u64 = owners.iter().map(|owner| owner.hours.sum_us()).sum();
            let most: u64 = liars.iter().map(|liar| liar.may_have_us).sum();
            assert!(taken <= most, "seed {seed}, step {step}: {taken} of {most} us");
            assert!(owners.iter().all(|it| it.owner != "cyd" || it.hours.sum_us() == 0));
            if random.per_mille(20) {
                scene.act(Event::Left(session));
            }
        }
    }
}

/// The plan's guess of what tasks take may be years, and nobody has counted one.
#[test]
fn who_comes_back_is_believed_no_more_time_than_there_was() {
    let mut scene = Scene::new();
    let job = scene.submitted(submission_by("ann", None, total(32, 64), None));
    let threads = 8;
    let hello = || Hello { threads, ..hello("w1", 8) };
    scene.join_as(SessionId(1), "eve", hello());
    let lease = scene.last_lease(SessionId(1));
    scene.act(Event::Left(SessionId(1)));
    let holding = vec![Holding::of_lease(&lease)];
    scene.join_as(SessionId(2), "eve", Hello { holding, ..hello() });
    scene.tick(1_600);

    scene
        .report_as_is(SessionId(2), Report { busy_us: u64::MAX, ..report_of(&lease, lease.range) });

    let believed: u64 = scene.farm.owners().iter().map(|owner| owner.hours.sum_us()).sum();
    assert!(believed <= 1_601_000 * u64::from(threads), "{believed} us of job {job}");
    assert!(believed > 0, "it is an honest worker's, too");
}

#[test]
fn the_speed_of_a_job_leaves_out_what_its_workers_count_of_others() {
    let mut scene = Scene::new();
    let ada = scene.submitted(submission_by("ada", None, plan(1 << 40), None));
    let worker = scene.join("w1", 1 << 40);
    // It takes a second for each task.
    for _ in 0..6 {
        let lease = scene.last_lease(worker);
        scene.finish(worker, &lease, 1_000_000);
    }
    let bob = scene.submitted(submission_by("bob", None, plan(1 << 40), None));
    let mut counted = 0;
    while scene.farm.job(bob).is_some_and(|job| job.tasks_done < 8) {
        let open = scene.farm.leased_to(worker).next().map(|(id, ..)| id).expect("it has work");
        let lease = *scene.leases(worker).iter().find(|it| it.id == open).expect("it was leased");
        counted += lease.range.len();
        scene.finish(worker, &lease, 1_000_000);
    }
    assert!(counted > 8, "it had some of ada's job before it");
    for job in [ada, bob] {
        let rate = scene.farm.job(job).expect("it exists").rate.tasks_per_second;
        assert!(rate == 0.0 || (rate - 1.0).abs() < 0.01, "{rate} of job {job}");
    }
}
