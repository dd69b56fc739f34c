//! Tests of the owners of jobs: how many jobs an owner may have, and how a key identifies a job.

use farm::{
    Answer, AuditPolicy, AuditScope, Change, Effect, Event, JobId, JobSpec, JobState, Known,
    Origin, Refusal, Request, RequestId, Submission,
};

use crate::scene::{
    AUDIT_ALL, CONFIG, Scene, answered, asked, change, plan, spec, submission_by, work,
};

#[test]
fn the_number_of_unfinished_jobs_is_bounded() {
    let mut scene = Scene::new();
    for number in 1..CONFIG.max_jobs {
        scene.act(submission_by(&format!("owner {number}"), None, plan(8), None));
    }
    let submit = |scene: &mut Scene| scene.ask(submission_by("", None, plan(8), None));
    let refused = Err(Refusal::TooManyJobs(CONFIG.max_jobs));

    // A job counts even while the ledger is still writing it.
    scene.slow_disk = true;
    scene.act(submission_by("", None, plan(8), None));
    assert_eq!(submit(&mut scene), refused);
    scene.slow_disk = false;
    scene.flush();

    // A cancelled job does not count, and a paused one does.
    scene.act(change(RequestId(1), JobId(1), Change::Cancel));
    scene.act(change(RequestId(1), JobId(2), Change::Pause));
    submit(&mut scene).expect("there is room again");
    assert_eq!(submit(&mut scene), refused);
}

#[test]
fn the_number_of_jobs_of_an_owner_is_bounded() {
    let mut scene = Scene::new();
    let submit = |scene: &mut Scene, owner| scene.ask(submission_by(owner, None, plan(8), None));
    let keyed = || submission_by("lab", Some("first"), plan(8), None);
    scene.act(keyed());
    for _ in 2..CONFIG.max_jobs_per_owner {
        submit(&mut scene, "lab").expect("there is room");
    }
    let refused = Err(Refusal::TooManyOfOwner(CONFIG.max_jobs_per_owner));

    // A job counts even while the ledger is still writing it.
    scene.slow_disk = true;
    scene.act(submission_by("lab", None, plan(8), None));
    assert_eq!(submit(&mut scene, "lab"), refused);
    scene.slow_disk = false;
    scene.flush();
    assert_eq!(scene.ask(keyed()), Ok(JobId(1)), "a repeated key is answered");

    // Other owners have room. This owner has room again when a job has ended, even after a restart.
    submit(&mut scene, "guest").expect("it is the first of this owner");
    scene.restart();
    assert_eq!(submit(&mut scene, "lab"), refused);
    scene.act(change(RequestId(1), JobId(1), Change::Cancel));
    submit(&mut scene, "lab").expect("there is room again");
}

#[test]
fn a_key_names_one_job_of_its_owner() {
    let mut scene = Scene::new();
    let nightly = |owner| submission_by(owner, Some("nightly"), plan(8), None);

    // The key is known before the job is durable, and the answer waits until it is.
    scene.slow_disk = true;
    scene.act(nightly("lab"));
    scene.act(nightly("lab"));
    assert!(scene.sent.is_empty(), "{:?}", scene.sent);
    scene.slow_disk = false;
    scene.flush();
    let replies: Vec<_> = scene.sent.iter().filter_map(answered).collect();
    assert_eq!((scene.sent.len(), replies), (2, vec![Ok(JobId(1)); 2]));

    // The key stands for the same job after its end and after a restart.
    let worker = scene.join("w1", 8);
    work(&mut scene, worker);
    assert_eq!(scene.state(JobId(1)).0, JobState::Done);
    scene.restart();
    assert_eq!(scene.ask(nightly("lab")), Ok(JobId(1)));

    // Keys of another owner are separate, and every submission without a key is a new job.
    assert_eq!(scene.ask(nightly("guest")), Ok(JobId(2)));
    let unnamed = || submission_by("lab", None, plan(8), None);
    assert_eq!(scene.ask(unnamed()), Ok(JobId(3)));
    assert_eq!(scene.ask(unnamed()), Ok(JobId(4)));
}

#[test]
fn a_key_with_another_job_is_refused() {
    let owners = AuditPolicy { across: AuditScope::Owners, ..AUDIT_ALL };
    let some = AuditPolicy { share_ppm: 20_000, ..AUDIT_ALL };
    let by_reference = AuditPolicy { by_reference: true, ..AUDIT_ALL };
    let taken = Err(Refusal::KeyTaken(JobId(1)));
    for slow_disk in [false, true] {
        let ask = |first, tasks, again| {
            let mut scene = Scene::new();
            scene.slow_disk = slow_disk;
            scene.act(submission_by("lab", Some("k"), plan(8), first));
            scene.act(submission_by("lab", Some("k"), plan(tasks), again));
            scene.flush();
            let refused = scene.sent.iter().filter_map(answered).find(Result::is_err);
            refused.unwrap_or(Ok(JobId(1)))
        };
        assert_eq!(ask(None, 9, None), taken, "another plan");
        for stronger in [some, AUDIT_ALL, owners] {
            assert_eq!(ask(None, 8, Some(stronger)), taken);
            assert_eq!(ask(Some(stronger), 8, None), Ok(JobId(1)));
            assert_eq!(ask(Some(stronger), 8, Some(stronger)), Ok(JobId(1)));
        }
        assert_eq!(ask(Some(some), 8, Some(AUDIT_ALL)), taken, "a larger share");
        assert_eq!(ask(Some(AUDIT_ALL), 8, Some(owners)), taken, "between owners");
        assert_eq!(ask(Some(AUDIT_ALL), 8, Some(by_reference)), taken, "by another method");
        let another_seed = AuditPolicy { seed: 77, ..some };
        assert_eq!(ask(Some(owners), 8, Some(another_seed)), Ok(JobId(1)), "seeds are drawn anew");
    }
}

/// A submission of several jobs of one owner, with their keys.
fn together(jobs: &[(&str, u64)]) -> Event {
    let jobs = jobs.iter().map(|&(key, tasks)| {
        let origin = Origin { owner: "lab".into(), key: Some(key.into()) };
        let known = Box::new(Known::nothing());
        Submission { spec: JobSpec { origin, ..spec(plan(tasks)) }, audit: None, known }
    });
    asked(RequestId(8), Request::Submit(jobs.collect()))
}

#[test]
fn all_jobs_of_a_submission_are_added_or_none() {
    let numbers = |scene: &Scene| -> Vec<_> {
        let of = |effect: &Effect| match effect {
            Effect::Reply(_, Ok(Answer::Jobs(jobs))) => {
                Some(jobs.iter().map(|job| job.id.0).collect::<Vec<_>>())
            }
            _ => None,
        };
        scene.sent.iter().filter_map(of).collect()
    };
    let mut scene = Scene::new();
    scene.slow_disk = true;

    // The number of a job that the ledger is still writing is returned, too. A submission that is
    // refused removes no job.
    scene.act(together(&[("a", 8), ("b", 9)]));
    scene.act(together(&[("b", 9), ("c", 10)]));
    scene.act(together(&[("d", 8), ("b", 10)]));
    assert!(numbers(&scene).is_empty());
    scene.flush();
    assert_eq!(numbers(&scene), [[1, 2], [2, 3]]);
    let refusals = scene.sent.iter().filter_map(answered).filter(Result::is_err);
    assert_eq!(refusals.collect::<Vec<_>>(), [Err(Refusal::KeyTaken(JobId(2)))]);
    assert_eq!(scene.farm.jobs(.., |_| true).count(), 3);

    // If there are too many jobs, none of them is added.
    scene.slow_disk = false;
    let names: Vec<String> = (0..CONFIG.max_jobs_per_owner).map(|at| format!("job {at}")).collect();
    let jobs: Vec<_> = names.iter().map(|name| (name.as_str(), 8)).collect();
    scene.act(together(&jobs[2..]));
    assert_eq!(scene.farm.jobs(.., |_| true).count(), 3);
    scene.act(together(&jobs[3..]));
    assert_eq!(scene.farm.jobs(.., |_| true).count(), CONFIG.max_jobs_per_owner);
}
