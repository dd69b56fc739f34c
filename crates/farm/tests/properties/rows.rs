//! Rows that become one, against what they were.

use farm::rules::{self, MemoryStore, Store};
use farm::{
    Across, AuditPolicy, Author, Check, CountedRange, Digest, JobId, JobState, KernelName, LeaseId,
    LedgerCommand, LoanKind, LoanProof, Maker, Method, Origin, Plan, Problem, Range, Report, Row,
    Signature, Signatures, Signed, SignedPart, Slice, Stretch, Tally, TaskCounts,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::signer;

/// The plan of rows that are joined.
const PLAN: Plan =
    Plan { problem: Problem::Total { n: 8 }, method: Method::Rows { rows: 2 }, tasks: 1_000 };

/// A job that is cancelled, with a row for each length, worker, lease, check and whether its count is large; a check
/// beyond those that there are is a gap before the row. The rows are those that a policy does not choose, or that are
/// waited for or confirmed.
fn job_of_rows(
    rows: &[(u64, u8, u64, u8, bool)],
    policy: AuditPolicy,
) -> (MemoryStore, Vec<CountedRange>) {
    let (mut store, id) = (MemoryStore::default(), JobId(1));
    let (origin, slice) = (Origin::default(), Slice::ALL);
    store.add_job(id, &origin, &PLAN, slice, 0).expect("it is the first");
    store.add_policy(id, policy, "").expect("the job is there");
    let (mut at, mut all) = (0, Vec::new());
    for &(length, worker, lease, check, is_large) in rows {
        at += u64::from(check == 5);
        let range = Range::new(at, at + length).expect("not empty");
        at += length;
        let count = if is_large { u64::MAX - 7 } else { at };
        let tally = Tally::EMPTY.with(PLAN.fingerprint(), range.start(), count);
        let machine = format!("w{worker}");
        let author = Author {
            maker: Maker { owner: "lab".into(), machine: machine.clone() },
            worker: machine,
            build: "1.0".into(),
        };
        let check = match check {
            0 => Check::Wanted,
            1 => Check::Agreed,
            _ if policy.chooses(PLAN.fingerprint(), range) => Check::Agreed,
            _ => Check::NotChosen,
        };
        let tally = tally.expect("one count");
        let Tally { count, digest, .. } = tally;
        let part = SignedPart { range, count, digest, signature: Signature([0; 64]) };
        let row = Row {
            range,
            tally,
            kernel: KernelName::new("avx2").expect("there is such a kernel"),
            author,
            lease: LeaseId(lease),
            busy_us: at,
            signatures: Some(Signatures { signer: signer(), parts: vec![part] }),
        };
        let counted = CountedRange { row, check };
        store.insert(id, &counted).expect("it does not overlap");
        all.push(counted);
    }
    store.set_state(id, JobState::Cancelled, None).expect("it is there");
    (store, all)
}

proptest! {
    /// A report that lengthens a stretch joins the rows of it under the same conditions, whatever its worker says of it. If
    /// nothing forbids it, they are one row, with the signature of the stretch alone.
    #[test]
    fn a_stretch_says_what_its_rows_said(
        rows in vec((1..4u64, seldom(9), seldom(9), 0..60u8, prop::bool::weighted(0.05)), 1..80),
        (seed, share_ppm, is_wrong) in (any::<u64>(), 0..=AuditPolicy::ALL, 0..4u8),
        (from, disputed) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        at_most in prop::sample::select(vec![3, 100]),
    ) {
        let share_ppm = share_ppm / 20;
        let policy =
            AuditPolicy { share_ppm, seed, salt: 0, by_search: false, across: Across::Machines, beacon: None };
        let (mut store, mut before) = job_of_rows(&rows, policy);
        let id = JobId(1);
        let open = before[disputed.index(before.len())].row.clone();
        store.add_claim(id, &Row { lease: LeaseId(77), ..open.clone() }).expect("it is kept");
        let last = before.pop().expect("there is one");
        store.jobs.get_mut(&id).expect("it is there").rows.remove(&last.row.range.start());
        let first = before.len() - from.index(before.len() + 1).min(at_most);
        let parts: Vec<&CountedRange> = before[first..].iter().chain([&last]).collect();
        let sum = parts.iter().map(|part| u128::from(part.row.tally.count)).sum::<u128>();
        let digest = parts.iter().map(|part| part.row.tally.digest).reduce(Digest::join);
        let range = Range::new(parts[0].row.range.start(), last.row.range.end()).expect("not empty");
        let stretch = Stretch {
            range,
            count: (sum as u64).wrapping_add(u64::from(is_wrong == 1)),
            digest: Digest(digest.expect("there is one").0 ^ u128::from(is_wrong == 2)),
            signature: Some(Signature([1; 64])).filter(|_| is_wrong != 3),
        };
        let Row { range: reported, tally, kernel, lease, busy_us, .. } = last.row;
        let report = Report {
            job: id,
            fingerprint: PLAN.fingerprint(),
            lease,
            proof: LoanProof { range, kind: LoanKind::Count, seal: [0; 16] },
            range: reported,
            tally,
            task_counts: TaskCounts::default(),
            kernel,
            busy_us,
            signed: Some(Signed { signer: signer(), signature: Signature([0; 64]) }),
            stretches: vec![stretch],
        };
        let author = last.row.author.clone();
        let accept = LedgerCommand::Accept { report, author, audit: last.check != Check::NotChosen };

        rules::execute(&mut store, &accept).expect("nobody has counted it");

        let is_alike = |part: &&CountedRange| {
            (&part.row.author, part.row.lease, part.check) == (&last.row.author, lease, Check::NotChosen)
        };
        let tiles = parts.windows(2).all(|two| two[0].row.range.end() == two[1].row.range.start());
        let is_one = tiles
            && parts.len() <= 64
            && parts.iter().all(is_alike)
            && u64::try_from(sum).is_ok()
            && !policy.chooses(PLAN.fingerprint(), range)
            && open.range.intersect(range).is_none();
        if is_one && is_wrong == 0 && parts.len() > 1 {
            let row = &store.jobs[&id].rows[&range.start()].row;
            prop_assert_eq!(row.range, range);
            let signed = row.signatures.as_ref().expect("all are signed");
            let by: Vec<Signature> = signed.parts.iter().map(|part| part.signature).collect();
            prop_assert_eq!(by, vec![Signature([1; 64])]);
        }
        // The row that the store made of the last one itself may not be confirmed yet.
        let check = if last.check == Check::NotChosen { Check::NotChosen } else { Check::Wanted };
        before.push(CountedRange { check, ..last });
        say_the_same(&before, &store, policy, &open)?;
    }
}

/// Whether the rows of a store say together what the rows before said, and those that must stay are there.
fn say_the_same(
    before: &[CountedRange],
    store: &MemoryStore,
    policy: AuditPolicy,
    disputed: &Row,
) -> Result<(), TestCaseError> {
    let mut rest = before.iter();
    for CountedRange { row, check } in store.jobs[&JobId(1)].rows.values() {
        let mut parts = Vec::new();
        while parts.last().is_none_or(|last: &&CountedRange| last.row.range.end() < row.range.end())
        {
            parts.push(rest.next().expect("nothing was added"));
        }
        let range = Range::new(parts[0].row.range.start(), row.range.end());
        prop_assert_eq!(range, Some(row.range));
        for part in &parts {
            prop_assert_eq!((&part.row.author, part.row.kernel), (&row.author, row.kernel));
            prop_assert_eq!((part.row.lease, part.check), (row.lease, *check));
        }
        let sum = parts.iter().map(|part| u128::from(part.row.tally.count)).sum::<u128>();
        prop_assert_eq!(sum, u128::from(row.tally.count));
        let busy = parts.iter().map(|part| part.row.busy_us).sum::<u64>();
        prop_assert_eq!(busy, row.busy_us);
        let digests = parts.iter().map(|part| part.row.tally.digest);
        prop_assert_eq!(digests.reduce(Digest::join), Some(row.tally.digest));
        prop_assert!(row.tally.is_sound());
        let signed = row.signatures.as_ref().expect("all are signed");
        prop_assert!(signed.add_up_to(row), "{:?}", signed);
        prop_assert!(signed.parts.len() <= 8, "{:?}", signed);
        if parts.len() > 1 {
            prop_assert_eq!(*check, Check::NotChosen);
            prop_assert!(!policy.chooses(PLAN.fingerprint(), row.range), "{}", row.range);
            prop_assert!(disputed.range.intersect(row.range).is_none(), "it is disputed");
        }
    }
    prop_assert!(rest.next().is_none(), "a row is lost");
    Ok(())
}
/// 1 in one of so many cases, and 0 otherwise.
fn seldom<T: From<bool> + std::fmt::Debug>(one_in: u32) -> impl Strategy<Value = T> {
    (0..one_in).prop_map(|number| T::from(number == 0))
}
