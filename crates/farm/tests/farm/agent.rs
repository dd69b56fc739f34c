//! The worker's end of a session.

use farm::{
    Ack, Agent, AgentConfig, Fingerprint, Hello, JobId, LeaseId, Loan, LoanKind, LoanProof, Millis,
    Pace, Range, Recount, Report, TaskCounts, Verdict, WorkerMessage,
};

use crate::stage::{kernel, plan, range, tally};

fn connected() -> Agent {
    let mut agent = Agent::new(AgentConfig {
        hello: Hello {
            worker: "w1".into(),
            machine: "w1".into(),
            build: "1.0".into(),
            backend: "portable".into(),
            instance: 1,
            threads: 1,
            memory: 0,
            credit: 100,
            holding: Vec::new(),
        },
        report_ms: 500,
        resend_ms: 5_000,
    });
    agent.connected();
    agent
}

fn loan(lease: u64, job: u64, tasks: u64, whole: bool) -> Loan {
    let recount = Recount { unlike: kernel("portable"), by_search: false };
    let kind = if whole { LoanKind::Recount } else { LoanKind::Count };
    Loan {
        lease: LeaseId(lease),
        job: JobId(job),
        plan: plan(tasks),
        fingerprint: plan(tasks).fingerprint(),
        range: range(0, tasks),
        proof: LoanProof { range: range(0, tasks), kind, seal: [7; 16] },
        recount: whole.then_some(recount),
    }
}

fn part(loan: Loan, start: u64, end: u64) -> Report {
    let range = range(start, end);
    let tally = tally(loan.plan, range, 0);
    let (task_counts, kernel) = (TaskCounts::default(), kernel("portable"));
    Report::new(&loan, range, tally, task_counts, kernel, 1)
}

/// The same of a range, which took a microsecond for each task.
fn part_in(loan: Loan, range: Range) -> Report {
    Report { busy_us: range.len(), ..part(loan, range.start(), range.end()) }
}

fn reports(messages: Vec<WorkerMessage>) -> Vec<Report> {
    let report = |message| match message {
        WorkerMessage::Report(report) => Some(report),
        _ => None,
    };
    messages.into_iter().filter_map(report).collect()
}

#[test]
fn a_worker_with_little_time_asks_for_less_and_then_for_as_much_as_before() {
    let mut agent = connected();
    let credits = |messages: Vec<WorkerMessage>| -> Vec<u64> {
        let credit = |message| match message {
            WorkerMessage::Credit(tasks) => Some(tasks),
            _ => None,
        };
        messages.into_iter().filter_map(credit).collect()
    };
    let mut told = |most| {
        agent.hold_at_most(most);
        credits(agent.poll(Millis(0)))
    };
    assert_eq!([told(Some(8)), told(Some(8)), told(Some(0))], [vec![8], vec![], vec![0]]);
    assert_eq!([told(Some(101)), told(None)], [vec![100], vec![]], "never more than was agreed to");
}

#[test]
fn two_jobs_of_one_plan_are_acknowledged_separately() {
    let mut agent = connected();
    for job in [1, 2] {
        let loan = loan(job, job, 4, false);
        agent.lent(loan);
        agent.finished(Millis(0), part(loan, 0, 4));
    }
    assert_eq!(reports(agent.poll(Millis(0))).len(), 2);

    agent.acked(&ack(JobId(1), plan(4).fingerprint(), range(0, 4)));
    assert!(!agent.is_settled());

    let again = reports(agent.poll(Millis(5_000)));
    assert_eq!(again.iter().map(|report| report.job).collect::<Vec<_>>(), [JobId(2)]);
}

#[test]
fn a_superseded_report_comes_again_in_its_parts() {
    for (tasks, most) in [(3, 1), (16, 1), (100, 10)] {
        let mut agent = connected();
        let loan = loan(1, 1, tasks, false);
        agent.lent(loan);
        (0..tasks).rev().for_each(|at| agent.finished(Millis(0), part(loan, at, at + 1)));
        let ranges = |agent: &mut Agent| {
            let reports = reports(agent.poll(Millis(0)));
            assert!(reports.iter().all(|it| *it == part_in(loan, it.range)), "{reports:?}");
            reports.iter().map(|report| report.range).collect::<Vec<_>>()
        };
        assert_eq!(ranges(&mut agent), [range(0, tasks)]);

        let superseded =
            |range| Ack { verdict: Verdict::Superseded, ..ack(loan.job, loan.fingerprint, range) };
        agent.acked(&superseded(range(0, tasks)));
        let parts = ranges(&mut agent);
        assert!(parts.len() <= 16 && parts.iter().all(|part| part.len() <= most), "{parts:?}");
        assert!(parts.iter().flat_map(|part| part.start()..part.end()).eq(0..tasks), "{parts:?}");

        // What is of no use by itself does not come again.
        parts.into_iter().for_each(|part| agent.acked(&superseded(part)));
        assert!(agent.is_settled());
    }
}

#[test]
fn a_report_waits_twice_as_long_each_time_it_is_sent_again_until_there_is_another_session() {
    let mut agent = connected();
    let loan = loan(1, 1, 4, false);
    agent.lent(loan);
    agent.finished(Millis(0), part(loan, 0, 4));
    let first = reports(agent.poll(Millis(0)));
    let mut sent_at = Vec::new();
    while let Some(at) = agent.next_wakeup().filter(|at| *at <= Millis(80_000)) {
        assert_eq!(reports(agent.poll(at)), first);
        sent_at.push(at.0);
    }
    assert_eq!(sent_at, [5_000, 15_000, 35_000, 75_000]);

    agent.disconnected();
    agent.connected();
    assert_eq!(reports(agent.poll(Millis(90_000))), first);
    assert_eq!(agent.next_wakeup(), Some(Millis(95_000)), "as at first");
}

#[test]
fn equal_lease_numbers_of_two_ledgers_are_not_added_up() {
    // Given: the coordinator was replaced, and the new one lends a number that is in use here.
    let mut agent = connected();
    let (old, new) = (loan(1, 1, 4, false), loan(1, 1, 6, false));
    agent.lent(old);
    agent.revoked(old.lease);
    agent.lent(new);

    // When neighbouring parts of both are finished
    agent.finished(Millis(0), part(old, 0, 2));
    agent.finished(Millis(0), part(new, 2, 4));

    // Then each is reported for its own plan.
    let mut reports = reports(agent.poll(Millis(500)));
    reports.sort_by_key(|report| report.range);
    let told: Vec<_> = reports.iter().map(|r| (r.fingerprint, r.range, r.tally.count)).collect();
    let expected = [(old.fingerprint, range(0, 2), 2), (new.fingerprint, range(2, 4), 2)];
    assert_eq!(told, expected);
}

#[test]
fn a_number_that_a_restored_coordinator_gives_again_is_another_loan_of_the_same_job() {
    // Given: the second loan follows the first one, and nothing but range and proof tells them apart.
    let mut agent = connected();
    let lent = |start, end, seal| {
        let proof = LoanProof { range: range(start, end), kind: LoanKind::Count, seal: [seal; 16] };
        Loan { range: proof.range, proof, ..loan(1, 1, 8, false) }
    };
    let [old, new] = [lent(0, 4, 1), lent(4, 8, 2)];
    agent.lent(old);
    agent.lent(new);

    // When neighbouring parts of both are reported, and then held in a new session
    agent.finished(Millis(0), part(old, 1, 3));
    agent.finished(Millis(0), part(new, 5, 7));
    let mut told = reports(agent.poll(Millis(500)));
    agent.finished(Millis(500), part(old, 3, 4));
    agent.finished(Millis(500), part(new, 4, 5));
    told.extend(reports(agent.poll(Millis(1_000))));
    agent.disconnected();
    let WorkerMessage::Hello(hello) = agent.connected() else { panic!("it says who it is") };

    // Then nothing is said with a proof of another range.
    let ranges: Vec<Range> = told.iter().map(|report| report.range).collect();
    assert_eq!(ranges, [range(1, 3), range(5, 7), range(3, 4), range(4, 5)]);
    let reported = told.iter().map(|report| (report.proof, report.range));
    let held = hello.holding.iter().map(|holding| (holding.proof, holding.range));
    for (proof, said) in reported.chain(held) {
        assert_eq!(proof.range.intersect(said), Some(said), "{proof:?}");
    }
}

#[test]
fn what_threads_still_count_of_a_void_loan_is_dropped() {
    let mut agent = connected();
    let (void, other) = (loan(1, 1, 4, false), loan(2, 1, 4, false));
    agent.lent(void);
    agent.disowned();
    agent.lent(other);

    agent.finished(Millis(0), part(void, 0, 2));
    agent.finished(Millis(0), part(other, 0, 4));

    let leases = |messages| reports(messages).iter().map(|report| report.lease).collect::<Vec<_>>();
    assert_eq!(leases(agent.poll(Millis(500))), [other.lease]);

    // The same number again is another loan.
    agent.lent(void);
    agent.finished(Millis(500), part(void, 0, 4));
    assert_eq!(leases(agent.poll(Millis(500))), [void.lease]);
}

#[test]
fn a_loan_that_comes_twice_loses_nothing() {
    let mut agent = connected();
    let loan = loan(1, 1, 4, false);
    agent.lent(loan);
    agent.finished(Millis(0), part(loan, 0, 3));
    agent.lent(loan);
    agent.finished(Millis(0), part(loan, 0, 1));
    agent.revoked(loan.lease);

    let told = reports(agent.poll(Millis(0)));

    assert!(told.iter().any(|report| report.range == range(0, 3)), "{told:?}");
}

#[test]
fn a_worker_of_a_large_farm_gathers_for_longer_until_it_has_another_coordinator() {
    let mut agent = connected();
    let loan = loan(1, 1, 10, false);
    agent.lent(loan);
    agent.paced(Pace::of(20_000));
    agent.finished(Millis(0), part(loan, 0, 1));
    assert_eq!(agent.next_wakeup(), Some(Millis(100_000)));
    agent.finished(Millis(50_000), part(loan, 1, 2));
    assert_eq!(reports(agent.poll(Millis(99_999))), []);

    let told = reports(agent.poll(Millis(100_000)));

    assert_eq!(told.iter().map(|report| report.range).collect::<Vec<_>>(), [range(0, 2)]);
    // Of a loan that is finished nothing more is to come, so that there is nothing to wait for.
    agent.finished(Millis(100_001), part(loan, 2, 10));
    assert_eq!(reports(agent.poll(Millis(100_001))).len(), 1);
    // A small farm does not make it report more often than it was told to.
    agent.paced(Pace::of(1));
    let other = Loan { lease: LeaseId(2), ..loan };
    agent.lent(other);
    agent.finished(Millis(200_000), part(other, 0, 1));
    assert_eq!(agent.next_wakeup(), Some(Millis(105_000)), "what is not acknowledged");
    assert_eq!(reports(agent.poll(Millis(200_499))).len(), 2, "they are sent again");
    assert_eq!(reports(agent.poll(Millis(200_500))).len(), 1);
    agent.paced(Pace::of(20_000));
    agent.disconnected();
    agent.connected();
    agent.finished(Millis(300_000), part(other, 1, 2));
    assert!(reports(agent.poll(Millis(300_500))).iter().any(|report| report.range == range(1, 2)));
}

#[test]
fn a_recount_is_reported_whole_or_not_at_all() {
    let mut agent = connected();
    let recount = loan(1, 1, 4, true);
    agent.lent(recount);
    agent.finished(Millis(0), part(recount, 0, 2));
    assert!(reports(agent.poll(Millis(10_000))).is_empty());

    agent.finished(Millis(10_000), part(recount, 2, 4));
    assert_eq!(reports(agent.poll(Millis(10_000)))[0].range, range(0, 4));
}

#[test]
fn a_recount_that_comes_twice_is_reported_once_as_a_whole() {
    let mut agent = connected();
    let recount = loan(1, 1, 4, true);
    agent.lent(recount);
    agent.finished(Millis(0), part(recount, 0, 4));
    agent.lent(recount);
    agent.finished(Millis(0), part(recount, 0, 1));

    let told: Vec<_> = reports(agent.poll(Millis(0))).iter().map(|report| report.range).collect();

    assert!(told.iter().all(|&reported| reported == range(0, 4)), "{told:?}");
}

#[test]
fn a_recount_gives_signs_of_life_as_often_as_others_report_and_only_if_it_gets_on() {
    let mut agent = connected();
    let recount = loan(1, 1, 4, true);
    agent.lent(recount);
    assert_eq!(agent.poll(Millis(1_000)), []);

    agent.finished(Millis(1_000), part(recount, 0, 1));
    assert_eq!(agent.next_wakeup(), Some(Millis(1_500)));
    assert_eq!(agent.poll(Millis(1_499)), []);
    assert_eq!(agent.poll(Millis(1_500)), [WorkerMessage::Working(recount.lease)]);

    assert_eq!(agent.next_wakeup(), None);
    assert_eq!(agent.poll(Millis(9_000)), []);
    agent.finished(Millis(9_000), part(recount, 2, 3));
    assert_eq!(agent.poll(Millis(9_000)), [WorkerMessage::Working(recount.lease)]);
}

#[test]
fn what_two_kernels_have_counted_is_reported_apart() {
    let mut agent = connected();
    let loan = loan(1, 1, 4, false);
    agent.lent(loan);
    agent.finished(Millis(0), part(loan, 0, 2));
    agent.finished(Millis(0), Report { kernel: kernel("avx512"), ..part(loan, 2, 4) });

    let told = reports(agent.poll(Millis(0)));
    let told: Vec<_> = told.iter().map(|report| (report.range, report.kernel)).collect();
    assert_eq!(told, [(range(0, 2), kernel("portable")), (range(2, 4), kernel("avx512"))]);
}

/// What single tasks count is told of so many together; a recount has to come back as a whole, whatever is told of it.
#[test]
fn counts_of_single_tasks_are_told_within_bounds_and_a_recount_is_whole() {
    const MOST: u64 = TaskCounts::MOST as u64;
    let told = |loan, start, end| {
        let counts = vec![0; (end - start) as usize];
        Report { task_counts: TaskCounts::new(&counts), ..part(loan, start, end) }
    };
    for (whole, expected) in [
        (false, vec![(range(0, MOST - 1), MOST - 1), (range(MOST - 1, MOST + 2), 3)]),
        (true, vec![(range(0, MOST + 2), 0)]),
    ] {
        let mut agent = connected();
        let loan = loan(1, 1, MOST + 2, whole);
        agent.lent(loan);
        agent.finished(Millis(0), told(loan, 0, 1));
        agent.finished(Millis(0), told(loan, 1, MOST - 1));
        agent.finished(Millis(0), told(loan, MOST - 1, MOST + 1));
        agent.finished(Millis(0), told(loan, MOST + 1, MOST + 2));
        let reports = reports(agent.poll(Millis(0)));
        let reports = reports.iter();
        let reports =
            reports.map(|report| (report.range, report.task_counts.as_slice().len() as u64));
        assert_eq!(reports.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn half_a_recount_is_forgotten_when_it_is_revoked() {
    let mut agent = connected();
    let recount = loan(1, 1, 4, true);
    agent.lent(recount);
    agent.finished(Millis(0), part(recount, 0, 2));

    agent.revoked(recount.lease);
    agent.poll(Millis(1));

    assert!(agent.is_settled());
}

#[test]
fn a_worker_that_stops_reports_what_is_finished_and_takes_nothing_more() {
    let mut agent = connected();
    let loan = loan(1, 1, 4, false);
    agent.lent(loan);
    agent.finished(Millis(0), part(loan, 0, 2));

    agent.stop();
    let messages = agent.poll(Millis(1));
    assert!(messages.contains(&WorkerMessage::Leaving));
    assert_eq!(reports(messages)[0].range, range(0, 2));

    agent.acked(&ack(loan.job, loan.fingerprint, range(0, 2)));
    assert!(agent.is_settled());
    agent.lent(loan);
    let WorkerMessage::Hello(hello) = agent.connected() else { panic!("first words") };
    assert_eq!((hello.credit, hello.holding), (0, vec![]));
}

#[test]
fn a_loan_that_goes_back_is_said_once_and_not_in_the_next_session() {
    let mut agent = connected();

    agent.decline(LeaseId(1));
    assert_eq!(agent.poll(Millis(0)), [WorkerMessage::Decline(LeaseId(1))]);
    assert_eq!(agent.poll(Millis(0)), []);

    agent.decline(LeaseId(2));
    agent.disconnected();
    agent.connected();
    assert_eq!(agent.poll(Millis(0)), []);
}

fn ack(job: JobId, fingerprint: Fingerprint, range: Range) -> Ack {
    Ack { job, fingerprint, range, verdict: Verdict::Accepted }
}
