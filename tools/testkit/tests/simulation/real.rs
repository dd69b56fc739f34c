//! The real ledger, beside the simulation's own rows: it is given the same commands, and must answer alike.

use farm::rules::Jobs;
use farm::{LedgerAnswer, LedgerCommand, Restored};
use ledger::{CheckedLedger, Ledger};
use testkit::conformance::Subject;

/// A ledger in memory.
pub struct RealLedger(Ledger);

impl RealLedger {
    pub fn new() -> RealLedger {
        let ledger = CheckedLedger::in_memory().and_then(CheckedLedger::begin);
        RealLedger(ledger.expect("SQLite needs nothing for it"))
    }
}

impl Subject for RealLedger {
    fn apply(&mut self, commands: &[LedgerCommand]) -> Result<Vec<LedgerAnswer>, String> {
        self.0.apply(commands).map_err(|fault| fault.to_string())
    }

    fn restored(&mut self) -> Restored {
        self.0.read_back(Jobs::Live).expect("its rows fit together")
    }
}
