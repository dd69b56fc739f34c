//! Who is leased what, how much, and for how long.

use farm::{Change, Event, JobState, Range, Report, RequestId, SessionId, WorkerMessage};

use crate::stage::{OWNER, Stage, change, hello, plan, proven, range, report};

/// Lets a worker finish its leases at a speed, `rounds` times.
fn work(stage: &mut Stage, worker: SessionId, us_per_task: u64, rounds: usize) {
    for _ in 0..rounds {
        let lease = stage.last_lease(worker);
        stage.finish(worker, &lease, us_per_task);
    }
}

#[test]
fn a_worker_ten_times_faster_gets_ten_times_larger_leases() {
    let mut stage = Stage::new();
    stage.submit(100_000_000, 0);
    let (slow, fast) = (stage.join("w1", 1 << 40), stage.join("w2", 1 << 40));

    work(&mut stage, slow, 10_000, 12);
    work(&mut stage, fast, 1_000, 16);

    // 64 s at 10 ms and at 1 ms per task, as the job takes a day.
    assert_eq!(stage.last_lease(slow).range.len(), 6_400);
    assert_eq!(stage.last_lease(fast).range.len(), 64_000);
}

#[test]
fn only_a_job_that_takes_long_has_long_leases() {
    // A task takes a second, and nobody else is there.
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
    // Given: 20,000 workers, of which most hold nothing and one counts a task in 10 ms.
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

    // When most of them go, it is as it was.
    (2..=20_000).for_each(|number| stage.act(Event::Left { session: SessionId(number) }));
    assert_eq!(stage.farm.pace().report_ms(), 5);
}

#[test]
fn the_first_lease_is_a_probe() {
    let mut stage = Stage::new();
    stage.submit(1_000, 0);

    let worker = stage.join("w1", 1_000);

    assert_eq!(stage.last_lease(worker).range, range(0, 4));
}

#[test]
fn a_worker_without_company_is_leased_all_that_it_can_count_in_time() {
    let mut stage = Stage::new();
    stage.submit(36, 0);
    let worker = stage.join("w1", 1_000);

    work(&mut stage, worker, 1_000, 2);

    assert_eq!(stage.last_lease(worker).range, range(12, 36));
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
fn a_task_that_is_reported_again_with_others_counts_once_for_a_sessions_speed() {
    let mut stage = Stage::new();
    let job = stage.submit(256_000, 0);
    let worker = stage.join_with("w1", 64, 1 << 40);
    let lease = stage.last_lease(worker);
    assert!(lease.range.len() >= 64, "{lease:?}");
    for end in 1..=lease.range.len() {
        stage.now += 10;
        let part = report(job, plan(256_000), lease.range.first(end));
        stage.report_as_is(worker, proven(Report { lease: lease.id, ..part }, OWNER));
    }
    let held: u64 = stage.leases(worker)[1..].iter().map(|lease| lease.range.len()).sum();
    assert!(held <= 2 * lease.range.len(), "it holds {held}");
}

/// What a worker should hold comes in pieces from all over a plan that is soon counted.
#[test]
fn a_plan_that_is_soon_counted_is_leased_in_pieces() {
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
fn leases_grow_with_what_was_seen_and_not_with_what_is_said() {
    // Given a plan whose first tasks are a thousand times as cheap as the others, and one who exaggerates
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
fn what_a_worker_says_of_its_time_changes_nothing() {
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
fn a_lease_that_takes_much_longer_than_it_was_to_take_is_leased_again() {
    // Given a worker that counted a task in 10 ms and was leased work of 64 s
    let mut stage = Stage::new();
    let job = stage.submit(100_000_000, 0);
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
            let part = report(job, plan(100_000_000), range(at, at + 1));
            stage.report(worker, farm::Report { lease: lease.id, ..part });
            counted += 1;
        }
    }

    // Then the lease is over after a minute and four times those 64 s, and the next is for so slow a worker.
    assert_eq!(stage.now - leased_at, 60_000 + 4 * 64_000);
    assert!(stage.last_lease(worker).range.len() <= 10);
}

#[test]
fn jobs_of_higher_priority_come_first_then_older_ones() {
    let mut stage = Stage::new();
    let low = stage.submit(2, -1);
    let first = stage.submit(2, 5);
    let second = stage.submit(2, 5);

    let worker = stage.join("w1", 100);
    work(&mut stage, worker, 1_000, 1);
    work(&mut stage, worker, 1_000, 1);

    let order: Vec<_> = stage.leases(worker).iter().map(|lease| lease.job).collect();
    let mut seen = order.clone();
    seen.dedup();
    assert_eq!(seen, [first, second, low], "{order:?}");
}

#[test]
fn a_job_is_served_by_its_new_priority_at_once_and_what_is_leased_stays() {
    // Given a worker that counts the first of two jobs
    let mut stage = Stage::new();
    let first = stage.submit(1_000, 0);
    let second = stage.submit(2, 0);
    let worker = stage.join("w1", 10);
    let leased = stage.last_lease(worker);
    assert_eq!(leased.job, first);

    // When the second one is to come first
    stage.act(change(RequestId(7), second, Change::Priority(1)));
    stage.finish(worker, &leased, 1_000);

    // Then it is leased next, and the first one again after it.
    let order: Vec<_> = stage.leases(worker).iter().map(|lease| lease.job).collect();
    assert_eq!(order[1], second, "{order:?}");
    work(&mut stage, worker, 1_000, 2);
    assert_eq!(stage.last_lease(worker).job, first);
    assert_eq!(stage.farm.job(second).expect("it exists").spec.priority, 1);

    // And a job that is over has no priority to change.
    stage.act(change(RequestId(8), first, Change::Cancel));
    stage.act(change(RequestId(9), first, Change::Priority(2)));
    assert_eq!(stage.farm.job(first).expect("it exists").spec.priority, 0);
}

#[test]
fn credit_limits_what_is_held_and_none_stops_leasing() {
    let mut stage = Stage::new();
    let job = stage.submit(100, 0);
    let worker = stage.join("w1", 3);
    let lease = stage.last_lease(worker);
    assert_eq!(lease.range.len(), 3);

    stage.act(Event::Said { session: worker, message: WorkerMessage::Credit(0) });
    stage.finish(worker, &lease, 1_000);
    assert_eq!(stage.leases(worker).len(), 1);

    stage.act(Event::Said { session: worker, message: WorkerMessage::Credit(2) });
    assert_eq!(stage.last_lease(worker).range.len(), 2);
    assert_eq!(stage.farm.job(job).expect("it exists").workers, 1);
}

#[test]
fn a_worker_that_misses_a_deadline_comes_after_all_others() {
    // Given: w1 hangs with the only range; w2 waits.
    let mut stage = Stage::new();
    stage.submit(1, 0);
    let (hung, idle) = (stage.join("w1", 10), stage.join("w2", 10));
    let lost = stage.last_lease(hung);
    assert!(stage.leases(idle).is_empty());

    stage.tick(60_000);

    assert!(stage.revoked(lost.id));
    assert_eq!(stage.last_lease(idle).range, lost.range);
}

#[test]
fn two_hung_workers_do_not_keep_a_range_from_a_healthy_one() {
    // Given: w1 and w2 hang, and w3 comes when both have missed a deadline.
    let mut stage = Stage::new();
    stage.submit(1, 0);
    let hung = [stage.join("w1", 10), stage.join("w2", 10)];
    stage.tick(60_000);
    assert_eq!(stage.leases(hung[1]).len(), 1);
    let healthy = stage.join("w3", 10);

    // When w2 misses its deadline in the moment in which w1 has rested enough
    stage.tick(1_000_000);

    // Then the healthy one is served.
    assert_eq!(stage.leases(healthy).len(), 1);
}

#[test]
fn a_busy_worker_is_leased_what_a_hung_one_has_kept() {
    // Given: w1 hangs with the only task of a job, and w2 gets on with another job.
    let mut stage = Stage::new();
    let small = stage.submit(1, 0);
    stage.join("w1", 1);
    let large = stage.submit(100, 0);
    let busy = stage.join("w2", 4);
    let lease = stage.last_lease(busy);
    let counts = |stage: &mut Stage, ms, at| {
        stage.now = ms;
        let part = range(lease.range.start() + at, lease.range.start() + at + 1);
        stage.report(busy, farm::Report { lease: lease.id, ..report(large, plan(100), part) });
    };
    counts(&mut stage, 30_000, 0);

    // When w1 has missed its deadline, and w2 reports a task
    stage.tick(60_000);
    counts(&mut stage, 61_000, 1);

    // Then w2 is leased the task of w1.
    assert!(stage.leases(busy).iter().any(|lease| lease.job == small));
}

#[test]
fn missed_deadlines_double_the_patience_with_a_job_once_per_deadline() {
    // Given: three leases of one age.
    let mut stage = Stage::new();
    stage.submit(12, 0);
    let workers = [stage.join("w1", 4), stage.join("w2", 4), stage.join("w3", 4)];

    // When all are missed, and leased again after the rest
    stage.tick(60_000);
    stage.tick(180_000);

    // Then the next deadline is twice as far, not eight times.
    let leases = workers.map(|worker| stage.leases(worker).len());
    assert_eq!(leases, [2, 2, 2]);
    assert_eq!(stage.farm.next_wakeup(), Some(farm::Millis(180_000 + 2 * 60_000)));
}

#[test]
fn a_hung_worker_does_not_slow_a_job_that_others_report_on() {
    // Given: w1 hangs, and w2 reports.
    let mut stage = Stage::new();
    let job = stage.submit(12, 0);
    stage.join("w1", 4);
    let busy = stage.join("w2", 4);
    let lease = stage.last_lease(busy).id;
    stage.now = 30_000;
    let part = farm::Report { lease, ..report(job, plan(12), range(4, 5)) };
    stage.report(busy, part);

    // When w1 misses its deadline
    stage.tick(60_000);

    // Then its range, leased again, has the usual deadline.
    let other = stage.join("w3", 4);
    let again = stage.last_lease(other);
    assert_eq!(again.range.start(), 0);
    stage.tick(119_999);
    assert!(!stage.revoked(again.id));
    stage.tick(120_000);
    assert!(stage.revoked(again.id));
}

#[test]
fn a_worker_is_not_told_to_stop_what_it_has_finished() {
    let mut stage = Stage::new();
    let job = stage.submit(4, 0);
    let worker = stage.join("w1", 4);
    let lease = stage.last_lease(worker).id;

    let whole = farm::Report { lease, ..report(job, plan(4), range(0, 4)) };
    stage.report(worker, whole);

    assert!(!stage.revoked(lease));
}

#[test]
fn a_report_renews_its_lease() {
    let mut stage = Stage::new();
    let job = stage.submit(4, 0);
    let worker = stage.join("w1", 4);
    let lease = stage.last_lease(worker).id;

    stage.now = 50_000;
    let part = farm::Report { lease, ..report(job, plan(4), range(0, 1)) };
    stage.report(worker, part.clone());
    stage.tick(100_000);
    assert!(!stage.revoked(lease));

    stage.tick(110_000);
    assert!(stage.revoked(lease));
}

#[test]
fn a_lost_sessions_ranges_go_to_others_at_once() {
    let mut stage = Stage::new();
    stage.submit(4, 0);
    let (one, two) = (stage.join("w1", 4), stage.join("w2", 4));

    stage.act(Event::Left { session: one });

    assert_eq!(stage.last_lease(two).range, range(0, 4));
}

#[test]
fn a_paused_job_is_taken_back_and_leased_again_when_it_resumes() {
    let mut stage = Stage::new();
    let job = stage.submit(4, 0);
    let worker = stage.join("w1", 4);
    let lease = stage.last_lease(worker).id;

    stage.act(change(RequestId(1), job, Change::Pause));
    assert!(stage.revoked(lease));
    assert_eq!(stage.leases(worker).len(), 1);

    stage.act(change(RequestId(2), job, Change::Resume));
    assert_eq!(stage.leases(worker).len(), 2);
}

#[test]
fn a_leaving_worker_is_leased_nothing_more() {
    let mut stage = Stage::new();
    stage.submit(100, 0);
    let worker = stage.join("w1", 100);
    let lease = stage.last_lease(worker);

    stage.act(Event::Said { session: worker, message: WorkerMessage::Draining });
    stage.finish(worker, &lease, 1_000);

    assert_eq!(stage.leases(worker).len(), 1);
}

#[test]
fn a_report_that_comes_again_renews_nothing_and_tells_no_speed() {
    // Given: w1 has reported one of four tasks.
    let mut stage = Stage::new();
    let job = stage.submit(2_000, 0);
    let worker = stage.join("w1", 4);
    let lease = stage.last_lease(worker);
    stage.act(Event::Said { session: worker, message: WorkerMessage::Credit(0) });
    let part = farm::Report {
        lease: lease.id,
        busy_us: 1_000_000,
        ..report(job, plan(2_000), range(0, 1))
    };
    stage.report(worker, part.clone());

    // When it repeats that for longer than a lease lives, and says that it took no time
    for second in 1..60 {
        stage.now = 1_000 * second;
        stage.report(worker, farm::Report { busy_us: 1, ..part.clone() });
    }
    stage.tick(60_000);

    // Then the lease is over, and the next one is for a worker that was seen to count a task.
    assert!(stage.revoked(lease.id));
    stage.act(Event::Said { session: worker, message: WorkerMessage::Credit(1_000) });
    assert_eq!(stage.last_lease(worker).range.len(), 2);
}

#[test]
fn repetitions_do_not_hide_that_a_job_of_long_tasks_needs_longer_leases() {
    // Given: w1 has reported one task of a job whose other tasks take 100 s.
    let mut stage = Stage::new();
    let job = stage.submit(8, 0);
    let liar = stage.join("w1", 1);
    let old = stage.last_lease(liar);
    stage.finish(liar, &old, 1_000);
    stage.act(Event::Said { session: liar, message: WorkerMessage::Credit(0) });
    stage.now = 1_000;
    let honest = stage.join("w2", 1);

    // When it repeats the task all the time
    for second in 2..200 {
        stage.tick(1_000 * second);
        stage.finish(liar, &old, 1_000);
    }

    // Then w2 has the time that it needs, once it has missed a deadline and rested.
    let leases = stage.leases(honest);
    let lease = leases.last().expect("it is leased again").id;
    let (leased, over) = (61_000 + 120_000, 120_000);
    assert_eq!((leases.len(), stage.revoked(lease)), (2, false));
    stage.tick(leased + over - 1);
    assert!(!stage.revoked(lease), "{:?}", stage.farm.job(job));
}
