//! The one writer. All requests that have queued up go into one transaction.

use std::time::{Duration, Instant};

use farm::{Asker, LedgerAnswer, LedgerCommand};
use rusqlite::{Transaction, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use super::patrol::Patrol;
use super::place::Place;
use super::store::{Store, unix_ms};
use super::{Credential, Ledger, LedgerFault, Result, credentials, rules};

/// The number of commands that may wait for the disk. If more come, the farm waits.
const QUEUE: usize = 65_536;
/// The largest number of commands in one transaction. This bound keeps the wait for an
/// acknowledgement short.
const MAX_BATCH: usize = 8_192;

/// A request to the ledger.
#[expect(clippy::large_enum_variant, reason = "nearly all requests are of the largest variant")]
#[derive(Debug)]
pub enum LedgerRequest {
    /// A command of the farm, and the asker who gets the answer.
    Farm(Asker, LedgerCommand),
    /// A credential to be added, or one that was revoked; the answer comes when it is durable.
    Credential(Credential, oneshot::Sender<()>),
    /// Checks that the ledger's file is still there, as every commit does. It has no answer.
    Look,
}

impl LedgerRequest {
    fn writes(&self) -> bool {
        match self {
            LedgerRequest::Farm(_, command) => !command.is_look_up(),
            LedgerRequest::Credential(..) => true,
            LedgerRequest::Look => false,
        }
    }
}

/// An event of the ledger for the farm, in the order of the requests.
#[derive(Debug)]
pub enum LedgerEvent {
    /// A batch of requests became durable. The duration is from the beginning of its transaction
    /// until it was on disk. The answers follow.
    Committed(Duration),
    /// The answer to a command.
    Answered(Asker, Box<LedgerCommand>, LedgerAnswer),
    /// The last event: the ledger cannot be written any more.
    Failed(LedgerFault),
    /// The last event: everything is written, and the ledger is closed.
    Closed,
}

/// The farm's end of the ledger.
#[derive(Debug)]
pub struct LedgerHandle {
    /// Requests to the ledger. It is closed once this is dropped and everything is written.
    pub requests: mpsc::Sender<LedgerRequest>,
    /// Answers to the farm.
    pub events: mpsc::UnboundedReceiver<LedgerEvent>,
}

/// Writes the ledger on a thread of its own, until the farm drops its end or the ledger fails.
pub fn spawn(ledger: Ledger) -> LedgerHandle {
    let (requests, queue) = mpsc::channel(QUEUE);
    let (answers, events) = mpsc::unbounded_channel();
    std::thread::Builder::new()
        .name("ledger".into())
        .spawn(move || write(ledger, queue, &answers))
        .expect("failed to spawn thread");
    LedgerHandle { requests, events }
}

/// Before the last event is sent, the queue is closed and the ledger released.
pub(crate) fn write(
    ledger: Ledger,
    mut queue: mpsc::Receiver<LedgerRequest>,
    answers: &mpsc::UnboundedSender<LedgerEvent>,
) {
    let mut batch = Vec::new();
    let mut patrol = ledger.path().map(Patrol::begin);
    // If the receiver of events is gone, nobody needs them.
    let send = |event| drop(answers.send(event));
    while queue.blocking_recv_many(&mut batch, MAX_BATCH) > 0 {
        let began = Instant::now();
        let damage = patrol.as_ref().and_then(Patrol::damage);
        let done = match damage.map_or_else(|| ledger.serve(&batch), Err) {
            Ok(done) => done,
            Err(fault) => {
                drop((ledger, queue));
                return send(LedgerEvent::Failed(fault));
            }
        };
        if !batch.iter().all(|request| matches!(request, LedgerRequest::Look)) {
            send(LedgerEvent::Committed(began.elapsed()));
        }
        batch.drain(..).zip(done).for_each(|(request, answer)| match request {
            LedgerRequest::Farm(asker, command) => {
                send(LedgerEvent::Answered(asker, Box::new(command), answer));
            }
            LedgerRequest::Credential(_, asked) => drop(asked.send(())),
            LedgerRequest::Look => {}
        });
    }
    drop(queue);
    patrol.as_mut().map(Patrol::end);
    // The ledger is closed before the last event. The process may end on this event, and must leave
    // no lock behind.
    let closed = ledger.close().map(drop);
    send(match closed {
        Ok(()) => LedgerEvent::Closed,
        Err(fault) => LedgerEvent::Failed(fault),
    });
}

impl Ledger {
    /// Executes the requests of a batch in order, in one transaction. If it fails, nothing of the
    /// batch is kept.
    ///
    /// # Errors
    ///
    /// [`LedgerFault`], if the ledger cannot be written, if its file is gone, or if something does
    /// not fit its rows.
    pub fn serve(&self, batch: &[LedgerRequest]) -> Result<Vec<LedgerAnswer>> {
        let now_ms = unix_ms();
        let serve = |request: &LedgerRequest| match request {
            LedgerRequest::Farm(_, command) => self.execute(command, now_ms),
            LedgerRequest::Credential(credential, _) => {
                credentials::write(&self.db, credential).map(|()| LedgerAnswer::Written)
            }
            LedgerRequest::Look => Ok(LedgerAnswer::Written),
        };
        self.look()?;
        let all = || batch.iter().map(serve).collect();
        if !batch.iter().any(LedgerRequest::writes) {
            return all();
        }
        self.in_one_go(all)
    }

    /// Executes a command at this time, in Unix milliseconds, within a transaction of
    /// [`Ledger::in_one_go`].
    pub fn execute(&self, command: &LedgerCommand, now_ms: i64) -> Result<LedgerAnswer> {
        rules::execute(&Store { db: &self.db, now_ms }, command)
    }

    /// Executes `commands` in order, in one transaction. If it fails, nothing of them is kept.
    pub fn apply(&self, commands: &[LedgerCommand]) -> Result<Vec<LedgerAnswer>> {
        let request = |command: &LedgerCommand| LedgerRequest::Farm(Asker::Farm, command.clone());
        self.serve(&commands.iter().map(request).collect::<Vec<_>>())
    }

    /// Fails if the name no longer leads to the file of this ledger.
    pub(crate) fn look(&self) -> Result<()> {
        self.place.as_ref().map_or(Ok(()), Place::look)
    }

    /// Does several things in one transaction. If another program has locked the ledger, it waits.
    ///
    /// # Errors
    ///
    /// [`LedgerFault::Taken`], if another coordinator has begun to write the ledger.
    pub fn in_one_go<T>(&self, what: impl FnOnce() -> Result<T>) -> Result<T> {
        let db = &self.db;
        // A transaction that begins with reading could not wait for a lock later, when it has to
        // write.
        let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
        self.check_opening()?;
        let result = what()?;
        transaction.commit()?;
        Ok(result)
    }
}
