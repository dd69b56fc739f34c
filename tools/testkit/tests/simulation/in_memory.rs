//! Tests of the real ledger in memory, without the simulation.

use farm::{LedgerAnswer, LedgerCommand, Restored};
use ledger::{CheckedLedger, Ledger};
use testkit::conformance::Subject;

pub struct InMemory(Ledger);

impl InMemory {
    pub fn new() -> InMemory {
        let ledger = CheckedLedger::in_memory().and_then(CheckedLedger::begin);
        InMemory(ledger.expect("SQLite needs nothing for it"))
    }
}

impl Subject for InMemory {
    fn apply(&mut self, commands: &[LedgerCommand]) -> Result<Vec<LedgerAnswer>, String> {
        self.0.apply(commands).map_err(|fault| fault.to_string())
    }

    fn restored(&mut self) -> Restored {
        self.0.read_back().expect("its rows fit together")
    }
}
