//! What is going to happen, in order of time; at the same time, in the order of planning.

use std::collections::BTreeMap;

use farm::{Effect, RequestId, SessionId, WorkerMessage};

use crate::scenario::ClientRequest;

/// Something that happens to the world. `life` and `epoch` say of which life of a worker or of the
/// coordinator it is part: if that is over, so is this.
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
    /// A thread has finished its part.
    Counted {
        worker: usize,
        life: u64,
        thread: usize,
    },
    Unhang {
        worker: usize,
        life: u64,
    },
    /// Something bad happens to some worker.
    Fault,
    FarmWakes {
        epoch: u64,
    },
    FarmStarts,
    /// The ledger makes a batch durable, or tells of one.
    Commit {
        epoch: u64,
    },
    Tell {
        epoch: u64,
    },
    /// A client asks.
    Asked {
        wanted: ClientRequest,
        request: RequestId,
    },
    /// The faults end.
    Quiesce,
    /// A client looks how far the jobs are.
    Look,
}

#[derive(Default)]
pub struct Agenda {
    pub now: u64,
    planned: u64,
    /// In boxes, because the map moves what it holds.
    happenings: BTreeMap<(u64, u64), Box<Happening>>,
}

impl Agenda {
    pub fn plan(&mut self, at: u64, happening: Happening) {
        self.planned += 1;
        let key = (at.max(self.now), self.planned);
        self.happenings.insert(key, Box::new(happening));
    }

    /// Moves time to the next happening.
    pub fn next(&mut self) -> Option<Happening> {
        let ((at, _), happening) = self.happenings.pop_first()?;
        self.now = at;
        Some(*happening)
    }
}
