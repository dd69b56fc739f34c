//! Measures what a bundle of many rows takes to write and to check: time, memory and bytes.
//!
//! The rows are invented, one for each task of a large plan, because nobody has counted so many. The job is said to be
//! running, because their sum is no total.

use std::io;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use board::{Cut, Method, Problem};
use clap::Args;
use evidence::{Sample, Seed};
use farm::{
    Author, Check, CountedRange, Digest, EvidenceRecord, IntervalSet, JobId, JobSpec, JobState,
    KernelName, Known, LeaseId, Maker, Origin, Plan, Range, RestoredJob, Row, Slice, Spent, Tally,
    TaskCounts,
};

use crate::print;
use crate::process::own_peak_mib;

#[derive(Debug, Args)]
pub(crate) struct BundleArgs {
    /// Number of rows
    #[arg(long, default_value_t = 10_000_000)]
    rows: u64,
    /// Give every row a second count
    #[arg(long)]
    certified: bool,
    /// The folder of the bundle, which is removed afterwards
    #[arg(long, default_value = ".", value_name = "FOLDER")]
    folder: PathBuf,
}

/// The plan: it has some 20,000,000 tasks.
const PROBLEM: Problem = Problem::Total { n: 26 };
const METHOD: Method = Method::Rows { rows: 6 };

/// The number of machines that counted.
const MACHINES: u64 = 1000;

pub(crate) fn run(args: &BundleArgs) -> Result<()> {
    let tasks = Cut::new(PROBLEM, METHOD)?.len();
    ensure!(args.rows <= tasks, "the plan has only {tasks} tasks: ask for fewer rows");
    let plan = Plan { problem: PROBLEM, method: METHOD, tasks };
    let job = job(plan, (0..args.rows).map(|at| u128::from(count(at))).sum());
    let records = |see: &mut dyn FnMut(EvidenceRecord) -> io::Result<()>| {
        (0..args.rows).try_for_each(|at| {
            let check = if args.certified { Check::Agreed } else { Check::NotChosen };
            let counted = CountedRange { row: row(at, 0), check };
            see(EvidenceRecord::Range {
                counted,
                task_counts: TaskCounts::default(),
                at_ms: at as i64,
            })?;
            match args.certified {
                true => see(EvidenceRecord::Audit { row: row(at, 1), at_ms: at as i64 }),
                false => Ok(()),
            }
        })
    };
    let folder = tempfile::tempdir_in(&args.folder).context("--folder cannot be used")?;
    for name in ["bundle", "bundle.gz"] {
        let path = folder.path().join(name);
        let begun = Instant::now();
        evidence::export::<io::Error>(&job, 0, &path, records)?;
        let (written, peak) = (begun.elapsed().as_secs_f64(), own_peak_mib()?);
        let bytes = std::fs::metadata(&path)?.len();
        let begun = Instant::now();
        let sample = Sample { draws: 200, seed: Seed::Number(1), all: false };
        let checked = evidence::check(&path, sample)?;
        let (read, peak_of_both) = (begun.elapsed().as_secs_f64(), own_peak_mib()?);
        ensure!(checked.header.ranges == args.rows, "not all rows were read");
        print(format!(
            "{name:10}  {} rows  {:.1} bytes a row  written in {written:.0} s  checked in {read:.0} s  peak memory \
             {peak:.0} MiB after writing, {peak_of_both:.0} MiB after checking",
            args.rows,
            bytes as f64 / args.rows as f64,
        ))?;
    }
    Ok(())
}

fn job(plan: Plan, total: u128) -> RestoredJob {
    RestoredJob {
        times: Default::default(),
        id: JobId(1),
        spec: JobSpec { origin: Origin::default(), plan, slice: Slice::ALL, priority: 0 },
        known: Known::nothing(),
        state: JobState::Running,
        held: None,
        accepted: IntervalSet::new(),
        total,
        spent: Spent::new(plan.tasks),
        disputes: Default::default(),
        audit: None,
        audits_wanted: 0,
        audits_agreed: 0,
    }
}

/// An invented count of a task: some 10^10, as different as those of real tasks.
fn count(at: u64) -> u64 {
    (1 << 33) + (scrambled(at) >> 31)
}

fn scrambled(at: u64) -> u64 {
    // The multiplier of Fibonacci hashing.
    at.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn row(at: u64, turn: u64) -> Row {
    let machine = format!("node{:04}", (scrambled(at) >> 20).wrapping_add(turn) % MACHINES);
    let tally = Tally::EMPTY.with(farm::Fingerprint([0; 32]), at, count(at)).expect("it is small");
    let kernel = if turn == 0 { "avx512" } else { "avx2 mirrored" };
    let kernel = KernelName::new(kernel).expect("there is such a kernel");
    Row {
        range: Range::new(at, at + 1).expect("it has a task"),
        tally: Tally { digest: Digest(u128::from(scrambled(at)) << 64 | u128::from(at)), ..tally },
        kernel,
        author: Author {
            maker: Maker { owner: "local".into(), machine: machine.clone() },
            worker: machine,
            build: "0.1.0".into(),
        },
        lease: LeaseId(at),
        busy_us: 1_000_000 + (scrambled(at) >> 44),
    }
}
