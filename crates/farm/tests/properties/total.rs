//! The farm's total for any division of a plan into reports.

use farm::{
    Config, CoordinatorMessage, Effect, Event, Farm, Hello, Holding, JobId, JobSpec, JobState,
    KernelName, Known, LeaseId, LeaseKey, LeaseKind, LeaseToken, LedgerAnswer, LedgerCommand,
    Millis, Origin, Range, Report, Request, RequestId, Restored, SessionId, Slice, TaskCounts,
    Verdict, WorkerMessage,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::{checked_count, ordinals, pieces, plan, shuffle, split};

proptest! {
    /// All reports of a plan have the same sum, for any division, any order and any leases.
    #[test]
    fn every_split_sums_to_the_same(
        tasks in 1..200u64,
        cuts in vec(0..200u64, 0..40),
        order in any::<u64>(),
        leases in vec(0..10u64, 40),
    ) {
        let count = |ordinal: u64| u64::MAX / 50 - ordinal * ordinal;
        let truth: u128 = (0..tasks).map(|ordinal| u128::from(count(ordinal))).sum();
        let key = LeaseKey::new([9; 32]);
        let restored = Restored::default();
        let mut farm =
            Farm::restore(Config::default(), key, Millis(0), restored, |_, _| Known::nothing());
        let plan = plan(tasks);
        let spec = JobSpec { origin: Origin::default(), plan, slice: Slice::ALL, priority: 0 };
        let ask = Request::Submit(vec![farm::Submission { spec, audit: None, known: Box::new(Known::nothing()) }]);
        act(&mut farm, Event::Asked(RequestId(1), "lab".into(), ask));
        let hello = Hello {
            worker: "w".into(),
            machine: "w".into(),
            build: "1.0".into(),
            backend: "portable".into(),
            instance: 1,
            threads: 2,
            memory: 0,
            credit: 100,
            holding: Vec::new(),
        };
        act(&mut farm, Event::Joined { session: SessionId(1), owner: "o".into(), is_trusted: false, hello });
        let mut reports: Vec<Range> =
            split(tasks, &cuts).into_iter().flat_map(|range| pieces(range, 40)).collect();
        shuffle(&mut reports, order);
        for (index, range) in reports.into_iter().enumerate() {
            let (job, lease) = (JobId(1), LeaseId(leases[index % leases.len()]));
            let token = LeaseToken { range, kind: LeaseKind::Count, mac: [0; 16] };
            let leased = Holding { lease, job, fingerprint: plan.fingerprint(), range, token };
            let report = Report {
                job,
                fingerprint: plan.fingerprint(),
                lease,
                token: key.sign(&leased, "o"),
                range,
                checked_count: checked_count(range, ordinals(range).map(count).sum()),
                task_counts: TaskCounts::default(),
                kernel: KernelName::default(),
                busy_us: 1_000,
            };
            let verdicts = act(&mut farm, Event::Said(SessionId(1), WorkerMessage::Report(report)));
            prop_assert_eq!(verdicts, vec![Verdict::Accepted]);
        }
        let job = farm.job(JobId(1)).expect("it was submitted");
        prop_assert_eq!((job.state, job.counted, job.tasks_done), (JobState::Done, truth, tasks));
    }
}

/// Handles an event and all that follows from it, with a ledger that writes at once. Returns the
/// verdicts.
fn act(farm: &mut Farm, event: Event) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    let mut events = vec![event];
    while let Some(event) = events.pop() {
        for effect in farm.step(Millis(1), event) {
            match effect {
                Effect::Ledger(asker, command) => {
                    if let LedgerCommand::Finish { tasks, .. } = command {
                        assert!(tasks > 0, "every plan here has tasks");
                    }
                    if !matches!(command, LedgerCommand::Compare(..)) {
                        let answer = LedgerAnswer::Written;
                        events.push(Event::Ledger { asker, command, answer, at_ms: 0 });
                    }
                }
                Effect::Tell(_, CoordinatorMessage::Ack(ack)) => verdicts.push(ack.verdict),
                _ => {}
            }
        }
    }
    verdicts
}
