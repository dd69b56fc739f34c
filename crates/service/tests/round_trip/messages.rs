//! Random messages of all kinds.

use board::{Given, MethodChoice, Prefix, Square, Task};
use farm::{
    Ack, CheckedCount, CoordinatorMessage, Digest, Fingerprint, Hello, Holding, JobId, KernelName,
    Lease, LeaseId, LeaseKind, LeaseToken, Method, Pace, Plan, Problem, Range, Recount, Report,
    TaskCounts, TasksBlock, Verdict, WorkerMessage,
};
use proptest::collection::vec;
use proptest::prelude::*;

pub(super) fn message() -> impl Strategy<Value = WorkerMessage> {
    prop_oneof![
        hello().prop_map(WorkerMessage::Hello),
        any::<u64>().prop_map(WorkerMessage::Credit),
        report().prop_map(WorkerMessage::Report),
        any::<u64>().prop_map(|lease| WorkerMessage::Working(LeaseId(lease))),
        Just(WorkerMessage::Draining),
    ]
}

pub(super) fn hello() -> impl Strategy<Value = Hello> {
    let names = ("[!-~]{1,128}", "[!-~]{1,128}", "[!-~]{0,128}", "[!-~]{0,128}");
    let numbers = (any::<u64>(), 1..=4096u32, any::<u64>());
    let methods = prop::sample::subsequence(MethodChoice::all().collect::<Vec<_>>(), 0..=3);
    (names, numbers, vec(holding(), 0..5), methods).prop_map(
        |((worker, machine, build, backend), (instance, threads, credit), holding, methods)| {
            Hello { worker, machine, build, backend, instance, threads, credit, holding, methods }
        },
    )
}

pub(super) fn holding() -> impl Strategy<Value = Holding> {
    (0..1u64 << 63, 0..1u64 << 63, fingerprint(), range(), token()).prop_map(
        |(lease, job, fingerprint, range, token)| Holding {
            lease: LeaseId(lease),
            job: JobId(job),
            fingerprint,
            range,
            token,
        },
    )
}

pub(super) fn token() -> impl Strategy<Value = LeaseToken> {
    let kind = prop_oneof![Just(LeaseKind::Count), Just(LeaseKind::Recount)];
    (range(), kind, any::<[u8; 16]>())
        .prop_map(|(range, kind, mac)| LeaseToken::new(range, kind, mac))
}

pub(super) fn report() -> impl Strategy<Value = Report> {
    let checked_count = (any::<u64>(), 0..1u64 << 61, any::<u128>());
    let checked_count = checked_count.prop_map(|(count, residue, digest)| {
        // The farm decides whether the residue is right.
        CheckedCount { count, residue, digest: Digest(digest) }
    });
    let all = (holding(), checked_count, vec(0..1u64 << 60, 0..4), kernel(), any::<u64>());
    all.prop_map(|(holding, checked_count, counts, kernel, busy_us)| {
        let Holding { lease, job, fingerprint, range, token } = holding;
        let start = range.start().min(1 << 62);
        let reported = Range::new(start, start + counts.len() as u64);
        let each = (start..).zip(&counts);
        let sum = each.fold(CheckedCount::EMPTY, |sum, (ordinal, &count)| {
            sum.with(fingerprint, ordinal, count).expect("it is small")
        });
        let (range, checked_count) =
            reported.map_or((range, checked_count), |reported| (reported, sum));
        let task_counts = TaskCounts::new(&counts);
        Report {
            job,
            fingerprint,
            lease,
            token,
            range,
            checked_count,
            task_counts,
            kernel,
            busy_us,
        }
    })
}

pub(super) fn kernel() -> impl Strategy<Value = KernelName> {
    prop::sample::select(KernelName::ALL.to_vec())
}

pub(super) fn recount() -> impl Strategy<Value = Recount> {
    // The kernels that counted a range before may be several.
    let unlike = prop::option::of(kernel()).prop_map(Option::unwrap_or_default);
    (unlike, any::<bool>()).prop_map(|(unlike, by_reference)| Recount { unlike, by_reference })
}

pub(super) fn order() -> impl Strategy<Value = CoordinatorMessage> {
    prop_oneof![
        any::<u64>().prop_map(|leases_in_ms| CoordinatorMessage::Welcome { leases_in_ms }),
        lease().prop_map(CoordinatorMessage::Lease),
        tasks().prop_map(CoordinatorMessage::Tasks),
        (holding(), verdict()).prop_map(|(holding, verdict)| CoordinatorMessage::Ack(Ack {
            job: holding.job,
            fingerprint: holding.fingerprint,
            range: holding.range,
            verdict,
        })),
        any::<u64>().prop_map(|lease| CoordinatorMessage::Revoke(LeaseId(lease))),
        (0..=200_000usize).prop_map(|workers| CoordinatorMessage::Pace(Pace::of(workers))),
    ]
}

pub(super) fn lease() -> impl Strategy<Value = Lease> {
    let bytes = any::<[u8; LeaseToken::LEN]>();
    (any::<u64>(), any::<u64>(), plan(), range(), bytes, prop::option::of(recount())).prop_map(
        |(lease, job, plan, range, bytes, recount)| {
            let plan = Plan { tasks: plan.tasks.max(range.end()), ..plan };
            let kind = if recount.is_some() { LeaseKind::Recount } else { LeaseKind::Count };
            let token = LeaseToken { range, kind, bytes };
            Lease {
                id: LeaseId(lease),
                job: JobId(job),
                plan,
                fingerprint: plan.fingerprint(),
                range,
                token,
                recount,
            }
        },
    )
}

pub(super) fn tasks() -> impl Strategy<Value = TasksBlock> {
    let weight = 1..=64u8;
    let task = (any::<u32>(), any::<u32>(), any::<u32>(), weight);
    (any::<u64>(), 0..1u64 << 60, vec(task, 1..20)).prop_map(|(lease, start, rows)| {
        let task =
            |(left, down, right, weight)| Task { record: Prefix { left, down, right }, weight };
        let tasks = rows.into_iter().map(task).collect();
        TasksBlock { lease: LeaseId(lease), start, tasks }
    })
}

pub(super) fn plan() -> impl Strategy<Value = Plan> {
    let rows = |n| {
        (0..=n, any::<bool>()).prop_map(|(rows, mirrored)| match mirrored {
            true => Method::Prefixes { rows },
            false => Method::Rows { rows },
        })
    };
    let rows = (0..=32u32).prop_flat_map(move |n| (Just(n), rows(n)));
    let colours = (4..=32u32).prop_map(|n| (n, Method::Colours));
    let total = prop_oneof![rows, colours].prop_flat_map(|(n, method)| {
        let problems = vec![Problem::Total { n }, Problem::Fundamental { n }];
        (prop::sample::select(problems), Just(method))
    });
    let others = (0..=32u32, 0..=5u32, any::<bool>()).prop_map(|(n, rows, torus)| {
        let method = Method::Rows { rows: rows.min(n) };
        (if torus { Problem::Toroidal { n } } else { Problem::Superqueens { n } }, method)
    });
    let given = (6..=64u32, 0..64u32, 0..64u32).prop_map(|(n, column, row)| {
        let queen = Square { column: column % n, row: row % n };
        let given = Given::new(n, &[queen]).expect("a single queen can stand anywhere");
        (Problem::Completions(given), Method::Rows { rows: 5 })
    });
    (prop_oneof![total, others, given], any::<u64>()).prop_map(|((problem, method), tasks)| Plan {
        problem,
        method,
        tasks,
    })
}

pub(super) fn verdict() -> impl Strategy<Value = Verdict> {
    prop::sample::select(Verdict::ALL.to_vec())
}

pub(super) fn fingerprint() -> impl Strategy<Value = Fingerprint> {
    any::<[u8; 32]>().prop_map(Fingerprint)
}

pub(super) fn range() -> impl Strategy<Value = Range> {
    (0..u64::MAX, 1..=u64::MAX).prop_map(|(start, length)| {
        Range::new(start, start.saturating_add(length)).expect("not empty")
    })
}
