//! Reads a ledger for the pages while its coordinator goes on.
//!
//! What is read here is shown and decides nothing. So it is not checked as evidence is, and costs little more than the rows
//! that are read.

use std::ops::ControlFlow;
use std::path::Path;

use farm::{Credit, CreditOf, Incident, JobId, JobState, Party, Principal, Range};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use super::LedgerFault;
use super::entry::signed;
use super::restore::BEGUN;

/// A ledger that is only read.
#[derive(Debug)]
pub struct LedgerView {
    pub(super) db: Connection,
}

/// An accepted range, as far as a page shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenRange<'a> {
    /// The ordinals.
    pub range: Range,
    /// The name of the worker that counted it.
    pub worker: &'a str,
    /// Whether two parties counted it alike.
    pub is_audited: bool,
}

/// The files in the folder of keys with which a ledger was served.
pub(super) fn keys(db: &Connection) -> Result<Vec<String>, LedgerFault> {
    let mut statement = db.prepare("SELECT name FROM keys ORDER BY name")?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

impl LedgerView {
    /// The most incidents of one kind in a job's log. They are the latest.
    pub const INCIDENTS: u32 = 50;

    /// The ledger in `path`, which has to be there.
    ///
    /// # Errors
    ///
    /// [`LedgerFault`], if it cannot be read.
    pub fn open(path: &Path) -> Result<LedgerView, LedgerFault> {
        Ok(LedgerView { db: Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)? })
    }

    /// The files in the folder of keys beside it with which it was served.
    ///
    /// # Errors
    ///
    /// [`LedgerFault`], if it cannot be read.
    pub fn keys(&self) -> Result<Vec<String>, LedgerFault> {
        keys(&self.db)
    }

    /// Calls `see` for every accepted range of a job, in the order of the ordinals, until it breaks off.
    ///
    /// # Errors
    ///
    /// [`LedgerFault`], if it cannot be read.
    pub fn ranges(
        &self,
        job: JobId,
        mut see: impl FnMut(SeenRange<'_>) -> ControlFlow<()>,
    ) -> Result<(), LedgerFault> {
        let query =
            "SELECT first, past, worker, audit = 2 FROM ranges WHERE job = ? ORDER BY first";
        let mut statement = self.db.prepare(query)?;
        let mut rows = statement.query([signed(job.0)])?;
        while let Some(row) = rows.next()? {
            let range = Range::new(number(row.get_ref(0)?), number(row.get_ref(1)?));
            let worker = row.get_ref(2)?.as_str().unwrap_or_default();
            if let Some(range) = range
                && see(SeenRange { range, worker, is_audited: row.get(3)? }).is_break()
            {
                break;
            }
        }
        Ok(())
    }

    /// What happened to a job, the latest first.
    ///
    /// # Errors
    ///
    /// [`LedgerFault`], if it cannot be read.
    pub fn incidents(&self, job: JobId) -> Result<Vec<Incident>, LedgerFault> {
        let job = signed(job.0);
        let most = LedgerView::INCIDENTS;
        let mut found = Vec::new();
        let mut note = |at_ms, text| found.push(Incident { at_ms, text });

        let query = "SELECT submitted_at, ended_at, owner FROM jobs WHERE id = ?";
        let (begun, ended): (i64, Option<i64>) = self.db.query_row(query, [job], |row| {
            note(row.get(0)?, format!("submitted{}", by_whom(row, 2)?));
            Ok((row.get(0)?, row.get(1)?))
        })?;
        let query = "SELECT asked_at, share_ppm, asked_by FROM audit_policies WHERE job = ? ORDER BY rowid DESC LIMIT ?";
        self.each(query, (job, most), |row| {
            let (share, by) = (f64::from(row.get::<_, u32>(1)?) / 10_000.0, by_whom(row, 2)?);
            note(row.get(0)?, format!("an audit of {share}% of the ranges was ordered{by}"));
            Ok(())
        })?;
        let query = "SELECT changed_at, state, priority, asked_by FROM changes WHERE job = ? ORDER BY rowid DESC LIMIT ?";
        self.each(query, (job, most), |row| {
            let state: Option<String> = row.get(1)?;
            let (priority, by): (Option<i32>, _) = (row.get(2)?, by_whom(row, 3)?);
            let is_begun = state.as_deref() == Some(BEGUN);
            let what = match state.and_then(|name| JobState::named(&name)) {
                None if is_begun => "its first tasks were leased".into(),
                Some(JobState::Running) if by.is_empty() => "it runs again".into(),
                Some(JobState::Running) => "resumed".into(),
                Some(JobState::Suspended) => {
                    "suspended: its total contradicts what is known of it".into()
                }
                Some(state) => state.name().into(),
                None => format!("given the priority {}", priority.unwrap_or_default()),
            };
            note(row.get(0)?, what + &by);
            Ok(())
        })?;
        let query = "SELECT noted_at, first, past, worker, owner, machine FROM disputes WHERE job = ? \
                     ORDER BY noted_at DESC LIMIT ?";
        self.each(query, (job, most), |row| {
            let [first, past] = [number(row.get_ref(1)?), number(row.get_ref(2)?)];
            let (worker, party): (String, _) = (row.get(3)?, party(row, 4)?);
            let text = format!(
                "the count of [{first}, {past}) by {worker} ({party}) is kept as evidence: it contradicts another, or is \
                 distrusted"
            );
            note(row.get(0)?, text);
            Ok(())
        })?;
        let query = "SELECT noted_at, owner, machine FROM trust WHERE job = ? AND NOT trusted ORDER BY rowid DESC LIMIT ?";
        self.each(query, (job, most), |row| {
            let text = "was proven wrong, and is distrusted";
            note(row.get(0)?, format!("{} {text}", party(row, 1)?));
            Ok(())
        })?;
        let query = "SELECT opened_at FROM epochs WHERE opened_at > ?1 AND opened_at <= ?2 ORDER BY epoch DESC LIMIT ?3";
        self.each(query, (begun, ended.unwrap_or(i64::MAX), most), |row| {
            note(row.get(0)?, "a coordinator was started".into());
            Ok(())
        })?;
        found.sort_by_key(|incident| std::cmp::Reverse(incident.at_ms));
        Ok(found)
    }

    /// What was counted by whom, the most placements first; [`Credit::MOST`] at most. It reads all rows once.
    ///
    /// # Errors
    ///
    /// [`LedgerFault`], if it cannot be read.
    pub fn credits(&self, of: &CreditOf) -> Result<Vec<Credit>, LedgerFault> {
        let (key, names): (_, [Option<&str>; 3]) = match of {
            CreditOf::Owners => ("owner, '', '', NULL", [None; 3]),
            CreditOf::Workers(owner) => ("owner, machine, worker, NULL", [Some(owner), None, None]),
            CreditOf::Jobs(Principal { owner, machine }, worker) => {
                ("owner, machine, worker, job", [owner, machine, worker].map(|name| Some(&**name)))
            }
        };
        // A second count has taken time, but its placements are counted already.
        let from = |table, (tasks, count, agreed, contradicted, at)| {
            format!(
                "SELECT owner, machine, worker, job, kernel, {tasks} AS tasks, {count} AS count, busy_us, \
                 {agreed} AS agreed, {contradicted} AS contradicted, {at} AS at FROM {table}"
            )
        };
        let ranges = from("ranges", ("past - first", "count", "audit = 2", "0", "accepted_at"));
        let audits = from("audits", ("0", "0", "1", "0", "counted_at"));
        // The count that settled a range contradicts no other one.
        let is_wrong = "SELECT 1 FROM ranges r WHERE r.job = disputes.job AND r.first = disputes.first \
                        AND r.past = disputes.past AND r.digest = disputes.digest";
        let disputes = from("disputes", ("0", "0", "0", "1", "noted_at"));
        let disputes = format!("{disputes} WHERE NOT EXISTS ({is_wrong})");
        let query = format!(
            "SELECT {key}, group_concat(DISTINCT kernel), sum(tasks), total(CAST(count AS REAL)), \
             CAST(min(total(busy_us), 9e18) AS INTEGER), \
             sum(agreed), sum(contradicted), max(at) \
             FROM ({ranges} UNION ALL {audits} UNION ALL {disputes}) \
             WHERE (?1 IS NULL OR owner = ?1) AND (?2 IS NULL OR machine = ?2) AND (?3 IS NULL OR worker = ?3) \
             GROUP BY 1, 2, 3, 4 ORDER BY 7 DESC LIMIT {}",
            Credit::MOST
        );
        let mut credits = Vec::new();
        self.each(&query, names, |row| {
            credits.push(Credit {
                owner: row.get(0)?,
                machine: row.get(1)?,
                worker: row.get(2)?,
                job: job(row.get_ref(3)?),
                kernels: row.get(4)?,
                tasks: number(row.get_ref(5)?),
                placements: row.get(6)?,
                busy_us: number(row.get_ref(7)?),
                agreed: number(row.get_ref(8)?),
                contradicted: number(row.get_ref(9)?),
                last_ms: row.get(10)?,
            });
            Ok(())
        })?;
        Ok(credits)
    }

    fn each(
        &self,
        query: &str,
        parameters: impl rusqlite::Params,
        mut see: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), LedgerFault> {
        let mut statement = self.db.prepare(query)?;
        let mut rows = statement.query(parameters)?;
        while let Some(row) = rows.next()? {
            see(row)?;
        }
        Ok(())
    }
}

/// The end of a sentence about what the owner in a column asked for; nothing if nobody did.
fn by_whom(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<String> {
    let owner: String = row.get(at)?;
    Ok(if owner.is_empty() { owner } else { format!(" by {owner}") })
}

fn party(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<Party> {
    Ok(Party { owner: row.get(at)?, machine: row.get(at + 1)? })
}

/// A number that is never negative; 0 if somebody has changed the file.
fn number(value: ValueRef<'_>) -> u64 {
    value.as_i64().ok().and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
}

/// The job of this number; `None` of `NULL`.
fn job(value: ValueRef<'_>) -> Option<JobId> {
    (value != ValueRef::Null).then(|| JobId(number(value)))
}
