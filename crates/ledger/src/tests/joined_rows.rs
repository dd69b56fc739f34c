//! Properties of joined rows, compared with the rows before.

use farm::{Check, CountedRange, Digest, EvidenceRecord, Row};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// A plan in which the counts of single tasks are kept.
const PLAN: Plan = Plan { problem: Problem::Total { n: 8 }, method: Method::Colours, tasks: 1_000 };

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
fn parts(of: &[(u64, u8, u64, u8, bool)]) -> Vec<Part> {
    let mut at = 0;
    let part = |&(length, worker, lease, kind, is_large): &(u64, u8, u64, u8, bool)| {
        at += u64::from(kind == 1);
        let range = interval(at, at + length);
        at += length;
        let mut counts = vec![0; length as usize];
        counts[0] = if is_large { u64::MAX - 7 } else { at };
        let with = |sum: CheckedCount, (at, &count)| sum.with(PLAN.fingerprint(), at, count);
        let checked_count = (range.start()..).zip(&counts).try_fold(CheckedCount::EMPTY, with);
        let checked_count = checked_count.expect("one task counts everything");
        let task_counts = if kind == 2 { TaskCounts::new(&counts) } else { TaskCounts::default() };
        let (fingerprint, lease) = (PLAN.fingerprint(), LeaseId(lease));
        let of = report(range, 0);
        let report = Report { fingerprint, lease, checked_count, task_counts, busy_us: at, ..of };
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
            (0..1_u64 << 63, prop_oneof![Just(0), 0..=AuditPolicy::ALL, 0..=AuditPolicy::ALL / 20]),
        (order, disputed) in (any::<u64>(), prop::option::of(any::<prop::sample::Index>())),
    ) {
        let policy = AuditPolicy { share_ppm, ..everything(seed, false) };
        let mut all = parts(&rows_of);
        for part in &mut all {
            part.is_audited |= policy.chooses(PLAN.fingerprint(), part.report.range);
        }
        let ledger = empty();
        let audit = audit(JOB, policy, OWNER);
        ledger.apply(&[job_of(PLAN), audit]).expect("it is the first");
        let disputed = disputed.map(|at| all[at.index(all.len())].clone());
        if let Some(Part { report, provenance, .. }) = disputed.clone() {
            let claim = LedgerCommand::Dispute(Report { lease: LeaseId(77), ..report }, provenance);
            ledger.apply(&[claim]).expect("it is kept");
        }
        let disputed = disputed.map(|part| part.row());

        let mut parts = all.clone();
        Random::new(order).shuffle(&mut parts);
        let accept = |Part { report, provenance, is_audited: audit }| {
            LedgerCommand::Accept { report, provenance, audit }
        };
        let accepted: Vec<_> = parts.into_iter().map(accept).collect();
        ledger.apply(&accepted).expect("nobody has counted it");

        let has_tasks = |part: &Part| !part.report.task_counts.are_omitted();
        let alike = |two: &[Part]| {
            let (a, b) = (two[0].row(), two[1].row());
            (&a.provenance, a.lease, a.range.end()) == (&b.provenance, b.lease, b.range.start())
                && has_tasks(&two[0]) == has_tasks(&two[1])
        };
        let is_plain = |part: &Part| !part.is_audited && part.report.checked_count.count < 1_000;
        let are_alike = all.windows(2).all(alike) && all.iter().all(is_plain);
        if are_alike && share_ppm == 0 && disputed.is_none() {
            prop_assert_eq!(rows(&ledger).len(), 1);
        }
        say_the_same(&all, &ledger, policy, disputed.as_ref())?;
    }
}

/// The rows of a ledger, with what each of their tasks counts.
fn rows(ledger: &Ledger) -> Vec<(CountedRange, TaskCounts)> {
    let mut rows = Vec::new();
    let note = |record| {
        if let EvidenceRecord::Range { counted, task_counts, .. } = record {
            rows.push((counted, task_counts));
        }
        Ok::<(), LedgerFault>(())
    };
    ledger.for_each_record(JOB, &PLAN, note).expect("they are sound");
    rows
}

/// Whether the rows of a ledger have the content of the parts, and the rows that must stay separate
/// are there.
fn say_the_same(
    before: &[Part],
    ledger: &Ledger,
    policy: AuditPolicy,
    disputed: Option<&Row>,
) -> Result<(), TestCaseError> {
    let mut rest = before;
    for (CountedRange { row, check }, reported) in rows(ledger) {
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
