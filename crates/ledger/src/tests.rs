//! What a ledger promises, and what becomes of one that was tampered with.

mod crashes;
mod files;
mod join;
mod joined_rows;
mod rows;
mod rules;

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use farm::{
    Asker, AuditPolicy, AuditScope, Change, CheckedCount, Config, Credit, CreditOf, Distrusted,
    Effect, Event, Farm, Fingerprint, Hello, Holding, Hours, IntervalSet, JobId, JobSpec, JobState,
    KernelName, Known, LeaseId, LeaseKey, LeaseKind, LeaseToken, LedgerAnswer, LedgerCommand,
    Method, Millis, Origin, Plan, Principal, Problem, Provenance, Range, Report, Request,
    RequestId, Restored, RestoredJob, SessionId, Shard, TaskCounts, WorkerMessage,
};
use tempfile::TempDir;
use testkit::Random;

use super::store::Store;
use super::{
    CheckedLedger, Credential, Evidence, JobEvidence, Ledger, LedgerEvent, LedgerFault,
    LedgerRequest, LedgerView, Role, check_file, spawn, with_suffix,
};

pub(crate) const JOB: JobId = JobId(1);

/// A folder, and the path of a ledger that is to be in it.
pub(crate) fn scratch() -> (TempDir, PathBuf) {
    let folder = TempDir::new().expect("a temporary directory");
    let path = folder.path().join("ledger.db");
    (folder, path)
}

pub(crate) fn open(path: &Path) -> Result<Ledger, LedgerFault> {
    CheckedLedger::open(path)?.begin()
}

fn config() -> Config {
    Config { grace_ms: 0, probe_tasks: 100, ..Config::default() }
}

fn plan() -> Plan {
    Plan { problem: Problem::Total { n: 8 }, method: Method::Rows { rows: 2 }, tasks: 100 }
}

fn fingerprint() -> Fingerprint {
    plan().fingerprint()
}

/// A ledger in memory, without a row.
pub(crate) fn empty() -> Ledger {
    CheckedLedger::in_memory().and_then(CheckedLedger::begin).expect("it opens")
}

fn ledger_with(commands: &[LedgerCommand]) -> Ledger {
    let ledger = empty();
    ledger.apply(&[new_job()]).expect("it is written");
    ledger.apply(commands).expect("it is written");
    ledger
}

/// A ledger in the file `path`, with a job and a range.
pub(crate) fn ledger_in(path: &Path) -> Ledger {
    let ledger = open(path).expect("it opens");
    ledger.apply(&[new_job(), range(0, 10, 7)]).expect("it is written");
    ledger
}

pub(crate) fn read(ledger: &Ledger) -> [RestoredJob; 1] {
    let jobs = ledger.read_back().expect("it can be read").jobs;
    jobs.try_into().expect("it has one job")
}

fn new_job() -> LedgerCommand {
    job_of(plan())
}

pub(crate) fn job_of(plan: Plan) -> LedgerCommand {
    let origin = Origin { owner: OWNER.into(), key: Some("first".into()) };
    let spec = JobSpec { origin, plan, shard: Shard::ALL, priority: 3 };
    LedgerCommand::CreateJob { job: JOB, spec, audit: None }
}

/// An audit of a job by this policy, which this owner asks for.
pub(crate) fn audit(job: JobId, policy: AuditPolicy, by: &str) -> LedgerCommand {
    let change = Change::Audit { policy, narrows: true };
    LedgerCommand::Change { job, change, by: by.into() }
}

pub(crate) fn change(change: Change) -> LedgerCommand {
    LedgerCommand::Change { job: JOB, change, by: OWNER.into() }
}

pub(crate) fn range(start: u64, end: u64, count: u64) -> LedgerCommand {
    range_by(start, end, count, "worker")
}

fn range_by(start: u64, end: u64, count: u64, worker: &str) -> LedgerCommand {
    let (report, provenance) = (report(interval(start, end), count), provenance(worker));
    LedgerCommand::Accept { report, provenance, audit: false }
}

pub(crate) fn provenance(worker: &str) -> Provenance {
    Provenance { principal: principal(worker), worker: worker.into(), build: "1.2.3".into() }
}

pub(crate) fn report(range: Range, count: u64) -> Report {
    Report {
        job: JOB,
        fingerprint: fingerprint(),
        // Each range has its own lease, so that neighbours do not become one row.
        lease: LeaseId((1 << 40) + 1 + range.start()),
        token: LeaseToken::new(range, LeaseKind::Count, [0; 16]),
        range,
        checked_count: checked_count(range, count),
        task_counts: TaskCounts::default(),
        kernel: kernel("avx2"),
        busy_us: 1,
    }
}

/// A checked count of a range in which the first task has the whole count.
fn checked_count(range: Range, count: u64) -> CheckedCount {
    CheckedCount::EMPTY.with(fingerprint(), range.start(), count).expect("it is one count")
}

/// SQL that gives every accepted range a second count, which is a copy by the same principal.
fn confirm_all() -> String {
    copies(1, "second", "true") + "UPDATE counts SET standing = 'agreed' WHERE place = 0"
}

/// SQL that copies the accepted counts that satisfy `which` to another place, with another
/// standing.
pub(crate) fn copies(place: u64, standing: &str, which: &str) -> String {
    format!(
        "INSERT INTO counts SELECT job, first, past, {place}, count, residue, digest, kernel, owner, machine, worker, \
             build, lease, busy_us, noted_at, checksum, '{standing}', NULL \
         FROM counts WHERE place = 0 AND {which};"
    )
}

const OWNER: &str = "owner";

pub(crate) fn principal(worker: &str) -> Principal {
    Principal { owner: OWNER.into(), machine: worker.into() }
}

fn key() -> LeaseKey {
    LeaseKey::new([4; 32])
}

pub(crate) const fn everything(seed: u64, by_reference: bool) -> AuditPolicy {
    let (share_ppm, across) = (AuditPolicy::ALL, AuditScope::Machines);
    AuditPolicy { share_ppm, seed, by_reference, across }
}

pub(crate) fn kernel(name: &str) -> KernelName {
    KernelName::new(name).expect("there is such a kernel")
}

pub(crate) fn interval(start: u64, end: u64) -> Range {
    Range::new(start, end).expect("not empty")
}
