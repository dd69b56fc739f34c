//! Sessions, and the delivery of their messages.

use std::collections::BTreeMap;

use farm::{Effect, SessionId, WorkerMessage};
use testkit::Random;

use crate::agenda::{Agenda, Happening};
use crate::coverage::Coverage;
use crate::scenario::FaultRates;

#[derive(Default)]
pub struct Network {
    pub links: BTreeMap<SessionId, Link>,
    /// The latest session's number, through all lives of the coordinator.
    sessions: u64,
}

/// A connection, seen from both ends.
pub struct Link {
    pub worker: usize,
    /// The life of the coordinator that it leads to.
    pub epoch: u64,
    /// Whether it is broken. Either end may not know yet.
    pub cut: bool,
    /// Whether the coordinator has received the worker's hello.
    pub joined: bool,
    /// Whether the coordinator has noticed the end.
    pub left: bool,
    /// Whether the coordinator has dismissed this worker.
    pub sent_away: bool,
    /// Whether the coordinator has not leased what this worker reported or holds.
    pub disowned: bool,
    up: Lane,
    down: Lane,
}

/// One direction of a connection.
#[derive(Default)]
struct Lane {
    sent: u64,
    /// The time at which the last message that was sent arrives.
    arrival: u64,
    /// The highest serial number that has arrived.
    arrived: u64,
}

impl Network {
    pub fn open(&mut self, worker: usize, epoch: u64) -> SessionId {
        self.sessions += 1;
        let link = Link {
            worker,
            epoch,
            cut: false,
            joined: false,
            left: false,
            sent_away: false,
            disowned: false,
            up: Lane::default(),
            down: Lane::default(),
        };
        self.links.insert(SessionId(self.sessions), link);
        SessionId(self.sessions)
    }

    pub fn send_up(&mut self, session: SessionId, message: WorkerMessage, via: &mut Via) {
        let link = self.links.get_mut(&session).expect("links are never removed");
        let arrivals = link.up.send(link.cut, via);
        if arrivals.is_empty() && matches!(message, WorkerMessage::Hello(_)) {
            // If only one end opens a session, the session breaks.
            link.cut = true;
            let at = via.agenda.now + 50;
            via.agenda.plan(at, Happening::WorkerLosesSession { session });
        }
        for at in arrivals {
            let (serial, message) = (link.up.sent, message.clone());
            via.agenda.plan(at, Happening::Up { session, serial, message });
        }
    }

    pub fn send_down(&mut self, session: SessionId, effect: &Effect, via: &mut Via) {
        let link = self.links.get_mut(&session).expect("links are never removed");
        for at in link.down.send(link.cut, via) {
            let (serial, effect) = (link.down.sent, effect.clone());
            via.agenda.plan(at, Happening::Down { session, serial, effect });
        }
    }

    pub fn arrived_up(
        &mut self,
        session: SessionId,
        serial: u64,
        coverage: &mut Coverage,
    ) -> &mut Link {
        let link = self.links.get_mut(&session).expect("links are never removed");
        link.up.arrive(serial, coverage);
        link
    }

    pub fn arrived_down(&mut self, session: SessionId, serial: u64, coverage: &mut Coverage) {
        let link = self.links.get_mut(&session).expect("links are never removed");
        link.down.arrive(serial, coverage);
    }
}

/// The parts of the world that sending a message needs.
pub struct Via<'a> {
    pub faults: &'a FaultRates,
    pub random: &'a mut Random,
    pub agenda: &'a mut Agenda,
    pub coverage: &'a mut Coverage,
}

impl Lane {
    /// The times at which a message arrives: never, once, or twice.
    fn send(&mut self, cut: bool, via: &mut Via) -> Vec<u64> {
        self.sent += 1;
        if cut || via.random.per_mille(via.faults.loss_per_mille) {
            via.coverage.lost += 1;
            return Vec::new();
        }
        let repeated = via.random.per_mille(via.faults.repeat_per_mille);
        via.coverage.repeated += u64::from(repeated);
        let copies = 1 + usize::from(repeated);
        (0..copies).map(|_| self.arrival(via)).collect()
    }

    fn arrival(&mut self, via: &mut Via) -> u64 {
        let at = via.agenda.now + 1 + via.random.below(via.faults.delay_ms);
        let at = if via.faults.in_order { at.max(self.arrival) } else { at };
        self.arrival = self.arrival.max(at);
        at
    }

    fn arrive(&mut self, serial: u64, coverage: &mut Coverage) {
        coverage.reordered += u64::from(serial < self.arrived);
        self.arrived = self.arrived.max(serial);
    }
}
