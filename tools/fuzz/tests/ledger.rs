//! The fuzzing target `ledger`: a ledger with altered bytes or rows is either refused with a sentence and
//! not changed, or it opens with all that was decided, and a farm continues from it. The crate `fuzz` says how to run it for longer.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use farm::{
    Across, AuditPolicy, Author, Config, Farm, Fingerprint, JobId, JobState, KernelName, LeaseId,
    LedgerCommand, LedgerId, LoanKey, LoanKind, LoanProof, Maker, Method, Millis, Origin, Plan,
    Problem, PublicKey, Range, Report, Restored, Signature, Signed, Signer, Slice, Tally,
    TaskCounts,
};
use fuzz::Source;
use ledger::{CheckedLedger, Credential, CredentialChange, Ledger, LedgerFault, Role};
use rusqlite::Connection;
use rusqlite::types::Value;
use tempfile::TempDir;

fn open(path: &Path) -> Result<Ledger, LedgerFault> {
    CheckedLedger::open_again(path)?.begin()
}

/// 100 tasks of a small board.
fn plan() -> Plan {
    Plan { problem: Problem::Total { n: 8 }, method: Method::Halves, tasks: 100 }
}

/// A ledger with rows of all kinds: jobs of all states, ranges, open and settled disputes.
static SOUND: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("ledger.db");
    let ledger = open(&path).expect("it opens");
    for (job, kind) in (1..).zip(["total", "fundamental", "completions b4", "superqueens"]) {
        let problem = Problem::from_text(kind, 8).expect("there is such a problem");
        let of_tasks = plan();
        let method = match problem.suits(of_tasks.method) {
            true => of_tasks.method,
            false => Method::Rows { rows: 2 },
        };
        let plan = Plan { problem, method, ..of_tasks };
        let report = |start, end, count| {
            let whole = report(start, end, count);
            let fingerprint = plan.fingerprint();
            let (tally, task_counts) = counted(fingerprint, start, end, count);
            Report { job: JobId(job), fingerprint, tally, task_counts, ..whole }
        };
        let range = |start, end, count| {
            let (author, audit) = (by("a"), start == 30);
            LedgerCommand::Accept { report: report(start, end, count), author, audit }
        };
        let dispute = |start, end, count| LedgerCommand::Dispute {
            report: report(start, end, count),
            author: by("b"),
        };
        let settle = |start, end, count| LedgerCommand::Settle {
            report: report(start, end, count),
            author: by("c"),
            wrong: vec![by("d").maker.party(Across::Machines)],
        };
        let confirm = |start, end, count| LedgerCommand::Confirm {
            report: Report { kernel: kernel("portable"), ..report(start, end, count) },
            author: by("b"),
        };
        let policy = AuditPolicy {
            share_ppm: 500_000,
            seed: 5,
            salt: 9,
            by_search: false,
            across: Across::Machines,
            beacon: None,
        };
        let (job, origin, slice) = (JobId(job), Origin::default(), Slice::ALL);
        let commands = [
            LedgerCommand::CreateJob { job, origin, plan, slice, priority: 1, audit: Some(policy) },
            range(0, 10, 7),
            range(10, 30, 5),
            range(30, 40, 3),
            confirm(30, 40, 3),
            dispute(10, 30, 6),
            settle(10, 30, 6),
            dispute(0, 10, 8),
        ];
        for command in commands {
            ledger.apply(&[command]).expect("it is written");
        }
        let last = match job.0 {
            1 => LedgerCommand::SetState { job, state: JobState::Cancelled, by: "lab".into() },
            2 => LedgerCommand::SetState { job, state: JobState::Paused, by: "lab".into() },
            _ => continue,
        };
        ledger.apply(&[last]).expect("it is written");
    }
    let origin = Origin { owner: "lab".into(), key: Some("nightly".into()) };
    let (job, plan, slice) = (JobId(9), plan(), Slice::ALL);
    let job = LedgerCommand::CreateJob { job, origin, plan, slice, priority: 3, audit: None };
    ledger.apply(&[job]).expect("it is written");
    let author = by("a");
    let report = whole();
    ledger.apply(&[LedgerCommand::Accept { report, author, audit: false }]).expect("it is");
    let done = LedgerCommand::Finish { job: JobId(9), tasks: 100, total: 92 };
    ledger.apply(&[done]).expect("it is written");
    let credential = Credential {
        id: 1,
        owner: "lab".into(),
        role: Role::Worker,
        hash: [5; 32],
        created_at_ms: 5,
        expires_at_ms: None,
        revoked_at_ms: Some(6),
    };
    ledger.change_credential(&CredentialChange::Add(credential)).expect("it is written");
    ledger.close().expect("it can be closed");
    fs::read(&path).expect("it can be read")
});

/// What was decided in that ledger.
static DECISIONS: LazyLock<String> = LazyLock::new(|| {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("ledger.db");
    fs::write(&path, &*SOUND).expect("it can be written");
    let mut ledger = open(&path).expect("it is sound");
    let restored = ledger.take_restored();
    decisions(&ledger, &restored)
});

/// What a coordinator does that does not follow from counts.
fn decisions(ledger: &Ledger, restored: &Restored) -> String {
    let Restored { jobs, last_job, proofs, distrusted, .. } = restored;
    let jobs = jobs.iter().map(|job| {
        let state = (job.state, job.held.as_ref().map(|held| &held.reason), job.seed_told);
        (job.id, &job.origin, job.plan, job.slice, job.priority, state, job.audit, job.committed)
    });
    let jobs = jobs.collect::<Vec<_>>();
    let disputes = restored.jobs.iter().map(|job| &job.disputes).collect::<Vec<_>>();
    let (credentials, decisions) = (ledger.credentials(), ledger.history().decisions);
    format!("{:#?}", (jobs, disputes, last_job, proofs, distrusted, credentials, decisions))
}

/// A count of some tasks of a plan: all of it by the first of them.
fn counted(plan: Fingerprint, start: u64, end: u64, count: u64) -> (Tally, TaskCounts) {
    let counts: Vec<u64> = (start..end).map(|at| if at == start { count } else { 0 }).collect();
    let with = |sum: Tally, (at, &count)| sum.with(plan, at, count);
    let tally = (start..end).zip(&counts).try_fold(Tally::EMPTY, with);
    (tally.expect("it is one count"), TaskCounts::new(&counts))
}

/// A report of the job 9. All of `count` is counted by the first task.
fn report(start: u64, end: u64, count: u64) -> Report {
    let (fingerprint, range) = (plan().fingerprint(), Range::new(start, end));
    let range = range.expect("it is not empty");
    let (key, ledger) = (PublicKey([7; 32]), LedgerId([8; 16]));
    let signer = Signer { key, ledger, job: JobId(9), kind: LoanKind::Count };
    let (tally, task_counts) = counted(fingerprint, start, end, count);
    Report {
        job: JobId(9),
        fingerprint,
        lease: LeaseId((1 << 40) + 1),
        proof: LoanProof { range, kind: LoanKind::Count, seal: [0; 16] },
        range,
        tally,
        task_counts,
        kernel: kernel("avx2"),
        busy_us: 1,
        signed: Some(Signed { signer, signature: Signature([9; 64]) }),
        stretches: Vec::new(),
    }
}

fn by(worker: &str) -> Author {
    let maker = Maker { owner: "o".into(), machine: worker.into() };
    Author { maker, worker: worker.into(), build: "1.2.3".into() }
}

fn kernel(name: &str) -> KernelName {
    KernelName::new(name).expect("there is such a kernel")
}

fn whole() -> Report {
    Report { lease: LeaseId(1 << 40), ..report(0, 100, 92) }
}

#[test]
fn ledger() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("ledger.db");
    bolero::check!().for_each(move |input: &[u8]| {
        let mut source = Source::new(input);
        for suffix in ["-wal", "-shm", "-journal"] {
            let mut name = path.clone().into_os_string();
            name.push(suffix);
            let _ = fs::remove_file(name);
        }
        fs::write(&path, &*SOUND).expect("it can be written");
        if source.one_in(2) {
            // If it cannot be altered so, it stays as it was.
            let _ = alter_rows(&path, &mut source);
        } else {
            alter_bytes(&path, &mut source);
        }
        opens_or_stays(&path);
    });
}

fn opens_or_stays(path: &Path) {
    let before = fs::read(path).expect("it can be read");
    match open(path) {
        Ok(mut ledger) => {
            let key = LoanKey::new([0; 32]);
            let restored = ledger.take_restored();
            assert_eq!(decisions(&ledger, &restored), *DECISIONS);
            Farm::restore(Config::default(), key, Millis(0), restored);
        }
        Err(fault) => {
            assert!(!fault.to_string().is_empty());
            assert!(fs::read(path).expect("it can be read") == before, "changed, and {fault}");
        }
    }
}

fn alter_bytes(path: &Path, source: &mut Source<'_>) {
    let mut bytes = SOUND.clone();
    for _ in 0..=source.below(4) {
        let at = source.below(bytes.len());
        match source.below(16) {
            0 => bytes.truncate(at.max(1)),
            1 => bytes[at..].fill(0),
            2..=6 => bytes[at] = source.byte(),
            // The beginning of the file has SQLite's own header and the schema.
            7 => bytes[at % 4096] = source.byte(),
            _ => {
                // This alters an existing text or number, so that the pages keep a valid structure.
                let used: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at] != 0).collect();
                // Zeros may have been all that was left.
                if let Some(&at) = used.get(at % used.len().max(1)) {
                    bytes[at] ^= 1 << source.below(8);
                }
            }
        }
    }
    fs::write(path, bytes).expect("it can be written");
}

/// Alters a random row of a random table of the schema.
fn alter_rows(path: &Path, source: &mut Source<'_>) -> Result<(), rusqlite::Error> {
    let db = Connection::open(path)?;
    db.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")?;
    let names = |query: &str| -> Result<Vec<String>, rusqlite::Error> {
        db.prepare(query)?.query_map([], |row| row.get(0))?.collect()
    };
    let tables = names("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?;
    for _ in 0..=source.below(4) {
        let table = source.choose(&tables);
        let columns = names(&format!("SELECT name FROM pragma_table_info('{table}')"))?;
        if columns.is_empty() {
            // The table was dropped.
            continue;
        }
        let column = source.choose(&columns);
        // Some tables have no rowid, so a random column selects the rows.
        let any = source.choose(&columns);
        let place = source.below(8);
        let row = format!("{any} IS (SELECT {any} FROM {table} LIMIT 1 OFFSET {place})");
        let altered = match source.below(16) {
            0 => db.execute(&format!("DELETE FROM {table} WHERE {row}"), []),
            1 => db.execute(&format!("INSERT INTO {table} SELECT * FROM {table} WHERE {row}"), []),
            2 => db.execute(&format!("PRAGMA user_version = {}", source.below(4)), []),
            3 => db.execute(&format!("DROP TABLE {table}"), []),
            4 => db.execute(&format!("ALTER TABLE {table} ADD COLUMN more INTEGER"), []),
            5..=8 => {
                let other = source.below(8);
                let value = format!("(SELECT {column} FROM {table} LIMIT 1 OFFSET {other})");
                db.execute(&format!("UPDATE {table} SET {column} = {value} WHERE {row}"), [])
            }
            _ => {
                db.execute(&format!("UPDATE {table} SET {column} = ? WHERE {row}"), [value(source)])
            }
        };
        // The database rejects some alterations.
        let _ = altered;
    }
    Ok(())
}

fn value(source: &mut Source<'_>) -> Value {
    match source.below(8) {
        0 => Value::Null,
        1 => Value::Blob(vec![0xff; source.below(40)]),
        2 => Value::Real(source.byte().into()),
        3 | 4 => {
            let texts =
                ["", "running", "done", "total", "toroidal", "completions i9", "ring", "halves"];
            Value::Text((*source.choose(&texts)).into())
        }
        5 => Value::Text((u128::from(source.number()) << source.below(65)).to_string()),
        _ => Value::Integer(source.number() as i64),
    }
}
