//! Properties of joined rows, compared with the rows before.

use farm::rules::{self, Store};
use farm::{
    AuditPolicy, Check, CheckedCount, CountedRange, Digest, JobId, LeaseId, LedgerCommand, Plan,
    Provenance, Report, Row, TaskCounts,
};
use proptest::collection::vec;
use proptest::prelude::*;
use testkit::{MemoryStore, Random};

use crate::stage::{AUDIT_ALL, plan, provenance, range, report, spec};

const JOB: JobId = JobId(1);

/// A count that is accepted.
#[derive(Clone)]
struct Part {
    report: Report,
    provenance: Provenance,
    /// Whether it waits for a second count.
    is_audited: bool,
}

impl Part {
    fn row(&self) -> Row {
        Row::new(&self.report, &self.provenance)
    }
}

/// A part for each length, worker, lease, kind, and whether its count is large. Kind 0 waits for a
/// second count, kind 1 follows a gap, and kind 2 has the count of each task.
fn parts(plan: Plan, of: &[(u64, u8, u64, u8, bool)]) -> Vec<Part> {
    let mut at = 0;
    let part = |&(length, worker, lease, kind, is_large): &(u64, u8, u64, u8, bool)| {
        at += u64::from(kind == 1);
        let range = range(at, at + length);
        at += length;
        let mut counts = vec![0; length as usize];
        counts[0] = if is_large { u64::MAX - 7 } else { at };
        let with = |sum: CheckedCount, (at, &count)| sum.with(plan.fingerprint(), at, count);
        let checked_count = (range.start()..).zip(&counts).try_fold(CheckedCount::EMPTY, with);
        let checked_count = checked_count.expect("one task counts everything");
        let task_counts = if kind == 2 { TaskCounts::new(&counts) } else { TaskCounts::default() };
        let (lease, of) = (LeaseId(lease), report(JOB, plan, range));
        let report = Report { lease, checked_count, task_counts, busy_us: at, ..of };
        let provenance = provenance(&format!("w{worker}"));
        Part { report, provenance, is_audited: kind == 0 }
    };
    of.iter().map(part).collect()
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
        let (plan, policy) = (plan(1_000), AuditPolicy { share_ppm, seed, ..AUDIT_ALL });
        let mut all = parts(plan, &rows_of);
        for part in &mut all {
            part.is_audited |= policy.chooses(plan.fingerprint(), part.report.range);
        }
        let mut store = MemoryStore::default();
        store.add_job(JOB, &spec(plan)).expect("it is the first");
        store.add_policy(JOB, policy, "").expect("the job is there");
        let disputed = disputed.map(|at| all[at.index(all.len())].row());
        if let Some(row) = &disputed {
            store.add_claim(JOB, &Row { lease: LeaseId(77), ..row.clone() }).expect("it is kept");
        }

        let mut parts = all.clone();
        Random::new(order).shuffle(&mut parts);
        for Part { report, provenance, is_audited: audit } in parts {
            let accept = LedgerCommand::Accept { report, provenance, audit };
            rules::execute(&mut store, &accept).expect("nobody has counted it");
        }

        let has_tasks = |part: &Part| !part.report.task_counts.are_omitted();
        let alike = |two: &[Part]| {
            let (a, b) = (two[0].row(), two[1].row());
            (&a.provenance, a.lease, a.range.end()) == (&b.provenance, b.lease, b.range.start())
                && has_tasks(&two[0]) == has_tasks(&two[1])
        };
        let is_plain = |part: &Part| !part.is_audited && part.report.checked_count.count < 1_000;
        let are_alike = all.windows(2).all(alike) && all.iter().all(is_plain);
        if are_alike && share_ppm == 0 && disputed.is_none() {
            prop_assert_eq!(store.jobs[&JOB].rows.len(), 1);
        }
        say_the_same(&all, &mut store, policy, disputed.as_ref())?;
    }
}

/// Whether the rows of a store have the content of the parts, and the rows that must stay separate
/// are there.
fn say_the_same(
    before: &[Part],
    store: &mut MemoryStore,
    policy: AuditPolicy,
    disputed: Option<&Row>,
) -> Result<(), TestCaseError> {
    let mut rest = before;
    let rows: Vec<CountedRange> = store.jobs[&JOB].rows.values().cloned().collect();
    for CountedRange { row, check } in rows {
        let is_in = |part: &&Part| part.report.range.end() <= row.range.end();
        let parts;
        (parts, rest) = rest.split_at(rest.iter().take_while(is_in).count());
        let first = &parts[0].report;
        prop_assert_eq!(first.range.start(), row.range.start());
        prop_assert_eq!(parts[parts.len() - 1].report.range.end(), row.range.end());
        for part in parts {
            prop_assert_eq!((&part.provenance, part.report.kernel), (&row.provenance, row.kernel));
            prop_assert_eq!(part.report.lease, row.lease);
            let expected = if part.is_audited { Check::Wanted } else { Check::NotChosen };
            prop_assert_eq!(check, expected);
        }
        let reports = || parts.iter().map(|part| &part.report);
        let sum: u128 = reports().map(|one| u128::from(one.checked_count.count)).sum();
        prop_assert_eq!(sum, u128::from(row.checked_count.count));
        prop_assert_eq!(reports().map(|one| one.busy_us).sum::<u64>(), row.busy_us);
        let digests = reports().map(|one| one.checked_count.digest);
        prop_assert_eq!(digests.reduce(Digest::join), Some(row.checked_count.digest));
        prop_assert!(row.checked_count.is_sound());
        let reported = store.task_counts(JOB, row.range).expect("the job is there");
        let adds_up = reported.add_up_to(first.fingerprint, row.range, row.checked_count);
        prop_assert!(adds_up, "{:?}", reported);
        prop_assert_eq!(reported.are_omitted(), first.task_counts.are_omitted());
        if parts.len() > 1 {
            prop_assert_eq!(check, Check::NotChosen);
            prop_assert!(!policy.chooses(first.fingerprint, row.range), "{}", row.range);
            let is_disputed = disputed.is_some_and(|one| one.range.intersect(row.range).is_some());
            prop_assert!(!is_disputed, "it is disputed");
        }
    }
    prop_assert!(rest.is_empty(), "a row is lost");
    Ok(())
}

/// The value 1 in one of `one_in` cases, and 0 otherwise.
fn seldom<T: From<bool> + std::fmt::Debug>(one_in: u32) -> impl Strategy<Value = T> {
    (0..one_in).prop_map(|number| T::from(number == 0))
}
