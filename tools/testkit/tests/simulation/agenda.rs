//! The queue of planned events, in order of time. Events at the same time are in the order of
//! planning.

use std::collections::BTreeMap;

use farm::{Effect, RequestId, SessionId, WorkerMessage};

use crate::scenario::ClientRequest;

/// An event in the simulated world. `life` and `epoch` name the life of a worker or of the
/// coordinator to which the event belongs. If that life is over, the event is void.
pub enum Happening {
    /// A message arrives at the coordinator.
    Up {
        session: SessionId,
        serial: u64,
        message: WorkerMessage,
    },
    /// A message arrives at a worker.
    Down {
        session: SessionId,
        serial: u64,
        effect: Effect,
    },
    /// The coordinator notices the end of a session.
    FarmLosesSession {
        session: SessionId,
    },
    /// A worker notices the end of its session.
    WorkerLosesSession {
        session: SessionId,
    },
    WorkerStarts {
        worker: usize,
    },
    WorkerConnects {
        worker: usize,
        life: u64,
    },
    WorkerWakes {
        worker: usize,
        life: u64,
    },
    /// A thread has finished its range.
    Counted {
        worker: usize,
        life: u64,
        thread: usize,
    },
    Unhang {
        worker: usize,
        life: u64,
    },
    /// A fault hits some worker.
    Fault,
    FarmWakes {
        epoch: u64,
    },
    FarmStarts,
    /// The ledger makes a batch durable.
    Commit {
        epoch: u64,
    },
    /// The farm gets one of the ledger's answers.
    Answer {
        epoch: u64,
    },
    /// A client's request is due.
    Asked {
        wanted: ClientRequest,
        request: RequestId,
    },
    /// The faults end.
    Quiesce,
    /// A client reads the jobs.
    Look,
}

#[derive(Default)]
pub struct Agenda {
    pub now: u64,
    planned: u64,
    /// The events are boxed, because the map moves its values.
    happenings: BTreeMap<(u64, u64), Box<Happening>>,
}

impl Agenda {
    pub fn plan(&mut self, at: u64, happening: Happening) {
        self.planned += 1;
        let key = (at.max(self.now), self.planned);
        self.happenings.insert(key, Box::new(happening));
    }

    /// Advances the time to the next event.
    pub fn next(&mut self) -> Option<Happening> {
        let ((at, _), happening) = self.happenings.pop_first()?;
        self.now = at;
        Some(*happening)
    }
}
