//! Properties of joined rows, compared with the rows before.

use farm::rules::{self, Store};
use farm::{
    AuditPolicy, AuditScope, Check, CheckedCount, CountedRange, Digest, JobId, JobSpec, KernelName,
    LeaseId, LeaseKind, LeaseToken, LedgerCommand, Method, Origin, Plan, Principal, Problem,
    Provenance, Range, Report, Row, Slice, TaskCounts,
};
use proptest::collection::vec;
use proptest::prelude::*;
use testkit::MemoryStore;

use crate::shuffle;

/// The plan of rows that are joined.
const PLAN: Plan =
    Plan { problem: Problem::Total { n: 8 }, method: Method::Rows { rows: 2 }, tasks: 1_000 };

/// A row for each length, worker, lease, kind, and whether its count is large. Kind 0 waits for a
/// second count, kind 1 follows a gap, and kind 2 has the count of each task.
fn rows(of: &[(u64, u8, u64, u8, bool)]) -> Vec<(CountedRange, TaskCounts)> {
    let mut at = 0;
    let row = |&(length, worker, lease, kind, is_large): &(u64, u8, u64, u8, bool)| {
        at += u64::from(kind == 1);
        let range = Range::new(at, at + length).expect("not empty");
        at += length;
        let mut counts = vec![0; length as usize];
        counts[0] = if is_large { u64::MAX - 7 } else { at };
        let with = |sum: CheckedCount, (at, &count)| sum.with(PLAN.fingerprint(), at, count);
        let checked_count = (range.start()..).zip(&counts).try_fold(CheckedCount::EMPTY, with);
        let machine = format!("w{worker}");
        let row = Row {
            range,
            checked_count: checked_count.expect("one task counts everything"),
            kernel: KernelName::new("avx2").expect("there is such a kernel"),
            provenance: Provenance {
                principal: Principal { owner: "lab".into(), machine: machine.clone() },
                worker: machine,
                build: "1.0".into(),
            },
            lease: LeaseId(lease),
            busy_us: at,
        };
        let check = if kind == 0 { Check::Wanted } else { Check::NotChosen };
        let reported = if kind == 2 { TaskCounts::new(&counts) } else { TaskCounts::default() };
        (CountedRange { row, check }, reported)
    };
    of.iter().map(row).collect()
}

fn accept((counted, task_counts): &(CountedRange, TaskCounts)) -> LedgerCommand {
    let Row { range, checked_count, kernel, lease, busy_us, ref provenance } = counted.row;
    let report = Report {
        job: JobId(1),
        fingerprint: PLAN.fingerprint(),
        lease,
        token: LeaseToken { range, kind: LeaseKind::Count, mac: [0; 16] },
        range,
        checked_count,
        task_counts: task_counts.clone(),
        kernel,
        busy_us,
    };
    let audit = counted.check == Check::Wanted;
    LedgerCommand::Accept { report, provenance: provenance.clone(), audit }
}

proptest! {
    /// In any order of acceptance, joining rows changes neither their content nor their authors.
    /// Rows that wait for a second count or are disputed stay separate. If nothing forbids it, all
    /// rows become one.
    #[test]
    fn joining_rows_keeps_their_content(
        rows_of in prop_oneof![
            vec((1..4u64, 0..2u8, 0..2u64, 0..6u8, any::<bool>()), 1..30),
            // There are many neighbours that are alike.
            vec((1..4u64, seldom(9), seldom(9), 3..60u8, prop::bool::weighted(0.05)), 1..60),
            vec((1..4u64, Just(0), Just(0), Just(2), Just(false)), 1..60),
        ],
        (seed, share_ppm) in
            (any::<u64>(), prop_oneof![Just(0), 0..=AuditPolicy::ALL, 0..=AuditPolicy::ALL / 20]),
        (order, disputed) in (any::<u64>(), prop::option::of(any::<prop::sample::Index>())),
    ) {
        let policy =
            AuditPolicy { share_ppm, seed, by_search: false, across: AuditScope::Machines };
        let mut all = rows(&rows_of);
        for (counted, _) in &mut all {
            if policy.chooses(PLAN.fingerprint(), counted.row.range) {
                counted.check = Check::Wanted;
            }
        }
        let (mut store, id) = (MemoryStore::default(), JobId(1));
        let (origin, slice) = (Origin::default(), Slice::ALL);
        let spec = JobSpec { origin, plan: PLAN, slice, priority: 0 };
        store.add_job(id, &spec).expect("it is the first");
        store.add_policy(id, policy, "").expect("the job is there");
        let disputed = disputed.map(|at| all[at.index(all.len())].0.row.clone());
        if let Some(row) = &disputed {
            store.add_claim(id, &Row { lease: LeaseId(77), ..row.clone() }).expect("it is kept");
        }

        let mut commands: Vec<LedgerCommand> = all.iter().map(accept).collect();
        shuffle(&mut commands, order);
        for command in &commands {
            rules::execute(&mut store, command).expect("nobody has counted it");
        }

        let alike = |two: &[(CountedRange, TaskCounts)]| {
            let [(a, _), (b, _)] = two else { return true };
            (&a.row.provenance, a.row.lease, a.row.range.end()) == (&b.row.provenance, b.row.lease, b.row.range.start())
        };
        let is_small = all.iter().all(|(counted, _)| counted.row.checked_count.count < 1_000);
        let are_alike = all.windows(2).all(alike)
            && (all.iter().all(|(_, reported)| reported.are_omitted()) || all.iter().all(|(_, reported)| !reported.are_omitted()))
            && all.iter().all(|(counted, _)| counted.check == Check::NotChosen);
        if are_alike && is_small && share_ppm == 0 && disputed.is_none() {
            prop_assert_eq!(store.jobs[&id].rows.len(), 1);
        }
        say_the_same(&all, &mut store, policy, disputed.as_ref())?;
    }
}

/// Whether the rows of a store have the content of the rows before, and the rows that must stay
/// separate are there.
fn say_the_same(
    before: &[(CountedRange, TaskCounts)],
    store: &mut MemoryStore,
    policy: AuditPolicy,
    disputed: Option<&Row>,
) -> Result<(), TestCaseError> {
    let mut rest = before.iter();
    let rows: Vec<CountedRange> = store.jobs[&JobId(1)].rows.values().cloned().collect();
    for CountedRange { row, check } in rows {
        let mut parts = Vec::new();
        while parts.last().is_none_or(|(last, _): &&(CountedRange, TaskCounts)| {
            last.row.range.end() < row.range.end()
        }) {
            parts.push(rest.next().expect("nothing was added"));
        }
        let range = Range::new(parts[0].0.row.range.start(), row.range.end());
        prop_assert_eq!(range, Some(row.range));
        for (part, _) in &parts {
            prop_assert_eq!((&part.row.provenance, part.row.kernel), (&row.provenance, row.kernel));
            prop_assert_eq!((part.row.lease, part.check), (row.lease, check));
        }
        let sum =
            parts.iter().map(|(part, _)| u128::from(part.row.checked_count.count)).sum::<u128>();
        prop_assert_eq!(sum, u128::from(row.checked_count.count));
        let busy = parts.iter().map(|(part, _)| part.row.busy_us).sum::<u64>();
        prop_assert_eq!(busy, row.busy_us);
        let digests = parts.iter().map(|(part, _)| part.row.checked_count.digest);
        prop_assert_eq!(digests.reduce(Digest::join), Some(row.checked_count.digest));
        prop_assert!(row.checked_count.is_sound());
        let reported = store.task_counts(JobId(1), row.range).expect("the job is there");
        prop_assert!(
            reported.add_up_to(PLAN.fingerprint(), row.range, row.checked_count),
            "{:?}",
            reported
        );
        prop_assert_eq!(reported.are_omitted(), parts[0].1.are_omitted());
        if parts.len() > 1 {
            prop_assert_eq!(check, Check::NotChosen);
            prop_assert!(!policy.chooses(PLAN.fingerprint(), row.range), "{}", row.range);
            let is_disputed = disputed.is_some_and(|one| one.range.intersect(row.range).is_some());
            prop_assert!(!is_disputed, "it is disputed");
        }
    }
    prop_assert!(rest.next().is_none(), "a row is lost");
    Ok(())
}

/// The value 1 in one of `one_in` cases, and 0 otherwise.
fn seldom<T: From<bool> + std::fmt::Debug>(one_in: u32) -> impl Strategy<Value = T> {
    (0..one_in).prop_map(|number| T::from(number == 0))
}
