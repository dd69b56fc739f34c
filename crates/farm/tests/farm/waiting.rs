//! Tests of what a job waits for.

use board::MethodChoice;
use farm::{
    AuditPolicy, AuditScope, Change, Event, Hello, JobId, JobState, Known, Method, Party, Plan,
    Report, Request, RequestId, SessionId, WorkerMessage,
};

use crate::fair::{Model, step};
use crate::scene::{
    AUDIT_ALL, OWNER, Scene, asked, at_work, audit, audits, change, checked_count, hello, plan,
    proven, range, report, spec, submission_by, total,
};

fn waits_for(scene: &Scene, job: JobId) -> Option<String> {
    scene.farm.job(job).expect("it exists").waits_for
}

fn submit_by(scene: &mut Scene, owner: &str, audit: Option<AuditPolicy>) -> JobId {
    scene.submitted(submission_by(owner, None, plan(4), audit))
}

#[test]
fn a_job_that_is_worked_on_waits_for_nobody() {
    let mut scene = Scene::new();
    let job = scene.submit(100, 0);
    let waits = |why: &str| Some(format!("a worker: {why}; `queens worker` starts one"));
    assert_eq!(waits_for(&scene, job), waits("none is connected"));
    scene.act(change(RequestId(1), job, Change::Pause));
    let leaving = scene.join("w2", 10);
    scene.act(Event::Said(leaving, WorkerMessage::Draining));
    scene.act(change(RequestId(2), job, Change::Resume));
    assert_eq!(waits_for(&scene, job), waits("those that are connected take nothing more"));
    assert!(scene.farm.job(job).expect("it exists").is_waiting());
    scene.join("w1", 10);
    assert_eq!(waits_for(&scene, job), None, "a worker holds ranges of it");
    assert!(!scene.farm.job(job).expect("it exists").is_waiting());
    scene.act(change(RequestId(3), job, Change::Pause));
    assert_eq!(waits_for(&scene, job), Some(format!("`queens resume {job}`: it is paused")));
}

#[test]
fn a_worker_is_leased_only_jobs_by_the_methods_that_it_knows() {
    // Given a job by `rows`, and a worker that knows only others
    let mut scene = Scene::new();
    let job = scene.submit(100, 5);
    let methods = vec![MethodChoice::Colours, MethodChoice::Prefixes { rows: None }];
    let stranger = SessionId(1);
    scene.join_as(stranger, OWNER, Hello { methods, ..hello("w1", 10) });

    // Then the worker is leased nothing of it, and the job says for whom it waits.
    assert_eq!(scene.leases(stranger), []);
    let view = scene.farm.job(job).expect("it exists");
    assert_eq!((view.able_workers, view.is_waiting()), (0, true));
    let missing = "a worker that counts by rows: those that are connected do not";
    assert_eq!(view.waits_for.as_deref(), Some(missing));

    // When there is a job of its methods, although of lower priority, then it is leased that one.
    let by_colours = Plan { method: Method::Colours, ..plan(100) };
    let other = scene.submit_spec(spec(by_colours), None, Known::nothing());
    assert_eq!(scene.last_lease(stranger).job, other);
    assert_eq!(waits_for(&scene, job).as_deref(), Some(missing));

    // And when somebody comes who knows `rows`, the job waits no more.
    let methods = vec![MethodChoice::Rows { rows: None }];
    scene.join_as(SessionId(2), OWNER, Hello { methods, ..hello("w2", 10) });
    assert_eq!(scene.last_lease(SessionId(2)).job, job);
    assert_eq!(waits_for(&scene, job), None);
}

/// An audit and a tail that is leased twice are no way around it.
#[test]
fn a_second_count_waits_for_a_worker_that_knows_the_method() {
    let mut scene = Scene::new();
    let job = scene.submit_audited(4);
    let worker = scene.join("w1", 100);
    let methods = vec![MethodChoice::Colours];
    scene.join_as(SessionId(2), OWNER, Hello { methods, ..hello("w2", 10) });
    while scene.farm.job(job).expect("it exists").tasks_done < 4 {
        let lease = scene.last_lease(worker);
        scene.finish(worker, &lease, 1_000);
    }
    assert_eq!(scene.leases(SessionId(2)), []);
    let why = waits_for(&scene, job).expect("it waits");
    assert!(why.contains("none that counts by rows is connected"), "{why}");
    let third = scene.join("w3", 100);
    assert!(scene.last_lease(third).recount.is_some());
}

#[test]
fn a_job_waits_for_the_first_of_those_that_are_served_before_it() {
    let mut scene = Scene::new();
    let (low, first) = (scene.submit(100, 0), scene.submit(100, 1));
    scene.join("w1", 4);
    let [equal, urgent] = [1, 2].map(|priority| scene.submit(100, priority));
    let behind = |job, why| Some(format!("job {job}, which is served first as {why}"));
    let higher = "its priority is higher";
    assert_eq!(waits_for(&scene, low), behind(first, higher));
    assert_eq!(waits_for(&scene, equal), behind(first, "it was submitted earlier"));
    assert_eq!(waits_for(&scene, urgent), None, "it is served before all others");
    let awaits_turn = |job| scene.farm.job(job).expect("it exists").awaits_turn;
    assert_eq!([low, urgent].map(awaits_turn), [true, false]);
    scene.join("w2", 4);
    assert_eq!(waits_for(&scene, equal), behind(urgent, higher), "the highest priority of both");
}

#[test]
fn a_job_behind_a_shorter_one_says_when_it_is_expected_to_start() {
    let (mut scene, first, session) = at_work(6_000, 1 << 40);
    // It counts ten tasks a second.
    let mut models = [Model::new(session, 0.01)];
    let behind = scene.submit_spec(spec(total(20, 1 << 40)), None, Known::nothing());
    let why = format!("job {first}, which is served first as less of it is left");
    assert_eq!(waits_for(&scene, behind), Some(why.clone()), "nobody knows how long it takes");
    while scene.farm.job(first).expect("it exists").tasks_done < 3_000 {
        step(&mut scene, &mut models);
    }
    let says = |scene: &Scene| waits_for(scene, behind).filter(|says| says.contains("starts in"));
    while says(&scene).is_none() {
        step(&mut scene, &mut models);
        assert!(scene.now < 500_000, "it is known once half of the job is counted");
    }
    // That is 300 seconds, and a sixteenth more for the job behind it.
    assert_eq!(says(&scene), Some(format!("{why} (starts in about 6 min)")));
}

#[test]
fn a_job_waits_for_the_turn_of_its_owner() {
    let mut scene = Scene::new();
    let anns = submit_by(&mut scene, "ann", None);
    scene.join("w1", 4);
    let bobs = submit_by(&mut scene, "bob", None);
    let turn = format!("its owner's turn: workers count job {anns} of another");
    assert_eq!(waits_for(&scene, bobs), Some(turn));
}

#[test]
fn second_counts_that_no_worker_may_give_are_named_with_what_would_help() {
    let machine = "a worker on another machine to count 1 range again";
    let owner = "a worker of another owner to count 1 range again";
    for (across, is_audited_later, who) in [
        (AuditScope::Machines, false, machine),
        (AuditScope::Owners, false, owner),
        (AuditScope::Machines, true, machine),
        (AuditScope::Owners, true, owner),
    ] {
        let mut scene = Scene::new();
        let policy = AuditPolicy { across, ..AUDIT_ALL };
        let job = submit_by(&mut scene, "ann", (!is_audited_later).then_some(policy));
        let worker = scene.join("w1", 100);
        while scene.farm.job(job).expect("it exists").tasks_done < 4 {
            let lease = scene.last_lease(worker);
            scene.finish(worker, &lease, 1_000);
        }
        if is_audited_later {
            scene.act(change(RequestId(9), job, audit(policy)));
        }
        let state = scene.farm.job(job).expect("it exists").state;
        assert_eq!(state == JobState::Done, is_audited_later);
        let why = waits_for(&scene, job).expect("it waits");
        assert!(why.starts_with(who) && why.contains("queens audit 1 --withdraw"), "{why}");
        // A later audit is across whom it says. One that does not say narrows nothing, nor does a
        // withdrawal.
        let (machines, owners) = (AuditScope::Machines, AuditScope::Owners);
        for (share_ppm, wanted, narrows, across) in [
            (AuditPolicy::ALL, owners, true, owners),
            (AuditPolicy::ALL, machines, false, owners),
            (0, machines, true, owners),
            (AuditPolicy::ALL, machines, true, machines),
            (0, owners, false, machines),
        ] {
            let policy = AuditPolicy { share_ppm, across: wanted, ..AUDIT_ALL };
            scene.act(change(RequestId(10), job, Change::Audit { policy, narrows }));
            let policy = scene.farm.job(job).expect("it exists").audit.expect("it has one");
            assert_eq!(policy.across, across);
        }
    }
}

/// Otherwise one late count of an owner held a job for ever, and nobody saw why.
#[test]
fn a_range_that_an_owner_doubts_waits_for_others_although_its_workers_are_connected() {
    for (across, who) in [
        (AuditScope::Machines, "a worker on another machine"),
        (AuditScope::Owners, "a worker of another owner"),
    ] {
        // Given a row of w1 that no audit has chosen, and a late count of eve that contradicts it
        let mut scene = Scene::new();
        let policy = AuditPolicy { share_ppm: 1, across, ..AUDIT_ALL };
        let job = submit_by(&mut scene, "ann", Some(policy));
        let (one, eve) = (scene.join("w1", 0), SessionId(2));
        scene.report(one, report(job, plan(4), range(0, 3)));
        scene.join_as(eve, "eve", hello("w2", 0));
        let checked_count = checked_count(plan(4), range(0, 3), 1);
        let lie = Report { checked_count, ..report(job, plan(4), range(0, 3)) };
        scene.report_as_is(eve, proven(lie, "eve"));

        // When the rest is counted, while eve has room for work
        scene.act(Event::Said(eve, WorkerMessage::Credit(10)));
        scene.report(one, report(job, plan(4), range(3, 4)));

        // Then the job says for whom it waits, and what ends that.
        assert_eq!((scene.state(job), audits(&scene, job)), ((JobState::Running, 4), (1, 0)));
        let starts = format!("{who}, and not of eve, whose late counts differ, to count 1 range");
        let why = waits_for(&scene, job).expect("it waits");
        assert!(why.starts_with(&starts), "{why}");
        assert!(why.contains(&format!("`queens audit {job} --withdraw`")), "{why}");

        // A trusted worker of eve may count it again, unless it is on the machine that was first.
        for (session, owner, machine, may) in [(3, OWNER, "w1", false), (4, "eve", "w4", true)] {
            let hello = Hello { instance: session, ..hello(machine, 10) };
            let session = SessionId(session);
            scene.act(Event::Joined { session, owner: owner.into(), is_trusted: true, hello });
            let is_asked = scene.leases(session).iter().any(|lease| lease.recount.is_some());
            assert_eq!((is_asked, waits_for(&scene, job).is_none()), (may, may));
            scene.act(Event::Left(session));
        }

        // And a withdrawal ends the doubt.
        let policy = AuditPolicy { share_ppm: 0, ..policy };
        scene.act(change(RequestId(8), job, Change::Audit { policy, narrows: false }));
        assert_eq!(scene.state(job), (JobState::Done, 4));
    }
}

/// Otherwise nobody sees why all ranges wait, although the audit chooses none of them.
#[test]
fn second_counts_that_are_due_to_a_distrusted_machine_name_it() {
    for across in [AuditScope::Machines, AuditScope::Owners] {
        let mut scene = Scene::new();
        let party = Party { owner: OWNER.into(), machine: Some("w9".into()) };
        let reason = String::from("bad memory");
        let distrust = Request::Trust { party: party.clone(), trusted: false, reason };
        scene.act(asked(RequestId(1), distrust));
        // Of a million ranges, the policy chooses one.
        let policy = AuditPolicy { share_ppm: 1, across, ..AUDIT_ALL };
        let job = submit_by(&mut scene, "ann", Some(policy));
        let worker = scene.join("w1", 100);
        let count = |scene: &mut Scene, job| {
            while scene.farm.job(job).expect("it exists").tasks_done < 4 {
                let lease = scene.last_lease(worker);
                scene.finish(worker, &lease, 1_000);
            }
        };
        count(&mut scene, job);
        let why = waits_for(&scene, job).expect("it waits");
        for part in
            ["while rack7/w9 is distrusted", "`queens trust rack7/w9 --reason", "--withdraw"]
        {
            assert!(why.contains(part), "{why}");
        }

        // When the machine is trusted again, what comes later is not counted again, and what waits
        // goes on waiting for nobody in particular.
        scene.act(asked(
            RequestId(2),
            Request::Trust { party, trusted: true, reason: "new".into() },
        ));
        let why = waits_for(&scene, job).expect("it waits");
        assert!(!why.contains("distrusted"), "{why}");
        let later = submit_by(&mut scene, "ann", Some(policy));
        count(&mut scene, later);
        assert_eq!(scene.state(later), (JobState::Done, 4));
        scene.act(change(RequestId(3), job, audit(AuditPolicy { share_ppm: 0, ..policy })));
        assert_eq!(scene.state(job), (JobState::Done, 4));
    }
}
