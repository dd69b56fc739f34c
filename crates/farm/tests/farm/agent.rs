//! Tests of the worker's end of a session.

use std::collections::BTreeMap;

use farm::{
    Ack, Agent, AgentConfig, Hello, IntervalSet, JobId, Lease, LeaseId, LeaseKind, LeaseToken,
    Millis, Pace, Range, Recount, Report, TaskCounts, Verdict, WorkerMessage,
};
use proptest::collection::vec;
use proptest::prelude::*;
use testkit::Random;

use crate::scene::{checked_count, hello, kernel, plan, range};

fn connected() -> Agent {
    let mut agent =
        Agent::new(AgentConfig { hello: hello("w1", 100), report_ms: 500, resend_ms: 5_000 });
    agent.connected();
    agent
}

fn lease(lease: u64, job: u64, tasks: u64, whole: bool) -> Lease {
    let recount = Recount { unlike: kernel("portable"), by_reference: false };
    let kind = if whole { LeaseKind::Recount } else { LeaseKind::Count };
    Lease {
        id: LeaseId(lease),
        job: JobId(job),
        plan: plan(tasks),
        fingerprint: plan(tasks).fingerprint(),
        range: range(0, tasks),
        token: LeaseToken::new(range(0, tasks), kind, [7; 16]),
        recount: whole.then_some(recount),
    }
}

fn part(lease: Lease, start: u64, end: u64) -> Report {
    let range = range(start, end);
    let checked_count = checked_count(lease.plan, range, 0);
    let (task_counts, kernel) = (TaskCounts::default(), kernel("portable"));
    Report::new(&lease, range, checked_count, task_counts, kernel, 1)
}

fn reports(messages: Vec<WorkerMessage>) -> Vec<Report> {
    let report = |message| match message {
        WorkerMessage::Report(report) => Some(report),
        _ => None,
    };
    messages.into_iter().filter_map(report).collect()
}

#[test]
fn two_jobs_of_one_plan_are_acknowledged_separately() {
    let mut agent = connected();
    for job in [1, 2] {
        let lease = lease(job, job, 4, false);
        agent.leased(lease);
        agent.finished(Millis(0), part(lease, 0, 4));
    }
    assert_eq!(reports(agent.poll(Millis(0))).len(), 2);

    let of = part(lease(1, 1, 4, false), 0, 4);
    agent.acked(&Ack::of(&of, Verdict::Accepted));
    assert!(!agent.is_settled());

    let again = reports(agent.poll(Millis(5_000)));
    assert_eq!(again.iter().map(|report| report.job).collect::<Vec<_>>(), [JobId(2)]);
}

#[test]
fn the_resend_delay_of_a_report_doubles_until_a_new_session() {
    let mut agent = connected();
    let lease = lease(1, 1, 4, false);
    agent.leased(lease);
    agent.finished(Millis(0), part(lease, 0, 4));
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
    // Given: the coordinator was replaced, and the new one makes a lease with a number that is in
    // use here.
    let mut agent = connected();
    let (old, new) = (lease(1, 1, 4, false), lease(1, 1, 6, false));
    agent.leased(old);
    agent.revoked(old.id);
    agent.leased(new);

    // When neighbouring parts of both leases are finished
    agent.finished(Millis(0), part(old, 0, 2));
    agent.finished(Millis(0), part(new, 2, 4));

    // Then each part is reported for its own plan.
    let mut reports = reports(agent.poll(Millis(500)));
    reports.sort_by_key(|report| report.range);
    let reported: Vec<_> =
        reports.iter().map(|r| (r.fingerprint, r.range, r.checked_count.count)).collect();
    let expected = [(old.fingerprint, range(0, 2), 2), (new.fingerprint, range(2, 4), 2)];
    assert_eq!(reported, expected);
}

#[test]
fn a_lease_number_given_again_after_a_restore_is_another_lease() {
    // Given: the second lease follows the first one. Only range and token distinguish them.
    let mut agent = connected();
    let leased = |start, end, mac| {
        let token = LeaseToken::new(range(start, end), LeaseKind::Count, [mac; 16]);
        Lease { range: token.range, token, ..lease(1, 1, 8, false) }
    };
    let [old, new] = [leased(0, 4, 1), leased(4, 8, 2)];
    agent.leased(old);
    agent.leased(new);

    // When neighbouring parts of both leases are reported, and then held in a new session
    agent.finished(Millis(0), part(old, 1, 3));
    agent.finished(Millis(0), part(new, 5, 7));
    let mut reported = reports(agent.poll(Millis(500)));
    agent.finished(Millis(500), part(old, 3, 4));
    agent.finished(Millis(500), part(new, 4, 5));
    reported.extend(reports(agent.poll(Millis(1_000))));
    agent.disconnected();
    let WorkerMessage::Hello(hello) = agent.connected() else { panic!("it says who it is") };

    // Then no message has a token of another range.
    let ranges: Vec<Range> = reported.iter().map(|report| report.range).collect();
    assert_eq!(ranges, [range(1, 3), range(5, 7), range(3, 4), range(4, 5)]);
    let reported = reported.iter().map(|report| (report.token, report.range));
    let held = hello.holding.iter().map(|holding| (holding.token, holding.range));
    for (token, said) in reported.chain(held) {
        assert_eq!(token.range.intersect(said), Some(said), "{token:?}");
    }
}

#[test]
fn counts_of_a_void_lease_are_dropped() {
    let mut agent = connected();
    let (void, other) = (lease(1, 1, 4, false), lease(2, 1, 4, false));
    agent.leased(void);
    agent.disowned();
    agent.leased(other);

    agent.finished(Millis(0), part(void, 0, 2));
    agent.finished(Millis(0), part(other, 0, 4));

    let leases = |messages| reports(messages).iter().map(|report| report.lease).collect::<Vec<_>>();
    assert_eq!(leases(agent.poll(Millis(500))), [other.id]);

    // The same number then stands for another lease.
    agent.leased(void);
    agent.finished(Millis(500), part(void, 0, 4));
    assert_eq!(leases(agent.poll(Millis(500))), [void.id]);
}

#[test]
fn a_repeated_lease_loses_nothing_and_its_recount_is_reported_whole() {
    for (whole, counted) in [(false, 3), (true, 4)] {
        let mut agent = connected();
        let lease = lease(1, 1, 4, whole);
        agent.leased(lease);
        agent.finished(Millis(0), part(lease, 0, counted));
        agent.leased(lease);
        agent.finished(Millis(0), part(lease, 0, 1));
        agent.revoked(lease.id);

        let sent: Vec<_> = reports(agent.poll(Millis(0))).iter().map(|of| of.range).collect();

        assert!(sent.contains(&range(0, counted)), "{sent:?}");
        assert!(!whole || sent == [range(0, 4)], "{sent:?}");
    }
}

#[test]
fn reports_are_rarer_on_a_large_farm_until_a_new_coordinator() {
    let mut agent = connected();
    let lease = lease(1, 1, 10, false);
    agent.leased(lease);
    agent.paced(Pace::of(20_000));
    agent.finished(Millis(0), part(lease, 0, 1));
    assert_eq!(agent.next_wakeup(), Some(Millis(100_000)));
    agent.finished(Millis(50_000), part(lease, 1, 2));
    assert_eq!(reports(agent.poll(Millis(99_999))), []);

    let reported = reports(agent.poll(Millis(100_000)));

    assert_eq!(reported.iter().map(|report| report.range).collect::<Vec<_>>(), [range(0, 2)]);
    // A finished lease has no further reports, so there is nothing to wait for.
    agent.finished(Millis(100_001), part(lease, 2, 10));
    assert_eq!(reports(agent.poll(Millis(100_001))).len(), 1);
    // A small farm does not make it report more often than its configuration says.
    agent.paced(Pace::of(1));
    let other = Lease { id: LeaseId(2), ..lease };
    agent.leased(other);
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
fn a_recount_sends_signs_of_life_while_it_progresses_and_is_reported_whole() {
    let mut agent = connected();
    let recount = lease(1, 1, 4, true);
    agent.leased(recount);
    assert_eq!(agent.poll(Millis(1_000)), []);

    agent.finished(Millis(1_000), part(recount, 0, 1));
    assert_eq!(agent.next_wakeup(), Some(Millis(1_500)));
    assert_eq!(agent.poll(Millis(1_499)), []);
    assert_eq!(agent.poll(Millis(1_500)), [WorkerMessage::Working(recount.id)]);

    assert_eq!(agent.next_wakeup(), None);
    assert_eq!(agent.poll(Millis(9_000)), []);
    agent.finished(Millis(9_000), part(recount, 2, 3));
    assert_eq!(agent.poll(Millis(9_000)), [WorkerMessage::Working(recount.id)]);

    agent.finished(Millis(10_000), part(recount, 1, 2));
    agent.finished(Millis(10_000), part(recount, 3, 4));
    assert_eq!(reports(agent.poll(Millis(10_000)))[0].range, range(0, 4));
}

#[test]
fn counts_of_two_kernels_are_reported_separately() {
    let mut agent = connected();
    let lease = lease(1, 1, 4, false);
    agent.leased(lease);
    agent.finished(Millis(0), part(lease, 0, 2));
    agent.finished(Millis(0), Report { kernel: kernel("avx512"), ..part(lease, 2, 4) });

    let reported = reports(agent.poll(Millis(0)));
    let reported: Vec<_> = reported.iter().map(|report| (report.range, report.kernel)).collect();
    assert_eq!(reported, [(range(0, 2), kernel("portable")), (range(2, 4), kernel("avx512"))]);
}

/// A report has a bounded number of task counts. A recount must come back as a whole, so it drops
/// its task counts instead.
#[test]
fn task_counts_of_a_report_are_bounded_but_a_recount_is_whole() {
    const MOST: u64 = TaskCounts::MOST as u64;
    let reported = |lease, start, end| {
        let counts = vec![0; (end - start) as usize];
        Report { task_counts: TaskCounts::new(&counts), ..part(lease, start, end) }
    };
    for (whole, expected) in [
        (false, vec![(range(0, MOST - 1), MOST - 1), (range(MOST - 1, MOST + 2), 3)]),
        (true, vec![(range(0, MOST + 2), 0)]),
    ] {
        let mut agent = connected();
        let lease = lease(1, 1, MOST + 2, whole);
        agent.leased(lease);
        agent.finished(Millis(0), reported(lease, 0, 1));
        agent.finished(Millis(0), reported(lease, 1, MOST - 1));
        agent.finished(Millis(0), reported(lease, MOST - 1, MOST + 1));
        agent.finished(Millis(0), reported(lease, MOST + 1, MOST + 2));
        let reports = reports(agent.poll(Millis(0)));
        let reports = reports.iter();
        let reports =
            reports.map(|report| (report.range, report.task_counts.as_slice().len() as u64));
        assert_eq!(reports.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_worker_knows_when_it_is_leased_more_than_is_acknowledged() {
    let of = lease(1, 1, 4, false);
    let most = 2 * (4096 + 100);
    for (counts, most) in [(0, most), (1, most), (4096, 4096 + most / 4096)] {
        let task_counts = TaskCounts::new(&vec![0; counts]);
        let mut agent = connected();
        for job in 1..=most + 1 {
            let task_counts = task_counts.clone();
            let part = Report { job: JobId(job), task_counts, ..part(of, 0, 4) };
            agent.finished(Millis(0), part);
            agent.poll(Millis(0));
            if job >= most {
                assert_eq!(agent.is_overdrawn(), job > most, "{counts} counts a report");
            }
        }
    }
}

#[test]
fn a_stopping_worker_reports_its_counts_and_takes_no_lease() {
    let mut agent = connected();
    let lease = lease(1, 1, 4, false);
    agent.leased(lease);
    agent.finished(Millis(0), part(lease, 0, 2));

    agent.stop();
    let messages = agent.poll(Millis(1));
    assert!(messages.contains(&WorkerMessage::Draining));
    let reported = reports(messages);
    assert_eq!(reported[0].range, range(0, 2));

    agent.acked(&Ack::of(&reported[0], Verdict::Accepted));
    assert!(agent.is_settled());
    agent.leased(lease);
    let WorkerMessage::Hello(hello) = agent.connected() else { panic!("first words") };
    assert_eq!((hello.credit, hello.holding), (0, vec![]));
}

/// The range `[0, tasks)`, divided at `cuts`.
fn split(tasks: u64, cuts: &[u64]) -> Vec<Range> {
    let mut ends: Vec<u64> = cuts.iter().map(|cut| cut % tasks).chain([0, tasks]).collect();
    ends.sort_unstable();
    ends.windows(2).filter_map(|pair| Range::new(pair[0], pair[1])).collect()
}

/// The count of this part of a lease. Its first task has the whole count.
fn sum(lease: Lease, range: Range, count: u64) -> Report {
    let checked_count = checked_count(lease.plan, range.first(1), count - 1);
    Report { checked_count, ..part(lease, range.start(), range.end()) }
}

proptest! {
    /// Reports tile a lease and have its sum. This holds for any division of the lease and any
    /// order of its parts, even if neighbouring sums exceed 64 bits.
    #[test]
    fn reports_tile_the_lease(
        tasks in 1..50u64,
        cuts in vec(0..50u64, 0..20),
        order in any::<u64>(),
        huge in any::<bool>(),
        polls in any::<u64>(),
    ) {
        let count = |range: Range| -> u64 {
            (range.start()..range.end()).map(|o| if huge { 1 << 61 } else { 1 + o * o }).sum()
        };
        let most = if huge { 4 } else { tasks };
        let pieces = |range: Range| {
            let starts = (range.start()..range.end()).step_by(most as usize);
            starts.filter_map(move |start| Range::new(start, (start + most).min(range.end())))
        };
        let mut parts: Vec<Range> = split(tasks, &cuts).into_iter().flat_map(pieces).collect();
        Random::new(order).shuffle(&mut parts);
        let (mut agent, lease) = (connected(), lease(1, 1, tasks, false));
        agent.leased(lease);
        let mut sent = Vec::new();
        for (turn, &range) in parts.iter().enumerate() {
            agent.finished(Millis(1), sum(lease, range, count(range)));
            let late = polls >> (turn % 64) & 1 == 1;
            sent.extend(reports(agent.poll(Millis(if late { 1_000 } else { 1 }))));
        }
        let mut covered = IntervalSet::new();
        for report in &sent {
            prop_assert!(!covered.intersects(report.range), "sent twice: {:?}", report);
            covered.insert(report.range);
            prop_assert_eq!(report.checked_count.count, count(report.range));
            agent.acked(&Ack::of(report, Verdict::Accepted));
        }
        prop_assert_eq!(covered.iter().collect::<Vec<_>>(), vec![lease.range]);
        prop_assert!(agent.is_settled());
    }

    /// Reports without an acknowledgement are sent again after a reconnection, with the same
    /// boundaries.
    #[test]
    fn reports_are_repeated_exactly(tasks in 1..30u64, cuts in vec(0..30u64, 0..10)) {
        let (mut agent, lease) = (connected(), lease(1, 1, tasks, false));
        agent.leased(lease);
        let mut sent = BTreeMap::new();
        for (turn, range) in split(tasks, &cuts).into_iter().enumerate() {
            agent.finished(Millis(1), sum(lease, range, 1 + range.start()));
            let messages = agent.poll(Millis(1 + 400 * turn as u64));
            sent.extend(reports(messages).into_iter().map(|report| (report.range, report)));
        }
        agent.disconnected();
        let WorkerMessage::Hello(Hello { holding, .. }) = agent.connected() else { panic!("first words") };
        let held: IntervalSet = holding.into_iter().map(|holding| holding.range).collect();
        prop_assert_eq!(held.iter().collect::<Vec<_>>(), vec![lease.range]);
        let again = reports(agent.poll(Millis(100_000)));
        let again: BTreeMap<Range, Report> = again.into_iter().map(|r| (r.range, r)).collect();
        prop_assert_eq!(again, sent);
    }
}
