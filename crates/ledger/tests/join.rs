//! Joining ledgers: what comes of it does not depend on the order in which they are named.

use std::path::{Path, PathBuf};

use farm::{
    Author, JobId, KernelName, LeaseId, LedgerCommand, LoanKind, LoanProof, Maker, Method, Origin,
    Plan, Problem, Range, Report, Slice, Tally,
};
use ledger::{CheckedLedger, join_ledgers};
use proptest::prelude::*;

const JOB: JobId = JobId(1);
const TASKS: u64 = 60;

/// A ledger of a process that counted: where its ranges end, and which of them it had counted when it was
/// stopped.
#[derive(Clone, Debug)]
struct Counted {
    ends: Vec<u64>,
    has: Vec<bool>,
}

fn counted() -> impl Strategy<Value = Counted> {
    let ends = prop::collection::btree_set(1..TASKS, 0..12);
    ends.prop_flat_map(|ends| {
        let ends: Vec<u64> = ends.into_iter().chain([TASKS]).collect();
        let has = prop::collection::vec(prop::bool::weighted(0.6), ends.len());
        has.prop_map(move |has| Counted { ends: ends.clone(), has })
    })
}

fn plan() -> Plan {
    Plan { problem: Problem::Total { n: 8 }, method: Method::Rows { rows: 2 }, tasks: TASKS }
}

/// Every task counts what its ordinal says.
fn report(range: Range) -> Report {
    let fingerprint = plan().fingerprint();
    let tally = (range.start()..range.end())
        .try_fold(Tally::EMPTY, |tally, ordinal| tally.with(fingerprint, ordinal, ordinal % 7));
    Report {
        job: JOB,
        fingerprint,
        lease: LeaseId(1),
        proof: LoanProof { range, kind: LoanKind::Count, seal: [0; 16] },
        range,
        tally: tally.expect("the counts are small"),
        kernel: KernelName::new("avx2").expect("there is such a kernel"),
        busy_us: 1,
    }
}

impl Counted {
    fn ranges(&self) -> impl Iterator<Item = Range> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let ranges = starts.zip(&self.ends).zip(&self.has).filter(|(_, has)| **has);
        ranges.map(|((start, &end), _)| Range::new(start, end).expect("it is not empty"))
    }

    fn tasks(&self) -> u64 {
        self.ranges().map(Range::len).sum()
    }

    fn write(&self, path: &Path) {
        let maker = Maker { owner: "owner".into(), machine: "machine".into() };
        let author = Author { maker, worker: "worker".into(), build: "1.2.3".into() };
        let (plan, slice) = (plan(), Slice::ALL);
        let origin = Origin::default();
        let create =
            LedgerCommand::CreateJob { job: JOB, origin, plan, slice, priority: 0, audit: None };
        let accept = |range| {
            let (report, author) = (report(range), author.clone());
            LedgerCommand::Accept { report, author, audit: false }
        };
        let commands: Vec<_> = std::iter::once(create).chain(self.ranges().map(accept)).collect();
        let ledger = CheckedLedger::open(path).and_then(CheckedLedger::begin).expect("it opens");
        ledger.apply(&commands).expect("it is written");
        ledger.close().expect("it can be closed");
    }
}

/// The ranges that are missing once the parts are joined, in the order of their names.
fn missing(folder: &Path, parts: &[PathBuf], into: &str) -> Vec<Range> {
    let joined = join_ledgers(parts, &folder.join(into)).expect("they agree");
    joined.missing.iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_order_has_the_same_tasks_and_a_complete_part_wins(
        parts in prop::collection::vec(counted(), 2..5),
        is_one_complete in any::<bool>(),
        order in prop::collection::vec(any::<prop::sample::Index>(), 5),
    ) {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let mut parts = parts;
        if is_one_complete {
            let last = parts.last_mut().expect("there are two at least");
            last.has.iter_mut().for_each(|has| *has = true);
        }
        let paths: Vec<PathBuf> =
            (0..parts.len()).map(|part| folder.path().join(format!("{part}.db"))).collect();
        parts.iter().zip(&paths).for_each(|(part, path)| part.write(path));
        let mut shuffled = paths.clone();
        for (place, other) in order.iter().enumerate().take(paths.len()) {
            shuffled.swap(place, other.index(paths.len()));
        }

        let straight = missing(folder.path(), &paths, "straight.db");
        let other = missing(folder.path(), &shuffled, "shuffled.db");

        prop_assert_eq!(&straight, &other);
        let most = parts.iter().map(Counted::tasks).max().expect("there are two at least");
        let left: u64 = straight.iter().map(|range| range.len()).sum();
        prop_assert!(TASKS - left >= most, "the fullest part is all there");
        prop_assert!(!is_one_complete || left == 0);
    }
}
