//! Tests of workers that are proven wrong, and of the fate of their counts.

use farm::{AuditScope, Dismissal, Effect, JobState, LedgerCommand, Report, SessionId, Verdict};

use crate::stage::{
    Stage, asked_again, audits, checked_count, kernel, plan, provenance, range, recount, report,
    work,
};

#[test]
fn a_liar_is_named_and_its_confirmations_are_void() {
    // Given: w1 counts [0, 2) correctly and [2, 4) incorrectly. w2 confirms [0, 2), and w1 confirms
    // w2's [4, 6). Then w2 contradicts [2, 4).
    let mut stage = Stage::new();
    let job = stage.submit_audited(6);
    let (one, two) = (stage.join("w1", 0), stage.join("w2", 0));
    let of = |start, more, name: &str| {
        let range = range(start, start + 2);
        let (checked_count, kernel) = (checked_count(plan(6), range, more), kernel(name));
        Report { checked_count, kernel, ..report(job, plan(6), range) }
    };
    stage.report(one, of(0, 0, "portable"));
    stage.report(one, of(2, 7, "portable"));
    stage.report(two, of(4, 0, "portable"));
    stage.report(two, asked_again(of(0, 0, "search")));
    stage.report(one, asked_again(of(4, 0, "search")));
    assert_eq!(audits(&stage, job), (1, 2));
    let verdict = stage.report(two, asked_again(of(2, 0, "search")));
    assert_eq!(verdict, Some(Verdict::Disputed));

    // When w3 agrees with w2
    let three = stage.join("w3", 2);
    let lease = stage.last_lease(three);
    recount(&mut stage, three, lease, "portable");

    let liar = provenance("w1").principal.party(AuditScope::Machines);
    let named = |command: &LedgerCommand| matches!(command, LedgerCommand::Settle { wrong, .. } if *wrong == [liar.clone()]);
    assert!(stage.commands.iter().any(named));
    let reason = Dismissal::Distrusted;
    assert!(stage.sent.contains(&Effect::Dismiss(SessionId(1), reason)));
    // Then the range of w1 that w2 confirmed stays. The range of w2 that only w1 confirmed is counted
    // again.
    assert_eq!(stage.farm.job(job).map(|view| view.tasks_done), Some(6));
    assert_eq!(stage.last_lease(three).range, range(4, 6));
    work(&mut stage, three);
    assert_eq!((stage.state(job), audits(&stage, job)), ((JobState::Done, 6), (0, 3)));
}

#[test]
fn a_settlement_needs_a_vote_other_than_a_liars() {
    // Given: w1 has contradicted itself.
    let mut stage = Stage::new();
    let job = stage.submit_audited(4);
    let [one, two, three] = ["w1", "w2", "w3"].map(|name| stage.join(name, 0));
    let of = |more, name: &str| {
        let (checked_count, kernel) = (checked_count(plan(4), range(0, 4), more), kernel(name));
        Report { checked_count, kernel, ..report(job, plan(4), range(0, 4)) }
    };
    stage.report(one, of(1, "portable"));
    stage.report(one, asked_again(of(0, "portable")));

    // When w2 agrees with w1's last count
    stage.report(two, asked_again(of(0, "portable")));

    // Then a trusted worker must agree, too.
    assert_eq!((stage.state(job), audits(&stage, job)), ((JobState::Running, 4), (1, 0)));
    stage.report(three, asked_again(of(0, "search")));
    assert_eq!((stage.state(job), audits(&stage, job)), ((JobState::Done, 4), (0, 1)));
}

#[test]
fn no_job_is_done_while_a_liars_rows_are_being_invalidated() {
    // Given: w1 has counted all of a second job. Neither the job's end nor the proof that w1 lies
    // is durable.
    let mut stage = Stage::new();
    let (first, other) = (stage.submit_audited(2), stage.submit(3, 0));
    let (one, two, three) = (stage.join("w1", 0), stage.join("w2", 0), stage.join("w3", 0));
    let lie = checked_count(plan(2), range(0, 2), 1);
    stage.report(one, Report { checked_count: lie, ..report(first, plan(2), range(0, 2)) });
    stage.report(two, asked_again(report(first, plan(2), range(0, 2))));
    stage.report(one, report(other, plan(3), range(0, 2)));
    stage.slow_disk = true;
    stage.report(one, report(other, plan(3), range(2, 3)));
    stage.flush();
    stage.report(three, asked_again(report(first, plan(2), range(0, 2))));
    assert!(
        stage
            .commands
            .iter()
            .any(|r| matches!(r, LedgerCommand::Finish { job, .. } if *job == other))
    );

    stage.slow_disk = false;
    stage.flush();

    assert!(!stage.sent.contains(&Effect::AtRest(other)));
    assert_eq!(stage.state(other), (JobState::Running, 0));
    assert_eq!(stage.state(first), (JobState::Done, 2));
}
