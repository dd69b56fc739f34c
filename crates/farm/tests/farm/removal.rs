//! Tests of the removal of ended jobs.

use farm::{Change, Event, JobId, JobState, Party, Refusal, Request, RequestId};

use crate::scene::{
    AUDIT_ALL, Scene, asked, at_work, audit, audits, change, plan, submission_by, work,
};

const REQUEST: RequestId = RequestId(9);

fn remove(job: JobId) -> Event {
    asked(REQUEST, Request::Remove(job))
}

#[test]
fn only_an_ended_job_without_open_decisions_is_removed() {
    let mut scene = Scene::new();
    let job = scene.submit(12, 0);
    let refusal = Refusal::NotOver(job, JobState::Running);
    assert_eq!(scene.ask(remove(job)), Err(refusal));
    // A job is not removed either while the ledger is writing its end, or a decision that may
    // invalidate its counts.
    scene.slow_disk = true;
    scene.act(change(RequestId(1), job, Change::Cancel));
    let refusal = Refusal::NotOver(job, JobState::Running);
    assert_eq!(scene.ask(remove(job)), Err(refusal));
    scene.flush();
    let party = Party { owner: "somebody".into(), machine: None };
    let (request, reason) = (RequestId(2), String::new());
    scene.act(asked(request, Request::Trust { party, trusted: false, reason }));
    assert_eq!(scene.ask(remove(job)), Err(Refusal::Unsettled(job)));
    scene.flush();
    scene.slow_disk = false;
    assert_eq!(scene.ask(remove(job)), Ok(job));
    assert_eq!(scene.ask(remove(job)), Err(Refusal::NoSuchJob(job)));
}

#[test]
fn removing_an_audited_job_revokes_its_recounts() {
    let (mut scene, job, worker) = at_work(12, 100);
    work(&mut scene, worker);
    scene.act(change(RequestId(1), job, audit(AUDIT_ALL)));
    assert_eq!((scene.state(job).0, audits(&scene, job)), (JobState::Done, (2, 0)));

    assert_eq!(scene.ask(remove(job)), Ok(job));

    let other = scene.join("w2", 100);
    assert_eq!(scene.leases(other), []);
}

#[test]
fn a_removed_job_frees_its_key_but_not_its_number() {
    let mut scene = Scene::new();
    scene.act(submission_by("lab", Some("nightly"), plan(12), None));
    let job = JobId(1);
    scene.act(change(RequestId(1), job, Change::Cancel));
    assert_eq!(scene.ask(remove(job)), Ok(job));
    scene.restart();
    assert_eq!(scene.farm.job(job), None);

    scene.act(submission_by("lab", Some("nightly"), plan(12), None));

    let next = scene.farm.job(JobId(2)).expect("it is another job");
    assert_eq!(next.spec.origin.key.as_deref(), Some("nightly"));
}

#[test]
fn jobs_are_listed_from_either_end_and_ended_ones_separately() {
    let mut scene = Scene::new();
    let jobs = [(); 4].map(|()| scene.submit(12, 0));
    for job in [jobs[0], jobs[2]] {
        scene.act(change(RequestId(1), job, Change::Cancel));
    }
    let all = |_| true;
    let numbers = |views: &mut dyn Iterator<Item = farm::JobView>| {
        views.map(|job| job.id.0).collect::<Vec<_>>()
    };
    let farm = &scene.farm;
    assert_eq!(numbers(&mut farm.jobs(jobs[1].., all).take(2)), [2, 3]);
    assert_eq!(numbers(&mut farm.jobs(.., all).rev().take(3)), [4, 3, 2]);
    assert_eq!(numbers(&mut farm.jobs(..jobs[1], all).rev()), [1]);
    assert_eq!(numbers(&mut farm.jobs(.., JobState::is_over).rev()), [3, 1]);
    assert_eq!(numbers(&mut farm.jobs(..jobs[2], JobState::is_over).rev()), [1]);
    assert!(numbers(&mut farm.jobs(jobs[3].., JobState::is_over)).is_empty());
    let states = JobState::ALL.map(|state| farm.jobs_in(state));
    assert_eq!(states, [2, 0, 0, 0, 2], "two run, and two are cancelled");
    assert_eq!(scene.farm.overview().ended_in_all, 2);
}
