//! Workers that find nothing to do: they cost next to nothing while they wait, and whatever comes to be leasable
//! reaches them.

use farm::{
    AuditPolicy, AuditScope, Change, Event, Hello, JobId, RequestId, SessionId, Verdict,
    WorkerMessage,
};

use crate::stage::{
    AUDIT_ALL, CONFIG, OWNER, Stage, asked_again, change, hello, plan, range, report,
    submission_by, tally,
};

const TASKS: u64 = 40;

/// Three jobs that other owners are to check. The workers w1 to w10 are of one owner; w1 has counted all but the last
/// task of each job.
fn waiting() -> Stage {
    let mut stage = Stage::new();
    let policy = AuditPolicy { across: AuditScope::Owners, ..AUDIT_ALL };
    for _ in 1..=3 {
        stage.act(submission_by("eve", None, plan(TASKS), Some(policy)));
    }
    let workers: Vec<SessionId> =
        (1..=10).map(|worker| stage.join(&format!("w{worker}"), 1)).collect();
    for job in [1, 2, 3].map(JobId) {
        for task in 0..TASKS - 1 {
            stage.report(workers[0], report(job, plan(TASKS), range(task, task + 1)));
        }
    }
    stage
}

fn searches(stage: &Stage) -> u64 {
    stage.farm.stats().searches
}

#[test]
fn who_found_nothing_does_not_search_again_in_every_step() {
    let mut stage = waiting();
    let credit =
        |credit| Event::Said { session: SessionId(1), message: WorkerMessage::Credit(credit) };

    // A tick is news of nobody, a credit of one worker, and a range of one job is no reason to look through all.
    for (event, expected) in [(Event::Tick, 0), (credit(2), 1), (credit(3), 1), (Event::Tick, 0)] {
        let before = searches(&stage);
        stage.act(event.clone());
        assert_eq!(searches(&stage) - before, expected, "{event:?}");
    }
    let before = searches(&stage);
    let last = report(JobId(1), plan(TASKS), range(TASKS - 1, TASKS));
    assert_eq!(stage.report(SessionId(1), last), Some(Verdict::Accepted));
    assert_eq!(searches(&stage) - before, 2, "whoever reported, and whoever was counting it, too");
}

#[test]
fn a_recount_that_comes_back_reaches_who_was_refused() {
    // Given: w1 has counted the range. w2 has the recount, and w3 has found nothing.
    let mut stage = Stage::new();
    let job = stage.submit_audited(4);
    let one = stage.join("w1", 0);
    stage.report(one, report(job, plan(4), range(0, 4)));
    let [two, three] = [stage.join("w2", 4), stage.join("w3", 4)];
    assert_eq!((stage.leases(two).len(), stage.leases(three).len()), (1, 0));

    stage.act(Event::Left { session: two });

    assert_eq!(stage.last_lease(three).range, range(0, 4));
}

#[test]
fn a_disputed_range_that_comes_back_reaches_who_was_refused() {
    // Given: w1 and w2 differ. w3 is asked, and w4 has found nothing.
    let mut stage = Stage::new();
    let job = stage.submit_audited(4);
    let [one, two] = [stage.join("w1", 0), stage.join("w2", 0)];
    stage.report(one, report(job, plan(4), range(0, 4)));
    let other = tally(plan(4), range(0, 4), 1);
    let lie = asked_again(farm::Report { tally: other, ..report(job, plan(4), range(0, 4)) });
    stage.report(two, lie);
    let [three, four] = [stage.join("w3", 4), stage.join("w4", 4)];
    assert_eq!((stage.leases(three).len(), stage.leases(four).len()), (1, 0));

    stage.act(Event::Left { session: three });

    assert_eq!(stage.last_lease(four).range, range(0, 4));
}

#[test]
fn what_waits_in_a_job_that_is_resumed_reaches_who_was_refused() {
    // Given: w1 has counted the range, and w2 came while the job was paused.
    let mut stage = Stage::new();
    let job = stage.submit_audited(4);
    let one = stage.join("w1", 0);
    stage.report(one, report(job, plan(4), range(0, 4)));
    let request = RequestId(9);
    stage.act(change(request, job, Change::Pause));
    let two = stage.join("w2", 4);
    stage.tick(1);
    assert_eq!(stage.leases(two), []);

    stage.act(change(request, job, Change::Resume));

    assert_eq!(stage.last_lease(two).range, range(0, 4));
}

#[test]
fn a_range_that_was_kept_too_long_comes_back_to_its_only_worker_in_time() {
    // Given: w2 says for all of the lease's time that it is getting on. Nobody else may count the range.
    let mut stage = Stage::new();
    let job = stage.submit_audited(4);
    let one = stage.join("w1", 0);
    stage.report(one, report(job, plan(4), range(0, 4)));
    let two = stage.join("w2", 4);
    let lease = stage.last_lease(two);
    while !stage.revoked(lease.id) {
        let next = stage.farm.next_wakeup().expect("a lease has an end");
        stage.tick(next.0 - 1);
        stage.act(Event::Said { session: two, message: WorkerMessage::Working(lease.id) });
        stage.tick(next.0);
    }
    let held_ms = stage.now;
    assert!(held_ms >= CONFIG.lease_ttl_ms && stage.leases(two).len() == 1);

    // When the farm is woken up as it wants to be, then the range is leased again once it is w2's turn.
    while stage.leases(two).len() == 1 {
        stage.tick(stage.farm.next_wakeup().expect("somebody waits").0);
    }
    assert_eq!((stage.now, stage.last_lease(two).range), (2 * held_ms, range(0, 4)));
}

#[test]
fn what_is_not_for_those_who_wait_is_offered_to_them_once() {
    let offers = |stage: &mut Stage, event: Event| {
        let before = stage.farm.stats().offers;
        stage.act(event);
        stage.farm.stats().offers - before
    };
    // Given: something is free that takes too much memory, or was declined, or something is late of those who have not
    // counted yet.
    for case in ["large", "declined", "late"] {
        let mut stage = Stage::new();
        let memory = if case == "large" { 2 } else { 0 };
        stage.submit_large(8, 0, memory);
        let hello = Hello { memory: 2, threads: 2, ..hello("w1", 4) };
        let able = [1, 2].map(SessionId);
        for id in able {
            stage.join_as(id, OWNER, Hello { instance: id.0, ..hello.clone() });
        }
        let idle = [3, 4, 5, 6].map(|worker| stage.join(&format!("w{worker}"), 1));
        if case == "declined" {
            stage.act(Event::Left { session: able[1] });
            for session in idle {
                let lease = stage.last_lease(session).id;
                stage.act(Event::Said { session, message: WorkerMessage::Decline(lease) });
            }
        }

        for _ in 0..3 {
            assert_eq!(offers(&mut stage, Event::Tick), 0, "{case}");
        }
        let freed = offers(&mut stage, Event::Left { session: able[0] });
        assert!(freed >= 4, "{case}: {freed}");
    }
}
