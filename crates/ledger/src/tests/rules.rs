//! The rules: short histories with known answers and results. Every history reads back what it has
//! written.

use farm::{Ground, Withdrawn};

use super::*;

const OTHER: JobId = JobId(2);
const ALL: AuditPolicy = everything(1, false);

#[test]
fn what_is_written_is_read_back() {
    let store = &empty();
    let paused = LedgerCommand::Change { job: JOB, change: Change::Pause, by: "lab".into() };
    write(store, &[job(JOB), accept(JOB, "a", 0, 10, 7), accept(JOB, "b", 20, 30, 5), paused]);
    let restored = restored(store, JOB);
    assert_eq!((restored.stored.spec.plan, restored.stored.spec.priority), (plan(), 3));
    assert_eq!((restored.stored.state, restored.counted), (JobState::Paused, 12));
    assert_eq!(restored.accepted, set(&[(0, 10), (20, 30)]));

    let later =
        LedgerCommand::Change { job: JOB, change: Change::Priority(i32::MIN), by: "lab".into() };
    write(store, &[later]);
    assert_eq!(self::restored(store, JOB).stored.spec.priority, i32::MIN);

    let done = LedgerCommand::Finish { job: JOB, tasks: 100, total: 12, reason: None };
    store.apply(&[done]).expect_err("ordinals are missing");
    let rest = [accept(JOB, "a", 10, 20, 0), accept(JOB, "a", 30, 100, 1)];
    write(store, &rest);
    write(store, &[LedgerCommand::Finish { job: JOB, tasks: 100, total: 13, reason: None }]);
    let restored = self::restored(store, JOB);
    assert_eq!((restored.stored.state, restored.counted), (JobState::Done, 13));

    write(store, &[dispute(JOB, "c", 0, 10, 8)]);
    assert_eq!(self::restored(store, JOB).stored.state, JobState::Running);
}

#[test]
fn a_batch_is_applied_whole_or_not_at_all() {
    let store = &empty();
    write(store, &[job(JOB)]);
    for (start, end) in [(10, 20), (12, 15), (5, 11), (19, 30), (5, 30)] {
        let batch = [accept(JOB, "a", 10, 20, 7), accept(JOB, "a", start, end, 1)];
        store.apply(&batch).expect_err("they overlap");
    }
    assert!(restored(store, JOB).accepted.is_empty());
    write(store, &[accept(JOB, "a", 10, 20, 7), accept(JOB, "a", 20, 21, 1)]);
}

#[test]
fn rows_are_compared_where_they_tile() {
    let store = &empty();
    let rows = [("a", 0), ("a", 10), ("b", 20), ("b", 40)];
    write(store, &[job(JOB)]);
    write(store, &rows.map(|(worker, start)| accept(JOB, worker, start, start + 10, 1)));
    let found = |start, end| {
        let compare = compare(start, end);
        store.apply(&[compare]).expect("it reads only").remove(0)
    };
    let tiled = |starts: &[u64]| {
        let parts =
            starts.iter().map(|&start| checked_count(interval(start, start + 10), 1).result());
        let result = parts.reduce(|sum, part| sum.join(part).expect("it is small"));
        LedgerAnswer::Compared(result)
    };
    assert_eq!(found(0, 20), tiled(&[0, 10]));
    assert_eq!(found(10, 30), tiled(&[10, 20]));
    for (start, end) in [(0, 5), (5, 20), (20, 50), (30, 40), (0, 35)] {
        assert_eq!(found(start, end), LedgerAnswer::Compared(None), "[{start}, {end})");
    }
}

#[test]
fn audits_are_found_in_order_and_confirmed() {
    let store = &empty();
    write(store, &[job(JOB), accept(JOB, "a", 10, 20, 1), accept(JOB, "a", 0, 10, 2)]);
    let audit = audit(JOB, ALL, "lab");
    let answers = store.apply(&[audit]).expect("the job is there");
    assert_eq!(answers, [LedgerAnswer::AuditNoted { wanted: 2, agreed: 0 }]);
    for (worker, name, count) in [("a", "reference", 2), ("b", "avx2", 2), ("b", "reference", 3)] {
        let second = confirm(JOB, worker, name, (0, 10), count);
        store.apply(&[second]).expect_err("it confirms nothing");
    }
    write(store, &[dispute(JOB, "c", 10, 20, 9)]);
    let find = || LedgerCommand::FindAudits { job: JOB, most: 5 };
    let ranges = |answers: Vec<LedgerAnswer>| match &answers[..] {
        [LedgerAnswer::AuditsFound(rows)] => rows.iter().map(|row| row.range).collect::<Vec<_>>(),
        _ => panic!("{answers:?}"),
    };
    assert_eq!(ranges(store.apply(&[find()]).expect("it reads only")), [interval(0, 10)]);
    write(store, &[confirm(JOB, "b", "reference", (0, 10), 2)]);
    assert_eq!(ranges(store.apply(&[find()]).expect("it reads only")), []);
    let job = restored(store, JOB);
    assert_eq!((job.audits_wanted, job.audits_agreed, job.disputes.len()), (1, 1, 1));
}

#[test]
fn an_audit_by_owners_voids_confirmations_within_an_owner() {
    let store = &empty();
    // Given: two ranges of one owner's machine. Its other machine confirmed one of them, and
    // another owner's machine the other.
    let by = |owner: &str| Provenance {
        principal: Principal { owner: owner.into(), machine: "b".into() },
        ..provenance("b")
    };
    write(store, &[job(JOB), accept(JOB, "a", 0, 50, 1), accept(JOB, "a", 50, 100, 2)]);
    let ask = |policy| audit(JOB, policy, "lab");
    write(store, &[ask(ALL), confirm(JOB, "b", "reference", (0, 50), 1)]);
    let second = report(JOB, "reference", (50, 100), 2);
    write(store, &[LedgerCommand::Confirm(second, by("other"))]);
    write(store, &[LedgerCommand::Finish { job: JOB, tasks: 100, total: 3, reason: None }]);

    // When an audit of no further ranges demands other owners
    let owners = AuditPolicy { across: AuditScope::Owners, share_ppm: 0, ..ALL };
    let answers = store.apply(&[ask(owners)]).expect("the job is there");

    // Then only the second confirmation still counts, and the job waits for another one.
    assert_eq!(answers, [LedgerAnswer::AuditNoted { wanted: 1, agreed: 1 }]);
    assert_eq!(
        (restored(store, JOB).stored.state, restored(store, JOB).counted),
        (JobState::Done, 3)
    );
    store.apply(&[confirm(JOB, "c", "reference", (0, 50), 1)]).expect_err("the same owner");
    let second = report(JOB, "reference", (0, 50), 1);
    write(store, &[LedgerCommand::Confirm(second, by("other"))]);
    let job = restored(store, JOB);
    assert_eq!((job.stored.state, job.audits_agreed), (JobState::Done, 2));
}

#[test]
fn an_audit_leaves_a_job_done_and_an_empty_one_withdraws_it() {
    let store = &empty();
    write(store, &[job(JOB), accept(JOB, "a", 0, 50, 1), accept(JOB, "a", 50, 100, 2)]);
    write(store, &[LedgerCommand::Finish { job: JOB, tasks: 100, total: 3, reason: None }]);
    let ask = |policy| audit(JOB, policy, "lab");
    let reported = |store: &Ledger| {
        let job = restored(store, JOB);
        (job.stored.state, job.counted, job.audits_wanted, job.audits_agreed)
    };

    write(store, &[ask(ALL)]);
    assert_eq!(reported(store), (JobState::Done, 3, 2, 0));
    write(store, &[confirm(JOB, "b", "reference", (0, 50), 1)]);
    assert_eq!(reported(store), (JobState::Done, 3, 1, 1));

    write(store, &[ask(AuditPolicy { share_ppm: 0, ..ALL })]);
    assert_eq!(reported(store), (JobState::Done, 3, 0, 1));
    store.apply(&[confirm(JOB, "b", "reference", (50, 100), 2)]).expect_err("no audit demands it");

    // A contradicting count is no audit. The total is disputed.
    write(store, &[ask(ALL), dispute(JOB, "c", 50, 100, 9)]);
    assert_eq!(restored(store, JOB).stored.state, JobState::Running);
}

#[test]
fn a_suspended_job_keeps_its_reason_until_it_is_audited() {
    let store = &empty();
    write(store, &[job(JOB), accept(JOB, "a", 0, 40, 7), accept(JOB, "b", 40, 100, 900)]);
    let suspend = |total| {
        let reason = Some("the total is odd".to_string());
        LedgerCommand::Finish { job: JOB, tasks: 100, total, reason }
    };
    store.apply(&[suspend(1)]).expect_err("its rows say otherwise");

    write(store, &[suspend(907)]);

    let restored = self::restored(store, JOB);
    assert_eq!((restored.stored.state, restored.counted), (JobState::Suspended, 907));
    assert_eq!(restored.stored.reason.as_deref(), Some("the total is odd"));

    // An audit resumes it.
    let audit = audit(JOB, ALL, "lab");
    let answers = store.apply(&[audit]).expect("the job is there");
    assert_eq!(answers, [LedgerAnswer::AuditNoted { wanted: 2, agreed: 0 }]);
    let restored = self::restored(store, JOB);
    let found = (restored.stored.state, restored.stored.reason, restored.stored.policy);
    assert_eq!(found, (JobState::Running, None, Some(ALL)));
}

#[test]
fn a_settlement_keeps_confirmed_ranges_and_invalidates_the_rest() {
    let store = &empty();
    // Given: a liar counted three ranges, one of which is confirmed. It also confirmed a range of
    // another worker, and counted all of another job.
    write(store, &[job(JOB), job(OTHER), accept(OTHER, "liar", 0, 100, 4)]);
    write(store, &[LedgerCommand::Finish { job: OTHER, tasks: 100, total: 4, reason: None }]);
    let rows = [("liar", 0, 1), ("liar", 10, 2), ("honest", 20, 3), ("liar", 30, 999)];
    write(store, &rows.map(|(worker, at, count)| accept(JOB, worker, at, at + 10, count)));
    write(store, &[audit(JOB, ALL, "lab")]);
    write(store, &[confirm(JOB, "honest", "reference", (0, 10), 1)]);
    write(store, &[confirm(JOB, "liar", "reference", (20, 30), 3)]);
    write(store, &[dispute(JOB, "honest", 30, 40, 4)]);

    // When it is proven wrong
    let wrong = vec![principal("liar").party(AuditScope::Machines)];
    let (report, provenance) = (report(JOB, "avx2", (30, 40), 4), provenance("third"));
    let settle = LedgerCommand::Settle { report, provenance, wrong, ground: Ground::OwnMachines };
    let answers = store.apply(&[settle]).expect("there is a dispute");

    // Then only the counts that rest on the liar alone are invalidated.
    let lost = |job, ranges: &[(u64, u64)], total, audits_wanted, audits_agreed| {
        let ranges = set(ranges);
        Withdrawn { job, ranges, total, audits_wanted, audits_agreed }
    };
    let withdrawn = vec![lost(JOB, &[(10, 20)], 2, 1, 2), lost(OTHER, &[(0, 100)], 4, 0, 0)];
    assert_eq!(answers, [LedgerAnswer::Settled(withdrawn)]);
    let (first, other) = (restored(store, JOB), restored(store, OTHER));
    assert_eq!((first.counted, first.accepted), (8, set(&[(0, 10), (20, 40)])));
    assert_eq!((other.stored.state, other.counted), (JobState::Running, 0));
    assert!(
        store.read_back().expect("its rows fit together").distrusted.includes(&principal("liar"))
    );
}

/// Whether rows of the job tile a range.
fn tile(store: &Ledger, (start, end): (u64, u64)) -> bool {
    let found = store.apply(&[compare(start, end)]).expect("it reads only").remove(0);
    found != LedgerAnswer::Compared(None)
}

#[test]
fn rows_that_differ_in_nothing_are_joined() {
    let store = &empty();
    // Given: rows of ten tasks. One is by another worker, one has another lease, and one is to be
    // counted twice.
    let leased = |lease, at, audit| LedgerCommand::Accept {
        report: Report { lease: LeaseId(lease), ..report(JOB, "avx2", (at, at + 10), at) },
        provenance: provenance("a"),
        audit,
    };
    write(store, &[job(JOB)]);
    let odd = |at: &u64| at % 20 == 10;
    // When they arrive in any order, as a worker's threads finish them
    for at in (0..100).step_by(10).filter(odd).chain((0..100).step_by(10).filter(|at| !odd(at))) {
        let row = match at {
            30 => LedgerCommand::Accept {
                report: Report { lease: LeaseId(1_001), ..report(JOB, "avx2", (30, 40), 30) },
                provenance: provenance("b"),
                audit: false,
            },
            60 => leased(1_002, at, false),
            80 => leased(1_001, at, true),
            _ => leased(1_001, at, false),
        };
        write(store, &[row]);
    }

    // Then equal neighbours are one row, and all others are unchanged.
    for whole in [(0, 30), (30, 40), (40, 60), (60, 70), (70, 80), (80, 90), (90, 100)] {
        assert!(tile(store, whole), "{whole:?}");
    }
    for part in [(0, 10), (0, 20), (10, 30), (40, 50), (50, 60)] {
        assert!(!tile(store, part), "{part:?}");
    }
    let restored = restored(store, JOB);
    assert_eq!((restored.counted, restored.accepted), (450, set(&[(0, 100)])));
    // The current policy may choose the rows that the join would make.
    write(store, &[audit(JOB, ALL, "lab")]);
    assert_eq!(self::restored(store, JOB).audits_wanted, 7);
}

#[test]
fn a_removed_job_leaves_nothing_but_its_number() {
    let store = &empty();
    write(store, &[job(JOB)]);
    let rows = ["a", "b", "c", "d", "e"].into_iter().zip((0..).step_by(20));
    let rows: Vec<_> = rows.map(|(by, at)| accept(OTHER, by, at, at + 20, 7)).collect();
    write(store, &[&[job(OTHER)], &rows[..]].concat());
    write(store, &[audit(OTHER, ALL, "lab")]);
    let seconds = (0..100).step_by(20).map(|at| confirm(OTHER, "z", "reference", (at, at + 20), 7));
    write(store, &seconds.collect::<Vec<_>>());
    write(store, &[LedgerCommand::Finish { job: OTHER, tasks: 100, total: 35, reason: None }]);
    write(store, &[dispute(OTHER, "c", 0, 20, 8)]);
    write(store, &[LedgerCommand::Change { job: OTHER, change: Change::Cancel, by: "lab".into() }]);
    let remove = |job| LedgerCommand::Remove(job);
    store.apply(&[remove(JOB)]).expect_err("it runs");
    store.apply(&[remove(JobId(9))]).expect_err("there is no such job");

    let hours = store.read_back().expect("its rows fit together").hours;
    write(store, &[remove(OTHER)]);
    store.apply(&[remove(OTHER)]).expect_err("nothing of it is left");
    assert_eq!(
        store.read_back().expect("its rows fit together").hours,
        hours,
        "it has taken its time"
    );
    let Restored { jobs, last_job, .. } = store.read_back().expect("its rows fit together");
    assert_eq!((jobs.len(), last_job), (1, OTHER.0));

    // A job that proved a principal wrong is not removed.
    write(store, &[accept(JOB, "liar", 0, 100, 1), dispute(JOB, "b", 0, 100, 2)]);
    let wrong = vec![principal("liar").party(AuditScope::Machines)];
    let (report, provenance) = (report(JOB, "avx2", (0, 100), 2), provenance("c"));
    write(
        store,
        &[LedgerCommand::Settle { report, provenance, wrong, ground: Ground::OwnMachines }],
    );
    write(store, &[LedgerCommand::Finish { job: JOB, tasks: 100, total: 2, reason: None }]);
    assert_eq!(
        store.read_back().expect("its rows fit together").proofs.into_iter().collect::<Vec<_>>(),
        [JOB]
    );
    store.apply(&[remove(JOB)]).expect_err("it is a proof");
}

fn write(store: &Ledger, commands: &[LedgerCommand]) {
    store.apply(commands).expect("it fits the rows");
}

fn restored(store: &Ledger, job: JobId) -> RestoredJob {
    let jobs = store.read_back().expect("its rows fit together").jobs;
    jobs.into_iter().find(|restored| restored.stored.id == job).expect("it is there")
}

fn job(job: JobId) -> LedgerCommand {
    let origin = Origin { owner: "lab".into(), key: Some(format!("job {job}")) };
    let (plan, shard) = (plan(), Shard::ALL);
    LedgerCommand::CreateJob {
        job,
        spec: JobSpec { origin, plan, shard, priority: 3 },
        audit: None,
    }
}

fn accept(job: JobId, worker: &str, start: u64, end: u64, count: u64) -> LedgerCommand {
    let report = report(job, "avx2", (start, end), count);
    LedgerCommand::Accept { report, provenance: provenance(worker), audit: false }
}

fn confirm(job: JobId, worker: &str, name: &str, of: (u64, u64), count: u64) -> LedgerCommand {
    LedgerCommand::Confirm(report(job, name, of, count), provenance(worker))
}

fn dispute(job: JobId, worker: &str, start: u64, end: u64, count: u64) -> LedgerCommand {
    let report = report(job, "reference", (start, end), count);
    LedgerCommand::Dispute(report, provenance(worker))
}

fn compare(start: u64, end: u64) -> LedgerCommand {
    LedgerCommand::Compare(report(JOB, "avx2", (start, end), 1), provenance("c"))
}

fn report(job: JobId, name: &str, (start, end): (u64, u64), count: u64) -> Report {
    Report { job, kernel: kernel(name), ..super::report(interval(start, end), count) }
}

fn set(ranges: &[(u64, u64)]) -> IntervalSet {
    ranges.iter().map(|&(start, end)| interval(start, end)).collect()
}
