//! Tests of workers that are proven wrong, and of the fate of their counts.

use farm::{Effect, JobState, LedgerCommand, Report};

use crate::scene::{Scene, asked_again, audits, checked_count, kernel, plan, range, report};

#[test]
fn a_settlement_needs_a_vote_other_than_a_liars() {
    // Given: w1 has contradicted itself.
    let mut scene = Scene::new();
    let job = scene.submit_audited(4);
    let [one, two, three] = ["w1", "w2", "w3"].map(|name| scene.join(name, 0));
    let of = |more, name: &str| {
        let (checked_count, kernel) = (checked_count(plan(4), range(0, 4), more), kernel(name));
        Report { checked_count, kernel, ..report(job, plan(4), range(0, 4)) }
    };
    scene.report(one, of(1, "portable"));
    scene.report(one, asked_again(of(0, "portable")));

    // When w2 agrees with w1's last count
    scene.report(two, asked_again(of(0, "portable")));

    // Then a trusted worker must agree, too.
    assert_eq!((scene.state(job), audits(&scene, job)), ((JobState::Running, 4), (1, 0)));
    scene.report(three, asked_again(of(0, "reference")));
    assert_eq!((scene.state(job), audits(&scene, job)), ((JobState::Done, 4), (0, 1)));
}

#[test]
fn no_job_is_done_while_a_liars_rows_are_being_invalidated() {
    // Given: w1 has counted all of a second job. Neither the job's end nor the proof that w1 lies
    // is durable.
    let mut scene = Scene::new();
    let (first, other) = (scene.submit_audited(2), scene.submit(3, 0));
    let (one, two, three) = (scene.join("w1", 0), scene.join("w2", 0), scene.join("w3", 0));
    let lie = checked_count(plan(2), range(0, 2), 1);
    scene.report(one, Report { checked_count: lie, ..report(first, plan(2), range(0, 2)) });
    scene.report(two, asked_again(report(first, plan(2), range(0, 2))));
    scene.report(one, report(other, plan(3), range(0, 2)));
    scene.slow_disk = true;
    scene.report(one, report(other, plan(3), range(2, 3)));
    scene.flush();
    scene.report(three, asked_again(report(first, plan(2), range(0, 2))));
    assert!(
        scene
            .commands
            .iter()
            .any(|r| matches!(r, LedgerCommand::Finish { job, .. } if *job == other))
    );

    scene.slow_disk = false;
    scene.flush();

    assert!(!scene.sent.contains(&Effect::AtRest(other)));
    assert_eq!(scene.state(other), (JobState::Running, 0));
    assert_eq!(scene.state(first), (JobState::Done, 2));
}
