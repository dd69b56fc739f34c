//! Tests of the choice, size and duration of leases.

use farm::{Change, Event, JobState, Known, Range, Report, RequestId, SessionId, WorkerMessage};

use crate::stage::{OWNER, Stage, change, hello, plan, range, report_of, spec};

/// Lets a worker finish its leases at a speed, `rounds` times.
fn work(stage: &mut Stage, worker: SessionId, us_per_task: u64, rounds: usize) {
    for _ in 0..rounds {
        let lease = stage.last_lease(worker);
        stage.finish(worker, &lease, us_per_task);
    }
}

#[test]
fn only_a_long_job_has_long_leases() {
    // A task takes a second, and there is no other worker.
    let seconds = |tasks| {
        let mut stage = Stage::new();
        stage.submit(tasks, 0);
        let worker = stage.join("w1", 1 << 40);
        work(&mut stage, worker, 1_000_000, 6);
        stage.last_lease(worker).range.len()
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
    let mut stage = Stage::new();
    stage.submit(100_000_000_000, 0);
    let worker = stage.join("w1", 1 << 40);
    for number in 2..=20_000 {
        stage.join_as(SessionId(number), OWNER, hello(&format!("w{number}"), 0));
    }
    assert!((75_000..=100_000).contains(&stage.farm.pace().report_ms()));

    work(&mut stage, worker, 10_000, 20);

    let leased = stage.last_lease(worker);
    let seconds = leased.range.len() / 100;
    assert!((4_800..=6_400).contains(&seconds), "64 reports: {seconds} s");
    let leased_at = stage.now;
    stage.tick(leased_at + 200_000);
    assert!(!stage.revoked(leased.id), "it may report every 100 s");
    stage.tick(leased_at + 300_000);
    assert!(stage.revoked(leased.id));

    // When most of them leave, the pace is as before.
    (2..=20_000).for_each(|number| stage.act(Event::Left(SessionId(number))));
    assert_eq!(stage.farm.pace().report_ms(), 5);
}

#[test]
fn leases_shrink_towards_the_end_of_a_job() {
    let mut stage = Stage::new();
    stage.submit(76, 0);
    stage.join("w2", 0);
    let worker = stage.join("w1", 1_000);
    work(&mut stage, worker, 1_000, 2);

    while stage.state(farm::JobId(1)).0 == JobState::Running {
        work(&mut stage, worker, 1_000, 1);
    }

    let sizes: Vec<u64> = stage.leases(worker).iter().map(|lease| lease.range.len()).collect();
    assert!(sizes[2..].is_sorted_by(|a, b| a >= b), "{sizes:?}");
    assert_eq!((sizes[2], sizes[sizes.len() - 1]), (24, 1));
}

#[test]
fn a_repeated_task_counts_once_for_the_speed_of_a_session() {
    let mut stage = Stage::new();
    stage.submit(256_000, 0);
    let worker = stage.join_with("w1", 64);
    let lease = stage.last_lease(worker);
    assert!(lease.range.len() >= 64, "{lease:?}");
    for end in 1..=lease.range.len() {
        stage.now += 10;
        stage.report_as_is(worker, report_of(&lease, lease.range.first(end)));
    }
    let held: u64 = stage.leases(worker)[1..].iter().map(|lease| lease.range.len()).sum();
    assert!(held <= 2 * lease.range.len(), "it holds {held}");
}

/// The work of a worker is leased in several pieces from all over a short plan.
#[test]
fn a_short_plan_is_leased_in_pieces() {
    let mut stage = Stage::new();
    stage.submit(256_000, 0);
    let worker = stage.join("w1", 1 << 40);
    work(&mut stage, worker, 1_000, 5);
    let sizes: Vec<u64> = stage.leases(worker).iter().map(|lease| lease.range.len()).collect();
    assert_eq!(sizes[..5], [4, 8, 24, 72, 216], "twice what it was seen to count");

    let pieces: Vec<Range> = stage.leases(worker)[5..].iter().map(|lease| lease.range).collect();
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
        let mut stage = Stage::new();
        stage.submit(100_000_000, 0);
        let worker = SessionId(1);
        let hello = farm::Hello { threads, ..hello("w1", 1 << 63) };
        stage.join_as(worker, OWNER, hello);
        let probe = u64::from(threads.min(64)) * 4;
        assert_eq!(stage.last_lease(worker).range.len(), probe, "for 64 threads at most");

        work(&mut stage, worker, 1, 1);
        assert_eq!(stage.last_lease(worker).range.len(), 2 * probe);
        work(&mut stage, worker, 1_000, 1);
        assert_eq!(stage.last_lease(worker).range.len(), 6 * probe);
        work(&mut stage, worker, 1_000, 12);
        let leased = stage.last_lease(worker).range.len();
        assert!((60_000..=64_000).contains(&leased), "64 s at 1 ms each: {leased}");
    }
}

#[test]
fn reported_times_do_not_change_leases() {
    let mut stage = Stage::new();
    stage.submit(100_000_000, 0);
    let worker = stage.join("w1", 1 << 40);
    for _ in 0..12 {
        let lease = stage.last_lease(worker);
        stage.now += 1_000 * lease.range.len();
        stage.finish(worker, &lease, 1);
    }

    assert_eq!(stage.last_lease(worker).range.len(), 64, "64 s at a second each");
}

#[test]
fn a_lease_that_takes_much_too_long_is_leased_again() {
    // Given a worker that counted a task in 10 ms and was leased work of 64 s
    let mut stage = Stage::new();
    stage.submit(100_000_000, 0);
    let worker = stage.join("w1", 1 << 40);
    work(&mut stage, worker, 10_000, 12);
    let lease = stage.last_lease(worker);
    let (leased_at, leased) = (stage.now, lease.range.len());
    assert_eq!(leased, 6_400);

    // When it then reports a task every 48 s
    let mut counted = 0;
    while !stage.revoked(lease.id) {
        stage.tick(stage.now + 4_000);
        if (stage.now - leased_at).is_multiple_of(48_000) {
            let at = lease.range.start() + counted;
            stage.report_as_is(worker, report_of(&lease, range(at, at + 1)));
            counted += 1;
        }
    }

    // Then the lease ends after a minute and four times those 64 s. The next lease suits the slow
    // worker.
    assert_eq!(stage.now - leased_at, 60_000 + 4 * 64_000);
    assert!(stage.last_lease(worker).range.len() <= 10);
}

#[test]
fn a_lease_of_long_tasks_lives_for_four_times_the_longest() {
    // Given: a task takes half a minute by the plan's estimate, and a slow worker.
    let mut stage = Stage::new();
    let known = Known { task_ms: 30_000, ..Known::nothing() };
    stage.submit_spec(spec(plan(1_000)), None, known);
    let worker = stage.join("w1", 1);
    let lease = stage.last_lease(worker);

    // Then: the longest task takes two minutes by the estimate.
    stage.tick(479_999);
    assert!(!stage.revoked(lease.id));

    // When: it takes the worker eight minutes
    stage.finish(worker, &lease, 1_000);
    let (lease, leased_at) = (stage.last_lease(worker), stage.now);

    // Then: the longest one takes it four times as long.
    let longest = 4 * leased_at;
    stage.tick(leased_at + 4 * longest - 16);
    assert!(!stage.revoked(lease.id));
    stage.tick(leased_at + 4 * longest);
    assert!(stage.revoked(lease.id));
}

#[test]
fn a_lease_of_short_tasks_waits_for_long_ones_that_the_worker_has() {
    // Given: w1 holds a long task, and is leased short ones.
    let mut stage = Stage::new();
    let known = Known { task_ms: 30_000, ..Known::nothing() };
    stage.submit_spec(spec(plan(1)), None, known);
    let short = stage.submit(100, 0);
    let worker = stage.join("w1", 4);
    let lease = stage.last_lease(worker);
    assert_eq!(lease.job, short);

    stage.tick(479_999);
    assert!(!stage.revoked(lease.id));
    stage.tick(480_000);
    assert!(stage.revoked(lease.id));
}

#[test]
fn jobs_of_higher_priority_come_first_then_older_ones() {
    let mut stage = Stage::new();
    let low = stage.submit(2, -1);
    let first = stage.submit(2, 5);
    let second = stage.submit(2, 0);
    stage.act(change(RequestId(7), second, Change::Priority(5)));

    let worker = stage.join("w1", 100);
    work(&mut stage, worker, 1_000, 1);
    work(&mut stage, worker, 1_000, 1);

    let order: Vec<_> = stage.leases(worker).iter().map(|lease| lease.job).collect();
    let mut seen = order.clone();
    seen.dedup();
    assert_eq!(seen, [first, second, low], "{order:?}");
}

#[test]
fn a_busy_worker_is_leased_the_range_of_a_hung_one() {
    // Given: w1 hangs with the only task of a job, and w2 works on another job.
    let mut stage = Stage::new();
    let small = stage.submit(1, 0);
    stage.join("w1", 1);
    stage.submit(100, 0);
    let busy = stage.join("w2", 4);
    let lease = stage.last_lease(busy);
    let counts = |stage: &mut Stage, ms, at| {
        stage.now = ms;
        let part = range(lease.range.start() + at, lease.range.start() + at + 1);
        stage.report_as_is(busy, report_of(&lease, part));
    };
    counts(&mut stage, 30_000, 0);

    // When w1 has missed its deadline, and w2 reports a task
    stage.tick(60_000);
    counts(&mut stage, 61_000, 1);

    // Then w2 is leased the task of w1.
    assert!(stage.leases(busy).iter().any(|lease| lease.job == small));
}

#[test]
fn leases_missed_together_double_the_lease_time_once() {
    // Given: three leases of the same age.
    let mut stage = Stage::new();
    stage.submit(12, 0);
    let workers = [stage.join("w1", 4), stage.join("w2", 4), stage.join("w3", 4)];

    // When all of them expire, and are made again after the rest
    stage.tick(60_000);
    stage.tick(180_000);

    // Then the next deadline is twice as far away, not eight times.
    let leases = workers.map(|worker| stage.leases(worker).len());
    assert_eq!(leases, [2, 2, 2]);
    assert_eq!(stage.farm.next_wakeup(), Some(farm::Millis(180_000 + 2 * 60_000)));
}

#[test]
fn a_hung_worker_does_not_slow_a_job_that_others_report_on() {
    // Given: w1 hangs, and w2 reports.
    let mut stage = Stage::new();
    stage.submit(12, 0);
    stage.join("w1", 4);
    let busy = stage.join("w2", 4);
    let lease = stage.last_lease(busy);
    stage.now = 30_000;
    stage.report_as_is(busy, report_of(&lease, range(4, 5)));

    // When w1 misses its deadline
    stage.tick(60_000);

    // Then its range is leased again with the usual deadline.
    let other = stage.join("w3", 4);
    let again = stage.last_lease(other);
    assert_eq!(again.range.start(), 0);
    stage.tick(119_999);
    assert!(!stage.revoked(again.id));
    stage.tick(120_000);
    assert!(stage.revoked(again.id));
}

#[test]
fn a_report_renews_a_lease_and_a_sign_of_life_only_a_recount() {
    for (is_report, until) in [(true, 63_000), (false, 60_000)] {
        let mut stage = Stage::new();
        stage.submit(4, 0);
        let worker = stage.join("w1", 4);
        let lease = stage.last_lease(worker);

        stage.now = 3_000;
        let message = match is_report {
            true => WorkerMessage::Report(report_of(&lease, range(0, 1))),
            false => WorkerMessage::Working(lease.id),
        };
        stage.act(Event::Said(worker, message));

        stage.tick(until - 1);
        assert!(!stage.revoked(lease.id));
        stage.tick(until);
        assert!(stage.revoked(lease.id));
    }
}

#[test]
fn a_leaving_worker_is_leased_nothing_more() {
    let mut stage = Stage::new();
    stage.submit(100, 0);
    let worker = stage.join("w1", 100);
    let lease = stage.last_lease(worker);

    stage.act(Event::Said(worker, WorkerMessage::Draining));
    stage.finish(worker, &lease, 1_000);

    assert_eq!(stage.leases(worker).len(), 1);
}

#[test]
fn a_repeated_report_renews_no_lease_and_measures_no_speed() {
    // Given: w1 has reported one of four tasks.
    let mut stage = Stage::new();
    stage.submit(2_000, 0);
    let worker = stage.join("w1", 4);
    let lease = stage.last_lease(worker);
    stage.act(Event::Said(worker, WorkerMessage::Credit(0)));
    let part = Report { busy_us: 1_000_000, ..report_of(&lease, range(0, 1)) };
    stage.report_as_is(worker, part.clone());

    // When it repeats this report for longer than the lease time, and claims that the task took no
    // time
    for second in 1..60 {
        stage.now = 1_000 * second;
        stage.report_as_is(worker, Report { busy_us: 1, ..part.clone() });
    }
    stage.tick(60_000);

    // Then the lease is over. The next lease suits a worker that was seen to count one task.
    assert!(stage.revoked(lease.id));
    stage.act(Event::Said(worker, WorkerMessage::Credit(1_000)));
    assert_eq!(stage.last_lease(worker).range.len(), 2);
}

#[test]
fn repeated_reports_do_not_shorten_the_leases_of_long_tasks() {
    // Given: w1 has reported one task of a job. The job's other tasks take 100 s.
    let mut stage = Stage::new();
    let job = stage.submit(8, 0);
    let liar = stage.join("w1", 1);
    let old = stage.last_lease(liar);
    stage.finish(liar, &old, 1_000);
    stage.act(Event::Said(liar, WorkerMessage::Credit(0)));
    stage.now = 1_000;
    let honest = stage.join("w2", 1);

    // When it repeats this report again and again
    for second in 2..200 {
        stage.tick(1_000 * second);
        stage.finish(liar, &old, 1_000);
    }

    // Then w2 gets the time that it needs, after it has missed one deadline and rested.
    let leases = stage.leases(honest);
    let lease = leases.last().expect("it is leased again").id;
    let (leased, over) = (61_000 + 120_000, 120_000);
    assert_eq!((leases.len(), stage.revoked(lease)), (2, false));
    stage.tick(leased + over - 1);
    assert!(!stage.revoked(lease), "{:?}", stage.farm.job(job));
}

#[test]
fn a_change_revokes_leases_at_once_and_is_seen_once_it_is_durable() {
    for (change, state) in
        [(Change::Pause, JobState::Paused), (Change::Cancel, JobState::Cancelled)]
    {
        let mut stage = Stage::new();
        let job = stage.submit(8, 0);
        let worker = stage.join("w1", 4);
        let lease = stage.last_lease(worker).id;
        stage.slow_disk = true;
        stage.act(crate::stage::change(RequestId(1), job, change));
        assert!(stage.revoked(lease) && stage.state(job).0 == JobState::Running);
        stage.flush();
        assert_eq!(stage.state(job).0, state);
    }
}
