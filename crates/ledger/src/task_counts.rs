//! What each task of accepted ranges counts.
//!
//! ```text
//!   ranges       [ 10,           20 )       digest over which task counts what
//!   task_counts  10: 3 4 1 7 | 14: 2 2 9 5 1 6
//! ```
//!
//! They stand in a table of their own, as they were reported, so that rows are read without them, and are joined without
//! moving them. The digest of a row is their seal. A row of which they have gone, or have never been told, is one of which
//! only the sum is known.

use farm::{Fingerprint, JobId, Plan, Range, Row, TaskCounts};
use rusqlite::Connection;

use super::entry::{signed, unsigned};
use super::{Ledger, LedgerFault};

/// Bytes of one count, the lowest first.
const EACH: usize = 8;

/// Keeps those of an accepted range.
pub(super) fn keep(
    db: &Connection,
    job: JobId,
    range: Range,
    counts: &TaskCounts,
) -> Result<(), LedgerFault> {
    let bytes: Vec<u8> = counts.as_slice().iter().flat_map(|count| count.to_le_bytes()).collect();
    db.prepare_cached("INSERT INTO task_counts (job, first, counts) VALUES (?, ?, ?)")?
        .execute((signed(job.0), signed(range.start()), bytes))?;
    Ok(())
}

/// Forgets those of a range that is accepted no more.
pub(super) fn forget(db: &Connection, job: JobId, range: Range) -> Result<(), LedgerFault> {
    db.prepare_cached("DELETE FROM task_counts WHERE job = ? AND first >= ? AND first < ?")?
        .execute((signed(job.0), signed(range.start()), signed(range.end())))?;
    Ok(())
}

/// Of how many tasks of an accepted range there are any. Reads their lengths alone.
pub(super) fn told(db: &Connection, job: JobId, range: Range) -> Result<u64, LedgerFault> {
    let query = "SELECT coalesce(sum(length(counts)), 0) / ?4 FROM task_counts \
                 WHERE job = ?1 AND first >= ?2 AND first < ?3";
    let key = (signed(job.0), signed(range.start()), signed(range.end()), EACH as i64);
    db.prepare_cached(query)?.query_row(key, |columns| Ok(unsigned(columns, 0)))?
}

/// Those of parts of a range, with their first ordinals, in ascending order.
fn parts(db: &Connection, job: JobId, range: Range) -> Result<Vec<(u64, Vec<u64>)>, LedgerFault> {
    let mut statement = db.prepare_cached(
        "SELECT first, counts FROM task_counts WHERE job = ? AND first >= ? AND first < ? ORDER BY first",
    )?;
    let key = (signed(job.0), signed(range.start()), signed(range.end()));
    let parts = statement.query_and_then(key, |columns| {
        let bytes = columns.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        let (counts, rest) = bytes.as_chunks::<EACH>();
        if !rest.is_empty() {
            return Err(altered(job, range));
        }
        let counts = counts.iter().map(|&count| u64::from_le_bytes(count)).collect();
        Ok((unsigned(columns, 0)?, counts))
    })?;
    parts.collect()
}

/// Those of an accepted range, as they are stored: untold if those of some of its tasks are.
pub(super) fn stored(db: &Connection, job: JobId, range: Range) -> Result<TaskCounts, LedgerFault> {
    let parts = parts(db, job, range)?;
    let parts = parts.iter().map(|(first, counts)| (*first, counts.as_slice()));
    Ok(TaskCounts::of_parts(range, parts))
}

/// The first ordinals of those of a job that lie within no accepted range, or are none.
pub(super) fn of_no_row(db: &Connection, job: JobId) -> Result<Vec<u64>, LedgerFault> {
    let mut statement = db.prepare_cached(
        "SELECT first FROM task_counts t WHERE job = ?1 AND (length(counts) < ?2 OR NOT EXISTS \
         (SELECT 1 FROM ranges r WHERE r.job = ?1 AND r.first <= t.first AND r.past >= t.first + length(t.counts) / ?2 \
          AND r.first = (SELECT max(first) FROM ranges WHERE job = ?1 AND first <= t.first)))",
    )?;
    let firsts = statement.query_and_then((signed(job.0), EACH as i64), |columns| {
        let first: i64 = columns.get(0)?;
        Ok(u64::try_from(first).unwrap_or_default())
    })?;
    firsts.collect()
}

/// [`Ledger::task_counts`], of a plan with this fingerprint.
pub(super) fn of_row(
    db: &Connection,
    job: JobId,
    plan: Fingerprint,
    row: &Row,
) -> Result<TaskCounts, LedgerFault> {
    let counts = stored(db, job, row.range)?;
    match counts.add_up_to(plan, row.range, row.tally) {
        true => Ok(counts),
        false => Err(altered(job, row.range)),
    }
}

/// Checks that what is told of a row's tasks is told of all of them, and adds up.
///
/// # Errors
///
/// [`LedgerFault::Content`], if it does not.
pub(super) fn check_row(
    db: &Connection,
    job: JobId,
    plan: Fingerprint,
    row: &Row,
) -> Result<(), LedgerFault> {
    let range = row.range;
    if of_row(db, job, plan, row)?.are_untold() && !parts(db, job, range)?.is_empty() {
        return Err(LedgerFault::Content(format!(
            "job {job}: some counts of the tasks {range} are missing, and others are there"
        )));
    }
    Ok(())
}

impl Ledger {
    /// What each task of an accepted row counts; untold if those of some of its tasks are.
    ///
    /// # Errors
    ///
    /// [`LedgerFault::Content`], if they are not what the digest of the row says.
    pub fn task_counts(
        &self,
        job: JobId,
        plan: &Plan,
        row: &Row,
    ) -> Result<TaskCounts, LedgerFault> {
        match plan.tells_tasks() {
            true => of_row(&self.db, job, plan.fingerprint(), row),
            false => Ok(TaskCounts::default()),
        }
    }
}

fn altered(job: JobId, range: Range) -> LedgerFault {
    LedgerFault::Content(format!("job {job}: the counts of the tasks {range} were altered"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use farm::{
        Across, AuditPolicy, Author, EvidenceRecord, JobState, KernelName, LeaseId, LedgerCommand,
        LoanKind, LoanProof, Maker, Method, Origin, Problem, Report, Slice, Tally,
    };
    use tempfile::TempDir;

    use super::*;
    use crate::{CheckedLedger, Draft, Evidence, Scrub, join_ledgers};

    const JOB: JobId = JobId(1);
    const TASKS: u64 = 12;

    fn plan() -> Plan {
        Plan { problem: Problem::Total { n: 8 }, method: Method::Halves, tasks: TASKS }
    }

    /// A report of a range, each of whose tasks counts 10 and its ordinal, and `more`.
    fn report(first: u64, past: u64, more: u64) -> Report {
        let range = Range::new(first, past).expect("not empty");
        let counts: Vec<u64> = (first..past).map(|at| 10 + at + more).collect();
        let with = |sum: Tally, (at, &count)| sum.with(plan().fingerprint(), at, count);
        let tally = (first..past).zip(&counts).try_fold(Tally::EMPTY, with);
        Report {
            job: JOB,
            fingerprint: plan().fingerprint(),
            lease: LeaseId(1),
            proof: LoanProof { range, kind: LoanKind::Count, seal: [0; 16] },
            range,
            tally: tally.expect("it is small"),
            task_counts: TaskCounts::new(&counts),
            kernel: KernelName::new("avx2").expect("there is one"),
            busy_us: 1,
            signed: None,
            stretches: Vec::new(),
        }
    }

    fn by(machine: &str) -> Author {
        let maker = Maker { owner: "lab".into(), machine: machine.into() };
        Author { maker, worker: machine.into(), build: "1".into() }
    }

    fn accept(report: Report, machine: &str) -> LedgerCommand {
        LedgerCommand::Accept { report, author: by(machine), audit: false }
    }

    /// A ledger that has done this, each for itself.
    fn ledger_of(path: &Path, commands: impl IntoIterator<Item = LedgerCommand>) -> Ledger {
        let ledger = CheckedLedger::open(path).and_then(CheckedLedger::begin).expect("it opens");
        let (origin, plan, slice) = (Origin::default(), plan(), Slice::ALL);
        let new =
            LedgerCommand::CreateJob { job: JOB, origin, plan, slice, priority: 0, audit: None };
        for command in std::iter::once(new).chain(commands) {
            ledger.apply(&[command]).expect("it fits the rows");
        }
        ledger
    }

    /// What is told of each row.
    fn told(path: &Path) -> Result<Vec<Vec<u64>>, LedgerFault> {
        let (evidence, mut all) = (Evidence::open(path)?, Vec::new());
        evidence.for_each(JOB, |record| {
            if let EvidenceRecord::Range { task_counts, .. } = record {
                all.push(task_counts.as_slice().to_vec());
            }
            Ok::<(), LedgerFault>(())
        })?;
        Ok(all)
    }

    fn stored(path: &Path) -> i64 {
        let db = Connection::open(path).expect("it is there");
        let query = "SELECT count(*) FROM task_counts";
        db.query_row(query, [], |row| row.get(0)).expect("it is a number")
    }

    #[test]
    fn what_each_task_counts_is_read_back_with_its_row_if_it_was_told() {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.path().join("ledger.db");
        let untold = Report { task_counts: TaskCounts::default(), ..report(3, 5, 0) };
        let accepted = [accept(report(0, 3, 0), "a"), accept(untold, "a")];
        drop(ledger_of(&path, accepted));
        assert_eq!(told(&path).expect("it is sound"), [vec![10, 11, 12], vec![]]);
    }

    #[test]
    fn counts_that_were_altered_are_noticed_and_lost_ones_are_untold() {
        let other = 99_u64.to_le_bytes();
        let other = other.iter().map(|byte| format!("{byte:02X}")).collect::<String>();
        for (harm, noticed) in [
            (
                format!(
                    "UPDATE task_counts SET counts = CAST(x'{other}' || substr(counts, 9) AS BLOB)"
                ),
                &["[0, 3) were altered"][..],
            ),
            ("UPDATE task_counts SET counts = substr(counts, 2)".into(), &["[0, 3) were altered"]),
            ("UPDATE task_counts SET counts = substr(counts, 9)".into(), &["[0, 3) are missing"]),
            (
                "UPDATE task_counts SET counts = zeroblob(32)".into(),
                &["[0, 3) are missing", "from 0 on count belongs to no"],
            ),
            (
                "UPDATE task_counts SET first = 1".into(),
                &["[0, 3) are missing", "from 1 on count belongs to no"],
            ),
            ("UPDATE task_counts SET first = 9".into(), &["from 9 on count belongs to no"]),
            ("UPDATE task_counts SET counts = zeroblob(0)".into(), &["[0, 3) are", "from 0 on"]),
            ("DELETE FROM task_counts".into(), &[]),
        ] {
            let folder = TempDir::new().expect("a temporary directory");
            let path = folder.path().join("ledger.db");
            let ledger = ledger_of(&path, [accept(report(0, 3, 0), "a")]);
            ledger.db.execute_batch(&harm).expect("it is SQL");
            drop(ledger);
            // Their sum is sound, so that nothing else of the job is lost.
            assert_eq!(told(&path).expect("it is sound"), [vec![]], "{harm}");
            let [draft, copy] = ["draft", "copy"].map(|name| folder.path().join(name));
            let copied = Draft::begin(draft, &copy).and_then(|draft| {
                draft.copy_from(&path)?;
                draft.finish()
            });
            assert_eq!(copied.is_err(), !noticed.is_empty(), "a copy is sound or is none");
            let scrubbed = Scrub::open(&path).and_then(Scrub::all).expect("it can be read");
            assert_eq!(scrubbed.damages.len(), noticed.len(), "{harm}: {scrubbed:?}");
            for (damage, words) in scrubbed.damages.iter().zip(noticed) {
                assert!(damage.contains(words), "{damage}: {words}");
            }
        }
    }

    #[test]
    fn they_go_with_their_row_and_come_with_the_one_that_replaces_it() {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.path().join("ledger.db");
        let dispute = LedgerCommand::Dispute { report: report(3, 6, 0), author: by("b") };
        let wrong = vec![by("a").maker.party(Across::Machines)];
        let settle = LedgerCommand::Settle { report: report(3, 6, 0), author: by("c"), wrong };
        let accepted = [accept(report(0, 3, 0), "a"), accept(report(3, 6, 7), "a")];
        drop(ledger_of(&path, accepted.into_iter().chain([dispute, settle])));
        assert_eq!(told(&path).expect("it is sound"), [[13, 14, 15]], "what `a` counted is gone");
        assert_eq!(stored(&path), 1);
    }

    #[test]
    fn a_removed_job_tells_nothing() {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.path().join("ledger.db");
        let cancel =
            LedgerCommand::SetState { job: JOB, state: JobState::Cancelled, by: "lab".into() };
        let ledger = ledger_of(&path, [accept(report(0, 3, 0), "a"), cancel]);
        assert_eq!(told(&path).expect("it is sound"), [[10, 11, 12]]);
        let remove = LedgerCommand::Remove { job: JOB, most: 100 };
        ledger.apply(&[remove]).expect("it is over");
        drop(ledger);
        assert_eq!(stored(&path), 0);
    }

    #[test]
    fn a_joined_ledger_has_those_of_its_parts() {
        let folder = TempDir::new().expect("a temporary directory");
        let [one, two, into] = ["one", "two", "into"].map(|name| folder.path().join(name));
        drop(ledger_of(&one, [accept(report(0, 3, 0), "a")]));
        drop(ledger_of(&two, [accept(report(0, 3, 0), "b"), accept(report(5, 7, 0), "b")]));
        join_ledgers(&[one, two], &into).expect("they agree");
        assert_eq!(told(&into).expect("it is sound"), [vec![10, 11, 12], vec![15, 16]]);
        assert_eq!(stored(&into), 2);
    }

    #[test]
    fn what_one_part_has_not_told_another_one_tells() {
        let folder = TempDir::new().expect("a temporary directory");
        let [one, two, into] = ["one", "two", "into"].map(|name| folder.path().join(name));
        let untold = Report { task_counts: TaskCounts::default(), ..report(0, 3, 0) };
        let more = accept(report(5, 7, 0), "a");
        drop(ledger_of(&one, [accept(untold, "a"), more]));
        drop(ledger_of(&two, [accept(report(0, 3, 0), "b")]));
        join_ledgers(&[one, two], &into).expect("they agree");
        assert_eq!(told(&into).expect("it is sound"), [vec![10, 11, 12], vec![15, 16]]);
    }

    fn everything() -> AuditPolicy {
        let (share_ppm, across) = (AuditPolicy::ALL, Across::Machines);
        AuditPolicy { share_ppm, seed: 1, salt: 9, by_search: false, across, beacon: None }
    }

    /// A ledger whose only row has a second count that has told this.
    fn told_twice(path: &Path, task_counts: TaskCounts) -> Ledger {
        let audit =
            LedgerCommand::RequestAudit { job: JOB, policy: everything(), by: "lab".into() };
        let kernel = KernelName::new("portable").expect("there is one");
        let second = Report { kernel, task_counts, ..report(0, 3, 0) };
        let confirm = LedgerCommand::Confirm { report: second, author: by("b") };
        ledger_of(path, [accept(report(0, 3, 0), "a"), audit, confirm])
    }

    /// The session has seen that both add up to one digest. Whoever is free to choose counts can find others that do.
    #[test]
    fn a_second_count_that_tells_other_counts_leaves_none() {
        for (second, expected) in [
            (report(0, 3, 0).task_counts, vec![10, 11, 12]),
            (TaskCounts::default(), vec![10, 11, 12]),
            (TaskCounts::new(&[11, 10, 12]), vec![]),
        ] {
            let folder = TempDir::new().expect("a temporary directory");
            let path = folder.path().join("ledger.db");
            drop(told_twice(&path, second));
            assert_eq!(told(&path).expect("it is sound"), [expected]);
        }
    }

    #[test]
    fn what_a_liar_has_told_goes_although_its_sum_was_confirmed() {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.path().join("ledger.db");
        let ledger = told_twice(&path, TaskCounts::default());
        let party = by("a").maker.party(Across::Machines);
        let distrust = LedgerCommand::Distrust { party, reason: "it lies".into() };
        ledger.apply(&[distrust]).expect("there is a reason");
        drop(ledger);
        assert_eq!(told(&path).expect("it is sound"), [vec![]], "the row stays");
    }
}
