//! The one thread that writes: whatever has queued up goes into one transaction.

use std::thread::JoinHandle;

use farm::{Effect, Found, JobId, JobState, Range, Record, Report, Ticket};
use tokio::sync::mpsc;

use super::open::unix_ms;
use super::restore::signed;
use super::seal::seal;
use super::{Ledger, LedgerFault};

/// Commands that may wait for the disk; beyond that the farm waits.
const QUEUE: usize = 65_536;
/// Commands in one transaction: keeps the wait for an acknowledgement short.
const MAX_BATCH: usize = 8_192;

/// What the ledger answers, in the order in which it was asked.
#[derive(Debug)]
pub(crate) enum LedgerEvent {
    /// To be handed to the farm.
    Farm(farm::Event),
    /// The last word: the ledger is closed.
    Failed(LedgerFault),
}

/// The farm's end of the ledger.
#[derive(Debug)]
pub(crate) struct LedgerHandle {
    pub(crate) commands: mpsc::Sender<Effect>,
    pub(crate) events: mpsc::UnboundedReceiver<LedgerEvent>,
    /// Ends once `commands` is dropped and everything is written.
    pub(crate) thread: JoinHandle<()>,
}

/// Starts the writer. It takes only [`Effect::Write`] and [`Effect::Compare`].
pub(crate) fn spawn(ledger: Ledger) -> LedgerHandle {
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
    pub(crate) fn apply(&self, commands: &[Effect]) -> Result<Vec<farm::Event>, LedgerFault> {
        let transaction = self.db.unchecked_transaction()?;
        let events = commands.iter().map(|command| self.apply_one(command));
        let events = events.collect::<Result<_, LedgerFault>>()?;
        transaction.commit()?;
        Ok(events)
    }

    fn apply_one(&self, command: &Effect) -> Result<farm::Event, LedgerFault> {
        match command {
            Effect::Write { ticket, record } => {
                self.write(record)?;
                Ok(farm::Event::Written { ticket: *ticket })
            }
            Effect::Compare { ticket, job, range } => self.compare(*ticket, *job, *range),
            other => unreachable!("not for the ledger: {other:?}"),
        }
    }

    fn write(&self, record: &Record) -> Result<(), LedgerFault> {
        match record {
            Record::Job { job, plan, priority } => {
                self.db.execute(
                    "INSERT INTO jobs (id, problem, n, method, parameter, tasks, fingerprint, priority, \
                     state, submitted_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        signed(job.0),
                        plan.problem.text(),
                        plan.problem.n(),
                        plan.method.name(),
                        plan.method.parameter().map(|(_, value)| value),
                        signed(plan.tasks),
                        plan.fingerprint().to_string(),
                        priority,
                        JobState::Running.name(),
                        unix_ms(),
                    ),
                )?;
            }
            Record::State { job, state } => {
                let ended = (*state == JobState::Cancelled).then(unix_ms);
                self.db.execute(
                    "UPDATE jobs SET state = ?, ended_at = ? WHERE id = ?",
                    (state.name(), ended, signed(job.0)),
                )?;
            }
            Record::Done { job, tasks, total } => self.write_done(*job, *tasks, *total)?,
            Record::Range { report, worker } => self.insert_range(report, worker)?,
            Record::Dispute { report, worker } => {
                self.insert_dispute(report, worker)?;
                // A job that was done is no longer.
                self.db.execute(
                    "UPDATE jobs SET state = ?, total = NULL, ended_at = NULL \
                     WHERE id = ? AND state = ?",
                    (JobState::Running.name(), signed(report.job.0), JobState::Done.name()),
                )?;
            }
            Record::Settle { report, worker } => self.settle(report, worker)?,
        }
        Ok(())
    }

    fn insert_range(&self, report: &Report, worker: &str) -> Result<(), LedgerFault> {
        // The farm does not let ranges overlap; this is the second pair of eyes.
        let mut insert = self.db.prepare_cached(
            "INSERT INTO ranges SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 WHERE coalesce(\
             (SELECT past FROM ranges WHERE job = ?1 AND first < ?3 ORDER BY first DESC LIMIT 1), 0\
             ) <= ?2",
        )?;
        let (range, lease) = (report.range, report.lease.0);
        let inserted = insert.execute((
            signed(report.job.0),
            signed(range.start()),
            signed(range.end()),
            report.count.to_string(),
            signed(lease),
            worker,
            i64::try_from(report.busy_us).unwrap_or(i64::MAX),
            unix_ms(),
            seal(report.job, range, report.count.into(), lease, worker),
        ))?;
        match inserted {
            1 => Ok(()),
            _ => Err(LedgerFault::Content(format!(
                "job {} was about to accept {} twice",
                report.job, report.range
            ))),
        }
    }

    fn insert_dispute(&self, report: &Report, worker: &str) -> Result<(), LedgerFault> {
        self.db.execute(
            "INSERT INTO disputes VALUES (?, ?, ?, ?, ?, ?, ?, 0)",
            (
                signed(report.job.0),
                signed(report.range.start()),
                signed(report.range.end()),
                report.count.to_string(),
                worker,
                signed(report.lease.0),
                unix_ms(),
            ),
        )?;
        Ok(())
    }

    /// Replaces the rows of a disputed range; what they said stays as evidence.
    fn settle(&self, report: &Report, worker: &str) -> Result<(), LedgerFault> {
        let (job, start, end) = (report.job.0, report.range.start(), report.range.end());
        let range = (signed(job), signed(start), signed(end));
        self.db.execute(
            "INSERT INTO disputes \
             SELECT job, first, past, count, worker, lease, accepted_at, 1 FROM ranges \
             WHERE job = ? AND first >= ? AND first < ?",
            range,
        )?;
        self.db.execute("DELETE FROM ranges WHERE job = ? AND first >= ? AND first < ?", range)?;
        self.db.execute(
            "UPDATE disputes SET settled = 1 WHERE job = ? AND first = ? AND past = ?",
            range,
        )?;
        self.insert_range(report, worker)
    }

    /// A job ends only if the rows themselves say so.
    fn write_done(&self, job: JobId, tasks: u64, total: u128) -> Result<(), LedgerFault> {
        let mut covered = 0;
        let sum = self.for_each_range(job, |range| {
            covered += range.len();
            Ok(())
        })?;
        if (covered, sum) != (tasks, total) {
            let text = format!(
                "job {job} should end with {tasks} tasks and the total {total}, but its rows have \
                 {covered} and {sum}"
            );
            return Err(LedgerFault::Content(text));
        }
        self.db.execute(
            "UPDATE jobs SET state = ?, total = ?, ended_at = ? WHERE id = ?",
            (JobState::Done.name(), total.to_string(), unix_ms(), signed(job.0)),
        )?;
        Ok(())
    }

    fn compare(
        &self,
        ticket: Ticket,
        job: JobId,
        range: Range,
    ) -> Result<farm::Event, LedgerFault> {
        let found = match self.stored(job, range)? {
            Some(vote) => Found::Exactly { count: vote.count, worker: vote.worker },
            None => Found::Unaligned,
        };
        Ok(farm::Event::Compared { ticket, found })
    }
}
