//! What a ledger takes on disk, and how soon a coordinator serves again with it.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bytesize::ByteSize;
use clap::Args;
use farm::{
    Ack, Across, Agent, AgentConfig, AuditPolicy, Author, Config, Event, Farm, Hello, JobId,
    JobSpec, KernelName, LeaseId, LedgerCommand, Loan, LoanKey, LoanKind, LoanProof, Maker, Method,
    Millis, Origin, Plan, Problem, Range, Report, Slice, Tally, TaskCounts, Verdict, WorkerMessage,
};
use ledger::{CheckedLedger, Ledger, file_bytes, scrub};

use crate::print;

/// `bench ledger`.
#[derive(Debug, Args)]
pub(crate) struct LedgerBenchArgs {
    /// Accepted ranges of a job that runs
    #[arg(long, value_name = "RANGES", default_value_t = 1_000_000)]
    ranges: u64,
    /// Jobs that are done, of a range each
    #[arg(long, value_name = "JOBS", default_value_t = 100_000)]
    jobs: u64,
    /// How often it is opened; the fastest time counts
    #[arg(long, value_name = "TURNS", default_value_t = 3)]
    turns: u32,
}

/// Commands in one transaction.
const BATCH: usize = 8_192;
/// Workers, a hundred for each owner.
const WORKERS: u64 = 10_000;

/// Writes a ledger of reports and one of jobs, and opens each of them.
pub(crate) fn run(args: &LedgerBenchArgs) -> Result<()> {
    print(
        "ledger of                   bytes    a row   checked and begun   the farm   read again by a scrub",
    )?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("ranges.db");
    write(&path, |ledger| write_ranges(ledger, args.ranges))?;
    tell(&format!("{} ranges", args.ranges), args.ranges, &path, args.turns)?;
    let path = folder.path().join("jobs.db");
    write(&path, |ledger| write_jobs(ledger, args.jobs))?;
    tell(&format!("{} jobs, done", args.jobs), args.jobs, &path, args.turns)?;
    for share_ppm in [0, 10_000] {
        let path = folder.path().join(format!("running-{share_ppm}.db"));
        let mut took = Duration::ZERO;
        write(&path, |ledger| {
            let begun = Instant::now();
            write_running(ledger, args.ranges, AuditPolicy { share_ppm, ..POLICY })?;
            took = begun.elapsed();
            Ok(())
        })?;
        tell(&format!("{} reports", args.ranges), args.ranges, &path, args.turns)?;
        print(format_args!(
            "{REPORTS_WHILE_RUNNING} reports of each lease, of which {}% are to be counted twice: {:.0} a second, and a \
             row for {:.1} reports",
            share_ppm / 10_000,
            args.ranges as f64 / took.as_secs_f64(),
            args.ranges as f64 / rows(&path)? as f64,
        ))?;
    }
    Ok(())
}

fn write(path: &Path, fill: impl FnOnce(&Ledger) -> Result<()>) -> Result<()> {
    let ledger = CheckedLedger::open(path)?.begin()?;
    fill(&ledger)?;
    ledger.close()?;
    Ok(())
}

/// One job, of which every other range is there: neighbours are by others, as on a farm.
fn write_ranges(ledger: &Ledger, ranges: u64) -> Result<()> {
    let plan = plan(26, 2 * ranges);
    ledger.apply(&[create(1, plan, POLICY)])?;
    let mut commands = Vec::with_capacity(BATCH);
    for number in 0..ranges {
        let first = 2 * number;
        commands.push(accept(1, &plan, first, number));
        if commands.len() == BATCH || number + 1 == ranges {
            ledger.apply(&commands)?;
            commands.clear();
        }
    }
    Ok(())
}

fn write_jobs(ledger: &Ledger, jobs: u64) -> Result<()> {
    let plan = plan(12, 1);
    let mut commands = Vec::with_capacity(BATCH);
    for job in 1..=jobs {
        commands.push(create(job, plan, POLICY));
        commands.push(accept(job, &plan, 0, job));
        let total = u128::from(count_of(0));
        commands.push(LedgerCommand::Finish { job: JobId(job), tasks: 1, total });
        if commands.len() >= BATCH || job == jobs {
            ledger.apply(&commands)?;
            commands.clear();
        }
    }
    Ok(())
}

/// Reports of each lease while a job of weeks runs, as `farm::Pace` has it.
const REPORTS_WHILE_RUNNING: u64 = 32;

/// One job that runs: all workers report in turns, each the next part of its lease.
fn write_running(ledger: &Ledger, reports: u64, policy: AuditPolicy) -> Result<()> {
    let plan = plan(26, reports.next_multiple_of(WORKERS * REPORTS_WHILE_RUNNING));
    ledger.apply(&[create(1, plan, policy)])?;
    let mut agents: Vec<Agent> = (0..WORKERS).map(|_| Agent::new(AGENT)).collect();
    agents.iter_mut().for_each(|agent| drop(agent.connected()));
    let mut commands = Vec::with_capacity(BATCH);
    for number in 0..reports {
        let (turn, worker) = (number / WORKERS, number % WORKERS);
        let lease = turn / REPORTS_WHILE_RUNNING * WORKERS + worker;
        let first = lease * REPORTS_WHILE_RUNNING;
        let LedgerCommand::Accept { report, author, .. } =
            accept(1, &plan, first + turn % REPORTS_WHILE_RUNNING, lease)
        else {
            anyhow::bail!("another command accepts");
        };
        let range = Range::new(first, first + REPORTS_WHILE_RUNNING).context("a lease")?;
        let report = reported(&mut agents[worker as usize], range, report)?;
        let audit = policy.chooses(plan.fingerprint(), report.range);
        commands.push(LedgerCommand::Accept { report, author, audit });
        if commands.len() == BATCH || number + 1 == reports {
            ledger.apply(&commands)?;
            commands.clear();
        }
    }
    Ok(())
}

/// What an agent that was lent a range says when it has counted a part of it.
fn reported(agent: &mut Agent, range: Range, counted: Report) -> Result<Report> {
    let Report { job, fingerprint, lease, proof, kernel, tally, busy_us, .. } = counted;
    let loan = Loan { lease, job, plan: plan(26, 0), fingerprint, range, proof, recount: None };
    if counted.range.start() == range.start() {
        agent.lent(loan);
    }
    let (range, task_counts) = (counted.range, TaskCounts::default());
    agent.finished(Millis(0), Report::new(&loan, range, tally, task_counts, kernel, busy_us));
    let messages = agent.poll(Millis(0));
    let report = messages.into_iter().find_map(|message| match message {
        WorkerMessage::Report(report) => Some(report),
        _ => None,
    });
    let report = report.context("it is due")?;
    agent.acked(&Ack::of(&report, Verdict::Accepted));
    Ok(report)
}

/// Accepted ranges of a ledger.
fn rows(path: &Path) -> Result<u64> {
    Ok(scrub(path)?.ranges)
}

fn plan(n: u32, tasks: u64) -> Plan {
    Plan { problem: Problem::Total { n }, method: Method::Rows { rows: 7 }, tasks }
}

/// A worker that reports at once.
const AGENT: AgentConfig = AgentConfig {
    hello: Hello {
        worker: String::new(),
        machine: String::new(),
        build: String::new(),
        backend: String::new(),
        instance: 1,
        threads: 1,
        memory: 0,
        memory_kills: 0,
        credit: u64::MAX,
        holding: Vec::new(),
    },
    report_ms: 0,
    resend_ms: 1_000,
};

const POLICY: AuditPolicy =
    AuditPolicy { share_ppm: 1, seed: 1, salt: 1, by_search: false, across: Across::Machines };

fn create(job: u64, plan: Plan, policy: AuditPolicy) -> LedgerCommand {
    let (job, slice, priority, audit) = (JobId(job), Slice::ALL, 0, Some(policy));
    let origin = Origin { owner: "laboratory".into(), key: None };
    LedgerCommand::CreateJob { job, spec: JobSpec { origin, plan, slice, priority }, audit }
}

/// What a task counts: of the size of those of N = 26.
fn count_of(ordinal: u64) -> u64 {
    1_000_000_000 + ordinal % 1_000_000_007
}

fn accept(job: u64, plan: &Plan, first: u64, number: u64) -> LedgerCommand {
    let fingerprint = plan.fingerprint();
    let range = Range::new(first, first + 1).expect("a task");
    let tally = Tally::EMPTY.with(fingerprint, first, count_of(first)).expect("it is small");
    let worker = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % WORKERS;
    let machine = format!("node{worker:05}");
    let owner = format!("rack{}", worker / 100);
    let author = Author {
        worker: format!("{machine}-4f1a"),
        maker: Maker { owner, machine },
        build: "0.1.0/c52ef1d7665e/rustc-1.95.0/x86_64-unknown-linux-gnu/AMD-EPYC/unknown".into(),
    };
    let lease = LeaseId((1 << 40) + number);
    let proof = LoanProof { range, kind: LoanKind::Count, seal: [0; 16] };
    let kernel = KernelName::new("avx2").expect("there is such a kernel");
    let (job, busy_us) = (JobId(job), 1_000_000);
    let task_counts = TaskCounts::default();
    let report =
        Report { job, fingerprint, lease, proof, range, tally, task_counts, kernel, busy_us };
    LedgerCommand::Accept { report, author, audit: false }
}

fn tell(what: &str, rows: u64, path: &Path, turns: u32) -> Result<()> {
    let bytes = file_bytes(path)?;
    let mut best = [Duration::MAX; 3];
    for _ in 0..turns.max(1) {
        let begun = Instant::now();
        let mut ledger = CheckedLedger::open(path)?.begin()?;
        let opened = begun.elapsed();
        let restored = ledger.take_restored().with_known(known::of);
        let mut farm = Farm::restore(Config::default(), LoanKey::new([0; 32]), Millis(0), restored);
        drop(farm.step(Millis(0), Event::Tick));
        let restored = begun.elapsed() - opened;
        ledger.close()?;
        let begun = Instant::now();
        let report = scrub(path)?;
        anyhow::ensure!(report.damaged == 0, "{report:?}");
        let times = [opened, restored, begun.elapsed()];
        for (best, time) in best.iter_mut().zip(times) {
            *best = time.min(*best);
        }
    }
    let [opened, restored, scrubbed] = best.map(|time| format!("{:.2} s", time.as_secs_f64()));
    let each = bytes.checked_div(rows).context("there are no rows")?;
    let bytes = ByteSize(bytes).display().iec().to_string();
    print(format_args!(
        "{what:<23} {bytes:>9} {each:>8} {opened:>19} {restored:>10} {scrubbed:>23}"
    ))
}
