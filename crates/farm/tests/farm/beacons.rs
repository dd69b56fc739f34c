//! Somebody commits to counts, and a public value decides which of them are looked at.

use farm::{
    AuditPolicy, Beacon, Effect, Event, JobId, JobState, Refusal, RequestId, RowsRoot, Verdict,
};

use crate::stage::{
    AUDIT_ALL, Stage, audits, kernel, plan, range, recount, report, submission, tally, work,
};

const REQUEST: RequestId = RequestId(71);

fn answer(stage: &mut Stage, event: Event) -> Result<JobId, Refusal> {
    let before = stage.sent.len();
    stage.act(event);
    let mut sent = stage.sent[before..].iter();
    let answer = sent.find_map(|effect| match effect {
        Effect::Reply { request: REQUEST, answer } => Some(*answer),
        _ => None,
    });
    answer.expect("it is answered")
}

fn commit(stage: &mut Stage, job: JobId) -> Result<RowsRoot, Refusal> {
    let id = answer(stage, Event::CommitAsked { request: REQUEST, by: "lab".into(), job })?;
    Ok(committed(stage, id).expect("that is what was asked for"))
}

fn committed(stage: &Stage, job: JobId) -> Option<RowsRoot> {
    stage.farm.job(job).expect("it exists").committed
}

fn audit(stage: &mut Stage, job: JobId, policy: AuditPolicy) -> Result<JobId, Refusal> {
    answer(stage, Event::AuditAsked { request: REQUEST, by: "lab".into(), job, policy })
}

fn beacon(root: RowsRoot, value: &str) -> Beacon {
    Beacon { root, value: value.parse().expect("it is visible") }
}

/// A job of 40 tasks that w1 has counted one by one.
fn counted() -> (Stage, JobId) {
    let mut stage = Stage::new();
    let job = stage.submit(40, 0);
    let one = stage.join("w1", 0);
    for task in 0..40 {
        stage.report(one, report(job, plan(40), range(task, task + 1)));
    }
    assert_eq!(stage.state(job), (JobState::Done, 40));
    (stage, job)
}

#[test]
fn a_beacon_draws_among_the_counts_that_were_committed_to() {
    let (mut stage, job) = counted();
    let root = commit(&mut stage, job).expect("it is done");
    assert_eq!(commit(&mut stage, job), Ok(root), "once more");
    stage.restart();
    assert_eq!(committed(&stage, job), Some(root));

    let policy = AuditPolicy { share_ppm: 250_000, ..AUDIT_ALL }.drawn_by(beacon(root, "4f2c"));
    assert_eq!(audit(&mut stage, job, policy), Ok(job));

    // Everybody may know what is chosen, and why, before it is counted.
    let view = stage.farm.job(job).expect("it exists");
    let revealed = view.audit.and_then(|audit| audit.revealed);
    assert_eq!((view.state, revealed), (JobState::Running, Some(policy)));
    let plan = plan(40).fingerprint();
    let chosen: Vec<_> = (0..40)
        .map(|task| range(task, task + 1))
        .filter(|&task| policy.chooses(plan, task))
        .collect();
    assert_eq!(audits(&stage, job), (chosen.len() as u64, 0));
    let two = stage.join("w2", 1);
    work(&mut stage, two);
    let lent: Vec<_> = stage.loans(two).into_iter().map(|loan| loan.range).collect();
    assert_eq!(lent, chosen);
    assert_eq!((stage.state(job), committed(&stage, job)), ((JobState::Done, 40), Some(root)));
}

#[test]
fn nothing_is_drawn_before_it_was_committed_to_nor_among_other_counts() {
    let (mut stage, job) = counted();
    let other = RowsRoot([1; 32]);
    let drawn = |root| AUDIT_ALL.drawn_by(beacon(root, "4f2c"));
    assert_eq!(audit(&mut stage, job, drawn(other)), Err(Refusal::NotCommitted(job)));

    commit(&mut stage, job).expect("it is done");

    assert_eq!(audit(&mut stage, job, drawn(other)), Err(Refusal::NotCommitted(job)));
    assert_eq!((stage.state(job).0, audits(&stage, job)), (JobState::Done, (0, 0)));
}

#[test]
fn only_a_job_that_is_done_and_rests_is_committed_to() {
    let missing = JobId(9);
    let mut stage = Stage::new();
    assert_eq!(commit(&mut stage, missing), Err(Refusal::NoSuchJob(missing)));
    let job = stage.submit_audited(4);
    assert_eq!(commit(&mut stage, job), Err(Refusal::NotDone(job, JobState::Running)));

    let (mut stage, job) = counted();
    stage.slow_disk = true;
    stage.act(Event::AuditAsked {
        request: RequestId(1),
        by: "lab".into(),
        job,
        policy: AUDIT_ALL,
    });
    assert_eq!(commit(&mut stage, job), Err(Refusal::Unsettled(job)));
}

#[test]
fn counts_that_turn_out_to_be_wrong_are_committed_to_no_more() {
    // Given: w1 has counted one too many, and somebody has committed to that.
    let mut stage = Stage::new();
    stage.act(submission(plan(4), 0, 0, None));
    let (job, one) = (JobId(1), stage.join("w1", 0));
    let lie =
        farm::Report { tally: tally(plan(4), range(0, 4), 1), ..report(job, plan(4), range(0, 4)) };
    assert_eq!(stage.report(one, lie), Some(Verdict::Accepted));
    let root = commit(&mut stage, job).expect("it is done");
    let policy = AUDIT_ALL.drawn_by(beacon(root, "4f2c"));
    audit(&mut stage, job, policy).expect("it is committed to");

    // When two others say so
    for worker in ["w2", "w3"] {
        assert_eq!(committed(&stage, job), Some(root));
        let session = stage.join(worker, 4);
        let loan = stage.last_loan(session);
        recount(&mut stage, session, loan, "search");
    }

    // Then the right counts are to be committed to anew, and have another root.
    assert_eq!((stage.state(job), committed(&stage, job)), ((JobState::Done, 4), None));
    assert_eq!(audit(&mut stage, job, policy), Err(Refusal::NotCommitted(job)));
    stage.restart();
    assert_eq!(committed(&stage, job), None);
    let right = commit(&mut stage, job).expect("it is done");
    assert_ne!(right, root);
    let again = AUDIT_ALL.drawn_by(beacon(right, "4f2c"));
    assert_eq!(audit(&mut stage, job, again), Ok(job));
}

#[test]
fn counts_that_turn_out_to_be_right_stay_committed_to() {
    // Given right counts that were committed to, and a worker that was asked again and contradicts
    let mut stage = Stage::new();
    stage.act(submission(plan(4), 0, 0, None));
    let (job, one) = (JobId(1), stage.join("w1", 0));
    assert_eq!(stage.report(one, report(job, plan(4), range(0, 4))), Some(Verdict::Accepted));
    let root = commit(&mut stage, job).expect("it is done");
    let policy = AUDIT_ALL.drawn_by(beacon(root, "4f2c"));
    audit(&mut stage, job, policy).expect("it is committed to");
    let liar = stage.join("w2", 4);
    let loan = stage.last_loan(liar);
    let lie = farm::Report {
        tally: tally(plan(4), range(0, 4), 1),
        kernel: kernel("search"),
        lease: loan.lease,
        proof: loan.proof,
        ..report(job, plan(4), range(0, 4))
    };
    assert_eq!(stage.report_as_is(liar, lie), Some(Verdict::Disputed));

    // When a third one agrees with the first
    let third = stage.join("w3", 4);
    let loan = stage.last_loan(third);
    recount(&mut stage, third, loan, "search");

    // Then nobody has to commit to them anew.
    assert_eq!((stage.state(job), committed(&stage, job)), ((JobState::Done, 4), Some(root)));
    stage.restart();
    assert_eq!(committed(&stage, job), Some(root));
}

/// w1 has counted a job with one too many, which somebody has committed to, and all of another one, which was committed to
/// as well; w2 has contradicted the first, and w3 is asked.
fn about_to_settle() -> (Stage, [JobId; 2], farm::Loan) {
    let mut stage = Stage::new();
    let one = stage.join("w1", 0);
    let jobs = [stage.submit(4, 0), stage.submit(4, 0)];
    for (job, more) in jobs.into_iter().zip([1, 0]) {
        let tally = tally(plan(4), range(0, 4), more);
        stage.report(one, farm::Report { tally, ..report(job, plan(4), range(0, 4)) });
        commit(&mut stage, job).expect("it is done");
    }
    audit(&mut stage, jobs[0], AUDIT_ALL).expect("it is done");
    let two = stage.join("w2", 4);
    let loan = stage.last_loan(two);
    recount(&mut stage, two, loan, "search");
    let three = stage.join("w3", 4);
    let loan = stage.last_loan(three);
    (stage, jobs, loan)
}

#[test]
fn nothing_is_drawn_while_rows_may_be_on_their_way_out() {
    let (mut stage, [job, other], loan) = about_to_settle();
    let roots = [job, other].map(|job| committed(&stage, job).expect("it holds"));

    stage.slow_disk = true;
    recount(&mut stage, farm::SessionId(3), loan, "search");

    for (job, root) in [job, other].into_iter().zip(roots) {
        let policy = AUDIT_ALL.drawn_by(beacon(root, "4f2c"));
        assert_eq!(audit(&mut stage, job, policy), Err(Refusal::Unsettled(job)));
    }
}

#[test]
fn what_a_liar_has_counted_elsewhere_is_committed_to_no_more() {
    let (mut stage, [job, other], loan) = about_to_settle();

    recount(&mut stage, farm::SessionId(3), loan, "search");

    assert_eq!([job, other].map(|job| committed(&stage, job)), [None, None]);
    assert_eq!(stage.state(other), (JobState::Running, 0));
}
