//! The real ledger on a simulated disk, beside the simulation's own rows: it is given the same commands and must answer
//! alike, and whenever a coordinator starts, it must hold the same.
//!
//! The disk has a will of its own. A call that fails ends the coordinator; whether what was being written is there
//! afterwards, the disk decides, and the simulation's own rows follow it.

use disk::{Batch, End, LedgerOnDisk};
use farm::rules::MemoryStore;
use farm::{LedgerCommand, Restored};
use histories::{Random, mix};

pub struct RealLedger {
    ledger: LedgerOnDisk,
    random: Random,
    /// Faults are still to come.
    is_stormy: bool,
    is_refused: bool,
}

impl RealLedger {
    pub fn new(seed: u64, traced: bool) -> RealLedger {
        let mut random = Random::new(mix(!seed));
        let ledger = LedgerOnDisk::new(&mut random, traced);
        RealLedger { ledger, random, is_stormy: true, is_refused: false }
    }

    /// Writes commands. Returns whether they are known to be durable; otherwise the coordinator has come to its end.
    pub fn write(&mut self, commands: Vec<LedgerCommand>) -> bool {
        let written = self.ledger.write(Batch::Commands(commands));
        self.note(written.map(drop))
    }

    /// Opens it for a coordinator that starts. `None` if that fails: the coordinator has come to its end.
    pub fn open(&mut self) -> Option<Restored> {
        if self.is_stormy {
            let reach = self.random.scaled(1, 64);
            self.ledger.plan_trouble(&mut self.random, reach);
        }
        let opened = match self.ledger.open() {
            // What the disk has altered without a trace, nobody can go on from.
            Ok(()) if self.ledger.is_mixed() => Err(End::Refused),
            opened => opened,
        };
        self.note(opened).then(|| self.ledger.take_restored())
    }

    /// Closes it for a coordinator that was asked to stop.
    pub fn close(&mut self) {
        let closed = self.ledger.close();
        self.note(closed);
    }

    /// The coordinator is gone, and until the next one starts, the disk does what it likes.
    pub fn die(&mut self) {
        self.ledger.die(&mut self.random);
        if self.is_stormy {
            let befallen = self.ledger.befall(&mut self.random);
            self.note(befallen);
        }
    }

    pub fn calm(&mut self) {
        self.is_stormy = false;
        self.ledger.calm();
    }

    /// Whether the disk has lied.
    pub fn has_lied(&self) -> bool {
        self.ledger.has_lied()
    }

    /// What it holds.
    pub fn store(&self) -> &MemoryStore {
        &self.ledger.present().store
    }

    /// Whether no coordinator can go on with it, because of what the disk has done to it.
    pub fn is_refused(&self) -> bool {
        self.is_refused
    }

    pub fn tally(&self) -> disk::Tally {
        self.ledger.tally()
    }

    fn note(&mut self, done: Result<(), End>) -> bool {
        self.is_refused |= done == Err(End::Refused);
        done.is_ok()
    }
}
