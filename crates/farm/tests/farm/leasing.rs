//! Tests of the choice, size and duration of leases.

use farm::{
    Change, Event, Hello, JobState, Known, Range, Report, Request, RequestId, SessionId, Verdict,
    WorkerMessage,
};

use crate::scene::{
    OWNER, Scene, asked, at_work, change, hello, plan, proven, range, report_of, spec,
};

/// Lets a worker finish its leases at a speed, `rounds` times.
fn work(scene: &mut Scene, worker: SessionId, us_per_task: u64, rounds: usize) {
    for _ in 0..rounds {
        let lease = scene.last_lease(worker);
        scene.finish(worker, &lease, us_per_task);
    }
}

#[test]
fn only_a_long_job_has_long_leases() {
    // A task takes a second, and there is no other worker.
    let seconds = |tasks| {
        let (mut scene, _, worker) = at_work(tasks, 1 << 40);
        work(&mut scene, worker, 1_000_000, 6);
        scene.last_lease(worker).range.len()
    };
    assert_eq!(
        [2_000, 5_000, 1_000_000].map(seconds),
        [10, 19, 64],
        "64 at most, and a 256th of what is left"
    );
}

#[test]
fn leases_of_a_large_farm_are_longer_and_live_longer() {
    // Given: 20,000 workers. Most hold nothing, and one counts a task in 10 ms.
    let (mut scene, _, worker) = at_work(100_000_000_000, 1 << 40);
    for number in 2..=20_000 {
        scene.join_as(SessionId(number), OWNER, hello(&format!("w{number}"), 0));
    }
    assert!((75_000..=100_000).contains(&scene.farm.pace().report_ms()));

    work(&mut scene, worker, 10_000, 20);

    let leased = scene.last_lease(worker);
    let seconds = leased.range.len() / 100;
    assert!((4_800..=6_400).contains(&seconds), "64 reports: {seconds} s");
    let leased_at = scene.now;
    scene.tick(leased_at + 200_000);
    assert!(!scene.revoked(leased.id), "it may report every 100 s");
    scene.tick(leased_at + 300_000);
    assert!(scene.revoked(leased.id));

    // When most of them leave, the pace is as before.
    (2..=20_000).for_each(|number| scene.act(Event::Left(SessionId(number))));
    assert_eq!(scene.farm.pace().report_ms(), 5);
}

#[test]
fn leases_shrink_towards_the_end_of_a_job() {
    let mut scene = Scene::new();
    scene.submit(76, 0);
    scene.join("w2", 0);
    let worker = scene.join("w1", 1_000);
    work(&mut scene, worker, 1_000, 2);

    while scene.state(farm::JobId(1)).0 == JobState::Running {
        work(&mut scene, worker, 1_000, 1);
    }

    let sizes: Vec<u64> = scene.leases(worker).iter().map(|lease| lease.range.len()).collect();
    assert!(sizes[2..].is_sorted_by(|a, b| a >= b), "{sizes:?}");
    assert_eq!((sizes[2], sizes[sizes.len() - 1]), (24, 1));
}

#[test]
fn a_repeated_task_counts_once_for_the_speed_of_a_session() {
    let mut scene = Scene::new();
    scene.submit(256_000, 0);
    let worker = scene.join_with("w1", 64);
    let lease = scene.last_lease(worker);
    assert!(lease.range.len() >= 64, "{lease:?}");
    for end in 1..=lease.range.len() {
        scene.now += 10;
        scene.report_as_is(worker, report_of(&lease, lease.range.first(end)));
    }
    let held: u64 = scene.leases(worker)[1..].iter().map(|lease| lease.range.len()).sum();
    assert!(held <= 2 * lease.range.len(), "it holds {held}");
}

/// The work of a worker is leased in several pieces from all over a short plan.
#[test]
fn a_short_plan_is_leased_in_pieces() {
    let (mut scene, _, worker) = at_work(256_000, 1 << 40);
    work(&mut scene, worker, 1_000, 5);
    let sizes: Vec<u64> = scene.leases(worker).iter().map(|lease| lease.range.len()).collect();
    assert_eq!(sizes[..5], [4, 8, 24, 72, 216], "twice what it was seen to count");

    let pieces: Vec<Range> = scene.leases(worker)[5..].iter().map(|lease| lease.range).collect();
    assert!(pieces.iter().all(|piece| piece.len() <= 260), "a thousandth each: {pieces:?}");
    let starts: Vec<u64> = pieces.iter().map(|piece| piece.start()).collect();
    assert_eq!(starts, [160_000, 96_000], "from all over the plan");
    let held: u64 = pieces.iter().map(|piece| piece.len()).sum();
    assert!(held > 324, "half of what it may hold at least: {held}");
}

#[test]
fn leases_grow_with_observed_speed_and_not_with_claims() {
    // Given a plan whose first tasks are a thousand times cheaper than the others, and a worker
    // that exaggerates
    for threads in [1, 4_096] {
        let mut scene = Scene::new();
        scene.submit(100_000_000, 0);
        let worker = SessionId(1);
        let hello = farm::Hello { threads, ..hello("w1", 1 << 63) };
        scene.join_as(worker, OWNER, hello);
        let probe = u64::from(threads.min(64)) * 4;
        assert_eq!(scene.last_lease(worker).range.len(), probe, "for 64 threads at most");

        work(&mut scene, worker, 1, 1);
        assert_eq!(scene.last_lease(worker).range.len(), 2 * probe);
        work(&mut scene, worker, 1_000, 1);
        assert_eq!(scene.last_lease(worker).range.len(), 6 * probe);
        work(&mut scene, worker, 1_000, 12);
        let leased = scene.last_lease(worker).range.len();
        assert!((60_000..=64_000).contains(&leased), "64 s at 1 ms each: {leased}");
    }
}

#[test]
fn reported_times_do_not_change_leases() {
    let (mut scene, _, worker) = at_work(100_000_000, 1 << 40);
    for _ in 0..12 {
        let lease = scene.last_lease(worker);
        scene.now += 1_000 * lease.range.len();
        scene.finish(worker, &lease, 1);
    }

    assert_eq!(scene.last_lease(worker).range.len(), 64, "64 s at a second each");
}

#[test]
fn a_lease_that_takes_much_too_long_is_leased_again() {
    // Given a worker that counted a task in 10 ms and was leased work of 64 s
    let (mut scene, _, worker) = at_work(100_000_000, 1 << 40);
    work(&mut scene, worker, 10_000, 12);
    let lease = scene.last_lease(worker);
    let (leased_at, leased) = (scene.now, lease.range.len());
    assert_eq!(leased, 6_400);

    // When it then reports a task every 48 s
    let mut counted = 0;
    while !scene.revoked(lease.id) {
        scene.tick(scene.now + 4_000);
        if (scene.now - leased_at).is_multiple_of(48_000) {
            let at = lease.range.start() + counted;
            scene.report_as_is(worker, report_of(&lease, range(at, at + 1)));
            counted += 1;
        }
    }

    // Then the lease ends after a minute and four times those 64 s. The next lease suits the slow
    // worker.
    assert_eq!(scene.now - leased_at, 60_000 + 4 * 64_000);
    assert!(scene.last_lease(worker).range.len() <= 10);
}

#[test]
fn a_lease_of_long_tasks_lives_for_four_times_the_longest() {
    // Given: a task takes half a minute by the plan's estimate, and a slow worker.
    let mut scene = Scene::new();
    let known = Known { task_ms: 30_000, ..Known::nothing() };
    scene.submit_spec(spec(plan(1_000)), None, known);
    let worker = scene.join("w1", 1);
    let lease = scene.last_lease(worker);

    // Then: the longest task takes two minutes by the estimate.
    scene.tick(479_999);
    assert!(!scene.revoked(lease.id));

    // When: it takes the worker eight minutes
    scene.finish(worker, &lease, 1_000);
    let (lease, leased_at) = (scene.last_lease(worker), scene.now);

    // Then: the longest one takes it four times as long.
    let longest = 4 * leased_at;
    scene.tick(leased_at + 4 * longest - 16);
    assert!(!scene.revoked(lease.id));
    scene.tick(leased_at + 4 * longest);
    assert!(scene.revoked(lease.id));
}

#[test]
fn a_lease_of_short_tasks_waits_for_long_ones_that_the_worker_has() {
    // Given: w1 holds a long task, and is leased short ones.
    let mut scene = Scene::new();
    let known = Known { task_ms: 30_000, ..Known::nothing() };
    scene.submit_spec(spec(plan(1)), None, known);
    let short = scene.submit(100, 0);
    let worker = scene.join("w1", 4);
    let lease = scene.last_lease(worker);
    assert_eq!(lease.job, short);

    scene.tick(479_999);
    assert!(!scene.revoked(lease.id));
    scene.tick(480_000);
    assert!(scene.revoked(lease.id));
}

#[test]
fn jobs_of_higher_priority_come_first_then_older_ones() {
    let mut scene = Scene::new();
    let low = scene.submit(2, -1);
    let first = scene.submit(2, 5);
    let second = scene.submit(2, 0);
    scene.act(change(RequestId(7), second, Change::Priority(5)));

    let worker = scene.join("w1", 100);
    work(&mut scene, worker, 1_000, 1);
    work(&mut scene, worker, 1_000, 1);

    let order: Vec<_> = scene.leases(worker).iter().map(|lease| lease.job).collect();
    let mut seen = order.clone();
    seen.dedup();
    assert_eq!(seen, [first, second, low], "{order:?}");
}

#[test]
fn a_busy_worker_is_leased_the_range_of_a_hung_one() {
    // Given: w1 hangs with the only task of a job, and w2 works on another job.
    let mut scene = Scene::new();
    let small = scene.submit(1, 0);
    scene.join("w1", 1);
    scene.submit(100, 0);
    let busy = scene.join("w2", 4);
    let lease = scene.last_lease(busy);
    let counts = |scene: &mut Scene, ms, at| {
        scene.now = ms;
        let part = range(lease.range.start() + at, lease.range.start() + at + 1);
        scene.report_as_is(busy, report_of(&lease, part));
    };
    counts(&mut scene, 30_000, 0);

    // When w1 has missed its deadline, and w2 reports a task
    scene.tick(60_000);
    counts(&mut scene, 61_000, 1);

    // Then w2 is leased the task of w1.
    assert!(scene.leases(busy).iter().any(|lease| lease.job == small));
}

#[test]
fn leases_missed_together_double_the_lease_time_once() {
    // Given: three leases of the same age.
    let mut scene = Scene::new();
    scene.submit(12, 0);
    let workers = [scene.join("w1", 4), scene.join("w2", 4), scene.join("w3", 4)];

    // When all of them expire, and are made again after the rest
    scene.tick(60_000);
    scene.tick(180_000);

    // Then the next deadline is twice as far away, not eight times.
    let leases = workers.map(|worker| scene.leases(worker).len());
    assert_eq!(leases, [2, 2, 2]);
    assert_eq!(scene.farm.next_wakeup(), Some(farm::Millis(180_000 + 2 * 60_000)));
}

#[test]
fn a_hung_worker_does_not_slow_a_job_that_others_report_on() {
    // Given: w1 hangs, and w2 reports.
    let mut scene = Scene::new();
    scene.submit(12, 0);
    scene.join("w1", 4);
    let busy = scene.join("w2", 4);
    let lease = scene.last_lease(busy);
    scene.now = 30_000;
    scene.report_as_is(busy, report_of(&lease, range(4, 5)));

    // When w1 misses its deadline
    scene.tick(60_000);

    // Then its range is leased again with the usual deadline.
    let other = scene.join("w3", 4);
    let again = scene.last_lease(other);
    assert_eq!(again.range.start(), 0);
    scene.tick(119_999);
    assert!(!scene.revoked(again.id));
    scene.tick(120_000);
    assert!(scene.revoked(again.id));
}

#[test]
fn a_report_renews_a_lease_and_a_sign_of_life_only_a_recount() {
    for (is_report, until) in [(true, 63_000), (false, 60_000)] {
        let (mut scene, _, worker) = at_work(4, 4);
        let lease = scene.last_lease(worker);

        scene.now = 3_000;
        let message = match is_report {
            true => WorkerMessage::Report(report_of(&lease, range(0, 1))),
            false => WorkerMessage::Working(lease.id),
        };
        scene.act(Event::Said(worker, message));

        scene.tick(until - 1);
        assert!(!scene.revoked(lease.id));
        scene.tick(until);
        assert!(scene.revoked(lease.id));
    }
}

#[test]
fn a_leaving_worker_is_leased_nothing_more() {
    let (mut scene, _, worker) = at_work(100, 100);
    let lease = scene.last_lease(worker);

    scene.act(Event::Said(worker, WorkerMessage::Draining));
    scene.finish(worker, &lease, 1_000);

    assert_eq!(scene.leases(worker).len(), 1);
}

#[test]
fn a_worker_that_is_drained_reports_what_it_has_and_is_leased_nothing_more_if_it_comes_back() {
    // Given two workers of one owner and one of another, two of one name
    let mut scene = Scene::new();
    scene.submit(1_000, 0);
    let [one, other] = ["w1", "w2"].map(|worker| scene.join(worker, 10));
    let stranger = SessionId(3);
    scene.join_as(stranger, "other", Hello { instance: 3, ..hello("w1", 10) });
    let lease = scene.last_lease(one);

    // When the owner's workers of that name are drained
    let drain = Request::Drain { worker: "w1".into(), owner: Some(OWNER.into()) };
    scene.act(asked(RequestId(7), drain));

    // Then what it has is accepted, and only the others are leased more
    assert_eq!(scene.finish(one, &lease, 1_000), Some(Verdict::Accepted));
    for (session, leases) in [(one, 1), (other, 2), (stranger, 2)] {
        if session != one {
            let own = if session == other { OWNER } else { "other" };
            let lease = scene.last_lease(session);
            scene.report_as_is(session, proven(report_of(&lease, lease.range), own));
        }
        assert_eq!(scene.leases(session).len(), leases, "{session}");
    }

    // And the same process is leased nothing in another session, but a new one of the name is.
    scene.act(Event::Left(one));
    scene.join_as(SessionId(4), OWNER, hello("w1", 10));
    assert_eq!(scene.leases(SessionId(4)).len(), 0);
    scene.join_as(SessionId(5), OWNER, Hello { instance: 99, ..hello("w1", 10) });
    assert_eq!(scene.leases(SessionId(5)).len(), 1);
}

#[test]
fn a_repeated_report_renews_no_lease_and_measures_no_speed() {
    // Given: w1 has reported one of four tasks.
    let (mut scene, _, worker) = at_work(2_000, 4);
    let lease = scene.last_lease(worker);
    scene.act(Event::Said(worker, WorkerMessage::Credit(0)));
    let part = Report { busy_us: 1_000_000, ..report_of(&lease, range(0, 1)) };
    scene.report_as_is(worker, part.clone());

    // When it repeats this report for longer than the lease time, and claims that the task took no
    // time
    for second in 1..60 {
        scene.now = 1_000 * second;
        scene.report_as_is(worker, Report { busy_us: 1, ..part.clone() });
    }
    scene.tick(60_000);

    // Then the lease is over. The next lease suits a worker that was seen to count one task.
    assert!(scene.revoked(lease.id));
    scene.act(Event::Said(worker, WorkerMessage::Credit(1_000)));
    assert_eq!(scene.last_lease(worker).range.len(), 2);
}

#[test]
fn repeated_reports_do_not_shorten_the_leases_of_long_tasks() {
    // Given: w1 has reported one task of a job. The job's other tasks take 100 s.
    let (mut scene, job, liar) = at_work(8, 1);
    let old = scene.last_lease(liar);
    scene.finish(liar, &old, 1_000);
    scene.act(Event::Said(liar, WorkerMessage::Credit(0)));
    scene.now = 1_000;
    let honest = scene.join("w2", 1);

    // When it repeats this report again and again
    for second in 2..200 {
        scene.tick(1_000 * second);
        scene.finish(liar, &old, 1_000);
    }

    // Then w2 gets the time that it needs, after it has missed one deadline and rested.
    let leases = scene.leases(honest);
    let lease = leases.last().expect("it is leased again").id;
    let (leased, over) = (61_000 + 120_000, 120_000);
    assert_eq!((leases.len(), scene.revoked(lease)), (2, false));
    scene.tick(leased + over - 1);
    assert!(!scene.revoked(lease), "{:?}", scene.farm.job(job));
}

#[test]
fn a_change_revokes_leases_at_once_and_is_seen_once_it_is_durable() {
    for (change, state) in
        [(Change::Pause, JobState::Paused), (Change::Cancel, JobState::Cancelled)]
    {
        let (mut scene, job, worker) = at_work(8, 4);
        let lease = scene.last_lease(worker).id;
        scene.slow_disk = true;
        scene.act(crate::scene::change(RequestId(1), job, change));
        assert!(scene.revoked(lease) && scene.state(job).0 == JobState::Running);
        scene.flush();
        assert_eq!(scene.state(job).0, state);
    }
}
