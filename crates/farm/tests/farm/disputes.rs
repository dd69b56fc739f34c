//! Tests of disputes, in which two counts of one range differ.

use farm::{
    Change, Effect, Event, JobId, JobState, Report, RequestId, SessionId, Verdict, WorkerMessage,
};

use crate::scene::{
    Scene, asked_again, audits, change, checked_count, kernel, plan, range, recount, report, work,
};

/// A job of 4 tasks under audit. w1 has counted everything as 4, and w2 has contradicted with
/// `claim`.
pub fn disputed(claim: u64) -> (Scene, JobId) {
    let mut scene = Scene::new();
    let job = scene.submit_audited(4);
    let (one, two) = (scene.join("w1", 0), scene.join("w2", 0));
    scene.report(one, report(job, plan(4), range(0, 4)));
    let verdict = scene.report(two, reported(job, claim));
    assert_eq!(verdict, Some(Verdict::Disputed));
    (scene, job)
}

/// A recount of all 4 tasks of the job with the sum `count`.
pub fn reported(job: JobId, count: u64) -> Report {
    asked_again(unasked(job, count))
}

/// A first count of all 4 tasks of the job with the sum `count`.
fn unasked(job: JobId, count: u64) -> Report {
    let checked_count = checked_count(plan(4), range(0, 4), count - 4);
    Report { checked_count, ..report(job, plan(4), range(0, 4)) }
}

fn contradictions(scene: &Scene) -> usize {
    scene.sent.iter().filter(|effect| matches!(effect, Effect::Contradicted(..))).count()
}

#[test]
fn an_unasked_contradiction_causes_a_recount_but_no_dispute() {
    // Given: w1 has counted 4 of 5 tasks.
    let mut scene = Scene::new();
    let job = scene.submit(5, 0);
    let (one, two) = (scene.join("w1", 0), scene.join("w2", 0));
    scene.report(one, report(job, plan(5), range(0, 4)));

    // When w2, which was leased the range before, reports another count
    let checked_count = checked_count(plan(5), range(0, 4), 7);
    let late = Report { checked_count, ..report(job, plan(5), range(0, 4)) };
    assert_eq!(scene.report(two, late), Some(Verdict::Superseded));

    // Then another worker is asked, and confirms w1.
    assert_eq!((contradictions(&scene), audits(&scene, job)), (1, (1, 0)));
    let three = scene.join("w3", 10);
    let lease = scene.leases(three)[0];
    assert_eq!((lease.range, lease.recount.is_some()), (range(0, 4), true));
    recount(&mut scene, three, lease, "reference");
    work(&mut scene, three);
    assert_eq!((scene.state(job), audits(&scene, job)), ((JobState::Done, 5), (0, 1)));
}

#[test]
fn an_unasked_count_does_not_reopen_a_job() {
    let mut scene = Scene::new();
    let job = scene.submit_audited(4);
    let (one, two, three) = (scene.join("w1", 0), scene.join("w2", 0), scene.join("w3", 0));
    scene.report(one, report(job, plan(4), range(0, 4)));
    scene.report(two, Report { kernel: kernel("reference"), ..reported(job, 4) });
    assert_eq!(scene.state(job), (JobState::Done, 4));

    // One is a late first count. The other is a recount that another worker has answered before.
    let verdicts = [unasked(job, 5), reported(job, 5)].map(|late| scene.report(three, late));

    assert_eq!(verdicts, [Some(Verdict::Superseded); 2]);
    assert_eq!((scene.state(job), contradictions(&scene)), ((JobState::Done, 4), 2));
}

#[test]
fn a_worker_votes_only_once_and_only_if_it_was_asked() {
    let (mut scene, job) = disputed(5);
    let three = scene.join("w3", 0);
    assert_eq!(scene.report(three, unasked(job, 5)), Some(Verdict::Superseded));
    for session in [SessionId(1), SessionId(2)] {
        scene.act(Event::Said(session, WorkerMessage::Credit(100)));
        assert!(scene.leases(session).is_empty());
    }

    let again = scene.report(SessionId(2), reported(job, 5));

    assert_eq!(again, Some(Verdict::Superseded));
    assert_eq!(scene.state(job), (JobState::Running, 4));
    assert_eq!(scene.farm.job(job).expect("it exists").disputes, 1);
}

#[test]
fn a_recount_of_replaced_rows_decides_nothing() {
    // Given: w3 was asked for a range that has become two rows of w1 and w2.
    let mut scene = Scene::new();
    let job = scene.submit_audited(4);
    let (one, two) = (scene.join("w1", 0), scene.join("w2", 0));
    let three = scene.join("w3", 0);
    scene.report(one, report(job, plan(4), range(0, 2)));
    scene.report(two, report(job, plan(4), range(2, 4)));

    assert_eq!(scene.report(three, reported(job, 5)), Some(Verdict::Superseded));

    assert_eq!(scene.farm.job(job).expect("it exists").disputes, 0);
    assert_eq!((contradictions(&scene), audits(&scene, job)), (1, (2, 0)));
}

#[test]
fn a_settled_dispute_revokes_its_recount() {
    let (mut scene, job) = disputed(5);
    let three = scene.join("w3", 10);
    let recount = scene.last_lease(three);
    let four = scene.join("w4", 0);

    scene.report(four, reported(job, 4));

    assert!(scene.revoked(recount.id));
    assert_eq!(scene.state(job), (JobState::Done, 4));
}

#[test]
fn a_recount_of_a_hung_or_lost_worker_goes_to_an_idle_one() {
    for is_hung in [true, false] {
        let (mut scene, _) = disputed(5);
        let three = scene.join("w3", 10);
        let lost = scene.last_lease(three);
        let four = scene.join("w4", 10);
        assert!(scene.leases(four).is_empty());

        match is_hung {
            true => scene.tick(60_000),
            false => scene.act(Event::Left(three)),
        }

        assert_eq!(scene.revoked(lost.id), is_hung);
        assert_eq!(scene.last_lease(four).range, lost.range);
    }
}

#[test]
fn punctual_workers_get_the_ranges_of_a_wrong_worker_first() {
    // Given: w3 has kept a recount too long. w4 has it now, and w5 is idle. w2, whose count is
    // wrong, has all of another job.
    let (mut scene, job) = disputed(5);
    let late = scene.join("w3", 10);
    scene.tick(60_000);
    let (four, idle) = (scene.join("w4", 10), scene.join("w5", 10));
    assert_eq!((scene.leases(four).len(), scene.leases(idle).len()), (1, 0));
    scene.tick(180_000 - 1);
    scene.act(Event::Said(SessionId(2), WorkerMessage::Credit(10)));
    let others = [late, idle];
    for session in others {
        scene.act(Event::Said(session, WorkerMessage::Credit(0)));
    }
    scene.submit(1, 0);
    let lost = scene.last_lease(SessionId(2));
    for session in others {
        scene.act(Event::Said(session, WorkerMessage::Credit(10)));
    }

    // When w3 proves w2 wrong, at the moment at which its rest ends
    scene.now = 180_000;
    scene.report(late, reported(job, 4));

    // Then w5 is leased the range of w2.
    assert_eq!((scene.leases(late).len(), scene.last_lease(idle).range), (1, lost.range));
}

#[test]
fn a_recount_larger_than_all_credit_goes_to_an_idle_worker() {
    let (mut scene, job) = disputed(5);
    scene.submit(9, 1);
    let busy = scene.join("w3", 2);
    assert!(scene.last_lease(busy).recount.is_none(), "the other job comes first");

    let leases = scene.leases(busy);
    assert_eq!(leases.iter().map(|lease| lease.range.len()).sum::<u64>(), 2);
    scene.act(change(RequestId(10), JobId(2), Change::Cancel));

    let lease = scene.last_lease(busy);
    assert_eq!((lease.job, lease.recount.is_some()), (job, true));
}
