//! Tests of disputes, in which two counts of one range differ.

use farm::{
    Change, Effect, Event, JobId, JobState, Report, RequestId, SessionId, Verdict, WorkerMessage,
};

use crate::stage::{
    Stage, asked_again, audits, change, checked_count, kernel, plan, range, recount, report, work,
};

/// A job of 4 tasks under audit. w1 has counted everything as 4, and w2 has contradicted with
/// `claim`.
pub fn disputed(claim: u64) -> (Stage, JobId) {
    let mut stage = Stage::new();
    let job = stage.submit_audited(4);
    let (one, two) = (stage.join("w1", 0), stage.join("w2", 0));
    stage.report(one, report(job, plan(4), range(0, 4)));
    let verdict = stage.report(two, reported(job, claim));
    assert_eq!(verdict, Some(Verdict::Disputed));
    (stage, job)
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

fn contradictions(stage: &Stage) -> usize {
    stage.sent.iter().filter(|effect| matches!(effect, Effect::Contradicted(..))).count()
}

#[test]
fn an_unasked_contradiction_causes_a_recount_but_no_dispute() {
    // Given: w1 has counted 4 of 5 tasks.
    let mut stage = Stage::new();
    let job = stage.submit(5, 0);
    let (one, two) = (stage.join("w1", 0), stage.join("w2", 0));
    stage.report(one, report(job, plan(5), range(0, 4)));

    // When w2, which was leased the range before, reports another count
    let checked_count = checked_count(plan(5), range(0, 4), 7);
    let late = Report { checked_count, ..report(job, plan(5), range(0, 4)) };
    assert_eq!(stage.report(two, late), Some(Verdict::Superseded));

    // Then another worker is asked, and confirms w1.
    assert_eq!((contradictions(&stage), audits(&stage, job)), (1, (1, 0)));
    let three = stage.join("w3", 10);
    let lease = stage.leases(three)[0];
    assert_eq!((lease.range, lease.recount.is_some()), (range(0, 4), true));
    recount(&mut stage, three, lease, "reference");
    work(&mut stage, three);
    assert_eq!((stage.state(job), audits(&stage, job)), ((JobState::Done, 5), (0, 1)));
}

#[test]
fn an_unasked_count_does_not_reopen_a_job() {
    let mut stage = Stage::new();
    let job = stage.submit_audited(4);
    let (one, two, three) = (stage.join("w1", 0), stage.join("w2", 0), stage.join("w3", 0));
    stage.report(one, report(job, plan(4), range(0, 4)));
    stage.report(two, Report { kernel: kernel("reference"), ..reported(job, 4) });
    assert_eq!(stage.state(job), (JobState::Done, 4));

    // One is a late first count. The other is a recount that another worker has answered before.
    let verdicts = [unasked(job, 5), reported(job, 5)].map(|late| stage.report(three, late));

    assert_eq!(verdicts, [Some(Verdict::Superseded); 2]);
    assert_eq!((stage.state(job), contradictions(&stage)), ((JobState::Done, 4), 2));
}

#[test]
fn a_worker_votes_only_once_and_only_if_it_was_asked() {
    let (mut stage, job) = disputed(5);
    let three = stage.join("w3", 0);
    assert_eq!(stage.report(three, unasked(job, 5)), Some(Verdict::Superseded));
    for session in [SessionId(1), SessionId(2)] {
        stage.act(Event::Said(session, WorkerMessage::Credit(100)));
        assert!(stage.leases(session).is_empty());
    }

    let again = stage.report(SessionId(2), reported(job, 5));

    assert_eq!(again, Some(Verdict::Superseded));
    assert_eq!(stage.state(job), (JobState::Running, 4));
    assert_eq!(stage.farm.job(job).expect("it exists").disputes, 1);
}

#[test]
fn a_recount_of_replaced_rows_decides_nothing() {
    // Given: w3 was asked for a range that has become two rows of w1 and w2.
    let mut stage = Stage::new();
    let job = stage.submit_audited(4);
    let (one, two) = (stage.join("w1", 0), stage.join("w2", 0));
    let three = stage.join("w3", 0);
    stage.report(one, report(job, plan(4), range(0, 2)));
    stage.report(two, report(job, plan(4), range(2, 4)));

    assert_eq!(stage.report(three, reported(job, 5)), Some(Verdict::Superseded));

    assert_eq!(stage.farm.job(job).expect("it exists").disputes, 0);
    assert_eq!((contradictions(&stage), audits(&stage, job)), (1, (2, 0)));
}

#[test]
fn a_settled_dispute_revokes_its_recount() {
    let (mut stage, job) = disputed(5);
    let three = stage.join("w3", 10);
    let recount = stage.last_lease(three);
    let four = stage.join("w4", 0);

    stage.report(four, reported(job, 4));

    assert!(stage.revoked(recount.id));
    assert_eq!(stage.state(job), (JobState::Done, 4));
}

#[test]
fn a_recount_of_a_hung_or_lost_worker_goes_to_an_idle_one() {
    for is_hung in [true, false] {
        let (mut stage, _) = disputed(5);
        let three = stage.join("w3", 10);
        let lost = stage.last_lease(three);
        let four = stage.join("w4", 10);
        assert!(stage.leases(four).is_empty());

        match is_hung {
            true => stage.tick(60_000),
            false => stage.act(Event::Left(three)),
        }

        assert_eq!(stage.revoked(lost.id), is_hung);
        assert_eq!(stage.last_lease(four).range, lost.range);
    }
}

#[test]
fn punctual_workers_get_the_ranges_of_a_wrong_worker_first() {
    // Given: w3 has kept a recount too long. w4 has it now, and w5 is idle. w2, whose count is
    // wrong, has all of another job.
    let (mut stage, job) = disputed(5);
    let late = stage.join("w3", 10);
    stage.tick(60_000);
    let (four, idle) = (stage.join("w4", 10), stage.join("w5", 10));
    assert_eq!((stage.leases(four).len(), stage.leases(idle).len()), (1, 0));
    stage.tick(180_000 - 1);
    stage.act(Event::Said(SessionId(2), WorkerMessage::Credit(10)));
    let others = [late, idle];
    for session in others {
        stage.act(Event::Said(session, WorkerMessage::Credit(0)));
    }
    stage.submit(1, 0);
    let lost = stage.last_lease(SessionId(2));
    for session in others {
        stage.act(Event::Said(session, WorkerMessage::Credit(10)));
    }

    // When w3 proves w2 wrong, at the moment at which its rest ends
    stage.now = 180_000;
    stage.report(late, reported(job, 4));

    // Then w5 is leased the range of w2.
    assert_eq!((stage.leases(late).len(), stage.last_lease(idle).range), (1, lost.range));
}

#[test]
fn a_recount_larger_than_all_credit_goes_to_an_idle_worker() {
    let (mut stage, job) = disputed(5);
    stage.submit(9, 1);
    let busy = stage.join("w3", 2);
    assert!(stage.last_lease(busy).recount.is_none(), "the other job comes first");

    let leases = stage.leases(busy);
    assert_eq!(leases.iter().map(|lease| lease.range.len()).sum::<u64>(), 2);
    stage.act(change(RequestId(10), JobId(2), Change::Cancel));

    let lease = stage.last_lease(busy);
    assert_eq!((lease.job, lease.recount.is_some()), (job, true));
}
