//! Tests of workers that report, hold or lose ranges that they were not leased, and of principals
//! that an operator distrusts.

use std::time::Duration;

use farm::{
    AuditScope, Change, Dismissal, Effect, Event, Hello, Holding, JobId, JobState, Party, Request,
    RequestId, SessionId, Verdict,
};

use crate::scene::{
    OWNER, Scene, asked, at_work, audits, change, hello, noted, plan, provenance, range, report,
    report_of, work,
};

fn is_dismissed(scene: &Scene, session: SessionId, reason: Dismissal) -> bool {
    scene.sent.contains(&Effect::Dismiss(session, reason))
}

#[test]
fn a_part_of_a_recount_is_refused() {
    let mut scene = Scene::new();
    let job = scene.submit_audited(4);
    let (one, two) = (scene.join("w1", 0), scene.join("w2", 4));
    scene.report(one, report(job, plan(4), range(0, 4)));
    let lease = scene.last_lease(two);

    let verdict = scene.report_as_is(two, report_of(&lease, range(0, 2)));

    assert_eq!((verdict, audits(&scene, job)), (Some(Verdict::Invalid), (1, 0)));
}

#[test]
fn reconnecting_does_not_extend_a_deadline() {
    let (mut scene, _, one) = at_work(4, 4);
    let lease = scene.last_lease(one);
    let mut session = one;
    for second in 1..=70 {
        scene.tick(1_000 * second);
        scene.act(Event::Left(session));
        session = SessionId(100 + second);
        let hello = Hello { holding: vec![Holding::of_lease(&lease)], ..hello("w1", 4) };
        scene.join_as(session, OWNER, hello);
        assert_eq!(scene.revoked(lease.id), second >= 60, "after {second} s");
        if scene.revoked(lease.id) {
            break;
        }
    }
    scene.act(Event::Left(session));

    let honest = scene.join("w2", 4);
    assert_eq!(scene.last_lease(honest).range, lease.range);
}

fn decide(scene: &mut Scene, party: Party, trusted: bool) {
    let (request, reason) = (RequestId(5), "the fan is broken".into());
    scene.act(asked(request, Request::Trust { party, trusted, reason }));
    assert!(scene.sent.contains(&noted(request)));
}

#[test]
fn distrust_by_hand_dismisses_and_invalidates_counts() {
    // Given: w1 has counted all of a job that is done, and a part of two others. One of these is
    // cancelled.
    let mut scene = Scene::new();
    let [done, half, ended] = [scene.submit(3, 0), scene.submit(4, 0), scene.submit(5, 0)];
    let one = scene.join("w1", 0);
    scene.report(one, report(ended, plan(5), range(0, 3)));
    scene.act(change(RequestId(1), ended, Change::Cancel));
    scene.report(one, report(done, plan(3), range(0, 3)));
    scene.report(one, report(half, plan(4), range(0, 2)));
    assert_eq!(scene.state(done), (JobState::Done, 3));

    decide(&mut scene, provenance("w1").principal.party(AuditScope::Machines), false);

    assert!(is_dismissed(&scene, one, Dismissal::Distrusted));
    assert_eq!(scene.state(done), (JobState::Running, 0));
    assert_eq!(scene.state(half), (JobState::Running, 0));
    assert_eq!(scene.state(ended), (JobState::Cancelled, 3));
    let two = scene.join("w2", 10);
    work(&mut scene, two);
    assert_eq!(scene.state(done), (JobState::Done, 3));
}

#[test]
fn a_job_whose_counts_are_taken_back_took_the_time_of_both_countings() {
    let mut scene = Scene::new();
    let job = scene.submit(1, 0);
    for (worker, us) in [("w1", 2_000_000), ("w2", 3_000_000)] {
        let session = scene.join(worker, 1);
        let lease = scene.last_lease(session);
        scene.finish(session, &lease, us);
        assert_eq!(scene.state(job), (JobState::Done, 1));
        scene.tick(90_000);
        if worker == "w1" {
            decide(&mut scene, provenance(worker).principal.party(AuditScope::Machines), false);
        }
    }
    let took = scene.farm.job(job).expect("it exists").times.counting();
    assert_eq!(took, Some(Duration::from_secs(5)));
}

#[test]
fn a_reinstated_worker_may_work_even_after_a_restart() {
    let mut scene = Scene::new();
    scene.submit(3, 0);
    let party = provenance("w1").principal.party(AuditScope::Machines);
    decide(&mut scene, party.clone(), false);
    scene.join("w1", 3);
    assert!(is_dismissed(&scene, SessionId(1), Dismissal::Distrusted));

    decide(&mut scene, party, true);
    scene.restart();

    let one = scene.join("w1", 3);
    assert_eq!(scene.last_lease(one).job, JobId(1));
}

#[test]
fn distrusting_an_owner_distrusts_all_its_machines() {
    let mut scene = Scene::new();
    scene.submit(3, 0);
    let (one, two) = (scene.join("w1", 0), scene.join("w2", 0));

    decide(&mut scene, provenance("w1").principal.party(AuditScope::Owners), false);

    for session in [one, two] {
        assert!(is_dismissed(&scene, session, Dismissal::Distrusted));
    }
}
