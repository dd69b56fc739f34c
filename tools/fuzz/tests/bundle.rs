//! The fuzzing target `bundle`: an altered bundle is refused with a sentence, or still has the same
//! content. The crate `fuzz` says how to run it for longer.

use std::fs;
use std::sync::LazyLock;

use evidence::{Sample, Seed, check, export};
use farm::{
    CheckedCount, JobId, JobSpec, KernelName, LeaseId, LeaseKind, LeaseToken, LedgerCommand,
    Method, Origin, Plan, Principal, Problem, Provenance, Range, Report, Slice, TaskCounts,
};
use ledger::{CheckedLedger, Evidence, LedgerFault};
use tempfile::TempDir;

const JOB: JobId = JobId(1);

/// The bytes of a sound bundle: a small job that is done.
static SOUND: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = TempDir::new().expect("a temporary directory");
    let (path, bundle) = (folder.path().join("ledger.db"), folder.path().join("bundle"));
    let ledger = CheckedLedger::open(&path).and_then(CheckedLedger::begin).expect("it opens");
    let (problem, method) = (Problem::Total { n: 8 }, Method::Halves);
    let tasks = board::PlanIndex::new(problem, method).expect("such a plan exists").len();
    let (plan, slice) = (Plan { problem, method, tasks }, Slice::ALL);
    let write = |command| drop(ledger.apply(&[command]).expect("it is written"));
    let origin = Origin::default();
    write(LedgerCommand::CreateJob {
        job: JOB,
        spec: JobSpec { origin, plan, slice, priority: 0 },
        audit: None,
    });
    for (start, end, count) in [(0, 5, 12), (5, tasks, 80)] {
        let fingerprint = plan.fingerprint();
        let counts: Vec<u64> = (start..end).map(|at| if at == start { count } else { 0 }).collect();
        let with = |sum: CheckedCount, (at, &count)| sum.with(fingerprint, at, count);
        let checked_count = (start..end).zip(&counts).try_fold(CheckedCount::EMPTY, with);
        let report = Report {
            job: JOB,
            fingerprint,
            lease: LeaseId(start),
            range: Range::new(start, end).expect("it has tasks"),
            token: LeaseToken {
                range: Range::new(start, end).expect("it has tasks"),
                kind: LeaseKind::Count,
                mac: [0; 16],
            },
            checked_count: checked_count.expect("it is small"),
            task_counts: TaskCounts::new(&counts),
            kernel: KernelName::new("avx2").expect("there is such a kernel"),
            busy_us: 1,
        };
        let principal = Principal { owner: "o".into(), machine: "m".into() };
        let provenance = Provenance { principal, worker: "w".into(), build: "1.2.3".into() };
        write(LedgerCommand::Accept { report, provenance, audit: false });
    }
    write(LedgerCommand::Finish { job: JOB, tasks, total: 92, reason: None });
    drop(ledger);
    let evidence = Evidence::open(&path).expect("it can be read");
    let write = |see: &mut dyn FnMut(_) -> _| evidence.for_each(JOB, see);
    let job = &evidence.jobs()[0];
    export::<LedgerFault>(job, 0, &bundle, write).expect("it can be exported");
    fs::read(&bundle).expect("it can be read")
});

#[test]
fn bundle() {
    let folder = TempDir::new().expect("a temporary directory");
    let path = folder.path().join("altered");
    bolero::check!().for_each(move |input: &[u8]| {
        let mut source = Source(input);
        let mut bytes = SOUND.clone();
        for _ in 0..=source.below(4) {
            let at = source.below(bytes.len());
            match source.below(4) {
                0 => bytes.truncate(at),
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, source.byte()),
                _ => bytes[at] = source.byte(),
            }
            if bytes.is_empty() {
                break;
            }
        }
        fs::write(&path, &bytes).expect("it can be written");
        if let Ok(checked) = check(&path, Sample { draws: 3, seed: Seed::Number(1), all: false }) {
            assert_eq!(checked.plan.problem, Problem::Total { n: 8 });
            assert_eq!(checked.header.counted, 92);
        }
    });
}

/// The bytes of an input as choices; after its end all bytes are zero.
struct Source<'a>(&'a [u8]);

impl Source<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below `bound`, which is not 0.
    fn below(&mut self, bound: usize) -> usize {
        let wide = if bound > 256 { usize::from(self.byte()) << 8 } else { 0 };
        (wide | usize::from(self.byte())) % bound
    }
}
