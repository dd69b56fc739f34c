//! What a client is told of a job arrives as it was told.

use farm::{
    AuditPolicy, AuditScope, Hours, JobId, JobSpec, JobState, JobView, Origin, Plan, Problem, Rate,
    Shard, Times,
};

/// A job with all that a job may have. Its numbers differ, so that no two are confused.
fn job() -> JobView {
    let method = board::Method::Prefixes { rows: 3 };
    let plan = Plan { problem: Problem::Fundamental { n: 12 }, method, tasks: 3 };
    let origin = Origin { owner: "lab".into(), key: Some("night".into()) };
    let shard = Shard::new(1, 2).expect("it is a part");
    let (share_ppm, across) = (500_000, AuditScope::Owners);
    JobView {
        id: JobId(u64::MAX),
        spec: JobSpec { origin, plan, shard, priority: i32::MIN },
        state: JobState::Suspended,
        tasks_done: 4,
        counted: u128::MAX,
        total: Some(u128::MAX - 1),
        workers: 6,
        able_workers: 7,
        us_left: Some(8),
        rate: Rate { tasks_per_second: 9.5, placements_per_second: 1.0 / 3.0 },
        threads: u32::MAX,
        disputes: 10,
        disputed: Some("two owners disagree".into()),
        audit: Some(AuditPolicy { share_ppm, seed: 0, by_reference: true, across }),
        suspended: Some("the total is odd".into()),
        audits_wanted: 11,
        audits_agreed: 12,
        audits_stranded: Some(13),
        failed: 14,
        failed_first: (15..).take(JobView::FAILED_NAMED).collect(),
        times: Times {
            submitted_at_ms: Some(-1),
            begun_at_ms: Some(24),
            counted_at_ms: Some(26),
            paused_at_ms: Some(28),
            paused_ms: 27,
            ended_at_ms: Some(25),
        },
        hours: Hours { processor_us: 26, gpu_us: 27 },
        waits_for: Some("a worker: none is connected".into()),
        awaits_turn: true,
    }
}

#[test]
fn a_job_arrives_at_a_client_with_all_that_it_has_and_no_more() {
    let audit = Some(AuditPolicy {
        share_ppm: 0,
        seed: 0,
        by_reference: false,
        across: AuditScope::Machines,
    });
    let spec = JobSpec { origin: Origin::of("lab"), priority: i32::MAX, ..job().spec };
    let bare = JobView {
        spec,
        total: None,
        us_left: None,
        disputed: None,
        audit: None,
        suspended: None,
        audits_stranded: None,
        failed_first: Vec::new(),
        times: Times::default(),
        waits_for: None,
        awaits_turn: false,
        ..job()
    };
    let states = [JobState::Running, JobState::Paused, JobState::Cancelled, JobState::Done];
    let states = states.map(|state| JobView { state, ..job() });
    for job in states.into_iter().chain([job(), JobView { audit, ..job() }, bare]) {
        let text = serde_json::to_string(&job).expect("it is JSON");
        assert_eq!(serde_json::from_str::<JobView>(&text).expect("it was just written"), job);
        assert!(!text.contains("seed"), "{text}");
    }
}

#[test]
fn counts_are_strings_and_times_are_numbers() {
    let text = serde_json::to_value(job()).expect("it is JSON");
    for (field, value) in [
        ("job", u64::MAX.into()),
        ("name", "night".into()),
        ("n", 12.into()),
        ("rows", 3.into()),
        ("counted", u128::MAX.to_string().into()),
        ("total", (u128::MAX - 1).to_string().into()),
        ("seconds_left", 8e-6.into()),
        ("submitted_at_ms", (-1).into()),
        ("audit", serde_json::json!({"share": 0.5, "by_reference": true, "across": "owners"})),
        ("fingerprint", job().spec.plan.fingerprint().to_string().into()),
    ] {
        assert_eq!(text[field], value, "{field}");
    }
}

#[test]
fn a_job_of_another_plan_than_its_fingerprint_says_is_refused() {
    let mut altered = serde_json::to_value(job()).expect("it is JSON");
    for (field, value, said) in [
        ("tasks", 4.into(), "fingerprint"),
        ("n", 13.into(), "fingerprint"),
        ("problem", "totals".into(), "there is no problem"),
        ("method", "halves".into(), "no method"),
        ("shards", 0.into(), "INDEX/SHARDS"),
        ("counted", "12x".into(), "12x"),
    ] {
        let before = std::mem::replace(&mut altered[field], value);
        let refused = serde_json::from_value::<JobView>(altered.clone()).expect_err(field);
        assert!(refused.to_string().contains(said), "{field}: {refused}");
        altered[field] = before;
    }
}
