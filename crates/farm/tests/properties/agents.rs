//! Properties of the reports of a worker's agent.

use std::collections::BTreeMap;

use farm::{
    Ack, Agent, AgentConfig, Hello, IntervalSet, JobId, KernelName, Lease, LeaseId, LeaseKind,
    LeaseToken, Millis, Range, Report, TaskCounts, Verdict, WorkerMessage,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::{checked_count, ordinals, pieces, plan, shuffle, split};

proptest! {
    /// Reports tile a lease and have its sum. This holds for any division of the lease and any
    /// order of its parts, even if neighbouring sums exceed 64 bits.
    #[test]
    fn agent_reports_tile_the_lease(
        tasks in 1..50u64,
        cuts in vec(0..50u64, 0..20),
        order in any::<u64>(),
        huge in any::<bool>(),
        polls in any::<u64>(),
    ) {
        let count = |range: Range| -> u64 {
            ordinals(range).map(|o| if huge { 1 << 61 } else { o * o }).sum()
        };
        let most = if huge { 4 } else { tasks };
        let mut parts: Vec<Range> =
            split(tasks, &cuts).into_iter().flat_map(|range| pieces(range, most)).collect();
        shuffle(&mut parts, order);
        let mut agent = agent();
        let lease = lease(LeaseId(1), tasks);
        agent.leased(lease);
        let mut reports = Vec::new();
        for (turn, &range) in parts.iter().enumerate() {
            agent.finished(Millis(1), part(lease, range, count(range)));
            let late = polls >> (turn % 64) & 1 == 1;
            reports.extend(reported(agent.poll(Millis(if late { 1_000 } else { 1 }))));
        }
        let mut covered = IntervalSet::new();
        for report in &reports {
            prop_assert!(!covered.intersects(report.range), "sent twice: {:?}", report);
            covered.insert(report.range);
            let sum: u128 = pieces(report.range, 1).into_iter().map(|r| u128::from(count(r))).sum();
            prop_assert_eq!(u128::from(report.checked_count.count), sum);
            agent.acked(&Ack::of(report, Verdict::Accepted));
        }
        prop_assert_eq!(covered.iter().collect::<Vec<_>>(), vec![lease.range]);
        prop_assert!(agent.is_settled());
    }

    /// Reports without an acknowledgement are sent again after a reconnection, with the same
    /// boundaries.
    #[test]
    fn agent_repeats_itself_exactly(tasks in 1..30u64, cuts in vec(0..30u64, 0..10)) {
        let mut agent = agent();
        let lease = lease(LeaseId(1), tasks);
        agent.leased(lease);
        let mut sent = BTreeMap::new();
        for (turn, range) in split(tasks, &cuts).into_iter().enumerate() {
            agent.finished(Millis(1), part(lease, range, range.start()));
            let messages = agent.poll(Millis(1 + 400 * turn as u64));
            sent.extend(reported(messages).into_iter().map(|report| (report.range, report)));
        }
        agent.disconnected();
        let WorkerMessage::Hello(Hello { holding, .. }) = agent.connected() else { panic!("first words") };
        let held: IntervalSet = holding.into_iter().map(|holding| holding.range).collect();
        prop_assert_eq!(held.iter().collect::<Vec<_>>(), vec![lease.range]);
        let again = reported(agent.poll(Millis(100_000)));
        let again: BTreeMap<Range, Report> = again.into_iter().map(|r| (r.range, r)).collect();
        prop_assert_eq!(again, sent);
    }
}

pub(crate) fn lease(lease: LeaseId, tasks: u64) -> Lease {
    let (plan, range) = (plan(tasks), Range::new(0, tasks).expect("some tasks"));
    let token = LeaseToken { range, kind: LeaseKind::Count, mac: [7; 16] };
    let fingerprint = plan.fingerprint();
    Lease { id: lease, job: JobId(1), plan, fingerprint, range, token, recount: None }
}

pub(crate) fn part(lease: Lease, range: Range, count: u64) -> Report {
    let (checked_count, kernel) = (checked_count(range, count), KernelName::default());
    Report::new(&lease, range, checked_count, TaskCounts::default(), kernel, 1)
}

pub(crate) fn agent() -> Agent {
    let mut agent = Agent::new(AgentConfig {
        hello: Hello {
            worker: "w".into(),
            machine: "w".into(),
            build: "1.0".into(),
            backend: "portable".into(),
            instance: 1,
            threads: 2,
            memory: 0,
            credit: 100,
            holding: Vec::new(),
        },
        report_ms: 500,
        resend_ms: 50_000,
    });
    agent.connected();
    agent
}

pub(crate) fn reported(messages: Vec<WorkerMessage>) -> Vec<Report> {
    let report = |message| match message {
        WorkerMessage::Report(report) => Some(report),
        _ => None,
    };
    messages.into_iter().filter_map(report).collect()
}
