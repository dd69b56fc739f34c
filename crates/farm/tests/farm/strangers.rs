//! Tests of workers that report, hold or lose ranges that they were not leased, and of principals
//! that an operator distrusts.

use std::time::Duration;

use farm::{
    AuditScope, Change, Dismissal, Effect, Event, Hello, Holding, JobId, JobState, Party, Request,
    RequestId, SessionId, Verdict,
};

use crate::stage::{
    OWNER, Stage, asked, audits, change, hello, noted, plan, provenance, range, report, report_of,
    work,
};

fn is_dismissed(stage: &Stage, session: SessionId, reason: Dismissal) -> bool {
    stage.sent.contains(&Effect::Dismiss(session, reason))
}

#[test]
fn a_part_of_a_recount_is_refused() {
    let mut stage = Stage::new();
    let job = stage.submit_audited(4);
    let (one, two) = (stage.join("w1", 0), stage.join("w2", 4));
    stage.report(one, report(job, plan(4), range(0, 4)));
    let lease = stage.last_lease(two);

    let verdict = stage.report_as_is(two, report_of(&lease, range(0, 2)));

    assert_eq!((verdict, audits(&stage, job)), (Some(Verdict::Invalid), (1, 0)));
}

#[test]
fn reconnecting_does_not_extend_a_deadline() {
    let mut stage = Stage::new();
    stage.submit(4, 0);
    let one = stage.join("w1", 4);
    let lease = stage.last_lease(one);
    let mut session = one;
    for second in 1..=70 {
        stage.tick(1_000 * second);
        stage.act(Event::Left(session));
        session = SessionId(100 + second);
        let hello = Hello { holding: vec![Holding::of_lease(&lease)], ..hello("w1", 4) };
        stage.join_as(session, OWNER, hello);
        assert_eq!(stage.revoked(lease.id), second >= 60, "after {second} s");
        if stage.revoked(lease.id) {
            break;
        }
    }
    stage.act(Event::Left(session));

    let honest = stage.join("w2", 4);
    assert_eq!(stage.last_lease(honest).range, lease.range);
}

fn decide(stage: &mut Stage, party: Party, trusted: bool) {
    let (request, reason) = (RequestId(5), "the fan is broken".into());
    stage.act(asked(request, Request::Trust { party, trusted, reason }));
    assert!(stage.sent.contains(&noted(request)));
}

#[test]
fn distrust_by_hand_dismisses_and_invalidates_counts() {
    // Given: w1 has counted all of a job that is done, and a part of two others. One of these is
    // cancelled.
    let mut stage = Stage::new();
    let [done, half, ended] = [stage.submit(3, 0), stage.submit(4, 0), stage.submit(5, 0)];
    let one = stage.join("w1", 0);
    stage.report(one, report(ended, plan(5), range(0, 3)));
    stage.act(change(RequestId(1), ended, Change::Cancel));
    stage.report(one, report(done, plan(3), range(0, 3)));
    stage.report(one, report(half, plan(4), range(0, 2)));
    assert_eq!(stage.state(done), (JobState::Done, 3));

    decide(&mut stage, provenance("w1").principal.party(AuditScope::Machines), false);

    assert!(is_dismissed(&stage, one, Dismissal::Distrusted));
    assert_eq!(stage.state(done), (JobState::Running, 0));
    assert_eq!(stage.state(half), (JobState::Running, 0));
    assert_eq!(stage.state(ended), (JobState::Cancelled, 3));
    let two = stage.join("w2", 10);
    work(&mut stage, two);
    assert_eq!(stage.state(done), (JobState::Done, 3));
}

#[test]
fn a_job_whose_counts_are_taken_back_took_the_time_of_both_countings() {
    let mut stage = Stage::new();
    let job = stage.submit(1, 0);
    for (worker, us) in [("w1", 2_000_000), ("w2", 3_000_000)] {
        let session = stage.join(worker, 1);
        let lease = stage.last_lease(session);
        stage.finish(session, &lease, us);
        assert_eq!(stage.state(job), (JobState::Done, 1));
        stage.tick(90_000);
        if worker == "w1" {
            decide(&mut stage, provenance(worker).principal.party(AuditScope::Machines), false);
        }
    }
    let took = stage.farm.job(job).expect("it exists").times.counting();
    assert_eq!(took, Some(Duration::from_secs(5)));
}

#[test]
fn a_reinstated_worker_may_work_even_after_a_restart() {
    let mut stage = Stage::new();
    stage.submit(3, 0);
    let party = provenance("w1").principal.party(AuditScope::Machines);
    decide(&mut stage, party.clone(), false);
    stage.join("w1", 3);
    assert!(is_dismissed(&stage, SessionId(1), Dismissal::Distrusted));

    decide(&mut stage, party, true);
    stage.restart();

    let one = stage.join("w1", 3);
    assert_eq!(stage.last_lease(one).job, JobId(1));
}

#[test]
fn distrusting_an_owner_distrusts_all_its_machines() {
    let mut stage = Stage::new();
    stage.submit(3, 0);
    let (one, two) = (stage.join("w1", 0), stage.join("w2", 0));

    decide(&mut stage, provenance("w1").principal.party(AuditScope::Owners), false);

    for session in [one, two] {
        assert!(is_dismissed(&stage, session, Dismissal::Distrusted));
    }
}
