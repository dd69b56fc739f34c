//! The one thread that writes: whatever has queued up goes into one transaction.

use std::thread::JoinHandle;

use farm::{LedgerAnswer, LedgerCommand, Ticket, rules};
use tokio::sync::mpsc;

use super::store::SqlStore;
use super::{Ledger, LedgerFault};

/// Commands that may wait for the disk; beyond that the farm waits.
const QUEUE: usize = 65_536;
/// Commands in one transaction: keeps the wait for an acknowledgement short.
const MAX_BATCH: usize = 8_192;

/// What the ledger answers, in the order in which it was asked.
#[derive(Debug)]
pub enum LedgerEvent {
    /// The answer to the command with this ticket.
    Answered(Ticket, LedgerAnswer),
    /// The last word: the ledger is closed.
    Failed(LedgerFault),
}

/// The farm's end of the ledger.
#[derive(Debug)]
pub struct LedgerHandle {
    /// What it is to do, each command with the ticket of its answer.
    pub commands: mpsc::Sender<(Ticket, LedgerCommand)>,
    /// What it has done.
    pub events: mpsc::UnboundedReceiver<LedgerEvent>,
    /// Ends once `commands` is dropped and everything is written.
    pub thread: JoinHandle<()>,
}

/// Starts the writer.
pub fn spawn(ledger: Ledger) -> LedgerHandle {
    let (commands, mut queue) = mpsc::channel(QUEUE);
    let (answers, events) = mpsc::unbounded_channel();
    let write = move || {
        let mut batch = Vec::new();
        while queue.blocking_recv_many(&mut batch, MAX_BATCH) > 0 {
            let (tickets, commands): (Vec<Ticket>, Vec<LedgerCommand>) = batch.drain(..).unzip();
            // If nobody listens any more, the farm has gone, and needs no answers.
            match ledger.apply(&commands) {
                Ok(done) => tickets.into_iter().zip(done).for_each(|(ticket, answer)| {
                    let _ = answers.send(LedgerEvent::Answered(ticket, answer));
                }),
                Err(fault) => {
                    let _ = answers.send(LedgerEvent::Failed(fault));
                    return;
                }
            }
        }
    };
    let thread = std::thread::Builder::new()
        .name("ledger".into())
        .spawn(write)
        .expect("the system can start a thread");
    LedgerHandle { commands, events, thread }
}

impl Ledger {
    /// Executes `commands` in order in one transaction. Nothing of it is there if it fails.
    pub fn apply(&self, commands: &[LedgerCommand]) -> Result<Vec<LedgerAnswer>, LedgerFault> {
        let mut store = SqlStore(&self.db);
        let mut execute = |command| rules::execute(&mut store, command);
        self.in_one_go(|| commands.iter().map(&mut execute).collect())
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
}
