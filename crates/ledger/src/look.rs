//! What people want to see of a ledger, read while its coordinator goes on.
//!
//! Whatever is read here is shown and decides nothing. So it is not checked like evidence is, and costs little more
//! than the rows that are read.

use std::ops::ControlFlow;
use std::path::Path;

use farm::{JobId, JobState, Party, Range};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use super::LedgerFault;
use super::entry::signed;
use super::restore::BEGUN;

/// A ledger that is looked at.
#[derive(Debug)]
pub struct Look {
    pub(super) db: Connection,
}

/// An accepted range, as far as people want to see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenRange<'a> {
    /// The ordinals.
    pub range: Range,
    /// The name of the worker that counted it.
    pub worker: &'a str,
    /// Whether two parties counted it alike.
    pub is_audited: bool,
    /// The sum of its tasks, about.
    pub count: f64,
    /// When it was accepted, Unix milliseconds.
    pub at_ms: i64,
}

/// Something that happened to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    /// When, Unix milliseconds.
    pub at_ms: i64,
    /// What, in words.
    pub text: String,
}

/// What was accepted of a job within a slot of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The job.
    pub job: JobId,
    /// The beginning of the slot, Unix milliseconds.
    pub at_ms: i64,
    /// Tasks.
    pub tasks: u64,
    /// Workers that counted them.
    pub workers: u64,
}

/// The files in the folder of keys with which a ledger was served.
pub(super) fn keys(db: &Connection) -> Result<Vec<String>, LedgerFault> {
    let mut statement = db.prepare("SELECT name FROM keys ORDER BY name")?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

impl Look {
    /// The most incidents of one kind of which a job's log tells: the latest.
    pub const INCIDENTS: u32 = 50;

    /// The ledger in `path`, which has to be there.
    ///
    /// # Errors
    ///
    /// [`LedgerFault`], if it cannot be read.
    pub fn open(path: &Path) -> Result<Look, LedgerFault> {
        Ok(Look { db: Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)? })
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
        let query = "SELECT first, past, worker, audit = 2, count, accepted_at FROM ranges WHERE job = ? ORDER BY first";
        let mut statement = self.db.prepare(query)?;
        let mut rows = statement.query([signed(job.0)])?;
        while let Some(row) = rows.next()? {
            let range = Range::new(number(row.get_ref(0)?), number(row.get_ref(1)?));
            let worker = row.get_ref(2)?.as_str().unwrap_or_default();
            if let Some(range) = range
                && let Ok(count) = row.get_ref(4)?.as_str().unwrap_or_default().parse()
            {
                let (is_audited, at_ms) = (row.get(3)?, row.get(5)?);
                if see(SeenRange { range, worker, is_audited, count, at_ms }).is_break() {
                    break;
                }
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
        let most = Look::INCIDENTS;
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
                Some(JobState::Held) => "held: its total contradicts what is known of it".into(),
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
                 not believed any more"
            );
            note(row.get(0)?, text);
            Ok(())
        })?;
        let query = "SELECT noted_at, owner, machine FROM trust WHERE job = ? AND NOT trusted ORDER BY rowid DESC LIMIT ?";
        self.each(query, (job, most), |row| {
            let text = "was proven wrong, and is not believed any more";
            note(row.get(0)?, format!("{} {text}", party(row, 1)?));
            Ok(())
        })?;
        let query = "SELECT opened_at FROM openings WHERE opened_at > ?1 AND opened_at <= ?2 ORDER BY epoch DESC LIMIT ?3";
        self.each(query, (begun, ended.unwrap_or(i64::MAX), most), |row| {
            note(row.get(0)?, "a coordinator was started".into());
            Ok(())
        })?;
        found.sort_by_key(|incident| std::cmp::Reverse(incident.at_ms));
        Ok(found)
    }

    /// Calls `see` with what was accepted of all jobs from one time to another, Unix milliseconds, in slots of
    /// `slot_ms`: for each job in the order of time. It reads all rows once.
    ///
    /// # Errors
    ///
    /// [`LedgerFault`], if it cannot be read.
    pub fn history(
        &self,
        (from_ms, to_ms): (i64, i64),
        slot_ms: i64,
        mut see: impl FnMut(Slot),
    ) -> Result<(), LedgerFault> {
        let query = "SELECT job, accepted_at / ?3 AS slot, sum(past - first), count(DISTINCT worker) FROM ranges \
                     WHERE accepted_at >= ?1 AND accepted_at < ?2 GROUP BY job, slot ORDER BY job, slot";
        self.each(query, (from_ms, to_ms, slot_ms), |row| {
            see(Slot {
                job: JobId(number(row.get_ref(0)?)),
                at_ms: row.get::<_, i64>(1)?.saturating_mul(slot_ms),
                tasks: number(row.get_ref(2)?),
                workers: number(row.get_ref(3)?),
            });
            Ok(())
        })
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
