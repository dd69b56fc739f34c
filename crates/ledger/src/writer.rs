//! The one thread that writes: whatever has queued up goes into one transaction.

use std::thread::JoinHandle;

use farm::{Effect, Event, Found, JobId, JobState, Range, Record, Ticket};
use rusqlite::ToSql;
use tokio::sync::mpsc;

use super::entry::{ENTRY, Entry, Tiled, signed, unsigned};
use super::open::unix_ms;
use super::{Ledger, LedgerFault};

/// Commands that may wait for the disk; beyond that the farm waits.
const QUEUE: usize = 65_536;
/// Commands in one transaction: keeps the wait for an acknowledgement short.
const MAX_BATCH: usize = 8_192;

/// What the ledger answers, in the order in which it was asked.
#[derive(Debug)]
pub enum LedgerEvent {
    /// To be handed to the farm.
    Farm(Event),
    /// The last word: the ledger is closed.
    Failed(LedgerFault),
}

/// The farm's end of the ledger.
#[derive(Debug)]
pub struct LedgerHandle {
    /// What it is to write or to look up.
    pub commands: mpsc::Sender<Effect>,
    /// Its answers, in the order of the commands.
    pub events: mpsc::UnboundedReceiver<LedgerEvent>,
    /// Ends once `commands` is dropped and everything is written.
    pub thread: JoinHandle<()>,
}

/// Starts the writer. It takes only [`Effect::Write`], [`Effect::Compare`] and [`Effect::FindAudits`].
pub fn spawn(ledger: Ledger) -> LedgerHandle {
    let (commands, mut queue) = mpsc::channel(QUEUE);
    let (answers, events) = mpsc::unbounded_channel();
    let write = move || {
        let mut batch = Vec::new();
        while queue.blocking_recv_many(&mut batch, MAX_BATCH) > 0 {
            let answer = |event| answers.send(event).is_ok();
            match ledger.apply(&batch) {
                Ok(events) => events.into_iter().for_each(|event| {
                    answer(LedgerEvent::Farm(event));
                }),
                Err(fault) => {
                    answer(LedgerEvent::Failed(fault));
                    return;
                }
            }
            batch.clear();
        }
    };
    let thread = std::thread::Builder::new()
        .name("ledger".into())
        .spawn(write)
        .expect("the system can start a thread");
    LedgerHandle { commands, events, thread }
}

impl Ledger {
    /// Applies `commands` in order in one transaction. Nothing of it is there if it fails.
    pub fn apply(&self, commands: &[Effect]) -> Result<Vec<Event>, LedgerFault> {
        self.in_one_go(|| commands.iter().map(|command| self.apply_one(command)).collect())
    }

    /// Does several things in one transaction.
    pub fn in_one_go<T, E: From<rusqlite::Error>>(
        &self,
        what: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let transaction = self.db.unchecked_transaction()?;
        let result = what()?;
        transaction.commit()?;
        Ok(result)
    }

    fn apply_one(&self, command: &Effect) -> Result<Event, LedgerFault> {
        match command {
            Effect::Write { ticket, record } => self.write(*ticket, record),
            Effect::Compare { ticket, job, range } => self.compare(*ticket, *job, *range),
            Effect::FindAudits { ticket, job, most } => {
                let rows = self.unaudited(*job, *most)?;
                Ok(Event::AuditsFound { ticket: *ticket, rows })
            }
            other => unreachable!("not for the ledger: {other:?}"),
        }
    }

    fn write(&self, ticket: Ticket, record: &Record) -> Result<Event, LedgerFault> {
        match record {
            Record::Job { job, plan, slice, priority, audit } => {
                self.db.execute(
                    "INSERT INTO jobs (id, problem, n, method, parameter, tasks, fingerprint, shard, \
                     shards, priority, state, submitted_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        signed(job.0),
                        plan.problem.text(),
                        plan.problem.n(),
                        plan.method.name(),
                        plan.method.parameter().map(|(_, value)| value),
                        signed(plan.tasks),
                        plan.fingerprint().to_string(),
                        slice.index(),
                        slice.of(),
                        priority,
                        JobState::Running.name(),
                        unix_ms(),
                    ),
                )?;
                audit.map_or(Ok(()), |policy| self.insert_policy(*job, policy))?;
            }
            Record::State { job, state } => {
                let ended = (*state == JobState::Cancelled).then(unix_ms);
                self.db.execute(
                    "UPDATE jobs SET state = ?, ended_at = ? WHERE id = ?",
                    (state.name(), ended, signed(job.0)),
                )?;
            }
            Record::Done { job, tasks, total } => self.write_done(*job, *tasks, *total)?,
            Record::Range { report, author, audit } => {
                self.insert_range(&Entry::new(report, author), report.job, i64::from(*audit))?;
            }
            Record::Confirm { report, author } => self.confirm(report, author)?,
            Record::Dispute { report, author } => {
                let entry = Entry::new(report, author);
                self.insert("disputes", "noted_at", report.job, &entry, Some(("state", 0)))?;
                self.reopen(report.job)?;
            }
            Record::Settle { report, author, wrong } => {
                let withdrawn = self.settle(report, author, wrong)?;
                return Ok(Event::Settled { ticket, withdrawn });
            }
            Record::Audit { job, policy } => {
                let wanted = self.ask_for_audit(*job, *policy)?;
                return Ok(Event::AuditNoted { ticket, wanted });
            }
        }
        Ok(Event::Written { ticket })
    }

    /// Adds an accepted range. The farm does not let ranges overlap; this is the second pair of eyes.
    pub(crate) fn insert_range(
        &self,
        entry: &Entry,
        job: JobId,
        audit: i64,
    ) -> Result<(), LedgerFault> {
        let mut before = self.db.prepare_cached(
            "SELECT past FROM ranges WHERE job = ? AND first < ? ORDER BY first DESC LIMIT 1",
        )?;
        let key = (signed(job.0), signed(entry.range.end()));
        let end = before.query_and_then(key, |row| unsigned(row, 0))?.next().transpose()?;
        if end.is_some_and(|end| end > entry.range.start()) {
            let text = format!("job {job} was about to accept {} twice", entry.range);
            return Err(LedgerFault::Content(text));
        }
        self.insert("ranges", "accepted_at", job, entry, Some(("audit", audit)))
    }

    /// Adds an entry to a table, with the time in the column `noted` and one column of its own.
    pub(crate) fn insert(
        &self,
        table: &str,
        noted: &str,
        job: JobId,
        entry: &Entry,
        own: Option<(&str, i64)>,
    ) -> Result<(), LedgerFault> {
        self.insert_at(table, (noted, unix_ms()), job, entry, own)
    }

    /// The same, at another time than now.
    pub(crate) fn insert_at(
        &self,
        table: &str,
        (noted, at): (&str, i64),
        job: JobId,
        entry: &Entry,
        own: Option<(&str, i64)>,
    ) -> Result<(), LedgerFault> {
        let mut names = format!("job, {ENTRY}, {noted}");
        let mut values: Vec<Box<dyn ToSql>> = vec![Box::new(signed(job.0))];
        values.extend(entry.values(job));
        values.push(Box::new(at));
        if let Some((name, value)) = own {
            names = format!("{names}, {name}");
            values.push(Box::new(value));
        }
        let places = vec!["?"; values.len()].join(", ");
        let query = format!("INSERT INTO {table} ({names}) VALUES ({places})");
        self.db.prepare_cached(&query)?.execute(rusqlite::params_from_iter(values))?;
        Ok(())
    }

    /// A job ends only if the rows themselves say so.
    fn write_done(&self, job: JobId, tasks: u64, total: u128) -> Result<(), LedgerFault> {
        let mut covered = 0;
        let sum = self.for_each_range(job, |entry| {
            covered += entry.range.len();
            Ok(())
        })?;
        let open = self.audits(job, 1)? + self.open_disputes(job)?;
        if (covered, sum, open) != (tasks, total, 0) {
            let text = format!(
                "job {job} should end with {tasks} tasks and the total {total}, but its rows have \
                 {covered} and {sum}, and {open} of them wait for another count"
            );
            return Err(LedgerFault::Content(text));
        }
        self.db.execute(
            "UPDATE jobs SET state = ?, total = ?, ended_at = ? WHERE id = ?",
            (JobState::Done.name(), total.to_string(), unix_ms(), signed(job.0)),
        )?;
        Ok(())
    }

    fn compare(&self, ticket: Ticket, job: JobId, range: Range) -> Result<Event, LedgerFault> {
        let found = match self.stored(job, range)? {
            Some(Tiled { claim, worker, kernel }) => Found::Exactly { claim, worker, kernel },
            None => Found::Unaligned,
        };
        Ok(Event::Compared { ticket, found })
    }
}
