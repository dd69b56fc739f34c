//! Tests of bundles as files, honest and forged. A forger writes arbitrary rows with the code that
//! honest exporters use.

use std::fs;
use std::io;
use std::num::NonZero;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use board::PlanIndex;
use count::{Backend, Variant};
use evidence::{Checked, RecountEffort, Recounted, Sample, Seed, check, export, recount};
use executor::NamedKernel;
use farm::{
    Check, CheckedCount, CountedRange, EvidenceRecord, JobId, JobSpec, JobState, KernelName, Known,
    LeaseId, Method, Origin, Party, Plan, Principal, Problem, Provenance, Range, Row, Shard,
    StoredJob, TaskCounts, TrustChange,
};
use tempfile::TempDir;

/// A plan, and the records of a bundle about it.
struct Forger {
    folder: TempDir,
    plan: Plan,
    records: Vec<EvidenceRecord>,
}

fn provenance(owner: &str, machine: &str) -> Provenance {
    let principal = Principal { owner: owner.into(), machine: machine.into() };
    Provenance { principal, worker: machine.into(), build: "1".into() }
}

fn row(range: Range, checked_count: CheckedCount, kernel: &str, provenance: Provenance) -> Row {
    let kernel = KernelName::new(kernel).expect("there is such a kernel");
    Row { range, checked_count, kernel, provenance, lease: LeaseId(1), busy_us: 1 }
}

impl Forger {
    /// Honest rows of a total of N by this method, each of `length` tasks, by "o/m" with avx2.
    fn honest(n: u32, method: Method, length: usize) -> Forger {
        Forger::of(Problem::Total { n }, method, length)
    }

    fn of(problem: Problem, method: Method, length: usize) -> Forger {
        let index = PlanIndex::new(problem, method).expect("such a plan exists");
        let plan = Plan { problem, method, tasks: index.len() };
        let mut kernel = NamedKernel::new(Backend::detect(), plan, None);
        let starts = (0..plan.tasks).step_by(length);
        let records = starts.map(|start| {
            let range = Range::new(start, (start + length as u64).min(plan.tasks));
            let range = range.expect("it has tasks");
            let (checked_count, _) =
                kernel.count_range(plan.fingerprint(), &index, range).expect("it counts");
            let row = row(range, checked_count, "avx2", provenance("o", "m"));
            let counted = CountedRange { row, check: Check::NotChosen };
            EvidenceRecord::Range { counted, task_counts: TaskCounts::default(), at_ms: 0 }
        });
        let records = records.collect();
        Forger { folder: TempDir::new().expect("a temporary directory"), plan, records }
    }

    fn counted(&mut self, at: usize) -> &mut CountedRange {
        match &mut self.records[at] {
            EvidenceRecord::Range { counted, .. } => counted,
            other => panic!("no range: {other:?}"),
        }
    }

    /// Reports the count of each task of a range after `forge` has changed them, and adapts count
    /// and digest.
    fn report_tasks(&mut self, at: usize, forge: impl Fn(&mut [u64])) {
        let plan = self.plan;
        let index = PlanIndex::new(plan.problem, plan.method).expect("it is a plan");
        let mut kernel = NamedKernel::new(Backend::detect(), plan, None);
        let EvidenceRecord::Range { counted, task_counts, .. } = &mut self.records[at] else {
            panic!("it is no range");
        };
        let ordinals = counted.row.range.start()..counted.row.range.end();
        let task = |at| Range::new(at, at + 1).expect("it is one task");
        let mut count = |at| kernel.count_range(plan.fingerprint(), &index, task(at));
        let count = |at| count(at).expect("it counts").0.count;
        let mut counts: Vec<u64> = ordinals.clone().map(count).collect();
        forge(&mut counts);
        let with = |sum: CheckedCount, (at, &count)| sum.with(plan.fingerprint(), at, count);
        let checked_count = ordinals.zip(&counts).try_fold(CheckedCount::EMPTY, with);
        counted.row.checked_count = checked_count.expect("it is small");
        *task_counts = TaskCounts::new(&counts);
    }

    /// Adds a second count after a range.
    fn second(&mut self, at: usize, kernel: &str, provenance: Provenance) {
        let counted = self.counted(at);
        counted.check = Check::Agreed;
        let row = row(counted.row.range, counted.row.checked_count, kernel, provenance);
        self.records.insert(at + 1, EvidenceRecord::Audit { row, at_ms: 0 });
    }

    fn write(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        if path.exists() {
            fs::remove_file(&path).expect("it can be written anew");
        }
        let job = StoredJob {
            id: JobId(1),
            spec: JobSpec {
                origin: Origin::default(),
                plan: self.plan,
                shard: Shard::ALL,
                priority: 0,
            },
            state: JobState::Done,
            reason: None,
            times: Default::default(),
            total: None,
            policy: None,
        };
        let records = |see: &mut dyn FnMut(EvidenceRecord) -> io::Result<()>| {
            self.records.iter().cloned().try_for_each(see)
        };
        export(&job, 0, &path, records).expect("it can be written");
        path
    }

    fn check(&self) -> Result<Checked, String> {
        check(&self.write("bundle"), SAMPLE).map_err(|error| format!("{error:#}"))
    }

    /// The numbers of ranges that nobody, another machine and another owner confirms, if the bundle
    /// holds.
    fn confirmed(&self) -> [u64; 3] {
        let confirmed = self.check().expect("it holds").content.confirmations;
        assert!(confirmed.by_owner.count <= confirmed.by_machine.count);
        [confirmed.unconfirmed, confirmed.by_machine, confirmed.by_owner].map(|it| it.ranges)
    }

    fn recount(&self, variant: Variant, time: Option<Duration>) -> anyhow::Result<Recounted> {
        let sample = Sample { all: time.is_none(), ..SAMPLE };
        let checked = check(&self.write("bundle"), sample).expect("it does not contradict itself");
        let threads = NonZero::new(2).expect("two");
        recount(&checked, RecountEffort { threads, variant, time })
    }
}

const SAMPLE: Sample<'_> = Sample { draws: 200, seed: Seed::Number(1), all: false };

const ROWS: Method = Method::Rows { rows: 3 };

const REFERENCE: Variant = Variant::Straight(Backend::Reference);

/// The fast variant that checks the counts of the variant with which farms count first.
fn another_loop(method: Method) -> Variant {
    Variant::to_check(Backend::detect().name(), method, false)
}

/// Thousands of honest ranges of one task each, and one invented range over all other tasks. No
/// total is published for these boards, so only counting can refute it.
#[test]
fn one_invented_range_over_most_of_the_plan_is_refused() {
    const HONEST: usize = 200;
    let queen = board::squares::parse_squares("b1").expect("it is a square");
    let given = board::Given::new(13, &queen).expect("it can stand there");
    let mut forger = Forger::of(Problem::Completions(given), ROWS, 1);
    let right: u64 =
        (HONEST..forger.records.len()).map(|at| forger.counted(at).row.checked_count.count).sum();
    forger.records.truncate(HONEST + 1);
    let range = Range::new(HONEST as u64, forger.plan.tasks).expect("there are more");
    let row = &mut forger.counted(HONEST).row;
    row.range = range;
    row.checked_count = CheckedCount::EMPTY
        .with(farm::Fingerprint([0; 32]), 0, right / 100 * 128)
        .expect("it is small");
    let wrong = forger
        .recount(another_loop(forger.plan.method), Some(Duration::from_secs(60)))
        .expect_err("a forgery")
        .to_string();
    assert!(wrong.contains("one of the two machines counted wrong"), "{wrong}");
}

/// The total of N = 16 by colours as one range whose tasks are reported.
fn reported(forge: impl Fn(&mut [u64])) -> Forger {
    let mut forger = Forger::honest(16, Method::Colours, usize::MAX);
    forger.report_tasks(0, forge);
    forger
}

/// Time limits for a recount of a part of that range. The first one suits an idle machine. A busy
/// machine also takes longer for the whole range, so longer limits follow.
fn times() -> impl Iterator<Item = Duration> {
    (0..8).map(|doublings| Duration::from_millis(700 << doublings))
}

#[test]
fn a_large_range_with_reported_tasks_is_recounted_by_tasks() {
    let forger = reported(|_| {});
    let mut recounts = times().map(|time| forger.recount(REFERENCE, Some(time)).expect("it holds"));
    let recounted = recounts.find(|it| it.reported > 100).expect("tasks are counted");
    assert_eq!(recounted.reported as u64, recounted.tasks, "{recounted:?}");
    assert!(recounted.verdict.wrong_of_tasks < 0.1, "{recounted:?}");
    let whole = forger.recount(another_loop(Method::Colours), None).expect("it holds");
    assert_eq!((whole.ranges, whole.verdict.is_exact, whole.is_cut_short), (1, true, false));
    assert_eq!(whole.verdict.wrong_of_total, 0.0);
}

/// The sum of the range, its digest and the counts of its tasks agree, and so does the published
/// total.
#[test]
fn counts_moved_between_reported_tasks_are_found() {
    let half = reported(|counts| {
        let most = counts.iter().copied().max().expect("there are tasks");
        for pair in counts.chunks_exact_mut(2) {
            let moved = pair[0].min(most - pair[1].min(most)).min(1);
            pair[0] -= moved;
            pair[1] += moved;
        }
    });
    let wrong = times().find_map(|time| half.recount(REFERENCE, Some(time)).err());
    let wrong = wrong.expect("most tasks are wrong").to_string();
    assert!(wrong.contains("one of the two machines counted wrong"), "{wrong}");
    let one = reported(|counts| {
        let from = counts.iter().position(|&count| count > 0).expect("there are boards");
        counts[from] -= 1;
        counts[from + 1] += 1;
    });
    one.recount(another_loop(Method::Colours), None).expect_err("everything is counted again");
}

#[test]
fn more_than_a_task_can_count_is_refused_without_counting() {
    let mut forger = Forger::honest(10, Method::Colours, 70);
    let most = Known::of(&forger.plan, Shard::ALL).most_per_task;
    forger.report_tasks(0, |counts| counts[0] = u64::try_from(most).expect("it is small") + 1);
    let refused = forger.check().expect_err("no task has so many boards");
    assert!(refused.contains("the task 0 cannot count"), "{refused}");

    let mut forger = Forger::honest(10, Method::Colours, 70);
    forger.report_tasks(0, |_| {});
    forger.counted(0).row.checked_count.digest.0 ^= 1;
    let refused = forger.check().expect_err("the tasks make another sum");
    assert!(refused.contains("do not add up"), "{refused}");
}

/// This tests that the recount does not take its algorithm from the bundle. Otherwise a bundle with
/// the kernel "reference" would be recounted by a fast one.
#[test]
fn a_bundle_does_not_choose_what_recounts_it() {
    let mut forger = Forger::honest(10, Method::Colours, 5);
    for kernel in ["gpu", "avx2", "portable", "reference"] {
        for at in 0..forger.records.len() {
            forger.counted(at).row.kernel = KernelName::new(kernel).expect("there is one");
        }
        let by = |variant| {
            let recounted = forger.recount(variant, None).expect("it holds");
            assert_eq!(recounted.tasks, forger.plan.tasks);
            recounted.kernel.to_string()
        };
        assert_eq!(by(REFERENCE), "reference");
        let other = another_loop(Method::Colours);
        assert_eq!(by(other), other.to_string());
    }
}

/// The reference takes much longer than the limit for the whole count.
#[test]
fn the_time_is_kept_even_if_one_range_has_everything() {
    let forger = Forger::honest(16, Method::Rows { rows: 4 }, usize::MAX);
    let begun = Instant::now();
    let recounted = forger.recount(REFERENCE, Some(Duration::from_millis(500)));
    let recounted = recounted.expect("it is honest");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!((recounted.ranges, recounted.verdict.is_exact), (0, false), "it is too large");
    let nothing = forger.recount(REFERENCE, Some(Duration::ZERO)).expect("nothing is counted");
    assert_eq!((nothing.verdict.draws, nothing.verdict.wrong_of_total), (0, 1.0));
}

#[test]
fn author_and_kernel_decide_what_a_second_count_confirms() {
    let confirmations = |kernel: &str, provenance: Provenance| {
        let mut forger = Forger::honest(8, ROWS, 10);
        forger.second(0, kernel, provenance);
        forger.confirmed()
    };
    assert_eq!(confirmations("avx2 mirrored", provenance("o", "n")), [0, 1, 0], "another machine");
    assert_eq!(confirmations("avx2 mirrored", provenance("p", "m")), [0, 1, 1], "another owner");
    assert_eq!(confirmations("avx2", provenance("p", "m")), [1, 0, 0], "the same kernel");
}

/// A false number of ranges in the header must not make the check keep all of them in memory.
#[test]
fn more_ranges_than_the_header_says_are_refused_at_once() {
    let forger = Forger::honest(8, ROWS, 10);
    let (path, ranges) = (forger.write("bundle"), forger.records.len());
    let text = fs::read_to_string(&path).expect("it was written");
    let said = text.replacen(&format!("\"ranges\":{ranges}"), "\"ranges\":1", 1);
    fs::write(&path, said).expect("it can be written");
    let wrong = format!("{:#}", check(&path, SAMPLE).expect_err("it has more"));
    assert!(wrong.starts_with("line 4: it has more ranges than its header says"), "{wrong}");
}

#[test]
fn a_parameter_that_the_method_does_not_have_is_named() {
    let forger = Forger::honest(8, ROWS, 10);
    let path = forger.write("bundle");
    let text = fs::read_to_string(&path).expect("it was written");
    fs::write(&path, text.replacen("\"rows\"", "\"colours\"", 1)).expect("it can be written");
    let wrong = format!("{:#}", check(&path, SAMPLE).expect_err("colours has none"));
    assert!(wrong.contains("colours, or parameter of it"), "{wrong}");
}

#[test]
fn a_bundle_has_no_more_authors_than_fit_into_memory() {
    const MOST: usize = 100_000;
    let forger = Forger::honest(8, ROWS, 10);
    let path = forger.write("bundle");
    let text = fs::read_to_string(&path).expect("it was written");
    let (header, rest) = text.split_once('\n').expect("it has lines");
    let (author, rows) = rest.split_once('\n').expect("it has lines");
    let one = "\"worker\":\"m\"";
    let mut wrong = Vec::new();
    for authors in [MOST, MOST + 1] {
        let header = header.replacen("\"authors\":1", &format!("\"authors\":{authors}"), 1);
        let others =
            (1..authors).map(|at| author.replacen(one, &format!("\"worker\":\"{at}\""), 1));
        let others: String = others.map(|line| line + "\n").collect();
        fs::write(&path, format!("{header}\n{author}\n{others}{rows}")).expect("it can be written");
        wrong.push(check(&path, SAMPLE).err().map(|error| format!("{error:#}")));
    }
    assert_eq!(wrong[0], None);
    let wrong = wrong[1].as_ref().expect("it has too many");
    assert!(wrong.contains("it has more than 100000 authors"), "{wrong}");
}

#[test]
fn a_distrusted_principal_confirms_nothing() {
    let mut forger = Forger::honest(8, ROWS, 10);
    forger.second(0, "avx2 mirrored", provenance("p", "n"));
    let change = |trusted| {
        let party = Party { owner: "p".into(), machine: None };
        let reason = "it lied".to_string();
        EvidenceRecord::Trust(TrustChange { party, trusted, proof: None, reason, at_ms: 0 })
    };
    forger.records.insert(0, change(false));
    assert_eq!(forger.confirmed(), [1, 0, 0]);
    forger.records.insert(1, change(true));
    assert_eq!(forger.confirmed(), [0, 1, 1]);
}

#[test]
fn a_settled_dispute_confirms_nothing() {
    let mut forger = Forger::honest(8, ROWS, 10);
    let counted = forger.counted(0);
    counted.check = Check::Agreed;
    let row = row(counted.row.range, counted.row.checked_count, "portable", provenance("p", "n"));
    let state = farm::DisputeState::Settled;
    forger.records.push(EvidenceRecord::Dispute { row, state, at_ms: 0 });
    assert_eq!(forger.confirmed(), [1, 0, 0]);
}

/// The corpus has a second count without a range, and one that differs.
#[test]
fn a_second_count_follows_its_range() {
    let mut forger = Forger::honest(8, ROWS, 10);
    forger.second(0, "avx2 mirrored", provenance("p", "n"));
    forger.records.swap(1, 2);
    let moved = forger.check().expect_err("it follows another range");
    assert!(moved.contains("does not say that it was counted twice"), "{moved}");
}

#[test]
fn false_times_do_not_overflow_the_sum() {
    let mut forger = Forger::honest(8, ROWS, 10);
    let ranges = forger.records.len() as u64;
    forger.second(0, "avx2 mirrored", provenance("p", "n"));
    let mut spent =
        row(forger.counted(0).row.range, CheckedCount::EMPTY, "avx2", provenance("o", "m"));
    spent.busy_us = 1_000;
    let state = farm::DisputeState::TakenBack;
    forger.records.push(EvidenceRecord::Dispute { row: spent, state, at_ms: 0 });
    let content = forger.check().expect("it holds").content;
    assert_eq!(content.busy, Duration::from_micros(ranges), "invalidated counts are not included");
    assert_eq!(content.second_busy, Duration::from_micros(1));

    // Each row claims 585,000 years.
    let ranges = (0..ranges as usize + 1).filter(|&at| at != 1);
    ranges.for_each(|at| forger.counted(at).row.busy_us = u64::MAX);
    let endless = forger.check().expect("nobody can say that it is wrong").content.busy;
    assert!(endless > Duration::from_secs(1 << 40), "{endless:?}");
}

#[test]
fn a_compressed_bundle_is_the_same_bundle() {
    let forger = Forger::honest(9, ROWS, 3);
    let name = |file: &str| check(&forger.write(file), SAMPLE).expect("it holds").name;
    assert_eq!(name("plain"), name("small.gz"));
    let length = |file: &str| fs::metadata(forger.folder.path().join(file)).expect("a file").len();
    assert!(length("small.gz") < length("plain") / 2);
}
